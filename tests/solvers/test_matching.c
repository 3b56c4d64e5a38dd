// SPDX-License-Identifier: Apache-2.0
/// The diagonal with the largest product: beside all permutations where they can be counted, by its duals where not.

#include "solvers/direct/order/matching.h"

#include <math.h>
#include <string.h>

#include "core/memory_impl.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/matrix_market.h"
#include "support/scratch.h"

typedef struct matched {
  lac_status status;
  int32_t rank, *match;
  double *row_scale, *col_scale;
} matched;

static lac_structure *structure_of(lac_context *ctx, const sketch *s) {
  lac_pattern *pattern = NULL;
  lac_structure *structure = NULL;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &pattern));
  CHECK_OK(lac_structure_get(ctx, pattern, &structure));
  lac_pattern_destroy(&pattern);
  return structure;
}

// Numbers as the dtype has them.
static const void *packed(const number *a, int64_t count, lac_dtype dtype) {
  void *out = scratch((size_t)count * sizeof(number) + 1);
  for (int64_t z = 0; z < count; z++) {
    if (dtype == LAC_F32) ((float *)out)[z] = (float)creal(a[z]);
    if (dtype == LAC_F64) ((double *)out)[z] = creal(a[z]);
    if (dtype == LAC_C64) ((float complex *)out)[z] = (float complex)a[z];
    if (dtype == LAC_C128) ((number *)out)[z] = a[z];
  }
  return out;
}

static matched match_of(lac_context *ctx, const sketch *s, const number *a, lac_dtype dtype) {
  size_t n = (size_t)s->rows + 1;
  lac_structure *structure = structure_of(ctx, s);
  matched m = {.match = scratch(n * sizeof *m.match),
               .row_scale = scratch(n * sizeof *m.row_scale),
               .col_scale = scratch(n * sizeof *m.col_scale)};
  m.status = lac_matching(structure, dtype, packed(a, s->nnz, dtype), m.match, m.row_scale, m.col_scale, &m.rank);
  lac_object_release(structure);
  return m;
}

static double size_of(number x) { return fabs(creal(x)) + fabs(cimag(x)); }

// log2 of the product along a full matching, computed from the sketch.
static double product_of(const sketch *s, const number *a, const int32_t *match) {
  double sum = 0;
  for (int64_t i = 0; i < s->rows; i++) {
    int64_t z = sketch_find(s, i, match[i]);
    CHECK(z >= 0);
    sum += log2(size_of(a[z]));
  }
  return sum;
}

// Every matched number is 1 within a factor of 2, no other exceeds 2: so no other matching has a product that is more
// than a few powers of two larger, and none of real numbers.
static void check_scaled(const sketch *s, const number *a, const matched *m) {
  char *seen = scratch((size_t)s->rows + 1);
  CHECK_EQ(m->status, LAC_OK);
  CHECK_EQ(m->rank, s->rows);
  for (int64_t i = 0; i < s->rows; i++) CHECK(m->match[i] >= 0 && m->match[i] < s->rows && !seen[m->match[i]]++);
  for (int64_t i = 0; i < s->rows; i++) {
    int exponent;
    CHECK(frexp(m->row_scale[i], &exponent) == 0.5 && frexp(m->col_scale[i], &exponent) == 0.5);
  }
  for (int64_t z = 0; z < s->nnz; z++) {
    double size = lac_matching_scaled(size_of(a[z]), m->row_scale[s->row[z]], m->col_scale[s->col[z]]);
    CHECK(size <= 2 * (1 + 1e-6));
    if (m->match[s->row[z]] == s->col[z]) CHECK(size >= 0.5 * (1 - 1e-6));
  }
}

// -- beside all permutations -----------------------------------------------------------------------------------------

typedef struct best {
  int64_t rank;
  double product;
} best;

// The best of all ways to give rows from `row` on a column, or none, that is not taken.
static best best_from(const double *logs, int n, int row, unsigned taken) {
  if (row == n) return (best){0, 0};
  best found = best_from(logs, n, row + 1, taken);
  for (int j = 0; j < n; j++) {
    if (taken >> j & 1 || logs[row * n + j] == -INFINITY) continue;
    best rest = best_from(logs, n, row + 1, taken | 1U << j);
    rest.rank++, rest.product += logs[row * n + j];
    if (rest.rank > found.rank || (rest.rank == found.rank && rest.product > found.product)) found = rest;
  }
  return found;
}

static void check_against_all(lac_context *ctx, const sketch *s, number *a, lac_dtype dtype) {
  int n = (int)s->rows;
  double *logs = scratch((size_t)(n * n + 1) * sizeof *logs);
  for (int i = 0; i < n * n; i++) logs[i] = -INFINITY;
  for (int64_t z = 0; z < s->nnz; z++) {
    if (a[z] != 0) logs[s->row[z] * n + s->col[z]] = log2(size_of(a[z]));
  }
  best all = best_from(logs, n, 0, 0);
  matched m = match_of(ctx, s, a, dtype);
  CHECK_EQ(m.rank, all.rank);
  CHECK_EQ(m.status, all.rank == n ? LAC_OK : LAC_ERR_SINGULAR);
  if (m.status != LAC_OK) return;
  check_scaled(s, a, &m);
  CHECK(fabs(product_of(s, a, m.match) - all.product) <= 1e-6 * (1 + fabs(all.product)));
}

static void small_matrices_have_the_best_of_all_matchings(lac_context *ctx) {
  int singular = 0;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    size_t mark = scratch_mark();
    lac_dtype dtype = (lac_dtype)(seed % 4);
    int is_complex = dtype == LAC_C64 || dtype == LAC_C128, reach = dtype == LAC_F32 || dtype == LAC_C64 ? 10 : 200;
    random_state r = random_start(seed);
    const sketch *s = sketch_scattered((int64_t)(seed % 8), 0.2 + 0.2 * (double)(seed % 5), seed);
    ref a = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {s->nnz}});
    ref_random(&a, seed, is_complex);
    for (int64_t z = 0; z < s->nnz; z++) {
      if (seed % 3 == 0) a.x[z] *= pow(2, (double)(random_below(&r, 2 * reach) - reach));
      if (seed % 7 == 0 && random_below(&r, 4) == 0) a.x[z] = 0;
      if (reach == 10) a.x[z] = (float complex)a.x[z];
    }
    check_against_all(ctx, s, a.x, dtype);
    singular += match_of(ctx, s, a.x, dtype).status == LAC_ERR_SINGULAR;
    scratch_release(mark);
  }
  CHECK(singular > 50 && singular < 350);
}

// -- by its duals ----------------------------------------------------------------------------------------------------

static void large_matrices_are_scaled_to_a_unit_diagonal(lac_context *ctx) {
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    for (int dtype = LAC_F32; dtype <= LAC_C128; dtype++) {
      size_t mark = scratch_mark();
      direct_case c = direct_make((direct_kind)kind, 300, (lac_dtype)dtype, 5);
      matched m = match_of(ctx, c.s, c.a.x, (lac_dtype)dtype);
      check_scaled(c.s, c.a.x, &m);
      scratch_release(mark);
    }
  }
}

static void a_strong_diagonal_is_left_alone(lac_context *ctx) {
  static const direct_kind KINDS[] = {DIRECT_POISSON, DIRECT_POSITIVE, DIRECT_INDEFINITE};
  for (int k = 0; k < 3; k++) {
    direct_case c = direct_make(KINDS[k], 100, LAC_F64, 2);
    matched m = match_of(ctx, c.s, c.a.x, LAC_F64);
    check_scaled(c.s, c.a.x, &m);
    for (int64_t i = 0; i < c.s->rows; i++) CHECK(m.match[i] == i && m.row_scale[i] == m.col_scale[i]);
    for (int64_t z = 0; z < c.s->nnz; z++) {
      if (c.s->row[z] % 3 == 0) c.a.x[z] *= 1e-5;
    }
    m = match_of(ctx, c.s, c.a.x, LAC_F64);
    check_scaled(c.s, c.a.x, &m);
    for (int64_t i = 0; i < c.s->rows; i++) CHECK_EQ(m.match[i], i);
  }
}

// Rows and columns of all sizes a double has, subnormal ones too, and the whole matrix at either end.
static void no_scale_is_too_large_or_too_small(lac_context *ctx) {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    size_t mark = scratch_mark();
    direct_case c = direct_make(DIRECT_NONSYMMETRIC, 40, LAC_F64, seed);
    random_state r = random_start(seed);
    int row[64], col[64];
    for (int i = 0; i < 64; i++) {
      row[i] = (int)random_below(&r, 981) - 490, col[i] = (int)random_below(&r, 981) - 490;
      if (seed % 3 == 1) row[i] = col[i] = 495;
      if (seed % 3 == 2) row[i] = col[i] = -525;
    }
    for (int64_t z = 0; z < c.s->nnz; z++) {
      c.a.x[z] = ldexp(creal(c.a.x[z]), row[c.s->row[z]]);
      c.a.x[z] = ldexp(creal(c.a.x[z]), col[c.s->col[z]]);
    }
    matched m = match_of(ctx, c.s, c.a.x, LAC_F64);
    check_scaled(c.s, c.a.x, &m);
    scratch_release(mark);
  }
}

static void a_column_without_a_row_is_named(lac_context *ctx) {
  // Columns 1 and 2 have entries in row 0 alone; the zero in (2, 2) is none.
  sketch s = {3, 3, 6, (int64_t[]){0, 0, 0, 1, 2, 2}, (int64_t[]){0, 1, 2, 0, 0, 2}};
  matched m = match_of(ctx, &s, (number[]){1, 2, 3, 4, 5, 0}, LAC_F64);
  int left = 0;
  CHECK_EQ(m.status, LAC_ERR_SINGULAR);
  CHECK_EQ(m.rank, 2);
  for (int i = 0; i < 3; i++) left += m.match[i] < 0;
  CHECK_EQ(left, 1);
  for (int i = 0; i < 3; i++) CHECK(m.match[i] >= 0 || -1 - m.match[i] == (m.match[0] == 1 ? 2 : 1));
}

static void memory_that_runs_out_is_said(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_ZERO_DIAGONAL, 30, LAC_F64, 2);
  lac_structure *structure = structure_of(ctx, c.s);
  const void *values = packed(c.a.x, c.s->nnz, LAC_F64);
  int32_t match[64], rank;
  double row_scale[64], col_scale[64];
  int64_t fail = 0;
  lac_status status;
  do {
    lac_memory_fail_at(++fail);
    status = lac_matching(structure, LAC_F64, values, match, row_scale, col_scale, &rank);
    lac_memory_fail_at(0);
    CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
  } while (status != LAC_OK && fail < 100);
  CHECK(fail > 5 && fail < 100);
  lac_object_release(structure);
}

static void real_matrices_are_matched(lac_context *ctx) {
  static const char *const NAMES[] = {"west0479", "nnc1374", "rajat01", "hangGlider_2",
                                      "cryg2500", "watt_2",  "young1c"};
  for (size_t f = 0; f < sizeof NAMES / sizeof *NAMES; f++) {
    size_t mark = scratch_mark();
    mm_matrix mm;
    mm_read(NAMES[f], &mm);
    sketch s = {mm.rows, mm.cols, mm.count, mm.row, mm.col};
    number *a = scratch((size_t)mm.count * sizeof *a);
    for (int64_t z = 0; z < mm.count; z++) a[z] = mm.value[2 * z] + mm.value[2 * z + 1] * _Complex_I;
    matched m = match_of(ctx, &s, a, mm.is_complex ? LAC_C128 : LAC_F64);
    check_scaled(&s, a, &m);
    mm_free(&mm);
    scratch_release(mark);
  }
}

CHECK_MAIN(small_matrices_have_the_best_of_all_matchings, large_matrices_are_scaled_to_a_unit_diagonal,
           a_strong_diagonal_is_left_alone, no_scale_is_too_large_or_too_small, a_column_without_a_row_is_named,
           memory_that_runs_out_is_said, real_matrices_are_matched)

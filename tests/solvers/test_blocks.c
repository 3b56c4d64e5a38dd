// SPDX-License-Identifier: Apache-2.0
/// LU of the blocks of a block triangular form: whatever the order of rows and columns, dtype and form. Each by a
/// method of its own, as "lu" does, or one column after another, as is chosen where columns are short.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory_impl.h"
#include "solvers/solver_impl.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/matrix_market.h"
#include "support/reports.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};
static const char *const WAYS[] = {"lu", "auto"};
enum { ROWS = 140, LARGE = 70, SMALL = 7 };

static int64_t *shuffled(int64_t n, uint64_t seed) {
  int64_t *order = scratch((size_t)n * sizeof *order);
  random_state r = random_start(seed);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = random_below(&r, i + 1);
    order[i] = order[at];
    order[at] = i;
  }
  return order;
}

// One block of LARGE rows, one of SMALL, and single ones, with entries below them; then rows and columns are shuffled.
// Every block is a ring with chords, so that nothing takes it apart.
static direct_case blocks_of(lac_dtype dtype, uint64_t seed) {
  int64_t n = ROWS, *rows = shuffled(n, seed), *cols = shuffled(n, seed + 1), at = 0;
  char *mask = scratch((size_t)(n * n));
  random_state r = random_start(seed + 2);
  sketch *s = scratch(sizeof *s);
  while (at < n) {
    int64_t size = at == 20 ? LARGE : at == 20 + LARGE + 9 ? SMALL : 1;
    for (int64_t i = 0; i < size; i++) {
      int64_t places[] = {i, (i + 1) % size, random_below(&r, size)};
      for (int k = 0; k < 3; k++) mask[rows[at + i] * n + cols[at + places[k]]] = 1;
      for (int k = 0; at > 0 && k < 2; k++) mask[rows[at + i] * n + cols[random_below(&r, at)]] = 1;
    }
    at += size;
  }
  *s = (sketch){n, n, 0, scratch((size_t)(5 * n) * sizeof *s->row), scratch((size_t)(5 * n) * sizeof *s->col)};
  for (int64_t p = 0; p < n * n; p++) {
    if (!mask[p]) continue;
    s->row[s->nnz] = p / n;
    s->col[s->nnz++] = p % n;
  }
  direct_case c = {.s = s, .a = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {s->nnz}})};
  ref_random(&c.a, seed + 3, dtype == LAC_C64 || dtype == LAC_C128);
  return c;
}

static direct_system open_by(lac_context *ctx, const direct_case *c, const char *way) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = way;
  return direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
}

static lac_factor *factor_of(lac_context *ctx, const direct_system *system, const char *way) {
  bool is_lu = strcmp(way, "lu") == 0;
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system->solver, system->values, &factor));
  CHECK(direct_part(factor)->table == (is_lu ? &lac_direct_block_lu : &lac_direct_column_lu));
  CHECK_TEXT(report_of_factor(factor).method, is_lu ? "lu" : "pivoting_lu");
  CHECK(
      strstr(report_of_factor(factor).reason, is_lu ? "blocks of the block triangular form" : "columns of the factor"));
  return factor;
}

static void check_solves(lac_context *ctx, const char *way) {
  for (int d = 0; d < 4; d++) {
    for (uint64_t seed = 1; seed <= 3; seed++) {
      size_t mark = scratch_mark();
      direct_case c = blocks_of(DTYPES[d], 10 * seed);
      direct_system system = open_by(ctx, &c, way);
      lac_factor *factor = factor_of(ctx, &system, way);
      for (int s = 0; s < 4; s++) {
        for (int64_t k = 0; k < 12; k += k < 2 ? 1 : 9) direct_check(ctx, &c, factor, FORMS[s], k, 1e3);
      }
      lac_factor_destroy(&factor);
      direct_close(&system);
      scratch_release(mark);
    }
  }
}

static void every_dtype_and_side_is_solved_to_rounding(lac_context *ctx) {
  for (int w = 0; w < 2; w++) check_solves(ctx, WAYS[w]);
}

// -- determinant and inverse -----------------------------------------------------------------------------------------

static dense inverse_of(const direct_case *c) {
  dense one = dense_new(c->s->rows, c->s->rows);
  for (int64_t i = 0; i < c->s->rows; i++) one.x[i * c->s->rows + i] = 1;
  return dense_solve(dense_matrix(c->s, c->a.x), one);
}

static void check_inverse(lac_context *ctx, const char *way) {
  for (int d = 1; d < 4; d += 2) {
    size_t mark = scratch_mark();
    direct_case c = blocks_of(DTYPES[d], 5);
    direct_system system = open_by(ctx, &c, way);
    lac_factor *factor = factor_of(ctx, &system, way);
    lac_array *inverse = NULL;
    ref z;
    dense expected = inverse_of(&c);
    int64_t outside = 0;
    CHECK_OK(lac_array_create(ctx, DTYPES[d], 1, &c.s->nnz, &inverse));
    lac_direct_factor *part = direct_part(factor);  // its own, whether or not a partner is asked
    lac_fault fault;
    CHECK_OK(part->table->selected_inverse(lac_direct_structure(direct_inner(factor)), part->analysis->part,
                                           part->numerics[0], 1, NULL, lac_array_edit(inverse), &fault));
    CHECK_OK(ref_download(ctx, inverse, &z));
    for (int64_t p = 0; p < c.s->nnz; p++) {
      number right = expected.x[c.s->col[p] * c.s->rows + c.s->row[p]];
      CHECK(cabs(z.x[p] - right) <= 1e-7 * (1 + cabs(right)));
      outside += z.x[p] == 0;
    }
    CHECK(outside > ROWS);
    lac_array_destroy(&inverse);
    lac_factor_destroy(&factor);
    direct_close(&system);
    scratch_release(mark);
  }
}

static void the_inverse_is_that_of_the_dense_matrix(lac_context *ctx) {
  for (int w = 0; w < 2; w++) check_inverse(ctx, WAYS[w]);
}

static void check_determinant(lac_context *ctx, const char *way) {
  for (int d = 0; d < 4; d++) {
    for (uint64_t seed = 1; seed <= 4; seed++) {
      size_t mark = scratch_mark();
      direct_case c = blocks_of(DTYPES[d], seed);
      direct_system system = open_by(ctx, &c, way);
      lac_factor *factor = factor_of(ctx, &system, way);
      lac_polar own;
      number det = dense_determinant(dense_matrix(c.s, c.a.x)), sign = det / cabs(det);
      double logabs = log(cabs(det)), tolerance = 1e4 * direct_rounding(DTYPES[d]);
      CHECK_OK(direct_part(factor)->table->logdet(direct_part(factor)->analysis->part, direct_part(factor)->numerics[0],
                                                  &own));
      CHECK(fabs(own.logabs - logabs) <= tolerance * (1 + fabs(logabs)));
      CHECK(cabs(own.sign_re + _Complex_I * own.sign_im - sign) <= tolerance);
      lac_factor_destroy(&factor);
      direct_close(&system);
      scratch_release(mark);
    }
  }
}

static void the_determinant_is_that_of_the_dense_matrix(lac_context *ctx) {
  for (int w = 0; w < 2; w++) check_determinant(ctx, WAYS[w]);
}

// -- life ------------------------------------------------------------------------------------------------------------

static void check_refactored(lac_context *ctx, const char *way) {
  direct_case c = blocks_of(LAC_F64, 3), other = c;
  direct_system system = open_by(ctx, &c, way);
  lac_factor *first = factor_of(ctx, &system, way), *second = NULL;
  lac_array *values = NULL;
  other.a = ref_copy(&c.a);
  for (int64_t z = 0; z < c.s->nnz; z++) other.a.x[z] *= 1 + 0.01 * (double)(z % 5);
  CHECK_OK(ref_upload(ctx, &other.a, &values));
  CHECK_OK(lac_factor_refactor(ctx, first, values, &second));
  direct_check(ctx, &other, second, LAC_PLAIN, 2, 1e3);
  direct_check(ctx, &other, second, LAC_TRANSPOSED, 2, 1e3);
  lac_array_destroy(&values);
  lac_factor_destroy(&first);
  lac_factor_destroy(&second);
  direct_close(&system);
}

static void values_are_refactored(lac_context *ctx) {
  for (int w = 0; w < 2; w++) check_refactored(ctx, WAYS[w]);
}

static void check_batches(lac_context *ctx, const char *way) {
  direct_case c = blocks_of(LAC_C128, 4);
  int64_t nnz = c.s->nnz;
  direct_system system = open_by(ctx, &c, way);
  ref all = ref_new(&(lac_meta){.dtype = LAC_C128, .ndim = 2, .shape = {3, nnz}}), rb, rx;
  lac_array *values = NULL, *b = direct_random(ctx, LAC_C128, 3, (int64_t[]){3, ROWS, 2}, 9), *x = NULL;
  lac_factor *factor = NULL;
  for (int64_t z = 0; z < 3 * nnz; z++) all.x[z] = c.a.x[z % nnz] * (1 + 0.1 * (double)(z / nnz * (z % 7)));
  CHECK_OK(ref_upload(ctx, &all, &values));
  CHECK_OK(lac_array_create(ctx, LAC_C128, 3, (int64_t[]){3, ROWS, 2}, &x));
  CHECK_OK(lac_solver_factor(ctx, system.solver, values, &factor));
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_ADJOINT, x));
  CHECK_OK(ref_download(ctx, b, &rb));
  CHECK_OK(ref_download(ctx, x, &rx));
  for (int64_t i = 0; i < 3; i++) {
    CHECK(direct_error(c.s, all.x + i * nnz, LAC_ADJOINT, 2, rb.x + i * ROWS * 2, rx.x + i * ROWS * 2) < 1e-13);
  }
  lac_array_destroy(&values);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void batches_are_solved(lac_context *ctx) {
  for (int w = 0; w < 2; w++) check_batches(ctx, WAYS[w]);
}

static void check_bits(lac_context *ctx, const char *way) {
  direct_case c = blocks_of(LAC_F64, 9);
  lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){ROWS, 20}, 3), *x = NULL;
  double results[2][ROWS * 20];
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){ROWS, 20}, &x));
  for (int t = 0; t < 2; t++) {
    CHECK_OK(lac_context_set_threads(ctx, t + 1));
    direct_system system = open_by(ctx, &c, way);
    lac_factor *factor = factor_of(ctx, &system, way);
    CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_TRANSPOSED, x));
    CHECK_OK(lac_array_read(ctx, x, results[t]));
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
  CHECK(memcmp(results[0], results[1], sizeof results[0]) == 0);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
}

static void the_bits_do_not_depend_on_the_number_of_threads(lac_context *ctx) {
  for (int w = 0; w < 2; w++) check_bits(ctx, WAYS[w]);
}

// A zero where a block has one row; and a block of rows that are all alike, which LU of the whole matrix names.
static void what_is_singular_is_named_by_its_own_column(lac_context *ctx) {
  direct_case c = blocks_of(LAC_F64, 6), alike = blocks_of(LAC_F64, 7);
  lac_nature nature = {0};
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = NULL;
  int64_t single = -1;
  CHECK_OK(lac_pattern_nature(ctx, system.pattern, &nature));
  CHECK_EQ(nature.blocks, ROWS - LARGE - SMALL + 2);
  for (int64_t i = 0; i < ROWS && single < 0; i++) {  // the row that stands first has one entry
    int64_t count = 0;
    for (int64_t z = 0; z < c.s->nnz; z++) count += c.s->row[z] == i;
    for (int64_t z = 0; z < c.s->nnz && count == 1; z++) single = c.s->row[z] == i ? z : single;
  }
  CHECK(single >= 0);
  c.a.x[single] = 0;
  lac_array_destroy(&system.values);
  CHECK_OK(ref_upload(ctx, &c.a, &system.values));
  char words[64];
  snprintf(words, sizeof words, "pivot 0 in column %lld", (long long)c.s->col[single]);
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_SINGULAR, words);
  direct_close(&system);

  for (int64_t z = 0; z < alike.s->nnz; z++) alike.a.x[z] = 1;
  system = direct_open(ctx, &alike, LAC_WIDTH_AUTO, NULL);
  lac_status status = lac_solver_factor(ctx, system.solver, system.values, &factor);
  CHECK(status == LAC_OK || status == LAC_ERR_SINGULAR);
  if (status == LAC_OK) direct_check(ctx, &alike, factor, LAC_PLAIN, 1, 1e3);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void every_failing_allocation_is_said(lac_context *ctx) {
  direct_case c = blocks_of(LAC_F64, 8);
  lac_status status = LAC_ERR_MEMORY;
  int64_t fail = 0;
  while (status != LAC_OK && fail < 2000) {
    lac_pattern *pattern = NULL;
    lac_array *values = NULL, *b = NULL, *x = NULL;
    lac_solver *solver = NULL;
    lac_factor *factor = NULL;
    CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
    CHECK_OK(ref_upload(ctx, &c.a, &values));
    b = direct_random(ctx, LAC_F64, 2, (int64_t[]){ROWS, 1}, 1);
    CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){ROWS, 1}, &x));
    lac_memory_fail_at(++fail);
    status = lac_solver_create(ctx, pattern, NULL, &solver);
    if (status == LAC_OK) status = lac_solver_factor(ctx, solver, values, &factor);
    if (status == LAC_OK) status = lac_factor_solve(ctx, factor, b, LAC_PLAIN, x);
    lac_memory_fail_at(0);
    CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
    lac_array_destroy(&b);
    lac_array_destroy(&x);
    lac_factor_destroy(&factor);
    lac_solver_destroy(&solver);
    lac_array_destroy(&values);
    lac_pattern_destroy(&pattern);
  }
  CHECK(fail > 30 && fail < 2000);
}

static void a_chemical_plant_has_blocks(lac_context *ctx) {
  mm_matrix mm;
  mm_read("west0479", &mm);
  sketch s = {mm.rows, mm.cols, mm.count, mm.row, mm.col};
  direct_case c = {.s = &s, .a = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {mm.count}})};
  for (int64_t z = 0; z < mm.count; z++) c.a.x[z] = mm.value[2 * z];
  for (int w = 0; w < 2; w++) {
    direct_system system = open_by(ctx, &c, WAYS[w]);
    lac_factor *factor = factor_of(ctx, &system, WAYS[w]);
    for (int i = 0; i < 2; i++) direct_check(ctx, &c, factor, FORMS[i], 3, 1e3);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
  mm_free(&mm);
}

CHECK_MAIN_OF("direct", every_dtype_and_side_is_solved_to_rounding, the_inverse_is_that_of_the_dense_matrix,
              the_determinant_is_that_of_the_dense_matrix, values_are_refactored, batches_are_solved,
              the_bits_do_not_depend_on_the_number_of_threads, what_is_singular_is_named_by_its_own_column,
              every_failing_allocation_is_said, a_chemical_plant_has_blocks)

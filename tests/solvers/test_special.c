// SPDX-License-Identifier: Apache-2.0
/// Matrices that need no sparse factorisation: diagonal, triangular in any order, banded.

#include <math.h>
#include <string.h>

#include "core/memory_impl.h"
#include "solvers/solver_impl.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

static int is_complex(lac_dtype dtype) { return dtype == LAC_C64 || dtype == LAC_C128; }

// Every entry between `lower` below and `upper` above the diagonal; some numbers on it are tiny, so that pivots move.
static direct_case band_of(int64_t n, int64_t lower, int64_t upper, lac_dtype dtype, uint64_t seed) {
  sketch *s = scratch(sizeof *s);
  size_t most = (size_t)(n * (lower + upper + 1) + 1);
  *s = (sketch){n, n, 0, scratch(most * sizeof *s->row), scratch(most * sizeof *s->col)};
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i - lower; j <= i + upper; j++) {
      if (j < 0 || j >= n) continue;
      s->row[s->nnz] = i;
      s->col[s->nnz++] = j;
    }
  }
  direct_case c = {.s = s, .a = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {s->nnz}})};
  ref_random(&c.a, seed, is_complex(dtype));
  for (int64_t z = 0; z < s->nnz; z++) {
    if (s->row[z] == s->col[z] && s->row[z] % 3 == 1 && lower > 0 && upper > 0) c.a.x[z] *= 0x1p-20;
  }
  return c;
}

typedef struct special {
  const char *method;
  const char *name, *reason;
  direct_case c;
} special;

enum { SPECIALS = 8 };

static special special_of(int which, lac_dtype dtype) {
  direct_case lower = {.s = sketch_triangle(30, 0.2, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, 3)},
              upper = {.s = sketch_triangle(30, 0.2, LAC_TRIANGLE_UPPER, LAC_DIAGONAL_STORED, 4)};
  direct_case *triangles[] = {&lower, &upper};
  for (int t = 0; t < 2; t++) {
    triangles[t]->a = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {triangles[t]->s->nnz}});
    ref_random(&triangles[t]->a, 5, is_complex(dtype));
  }
  switch (which) {
    case 0:
      return (special){"diagonal", "diagonal", "diagonal", band_of(20, 0, 0, dtype, 1)};
    case 1:
      return (special){"triangular", "triangular", "is triangular", lower};
    case 2:
      return (special){"triangular", "triangular", "is triangular", upper};
    case 3:
      return (special){"triangular", "triangular", "after permutations", direct_make(DIRECT_TRIANGULAR, 30, dtype, 2)};
    case 4:
      return (special){"banded", "banded", "tridiagonal", band_of(25, 1, 1, dtype, 3)};
    case 5:
      return (special){"banded", "banded", "narrow band", band_of(32, 2, 3, dtype, 4)};
    case 6:
      return (special){"banded", "banded", "narrow band", band_of(32, 3, 1, dtype, 5)};
    default:
      return (special){"banded", "banded", "narrow band", band_of(70, 8, 8, dtype, 6)};
  }
}

static lac_solver_options options_of(const char *method) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  return options;
}

static void each_is_recognised_and_solved_from_all_sides(lac_context *ctx) {
  for (int which = 0; which < SPECIALS; which++) {
    for (int d = 0; d < 4; d++) {
      size_t mark = scratch_mark();
      special s = special_of(which, DTYPES[d]);
      direct_system system = direct_open(ctx, &s.c, LAC_WIDTH_AUTO, NULL);
      lac_factor *factor = NULL;
      CHECK_TEXT(report_of_solver(system.solver).method, s.name);
      CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
      CHECK_TEXT(report_of_factor(factor).method, s.name);
      CHECK(strstr(report_of_factor(factor).reason, s.reason));
      for (int form = 0; form < 4; form++) {
        for (int64_t k = 0; k < 12; k += k < 3 ? 1 : 4) direct_check(ctx, &s.c, factor, FORMS[form], k, 100);
      }
      lac_factor_destroy(&factor);
      direct_close(&system);
      scratch_release(mark);
    }
  }
}

static void each_can_be_asked_for(lac_context *ctx) {
  for (int which = 0; which < SPECIALS; which++) {
    special s = special_of(which, LAC_C128);
    lac_solver_options options = options_of(s.method);
    direct_system system = direct_open(ctx, &s.c, LAC_WIDTH_AUTO, &options);
    lac_factor *factor = NULL;
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    CHECK_TEXT(report_of_factor(factor).method, s.name);
    CHECK_TEXT(report_of_factor(factor).reason, "asked for");
    direct_check(ctx, &s.c, factor, LAC_PLAIN, 2, 100);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

// A band without entries in it, and one as wide as the matrix.
static void any_matrix_has_a_band(lac_context *ctx) {
  static const direct_kind KINDS[] = {DIRECT_NONSYMMETRIC, DIRECT_ZERO_DIAGONAL, DIRECT_ILL_SCALED, DIRECT_POISSON};
  lac_solver_options options = options_of("banded");
  for (int k = 0; k < 4; k++) {
    for (int d = 0; d < 4; d++) {
      size_t mark = scratch_mark();
      direct_case c = direct_make(KINDS[k], 36, DTYPES[d], 7);
      direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
      lac_factor *factor = NULL;
      CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
      for (int form = 0; form < 4; form++) direct_check(ctx, &c, factor, FORMS[form], 3, 1e3);
      lac_factor_destroy(&factor);
      direct_close(&system);
      scratch_release(mark);
    }
  }
}

// A band that is wide for a band but narrow for LU: symmetric in pattern, definite, indefinite, not symmetric.
static void a_wider_band_is_for_cholesky_first(lac_context *ctx) {
  static const char *const METHODS[] = {"cholesky", "banded", "banded"};
  for (int which = 0; which < 3; which++) {
    direct_case c = band_of(120, 12, 12, LAC_F64, 8);
    lac_factor *factor = NULL;
    for (int64_t z = 0; z < c.s->nnz; z++) {
      int64_t i = c.s->row[z], j = c.s->col[z];
      c.a.x[z] = i == j ? (which == 1 && i == 60 ? -100 : 100) : (double)((i + j) % 5) - 2;
      if (which == 2 && i == j + 1) c.a.x[z] += 1;
    }
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
    CHECK_TEXT(report_of_solver(system.solver).method, "cholesky");
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    CHECK_TEXT(report_of_factor(factor).method, METHODS[which]);
    direct_check(ctx, &c, factor, LAC_PLAIN, 2, 100);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

static void a_pattern_of_another_nature_is_refused(lac_context *ctx) {
  direct_case c = band_of(6, 1, 1, LAC_F64, 1);
  lac_solver_options diagonal = options_of("diagonal"), triangular = options_of("triangular");
  lac_pattern *pattern = NULL;
  lac_solver *solver = NULL;
  CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
  CHECK_FAILS(lac_solver_create(ctx, pattern, &diagonal, &solver), LAC_ERR_ARG, "stores entry (0, 1)");
  CHECK_FAILS(lac_solver_create(ctx, pattern, &triangular, &solver), LAC_ERR_ARG, "1 blocks in 6 rows");
  CHECK(!solver);
  lac_pattern_destroy(&pattern);
}

// -- what is singular ------------------------------------------------------------------------------------------------

static void check_singular(lac_context *ctx, const direct_case *c, const char *method, const char *words) {
  lac_solver_options options = options_of(method);
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_SINGULAR, words);
  CHECK(!factor);
  direct_close(&system);
}

static void a_zero_pivot_is_named(lac_context *ctx) {
  direct_case diagonal = band_of(9, 0, 0, LAC_F64, 1), lower = band_of(9, 2, 0, LAC_F64, 2),
              band = band_of(9, 1, 1, LAC_F64, 3);
  diagonal.a.x[4] = 0;
  check_singular(ctx, &diagonal, "auto", "pivot 0 in column 4");
  lower.a.x[sketch_find(lower.s, 5, 5)] = 0;
  check_singular(ctx, &lower, "auto", "in row 5");
  for (int64_t z = 0; z < band.s->nnz; z++) {
    if (band.s->row[z] == 3) band.a.x[z] = 0;
  }
  check_singular(ctx, &band, "auto", "row 3 has only zeros");
  for (int64_t z = 0; z < band.s->nnz; z++) band.a.x[z] = band.s->row[z] == band.s->col[z] ? 1 : 0;
  band.a.x[sketch_find(band.s, 6, 7)] = band.a.x[sketch_find(band.s, 7, 6)] = 1;
  check_singular(ctx, &band, "banded", "pivot 0 in column 7");
}

static void a_pattern_without_a_full_matching_is_singular(lac_context *ctx) {
  sketch hollow = {3, 3, 2, (int64_t[]){0, 2}, (int64_t[]){0, 2}},
         strict = {3, 3, 3, (int64_t[]){1, 2, 2}, (int64_t[]){0, 0, 1}},
         narrow = {3, 3, 5, (int64_t[]){0, 1, 2, 2, 2}, (int64_t[]){0, 0, 0, 1, 2}};
  direct_case cases[] = {{.s = &hollow}, {.s = &strict}, {.s = &narrow}};
  static const char *const WORDS[] = {"row 1 is empty", "row 0 is empty", "no pivot is left for column"};
  for (int i = 0; i < 3; i++) {
    cases[i].a = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {cases[i].s->nnz}});
    ref_random(&cases[i].a, 1, 0);
    check_singular(ctx, &cases[i], "auto", WORDS[i]);
  }
}

// -- the smallest ----------------------------------------------------------------------------------------------------

static void empty_and_single_systems_are_solved(lac_context *ctx) {
  static const char *const METHODS[] = {"diagonal", "triangular", "banded"};
  for (int m = 0; m < 3; m++) {
    for (int64_t n = 0; n < 2; n++) {
      direct_case c = band_of(n, 0, 0, LAC_F64, 1);
      lac_solver_options options = options_of(METHODS[m]);
      direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
      lac_factor *factor = NULL;
      CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
      for (int form = 0; form < 4; form++) direct_check(ctx, &c, factor, FORMS[form], 2, 4);
      lac_factor_destroy(&factor);
      direct_close(&system);
    }
  }
}

// -- batches, memory -------------------------------------------------------------------------------------------------

static void batches_are_solved_and_the_one_that_fails_is_named(lac_context *ctx) {
  for (int which = 0; which < SPECIALS; which++) {
    size_t mark = scratch_mark();
    special s = special_of(which, LAC_F64);
    int64_t n = s.c.s->rows, nnz = s.c.s->nnz;
    direct_system system = direct_open(ctx, &s.c, LAC_WIDTH_AUTO, NULL);
    ref all = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {3, nnz}}), rb, rx;
    lac_array *values = NULL, *b = direct_random(ctx, LAC_F64, 3, (int64_t[]){3, n, 2}, 9), *x = NULL;
    lac_factor *factor = NULL;
    for (int64_t z = 0; z < 3 * nnz; z++) all.x[z] = s.c.a.x[z % nnz] * (1 + (double)(z / nnz));
    CHECK_OK(ref_upload(ctx, &all, &values));
    CHECK_OK(lac_array_create(ctx, LAC_F64, 3, (int64_t[]){3, n, 2}, &x));
    CHECK_OK(lac_solver_factor(ctx, system.solver, values, &factor));
    CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_TRANSPOSED, x));
    CHECK_OK(ref_download(ctx, b, &rb));
    CHECK_OK(ref_download(ctx, x, &rx));
    for (int64_t i = 0; i < 3; i++) {
      CHECK(direct_error(s.c.s, all.x + i * nnz, LAC_TRANSPOSED, 2, rb.x + i * n * 2, rx.x + i * n * 2) < 1e-13);
    }
    lac_array_destroy(&values);
    lac_factor_destroy(&factor);
    for (int64_t z = 0; z < nnz; z++) all.x[2 * nnz + z] = 0;
    CHECK_OK(ref_upload(ctx, &all, &values));
    CHECK_FAILS(lac_solver_factor(ctx, system.solver, values, &factor), LAC_ERR_SINGULAR, "matrix 2 of the batch");
    lac_array_destroy(&values);
    lac_array_destroy(&b);
    lac_array_destroy(&x);
    direct_close(&system);
    scratch_release(mark);
  }
}

static void every_failing_allocation_is_said(lac_context *ctx) {
  for (int which = 0; which < SPECIALS; which++) {
    special s = special_of(which, LAC_C64);
    lac_status status = LAC_ERR_MEMORY;
    int64_t fail = 0;
    while (status != LAC_OK && fail < 200) {
      lac_pattern *pattern = NULL;
      lac_array *values = NULL;
      lac_solver *solver = NULL;
      lac_factor *factor = NULL;
      CHECK_OK(sketch_pattern(ctx, s.c.s, LAC_WIDTH_AUTO, &pattern));
      CHECK_OK(ref_upload(ctx, &s.c.a, &values));
      lac_memory_fail_at(++fail);
      status = lac_solver_create(ctx, pattern, NULL, &solver);
      if (status == LAC_OK) status = lac_solver_factor(ctx, solver, values, &factor);
      lac_memory_fail_at(0);
      CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
      lac_factor_destroy(&factor);
      lac_solver_destroy(&solver);
      lac_array_destroy(&values);
      lac_pattern_destroy(&pattern);
    }
    CHECK(fail > 10 && fail < 200);
  }
}

// -- determinant and inverse -----------------------------------------------------------------------------------------

static void determinants_are_those_of_the_dense_matrix(lac_context *ctx) {
  for (int which = 0; which < SPECIALS; which++) {
    for (int d = 0; d < 4; d++) {
      size_t mark = scratch_mark();
      special s = special_of(which, DTYPES[d]);
      double tolerance = 2e3 * direct_rounding(DTYPES[d]);
      direct_system system = direct_open(ctx, &s.c, LAC_WIDTH_AUTO, NULL);
      lac_factor *factor = NULL;
      lac_polar own;
      number det = dense_determinant(dense_matrix(s.c.s, s.c.a.x)), sign = det / cabs(det);
      double logabs = log(cabs(det));
      CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
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

static void the_inverse_of_a_triangle_is_found_where_it_is_stored(lac_context *ctx) {
  for (int which = 0; which < 4; which++) {
    special s = special_of(which, LAC_C128);
    int64_t n = s.c.s->rows;
    dense one = dense_new(n, n);
    direct_system system = direct_open(ctx, &s.c, LAC_WIDTH_AUTO, NULL);
    lac_factor *factor = NULL;
    lac_fault fault;
    number *z = scratch((size_t)s.c.s->nnz * sizeof *z);
    for (int64_t i = 0; i < n; i++) one.x[i * n + i] = 1;
    dense inverse = dense_solve(dense_matrix(s.c.s, s.c.a.x), one);
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    CHECK_OK(direct_part(factor)->table->selected_inverse(lac_direct_structure(direct_inner(factor)),
                                                          direct_part(factor)->analysis->part,
                                                          direct_part(factor)->numerics[0], 1, NULL, z, &fault));
    for (int64_t p = 0; p < s.c.s->nnz; p++) {
      number expected = inverse.x[s.c.s->col[p] * n + s.c.s->row[p]];
      CHECK(cabs(z[p] - expected) <= 1e-9 * (1 + cabs(expected)));
    }
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

CHECK_MAIN_OF("direct", each_is_recognised_and_solved_from_all_sides, each_can_be_asked_for, any_matrix_has_a_band,
              a_wider_band_is_for_cholesky_first, a_pattern_of_another_nature_is_refused, a_zero_pivot_is_named,
              a_pattern_without_a_full_matching_is_singular, empty_and_single_systems_are_solved,
              batches_are_solved_and_the_one_that_fails_is_named, every_failing_allocation_is_said,
              determinants_are_those_of_the_dense_matrix, the_inverse_of_a_triangle_is_found_where_it_is_stored)

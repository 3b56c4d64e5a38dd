// SPDX-License-Identifier: Apache-2.0
/// Factors of other values by the choices of an earlier one: right, told, and made afresh where they do not suit.

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers/numbers.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

static direct_system open_by(lac_context *ctx, const direct_case *c, const char *method) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  return direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
}

static lac_factor *factor_of(lac_context *ctx, const direct_system *system) {
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system->solver, system->values, &factor));
  return factor;
}

static void check_refactor(lac_context *ctx, direct_case c, const char *method, double change, const char *reason) {
  direct_system system = open_by(ctx, &c, method);
  direct_case other = {c.s, ref_copy(&c.a)};
  lac_array *values = NULL;
  lac_factor *first = factor_of(ctx, &system), *second = NULL, *third = NULL;
  for (int64_t z = 0; z < c.s->nnz; z++) other.a.x[z] *= 1 + change * (double)((c.s->row[z] + c.s->col[z]) % 4);
  if (direct_rounding(c.a.meta.dtype) > 1e-10) {
    for (int64_t z = 0; z < c.s->nnz; z++) other.a.x[z] = (float complex)other.a.x[z];
  }
  CHECK_OK(ref_upload(ctx, &other.a, &values));
  CHECK_OK(lac_factor_refactor(ctx, first, values, &second));
  CHECK_OK(lac_factor_refactor(ctx, second, system.values, &third));
  CHECK_EQ(report_of_factor(third).factorisations, 3);
  CHECK_TEXT(report_of_factor(second).method, report_of_factor(first).method);
  CHECK(strstr(report_of_factor(second).reason, reason));
  CHECK(!strstr(report_of_factor(third).reason + 1, "as before"));  // said once
  for (int s = 0; s < 4; s++) {
    direct_check(ctx, &other, second, FORMS[s], 2, 1e3);
    direct_check(ctx, &c, third, FORMS[s], 2, 1e3);
  }
  lac_factor_destroy(&first);
  lac_factor_destroy(&second);
  lac_factor_destroy(&third);
  lac_array_destroy(&values);
  direct_close(&system);
}

static void values_are_refactored_by_the_choices_made_before(lac_context *ctx) {
  static const char *const METHODS[] = {"lu", "pivoting_lu"};
  for (int m = 0; m < 2; m++) {
    for (int d = 0; d < 4; d++) {
      size_t mark = scratch_mark();
      check_refactor(ctx, direct_convection(8, 5, DTYPES[d]), METHODS[m], 0.05, "as before: asked for");
      check_refactor(ctx, direct_turned(8, DTYPES[d]), METHODS[m], 0.05, "as before: asked for");
      scratch_release(mark);
    }
  }
}

static void check_afresh(lac_context *ctx, const direct_case *c, const direct_case *other, const char *method,
                         const char *name) {
  direct_system system = open_by(ctx, c, method);
  lac_array *values = NULL;
  lac_factor *first = factor_of(ctx, &system), *second = NULL;
  CHECK_OK(ref_upload(ctx, &other->a, &values));
  CHECK_OK(lac_factor_refactor(ctx, first, values, &second));
  CHECK_TEXT(report_of_factor(second).method, name);
  CHECK(strncmp(report_of_factor(second).reason, "afresh", 6) == 0);
  for (int s = 0; s < 2; s++) direct_check(ctx, other, second, FORMS[s], 2, 1e3);
  lac_factor_destroy(&first);
  lac_factor_destroy(&second);
  lac_array_destroy(&values);
  direct_close(&system);
}

static void choices_that_do_not_suit_are_made_afresh(lac_context *ctx) {
  direct_case c = direct_treacherous(40, 0.5, 1, 0), other = direct_treacherous(40, 1e-9, 1, 0);
  direct_case grid = direct_convection(16, 1, LAC_F64), hollow = {grid.s, ref_copy(&grid.a)};
  direct_case definite = direct_convection(8, 0, LAC_F64), not = {definite.s, ref_copy(&definite.a)};
  for (int64_t z = 0; z < grid.s->nnz; z++) {
    hollow.a.x[z] = grid.s->row[z] == grid.s->col[z] ? 0 : 1.5 + sin((double)(z * z));
  }
  check_afresh(ctx, &c, &other, "lu", "pivoting_lu");
  check_afresh(ctx, &grid, &hollow, "pivoting_lu", "pivoting_lu");
  not .a.x[0] = -4;
  check_afresh(ctx, &definite, &not, "auto", "ldlt");
  not .a.x[1] = 3;
  check_afresh(ctx, &definite, &not, "auto", "lu");
}

// Pivots are a quarter of what they eliminate: the reason, and whether the factor shares the shape of the first.
static void check_strictness(lac_context *ctx, double tolerance, const char *reason, bool is_shared) {
  direct_case c = direct_small(2, (double[]){4, 1, 1, 4}, LAC_F64);
  direct_case other = direct_small(2, (double[]){1, 4, 4, 1}, LAC_F64);
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "pivoting_lu", options.pivot_tolerance = tolerance;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_array *values = NULL;
  lac_factor *first = factor_of(ctx, &system), *second = NULL;
  CHECK_OK(ref_upload(ctx, &other.a, &values));
  CHECK_OK(lac_factor_refactor(ctx, first, values, &second));
  CHECK(strncmp(report_of_factor(second).reason, reason, strlen(reason)) == 0);
  CHECK_EQ(report_of_factor(second).factor_bytes < report_of_factor(first).factor_bytes, is_shared);
  direct_check(ctx, &other, second, LAC_PLAIN, 1, 10);
  lac_factor_destroy(&first);
  lac_factor_destroy(&second);
  lac_array_destroy(&values);
  direct_close(&system);
}

static void old_pivots_are_as_strict_as_asked(lac_context *ctx) {
  check_strictness(ctx, lac_solver_options_defaults().pivot_tolerance, "as before", true);
  check_strictness(ctx, 0.2, "as before", true);
  check_strictness(ctx, 0.5, "afresh", false);
  check_strictness(ctx, 1, "afresh", false);
}

// Pairs of rows [4 1; 1 4], each of which needs an earlier one as well.
static direct_case tree_of_pairs(int64_t pairs) {
  sketch *s = scratch(sizeof *s);
  *s = (sketch){2 * pairs, 2 * pairs, 0, scratch((size_t)(5 * pairs) * 8), scratch((size_t)(5 * pairs) * 8)};
  direct_case c = {s, ref_new(&(lac_meta){.dtype = LAC_F32, .ndim = 1, .shape = {5 * pairs - 1}})};
  for (int64_t i = 0; i < 2 * pairs; i++) {
    for (int64_t k = i > 1 && i % 2 == 0 ? -1 : 0; k < 2; k++) {
      int64_t j = k < 0 ? i / 4 * 2 : i - i % 2 + k;
      c.a.x[s->nnz] = i == j ? 4 : 1;
      s->row[s->nnz] = i, s->col[s->nnz++] = j;
    }
  }
  return c;
}

// The same matrix in other units of its rows and columns is as good: nothing is made afresh, and nothing is said of
// pivots that are small in the old units.
static void check_units(lac_context *ctx, direct_case c, int64_t row, double row_unit, double col_unit, double unit) {
  direct_system system = open_by(ctx, &c, "pivoting_lu");
  direct_case other = {c.s, ref_copy(&c.a)};
  lac_array *values = NULL;
  lac_factor *first = factor_of(ctx, &system), *second = NULL;
  for (int64_t z = 0; z < c.s->nnz; z++) {
    other.a.x[z] *= unit * (c.s->row[z] == row ? row_unit : 1) * (c.s->col[z] == 9 ? col_unit : 1);
  }
  CHECK_OK(ref_upload(ctx, &other.a, &values));
  CHECK_OK(lac_factor_refactor(ctx, first, values, &second));
  CHECK(strncmp(report_of_factor(second).reason, "as before", 9) == 0);
  CHECK_TEXT(report_of_factor(second).warning, "");
  for (int s = 0; s < 4; s++) direct_check(ctx, &other, second, FORMS[s], 2, 1e3);
  lac_factor_destroy(&first);
  lac_factor_destroy(&second);
  lac_array_destroy(&values);
  direct_close(&system);
}

static void values_in_other_units_are_refactored(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    size_t mark = scratch_mark();
    direct_case c = direct_convection(8, 1, DTYPES[d]), windy = direct_convection(8, 10, DTYPES[d]);
    for (int64_t row = 0; row < c.s->rows; row++) check_units(ctx, windy, row, 0x1p-70, 1, 1);
    check_units(ctx, c, 7, 0x1p40, 1, 1);
    check_units(ctx, c, 7, 1, 0x1p-40, 1);
    check_units(ctx, c, 7, 0x1p-30, 0x1p-30, 0x1p-20);
    check_units(ctx, c, 7, 1, 1, 0x1p40);
    check_units(ctx, c, 7, 2, 0.5, 1);
    scratch_release(mark);
  }
}

// A number that is 1e40 times its block is out of the range of single precision, in whatever units.
static void what_overflows_below_blocks_is_not_kept(lac_context *ctx) {
  direct_case c = tree_of_pairs(80), other = {c.s, ref_copy(&c.a)};
  direct_system system = open_by(ctx, &c, "auto");
  lac_array *values = NULL;
  lac_factor *first = factor_of(ctx, &system), *second = NULL;
  for (int64_t z = 0; z < c.s->nnz; z++) {
    if (c.s->row[z] >= 158) other.a.x[z] *= c.s->col[z] < 158 ? 0x1p66 : 0x1p-66;
  }
  CHECK_TEXT(report_of_factor(first).method, "pivoting_lu");
  CHECK_OK(ref_upload(ctx, &other.a, &values));
  lac_status status = lac_factor_refactor(ctx, first, values, &second);
  CHECK(status != LAC_OK || strncmp(report_of_factor(second).reason, "afresh", 6) == 0);
  lac_factor_destroy(&first);
  lac_factor_destroy(&second);
  lac_array_destroy(&values);
  direct_close(&system);
}

static void refactor_refuses_what_does_not_fit(lac_context *ctx) {
  direct_case c = direct_convection(4, 1, LAC_F64);
  direct_system system = open_by(ctx, &c, "lu");
  lac_factor *factor = factor_of(ctx, &system), *out = NULL;
  lac_array *single = direct_random(ctx, LAC_F32, 1, (int64_t[]){c.s->nnz}, 1);
  lac_array *twice = direct_random(ctx, LAC_F64, 2, (int64_t[]){2, c.s->nnz}, 1);
  lac_array *bad = direct_random(ctx, LAC_F64, 1, (int64_t[]){c.s->nnz}, 1);
  ((double *)lac_array_edit(bad))[5] = NAN;
  CHECK_FAILS(lac_factor_refactor(ctx, NULL, single, &out), LAC_ERR_ARG, "the factor is NULL");
  CHECK_FAILS(lac_factor_refactor(ctx, factor, NULL, &out), LAC_ERR_ARG, "NULL");
  CHECK_FAILS(lac_factor_refactor(ctx, factor, system.values, NULL), LAC_ERR_ARG, "out is NULL");
  CHECK_FAILS(lac_factor_refactor(ctx, factor, single, &out), LAC_ERR_DTYPE, "the factor is f64, the values are f32");
  CHECK_FAILS(lac_factor_refactor(ctx, factor, twice, &out), LAC_ERR_SHAPE, "lac_solver_factor");
  CHECK_FAILS(lac_factor_refactor(ctx, factor, bad, &out), LAC_ERR_NONFINITE,
              "lac_factor_refactor: the value of entry");
  CHECK_OK(lac_array_fill(ctx, bad, 0, 0));
  CHECK_FAILS(lac_factor_refactor(ctx, factor, bad, &out), LAC_ERR_SINGULAR,
              "lac_factor_refactor: the matrix is singular");
  CHECK(!out);
  lac_factor_destroy(&factor);
  lac_array_destroy(&single);
  lac_array_destroy(&twice);
  lac_array_destroy(&bad);
  direct_close(&system);
}

static void values_that_are_not_finite_are_named(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    direct_case c = direct_convection(4, 1, DTYPES[d]);
    direct_system system = open_by(ctx, &c, "pivoting_lu");
    lac_factor *factor = factor_of(ctx, &system), *out = NULL;
    for (int64_t z = 0; z < c.s->nnz; z++) {
      direct_case other = {c.s, ref_copy(&c.a)};
      lac_array *values = NULL;
      char words[64];
      double wrong = z % 2 ? (double)NAN : (double)INFINITY;
      other.a.x[z] = lac_dtype_is_complex(DTYPES[d]) ? PAIR(1.0, wrong) : wrong;
      snprintf(words, sizeof words, "entry (%d, %d) is not finite", (int)c.s->row[z], (int)c.s->col[z]);
      CHECK_OK(ref_upload(ctx, &other.a, &values));
      CHECK_FAILS(lac_factor_refactor(ctx, factor, values, &out), LAC_ERR_NONFINITE, words);
      lac_array_destroy(&values);
    }
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

// Pairs of rows with nothing on their diagonal, and a row and a column that all share. The first column of a pair takes
// the second row; the second column shall take the first row, which it left, though the shared row is larger: then the
// factor has not one entry more than the matrix.
static void a_row_that_was_left_is_taken_by_the_column_that_lost_its_own(lac_context *ctx) {
  enum { N = 9, TIP = N - 1, ENTRIES = 4 * TIP + 1 };
  double full[N * N] = {[TIP * N + TIP] = 1};
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "pivoting_lu", options.ordering = LAC_ORDER_NATURAL, options.pivot_tolerance = 1e-2;
  for (int i = 0; i < TIP; i += 2) {
    full[i * N + i] = full[(i + 1) * N + i + 1] = 1e-6;
    full[i * N + i + 1] = full[(i + 1) * N + i] = 1;
    full[i * N + TIP] = 8, full[(i + 1) * N + TIP] = 0.5;
    full[TIP * N + i] = 0.1, full[TIP * N + i + 1] = 1;
  }
  for (int d = 0; d < 4; d++) {
    direct_case c = direct_small(N, full, DTYPES[d]);
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    lac_factor *factor = factor_of(ctx, &system);
    CHECK_EQ(c.s->nnz, ENTRIES);
    CHECK_EQ(report_of_factor(factor).factor_nnz, ENTRIES);
    for (int s = 0; s < 4; s++) direct_check(ctx, &c, factor, FORMS[s], 2, 1e3);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

static void refactor_names_itself_where_a_method_refuses(lac_context *ctx) {
  direct_case c = direct_convection(4, 0, LAC_F64);
  direct_system system = open_by(ctx, &c, "cholesky");
  lac_factor *factor = factor_of(ctx, &system), *out = NULL;
  lac_array *other = NULL;
  CHECK_OK(lac_array_clone(ctx, system.values, &other));
  ((double *)lac_array_edit(other))[0] = -4;
  CHECK_FAILS(lac_factor_refactor(ctx, factor, other, &out), LAC_ERR_DEFINITE,
              "lac_factor_refactor: the matrix is not");
  ((double *)lac_array_edit(other))[1] = 3;
  CHECK_FAILS(lac_factor_refactor(ctx, factor, other, &out), LAC_ERR_SYMMETRY, "lac_factor_refactor: cholesky needs");
  CHECK(!out);
  lac_factor_destroy(&factor);
  lac_array_destroy(&other);
  direct_close(&system);
}

// The sentence names the function that was called and the argument.
static void numbers_of_the_caller_are_refused_by_name(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 6, LAC_F64, 4);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = factor_of(ctx, &system), *made = NULL;
  int64_t n = c.s->rows;
  double *x = scratch((size_t)(2 * n + 1) * sizeof *x), *b = x + n;
  CHECK_FAILS(lac_solver_factor_numbers(ctx, system.solver, (lac_dtype)9, x, &made), LAC_ERR_DTYPE,
              "lac_solver_factor_numbers: dtype 9");
  CHECK_FAILS(lac_solver_factor_numbers(ctx, system.solver, LAC_F64, NULL, &made), LAC_ERR_ARG,
              "lac_solver_factor_numbers: values is NULL");
  CHECK_FAILS(lac_factor_refactor_numbers(ctx, factor, NULL, &made), LAC_ERR_ARG,
              "lac_factor_refactor_numbers: values is NULL");
  CHECK_FAILS(lac_factor_solve_numbers(ctx, factor, 1, NULL, LAC_PLAIN, x), LAC_ERR_ARG,
              "lac_factor_solve_numbers: b is NULL");
  CHECK_FAILS(lac_factor_solve_numbers(ctx, factor, 1, b, LAC_PLAIN, NULL), LAC_ERR_ARG,
              "lac_factor_solve_numbers: x is NULL");
  CHECK_FAILS(lac_factor_solve_numbers(ctx, factor, -2, b, LAC_PLAIN, x), LAC_ERR_SHAPE,
              "lac_factor_solve_numbers: columns = -2 is negative");
  CHECK_FAILS(lac_factor_solve_numbers(ctx, factor, 1, b, LAC_PLAIN, (char *)x + 4), LAC_ERR_ARG,
              "lac_factor_solve_numbers: x at");
  CHECK_FAILS(lac_factor_solve_numbers(ctx, NULL, 1, b, LAC_PLAIN, x), LAC_ERR_ARG, "the factor is NULL");
  CHECK_FAILS(lac_factor_solve_numbers(ctx, factor, 1, x, LAC_PLAIN, x), LAC_ERR_ARG, "share memory");
  CHECK_OK(lac_factor_solve_numbers(ctx, factor, 0, NULL, LAC_PLAIN, NULL));
  CHECK(!made);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

// Numbers of the caller, aligned or not: the same factors and the same bits as of arrays.
static void numbers_of_the_caller_are_factored_and_solved(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 30, LAC_F64, 4);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  int64_t n = c.s->rows, nnz = c.s->nnz;
  lac_factor *factor = NULL, *again = NULL, *of_arrays = factor_of(ctx, &system);
  lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){n, 2}, 6), *x = NULL;
  char *shifted = scratch((size_t)(nnz + 1) * sizeof(double));
  double *found = scratch((size_t)(4 * n) * sizeof *found);
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){n, 2}, &x));
  memcpy(shifted + 4, lac_array_data(system.values), (size_t)nnz * sizeof(double));
  CHECK_OK(lac_solver_factor_numbers(ctx, system.solver, LAC_F64, shifted + 4, &factor));
  CHECK_OK(lac_factor_refactor_numbers(ctx, factor, shifted + 4, &again));
  CHECK(factor == of_arrays);  // which the solver knows by its bits
  for (int s = 0; s < 4; s++) {
    CHECK_OK(lac_factor_solve(ctx, of_arrays, b, FORMS[s], x));
    CHECK_OK(lac_factor_solve_numbers(ctx, factor, 2, lac_array_data(b), FORMS[s], found));
    CHECK_OK(lac_factor_solve_numbers(ctx, again, 2, lac_array_data(b), FORMS[s], found + 2 * n));
    CHECK(memcmp(found, lac_array_data(x), (size_t)(2 * n) * sizeof *found) == 0);
    CHECK(memcmp(found, found + 2 * n, (size_t)(2 * n) * sizeof *found) == 0);
  }
  lac_factor_destroy(&factor);
  lac_factor_destroy(&again);
  lac_factor_destroy(&of_arrays);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  direct_close(&system);
}

CHECK_MAIN_OF("direct", values_are_refactored_by_the_choices_made_before, choices_that_do_not_suit_are_made_afresh,
              a_row_that_was_left_is_taken_by_the_column_that_lost_its_own, old_pivots_are_as_strict_as_asked,
              values_in_other_units_are_refactored, what_overflows_below_blocks_is_not_kept,
              refactor_refuses_what_does_not_fit, values_that_are_not_finite_are_named,
              refactor_names_itself_where_a_method_refuses, numbers_of_the_caller_are_factored_and_solved,
              numbers_of_the_caller_are_refused_by_name)

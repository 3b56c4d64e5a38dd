// SPDX-License-Identifier: Apache-2.0
/// LU column by column, for factors whose columns are short: when it is taken, what it fills in, what it solves, and
/// what it leaves to others.

#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

enum { ROWS = 1500 };
static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

static lac_factor *factor_of(lac_context *ctx, const direct_system *system) {
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system->solver, system->values, &factor));
  CHECK(direct_part(factor)->table == &lac_direct_column_lu);
  CHECK_TEXT(report_of_factor(factor).method, "pivoting_lu");
  CHECK(strstr(report_of_factor(factor).reason, "columns of the factor are short"));
  return factor;
}

// An arrow fills nothing in when its tip comes last.
static void arrows_are_solved_without_fill(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    size_t mark = scratch_mark();
    direct_case c = direct_make(DIRECT_ARROW, ROWS, DTYPES[d], 3);
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
    lac_factor *factor = factor_of(ctx, &system);
    CHECK(report_of_factor(factor).factor_nnz == c.s->nnz);
    for (int s = 0; s < 4; s++) direct_check(ctx, &c, factor, FORMS[s], 3, 1e3);
    lac_factor_destroy(&factor);
    direct_close(&system);
    scratch_release(mark);
  }
}

// log |d_0 - sum_i a_0i a_i0 / d_i| + sum_i log |d_i|: what is left of the tip, and the other pivots.
static double arrow_logdet(const direct_case *c) {
  number *row = scratch(ROWS * sizeof *row), *column = scratch(ROWS * sizeof *column), *d = scratch(ROWS * sizeof *d);
  double sum = 0;
  for (int64_t p = 0; p < c->s->nnz; p++) {
    int64_t i = c->s->row[p], j = c->s->col[p];
    if (i == j) d[i] = c->a.x[p];
    if (i == 0) row[j] = c->a.x[p];
    if (j == 0) column[i] = c->a.x[p];
  }
  number tip = d[0];
  for (int64_t i = 1; i < ROWS; i++) tip -= row[i] * column[i] / d[i], sum += log(cabs(d[i]));
  return sum + log(cabs(tip));
}

static void determinants_of_arrows_are_those_of_the_formula(lac_context *ctx) {
  size_t mark = scratch_mark();
  direct_case c = direct_make(DIRECT_ARROW, ROWS, LAC_F64, 5);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = factor_of(ctx, &system);
  lac_array *logabs = NULL, *sign = NULL;
  double found = 0, expected = arrow_logdet(&c);
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &logabs));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &sign));
  CHECK_OK(lac_factor_logdet(ctx, factor, logabs, sign));
  CHECK_OK(lac_array_read(ctx, logabs, &found));
  CHECK(fabs(found - expected) <= 1e-12 * fabs(expected));
  lac_array_destroy(&logabs);
  lac_array_destroy(&sign);
  lac_factor_destroy(&factor);
  direct_close(&system);
  scratch_release(mark);
}

// A grid fills in: dense blocks are worth it.
static void grids_are_left_to_dense_blocks(lac_context *ctx) {
  size_t mark = scratch_mark();
  direct_case c = direct_make(DIRECT_POISSON, 10000, LAC_F64, 1);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_TEXT(report_of_factor(factor).method, "cholesky");
  lac_factor_destroy(&factor);
  direct_close(&system);
  scratch_release(mark);
}

static void a_structure_without_full_rank_is_named_at_once(lac_context *ctx) {
  direct_check_singular(ctx, 4, (double[]){1, 0, 2, 3, 4, 0, 5, 1, 6, 0, 7, 2, 1, 0, 1, 9}, NULL, "column 1 is empty");
  direct_check_singular(ctx, 4, (double[]){1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1}, NULL,
                        "structurally singular");
}

// Numbers of the last column double from row to row, but its pivot is in a row of its own, which no other column has:
// what overflows above is refused though nothing below depends on it.
static void what_overflows_above_pivots_is_refused(lac_context *ctx) {
  enum { GROWING = 130, N = GROWING + 1 };
  size_t mark = scratch_mark();
  double *full = scratch(sizeof(double[N * N]));
  for (int i = 0; i < GROWING; i++) {
    for (int j = 0; j < i; j++) full[i * N + j] = -1;
    full[i * N + i] = full[i * N + GROWING] = 1;
  }
  full[GROWING * N + GROWING] = 1;
  for (int d = 0; d < 4; d++) {
    bool is_wide = DTYPES[d] == LAC_F64 || DTYPES[d] == LAC_C128;
    direct_case c = direct_small(N, full, DTYPES[d]);
    lac_solver_options options = lac_solver_options_defaults();
    options.method = "pivoting_lu", options.ordering = LAC_ORDER_NATURAL;
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    lac_factor *factor = NULL;
    if (is_wide) {
      CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    } else {
      CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_NONFINITE,
                  "LU overflows in column 130");
    }
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
  scratch_release(mark);
}

CHECK_MAIN_OF("direct", arrows_are_solved_without_fill, determinants_of_arrows_are_those_of_the_formula,
              grids_are_left_to_dense_blocks, a_structure_without_full_rank_is_named_at_once,
              what_overflows_above_pivots_is_refused)

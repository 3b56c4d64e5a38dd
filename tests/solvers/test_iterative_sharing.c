// SPDX-License-Identifier: Apache-2.0
/// Iterative solvers: what factors share and when they are stale, what serves as preconditioner, how the automatic choice goes and
/// falls back.

#include <math.h>
#include <string.h>

#include "solvers/iterative.h"
#include "support/check.h"
#include "support/iterative_case.h"

// -- what is shared --------------------------------------------------------------------------------------------------

/// With a direct factor behind it that was made before, and without.
static void determinants_and_inverses_are_stale_too(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  lac_solver_options options = iterative_options(LAC_METHOD_CG, LAC_METHOD_JACOBI);
  for (int was_asked = 0; was_asked < 2; was_asked++) {
    iterative_system s = iterative_open(ctx, &c, &options);
    lac_array *one = direct_random(ctx, LAC_F64, 0, NULL, 3), *sign = direct_random(ctx, LAC_F64, 0, NULL, 3);
    lac_array *inverse = direct_random(ctx, LAC_F64, 1, (int64_t[]){c.s->nnz}, 3);
    if (was_asked) CHECK_OK(lac_factor_logdet(ctx, s.factor, one, sign));
    (void)lac_array_edit(s.s.values);
    CHECK_FAILS(lac_factor_logdet(ctx, s.factor, one, sign), LAC_ERR_STALE, "changed since");
    CHECK_FAILS(lac_factor_selected_inverse(ctx, s.factor, inverse), LAC_ERR_STALE, "changed since");
    CHECK_FAILS(lac_factor_rcond(ctx, s.factor, one), LAC_ERR_STALE, "changed since");
    lac_array_destroy(&one);
    lac_array_destroy(&sign);
    lac_array_destroy(&inverse);
    iterative_close(&s);
  }
}

static void a_factor_shares_values_and_is_stale_when_they_change(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  lac_solver_options options = iterative_options(LAC_METHOD_CG, LAC_METHOD_JACOBI);
  iterative_system s = iterative_open(ctx, &c, &options);
  int64_t shape[] = {c.s->rows, 1};
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 3), *x = direct_random(ctx, LAC_F64, 2, shape, 3);
  CHECK(s.factor->iterative->given->storage == s.s.values->storage);
  (void)lac_array_edit(s.s.values);
  CHECK_FAILS(lac_factor_solve(ctx, s.factor, LAC_N, b, x), LAC_ERR_STALE, "changed since");
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  iterative_close(&s);
}

/// As an optimiser does: the array stays, its numbers change.
static void values_that_change_in_place_refresh_and_leave_nothing_behind(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = iterative_options(LAC_METHOD_FLEXIBLE_CG, LAC_METHOD_MULTIGRID);
  iterative_system s = iterative_open(ctx, &c, &options);
  for (int step = 0; step < 5; step++) {
    double *a = lac_array_edit(s.s.values);
    for (int64_t z = 0; z < c.s->nnz; z++) a[z] *= 1.5, c.a.x[z] *= 1.5;
    lac_factor_destroy(&s.factor);
    CHECK_OK(lac_solver_factor(ctx, s.s.solver, s.s.values, &s.factor));
    CHECK_EQ(s.s.solver->kept_count, 1);
    CHECK(iterative_residual(ctx, &c, s.factor, LAC_N, 1) <= 1e-10);
  }
  CHECK_EQ(lac_factor_report(s.factor).setups, 1);
  CHECK_EQ(lac_factor_report(s.factor).refreshes, 5);
  iterative_close(&s);
}

static void borrowed_values_are_copied(lac_context *ctx) {
  direct_case c = direct_small(2, (double[]){2, 1, 1, 2}, LAC_F64);
  lac_solver_options options = iterative_options(LAC_METHOD_CG, LAC_METHOD_JACOBI);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  double *data = lac_alloc(4 * sizeof *data);
  lac_array *borrowed = NULL;
  lac_factor *factor = NULL;
  memcpy(data, (double[]){2, 1, 1, 2}, 4 * sizeof *data);
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){4}, data, LAC_BORROW, &borrowed));
  CHECK_OK(lac_solver_factor(ctx, s.solver, borrowed, &factor));
  lac_array_destroy(&borrowed);
  data[0] = 100;
  lac_free(data);
  CHECK(iterative_residual(ctx, &c, factor, LAC_N, 2) <= 1e-10);
  lac_factor_destroy(&factor);
  direct_close(&s);
}

static void new_values_refresh_the_set_up(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 900, LAC_F64, 1);
  lac_solver_options options = iterative_options(LAC_METHOD_FLEXIBLE_CG, LAC_METHOD_MULTIGRID);
  iterative_system s = iterative_open(ctx, &c, &options);
  lac_factor *again = NULL, *other = NULL, *third = NULL;
  lac_array *twice = NULL;
  CHECK_OK(lac_solver_factor(ctx, s.s.solver, s.s.values, &again));
  CHECK(again == s.factor);
  for (int64_t z = 0; z < c.s->nnz; z++) c.a.x[z] *= 2;
  CHECK_OK(ref_upload(ctx, &c.a, &twice));
  CHECK_OK(lac_solver_factor(ctx, s.s.solver, twice, &other));
  CHECK_EQ(lac_factor_report(other).setups, 1);
  CHECK_EQ(lac_factor_report(other).refreshes, 1);
  CHECK(iterative_residual(ctx, &c, other, LAC_N, 2) <= 1e-10);
  CHECK_OK(lac_factor_refactor(ctx, s.factor, twice, &third));
  CHECK_EQ(lac_factor_report(third).refreshes, 2);
  CHECK(iterative_residual(ctx, &c, third, LAC_N, 2) <= 1e-10);
  lac_factor_destroy(&again);
  lac_factor_destroy(&other);
  lac_factor_destroy(&third);
  lac_array_destroy(&twice);
  iterative_close(&s);
}

static void a_factor_serves_as_preconditioner_and_is_held(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 100, LAC_F64, 1), windy = direct_convection(10, 0.3, LAC_F64);
  lac_solver_options options = iterative_options(LAC_METHOD_CHOLESKY, LAC_METHOD_AUTO);
  iterative_system rough = iterative_open(ctx, &c, &options);
  options.method = LAC_METHOD_GMRES;
  options.preconditioner.factor = rough.factor;
  iterative_system s = iterative_open(ctx, &windy, &options);
  iterative_close(&rough);
  CHECK(iterative_residual(ctx, &windy, s.factor, LAC_T, 3) <= 1e-10);
  CHECK_TEXT(lac_factor_report(s.factor).preconditioner, "cholesky");
  iterative_close(&s);
}

static lac_status halve(lac_context *ctx, void *data, lac_side side, const lac_array *x, lac_array *y) {
  (void)side, ++*(int *)data;
  return ctx->kernels->scale(ctx, 0.5, 0, x, y);
}

static void a_function_serves_as_preconditioner(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  lac_solver_options options = iterative_options(LAC_METHOD_CG, LAC_METHOD_AUTO);
  int calls = 0;
  options.preconditioner.apply = halve;
  options.preconditioner.apply_data = &calls;
  iterative_system s = iterative_open(ctx, &c, &options);
  CHECK(iterative_residual(ctx, &c, s.factor, LAC_N, 2) <= 1e-10);
  CHECK(calls > 3);
  iterative_close(&s);
}

static void determinants_come_from_a_direct_partner(lac_context *ctx) {
  if (!check_cpu_only("direct solvers")) return;
  direct_case c = direct_small(2, (double[]){3, 1, 1, 3}, LAC_F64);
  lac_solver_options options = iterative_options(LAC_METHOD_CG, LAC_METHOD_JACOBI);
  iterative_system s = iterative_open(ctx, &c, &options);
  lac_array *logabs = NULL, *sign = NULL;
  double got;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &logabs));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &sign));
  CHECK_OK(lac_factor_logdet(ctx, s.factor, logabs, sign));
  CHECK_OK(lac_array_read(ctx, logabs, &got));
  CHECK_NEAR(got, log(8), 1e-14);
  CHECK_OK(lac_factor_rcond(ctx, s.factor, sign));
  CHECK_OK(lac_array_read(ctx, sign, &got));
  CHECK_NEAR(got, 0.5, 1e-14);
  lac_array_destroy(&logabs);
  lac_array_destroy(&sign);
  iterative_close(&s);
}

// -- the automatic choice --------------------------------------------------------------------------------------------

static void small_systems_are_solved_directly(lac_context *ctx) {
  if (!check_cpu_only("direct solvers")) return;
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  iterative_system s = iterative_open(ctx, &c, NULL);
  CHECK(!s.factor->iterative);
  iterative_close(&s);
}

/// A cube of n^3 points: pattern and values of the seven-point stencil.
static direct_system cube_open(lac_context *ctx, int64_t n, const lac_solver_options *options) {
  direct_system s = {0};
  lac_pattern *line = NULL, *eye = NULL, *plane = NULL, *left = NULL, *right = NULL, *square = NULL;
  CHECK_OK(lac_pattern_banded(ctx, n, n, 1, 1, LAC_WIDTH_AUTO, &line, NULL));
  CHECK_OK(lac_pattern_banded(ctx, n, n, 0, 0, LAC_WIDTH_AUTO, &eye, NULL));
  CHECK_OK(lac_pattern_kron(ctx, line, eye, &left, NULL));
  CHECK_OK(lac_pattern_kron(ctx, eye, line, &right, NULL));
  CHECK_OK(lac_pattern_union(ctx, left, right, &square, NULL, NULL));
  lac_pattern_destroy(&left);
  lac_pattern_destroy(&right);
  CHECK_OK(lac_pattern_kron(ctx, square, eye, &left, NULL));
  CHECK_OK(lac_pattern_banded(ctx, n * n, n * n, 0, 0, LAC_WIDTH_AUTO, &plane, NULL));
  CHECK_OK(lac_pattern_kron(ctx, plane, line, &right, NULL));
  CHECK_OK(lac_pattern_union(ctx, left, right, &s.pattern, NULL, NULL));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){s.pattern->nnz}, &s.values));
  double *a = lac_array_edit(s.values);
  for (int64_t i = 0; i < s.pattern->rows; i++) {
    int64_t begin = lac_buffer_get(s.pattern->offsets, i), end = lac_buffer_get(s.pattern->offsets, i + 1);
    for (int64_t p = begin; p < end; p++) a[p] = lac_buffer_get(s.pattern->columns, p) == i ? 6 : -1;
  }
  CHECK_OK(lac_solver_create(ctx, s.pattern, options, &s.solver));
  lac_pattern_destroy(&line);
  lac_pattern_destroy(&eye);
  lac_pattern_destroy(&plane);
  lac_pattern_destroy(&left);
  lac_pattern_destroy(&right);
  lac_pattern_destroy(&square);
  return s;
}

static void a_large_cube_is_iterated_on_without_a_direct_analysis(lac_context *ctx) {
  if (!check_cpu_only("direct solvers")) return;
  direct_system s = cube_open(ctx, 38, NULL);
  lac_factor *factor = NULL;
  CHECK(!s.solver->core->structure && strstr(lac_solver_report(s.solver).reason, "separators"));
  CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factor));
  CHECK(factor->iterative && !factor->partner);
  CHECK_TEXT(lac_factor_report(factor).method, "flexible_cg");
  CHECK(iterative_run(ctx, factor, s.pattern->rows, 1).ending == LAC_CONVERGED);
  lac_factor_destroy(&factor);
  direct_close(&s);
}

/// An arrow of 60 000 rows: the first is a neighbour of all, and a factor fills nothing in.
static void a_dense_row_does_not_make_a_factor_costly(lac_context *ctx) {
  enum { N = 60000 };
  lac_pattern *pattern = NULL;
  lac_forecast forecast = {0};
  int32_t *row = lac_alloc(3 * N * sizeof *row), *column = lac_alloc(3 * N * sizeof *column);
  for (int32_t i = 0; i < N; i++) {
    row[3 * i] = column[3 * i] = i;
    row[3 * i + 1] = column[3 * i + 2] = i;
    column[3 * i + 1] = row[3 * i + 2] = 0;
  }
  CHECK_OK(lac_pattern_from_coo(ctx, N, N, 3 * N, LAC_I32, row, column, LAC_WIDTH_AUTO, &pattern, NULL));
  CHECK_OK(lac_forecast_direct(ctx, pattern, &forecast));
  CHECK(!forecast.is_costly && forecast.width < 100);
  lac_pattern_destroy(&pattern);
  lac_free(row);
  lac_free(column);
}

/// The forecast is overruled, so that what follows is seen on a small system.
static iterative_system automatic_open(lac_context *ctx, const direct_case *c, const lac_solver_options *options) {
  lac_solver_options given = *options;
  given.method = LAC_METHOD_AUTO;
  given.preconditioner.method = LAC_METHOD_JACOBI;
  return iterative_open(ctx, c, &given);
}

static void what_is_not_for_iterating_is_solved_directly(lac_context *ctx) {
  if (!check_cpu_only("direct solvers")) return;
  direct_case c = direct_make(DIRECT_INDEFINITE, 30, LAC_F64, 2);
  lac_solver_options options = lac_solver_options_defaults();
  iterative_system s = automatic_open(ctx, &c, &options);
  CHECK(!s.factor->iterative && strstr(lac_factor_report(s.factor).reason, "not iterated on"));
  direct_check(ctx, &c, s.factor, LAC_T, 2, 1e3);
  iterative_close(&s);
}

static void an_iteration_that_fails_falls_back_on_a_direct_factor(lac_context *ctx) {
  if (!check_cpu_only("direct solvers")) return;
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  options.iteration.max_iterations = 2;
  iterative_system s = automatic_open(ctx, &c, &options);
  CHECK(iterative_residual(ctx, &c, s.factor, LAC_N, 2) <= 1e-12);
  CHECK_TEXT(lac_factor_report(s.factor).method, "cholesky");
  CHECK(strstr(lac_factor_report(s.factor).reason, "did not reach the tolerance"));
  int64_t solves = lac_factor_report(s.factor).solves;
  CHECK(iterative_residual(ctx, &c, s.factor, LAC_H, 2) <= 1e-12);
  CHECK_EQ(lac_factor_report(s.factor).solves, solves);  // not tried again
  iterative_close(&s);
}

/// The Laplacian of a path, times `sign`, with the constants as its null space.
static iterative_system path_open(lac_context *ctx, direct_case *c, double sign, int64_t limit, lac_array **constants) {
  enum { N = 12 };
  double entries[N * N] = {0};
  lac_solver_options options = lac_solver_options_defaults();
  for (int i = 0; i + 1 < N; i++) {
    entries[i * N + i] += sign, entries[(i + 1) * N + i + 1] += sign;
    entries[i * N + i + 1] = entries[(i + 1) * N + i] = -sign;
  }
  *c = direct_small(N, entries, LAC_F64);
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){N, 1}, constants));
  CHECK_OK(lac_array_fill(ctx, *constants, 1, 0));
  options.iteration.null_space = *constants;
  options.iteration.max_iterations = limit;
  options.preconditioner.method = LAC_METHOD_JACOBI;
  return iterative_open(ctx, c, &options);
}

static void a_null_space_keeps_an_automatic_solver_from_direct_factors(lac_context *ctx) {
  direct_case c;
  lac_array *constants = NULL, *b = NULL, *x = NULL;
  iterative_system s = path_open(ctx, &c, -1, 0, &constants);  // not definite, not an M-matrix
  double sum = 0;
  b = direct_random(ctx, LAC_F64, 2, (int64_t[]){c.s->rows, 1}, 3);
  x = direct_random(ctx, LAC_F64, 2, (int64_t[]){c.s->rows, 1}, 3);
  CHECK(s.factor->iterative != NULL);
  CHECK_OK(lac_factor_solve(ctx, s.factor, LAC_N, b, x));
  for (int64_t i = 0; i < c.s->rows; i++) sum += ((const double *)lac_array_data(x))[i];
  CHECK(fabs(sum) <= 1e-9);
  iterative_close(&s);
  lac_array_destroy(&constants);
  s = path_open(ctx, &c, 1, 2, &constants);
  CHECK_FAILS(lac_factor_solve(ctx, s.factor, LAC_N, b, x), LAC_ERR_CONVERGENCE, "after 2 iterations");
  iterative_close(&s);
  lac_array_destroy(&constants);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
}

static void where_neither_will_do_the_error_tells_of_both(lac_context *ctx) {
  if (!check_cpu_only("direct solvers")) return;
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  options.iteration.max_iterations = 2;
  options.max_bytes = 1000;
  iterative_system s = automatic_open(ctx, &c, &options);
  int64_t shape[] = {c.s->rows, 1};
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 3), *x = direct_random(ctx, LAC_F64, 2, shape, 3);
  CHECK_FAILS(lac_factor_solve(ctx, s.factor, LAC_N, b, x), LAC_ERR_CONVERGENCE, "max_bytes is 1.00 kB");
  CHECK_FAILS(lac_factor_solve(ctx, s.factor, LAC_N, b, x), LAC_ERR_CONVERGENCE, "after 2 iterations");
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  iterative_close(&s);
}

CHECK_MAIN(values_that_change_in_place_refresh_and_leave_nothing_behind,
           a_factor_shares_values_and_is_stale_when_they_change, determinants_and_inverses_are_stale_too,
           borrowed_values_are_copied, new_values_refresh_the_set_up, a_factor_serves_as_preconditioner_and_is_held,
           a_function_serves_as_preconditioner, determinants_come_from_a_direct_partner,
           small_systems_are_solved_directly, a_large_cube_is_iterated_on_without_a_direct_analysis,
           a_dense_row_does_not_make_a_factor_costly, what_is_not_for_iterating_is_solved_directly,
           an_iteration_that_fails_falls_back_on_a_direct_factor,
           a_null_space_keeps_an_automatic_solver_from_direct_factors, where_neither_will_do_the_error_tells_of_both)

// SPDX-License-Identifier: Apache-2.0
/// Iterative solvers: what factors share and when they are stale, what serves as preconditioner.

#include <float.h>
#include <math.h>
#include <string.h>

#include "solvers/auto/auto.h"
#include "solvers/krylov/krylov_solver.h"
#include "support/check.h"
#include "support/iterative_case.h"
#include "support/reports.h"
#include "support/scratch.h"

// -- what is shared --------------------------------------------------------------------------------------------------

/// With a direct factor behind it that was made before, and without.
static void determinants_and_inverses_are_stale_too(lac_context *ctx) {
  if (!check_claimed("direct")) return;
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  lac_solver_options options = iterative_options("cg", "jacobi");
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
  lac_solver_options options = iterative_options("cg", "jacobi");
  iterative_system s = iterative_open(ctx, &c, &options);
  int64_t shape[] = {c.s->rows, 1};
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 3), *x = direct_random(ctx, LAC_F64, 2, shape, 3);
  CHECK(s.factor->values->storage == s.s.values->storage);
  (void)lac_array_edit(s.s.values);
  CHECK_FAILS(lac_factor_solve(ctx, s.factor, b, LAC_PLAIN, x), LAC_ERR_STALE, "changed since");
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  iterative_close(&s);
}

/// As an optimiser does: the array stays, its numbers change.
static void values_that_change_in_place_refresh_and_leave_nothing_behind(lac_context *ctx) {
  if (!check_claimed("multigrid")) return;
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = iterative_options("flexible_cg", "multigrid");
  iterative_system s = iterative_open(ctx, &c, &options);
  double *a = scratch((size_t)c.s->nnz * sizeof *a);
  for (int step = 0; step < 5; step++) {
    for (int64_t z = 0; z < c.s->nnz; z++) a[z] = creal(c.a.x[z] *= 1.5);
    CHECK_OK(lac_array_write(ctx, s.s.values, a));
    lac_factor_destroy(&s.factor);
    CHECK_OK(lac_solver_factor(ctx, s.s.solver, s.s.values, &s.factor));
    CHECK_EQ(s.s.solver->kept_count, 1);
    CHECK(iterative_residual(ctx, &c, s.factor, LAC_PLAIN, 1) <= 1e-10);
  }
  CHECK_EQ(report_of_factor(s.factor).setups, 1);
  CHECK_EQ(report_of_factor(s.factor).refreshes, 5);
  iterative_close(&s);
}

static void borrowed_values_are_copied(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  direct_case c = direct_small(2, (double[]){2, 1, 1, 2}, LAC_F64);
  lac_solver_options options = iterative_options("cg", "jacobi");
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  double *data = lac_alloc(4 * sizeof *data);
  lac_array *borrowed = NULL;
  lac_factor *factor = NULL;
  memcpy(data, (double[]){2, 1, 1, 2}, 4 * sizeof *data);
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){4}, data, LAC_OWNERSHIP_BORROW, &borrowed));
  CHECK_OK(lac_solver_factor(ctx, s.solver, borrowed, &factor));
  lac_array_destroy(&borrowed);
  data[0] = 100;
  lac_free(data);
  CHECK(iterative_residual(ctx, &c, factor, LAC_PLAIN, 2) <= 1e-10);
  lac_factor_destroy(&factor);
  direct_close(&s);
}

/// They differ at a glance, or not at all, or in one number that a glance does not see.
static void large_values_are_recognised_by_all_their_bits(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  direct_case c = direct_make(DIRECT_POISSON, 100 * 100, LAC_F64, 1);
  lac_solver_options options = iterative_options("cg", "jacobi");
  iterative_system s = iterative_open(ctx, &c, &options);
  for (int64_t z = -1; z < c.s->nnz; z += 997) {
    lac_array *values = NULL, *copy = NULL;
    lac_factor *factor = NULL, *again = NULL;
    CHECK_OK(lac_array_clone(ctx, s.s.values, &values));
    if (z >= 0) ((double *)lac_array_edit(values))[z] *= 1 + DBL_EPSILON;
    CHECK_OK(lac_solver_factor(ctx, s.s.solver, values, &factor));
    CHECK_EQ(factor == s.factor, z < 0);
    CHECK_OK(lac_array_clone(ctx, values, &copy));
    CHECK_OK(lac_solver_factor(ctx, s.s.solver, copy, &again));
    CHECK(again == factor);
    lac_array_destroy(&values), lac_array_destroy(&copy);
    lac_factor_destroy(&factor), lac_factor_destroy(&again);
  }
  iterative_close(&s);
}

static void new_values_refresh_the_set_up(lac_context *ctx) {
  if (!check_claimed("multigrid")) return;
  direct_case c = direct_make(DIRECT_POISSON, 900, LAC_F64, 1);
  lac_solver_options options = iterative_options("flexible_cg", "multigrid");
  iterative_system s = iterative_open(ctx, &c, &options);
  lac_factor *again = NULL, *other = NULL, *third = NULL;
  lac_array *twice = NULL;
  CHECK_OK(lac_solver_factor(ctx, s.s.solver, s.s.values, &again));
  CHECK(again == s.factor);
  for (int64_t z = 0; z < c.s->nnz; z++) c.a.x[z] *= 2;
  CHECK_OK(ref_upload(ctx, &c.a, &twice));
  CHECK_OK(lac_solver_factor(ctx, s.s.solver, twice, &other));
  CHECK_EQ(report_of_factor(other).setups, 1);
  CHECK_EQ(report_of_factor(other).refreshes, 1);
  CHECK(iterative_residual(ctx, &c, other, LAC_PLAIN, 2) <= 1e-10);
  CHECK_OK(lac_factor_refactor(ctx, s.factor, twice, &third));
  CHECK_EQ(report_of_factor(third).refreshes, 2);
  CHECK(iterative_residual(ctx, &c, third, LAC_PLAIN, 2) <= 1e-10);
  lac_factor_destroy(&again);
  lac_factor_destroy(&other);
  lac_factor_destroy(&third);
  lac_array_destroy(&twice);
  iterative_close(&s);
}

static void a_factor_serves_as_preconditioner_and_is_held(lac_context *ctx) {
  if (!check_claimed("direct")) return;
  direct_case c = direct_make(DIRECT_POISSON, 100, LAC_F64, 1), windy = direct_convection(10, 0.3, LAC_F64);
  lac_solver_options options = iterative_options("cholesky", "auto");
  iterative_system rough = iterative_open(ctx, &c, &options);
  options.method = "gmres";
  options.preconditioner.factor = rough.factor;
  iterative_system s = iterative_open(ctx, &windy, &options);
  iterative_close(&rough);
  CHECK(iterative_residual(ctx, &windy, s.factor, LAC_TRANSPOSED, 3) <= 1e-10);
  CHECK_TEXT(report_of_factor(s.factor).preconditioner, "cholesky");
  iterative_close(&s);
}

static lac_status halve(lac_context *ctx, void *data, const lac_array *x, lac_form form, lac_array *y) {
  (void)form, ++*(int *)data;
  return ctx->kernels->scale(ctx, 0.5, 0, x, y);
}

static void a_function_serves_as_preconditioner(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  lac_solver_options options = iterative_options("cg", "auto");
  int calls = 0;
  options.preconditioner.apply = halve;
  options.preconditioner.apply_data = &calls;
  iterative_system s = iterative_open(ctx, &c, &options);
  CHECK(iterative_residual(ctx, &c, s.factor, LAC_PLAIN, 2) <= 1e-10);
  CHECK(calls > 3);
  iterative_close(&s);
}

static void determinants_come_from_a_direct_partner(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  direct_case c = direct_small(2, (double[]){3, 1, 1, 3}, LAC_F64);
  lac_solver_options options = iterative_options("cg", "jacobi");
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

CHECK_MAIN(values_that_change_in_place_refresh_and_leave_nothing_behind,
           a_factor_shares_values_and_is_stale_when_they_change, determinants_and_inverses_are_stale_too,
           borrowed_values_are_copied, large_values_are_recognised_by_all_their_bits, new_values_refresh_the_set_up,
           a_factor_serves_as_preconditioner_and_is_held, a_function_serves_as_preconditioner,
           determinants_come_from_a_direct_partner)

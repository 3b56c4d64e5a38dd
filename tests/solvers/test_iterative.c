// SPDX-License-Identifier: Apache-2.0
/// Iterative solvers as solvers and factors: every method with every preconditioner, how solves end, what is shared, what is stale,
/// how the automatic choice goes and falls back.

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "solvers/iterative.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/scratch.h"

static const lac_side SIDES[] = {LAC_N, LAC_T, LAC_C, LAC_H};

static lac_solver_options options_of(lac_method method, lac_method preconditioner) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  options.preconditioner.method = (int)preconditioner;
  return options;
}

typedef struct iterative_system {
  direct_system s;
  lac_factor *factor;
} iterative_system;

static iterative_system open_system(lac_context *ctx, const direct_case *c, const lac_solver_options *options) {
  iterative_system system = {direct_open(ctx, c, LAC_WIDTH_AUTO, options), NULL};
  CHECK_OK(lac_solver_factor(ctx, system.s.solver, system.s.values, &system.factor));
  return system;
}

static void close_system(iterative_system *system) {
  lac_factor_destroy(&system->factor);
  direct_close(&system->s);
}

/// The largest |b - op(A) x| / |b| of a column, by the sketch.
static double residual_of(const direct_case *c, lac_side side, const ref *b, const ref *x) {
  int64_t k = b->meta.shape[b->meta.ndim - 1], n = c->s->rows;
  bool turns = side == LAC_T || side == LAC_H, conjugates = side == LAC_C || side == LAC_H;
  double worst = 0;
  for (int64_t j = 0; j < k; j++) {
    size_t mark = scratch_mark();
    number *r = scratch((size_t)n * sizeof *r);
    double size = 0, rest = 0;
    for (int64_t i = 0; i < n; i++) r[i] = b->x[i * k + j];
    for (int64_t z = 0; z < c->s->nnz; z++) {
      int64_t to = turns ? c->s->col[z] : c->s->row[z], from = turns ? c->s->row[z] : c->s->col[z];
      r[to] -= (conjugates ? conj(c->a.x[z]) : c->a.x[z]) * x->x[from * k + j];
    }
    for (int64_t i = 0; i < n; i++) size += pow(cabs(b->x[i * k + j]), 2), rest += pow(cabs(r[i]), 2);
    if (size > 0) worst = fmax(worst, sqrt(rest / size));
    if (size == 0) worst = fmax(worst, sqrt(rest));
    scratch_release(mark);
  }
  return worst;
}

/// Solve with random b of k columns; the residual.
static double solve_residual(lac_context *ctx, const direct_case *c, const lac_factor *factor, lac_side side,
                             int64_t k) {
  int64_t shape[] = {c->s->rows, k};
  lac_array *b = direct_random(ctx, c->a.meta.dtype, 2, shape, 77), *x = NULL;
  ref rb, rx;
  CHECK_OK(lac_array_create(ctx, c->a.meta.dtype, 2, shape, &x));
  CHECK_OK(lac_factor_solve(ctx, factor, side, b, x));
  CHECK_OK(ref_download(ctx, b, &rb));
  CHECK_OK(ref_download(ctx, x, &rx));
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return residual_of(c, side, &rb, &rx);
}

static double asked_of(lac_dtype dtype) { return dtype == LAC_F32 || dtype == LAC_C64 ? 1e-5 : 1e-10; }

// -- all with all ----------------------------------------------------------------------------------------------------

static bool goes_together(lac_method method, lac_method preconditioner, bool is_hermitian) {
  const lac_krylov_table *krylov = lac_krylov_of(method);
  const lac_preconditioner_table *table = lac_preconditioner_of(preconditioner);
  if (krylov->needs_hermitian && (!is_hermitian || !table->keeps_hermitian)) return false;
  if (table->is_variable && !krylov->is_flexible) return false;
  if (preconditioner == LAC_METHOD_IC0 && !is_hermitian) return false;
  return true;
}

static void check_pair(lac_context *ctx, const direct_case *c, lac_method method, lac_method preconditioner) {
  lac_solver_options options = options_of(method, preconditioner);
  options.iteration.max_iterations = 3000;
  iterative_system system = open_system(ctx, c, &options);
  for (int s = 0; s < 4; s++) {
    double residual = solve_residual(ctx, c, system.factor, SIDES[s], 3);
    if (!(residual <= 1.1 * asked_of(c->a.meta.dtype))) {
      check_fail(__FILE__, __LINE__, "%s with %s: residual %g", lac_krylov_of(method)->name,
                 lac_preconditioner_of(preconditioner)->name, residual);
    }
  }
  lac_report report = lac_factor_report(system.factor);
  CHECK_TEXT(report.method, lac_krylov_of(method)->name);
  CHECK_TEXT(report.preconditioner, lac_preconditioner_of(preconditioner)->name);
  CHECK_EQ(report.setups, 1);
  CHECK_EQ(report.solves, 4);
  CHECK(report.iterations > 0 && report.factor_bytes > 0);
  close_system(&system);
}

static void every_method_solves_with_every_preconditioner(lac_context *ctx) {
  for (int d = LAC_F32; d <= LAC_C128; d++) {
    direct_case definite = direct_make(DIRECT_POISSON, 80, (lac_dtype)d, 1);
    direct_case windy = direct_convection(8, 0.5, (lac_dtype)d);
    for (int m = LAC_METHOD_CG; m <= LAC_METHOD_LSQR; m++) {
      for (int p = LAC_METHOD_IDENTITY; p <= LAC_METHOD_MULTIGRID; p++) {
        lac_method method = (lac_method)m, preconditioner = (lac_method)p;
        if (goes_together(method, preconditioner, true)) check_pair(ctx, &definite, method, preconditioner);
        if (goes_together(method, preconditioner, false)) check_pair(ctx, &windy, method, preconditioner);
      }
    }
  }
}

static void what_does_not_go_together_is_refused(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 30, LAC_F64, 1);
  lac_solver_options options = options_of(LAC_METHOD_CG, LAC_METHOD_ILU0);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, s.solver, s.values, &factor), LAC_ERR_ARG, "Hermitian positive definite");
  direct_close(&s);
  options = options_of(LAC_METHOD_CG, LAC_METHOD_MULTIGRID);
  s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  CHECK_FAILS(lac_solver_factor(ctx, s.solver, s.values, &factor), LAC_ERR_ARG, "FLEXIBLE_CG");
  direct_close(&s);
}

static void what_is_left_open_is_chosen(lac_context *ctx) {
  direct_case definite = direct_make(DIRECT_POISSON, 80, LAC_F64, 1), windy = direct_convection(8, 0.5, LAC_F64);
  direct_case gaps = direct_make(DIRECT_ZERO_DIAGONAL, 12, LAC_F64, 1);
  lac_solver_options options = options_of(LAC_METHOD_CG, LAC_METHOD_AUTO);
  iterative_system a = open_system(ctx, &definite, &options);
  CHECK_TEXT(lac_factor_report(a.factor).method, "flexible_cg");
  CHECK_TEXT(lac_factor_report(a.factor).preconditioner, "multigrid");
  CHECK(strstr(lac_factor_report(a.factor).reason, "positive diagonal"));
  options.method = LAC_METHOD_GMRES;
  iterative_system b = open_system(ctx, &windy, &options);
  CHECK_TEXT(lac_factor_report(b.factor).method, "flexible_gmres");
  CHECK_TEXT(lac_factor_report(b.factor).preconditioner, "multigrid");
  iterative_system c = open_system(ctx, &gaps, &options);
  CHECK_TEXT(lac_factor_report(c.factor).preconditioner, "identity");
  CHECK(strstr(lac_factor_report(c.factor).reason, "diagonal"));
  close_system(&a);
  close_system(&b);
  close_system(&c);
}

// -- how it ends -----------------------------------------------------------------------------------------------------

static lac_solve_report iterate(lac_context *ctx, const lac_factor *factor, int64_t n, double fill) {
  lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){n, 2}, 3), *x = NULL;
  lac_solve_report report;
  if (fill != 1) CHECK_OK(lac_array_fill(ctx, b, fill, 0));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){n, 2}, &x));
  CHECK_OK(lac_factor_iterate(ctx, factor, LAC_N, b, NULL, x, &report));
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return report;
}

static void a_zero_right_hand_side_has_the_solution_zero(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  lac_solver_options options = options_of(LAC_METHOD_CG, LAC_METHOD_JACOBI);
  iterative_system s = open_system(ctx, &c, &options);
  lac_solve_report report = iterate(ctx, s.factor, c.s->rows, 0);
  CHECK(report.ending == LAC_CONVERGED && report.iterations == 0 && report.residual == 0);
  close_system(&s);
}

static void the_limit_is_an_error_unless_it_is_accepted(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = options_of(LAC_METHOD_CG, LAC_METHOD_IDENTITY);
  options.iteration.max_iterations = 4;
  iterative_system s = open_system(ctx, &c, &options);
  int64_t shape[] = {c.s->rows, 1};
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 3), *x = direct_random(ctx, LAC_F64, 2, shape, 3);
  CHECK_FAILS(lac_factor_solve(ctx, s.factor, LAC_N, b, x), LAC_ERR_CONVERGENCE,
              "after 4 iterations of cg with identity");
  CHECK(iterate(ctx, s.factor, c.s->rows, 1).ending == LAC_LIMIT);
  close_system(&s);
  options.iteration.accept_unconverged = 1;
  s = open_system(ctx, &c, &options);
  CHECK_OK(lac_factor_solve(ctx, s.factor, LAC_N, b, x));
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  close_system(&s);
}

static void a_singular_system_without_its_null_space_does_not_converge(lac_context *ctx) {
  direct_case c = direct_small(2, (double[]){1, -1, -1, 1}, LAC_F64);
  lac_solver_options options = options_of(LAC_METHOD_CG, LAC_METHOD_JACOBI);
  iterative_system s = open_system(ctx, &c, &options);
  CHECK(iterate(ctx, s.factor, 2, 1).ending != LAC_CONVERGED);
  close_system(&s);
}

static void a_singular_system_with_its_null_space_is_solved(lac_context *ctx) {
  direct_case c = direct_small(3, (double[]){1, -1, 0, -1, 2, -1, 0, -1, 1}, LAC_F64);
  lac_solver_options options = options_of(LAC_METHOD_CG, LAC_METHOD_JACOBI);
  double b[3] = {1, 2, 6}, x[3];
  lac_array *ones = NULL, *right = NULL, *left = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){3, 1}, &ones));
  CHECK_OK(lac_array_fill(ctx, ones, 1, 0));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){3, 1}, b, LAC_COPY, &right));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){3, 1}, &left));
  options.iteration.null_space = ones;
  iterative_system s = open_system(ctx, &c, &options);
  lac_array_destroy(&ones);  // the solver holds it
  CHECK_OK(lac_factor_solve(ctx, s.factor, LAC_N, right, left));
  CHECK_OK(lac_array_read(ctx, left, x));
  CHECK_NEAR(x[0] - x[1], -2, 1e-9);
  CHECK_NEAR(x[2] - x[1], 3, 1e-9);
  CHECK(fabs(x[0] + x[1] + x[2]) < 1e-9);
  lac_array_destroy(&right);
  lac_array_destroy(&left);
  close_system(&s);
}

static void what_cannot_get_better_stagnates(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 100, LAC_F64, 1);
  lac_solver_options options = options_of(LAC_METHOD_GMRES, LAC_METHOD_JACOBI);
  options.iteration.rtol = 1e-30;
  iterative_system s = open_system(ctx, &c, &options);
  lac_solve_report report = iterate(ctx, s.factor, c.s->rows, 1);
  CHECK(report.ending == LAC_STAGNATED && report.residual < 1e-13 && strlen(report.reason) > 10);
  close_system(&s);
}

static void what_is_not_finite_is_refused(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 30, LAC_F64, 1);
  lac_solver_options options = options_of(LAC_METHOD_GMRES, LAC_METHOD_JACOBI);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  ((double *)lac_array_edit(s.values))[4] = NAN;
  CHECK_FAILS(lac_solver_factor(ctx, s.solver, s.values, &factor), LAC_ERR_NONFINITE, "entry (");
  direct_close(&s);
}

static void a_hermitian_method_names_the_entry(lac_context *ctx) {
  direct_case c = direct_small(3, (double[]){4, 1, 0, 1, 4, 2, 0, 1, 4}, LAC_F64);
  direct_case gap = direct_small(3, (double[]){4, 1, 0, 1, 4, 0, 0, 1, 4}, LAC_F64);
  lac_solver_options options = options_of(LAC_METHOD_CG, LAC_METHOD_JACOBI);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options),
                t = direct_open(ctx, &gap, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, s.solver, s.values, &factor), LAC_ERR_SYMMETRY,
              "(1, 2) does not equal entry (2, 1)");
  CHECK_FAILS(lac_solver_factor(ctx, t.solver, t.values, &factor), LAC_ERR_SYMMETRY,
              "(2, 1) has no counterpart (1, 2)");
  direct_close(&s);
  direct_close(&t);
}

// -- sizes -----------------------------------------------------------------------------------------------------------

static void nothing_and_one_are_sizes_too(lac_context *ctx) {
  direct_case none = {sketch_empty(0, 0), ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {0}})};
  direct_case one = direct_small(1, (double[]){4}, LAC_F64);
  for (int m = LAC_METHOD_CG; m <= LAC_METHOD_LSQR; m++) {
    lac_solver_options options = options_of((lac_method)m, LAC_METHOD_AUTO);
    iterative_system s = open_system(ctx, &none, &options), t = open_system(ctx, &one, &options);
    CHECK(iterate(ctx, s.factor, 0, 1).ending == LAC_CONVERGED);
    CHECK(solve_residual(ctx, &one, t.factor, LAC_H, 2) <= 1e-10);
    close_system(&s);
    close_system(&t);
  }
}

static void least_squares_take_rectangles(lac_context *ctx) {
  const double a[6] = {1, 0, 0, 2, 1, 1}, b[3] = {1, 2, 3};
  lac_solver_options options = options_of(LAC_METHOD_LSMR, LAC_METHOD_AUTO);
  const lac_method methods[] = {LAC_METHOD_LSMR, LAC_METHOD_LSQR};
  lac_pattern *pattern = NULL;
  lac_array *values = NULL, *right = NULL, *x = NULL;
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_solve_report report;
  double got[2];
  CHECK_OK(lac_pattern_banded(ctx, 3, 2, 2, 1, LAC_WIDTH_AUTO, &pattern, NULL));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){6}, (void *)a, LAC_COPY, &values));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){3, 1}, (void *)b, LAC_COPY, &right));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){2, 1}, &x));
  for (int m = 0; m < 2; m++) {
    options.method = methods[m];
    CHECK_OK(lac_solver_create(ctx, pattern, &options, &solver));
    CHECK_OK(lac_solver_factor(ctx, solver, values, &factor));
    CHECK_OK(lac_factor_iterate(ctx, factor, LAC_N, right, NULL, x, &report));
    CHECK_OK(lac_array_read(ctx, x, got));
    CHECK_NEAR(got[0], 13.0 / 9, 1e-6);
    CHECK_NEAR(got[1], 10.0 / 9, 1e-6);
    lac_factor_destroy(&factor);
    lac_solver_destroy(&solver);
  }
  options.method = LAC_METHOD_GMRES;
  CHECK_FAILS(lac_solver_create(ctx, pattern, &options, &solver), LAC_ERR_SHAPE, "LAC_METHOD_LSMR");
  lac_array_destroy(&values);
  lac_array_destroy(&right);
  lac_array_destroy(&x);
  lac_pattern_destroy(&pattern);
}

// -- what is shared --------------------------------------------------------------------------------------------------

static void a_factor_shares_values_and_is_stale_when_they_change(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  lac_solver_options options = options_of(LAC_METHOD_CG, LAC_METHOD_JACOBI);
  iterative_system s = open_system(ctx, &c, &options);
  int64_t shape[] = {c.s->rows, 1};
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 3), *x = direct_random(ctx, LAC_F64, 2, shape, 3);
  CHECK(s.factor->iterative->given->storage == s.s.values->storage);
  (void)lac_array_edit(s.s.values);
  CHECK_FAILS(lac_factor_solve(ctx, s.factor, LAC_N, b, x), LAC_ERR_STALE, "changed since");
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  close_system(&s);
}

static void borrowed_values_are_copied(lac_context *ctx) {
  direct_case c = direct_small(2, (double[]){2, 1, 1, 2}, LAC_F64);
  lac_solver_options options = options_of(LAC_METHOD_CG, LAC_METHOD_JACOBI);
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
  CHECK(solve_residual(ctx, &c, factor, LAC_N, 2) <= 1e-10);
  lac_factor_destroy(&factor);
  direct_close(&s);
}

static void new_values_refresh_the_set_up(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 900, LAC_F64, 1);
  lac_solver_options options = options_of(LAC_METHOD_FLEXIBLE_CG, LAC_METHOD_MULTIGRID);
  iterative_system s = open_system(ctx, &c, &options);
  lac_factor *again = NULL, *other = NULL, *third = NULL;
  lac_array *twice = NULL;
  CHECK_OK(lac_solver_factor(ctx, s.s.solver, s.s.values, &again));
  CHECK(again == s.factor);
  for (int64_t z = 0; z < c.s->nnz; z++) c.a.x[z] *= 2;
  CHECK_OK(ref_upload(ctx, &c.a, &twice));
  CHECK_OK(lac_solver_factor(ctx, s.s.solver, twice, &other));
  CHECK_EQ(lac_factor_report(other).setups, 1);
  CHECK_EQ(lac_factor_report(other).refreshes, 1);
  CHECK(solve_residual(ctx, &c, other, LAC_N, 2) <= 1e-10);
  CHECK_OK(lac_factor_refactor(ctx, s.factor, twice, &third));
  CHECK_EQ(lac_factor_report(third).refreshes, 2);
  CHECK(solve_residual(ctx, &c, third, LAC_N, 2) <= 1e-10);
  lac_factor_destroy(&again);
  lac_factor_destroy(&other);
  lac_factor_destroy(&third);
  lac_array_destroy(&twice);
  close_system(&s);
}

static void a_factor_serves_as_preconditioner_and_is_held(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 100, LAC_F64, 1), windy = direct_convection(10, 0.3, LAC_F64);
  lac_solver_options options = options_of(LAC_METHOD_CHOLESKY, LAC_METHOD_AUTO);
  iterative_system rough = open_system(ctx, &c, &options);
  options.method = LAC_METHOD_GMRES;
  options.preconditioner.factor = rough.factor;
  iterative_system s = open_system(ctx, &windy, &options);
  close_system(&rough);
  CHECK(solve_residual(ctx, &windy, s.factor, LAC_T, 3) <= 1e-10);
  CHECK_TEXT(lac_factor_report(s.factor).preconditioner, "cholesky");
  close_system(&s);
}

static lac_status halve(lac_context *ctx, void *data, lac_side side, const lac_array *x, lac_array *y) {
  (void)side, ++*(int *)data;
  return ctx->kernels->scale(ctx, 0.5, 0, x, y);
}

static void a_function_serves_as_preconditioner(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  lac_solver_options options = options_of(LAC_METHOD_CG, LAC_METHOD_AUTO);
  int calls = 0;
  options.preconditioner.apply = halve;
  options.preconditioner.apply_data = &calls;
  iterative_system s = open_system(ctx, &c, &options);
  CHECK(solve_residual(ctx, &c, s.factor, LAC_N, 2) <= 1e-10);
  CHECK(calls > 3);
  close_system(&s);
}

static void determinants_come_from_a_direct_partner(lac_context *ctx) {
  if (!check_cpu_only("direct solvers")) return;
  direct_case c = direct_small(2, (double[]){3, 1, 1, 3}, LAC_F64);
  lac_solver_options options = options_of(LAC_METHOD_CG, LAC_METHOD_JACOBI);
  iterative_system s = open_system(ctx, &c, &options);
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
  close_system(&s);
}

// -- the automatic choice --------------------------------------------------------------------------------------------

static void small_systems_are_solved_directly(lac_context *ctx) {
  if (!check_cpu_only("direct solvers")) return;
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  iterative_system s = open_system(ctx, &c, NULL);
  CHECK(!s.factor->iterative);
  close_system(&s);
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
  CHECK(iterate(ctx, factor, s.pattern->rows, 1).ending == LAC_CONVERGED);
  lac_factor_destroy(&factor);
  direct_close(&s);
}

/// The forecast is overruled, so that what follows is seen on a small system.
static iterative_system automatic_open(lac_context *ctx, const direct_case *c, const lac_solver_options *options) {
  lac_solver_options given = *options;
  given.method = LAC_METHOD_AUTO;
  given.preconditioner.method = LAC_METHOD_JACOBI;
  return open_system(ctx, c, &given);
}

static void what_is_not_for_iterating_is_solved_directly(lac_context *ctx) {
  if (!check_cpu_only("direct solvers")) return;
  direct_case c = direct_make(DIRECT_INDEFINITE, 30, LAC_F64, 2);
  lac_solver_options options = lac_solver_options_defaults();
  iterative_system s = automatic_open(ctx, &c, &options);
  CHECK(!s.factor->iterative && strstr(lac_factor_report(s.factor).reason, "not iterated on"));
  direct_check(ctx, &c, s.factor, LAC_T, 2, 1e3);
  close_system(&s);
}

static void an_iteration_that_fails_falls_back_on_a_direct_factor(lac_context *ctx) {
  if (!check_cpu_only("direct solvers")) return;
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  options.iteration.max_iterations = 2;
  iterative_system s = automatic_open(ctx, &c, &options);
  CHECK(solve_residual(ctx, &c, s.factor, LAC_N, 2) <= 1e-12);
  CHECK_TEXT(lac_factor_report(s.factor).method, "cholesky");
  CHECK(strstr(lac_factor_report(s.factor).reason, "did not reach the tolerance"));
  int64_t solves = lac_factor_report(s.factor).solves;
  CHECK(solve_residual(ctx, &c, s.factor, LAC_H, 2) <= 1e-12);
  CHECK_EQ(lac_factor_report(s.factor).solves, solves);  // not tried again
  close_system(&s);
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
  close_system(&s);
}

// -- robust ----------------------------------------------------------------------------------------------------------

typedef struct visitor {
  const lac_factor *factor;
  lac_array *b, *x;
  lac_status status;
} visitor;

static void *visit(void *data) {
  visitor *v = data;
  lac_context *own = NULL;
  v->status = lac_context_create("cpu", 0, &own);
  for (int i = 0; i < 10 && v->status == LAC_OK; i++) v->status = lac_factor_solve(own, v->factor, LAC_N, v->b, v->x);
  lac_context_destroy(&own);
  return NULL;
}

static void threads_share_a_factor(lac_context *ctx) {
  if (!check_cpu_only("threads with contexts of their own")) return;
  direct_case c = direct_make(DIRECT_POISSON, 100, LAC_F64, 1);
  lac_solver_options options = options_of(LAC_METHOD_GMRES, LAC_METHOD_ILU0);
  iterative_system s = open_system(ctx, &c, &options);
  int64_t shape[] = {c.s->rows, 2};
  visitor visitors[3];
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    visitors[i] =
        (visitor){s.factor, direct_random(ctx, LAC_F64, 2, shape, 1), direct_random(ctx, LAC_F64, 2, shape, 2), 0};
    CHECK_EQ(pthread_create(&threads[i], NULL, visit, &visitors[i]), 0);
  }
  for (int i = 0; i < 3; i++) {
    pthread_join(threads[i], NULL);
    CHECK_EQ(visitors[i].status, LAC_OK);
    CHECK_EQ(memcmp(lac_array_data(visitors[i].x), lac_array_data(visitors[0].x), (size_t)(16 * c.s->rows)), 0);
  }
  for (int i = 0; i < 3; i++) lac_array_destroy(&visitors[i].b), lac_array_destroy(&visitors[i].x);
  CHECK_EQ(lac_factor_report(s.factor).solves, 30);
  close_system(&s);
}

static lac_status make_and_solve(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                                 const lac_array *values, const lac_array *b, lac_array *x) {
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  const char *text;
  lac_status status = lac_solver_create(ctx, pattern, options, &solver);
  if (status == LAC_OK) status = lac_solver_factor(ctx, solver, values, &factor);
  if (status == LAC_OK) status = lac_factor_solve(ctx, factor, LAC_T, b, x);
  if (status == LAC_OK) status = lac_factor_describe(ctx, factor, &text);
  lac_factor_destroy(&factor);
  lac_solver_destroy(&solver);
  return status;
}

static void every_failing_allocation_is_told(lac_context *ctx) {
  direct_case c = direct_convection(6, 0.5, LAC_F64);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  int64_t shape[] = {c.s->rows, 1};
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 3), *x = direct_random(ctx, LAC_F64, 2, shape, 3);
  for (int p = LAC_METHOD_AUTO; p <= LAC_METHOD_MULTIGRID; p = p ? p + 1 : LAC_METHOD_IDENTITY) {
    lac_solver_options options = options_of(LAC_METHOD_FLEXIBLE_GMRES, (lac_method)p);
    if (p == LAC_METHOD_IC0) continue;
    CHECK_OK(make_and_solve(ctx, s.pattern, &options, s.values, b, x));
    for (int64_t n = 1;; n++) {
      lac_memory_fail_at(n);
      lac_status status = make_and_solve(ctx, s.pattern, &options, s.values, b, x);
      lac_memory_fail_at(0);
      if (status == LAC_OK) break;
      CHECK_EQ(status, LAC_ERR_MEMORY);
    }
  }
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  direct_close(&s);
}

static void options_are_checked(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 30, LAC_F64, 1);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_solver_options usual = options_of(LAC_METHOD_GMRES, LAC_METHOD_JACOBI), options = usual;
  lac_solver *solver = NULL;
  options.iteration.rtol = NAN;
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG, "rtol");
  options = usual, options.iteration.atol = -1;
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG, "atol");
  options = usual, options.preconditioner.omega = 2;
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG, "omega");
  options = usual, options.preconditioner.method = LAC_METHOD_CG;
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG, "flexible");
  options = usual, options.iteration.null_space = s.values;
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_SHAPE, "null_space");
  options = usual, options.method = (lac_method)99;
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG, "unknown method");
  direct_close(&s);
}

CHECK_MAIN(every_method_solves_with_every_preconditioner, what_does_not_go_together_is_refused,
           what_is_left_open_is_chosen, a_zero_right_hand_side_has_the_solution_zero,
           the_limit_is_an_error_unless_it_is_accepted, a_singular_system_without_its_null_space_does_not_converge,
           a_singular_system_with_its_null_space_is_solved, what_cannot_get_better_stagnates,
           what_is_not_finite_is_refused, a_hermitian_method_names_the_entry, nothing_and_one_are_sizes_too,
           least_squares_take_rectangles, a_factor_shares_values_and_is_stale_when_they_change,
           borrowed_values_are_copied, new_values_refresh_the_set_up, a_factor_serves_as_preconditioner_and_is_held,
           a_function_serves_as_preconditioner, determinants_come_from_a_direct_partner,
           small_systems_are_solved_directly, a_large_cube_is_iterated_on_without_a_direct_analysis,
           what_is_not_for_iterating_is_solved_directly, an_iteration_that_fails_falls_back_on_a_direct_factor,
           where_neither_will_do_the_error_tells_of_both, threads_share_a_factor, every_failing_allocation_is_told,
           options_are_checked)

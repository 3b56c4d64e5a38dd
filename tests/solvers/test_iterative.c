// SPDX-License-Identifier: Apache-2.0
/// Iterative solvers as solvers and factors: every method with every preconditioner, how solves end, what is refused.

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "solvers/auto/auto.h"
#include "solvers/krylov/krylov_solver.h"
#include "support/check.h"
#include "support/iterative_case.h"
#include "support/reports.h"

static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

// -- all with all ----------------------------------------------------------------------------------------------------

static const char *const KRYLOV[] = {
#define LAC_KRYLOV(name, flags) #name,
#include "solvers/krylov/krylov.def"
#undef LAC_KRYLOV
};

static const char *const PRECONDITIONERS[] = {
#define LAC_PRECONDITIONER(name, flags) #name,
#include "solvers/precondition/preconditioners.def"
#undef LAC_PRECONDITIONER
};

enum { KRYLOV_COUNT = sizeof KRYLOV / sizeof *KRYLOV };
enum { PRECONDITIONERS_COUNT = sizeof PRECONDITIONERS / sizeof *PRECONDITIONERS };

static const lac_solver_table *kind_of(const char *method) { return lac_kind_built_in(method); }

/// What a backend does not claim works on the host.
static bool is_claimed(const lac_context *ctx, const char *method) {
  return lac_claims_have(ctx->kernels->claims, LAC_CLAIM_SOLVER, method, LAC_F64, false);
}

static bool goes_together(const char *method, const char *preconditioner, bool is_hermitian) {
  const lac_krylov_table *krylov = kind_of(method)->method;
  unsigned flags = kind_of(preconditioner)->flags;
  if (krylov->needs_hermitian && (!is_hermitian || !(flags & LAC_KEEPS_HERMITIAN))) return false;
  if (flags & LAC_VARIES && !krylov->flexible) return false;
  if (strcmp(preconditioner, "ic0") == 0 && !is_hermitian) return false;
  return true;
}

static void check_pair(lac_context *ctx, const direct_case *c, const char *method, const char *preconditioner) {
  lac_solver_options options = iterative_options(method, preconditioner);
  options.iteration.max_iterations = 3000;
  iterative_system system = iterative_open(ctx, c, &options);
  for (int s = 0; s < 4; s++) {
    double residual = iterative_residual(ctx, c, system.factor, FORMS[s], 3);
    if (!(residual <= 1.1 * iterative_asked(c->a.meta.dtype))) {
      check_fail(__FILE__, __LINE__, "%s with %s: residual %g", method, preconditioner, residual);
    }
  }
  lac_report report = report_of_factor(system.factor);
  const lac_krylov_table *krylov = kind_of(method)->method;
  bool varies = kind_of(preconditioner)->flags & LAC_VARIES;
  CHECK_TEXT(report.method, (varies ? krylov->flexible : krylov)->name);
  CHECK_TEXT(report_of_solver(system.s.solver).method, report.method);
  CHECK_EQ(strstr(report.reason, "since the preconditioner varies") != NULL, varies && !krylov->is_flexible);
  CHECK_TEXT(report.preconditioner, preconditioner);
  CHECK_EQ(strstr(report.reason, "travel to the host") != NULL, !is_claimed(ctx, preconditioner));
  CHECK_EQ(report.setups, 1);
  CHECK_EQ(report.solves, 4);
  CHECK(report.iterations > 0 && report.factor_bytes > 0);
  iterative_close(&system);
}

static void every_method_solves_with_every_preconditioner(lac_context *ctx) {
  for (int d = LAC_F32; d <= LAC_C128; d++) {
    direct_case definite = direct_make(DIRECT_POISSON, 80, (lac_dtype)d, 1);
    direct_case windy = direct_convection(8, 0.5, (lac_dtype)d);
    for (int m = 0; m < KRYLOV_COUNT; m++) {
      for (int p = 0; p < PRECONDITIONERS_COUNT; p++) {
        const char *method = KRYLOV[m], *preconditioner = PRECONDITIONERS[p];
        if (goes_together(method, preconditioner, true)) check_pair(ctx, &definite, method, preconditioner);
        if (goes_together(method, preconditioner, false)) check_pair(ctx, &windy, method, preconditioner);
      }
    }
  }
}

static void what_does_not_go_together_is_refused(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 30, LAC_F64, 1);
  lac_solver_options options = iterative_options("cg", "ilu0");
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, s.solver, s.values, &factor), LAC_ERR_ARG, "Hermitian positive definite");
  direct_close(&s);
  options = iterative_options("minres", "multigrid");
  s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  CHECK_FAILS(lac_solver_factor(ctx, s.solver, s.values, &factor), LAC_ERR_ARG, "\"flexible_cg\"");
  direct_close(&s);
}

static void what_is_left_open_is_chosen(lac_context *ctx) {
  if (!check_claimed("multigrid")) return;
  direct_case definite = direct_make(DIRECT_POISSON, 80, LAC_F64, 1), windy = direct_convection(8, 0.5, LAC_F64);
  direct_case gaps = direct_make(DIRECT_ZERO_DIAGONAL, 12, LAC_F64, 1);
  lac_solver_options options = iterative_options("cg", "auto");
  iterative_system a = iterative_open(ctx, &definite, &options);
  CHECK_TEXT(report_of_factor(a.factor).method, "flexible_cg");
  CHECK_TEXT(report_of_factor(a.factor).preconditioner, "multigrid");
  CHECK(strstr(report_of_factor(a.factor).reason, "positive diagonal"));
  options.method = "gmres";
  iterative_system b = iterative_open(ctx, &windy, &options);
  CHECK_TEXT(report_of_factor(b.factor).method, "flexible_gmres");
  CHECK_TEXT(report_of_factor(b.factor).preconditioner, "multigrid");
  iterative_system c = iterative_open(ctx, &gaps, &options);
  CHECK_TEXT(report_of_factor(c.factor).preconditioner, "identity");
  CHECK(strstr(report_of_factor(c.factor).reason, "diagonal"));
  iterative_close(&a);
  iterative_close(&b);
  iterative_close(&c);
}

// -- how it ends -----------------------------------------------------------------------------------------------------

static void a_zero_right_hand_side_has_the_solution_zero(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  lac_solver_options options = iterative_options("cg", "jacobi");
  iterative_system s = iterative_open(ctx, &c, &options);
  lac_solve_report report = iterative_run(ctx, s.factor, c.s->rows, 0);
  CHECK(report.ending == LAC_ENDING_CONVERGED && report.iterations == 0 && report.residual == 0);
  iterative_close(&s);
}

static void the_limit_is_an_error_unless_it_is_accepted(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = iterative_options("cg", "identity");
  options.iteration.max_iterations = 4;
  iterative_system s = iterative_open(ctx, &c, &options);
  int64_t shape[] = {c.s->rows, 1};
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 3), *x = direct_random(ctx, LAC_F64, 2, shape, 3);
  CHECK_FAILS(lac_factor_solve(ctx, s.factor, b, LAC_PLAIN, x), LAC_ERR_CONVERGENCE,
              "after 4 iterations of cg with identity");
  CHECK(iterative_run(ctx, s.factor, c.s->rows, 1).ending == LAC_ENDING_LIMIT);
  iterative_close(&s);
  options.iteration.accept_unconverged = 1;
  s = iterative_open(ctx, &c, &options);
  CHECK_OK(lac_factor_solve(ctx, s.factor, b, LAC_PLAIN, x));
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  iterative_close(&s);
}

static int stop_at_three(void *data, int64_t iteration, double residual) {
  *(double *)data = residual;
  return iteration >= 3;
}

static void progress_may_end_a_solve(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = iterative_options("cg", "jacobi");
  double seen = -1;
  options.iteration.progress = stop_at_three;
  options.iteration.progress_data = &seen;
  iterative_system s = iterative_open(ctx, &c, &options);
  lac_solve_report report = iterative_run(ctx, s.factor, c.s->rows, 1);
  CHECK(report.ending == LAC_ENDING_INTERRUPTED && report.iterations == 3 && seen > 0);
  iterative_close(&s);
}

static void a_singular_system_without_its_null_space_does_not_converge(lac_context *ctx) {
  direct_case c = direct_small(2, (double[]){1, -1, -1, 1}, LAC_F64);
  lac_solver_options options = iterative_options("cg", "jacobi");
  iterative_system s = iterative_open(ctx, &c, &options);
  CHECK(iterative_run(ctx, s.factor, 2, 1).ending != LAC_ENDING_CONVERGED);
  iterative_close(&s);
}

static void a_singular_system_with_its_null_space_is_solved(lac_context *ctx) {
  direct_case c = direct_small(3, (double[]){1, -1, 0, -1, 2, -1, 0, -1, 1}, LAC_F64);
  lac_solver_options options = iterative_options("cg", "jacobi");
  double b[3] = {1, 2, 6}, x[3];
  lac_array *ones = NULL, *right = NULL, *left = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){3, 1}, &ones));
  CHECK_OK(lac_array_fill(ctx, ones, 1, 0));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){3, 1}, b, LAC_OWNERSHIP_COPY, &right));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){3, 1}, &left));
  options.iteration.null_space = ones;
  iterative_system s = iterative_open(ctx, &c, &options);
  lac_array_destroy(&ones);  // the solver holds it
  CHECK_OK(lac_factor_solve(ctx, s.factor, right, LAC_PLAIN, left));
  CHECK_OK(lac_array_read(ctx, left, x));
  CHECK_NEAR(x[0] - x[1], -2, 1e-9);
  CHECK_NEAR(x[2] - x[1], 3, 1e-9);
  CHECK(fabs(x[0] + x[1] + x[2]) < 1e-9);
  lac_array_destroy(&right);
  lac_array_destroy(&left);
  iterative_close(&s);
}

static void a_null_space_that_is_none_is_refused(lac_context *ctx) {
  direct_case c = direct_small(3, (double[]){1, -1, 0, -1, 2, -1, 0, -1, 3}, LAC_F64);
  lac_solver_options options = iterative_options("cg", "jacobi");
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_array *ones = NULL;
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){3, 1}, &ones));
  CHECK_OK(lac_array_fill(ctx, ones, 1, 0));
  options.iteration.null_space = ones;
  CHECK_OK(lac_solver_create(ctx, s.pattern, &options, &solver));
  CHECK_FAILS(lac_solver_factor(ctx, solver, s.values, &factor), LAC_ERR_ARG, "column 0 of null_space");
  lac_solver_destroy(&solver);
  CHECK_OK(lac_array_fill(ctx, ones, NAN, 0));
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_NONFINITE, "row 0 of column 0");
  lac_array_destroy(&ones);
  direct_close(&s);
}

static void what_cannot_get_better_is_attained(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 100, LAC_F64, 1);
  lac_solver_options options = iterative_options("gmres", "jacobi");
  options.iteration.rtol = 1e-30;
  iterative_system s = iterative_open(ctx, &c, &options);
  lac_solve_report report = iterative_run(ctx, s.factor, c.s->rows, 1);
  CHECK(report.ending == LAC_ENDING_CONVERGED && report.residual < 1e-13 && strstr(report.reason, "attained"));
  iterative_close(&s);
}

/// 1e-10 is what f64 has by default; asked for in f32 it is not taken for the default of f32.
static void a_tolerance_that_is_asked_for_is_kept_to(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 100, LAC_F32, 1);
  lac_solver_options options = iterative_options("cg", "jacobi");
  iterative_system s = iterative_open(ctx, &c, &options);
  lac_solve_report report = iterative_run(ctx, s.factor, c.s->rows, 1);
  CHECK(report.ending == LAC_ENDING_CONVERGED && report.residual > 1e-10);
  iterative_close(&s);
  options.iteration.rtol = 1e-10;
  s = iterative_open(ctx, &c, &options);
  report = iterative_run(ctx, s.factor, c.s->rows, 1);  // f32 has no such digits: what there is, is told
  CHECK(report.ending == LAC_ENDING_CONVERGED && report.residual > 1e-10 && strstr(report.reason, "attained"));
  iterative_close(&s);
  options.iteration.rtol = 0, options.iteration.max_iterations = 3;
  s = iterative_open(ctx, &c, &options);
  CHECK(iterative_run(ctx, s.factor, c.s->rows, 1).ending == LAC_ENDING_LIMIT);
  iterative_close(&s);
}

static void what_is_not_finite_is_refused(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  direct_case c = direct_make(DIRECT_POISSON, 30, LAC_F64, 1);
  lac_solver_options options = iterative_options("gmres", "jacobi");
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  ((double *)lac_array_edit(s.values))[4] = NAN;
  CHECK_FAILS(lac_solver_factor(ctx, s.solver, s.values, &factor), LAC_ERR_NONFINITE, "entry (");
  direct_close(&s);
}

static void a_hermitian_method_names_the_entry(lac_context *ctx) {
  direct_case c = direct_small(3, (double[]){4, 1, 0, 1, 4, 2, 0, 1, 4}, LAC_F64);
  direct_case gap = direct_small(3, (double[]){4, 1, 0, 1, 4, 0, 0, 1, 4}, LAC_F64);
  lac_solver_options options = iterative_options("cg", "jacobi");
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options),
                t = direct_open(ctx, &gap, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, s.solver, s.values, &factor), LAC_ERR_SYMMETRY,
              "(1, 2), 2, does not equal entry (2, 1), 1, to rounding");
  CHECK_FAILS(lac_solver_factor(ctx, t.solver, t.values, &factor), LAC_ERR_SYMMETRY,
              "(2, 1) has no counterpart (1, 2)");
  direct_close(&s);
  direct_close(&t);
}

// -- sizes -----------------------------------------------------------------------------------------------------------

static void nothing_is_a_size_too(lac_context *ctx) {
  direct_case none = {sketch_empty(0, 0), ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {0}})};
  for (int m = 0; m < KRYLOV_COUNT; m++) {
    lac_solver_options options = iterative_options(KRYLOV[m], "auto");
    iterative_system s = iterative_open(ctx, &none, &options);
    CHECK(iterative_run(ctx, s.factor, 0, 1).ending == LAC_ENDING_CONVERGED);
    iterative_close(&s);
  }
}

/// The hierarchy, in a lower precision, is Hermitian to that only: CG must take all that is left along the one
/// direction there is.
static void one_is_a_size_too(lac_context *ctx) {
  for (int d = LAC_F32; d <= LAC_C128; d++) {
    direct_case one = direct_small(1, (double[]){3}, (lac_dtype)d);
    for (int m = 0; m < KRYLOV_COUNT; m++) {
      lac_solver_options options = iterative_options(KRYLOV[m], "auto");
      iterative_system s = iterative_open(ctx, &one, &options);
      CHECK(iterative_residual(ctx, &one, s.factor, LAC_ADJOINT, 3) <= iterative_asked((lac_dtype)d));
      iterative_close(&s);
    }
  }
}

static void least_squares_take_rectangles(lac_context *ctx) {
  const double a[6] = {1, 0, 0, 2, 1, 1}, b[3] = {1, 2, 3};
  lac_solver_options options = iterative_options("lsmr", "auto");
  const char *const methods[] = {"lsmr", "lsqr"};
  lac_pattern *pattern = NULL;
  lac_array *values = NULL, *right = NULL, *x = NULL;
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_solve_report report = {0};
  double got[2];
  CHECK_OK(lac_pattern_banded(ctx, 3, 2, 2, 1, LAC_WIDTH_AUTO, &pattern, NULL));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){6}, (void *)a, LAC_OWNERSHIP_COPY, &values));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){3, 1}, (void *)b, LAC_OWNERSHIP_COPY, &right));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){2, 1}, &x));
  for (int m = 0; m < 2; m++) {
    options.method = methods[m];
    CHECK_OK(lac_solver_create(ctx, pattern, &options, &solver));
    CHECK_OK(lac_solver_factor(ctx, solver, values, &factor));
    CHECK_OK(lac_factor_iterate(ctx, factor, right, NULL, LAC_PLAIN, x, &report));
    CHECK_OK(lac_array_read(ctx, x, got));
    CHECK_NEAR(got[0], 13.0 / 9, 1e-6);
    CHECK_NEAR(got[1], 10.0 / 9, 1e-6);
    lac_factor_destroy(&factor);
    lac_solver_destroy(&solver);
  }
  options.method = "gmres";
  CHECK_FAILS(lac_solver_create(ctx, pattern, &options, &solver), LAC_ERR_SHAPE, "method = \"lsmr\"");
  lac_array_destroy(&values);
  lac_array_destroy(&right);
  lac_array_destroy(&x);
  lac_pattern_destroy(&pattern);
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
  for (int i = 0; i < 10 && v->status == LAC_OK; i++)
    v->status = lac_factor_solve(own, v->factor, v->b, LAC_PLAIN, v->x);
  lac_context_destroy(&own);
  return NULL;
}

static void threads_share_a_factor(lac_context *ctx) {
  if (!check_claimed("threads with contexts of their own")) return;
  direct_case c = direct_make(DIRECT_POISSON, 100, LAC_F64, 1);
  lac_solver_options options = iterative_options("gmres", "ilu0");
  iterative_system s = iterative_open(ctx, &c, &options);
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
  CHECK_EQ(report_of_factor(s.factor).solves, 30);
  iterative_close(&s);
}

static lac_status make_and_solve(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                                 const lac_array *values, const lac_array *b, lac_array *x) {
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  const char *text;
  lac_status status = lac_solver_create(ctx, pattern, options, &solver);
  if (status == LAC_OK) status = lac_solver_factor(ctx, solver, values, &factor);
  if (status == LAC_OK) status = lac_factor_solve(ctx, factor, b, LAC_TRANSPOSED, x);
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
  for (int p = -1; p < PRECONDITIONERS_COUNT; p++) {
    const char *name = p < 0 ? NULL : PRECONDITIONERS[p];
    lac_solver_options options = iterative_options("flexible_gmres", name);
    if (name && (strcmp(name, "ic0") == 0 || !check_claimed(name))) continue;
    CHECK_OK(make_and_solve(ctx, s.pattern, &options, s.values, b, x));
    for (int64_t n = 1;; n = check_next_failure(ctx, n)) {
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
  lac_solver_options usual = iterative_options("gmres", "jacobi"), options = usual;
  lac_solver *solver = NULL;
  options.iteration.rtol = NAN;
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG, "rtol");
  options = usual, options.iteration.atol = -1;
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG, "atol");
  options = usual, options.iteration.restart = 100000;
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG, "restart");
  options = usual, options.preconditioner.omega = 2;
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG, "omega");
  options = usual, options.preconditioner.method = "cg";
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG, "flexible");
  options = usual, options.iteration.null_space = s.values;
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_SHAPE, "null_space");
  options = usual, options.method = "gmress";
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG, "no method \"gmress\"");
  direct_close(&s);
}

/// As solver.h has it: x is NaN in the column of b that is not finite, and the others are solved.
static void check_nan_column(lac_context *ctx, const direct_case *c, const lac_solver_options *options, bool is_error) {
  enum { K = 3, BAD = 1 };
  int64_t n = c->s->rows;
  iterative_system system = iterative_open(ctx, c, options);
  lac_array *good = direct_random(ctx, LAC_F64, 2, (int64_t[]){n, K}, 5), *b = NULL, *x[2] = {NULL, NULL};
  lac_solve_report report = {.size = sizeof report};
  ref rb, want, got;

  for (int i = 0; i < 2; i++) CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){n, K}, &x[i]));
  CHECK_OK(lac_factor_solve(ctx, system.factor, good, LAC_PLAIN, x[0]));
  CHECK_OK(ref_download(ctx, good, &rb));
  rb.x[4 * K + BAD] = NAN;
  CHECK_OK(ref_upload(ctx, &rb, &b));
  if (is_error) {
    CHECK_FAILS(lac_factor_solve(ctx, system.factor, b, LAC_PLAIN, x[1]), LAC_ERR_CONVERGENCE, "column 1: NaN");
    CHECK_OK(lac_factor_iterate(ctx, system.factor, b, NULL, LAC_PLAIN, x[1], &report));
    CHECK_EQ(report.ending, LAC_ENDING_DIVERGED);
  } else {
    CHECK_OK(lac_factor_solve(ctx, system.factor, b, LAC_PLAIN, x[1]));
  }
  CHECK_OK(ref_download(ctx, x[0], &want));
  CHECK_OK(ref_download(ctx, x[1], &got));
  for (int64_t i = 0; i < n * K; i++) {
    CHECK(i % K == BAD ? isnan(creal(got.x[i])) : cabs(got.x[i] - want.x[i]) <= 1e-8 * (1 + cabs(want.x[i])));
  }
  for (int i = 0; i < 2; i++) lac_array_destroy(&x[i]);
  lac_array_destroy(&b);
  lac_array_destroy(&good);
  iterative_close(&system);
}

static void a_column_with_nan_is_nan_and_the_others_are_solved(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 80, LAC_F64, 1);
  for (int m = 0; m < KRYLOV_COUNT; m++) {
    lac_solver_options options = iterative_options(KRYLOV[m], "jacobi");
    check_nan_column(ctx, &c, &options, true);
  }
  if (!check_claimed("direct solvers")) return;
  lac_solver_options direct = iterative_options("direct", NULL), any = iterative_options("auto", "jacobi");
  check_nan_column(ctx, &c, &direct, false);
  check_nan_column(ctx, &c, &any, false);
}

/// Once each: what a caller reads who has only the sentence.
static void a_failure_names_residual_method_and_preconditioner_once(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = iterative_options("cg", "jacobi");
  options.iteration.max_iterations = 2;
  iterative_system system = iterative_open(ctx, &c, &options);
  lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){c.s->rows, 1}, 5), *x = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){c.s->rows, 1}, &x));
  CHECK_EQ(lac_factor_solve(ctx, system.factor, b, LAC_PLAIN, x), LAC_ERR_CONVERGENCE);
  const char *first = strstr(lac_context_error(ctx), "relative residual");
  CHECK(first && strstr(first, "after 2 iterations of cg with jacobi"));
  CHECK(first && !strstr(first + strlen("relative residual"), "residual"));
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  iterative_close(&system);
}

CHECK_MAIN(a_column_with_nan_is_nan_and_the_others_are_solved, a_failure_names_residual_method_and_preconditioner_once,
           progress_may_end_a_solve, every_method_solves_with_every_preconditioner,
           what_does_not_go_together_is_refused, what_is_left_open_is_chosen,
           a_zero_right_hand_side_has_the_solution_zero, the_limit_is_an_error_unless_it_is_accepted,
           a_singular_system_without_its_null_space_does_not_converge, a_singular_system_with_its_null_space_is_solved,
           a_null_space_that_is_none_is_refused, what_cannot_get_better_is_attained,
           a_tolerance_that_is_asked_for_is_kept_to, what_is_not_finite_is_refused, a_hermitian_method_names_the_entry,
           nothing_is_a_size_too, one_is_a_size_too, least_squares_take_rectangles, threads_share_a_factor,
           every_failing_allocation_is_told, options_are_checked)

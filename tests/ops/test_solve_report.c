// SPDX-License-Identifier: Apache-2.0
/// What a tape tells of the solves on it (lac_tape_solve_report): each var its own, and what has none says so.

#include <string.h>

#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

enum { FORM = 12 };

/// A system on a tape: a leaf of its values, and right-hand sides.
typedef struct stage {
  direct_case c;
  direct_system system;
  lac_tape *tape;
  lac_array *b;
  lac_var values, right;
} stage;

static stage stage_open(lac_context *ctx, direct_kind kind, const char *method, lac_tape_mode mode) {
  lac_solver_options options = lac_solver_options_defaults();
  stage s = {.c = direct_make(kind, FORM * FORM, LAC_F64, 3)};
  options.method = method;
  s.system = direct_open(ctx, &s.c, LAC_WIDTH_AUTO, &options);
  s.b = direct_random(ctx, LAC_F64, 2, (int64_t[]){s.c.s->rows, 1}, 5);
  CHECK_OK(lac_tape_create(ctx, mode, &s.tape));
  s.values = lac_tape_leaf(s.tape, s.system.values);
  s.right = lac_tape_constant(s.tape, s.b);
  return s;
}

static void stage_close(stage *s) {
  lac_tape_destroy(&s->tape);
  lac_array_destroy(&s->b);
  direct_close(&s->system);
}

static lac_solve_report solve_told(lac_context *ctx, const stage *s, lac_var var, const char *method) {
  lac_report report = {0};
  lac_solve_report told = {0};
  CHECK_OK(lac_tape_solve_report(s->tape, var, &report, &told));
  CHECK_TEXT(report.method, method);
  return told;
}

/// The method that was taken for these values, also where it is not the one foreseen, and of what was made of the
/// solution too.
static void the_method_of_a_solve_is_told(lac_context *ctx) {
  static const struct {
    direct_kind kind;
    const char *method;
  } cases[] = {{DIRECT_POISSON, "cholesky"}, {DIRECT_INDEFINITE, "ldlt"}, {DIRECT_NONSYMMETRIC, "pivoting_lu"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    stage s = stage_open(ctx, cases[i].kind, "auto", LAC_TAPE_RECORD);
    lac_factor *factor = NULL;
    lac_report report = {0};
    lac_var x = lac_solve(s.tape, s.system.solver, s.values, s.right, LAC_PLAIN), loss = lac_dot(s.tape, x, x);
    CHECK_OK(lac_tape_status(s.tape));
    CHECK_OK(lac_solver_factor(ctx, s.system.solver, s.system.values, &factor));
    CHECK_EQ(solve_told(ctx, &s, x, cases[i].method).ending, LAC_ENDING_CONVERGED);
    (void)solve_told(ctx, &s, loss, report_of_factor(factor).method);
    CHECK_OK(lac_tape_solve_report(s.tape, x, &report, NULL));
    CHECK_TEXT(report.reason, report_of_factor(factor).reason);
    CHECK(report.reason[0]);
    lac_var with = lac_solve_with(s.tape, factor, s.values, s.right, LAC_TRANSPOSED);
    (void)solve_told(ctx, &s, with, cases[i].method);
    lac_factor_destroy(&factor);
    stage_close(&s);
  }
}

/// Two solves by one factor, then those of a gradient: each var keeps the report of its own.
static void each_var_has_the_report_of_its_own_solve(lac_context *ctx) {
  stage s = stage_open(ctx, DIRECT_POISSON, "cg", LAC_TAPE_RECORD);
  lac_factor *factor = NULL;
  lac_array *x = NULL;
  lac_solve_report first = {0}, second = {0}, told = {0}, last = {0};
  lac_var zero = lac_scale(s.tape, s.right, 0, 0), values_bar;
  CHECK_OK(lac_solver_factor(ctx, s.system.solver, s.system.values, &factor));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){s.c.s->rows, 1}, &x));
  CHECK_OK(lac_factor_iterate(ctx, factor, s.b, NULL, LAC_PLAIN, x, &first));
  lac_var y = lac_solve_with(s.tape, factor, s.values, s.right, LAC_PLAIN);
  lac_var z = lac_solve_with(s.tape, factor, s.values, zero, LAC_PLAIN), loss = lac_dot(s.tape, y, y);
  CHECK_OK(lac_tape_vjp(s.tape, 1, &loss, NULL, 1, &s.values, &values_bar, LAC_GRAPH_NONE));
  told = solve_told(ctx, &s, y, "flexible_cg");
  CHECK(first.iterations > 5);
  CHECK_EQ(told.iterations, first.iterations);
  CHECK_EQ(told.residual == first.residual, 1);
  CHECK_TEXT(told.reason, first.reason);
  second = solve_told(ctx, &s, z, "flexible_cg");
  CHECK_EQ(second.iterations, 0);
  CHECK_OK(lac_solver_last_solve(s.system.solver, &last));
  CHECK_EQ(solve_told(ctx, &s, loss, "flexible_cg").iterations, first.iterations);
  CHECK(last.iterations > 0);  // of the gradient's
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);
  stage_close(&s);
}

static void a_determinant_has_a_factor_and_no_solve(lac_context *ctx) {
  stage s = stage_open(ctx, DIRECT_POISSON, "auto", LAC_TAPE_RECORD);
  lac_solve_report told = solve_told(ctx, &s, lac_logdet(s.tape, s.system.solver, s.values), "cholesky");
  CHECK_TEXT(told.reason, "");
  CHECK_EQ(told.iterations, 0);
  CHECK(told.residual == -1);
  stage_close(&s);
}

static void least_squares_tell_of_their_system(lac_context *ctx) {
  stage s = stage_open(ctx, DIRECT_NONSYMMETRIC, "auto", LAC_TAPE_RECORD);
  lac_pattern *system = NULL;
  lac_solver *solver = NULL;
  lac_report report = {0};
  lac_var out[2];
  CHECK_OK(lac_pattern_augmented(ctx, s.system.pattern, &system, NULL));
  CHECK_OK(lac_solver_create(ctx, system, NULL, &solver));
  lac_lstsq(s.tape, s.system.pattern, s.values, s.right, (lac_var){0}, solver, out);
  CHECK_OK(lac_tape_status(s.tape));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(lac_tape_solve_report(s.tape, out[i], &report, NULL));
    CHECK(report.method[0] && report.factor_nnz > s.c.s->nnz);
  }
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&system);
  stage_close(&s);
}

/// y = theta x
static lac_status times(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  (void)data, (void)step;
  out[0] = lac_mul(tape, in[0], in[1]);
  return LAC_OK;
}

static void a_solve_without_a_matrix_has_a_report_and_no_factor(lac_context *ctx) {
  stage s = stage_open(ctx, DIRECT_POISSON, "auto", LAC_TAPE_RECORD);
  lac_var theta = lac_tape_leaf(s.tape, s.b), x = lac_solve_operator(s.tape, times, NULL, 1, &theta, s.right, NULL);
  lac_solve_report told = solve_told(ctx, &s, x, "");
  CHECK(told.iterations > 0 && told.residual >= 0 && told.residual < 1e-6);
  stage_close(&s);
}

static void what_no_solver_made_is_refused_with_a_way_out(lac_context *ctx) {
  stage s = stage_open(ctx, DIRECT_POISSON, "auto", LAC_TAPE_RECORD);
  stage run = stage_open(ctx, DIRECT_POISSON, "auto", LAC_TAPE_RUN);
  lac_report report = {0};
  lac_var frozen = lac_solve(s.tape, s.system.solver, lac_tape_constant(s.tape, s.system.values), s.right, LAC_PLAIN);
  lac_var ran = lac_solve(run.tape, run.system.solver, run.values, run.right, LAC_PLAIN);
  CHECK(frozen.id && ran.id);
  CHECK_FAILS(lac_tape_solve_report(s.tape, s.values, &report, NULL), LAC_ERR_ARG, "no recorded call of a solver");
  CHECK_FAILS(lac_tape_solve_report(s.tape, lac_exp(s.tape, s.values), NULL, NULL), LAC_ERR_ARG, "lac_solve");
  CHECK_FAILS(lac_tape_solve_report(s.tape, frozen, &report, NULL), LAC_ERR_ARG, "made of a leaf");
  CHECK_FAILS(lac_tape_solve_report(run.tape, ran, &report, NULL), LAC_ERR_ARG, "LAC_TAPE_RECORD");
  CHECK_FAILS(lac_tape_solve_report(s.tape, ran, &report, NULL), LAC_ERR_ABSENT, "another tape");
  CHECK_FAILS(lac_tape_solve_report(s.tape, (lac_var){0}, &report, NULL), LAC_ERR_ABSENT, "absent");
  CHECK_EQ(lac_tape_solve_report(NULL, ran, &report, NULL), LAC_ERR_ARG);
  lac_var x = lac_solve(s.tape, s.system.solver, s.values, s.right, LAC_PLAIN);
  CHECK_OK(lac_tape_solve_report(s.tape, x, NULL, NULL));
  CHECK_OK(lac_tape_status(s.tape));  // asking in vain is no error of the tape
  stage_close(&run);
  stage_close(&s);
}

static void failing_allocations_lose_nothing(lac_context *ctx) {
  stage s = stage_open(ctx, DIRECT_POISSON, "auto", LAC_TAPE_RECORD);
  lac_factor *factor = NULL;
  lac_report report = {0};
  CHECK_OK(lac_solver_factor(ctx, s.system.solver, s.system.values, &factor));
  int64_t before = memory_now("cpu").live_blocks;
  for (int64_t n = 1;; n = check_next_failure(ctx, n)) {
    lac_tape *tape = NULL;
    CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
    lac_memory_fail_at(n);
    lac_var a = lac_tape_leaf(tape, s.system.values), b = lac_tape_constant(tape, s.b);
    lac_var x = lac_solve_with(tape, factor, a, b, LAC_PLAIN);
    lac_status status = lac_tape_status(tape);
    if (status == LAC_OK) status = lac_tape_solve_report(tape, x, &report, NULL);
    int64_t asked = lac_memory_fail_at(0);
    lac_tape_destroy(&tape);
    CHECK_EQ(memory_now("cpu").live_blocks, before);
    if (asked < n) break;
    CHECK_FAILS(status, LAC_ERR_MEMORY, "memory");
  }
  lac_factor_destroy(&factor);
  stage_close(&s);
}

CHECK_MAIN_OF("direct", the_method_of_a_solve_is_told, each_var_has_the_report_of_its_own_solve,
              a_determinant_has_a_factor_and_no_solve, least_squares_tell_of_their_system,
              a_solve_without_a_matrix_has_a_report_and_no_factor, what_no_solver_made_is_refused_with_a_way_out,
              failing_allocations_lose_nothing)

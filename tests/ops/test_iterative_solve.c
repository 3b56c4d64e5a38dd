// SPDX-License-Identifier: Apache-2.0
/// The operator solve_with by iterative solvers: values and derivatives of every order with every method and
/// preconditioner, by the set-up of the forward.

#include <float.h>
#include <math.h>

#include "solvers/auto/auto.h"
#include "solvers/krylov/krylov_solver.h"
#include "support/reports.h"
#include "support/square.h"

static double rounding_of(lac_dtype dtype) { return dtype == LAC_F32 || dtype == LAC_C64 ? FLT_EPSILON : DBL_EPSILON; }

/// As tight as the dtype allows.
static lac_status iterative_object(const op_setup *setup, lac_array *const *in, const void **out) {
  lac_solver_options options = *(const lac_solver_options *)setup->c->data;
  op_case tight = *setup->c;
  op_setup own = *setup;
  options.iteration.rtol = 16 * rounding_of(setup->dtype);
  options.iteration.max_iterations = 400;
  tight.data = &options, own.c = &tight;
  return square_object(&own, in, out);
}

static lac_solver_options options_of(const char *method, const char *preconditioner) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  options.preconditioner.method = preconditioner;
  return options;
}

/// As backends claim it.
static const char *preconditioner_name(const char *method) {
  const lac_solver_table *kind = lac_kind_built_in(method);
  return kind->flags & LAC_DELEGATES || kind->flags & LAC_APPROXIMATES ? kind->name : "direct";
}

static op_case iterative_case(const sketch *s, lac_form form, look looks, const lac_solver_options *options) {
  return (op_case){.op = "solve_with",
                   .needs = op_text("%s %s", options->method, preconditioner_name(options->preconditioner.method)),
                   .patterns = {s},
                   .shapes = {"nnz", op_text("%lld,2", (long long)s->rows)},
                   .result = {op_text("%lld,2", (long long)s->rows)},
                   .i = {form, FACTOR, looks},
                   .data = options,
                   .object = iterative_object,
                   .apply = square_solve_apply,
                   .dense = square_solve_dense,
                   .fill = square_fill,
                   .degree = {s->nnz ? -1 : 0, 1},
                   .fixed = {1, 2},
                   .slack = 1024,
                   .skip = OP_MEMORY};  // each allocation fails in tests/solvers/test_iterative.c
}

static void check_pair(lac_context *ctx, lac_form form, const char *method, const char *preconditioner) {
  lac_solver_options options = options_of(method, preconditioner);
  op_case c = iterative_case(sketch_square(5, 0.4, 1), form, GENERAL, &options);
  check_op(ctx, &c);
}

static void every_method_differentiates_nonsymmetric_systems(lac_context *ctx) {
  check_pair(ctx, LAC_PLAIN, "gmres", "ilu0");
  check_pair(ctx, LAC_ADJOINT, "flexible_gmres", "jacobi");
  check_pair(ctx, LAC_TRANSPOSED, "bicgstab", "ilu0");
  check_pair(ctx, LAC_PLAIN, "lsmr", "identity");
  check_pair(ctx, LAC_CONJUGATED, "lsqr", "identity");
}

static void every_preconditioner_differentiates_nonsymmetric_systems(lac_context *ctx) {
  check_pair(ctx, LAC_PLAIN, "gmres", "identity");
  check_pair(ctx, LAC_TRANSPOSED, "gmres", "block_jacobi");
  check_pair(ctx, LAC_ADJOINT, "gmres", "ssor");
  check_pair(ctx, LAC_PLAIN, "gmres", "chebyshev");
  check_pair(ctx, LAC_ADJOINT, "flexible_gmres", "multigrid");
  check_pair(ctx, LAC_PLAIN, "gmres", "lu");
  check_pair(ctx, LAC_PLAIN, "gmres", "auto");
}

/// Beside the point the matrix is not Hermitian, and the method refuses it.
static void hermitian_methods_differentiate(lac_context *ctx) {
  const char *const pairs[][2] = {{"cg", "ic0"}, {"flexible_cg", "multigrid"}, {"minres", "jacobi"}, {"cg", "auto"}};
  for (int i = 0; i < 4; i++) {
    lac_solver_options options = options_of(pairs[i][0], pairs[i][1]);
    op_case c = iterative_case(sketch_symmetric(6, 0.4, 3), i % 2 ? LAC_TRANSPOSED : LAC_PLAIN, DEFINITE, &options);
    c.skip |= OP_TANGENT | OP_SECOND;
    check_op(ctx, &c);
  }
}

static void batches_broadcast_both_ways(lac_context *ctx) {
  static const char *const shapes[][3] = {{"nnz", "3,4,2", "3,4,2"},
                                          {"3,nnz", "4,2", "3,4,2"},
                                          {"2,nnz", "2,4,1", "2,4,1"},
                                          {"2,1,nnz", "2,4,1", "2,2,4,1"}};
  lac_solver_options options = options_of("gmres", "jacobi");
  for (int i = 0; i < 4; i++) {
    op_case c = iterative_case(sketch_square(4, 0.4, 5), i % 2 ? LAC_ADJOINT : LAC_PLAIN, GENERAL, &options);
    c.shapes[0] = shapes[i][0], c.shapes[1] = shapes[i][1], c.result[0] = shapes[i][2];
    check_op(ctx, &c);
  }
}

static void what_is_empty_is_solved(lac_context *ctx) {
  static const char *const shapes[][3] = {{"nnz", "4,0", "4,0"}, {"nnz", "0,4,2", "0,4,2"}, {"0,nnz", "4,2", "0,4,2"}};
  lac_solver_options options = options_of("gmres", "ilu0");
  for (int i = 0; i < 3; i++) {
    op_case c = iterative_case(sketch_square(4, 0.4, 5), LAC_PLAIN, GENERAL, &options);
    c.shapes[0] = shapes[i][0], c.shapes[1] = shapes[i][1], c.result[0] = shapes[i][2];
    check_op(ctx, &c);
  }
  op_case none = iterative_case(sketch_empty(0, 0), LAC_ADJOINT, GENERAL, &options);
  check_op(ctx, &none);
  op_case one = iterative_case(sketch_square(1, 1, 1), LAC_ADJOINT, GENERAL, &options);
  check_op(ctx, &one);
}

static void a_solver_sets_up_when_asked(lac_context *ctx) {
  lac_solver_options options = options_of("gmres", "ilu0");
  op_case c = iterative_case(sketch_square(3, 0.4, 6), LAC_PLAIN, GENERAL, &options);
  c.i[1] = SOLVER;
  c.skip = 0;
  check_op(ctx, &c);
}

static void bits_do_not_depend_on_threads(lac_context *ctx) {
  lac_solver_options options = options_of("gmres", "jacobi");
  op_case c = iterative_case(sketch_square(120, 0.03, 7), LAC_PLAIN, GENERAL, &options);
  c.shapes[0] = "3,nnz", c.shapes[1] = "120,9", c.result[0] = "3,120,9";
  check_op_large(ctx, &c);
}

// -- counts and refusals ---------------------------------------------------------------------------------------------

typedef struct grid_system {
  lac_pattern *pattern;
  lac_solver *solver;
  lac_array *a, *b;
  lac_tape *tape;
} grid_system;

/// The line -1 2.5 -1, of n rows.
static grid_system grid_open(lac_context *ctx, int64_t n, const lac_solver_options *options) {
  grid_system s = {0};
  int64_t bands = 3 * n - 2, at = 0;
  double *values = lac_alloc((size_t)bands * sizeof *values);
  CHECK_OK(lac_pattern_banded(ctx, n, n, 1, 1, LAC_WIDTH_AUTO, &s.pattern, NULL));
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i - 1; j <= i + 1; j++) {
      if (j >= 0 && j < n) values[at++] = i == j ? 2.5 : -1;
    }
  }
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &bands, values, LAC_OWNERSHIP_COPY, &s.a));
  lac_free(values);
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){n, 1}, &s.b));
  CHECK_OK(lac_array_fill(ctx, s.b, 1, 0));
  CHECK_OK(lac_solver_create(ctx, s.pattern, options, &s.solver));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &s.tape));
  return s;
}

static void grid_close(grid_system *s) {
  lac_tape_destroy(&s->tape);
  lac_solver_destroy(&s->solver);
  lac_array_destroy(&s->a);
  lac_array_destroy(&s->b);
  lac_pattern_destroy(&s->pattern);
}

/// Forward, adjoint and second order: one set-up, which is never refreshed.
static void every_order_uses_the_same_set_up(lac_context *ctx) {
  lac_solver_options options = options_of("cg", "jacobi");
  grid_system s = grid_open(ctx, 50, &options);
  lac_factor *factor = NULL;
  lac_var a = lac_tape_leaf(s.tape, s.a), b = lac_tape_leaf(s.tape, s.b), bars[2], hessian[2];
  lac_var x = lac_solve(s.tape, s.solver, a, b, LAC_PLAIN), loss = lac_dot(s.tape, x, x);
  CHECK_OK(lac_tape_vjp(s.tape, 1, &loss, NULL, 2, (lac_var[]){a, b}, bars, LAC_GRAPH_CREATE));
  lac_var size = lac_dot(s.tape, bars[1], bars[1]);
  CHECK_OK(lac_tape_vjp(s.tape, 1, &size, NULL, 2, (lac_var[]){a, b}, hessian, LAC_GRAPH_NONE));
  CHECK_OK(lac_solver_factor(ctx, s.solver, s.a, &factor));
  CHECK_EQ(report_of_factor(factor).setups, 1);
  CHECK_EQ(report_of_factor(factor).refreshes, 0);
  CHECK(report_of_factor(factor).solves >= 4);
  lac_factor_destroy(&factor);
  grid_close(&s);
}

static void the_adjoint_has_its_own_tolerance_and_its_own_failure(lac_context *ctx) {
  lac_solver_options options = options_of("cg", "identity");
  options.iteration.rtol = 1e-3;
  options.iteration.adjoint_rtol = 1e-14;
  options.iteration.max_iterations = 12;
  grid_system s = grid_open(ctx, 300, &options);
  lac_var a = lac_tape_leaf(s.tape, s.a), b = lac_tape_leaf(s.tape, s.b), bar = {0};
  lac_var x = lac_solve(s.tape, s.solver, a, b, LAC_PLAIN), loss = lac_dot(s.tape, x, x);
  CHECK_OK(lac_tape_status(s.tape));
  CHECK_FAILS(lac_tape_vjp(s.tape, 1, &loss, NULL, 1, &b, &bar, LAC_GRAPH_NONE), LAC_ERR_CONVERGENCE, "derivative");
  grid_close(&s);
}

/// A cotangent that is small beside atol is solved for all the same: atol alone would take 0 for its solution.
static void an_absolute_tolerance_is_not_for_derivatives(lac_context *ctx) {
  lac_solver_options options = options_of("cg", "jacobi");
  options.iteration.atol = 1e-4;
  grid_system s = grid_open(ctx, 50, &options);
  double first[50];
  lac_var a = lac_tape_leaf(s.tape, s.a), b = lac_tape_leaf(s.tape, s.b), bar = {0};
  lac_var x = lac_solve(s.tape, s.solver, a, b, LAC_PLAIN), loss = lac_scale(s.tape, lac_sum(s.tape, x), 1e-6, 0);
  CHECK_OK(lac_tape_vjp(s.tape, 1, &loss, NULL, 1, &b, &bar, LAC_GRAPH_NONE));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(s.tape, bar), first));
  for (int i = 1; i < 49; i++) CHECK_NEAR(1e6 * (2.5 * first[i] - first[i - 1] - first[i + 1]), 1, 1e-8);
  grid_close(&s);
}

static void what_is_not_reached_fails_forward(lac_context *ctx) {
  lac_solver_options options = options_of("cg", "identity");
  options.iteration.max_iterations = 2;
  grid_system s = grid_open(ctx, 300, &options);
  CHECK(!lac_solve(s.tape, s.solver, lac_tape_leaf(s.tape, s.a), lac_tape_leaf(s.tape, s.b), LAC_PLAIN).id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_CONVERGENCE, "after 2 iterations of cg with identity");
  grid_close(&s);
}

static void a_preconditioner_is_no_inverse(lac_context *ctx) {
  lac_solver_options options = options_of("jacobi", "auto");
  grid_system s = grid_open(ctx, 9, &options);
  CHECK(!lac_solve(s.tape, s.solver, lac_tape_leaf(s.tape, s.a), lac_tape_leaf(s.tape, s.b), LAC_PLAIN).id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_ARG, "not the inverse");
  grid_close(&s);
}

static void values_written_after_the_solve_make_its_derivative_stale(lac_context *ctx) {
  lac_solver_options options = options_of("cg", "jacobi");
  grid_system s = grid_open(ctx, 9, &options);
  lac_var a = lac_tape_leaf(s.tape, s.a), b = lac_tape_leaf(s.tape, s.b), bar = {0};
  lac_var loss = lac_sum(s.tape, lac_solve(s.tape, s.solver, a, b, LAC_PLAIN));
  CHECK_OK(lac_tape_status(s.tape));
  (void)lac_array_edit(s.a);
  CHECK_FAILS(lac_tape_vjp(s.tape, 1, &loss, NULL, 1, &a, &bar, LAC_GRAPH_NONE), LAC_ERR_STALE, "");
  grid_close(&s);
}

CHECK_MAIN(every_method_differentiates_nonsymmetric_systems, every_preconditioner_differentiates_nonsymmetric_systems,
           hermitian_methods_differentiate, batches_broadcast_both_ways, what_is_empty_is_solved,
           a_solver_sets_up_when_asked, bits_do_not_depend_on_threads, every_order_uses_the_same_set_up,
           the_adjoint_has_its_own_tolerance_and_its_own_failure, an_absolute_tolerance_is_not_for_derivatives,
           what_is_not_reached_fails_forward, a_preconditioner_is_no_inverse,
           values_written_after_the_solve_make_its_derivative_stale)

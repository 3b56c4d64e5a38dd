// SPDX-License-Identifier: Apache-2.0
/// The operator solve_with, and lac_solve: their values, their refusals, their derivatives.

#include <math.h>

#include "solvers/direct/method/refine.h"
#include "support/reports.h"
#include "support/square.h"

static op_case solve_case(const sketch *s, lac_form form, look looks, const char *a, const char *b, const char *x) {
  return (op_case){.op = "solve_with",
                   .patterns = {s},
                   .shapes = {a, b},
                   .result = {x},
                   .i = {form, FACTOR, looks},
                   .object = square_object,
                   .needs = "direct",
                   .apply = square_solve_apply,
                   .dense = square_solve_dense,
                   .fill = square_fill,
                   .degree = {s->nnz ? -1 : 0, 1},
                   .fixed = {1, 2},
                   .slack = 32};
}

static void check_solve(lac_context *ctx, const sketch *s, lac_form form, look looks, const char *a, const char *b,
                        const char *x) {
  op_case c = solve_case(s, form, looks, a, b, x);
  check_op(ctx, &c);
}

static void solve_with_differentiates_on_every_side(lac_context *ctx) {
  const sketch *s = sketch_square(6, 0.4, 1);
  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form)
    check_solve(ctx, s, (lac_form)form, GENERAL, "nnz", "6,2", "6,2");
}

static void solve_with_pivots(lac_context *ctx) {
  const sketch *s = sketch_random(2, 2, 1, 1);
  check_solve(ctx, s, LAC_PLAIN, SHUFFLED, "nnz", "2,1", "2,1");
  check_solve(ctx, sketch_symmetric(5, 1, 2), LAC_ADJOINT, SHUFFLED, "nnz", "5,2", "5,2");
}

/// Cholesky is chosen at the point and LU beside it: both halves have gradients of their own.
static void solve_with_differentiates_definite_matrices(lac_context *ctx) {
  check_solve(ctx, sketch_symmetric(6, 0.4, 3), LAC_PLAIN, DEFINITE, "nnz", "6,2", "6,2");
  check_solve(ctx, sketch_symmetric(6, 0.4, 3), LAC_TRANSPOSED, DEFINITE, "nnz", "6,1", "6,1");
}

static void solve_with_differentiates_every_method(lac_context *ctx) {
  lac_solver_options options = lac_solver_options_defaults();
  op_case c = solve_case(sketch_symmetric(5, 0.4, 4), LAC_PLAIN, DEFINITE, "nnz", "5,2", "5,2");
  c.data = &options;
  c.skip = OP_TANGENT | OP_SECOND;  // beside the point the matrix is not Hermitian, and the method refuses it
  options.method = "cholesky";
  check_op(ctx, &c);
  options.method = "ldlt";
  check_op(ctx, &c);
  options.method = "lu";
  options.ordering = LAC_ORDER_NATURAL;
  c.skip = 0;
  check_op(ctx, &c);
}

static void solve_with_broadcasts_batches_both_ways(lac_context *ctx) {
  const sketch *s = sketch_square(4, 0.4, 5);
  check_solve(ctx, s, LAC_PLAIN, GENERAL, "nnz", "3,4,2", "3,4,2");
  check_solve(ctx, s, LAC_ADJOINT, GENERAL, "3,nnz", "4,2", "3,4,2");
  check_solve(ctx, s, LAC_TRANSPOSED, GENERAL, "2,nnz", "2,4,1", "2,4,1");
  check_solve(ctx, s, LAC_PLAIN, GENERAL, "2,1,nnz", "2,4,1", "2,2,4,1");
}

static void solve_with_takes_what_is_empty(lac_context *ctx) {
  const sketch *s = sketch_square(4, 0.4, 5);
  check_solve(ctx, s, LAC_PLAIN, GENERAL, "nnz", "4,0", "4,0");
  check_solve(ctx, s, LAC_PLAIN, GENERAL, "nnz", "0,4,2", "0,4,2");
  check_solve(ctx, s, LAC_PLAIN, GENERAL, "0,nnz", "4,2", "0,4,2");
  check_solve(ctx, sketch_empty(0, 0), LAC_ADJOINT, GENERAL, "nnz", "0,2", "0,2");
}

static void solve_with_takes_a_single_entry(lac_context *ctx) {
  check_solve(ctx, sketch_square(1, 1, 1), LAC_ADJOINT, GENERAL, "nnz", "1,1", "1,1");
}

static void solve_factors_and_solves(lac_context *ctx) {
  op_case c = solve_case(sketch_square(5, 0.4, 6), LAC_PLAIN, GENERAL, "nnz", "5,2", "5,2");
  c.i[1] = SOLVER;
  check_op(ctx, &c);
  c.i[0] = LAC_ADJOINT, c.shapes[0] = "2,nnz", c.result[0] = "2,5,2";
  check_op(ctx, &c);
}

// -- refusals --------------------------------------------------------------------------------------------------------

typedef struct system_of_two {
  two_by_two matrix;
  lac_solver *solver;
  lac_array *a, *b;
  lac_tape *tape;
} system_of_two;

static system_of_two system_open(lac_context *ctx, const double values[4]) {
  system_of_two s = {.matrix = two_by_two_open(ctx, values)};
  s.solver = s.matrix.solver, s.a = s.matrix.a, s.tape = s.matrix.tape;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){2, 1}, &s.b));
  CHECK_OK(lac_array_fill(ctx, s.b, 1, 0));
  return s;
}

static void system_close(system_of_two *s) {
  lac_array_destroy(&s->b);
  two_by_two_close(&s->matrix);
}

static void solve_names_a_singular_matrix(lac_context *ctx) {
  if (!check_claimed("solve")) return;
  system_of_two s = system_open(ctx, (double[]){1, 2, 2, 4});
  lac_var x = lac_solve(s.tape, s.solver, lac_tape_leaf(s.tape, s.a), lac_tape_leaf(s.tape, s.b), LAC_PLAIN);
  CHECK(!x.id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_SINGULAR, "column");
  system_close(&s);
}

static void solve_refuses_what_is_not_finite(lac_context *ctx) {
  if (!check_claimed("solve")) return;
  system_of_two s = system_open(ctx, (double[]){1, 2, NAN, 4});
  lac_var x = lac_solve(s.tape, s.solver, lac_tape_leaf(s.tape, s.a), lac_tape_leaf(s.tape, s.b), LAC_PLAIN);
  CHECK(!x.id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_NONFINITE, "");
  system_close(&s);
}

static void a_stale_factor_is_refused(lac_context *ctx) {
  if (!check_claimed("solve")) return;
  system_of_two s = system_open(ctx, (double[]){3, 1, 2, 4});
  lac_factor *factor = NULL;
  double other[4] = {3, 1, 2, 5};
  CHECK_OK(lac_solver_factor(ctx, s.solver, s.a, &factor));
  CHECK_OK(lac_array_write(ctx, s.a, other));
  CHECK(!lac_solve_with(s.tape, factor, lac_tape_leaf(s.tape, s.a), lac_tape_leaf(s.tape, s.b), LAC_PLAIN).id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_STALE, "solve_with");
  lac_factor_destroy(&factor);
  system_close(&s);
}

static void a_factor_of_another_batch_is_refused(lac_context *ctx) {
  if (!check_claimed("solve")) return;
  system_of_two s = system_open(ctx, (double[]){3, 1, 2, 4});
  double values[8] = {3, 1, 2, 4, 5, 1, 1, 2};
  lac_array *flat = NULL, *deep = NULL;
  lac_factor *factor = NULL;

  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){2, 4}, values, LAC_OWNERSHIP_COPY, &flat));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 3, (int64_t[]){2, 1, 4}, values, LAC_OWNERSHIP_COPY, &deep));
  CHECK_OK(lac_solver_factor(ctx, s.solver, flat, &factor));
  CHECK(!lac_solve_with(s.tape, factor, lac_tape_leaf(s.tape, deep), lac_tape_leaf(s.tape, s.b), LAC_PLAIN).id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_STALE, "solve_with");
  lac_factor_destroy(&factor);
  lac_array_destroy(&flat);
  lac_array_destroy(&deep);
  system_close(&s);
}

static void tiny_right_hand_sides_are_solved(lac_context *ctx) {
  if (!check_claimed("solve")) return;
  system_of_two s = system_open(ctx, (double[]){3e3, 1e3, 2e3, 4e3});
  double x[2];
  for (double size = 1e-300; size > 0; size /= 100) {  // down to the smallest denormal numbers and beyond
    CHECK_OK(lac_array_fill(ctx, s.b, size, 0));
    lac_tape_clear(s.tape);
    lac_var y = lac_solve(s.tape, s.solver, lac_tape_leaf(s.tape, s.a), lac_tape_leaf(s.tape, s.b), LAC_PLAIN);
    CHECK_OK(lac_tape_status(s.tape));
    CHECK_OK(lac_array_read(ctx, lac_tape_value(s.tape, y), x));
    CHECK(fabs(x[0] - 3e-4 * size) <= 1e-15 * size + 5e-324);
  }
  system_close(&s);
}

static void values_written_after_the_solve_make_its_derivative_stale(lac_context *ctx) {
  if (!check_claimed("solve")) return;
  system_of_two s = system_open(ctx, (double[]){3, 1, 2, 4});
  double other[4] = {3, 1, 2, 5};
  lac_var a = lac_tape_leaf(s.tape, s.a), b = lac_tape_leaf(s.tape, s.b), a_bar = {0};
  lac_var loss = lac_sum(s.tape, lac_solve(s.tape, s.solver, a, b, LAC_PLAIN));
  CHECK_OK(lac_tape_status(s.tape));
  CHECK_OK(lac_array_write(ctx, s.a, other));
  CHECK_FAILS(lac_tape_vjp(s.tape, 1, &loss, NULL, 1, &a, &a_bar, LAC_GRAPH_NONE), LAC_ERR_STALE, "");
  system_close(&s);
}

/// Forward, adjoint, tangent and second order: one factorisation.
static void every_order_uses_the_same_factor(lac_context *ctx) {
  if (!check_claimed("solve")) return;
  system_of_two s = system_open(ctx, (double[]){3, 1, 2, 4});
  lac_factor *factor = NULL;
  lac_var a = lac_tape_leaf(s.tape, s.a), b = lac_tape_leaf(s.tape, s.b), bars[2], hessian[2];
  lac_var x = lac_solve(s.tape, s.solver, a, b, LAC_PLAIN), loss = lac_dot(s.tape, x, x);
  CHECK_OK(lac_tape_vjp(s.tape, 1, &loss, NULL, 2, (lac_var[]){a, b}, bars, LAC_GRAPH_CREATE));
  lac_var size = lac_dot(s.tape, bars[1], bars[1]);
  CHECK_OK(lac_tape_vjp(s.tape, 1, &size, NULL, 2, (lac_var[]){a, b}, hessian, LAC_GRAPH_NONE));
  CHECK_OK(lac_solver_factor(ctx, s.solver, s.a, &factor));
  CHECK_EQ(report_of_factor(factor).factorisations, 1);
  lac_factor_destroy(&factor);
  system_close(&s);
}

static void solve_with_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = solve_case(sketch_square(120, 0.03, 7), LAC_PLAIN, GENERAL, "3,nnz", "120,9", "3,120,9");
  check_op_large(ctx, &c);
}

/// Forward: x, and the blocks in which a solve is refined. Gradient: x and lambda, which is b_bar; the blocks, and
/// after them a_bar with its sign turned in place. What the factor takes is not counted.
static void solve_with_takes_what_it_states(lac_context *ctx) {
  if (!check_claimed("solve")) return;
  op_case c = solve_case(sketch_square(400, 0.02, 7), LAC_PLAIN, GENERAL, "nnz", "400,3", "400,3");
  int64_t x = 8 * 400 * 3, blocks = REFINE_BLOCKS * x, a_bar = 8 * c.patterns[0]->nnz;
  check_op_peak(ctx, &c, LAC_F64, x + blocks, 2 * x + (blocks > a_bar ? blocks : a_bar));
}

CHECK_MAIN(solve_with_differentiates_on_every_side, solve_with_pivots, solve_with_differentiates_definite_matrices,
           solve_with_differentiates_every_method, solve_with_broadcasts_batches_both_ways,
           solve_with_takes_what_is_empty, solve_with_takes_a_single_entry, solve_factors_and_solves,
           solve_names_a_singular_matrix, solve_refuses_what_is_not_finite, a_stale_factor_is_refused,
           a_factor_of_another_batch_is_refused, tiny_right_hand_sides_are_solved,
           values_written_after_the_solve_make_its_derivative_stale, every_order_uses_the_same_factor,
           solve_with_does_not_depend_on_threads, solve_with_takes_what_it_states)

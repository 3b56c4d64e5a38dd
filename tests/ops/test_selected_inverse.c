// SPDX-License-Identifier: Apache-2.0
/// The operator selected_inverse: its values, its refusals, its derivatives.

#include "support/square.h"

static void inverse_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = setup->c->i[1] == FACTOR ? lac_selected_inverse_with(tape, setup->object, in[0])
                                    : lac_selected_inverse(tape, setup->object, in[0]);
}

static void inverse_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *s = c->patterns[0];
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    dense inverse = dense_inverse(dense_matrix(s, walk_item(&w, &in[0], 1)));
    for (int64_t z = 0; z < s->nnz; ++z) walk_item(&w, out, 1)[z] = inverse.x[s->col[z] * s->rows + s->row[z]];
  }
}

static op_case inverse_case(const sketch *s, look looks, const char *shape) {
  return (op_case){.op = "selected_inverse",
                   .patterns = {s},
                   .shapes = {shape},
                   .result = {shape},
                   .i = {0, FACTOR, looks},
                   .object = square_object,
                   .needs = "direct",
                   .apply = inverse_apply,
                   .dense = inverse_dense,
                   .fill = square_fill,
                   .degree = {s->nnz ? -1 : 0},
                   .fixed = {1},
                   .slack = 64};
}

/// Failing allocations are tried once, with the first case: they are many, and the same ones every time.
static void check_inverse(lac_context *ctx, const sketch *s, look looks, const char *shape) {
  op_case c = inverse_case(s, looks, shape);
  c.skip = OP_MEMORY;
  check_op(ctx, &c);
}

static void selected_inverse_differentiates_matrices_without_symmetry(lac_context *ctx) {
  op_case c = inverse_case(sketch_square(5, 0.3, 1), GENERAL, "nnz");
  check_op(ctx, &c);
}

static void selected_inverse_pivots(lac_context *ctx) {
  check_inverse(ctx, sketch_random(2, 2, 1, 1), SHUFFLED, "nnz");
  check_inverse(ctx, sketch_symmetric(5, 1, 2), SHUFFLED, "nnz");
}

/// Cholesky is chosen at the point and LU beside it: both halves have gradients of their own.
static void selected_inverse_differentiates_definite_matrices(lac_context *ctx) {
  check_inverse(ctx, sketch_symmetric(6, 0.4, 3), DEFINITE, "nnz");
}

static void selected_inverse_differentiates_every_method(lac_context *ctx) {
  lac_solver_options options = lac_solver_options_defaults();
  op_case c = inverse_case(sketch_symmetric(5, 0.4, 4), DEFINITE, "nnz");
  c.data = &options;
  c.skip =
      OP_MEMORY | OP_TANGENT | OP_SECOND;  // beside the point the matrix is not Hermitian, and the method refuses it
  options.method = "cholesky";
  check_op(ctx, &c);
  options.method = "ldlt";
  check_op(ctx, &c);
  c.skip = OP_MEMORY;
  options.method = "pivoting_lu";
  check_op(ctx, &c);
  options.method = "lu";
  options.ordering = LAC_ORDER_NATURAL;
  check_op(ctx, &c);
}

static void selected_inverse_takes_batches(lac_context *ctx) {
  check_inverse(ctx, sketch_square(4, 0.4, 5), GENERAL, "3,nnz");
  check_inverse(ctx, sketch_square(3, 0.4, 5), GENERAL, "1,2,nnz");
}

static void selected_inverse_takes_what_is_small_or_empty(lac_context *ctx) {
  check_inverse(ctx, sketch_square(1, 1, 1), GENERAL, "nnz");
  check_inverse(ctx, sketch_square(4, 0.4, 5), GENERAL, "0,nnz");
  check_inverse(ctx, sketch_empty(0, 0), GENERAL, "nnz");
}

static void a_solver_factors_when_asked(lac_context *ctx) {
  op_case c = inverse_case(sketch_square(5, 0.4, 6), GENERAL, "2,nnz");
  c.i[1] = SOLVER, c.skip = OP_MEMORY;
  check_op(ctx, &c);
}

/// d^3/dt^3 of 1 / t: one number, four times the size.
static void selected_inverse_has_a_third_derivative(lac_context *ctx) {
  if (!check_claimed("selected_inverse")) return;
  lac_pattern *p = NULL;
  lac_solver *solver = NULL;
  lac_array *a = NULL;
  lac_tape *tape = NULL;
  double t = 2, got = 0;
  CHECK_OK(lac_pattern_eye(ctx, 1, 1, 0, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_solver_create(ctx, p, NULL, &solver));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){1}, &t, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var x = lac_tape_leaf(tape, a), y = lac_selected_inverse(tape, solver, x);
  double want[] = {0.5, -0.25, 0.25, -0.375};
  for (int order = 0; order <= 3; ++order) {
    if (order) CHECK_OK(lac_tape_vjp(tape, 1, &y, NULL, 1, &x, &y, LAC_GRAPH_CREATE));
    CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, y), &got));
    CHECK_NEAR(got, want[order], 1e-14);
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&a);
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&p);
}

static void selected_inverse_names_a_singular_matrix(lac_context *ctx) {
  if (check_claimed("selected_inverse")) check_names_singular(ctx, lac_selected_inverse);
}

static void a_stale_factor_is_refused(lac_context *ctx) {
  if (check_claimed("selected_inverse")) check_refuses_stale(ctx, "selected_inverse", lac_selected_inverse_with);
}

static void selected_inverse_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = inverse_case(sketch_square(120, 0.03, 7), GENERAL, "3,nnz");
  check_op_large(ctx, &c);
}

CHECK_MAIN(selected_inverse_differentiates_matrices_without_symmetry, selected_inverse_pivots,
           selected_inverse_differentiates_definite_matrices, selected_inverse_differentiates_every_method,
           selected_inverse_takes_batches, selected_inverse_takes_what_is_small_or_empty, a_solver_factors_when_asked,
           selected_inverse_has_a_third_derivative, selected_inverse_names_a_singular_matrix, a_stale_factor_is_refused,
           selected_inverse_does_not_depend_on_threads)

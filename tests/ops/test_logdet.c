// SPDX-License-Identifier: Apache-2.0
/// The operator logdet, and lac_logdet: their values, their refusals, their derivatives.

#include <math.h>

#include "support/reports.h"
#include "support/square.h"

static void logdet_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_spec spec = {.op = lac_op_find("logdet"), .object = setup->object};
  if (setup->c->result[1]) {
    (void)lac_tape_call(tape, &spec, in, out);
  } else if (setup->c->i[1] == FACTOR) {
    out[0] = lac_logdet_with(tape, setup->object, in[0]);
  } else {
    out[0] = lac_logdet(tape, setup->object, in[0]);
  }
}

static void logdet_dense(const op_case *c, const ref *in, ref *out) {
  int is_complex = out[0].meta.dtype >= LAC_C64;
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    number det = dense_determinant(dense_matrix(c->patterns[0], walk_item(&w, &in[0], 1)));
    *walk_item(&w, &out[0], 0) = log(cabs(det)) + (is_complex ? I * carg(det) : 0);
    if (c->result[1]) *walk_item(&w, &out[1], 0) = det / cabs(det);
  }
}

static op_case logdet_case(const sketch *s, look looks, const char *a, const char *result) {
  return (op_case){.op = "logdet",
                   .patterns = {s},
                   .shapes = {a},
                   .result = {result, result},
                   .i = {0, FACTOR, looks},
                   .object = square_object,
                   .needs = "direct",
                   .apply = logdet_apply,
                   .dense = logdet_dense,
                   .fill = square_fill,
                   .fixed = {1},
                   .slack = 32};
}

/// Failing allocations are tried once, with the first case: they are many, and the same ones every time.
static void check_logdet(lac_context *ctx, const sketch *s, look looks, const char *a, const char *result) {
  op_case c = logdet_case(s, looks, a, result);
  c.skip = OP_MEMORY;
  check_op(ctx, &c);
}

static void logdet_differentiates_matrices_without_symmetry(lac_context *ctx) {
  op_case c = logdet_case(sketch_square(6, 0.4, 1), GENERAL, "nnz", "");
  check_op(ctx, &c);
}

/// The largest entries are those of a cycle: of an even number of rows it makes the sign negative.
static void logdet_knows_the_sign_of_permutations(lac_context *ctx) {
  check_logdet(ctx, sketch_symmetric(4, 1, 2), SHUFFLED, "nnz", "");
  check_logdet(ctx, sketch_symmetric(5, 1, 2), SHUFFLED, "nnz", "");
}

/// Cholesky is chosen at the point and LU beside it: both halves have gradients of their own.
static void logdet_differentiates_definite_matrices(lac_context *ctx) {
  check_logdet(ctx, sketch_symmetric(6, 0.4, 3), DEFINITE, "nnz", "");
}

static void logdet_differentiates_every_method(lac_context *ctx) {
  lac_solver_options options = lac_solver_options_defaults();
  op_case c = logdet_case(sketch_symmetric(5, 0.4, 4), DEFINITE, "nnz", "");
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

static void logdet_takes_batches(lac_context *ctx) {
  check_logdet(ctx, sketch_square(4, 0.4, 5), GENERAL, "3,nnz", "3");
  check_logdet(ctx, sketch_square(3, 0.4, 5), GENERAL, "1,2,nnz", "1,2");
}

static void logdet_takes_what_is_small_or_empty(lac_context *ctx) {
  check_logdet(ctx, sketch_square(1, 1, 1), GENERAL, "nnz", "");
  check_logdet(ctx, sketch_square(4, 0.4, 5), GENERAL, "0,nnz", "0");
  check_logdet(ctx, sketch_empty(0, 0), GENERAL, "nnz", "");
  check_logdet(ctx, sketch_empty(0, 0), GENERAL, "2,nnz", "2");
}

static void the_public_functions_give_the_logarithm(lac_context *ctx) {
  op_case c = logdet_case(sketch_square(5, 0.4, 6), GENERAL, "2,nnz", "2");
  c.result[1] = NULL;
  check_op(ctx, &c);
  c.i[1] = SOLVER, c.skip = OP_MEMORY;
  check_op(ctx, &c);
}

static void logdet_names_a_singular_matrix(lac_context *ctx) {
  if (check_claimed("logdet")) check_names_singular(ctx, lac_logdet);
}

static void a_stale_factor_is_refused(lac_context *ctx) {
  if (check_claimed("logdet")) check_refuses_stale(ctx, "logdet", lac_logdet_with);
}

/// Forward, gradient and tangent: one factorisation. The second order factors the matrix of twice the size.
static void derivatives_use_the_factor_of_the_forward(lac_context *ctx) {
  if (!check_claimed("logdet")) return;
  two_by_two s = two_by_two_open(ctx, (double[]){3, 1, 1, 4});
  lac_factor *factor = NULL;
  lac_var a = lac_tape_leaf(s.tape, s.a), bar = {0}, dot = {0}, second = {0};
  double numbers[4];
  lac_var y = lac_logdet(s.tape, s.solver, a);
  CHECK_OK(lac_tape_vjp(s.tape, 1, &y, NULL, 1, &a, &bar, LAC_GRAPH_CREATE));
  CHECK_OK(lac_tape_jvp(s.tape, 1, &a, &a, 1, &y, &dot, LAC_GRAPH_NONE));
  lac_var size = lac_sum(s.tape, lac_square(s.tape, bar));
  CHECK_OK(lac_tape_vjp(s.tape, 1, &size, NULL, 1, &a, &second, LAC_GRAPH_NONE));
  CHECK_OK(lac_solver_factor(ctx, s.solver, s.a, &factor));
  CHECK_EQ(report_of_factor(factor).factorisations, 1);
  CHECK_OK(lac_array_read(ctx, lac_tape_value(s.tape, bar), numbers));
  CHECK_NEAR(numbers[0], 4. / 11, 1e-15);
  CHECK_NEAR(numbers[1], -1. / 11, 1e-15);
  CHECK_OK(lac_array_read(ctx, lac_tape_value(s.tape, dot), numbers));
  CHECK_NEAR(numbers[0], 2, 1e-15);  // tr(A^-1 A)
  lac_factor_destroy(&factor);
  two_by_two_close(&s);
}

static void logdet_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = logdet_case(sketch_square(120, 0.03, 7), GENERAL, "3,nnz", "3");
  check_op_large(ctx, &c);
}

/// Forward: two numbers. Gradient: those, z and a_bar. What the factor takes, and works in for z, is not the
/// operator's: a diagonal needs nothing.
static void logdet_takes_what_it_states(lac_context *ctx) {
  if (!check_claimed("logdet")) return;
  op_case c = logdet_case(sketch_square(4000, 0, 1), GENERAL, "nnz", "");
  check_op_peak(ctx, &c, LAC_F64, 2 * 8, 2 * 8 + 2 * 8 * 4000);
}

CHECK_MAIN(logdet_differentiates_matrices_without_symmetry, logdet_knows_the_sign_of_permutations,
           logdet_differentiates_definite_matrices, logdet_differentiates_every_method, logdet_takes_batches,
           logdet_takes_what_is_small_or_empty, the_public_functions_give_the_logarithm, logdet_names_a_singular_matrix,
           a_stale_factor_is_refused, derivatives_use_the_factor_of_the_forward, logdet_does_not_depend_on_threads,
           logdet_takes_what_it_states)

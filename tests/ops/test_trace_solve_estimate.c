// SPDX-License-Identifier: Apache-2.0
/// lac_trace_solve_estimate: exact where probes leave nothing to chance, near with random ones.

#include <math.h>

#include "autodiff/rule.h"
#include "support/square.h"

enum { SIZE = 4 };

/// All unit vectors, times the root of their number: Z Z^H = k I.
static lac_var unit_vectors(lac_tape *tape, lac_dtype dtype) {
  lac_array *array = NULL;
  ref z = ref_new(&(lac_meta){.dtype = dtype, .ndim = 2, .shape = {SIZE, SIZE}});
  for (int64_t i = 0; i < SIZE; ++i) z.x[i * SIZE + i] = sqrt(SIZE);
  lac_status status = ref_upload(lac_tape_context(tape), &z, &array);
  if (status != LAC_OK) return lac_tape_fail(tape, status);
  lac_var probes = lac_tape_constant(tape, array);
  lac_array_destroy(&array);
  return probes;
}

static void trace_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_var both[2];
  lac_trace_solve_estimate(tape, setup->object, in[0], setup->patterns[1], in[1], unit_vectors(tape, setup->dtype),
                           both);
  out[0] = both[0];
}

static dense product_of(const op_case *c, const walk *w, const ref *in) {
  return dense_mul(dense_inverse(dense_matrix(c->patterns[0], walk_item(w, &in[0], 1))),
                   dense_matrix(c->patterns[1], walk_item(w, &in[1], 1)));
}

static void trace_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    dense m = product_of(c, &w, in);
    for (int64_t i = 0; i < SIZE; ++i) *walk_item(&w, out, 0) += m.x[i * SIZE + i];
  }
}

static op_case trace_case(const char *a, const char *b, const char *result) {
  return (op_case){.op = "solve_with",
                   .patterns = {sketch_square(SIZE, 0.4, 1), sketch_random(SIZE, SIZE, 0.5, 2)},
                   .shapes = {a, b},
                   .result = {result},
                   .i = {0, SOLVER, GENERAL},
                   .object = square_object,
                   .needs = "direct",
                   .apply = trace_apply,
                   .dense = trace_dense,
                   .fill = square_fill,
                   .degree = {-1, 1},
                   .fixed = {1, 1},
                   .slack = 64};
}

static void traces_are_exact_where_probes_leave_nothing_to_chance(lac_context *ctx) {
  if (!check_claimed("solve_with")) return;
  op_case c = trace_case("nnz", "nnz1", "");
  check_op(ctx, &c);
  c = trace_case("2,nnz", "nnz1", "2"), c.skip = OP_MEMORY;
  check_op(ctx, &c);
}

/// The error is that of the numbers z^H A^-1 B z, which are written down.
static void error_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_var both[2];
  lac_trace_solve_estimate(tape, setup->object, in[0], setup->patterns[1], in[1], unit_vectors(tape, setup->dtype),
                           both);
  out[0] = both[1];
}

static void error_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    dense m = product_of(c, &w, in);
    number mean = 0;
    double square = 0;
    for (int64_t i = 0; i < SIZE; ++i) mean += m.x[i * SIZE + i];
    for (int64_t i = 0; i < SIZE; ++i) square += pow(cabs(SIZE * m.x[i * SIZE + i] - mean), 2);
    *walk_item(&w, out, 0) = sqrt(square / (SIZE * (SIZE - 1)));
  }
}

static void the_error_is_that_of_the_mean(lac_context *ctx) {
  if (!check_claimed("solve_with")) return;
  op_case c = trace_case("nnz", "nnz1", "");
  c.apply = error_apply, c.dense = error_dense, c.result_dtype = op_real_dtype, c.skip = OP_MEMORY, c.degree[0] = -1;
  check_op(ctx, &c);
}

static void random_probes_come_as_near_as_they_say(lac_context *ctx) {
  if (!check_claimed("solve_with")) return;
  two_by_two s = two_by_two_open(ctx, (double[]){3, 1, 2, 4});
  lac_var a = lac_tape_leaf(s.tape, s.a), out[2];
  double estimate = 0, error = 0;  // tr(A^-1 A) is 2 for every probe
  lac_trace_solve_estimate(s.tape, s.solver, a, s.pattern, a, lac_probes(s.tape, LAC_F64, 2, 20, 1), out);
  CHECK_OK(lac_tape_status(s.tape));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(s.tape, out[0]), &estimate));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(s.tape, out[1]), &error));
  CHECK_NEAR(estimate, 2, 1e-14);
  CHECK(error < 1e-14);
  lac_trace_solve_estimate(s.tape, s.solver, a, s.pattern, a, lac_probes(s.tape, LAC_F64, 2, 1, 1), out);
  CHECK_OK(lac_array_read(ctx, lac_tape_value(s.tape, out[1]), &error));
  CHECK(isnan(error));
  lac_trace_solve_estimate(s.tape, s.solver, a, s.pattern, a, lac_probes(s.tape, LAC_F64, 2, 0, 1), out);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_SHAPE, "no probes");
  two_by_two_close(&s);
}

CHECK_MAIN(traces_are_exact_where_probes_leave_nothing_to_chance, the_error_is_that_of_the_mean,
           random_probes_come_as_near_as_they_say)

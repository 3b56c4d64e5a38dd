// SPDX-License-Identifier: Apache-2.0
/// The operator dot: its values, its refusals, its derivatives.

#include "support/op_case.h"

static void dot_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_dot(tape, in[0], in[1]);
}

static void dot_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  const int64_t *shape = in[0].meta.shape + in[0].meta.ndim - 2;
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    const number *x = walk_item(&w, &in[0], 2), *y = walk_item(&w, &in[1], 2);
    number *s = walk_item(&w, out, 0);
    for (int64_t i = 0; i < shape[0] * shape[1]; ++i) *s += conj(x[i]) * y[i];
  }
}

static void check_dot(lac_context *ctx, const char *x, const char *y, const char *s) {
  check_op(ctx, &(op_case){.op = "dot",
                           .shapes = {x, y},
                           .result = {s},
                           .apply = dot_apply,
                           .dense = dot_dense,
                           .degree = {1, 1},
                           .fixed = {3, 3}});
}

static void dot_differentiates(lac_context *ctx) { check_dot(ctx, "5,3", "5,3", ""); }

static void dot_broadcasts_batches_both_ways(lac_context *ctx) {
  check_dot(ctx, "2,4,3", "4,3", "2");
  check_dot(ctx, "4,3", "2,4,3", "2");
  check_dot(ctx, "2,1,4,1", "3,4,1", "2,3");
}

static void dot_takes_what_is_empty(lac_context *ctx) {
  check_dot(ctx, "0,3", "0,3", "");
  check_dot(ctx, "2,4,0", "4,0", "2");
  check_dot(ctx, "0,2,3", "1,2,3", "0");
}

static void dot_takes_a_single_number(lac_context *ctx) { check_dot(ctx, "1,1", "1,1", ""); }

static void norm(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_dot(tape, in[0], in[0]);
}

static void norm_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[0] += conj(in[0].x[i]) * in[0].x[i];
}

static void dot_with_itself_adds_both_gradients(lac_context *ctx) {
  check_op(ctx, &(op_case){.op = "dot", .shapes = {"3,4"}, .result = {""}, .apply = norm, .dense = norm_dense});
}

/// Vectors are columns: 1*4 + 2*5 + 3*6 = 32, and the gradient in x is y.
static void dot_takes_vectors(lac_context *ctx) {
  double x[] = {1, 2, 3}, y[] = {4, 5, 6}, s, bar[3];
  lac_array *a = NULL, *b = NULL;
  lac_tape *tape = NULL;
  lac_var x_bar;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3}, x, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3}, y, LAC_OWNERSHIP_COPY, &b));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var u = lac_tape_leaf(tape, a), dot = lac_dot(tape, u, lac_tape_constant(tape, b));
  CHECK_OK(lac_tape_status(tape));
  CHECK_EQ(lac_tape_meta(tape, dot)->ndim, 0);
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, dot), &s));
  CHECK_NEAR(s, 32, 0);
  CHECK_OK(lac_tape_vjp(tape, 1, &dot, NULL, 1, &u, &x_bar, LAC_GRAPH_NONE));
  CHECK_EQ(lac_tape_meta(tape, x_bar)->ndim, 1);
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, x_bar), bar));
  for (int i = 0; i < 3; i++) CHECK_NEAR(bar[i], y[i], 0);
  lac_tape_destroy(&tape);
  lac_array_destroy(&a), lac_array_destroy(&b);
}

static void dot_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "dot", .shapes = {"70000,1", "70000,1"}, .result = {""}, .apply = dot_apply};
  check_op_large(ctx, &c);
  c.shapes[0] = "300,50,4", c.shapes[1] = "50,4", c.result[0] = "300";
  check_op_large(ctx, &c);
}

/// Forward: a number. Gradient: x_bar and y_bar, and s_bar once more.
static void dot_takes_its_results_alone(lac_context *ctx) {
  op_case c = {.op = "dot", .shapes = {"70000,1", "70000,1"}, .result = {""}, .apply = dot_apply};
  check_op_peak(ctx, &c, LAC_F64, 8, 8 + 2 * 70000 * 8);
}

CHECK_MAIN(dot_differentiates, dot_broadcasts_batches_both_ways, dot_takes_what_is_empty, dot_takes_a_single_number,
           dot_with_itself_adds_both_gradients, dot_takes_vectors, dot_does_not_depend_on_threads,
           dot_takes_its_results_alone)

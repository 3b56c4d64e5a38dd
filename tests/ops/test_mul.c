// SPDX-License-Identifier: Apache-2.0
/// The operator mul: its values, its refusals, its derivatives.

#include "support/op_case.h"

static void mul_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_mul(tape, in[0], in[1]);
}

static void mul_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    *walk_item(&w, out, 0) = *walk_item(&w, &in[0], 0) * *walk_item(&w, &in[1], 0);
  }
}

static void check_mul(lac_context *ctx, const char *x, const char *y, const char *z) {
  check_op(ctx,
           &(op_case){
               .op = "mul", .shapes = {x, y}, .result = {z}, .apply = mul_apply, .dense = mul_dense, .degree = {1, 1}});
}

static void mul_differentiates(lac_context *ctx) { check_mul(ctx, "4,3", "4,3", "4,3"); }

static void mul_broadcasts_both_ways(lac_context *ctx) {
  check_mul(ctx, "2,1,3", "4,1", "2,4,3");
  check_mul(ctx, "5", "2,3,5", "2,3,5");
  check_mul(ctx, "3,2", "", "3,2");
}

static void mul_takes_empty_and_single_arrays(lac_context *ctx) {
  check_mul(ctx, "", "", "");
  check_mul(ctx, "0,3", "1,3", "0,3");
}

static void square(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_mul(tape, in[0], in[0]);
}

static void square_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = in[0].x[i] * in[0].x[i];
}

static void mul_with_itself_adds_both_gradients(lac_context *ctx) {
  check_op(
      ctx,
      &(op_case){
          .op = "mul", .shapes = {"3,4"}, .result = {"3,4"}, .apply = square, .dense = square_dense, .degree = {2}});
}

static void mul_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "mul", .shapes = {"200,300", "300"}, .result = {"200,300"}, .apply = mul_apply};
  check_op_large(ctx, &c);
  c.shapes[1] = "200,1";
  check_op_large(ctx, &c);
}

/// Forward: z. Gradient: z, x_bar and y_bar.
static void mul_takes_its_results_alone(lac_context *ctx) {
  int64_t bytes = 200 * 300 * 8;
  check_op_peak(ctx,
                &(op_case){.op = "mul", .shapes = {"200,300", "200,300"}, .result = {"200,300"}, .apply = mul_apply},
                LAC_F64, bytes, 3 * bytes);
}

CHECK_MAIN(mul_differentiates, mul_broadcasts_both_ways, mul_takes_empty_and_single_arrays,
           mul_with_itself_adds_both_gradients, mul_does_not_depend_on_threads, mul_takes_its_results_alone)

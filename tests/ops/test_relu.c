// SPDX-License-Identifier: Apache-2.0
/// The operator relu: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void relu_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_relu(tape, in[0]);
}

static void relu_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) {
    number x = in[0].x[i];
    out[0].x[i] = creal(x) > 0 ? x : 0;
  }
}

/// Away from the kink, on both sides of it.
static void relu_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] += creal(x->x[i]) < 0 ? -1 : 1;
}

static void check_relu(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "relu",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = relu_apply,
                           .dense = relu_dense,
                           .fill = relu_fill,
                           .degree = {1},
                           .dtypes = OP_REAL});
}

static void relu_differentiates(lac_context *ctx) { check_relu(ctx, "4,3"); }

static void relu_takes_empty_and_single_arrays(lac_context *ctx) {
  check_relu(ctx, "");
  check_relu(ctx, "0,3");
}

static void the_slope_at_zero_is_zero(lac_context *ctx) {
  if (!check_claimed("relu")) return;
  CHECK(probe_value(ctx, lac_relu, LAC_F64, 0) == 0);
  CHECK(probe_gradient(ctx, lac_relu, LAC_F64, 0) == 0);
  CHECK(probe_gradient(ctx, lac_relu, LAC_F64, 5e-324) == 1);
}

static void relu_keeps_nan_and_infinity(lac_context *ctx) {
  if (!check_claimed("relu")) return;
  CHECK(isnan(creal(probe_value(ctx, lac_relu, LAC_F64, NAN))));
  CHECK(creal(probe_value(ctx, lac_relu, LAC_F32, INFINITY)) == INFINITY);
  CHECK(probe_value(ctx, lac_relu, LAC_F32, -INFINITY) == 0);
}

static void relu_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(
      ctx, &(op_case){.op = "relu", .shapes = {"70001"}, .result = {"70001"}, .apply = relu_apply, .dtypes = OP_REAL});
}

CHECK_MAIN(relu_differentiates, relu_takes_empty_and_single_arrays, the_slope_at_zero_is_zero,
           relu_keeps_nan_and_infinity, relu_does_not_depend_on_threads)

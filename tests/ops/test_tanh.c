// SPDX-License-Identifier: Apache-2.0
/// The operator tanh: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void tanh_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_tanh(tape, in[0]);
}

static void tanh_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) {
    number x = in[0].x[i];
    out[0].x[i] = (cexp(2 * x) - 1) / (cexp(2 * x) + 1);
  }
}

/// Away from the poles at odd multiples of i pi / 2.
static void tanh_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] *= 0.5;
}

static void check_tanh(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "tanh",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = tanh_apply,
                           .dense = tanh_dense,
                           .fill = tanh_fill,
                           .slack = 8});
}

static void tanh_differentiates(lac_context *ctx) { check_tanh(ctx, "4,3"); }

static void tanh_takes_empty_and_single_arrays(lac_context *ctx) {
  check_tanh(ctx, "");
  check_tanh(ctx, "0,3");
}

static void tanh_differentiates_three_times(lac_context *ctx) {
  if (!check_claimed("tanh")) return;
  double t = tanh(0.5), slope = 1 - t * t;
  CHECK_NEAR(creal(probe_derivative(ctx, lac_tanh, LAC_F64, 0.5, 2)), -2 * t * slope, 1e-14);
  CHECK_NEAR(creal(probe_derivative(ctx, lac_tanh, LAC_F64, 0.5, 3)), -2 * slope * (slope - 2 * t * t), 1e-14);
}

static void tanh_ends_at_one_and_keeps_tiny_numbers(lac_context *ctx) {
  if (!check_claimed("tanh")) return;
  CHECK(probe_value(ctx, lac_tanh, LAC_F64, -1000) == -1);
  CHECK(probe_gradient(ctx, lac_tanh, LAC_F32, INFINITY) == 0);
  CHECK(probe_value(ctx, lac_tanh, LAC_F64, 1e-200) == 1e-200);
  CHECK(probe_value(ctx, lac_tanh, LAC_C128, 1000) == 1);
}

static void tanh_keeps_its_digits_everywhere(lac_context *ctx) {
  if (!check_claimed("tanh")) return;
  for (double x = -30; x < 30; x += 0.37) {
    CHECK_NEAR(creal(probe_value(ctx, lac_tanh, LAC_F64, x)), (double)tanhl(x), 1e-15);
    CHECK_NEAR(creal(probe_value(ctx, lac_tanh, LAC_F32, (float)x)), (double)tanhl((float)x), 1e-7);
  }
}

static void tanh_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "tanh", .shapes = {"70001"}, .result = {"70001"}, .apply = tanh_apply});
}

CHECK_MAIN(tanh_differentiates, tanh_takes_empty_and_single_arrays, tanh_differentiates_three_times,
           tanh_ends_at_one_and_keeps_tiny_numbers, tanh_keeps_its_digits_everywhere, tanh_does_not_depend_on_threads)

// SPDX-License-Identifier: Apache-2.0
/// The operator abs: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void abs_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_abs(tape, in[0]);
}

static void abs_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = cabs(in[0].x[i]);
}

/// Away from the kink, on both sides of it.
static void abs_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] += creal(x->x[i]) < 0 ? -1 : 1;
}

static void check_abs(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "abs",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = abs_apply,
                           .dense = abs_dense,
                           .fill = abs_fill,
                           .result_dtype = op_real_dtype,
                           .degree = {1},
                           .slack = 4});
}

static void abs_differentiates(lac_context *ctx) { check_abs(ctx, "4,3"); }

static void abs_takes_empty_and_single_arrays(lac_context *ctx) {
  check_abs(ctx, "");
  check_abs(ctx, "0,3");
}

static void the_derivatives_at_zero_are_zero(lac_context *ctx) {
  if (!check_claimed("abs")) return;
  for (int order = 0; order <= 1; ++order) {
    CHECK(probe_derivative(ctx, lac_abs, LAC_F64, 0, order) == 0);
    CHECK(probe_derivative(ctx, lac_abs, LAC_C64, 0, order) == 0);
  }
}

/// What a second reverse pass starts from.
static lac_var sum_of_the_gradient(lac_tape *tape, lac_var x) {
  lac_var y = lac_abs(tape, x), bar = {0};
  (void)lac_tape_vjp(tape, 1, &y, NULL, 1, &x, &bar, LAC_GRAPH_CREATE);
  return lac_sum(tape, lac_real(tape, bar));
}

static void second_derivatives_at_zero_are_zero_and_not_nan(lac_context *ctx) {
  if (!check_claimed("abs")) return;
  CHECK(probe_gradient(ctx, sum_of_the_gradient, LAC_C128, 0) == 0);
  CHECK(probe_gradient(ctx, sum_of_the_gradient, LAC_C64, 0) == 0);
}

static void sizes_near_the_ends_of_the_range_are_right(lac_context *ctx) {
  if (!check_claimed("abs")) return;
  CHECK_NEAR(creal(probe_value(ctx, lac_abs, LAC_C128, 3e300 - 4e300 * I)), 5e300, 1e-15);
  CHECK_NEAR(creal(probe_value(ctx, lac_abs, LAC_C128, 3e-300 - 4e-300 * I)), 5e-300, 1e-15);
  CHECK_NEAR(creal(probe_value(ctx, lac_abs, LAC_C64, 3e30 - 4e30 * I)), 5e30, 1e-6);
  CHECK_NEAR(creal(probe_gradient(ctx, lac_abs, LAC_C128, 3e300 - 4e300 * I)), 0.6, 1e-15);
  CHECK_NEAR(cimag(probe_gradient(ctx, lac_abs, LAC_C128, 3e-310 - 4e-310 * I)), -0.8, 1e-12);
  CHECK(isinf(creal(probe_value(ctx, lac_abs, LAC_F32, -INFINITY))));
  CHECK(isnan(creal(probe_value(ctx, lac_abs, LAC_F32, NAN))));
  CHECK(isnan(creal(probe_gradient(ctx, lac_abs, LAC_F32, NAN))));
}

static void abs_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(
      ctx,
      &(op_case){
          .op = "abs", .shapes = {"70001"}, .result = {"70001"}, .apply = abs_apply, .result_dtype = op_real_dtype});
}

CHECK_MAIN(abs_differentiates, abs_takes_empty_and_single_arrays, the_derivatives_at_zero_are_zero,
           second_derivatives_at_zero_are_zero_and_not_nan, sizes_near_the_ends_of_the_range_are_right,
           abs_does_not_depend_on_threads)

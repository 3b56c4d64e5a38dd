// SPDX-License-Identifier: Apache-2.0
/// The operator sign: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void sign_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_sign(tape, in[0]);
}

static void sign_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = in[0].x[i] / cabs(in[0].x[i]);
}

static void sign_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] += creal(x->x[i]) < 0 ? -1 : 1;
}

/// Of reals the derivative is zero; of complex numbers it is not.
static void check_sign(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "sign",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = sign_apply,
                           .dense = sign_dense,
                           .fill = sign_fill,
                           .slack = 8});
}

static void sign_differentiates(lac_context *ctx) { check_sign(ctx, "4,3"); }

static void sign_takes_empty_and_single_arrays(lac_context *ctx) {
  check_sign(ctx, "");
  check_sign(ctx, "0,3");
}

static void sign_of_zero_is_zero_to_every_order(lac_context *ctx) {
  if (!check_claimed("sign")) return;
  for (lac_dtype dtype = LAC_F32; dtype <= LAC_C128; ++dtype) {
    for (int order = 0; order <= 3; ++order) CHECK(probe_derivative(ctx, lac_sign, dtype, 0, order) == 0);
  }
}

static void sign_is_right_at_the_ends_of_the_range(lac_context *ctx) {
  if (!check_claimed("sign")) return;
  CHECK(probe_value(ctx, lac_sign, LAC_F64, -5e-324) == -1);
  CHECK(probe_value(ctx, lac_sign, LAC_F32, INFINITY) == 1);
  CHECK(isnan(creal(probe_value(ctx, lac_sign, LAC_F64, NAN))));
  CHECK(isnan(creal(probe_value(ctx, lac_sign, LAC_C128, NAN + I))));
  CHECK(cabs(probe_value(ctx, lac_sign, LAC_C128, 3e300 - 4e300 * I) - (0.6 - 0.8 * I)) < 1e-15);
  CHECK(cabs(probe_value(ctx, lac_sign, LAC_C128, 3e-310 - 4e-310 * I) - (0.6 - 0.8 * I)) < 1e-12);
  CHECK(cabs(probe_value(ctx, lac_sign, LAC_C64, 3e-40 - 4e-40 * I) - (0.6 - 0.8 * I)) < 1e-5);
}

static void sign_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "sign", .shapes = {"70001"}, .result = {"70001"}, .apply = sign_apply});
}

CHECK_MAIN(sign_differentiates, sign_takes_empty_and_single_arrays, sign_of_zero_is_zero_to_every_order,
           sign_is_right_at_the_ends_of_the_range, sign_does_not_depend_on_threads)

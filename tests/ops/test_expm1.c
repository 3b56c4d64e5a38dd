// SPDX-License-Identifier: Apache-2.0
/// The operator expm1: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void expm1_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_expm1(tape, in[0]);
}

static void expm1_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) {
    number x = in[0].x[i];
    out[0].x[i] = cexp(x) - 1;
  }
}

static void check_expm1(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "expm1",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = expm1_apply,
                           .dense = expm1_dense,
                           .slack = 8,
                           .dtypes = OP_REAL});
}

static void expm1_differentiates(lac_context *ctx) { check_expm1(ctx, "4,3"); }

static void expm1_takes_empty_and_single_arrays(lac_context *ctx) {
  check_expm1(ctx, "");
  check_expm1(ctx, "0,3");
}

static void small_numbers_keep_their_digits(lac_context *ctx) {
  if (!check_claimed("expm1")) return;
  CHECK_NEAR(creal(probe_value(ctx, lac_expm1, LAC_F64, 1e-20)), 1e-20, 1e-15);
  CHECK_NEAR(creal(probe_gradient(ctx, lac_expm1, LAC_F64, -700)), exp(-700), 1e-13);
  CHECK_NEAR(creal(probe_derivative(ctx, lac_expm1, LAC_F64, 0.5, 4)), exp(0.5), 1e-15);
}

static void expm1_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(
      ctx,
      &(op_case){.op = "expm1", .shapes = {"70001"}, .result = {"70001"}, .apply = expm1_apply, .dtypes = OP_REAL});
}

CHECK_MAIN(expm1_differentiates, expm1_takes_empty_and_single_arrays, small_numbers_keep_their_digits,
           expm1_does_not_depend_on_threads)

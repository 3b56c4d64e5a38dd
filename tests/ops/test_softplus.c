// SPDX-License-Identifier: Apache-2.0
/// The operator softplus: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void softplus_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_softplus(tape, in[0]);
}

static void softplus_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) {
    number x = in[0].x[i];
    out[0].x[i] = clog(1 + cexp(x));
  }
}

static void check_softplus(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "softplus",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = softplus_apply,
                           .dense = softplus_dense,
                           .slack = 4,
                           .dtypes = OP_REAL});
}

static void softplus_differentiates(lac_context *ctx) { check_softplus(ctx, "4,3"); }

static void softplus_takes_empty_and_single_arrays(lac_context *ctx) {
  check_softplus(ctx, "");
  check_softplus(ctx, "0,3");
}

static void softplus_differentiates_three_times(lac_context *ctx) {
  if (!check_claimed("softplus")) return;
  double y = 1 / (1 + exp(-0.5));
  CHECK_NEAR(creal(probe_derivative(ctx, lac_softplus, LAC_F64, 0.5, 1)), y, 1e-15);
  CHECK_NEAR(creal(probe_derivative(ctx, lac_softplus, LAC_F64, 0.5, 3)), y * (1 - y) * (1 - 2 * y), 1e-14);
}

static void large_numbers_do_not_overflow_and_small_ones_do_not_vanish(lac_context *ctx) {
  if (!check_claimed("softplus")) return;
  CHECK(probe_value(ctx, lac_softplus, LAC_F64, 1e300) == 1e300);
  CHECK(probe_value(ctx, lac_softplus, LAC_F32, 1e30) == (float)1e30);
  CHECK_NEAR(creal(probe_value(ctx, lac_softplus, LAC_F64, -700)), exp(-700), 1e-13);
  CHECK(probe_gradient(ctx, lac_softplus, LAC_F64, 1e300) == 1);
  CHECK_NEAR(creal(probe_gradient(ctx, lac_softplus, LAC_F64, -700)), exp(-700), 1e-13);
  CHECK(isnan(creal(probe_value(ctx, lac_softplus, LAC_F64, NAN))));
}

static void softplus_keeps_its_digits_everywhere(lac_context *ctx) {
  if (!check_claimed("softplus")) return;
  for (double x = -30; x < 30; x += 0.37) {
    CHECK_NEAR(creal(probe_value(ctx, lac_softplus, LAC_F64, x)), (double)log1pl(expl(x)), 1e-15);
    CHECK_NEAR(creal(probe_value(ctx, lac_softplus, LAC_F32, (float)x)), (double)log1pl(expl((float)x)), 1e-7);
  }
}

static void softplus_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(
      ctx, &(op_case){
               .op = "softplus", .shapes = {"70001"}, .result = {"70001"}, .apply = softplus_apply, .dtypes = OP_REAL});
}

CHECK_MAIN(softplus_differentiates, softplus_takes_empty_and_single_arrays, softplus_differentiates_three_times,
           large_numbers_do_not_overflow_and_small_ones_do_not_vanish, softplus_keeps_its_digits_everywhere,
           softplus_does_not_depend_on_threads)

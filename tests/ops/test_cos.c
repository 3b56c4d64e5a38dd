// SPDX-License-Identifier: Apache-2.0
/// The operator cos: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void cos_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_cos(tape, in[0]);
}

static void cos_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) {
    number x = in[0].x[i];
    out[0].x[i] = (cexp(I * x) + cexp(-I * x)) / 2;
  }
}

static void check_cos(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "cos", .shapes = {shape}, .result = {shape}, .apply = cos_apply, .dense = cos_dense});
}

static void cos_differentiates(lac_context *ctx) { check_cos(ctx, "4,3"); }

static void cos_takes_empty_and_single_arrays(lac_context *ctx) {
  check_cos(ctx, "");
  check_cos(ctx, "0,3");
}

static void four_derivatives_lead_back_to_cos(lac_context *ctx) {
  if (!check_claimed("cos")) return;
  CHECK_NEAR(creal(probe_derivative(ctx, lac_cos, LAC_F64, 0.75, 3)), sin(0.75), 1e-15);
  CHECK_NEAR(creal(probe_derivative(ctx, lac_cos, LAC_F64, 0.75, 4)), cos(0.75), 1e-15);
}

static void large_angles_are_reduced_exactly_and_infinite_ones_are_nan(lac_context *ctx) {
  if (!check_claimed("cos")) return;
  CHECK_NEAR(creal(probe_value(ctx, lac_cos, LAC_F64, 1e22)), 0.5232147853951389, 1e-14);
  CHECK(isnan(creal(probe_value(ctx, lac_cos, LAC_F64, INFINITY))));
}

static void cos_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "cos", .shapes = {"70001"}, .result = {"70001"}, .apply = cos_apply});
}

CHECK_MAIN(cos_differentiates, cos_takes_empty_and_single_arrays, four_derivatives_lead_back_to_cos,
           large_angles_are_reduced_exactly_and_infinite_ones_are_nan, cos_does_not_depend_on_threads)

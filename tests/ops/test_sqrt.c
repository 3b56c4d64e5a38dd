// SPDX-License-Identifier: Apache-2.0
/// The operator sqrt: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void sqrt_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_sqrt(tape, in[0]);
}

static void sqrt_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) {
    number x = in[0].x[i];
    out[0].x[i] = csqrt(x);
  }
}

/// Real parts lie between 1 and 2.
static void sqrt_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] += creal(x->x[i]) < 0 ? 2 : 1;
}

static void check_sqrt(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "sqrt",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = sqrt_apply,
                           .dense = sqrt_dense,
                           .fill = sqrt_fill,
                           .slack = 4});
}

static void sqrt_differentiates(lac_context *ctx) { check_sqrt(ctx, "4,3"); }

static void sqrt_takes_empty_and_single_arrays(lac_context *ctx) {
  check_sqrt(ctx, "");
  check_sqrt(ctx, "0,3");
}

static void sqrt_differentiates_four_times(lac_context *ctx) {
  if (!check_claimed("sqrt")) return;
  static const double factor[] = {1, 0.5, -0.25, 0.375, -0.9375};
  for (int order = 0; order <= 4; ++order) {
    CHECK_NEAR(creal(probe_derivative(ctx, lac_sqrt, LAC_F64, 4, order)), factor[order] * pow(4, 0.5 - order), 1e-14);
  }
}

static void the_slope_at_zero_is_infinite(lac_context *ctx) {
  if (!check_claimed("sqrt")) return;
  CHECK(probe_value(ctx, lac_sqrt, LAC_F64, 0) == 0);
  CHECK(creal(probe_gradient(ctx, lac_sqrt, LAC_F64, 0)) == INFINITY);
}

static void tiny_and_huge_numbers_have_roots_and_slopes(lac_context *ctx) {
  if (!check_claimed("sqrt")) return;
  CHECK_NEAR(creal(probe_value(ctx, lac_sqrt, LAC_F64, 1e-300)), 1e-150, 1e-15);
  CHECK_NEAR(creal(probe_gradient(ctx, lac_sqrt, LAC_F64, 1e300)), 0.5e-150, 1e-15);
}

static void a_negative_number_has_no_root_or_an_imaginary_one(lac_context *ctx) {
  if (!check_claimed("sqrt")) return;
  CHECK(isnan(creal(probe_value(ctx, lac_sqrt, LAC_F32, -1))));
  CHECK(cabs(probe_value(ctx, lac_sqrt, LAC_C128, -4) - 2 * I) < 1e-15);
}

static void sqrt_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "sqrt", .shapes = {"70001"}, .result = {"70001"}, .apply = sqrt_apply});
}

CHECK_MAIN(sqrt_differentiates, sqrt_takes_empty_and_single_arrays, sqrt_differentiates_four_times,
           the_slope_at_zero_is_infinite, tiny_and_huge_numbers_have_roots_and_slopes,
           a_negative_number_has_no_root_or_an_imaginary_one, sqrt_does_not_depend_on_threads)

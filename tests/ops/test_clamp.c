// SPDX-License-Identifier: Apache-2.0
/// The operator clamp: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void clamp_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_clamp(tape, in[0], setup->c->f[0], setup->c->f[1]);
}

static void clamp_dense(const op_case *c, const ref *in, ref *out) {
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = fmin(fmax(creal(in[0].x[i]), c->f[0]), c->f[1]);
}

/// Near -2, 0 and 2: away from bounds at -1 and 1.
static void clamp_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] = 0.5 * x->x[i] + (double)(2 * (i % 3) - 2);
}

static void check_clamp(lac_context *ctx, double low, double high, const char *shape) {
  check_op(ctx, &(op_case){.op = "clamp",
                           .shapes = {shape},
                           .result = {shape},
                           .f = {low, high},
                           .apply = clamp_apply,
                           .dense = clamp_dense,
                           .fill = clamp_fill,
                           .dtypes = OP_REAL});
}

static void clamp_differentiates(lac_context *ctx) { check_clamp(ctx, -1, 1, "4,3"); }

static void clamp_takes_one_bound_or_none(lac_context *ctx) {
  check_clamp(ctx, -1, INFINITY, "4,3");
  check_clamp(ctx, -INFINITY, 1, "4,3");
  check_clamp(ctx, -INFINITY, INFINITY, "4,3");
}

static void clamp_takes_empty_and_single_arrays(lac_context *ctx) {
  check_clamp(ctx, -1, 1, "");
  check_clamp(ctx, -1, 1, "0,3");
}

static lac_var to_thirds(lac_tape *tape, lac_var x) { return lac_clamp(tape, x, -1. / 3, 1. / 3); }

/// As PyTorch's, and as that of relu at 0.
static void the_slope_is_zero_on_both_bounds(lac_context *ctx) {
  if (!check_claimed("clamp")) return;
  CHECK(probe_gradient(ctx, to_thirds, LAC_F64, 1. / 3) == 0);
  CHECK(probe_gradient(ctx, to_thirds, LAC_F32, -1.f / 3) == 0);
  CHECK(probe_gradient(ctx, to_thirds, LAC_F64, nextafter(1. / 3, 0)) == 1);
  CHECK(probe_gradient(ctx, to_thirds, LAC_F32, nextafterf(-1.f / 3, 0)) == 1);
  CHECK(probe_gradient(ctx, to_thirds, LAC_F64, 0.34) == 0);
  CHECK(creal(probe_value(ctx, to_thirds, LAC_F32, 2)) == 1.f / 3);
}

static void infinity_is_clamped_and_nan_stays(lac_context *ctx) {
  if (!check_claimed("clamp")) return;
  CHECK(creal(probe_value(ctx, to_thirds, LAC_F64, -INFINITY)) == -1. / 3);
  CHECK(isnan(creal(probe_value(ctx, to_thirds, LAC_F64, NAN))));
}

static void clamp_refuses_bounds_in_the_wrong_order(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_clamp(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), 2, 1).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "bounds");
  lac_tape_clear(tape);
  CHECK(!lac_clamp(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), NAN, 1).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "bounds");
  lac_tape_destroy(&tape);
}

static void clamp_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "clamp",
                                 .shapes = {"70001"},
                                 .result = {"70001"},
                                 .f = {-0.5, 0.25},
                                 .apply = clamp_apply,
                                 .dtypes = OP_REAL});
}

CHECK_MAIN(clamp_differentiates, clamp_takes_one_bound_or_none, clamp_takes_empty_and_single_arrays,
           the_slope_is_zero_on_both_bounds, infinity_is_clamped_and_nan_stays, clamp_refuses_bounds_in_the_wrong_order,
           clamp_does_not_depend_on_threads)

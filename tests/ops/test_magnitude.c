// SPDX-License-Identifier: Apache-2.0
/// The operator magnitude: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void magnitude_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_magnitude(tape, in[0]);
}

static void magnitude_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = pow(2, floor(log2(cabs(in[0].x[i]))));
}

/// Halfway between powers of two.
static void magnitude_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] *= 1.5 * pow(2, (double)(i % 5) - 1) / cabs(x->x[i]);
}

static void check_magnitude(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "magnitude",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = magnitude_apply,
                           .dense = magnitude_dense,
                           .fill = magnitude_fill,
                           .result_dtype = op_real_dtype});
}

static void magnitude_differentiates(lac_context *ctx) { check_magnitude(ctx, "4,3"); }

static void magnitude_takes_empty_and_single_arrays(lac_context *ctx) {
  check_magnitude(ctx, "");
  check_magnitude(ctx, "0,3");
}

static void magnitude_is_exact_from_end_to_end(lac_context *ctx) {
  if (!check_claimed("magnitude")) return;
  CHECK(probe_value(ctx, lac_magnitude, LAC_F64, 0) == 1);
  CHECK(probe_value(ctx, lac_magnitude, LAC_F64, 4) == 4);
  CHECK(probe_value(ctx, lac_magnitude, LAC_F64, -0x1.fffffffffffffp1) == 2);
  CHECK(probe_value(ctx, lac_magnitude, LAC_F64, 1.7e308) == 0x1p1023);
  CHECK(probe_value(ctx, lac_magnitude, LAC_F64, 5e-324) == 0x1p-1022);
  CHECK(probe_value(ctx, lac_magnitude, LAC_F32, 1e-45) == 0x1p-126);
  CHECK(probe_value(ctx, lac_magnitude, LAC_F32, 3e38) == 0x1p127);
  CHECK(isinf(creal(probe_value(ctx, lac_magnitude, LAC_F64, -INFINITY))));
  CHECK(isnan(creal(probe_value(ctx, lac_magnitude, LAC_F64, NAN))));
}

static void magnitude_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "magnitude",
                                 .shapes = {"70001"},
                                 .result = {"70001"},
                                 .apply = magnitude_apply,
                                 .result_dtype = op_real_dtype});
}

CHECK_MAIN(magnitude_differentiates, magnitude_takes_empty_and_single_arrays, magnitude_is_exact_from_end_to_end,
           magnitude_does_not_depend_on_threads)

// SPDX-License-Identifier: Apache-2.0
/// The operator heaviside: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void heaviside_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_heaviside(tape, in[0]);
}

static void heaviside_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) {
    number x = in[0].x[i];
    out[0].x[i] = creal(x) > 0;
  }
}

/// Away from the kink, on both sides of it.
static void heaviside_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] += creal(x->x[i]) < 0 ? -1 : 1;
}

static void check_heaviside(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "heaviside",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = heaviside_apply,
                           .dense = heaviside_dense,
                           .fill = heaviside_fill,
                           .dtypes = OP_REAL});
}

static void heaviside_differentiates(lac_context *ctx) { check_heaviside(ctx, "4,3"); }

static void heaviside_takes_empty_and_single_arrays(lac_context *ctx) {
  check_heaviside(ctx, "");
  check_heaviside(ctx, "0,3");
}

static void heaviside_is_zero_at_zero_and_below(lac_context *ctx) {
  if (!check_claimed("heaviside")) return;
  CHECK(probe_value(ctx, lac_heaviside, LAC_F64, 0) == 0);
  CHECK(probe_value(ctx, lac_heaviside, LAC_F64, -INFINITY) == 0);
  CHECK(probe_value(ctx, lac_heaviside, LAC_F32, INFINITY) == 1);
  CHECK(probe_value(ctx, lac_heaviside, LAC_F64, 5e-324) == 1);
}

static void heaviside_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(
      ctx,
      &(op_case){
          .op = "heaviside", .shapes = {"70001"}, .result = {"70001"}, .apply = heaviside_apply, .dtypes = OP_REAL});
}

CHECK_MAIN(heaviside_differentiates, heaviside_takes_empty_and_single_arrays, heaviside_is_zero_at_zero_and_below,
           heaviside_does_not_depend_on_threads)

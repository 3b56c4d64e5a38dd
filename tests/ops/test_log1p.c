// SPDX-License-Identifier: Apache-2.0
/// The operator log1p: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void log1p_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_log1p(tape, in[0]);
}

static void log1p_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) {
    number x = in[0].x[i];
    out[0].x[i] = clog(1 + x);
  }
}

/// Away from the pole at -1.
static void log1p_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] = 0.5 * x->x[i] + 0.5;
}

static void check_log1p(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "log1p",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = log1p_apply,
                           .dense = log1p_dense,
                           .fill = log1p_fill,
                           .slack = 4,
                           .dtypes = OP_REAL});
}

static void log1p_differentiates(lac_context *ctx) { check_log1p(ctx, "4,3"); }

static void log1p_takes_empty_and_single_arrays(lac_context *ctx) {
  check_log1p(ctx, "");
  check_log1p(ctx, "0,3");
}

static void small_numbers_keep_their_digits(lac_context *ctx) {
  if (!check_claimed("log1p")) return;
  CHECK_NEAR(creal(probe_value(ctx, lac_log1p, LAC_F64, 1e-20)), 1e-20, 1e-15);
  CHECK_NEAR(creal(probe_derivative(ctx, lac_log1p, LAC_F64, 1, 4)), -6. / 16, 1e-14);
  CHECK(creal(probe_gradient(ctx, lac_log1p, LAC_F64, -1)) == INFINITY);
}

static void log1p_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(
      ctx,
      &(op_case){.op = "log1p", .shapes = {"70001"}, .result = {"70001"}, .apply = log1p_apply, .dtypes = OP_REAL});
}

CHECK_MAIN(log1p_differentiates, log1p_takes_empty_and_single_arrays, small_numbers_keep_their_digits,
           log1p_does_not_depend_on_threads)

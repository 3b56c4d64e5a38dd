// SPDX-License-Identifier: Apache-2.0
/// The operator imag: its values, its refusals, its derivatives.

#include "support/op_case.h"

static void imag_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_imag(tape, in[0]);
}

static void imag_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = cimag(in[0].x[i]);
}

static void check_imag(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "imag",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = imag_apply,
                           .dense = imag_dense,
                           .result_dtype = op_real_dtype,
                           .degree = {1}});
}

/// Of real arrays it is zero, and so are its derivatives.
static void imag_differentiates(lac_context *ctx) { check_imag(ctx, "4,3"); }

static void imag_takes_empty_and_single_arrays(lac_context *ctx) {
  check_imag(ctx, "");
  check_imag(ctx, "0,3");
}

static void imag_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(
      ctx,
      &(op_case){
          .op = "imag", .shapes = {"70001"}, .result = {"70001"}, .apply = imag_apply, .result_dtype = op_real_dtype});
}

CHECK_MAIN(imag_differentiates, imag_takes_empty_and_single_arrays, imag_does_not_depend_on_threads)

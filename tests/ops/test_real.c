// SPDX-License-Identifier: Apache-2.0
/// The operator real: its values, its refusals, its derivatives.

#include "support/op_case.h"

static void real_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_real(tape, in[0]);
}

static void real_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = creal(in[0].x[i]);
}

static void check_real(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "real",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = real_apply,
                           .dense = real_dense,
                           .result_dtype = op_real_dtype,
                           .degree = {1}});
}

static void real_differentiates(lac_context *ctx) { check_real(ctx, "4,3"); }

static void real_takes_empty_and_single_arrays(lac_context *ctx) {
  check_real(ctx, "");
  check_real(ctx, "0,3");
}

static void real_of_a_real_array_is_that_array(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var x = lac_tape_scalar(tape, LAC_F32, 3, 0);
  CHECK_EQ(lac_real(tape, x).id, x.id);
  lac_tape_destroy(&tape);
}

static void real_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(
      ctx,
      &(op_case){
          .op = "real", .shapes = {"70001"}, .result = {"70001"}, .apply = real_apply, .result_dtype = op_real_dtype});
}

/// Forward: y, half as large as x. Gradient: y and x_bar.
static void real_takes_its_results_alone(lac_context *ctx) {
  op_case c = {
      .op = "real", .shapes = {"70000"}, .result = {"70000"}, .apply = real_apply, .result_dtype = op_real_dtype};
  if (!check_claimed("real")) return;
  check_op_peak(ctx, &c, LAC_C128, 70000 * 8, 70000 * (8 + 16));
}

CHECK_MAIN(real_differentiates, real_takes_empty_and_single_arrays, real_of_a_real_array_is_that_array,
           real_does_not_depend_on_threads, real_takes_its_results_alone)

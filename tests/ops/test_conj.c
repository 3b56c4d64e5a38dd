// SPDX-License-Identifier: Apache-2.0
/// The operator conj: its values, its refusals, its derivatives.

#include "support/op_case.h"

static void conj_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_conj(tape, in[0]);
}

static void conj_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = conj(in[0].x[i]);
}

static void check_conj(lac_context *ctx, const char *shape) {
  check_op(
      ctx,
      &(op_case){
          .op = "conj", .shapes = {shape}, .result = {shape}, .apply = conj_apply, .dense = conj_dense, .degree = {1}});
}

static void conj_differentiates(lac_context *ctx) { check_conj(ctx, "4,3"); }
static void conj_takes_empty_and_single_arrays(lac_context *ctx) {
  check_conj(ctx, "");
  check_conj(ctx, "0,3");
}

static void conj_of_a_real_array_is_that_array(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var x = lac_tape_scalar(tape, LAC_F32, 3, 0);
  CHECK_EQ(lac_conj(tape, x).id, x.id);
  lac_tape_destroy(&tape);
}

static void conj_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "conj", .shapes = {"70000"}, .result = {"70000"}, .apply = conj_apply});
}

/// Forward: y. Gradient: y and x_bar.
static void conj_takes_its_results_alone(lac_context *ctx) {
  op_case c = {.op = "conj", .shapes = {"70000"}, .result = {"70000"}, .apply = conj_apply};
  check_op_peak(ctx, &c, LAC_C128, 70000 * 16, 2 * 70000 * 16);
}

CHECK_MAIN(conj_differentiates, conj_takes_empty_and_single_arrays, conj_of_a_real_array_is_that_array,
           conj_does_not_depend_on_threads, conj_takes_its_results_alone)

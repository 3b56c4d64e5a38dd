// SPDX-License-Identifier: Apache-2.0
/// The operator scale: its values, its refusals, its derivatives.

#include "support/op_case.h"

/// The factor's imaginary part is for complex arrays alone.
static void scale_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const double *f = setup->c->f;
  out[0] = lac_scale(tape, in[0], f[0], setup->dtype >= LAC_C64 ? f[1] : 0);
}

static void scale_dense(const op_case *c, const ref *in, ref *out) {
  number factor = in[0].meta.dtype >= LAC_C64 ? c->f[0] + c->f[1] * I : c->f[0];
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = factor * in[0].x[i];
}

static void check_scale(lac_context *ctx, const char *shape, double real, double imag) {
  check_op(ctx, &(op_case){.op = "scale",
                           .shapes = {shape},
                           .result = {shape},
                           .f = {real, imag},
                           .apply = scale_apply,
                           .dense = scale_dense,
                           .degree = {1}});
}

static void scale_differentiates(lac_context *ctx) { check_scale(ctx, "4,3", 0.75, -1.5); }
static void scale_takes_zero_and_one(lac_context *ctx) {
  check_scale(ctx, "2,3", 0, 0);
  check_scale(ctx, "2,3", 1, 0);
}
static void scale_takes_empty_and_single_arrays(lac_context *ctx) {
  check_scale(ctx, "", -2, 1);
  check_scale(ctx, "0,3", -2, 1);
}

static void scale_refuses_an_imaginary_factor_of_a_real_array(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_scale(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), 1, 2).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_DTYPE, "imaginary");
  lac_tape_destroy(&tape);
}

static void neg_is_a_scale(lac_context *ctx) {
  lac_tape *tape = NULL;
  float value = 0;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var y = lac_neg(tape, lac_tape_scalar(tape, LAC_F32, 3, 0));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, y), &value));
  CHECK(value == -3);
  lac_tape_destroy(&tape);
}

static void scale_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx,
                 &(op_case){.op = "scale", .shapes = {"70000"}, .result = {"70000"}, .f = {3}, .apply = scale_apply});
}

/// Forward: y. Gradient: y and x_bar.
static void scale_takes_its_results_alone(lac_context *ctx) {
  op_case c = {.op = "scale", .shapes = {"70000"}, .result = {"70000"}, .f = {3}, .apply = scale_apply};
  check_op_peak(ctx, &c, LAC_F64, 70000 * 8, 2 * 70000 * 8);
}

CHECK_MAIN(scale_differentiates, scale_takes_zero_and_one, scale_takes_empty_and_single_arrays,
           scale_refuses_an_imaginary_factor_of_a_real_array, neg_is_a_scale, scale_does_not_depend_on_threads,
           scale_takes_its_results_alone)

// SPDX-License-Identifier: Apache-2.0
/// The operator offset: its values, its refusals, its derivatives.

#include "support/op_case.h"

/// The number's imaginary part is for complex arrays alone.
static void offset_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const double *f = setup->c->f;
  out[0] = lac_offset(tape, in[0], f[0], setup->dtype >= LAC_C64 ? f[1] : 0);
}

static void offset_dense(const op_case *c, const ref *in, ref *out) {
  number alpha = in[0].meta.dtype >= LAC_C64 ? c->f[0] + c->f[1] * I : c->f[0];
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = in[0].x[i] + alpha;
}

static void check_offset(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "offset",
                           .shapes = {shape},
                           .result = {shape},
                           .f = {0.75, -1.5},
                           .apply = offset_apply,
                           .dense = offset_dense});
}

static void offset_differentiates(lac_context *ctx) { check_offset(ctx, "4,3"); }

static void offset_takes_empty_and_single_arrays(lac_context *ctx) {
  check_offset(ctx, "");
  check_offset(ctx, "0,3");
}

static void offset_refuses_an_imaginary_number_for_a_real_array(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_offset(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), 1, 2).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_DTYPE, "imaginary");
  lac_tape_destroy(&tape);
}

static void offset_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx,
                 &(op_case){.op = "offset", .shapes = {"70001"}, .result = {"70001"}, .f = {3}, .apply = offset_apply});
}

CHECK_MAIN(offset_differentiates, offset_takes_empty_and_single_arrays,
           offset_refuses_an_imaginary_number_for_a_real_array, offset_does_not_depend_on_threads)

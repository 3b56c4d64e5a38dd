// SPDX-License-Identifier: Apache-2.0
/// The operator full: its values, its refusals, its derivatives, which are zero.

#include "support/op_case.h"

/// The number's imaginary part is for complex arrays alone.
static void full_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const op_case *c = setup->c;
  lac_meta like = op_shape(c, setup->dtype, c->result[0]);
  out[0] = lac_full(tape, in[0], like.ndim, like.shape, c->f[0], setup->dtype >= LAC_C64 ? c->f[1] : 0);
}

static void full_dense(const op_case *c, const ref *in, ref *out) {
  number alpha = in[0].meta.dtype >= LAC_C64 ? c->f[0] + c->f[1] * I : c->f[0];
  for (int64_t i = 0; i < out[0].count; ++i) out[0].x[i] = alpha;
}

static void check_full(lac_context *ctx, const char *shape, const char *result) {
  check_op(ctx, &(op_case){.op = "full",
                           .shapes = {shape},
                           .result = {result},
                           .f = {0.75, -1.5},
                           .apply = full_apply,
                           .dense = full_dense});
}

static void full_differentiates_to_zero(lac_context *ctx) {
  check_full(ctx, "4,3", "5");
  check_full(ctx, "4", "2,3");
}

static void full_takes_empty_and_single_arrays(lac_context *ctx) {
  check_full(ctx, "", "");
  check_full(ctx, "0,3", "2");
  check_full(ctx, "3", "2,0");
}

static void full_refuses_what_is_no_shape_or_number(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_full(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), 0, NULL, 1, 2).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_DTYPE, "imaginary");
  lac_tape_clear(tape);
  CHECK(!lac_full(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), 2, NULL, 1, 0).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "full: shape is NULL");
  lac_tape_clear(tape);
  CHECK(!lac_full(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), 1, (int64_t[]){-2}, 1, 0).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "full");
  lac_tape_destroy(&tape);
}

static void full_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "full", .shapes = {"3"}, .result = {"70001"}, .f = {3}, .apply = full_apply});
}

CHECK_MAIN(full_differentiates_to_zero, full_takes_empty_and_single_arrays, full_refuses_what_is_no_shape_or_number,
           full_does_not_depend_on_threads)

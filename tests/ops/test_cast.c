// SPDX-License-Identifier: Apache-2.0
/// The operator cast: its values, its refusals, its derivatives.

#include "support/op_case.h"
#include "support/probe.h"

/// The dtypes that the four are cast to.
static const lac_dtype wider[] = {LAC_F64, LAC_C128, LAC_C128, LAC_C128};
static const lac_dtype other[] = {LAC_C128, LAC_F32, LAC_C128, LAC_C64};
static const lac_dtype complex_of[] = {LAC_C64, LAC_C64, LAC_C64, LAC_C64};

static lac_dtype cast_to(const op_case *c, int output, lac_dtype dtype) {
  (void)output;
  return ((const lac_dtype *)c->data)[dtype];
}

static void cast_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_cast(tape, in[0], cast_to(setup->c, 0, setup->dtype));
}

static void cast_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = in[0].x[i];
}

static void check_cast(lac_context *ctx, const lac_dtype *to, const char *shape) {
  check_op(ctx, &(op_case){.op = "cast",
                           .shapes = {shape},
                           .result = {shape},
                           .data = to,
                           .apply = cast_apply,
                           .dense = cast_dense,
                           .result_dtype = cast_to,
                           .skip = OP_SCALE});
}

static void cast_differentiates(lac_context *ctx) {
  check_cast(ctx, wider, "4,3");
  check_cast(ctx, other, "4,3");
  check_cast(ctx, complex_of, "4,3");
}

static void cast_takes_empty_and_single_arrays(lac_context *ctx) {
  check_cast(ctx, wider, "");
  check_cast(ctx, other, "0,3");
}

static lac_var to_f32(lac_tape *tape, lac_var x) { return lac_cast(tape, x, LAC_F32); }
static lac_var to_c128(lac_tape *tape, lac_var x) { return lac_cast(tape, x, LAC_C128); }

static void cast_rounds_to_the_nearest_and_keeps_the_rest(lac_context *ctx) {
  if (!check_claimed("cast")) return;
  CHECK(probe_value(ctx, to_f32, LAC_F64, 1 + 0x1p-30) == 1);
  CHECK(probe_value(ctx, to_c128, LAC_F64, 1 + 0x1p-30) == 1 + 0x1p-30);
  CHECK(probe_value(ctx, to_c128, LAC_C64, 0.5 - 3 * I) == 0.5 - 3 * I);
}

static void cast_to_the_same_dtype_is_the_array_itself(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var x = lac_tape_scalar(tape, LAC_C64, 3, 0);
  CHECK_EQ(lac_cast(tape, x, LAC_C64).id, x.id);
  lac_tape_destroy(&tape);
}

static void cast_refuses_to_lose_the_imaginary_part(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_cast(tape, lac_tape_scalar(tape, LAC_C128, 3, 0), LAC_F64).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_DTYPE, "real");
  lac_tape_clear(tape);
  CHECK(!lac_cast(tape, lac_tape_scalar(tape, LAC_C128, 3, 0), (lac_dtype)7).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_DTYPE, "unknown");
  lac_tape_destroy(&tape);
}

static void cast_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "cast",
                                 .shapes = {"70001"},
                                 .result = {"70001"},
                                 .data = other,
                                 .apply = cast_apply,
                                 .result_dtype = cast_to});
}

CHECK_MAIN(cast_differentiates, cast_takes_empty_and_single_arrays, cast_rounds_to_the_nearest_and_keeps_the_rest,
           cast_to_the_same_dtype_is_the_array_itself, cast_refuses_to_lose_the_imaginary_part,
           cast_does_not_depend_on_threads)

// SPDX-License-Identifier: Apache-2.0
/// The operator reshape: its values, its refusals, its derivatives.

#include <string.h>

#include "support/op_case.h"

static void reshape_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_meta like = op_shape(setup->c, setup->dtype, setup->c->result[0]);
  out[0] = lac_reshape(tape, in[0], like.ndim, like.shape);
}

static void reshape_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  memcpy(out[0].x, in[0].x, (size_t)in[0].count * sizeof *out[0].x);
}

static void check_reshape(lac_context *ctx, const char *x, const char *y) {
  op_case c = {.op = "reshape", .apply = reshape_apply, .dense = reshape_dense, .degree = {1}, .fixed = {1}};
  c.shapes[0] = x, c.result[0] = y;
  if (strlen(x) < 2 || strchr(x, '0')) c.fixed[0] = 0;  // one number, or none, has many shapes
  check_op(ctx, &c);
}

static void reshape_differentiates(lac_context *ctx) {
  check_reshape(ctx, "2,6", "3,4");
  check_reshape(ctx, "2,3,4", "24");
  check_reshape(ctx, "12", "1,2,1,6");
}

static void reshape_takes_empty_and_single_arrays(lac_context *ctx) {
  check_reshape(ctx, "", "1,1");
  check_reshape(ctx, "1", "");
  check_reshape(ctx, "0,3", "7,0");
}

static void reshape_refuses_another_count(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_reshape(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), 2, (int64_t[]){2, 3}).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "(2, 3)");
  lac_tape_clear(tape);
  CHECK(!lac_reshape(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), 2, NULL).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "shape is NULL; give a list of 2 sizes");
  lac_tape_clear(tape);
  CHECK(!lac_reshape(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "9 dimensions");
  lac_tape_clear(tape);
  CHECK(!lac_reshape(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), 2, (int64_t[]){-1, -1}).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "-1");
  lac_tape_clear(tape);
  CHECK(!lac_reshape(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), 1, (int64_t[]){-1}).id);  // nothing is spread here
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "is negative");
  lac_tape_clear(tape);
  CHECK(!lac_reshape(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), 2, (int64_t[]){INT64_MAX, 4}).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_OVERFLOW, "more bytes");
  lac_tape_destroy(&tape);
}

static void reshape_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "reshape", .shapes = {"70000"}, .result = {"700,100"}, .apply = reshape_apply});
}

/// Forward: y. Gradient: y and x_bar.
static void reshape_takes_its_results_alone(lac_context *ctx) {
  op_case c = {.op = "reshape", .shapes = {"70000"}, .result = {"700,100"}, .apply = reshape_apply};
  check_op_peak(ctx, &c, LAC_F64, 70000 * 8, 2 * 70000 * 8);
}

CHECK_MAIN(reshape_differentiates, reshape_takes_empty_and_single_arrays, reshape_refuses_another_count,
           reshape_does_not_depend_on_threads, reshape_takes_its_results_alone)

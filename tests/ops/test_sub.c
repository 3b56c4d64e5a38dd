// SPDX-License-Identifier: Apache-2.0
/// The operator sub: its values, its refusals, its derivatives.

#include "support/op_case.h"

static void sub_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_sub(tape, in[0], in[1]);
}

static void sub_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    *walk_item(&w, out, 0) = *walk_item(&w, &in[0], 0) - *walk_item(&w, &in[1], 0);
  }
}

static void check_sub(lac_context *ctx, const char *x, const char *y, const char *z) {
  check_op(
      ctx,
      &(op_case){
          .op = "sub", .shapes = {x, y}, .result = {z}, .apply = sub_apply, .dense = sub_dense, .takes_absent = 1});
}

static void sub_differentiates(lac_context *ctx) { check_sub(ctx, "4,3", "4,3", "4,3"); }

static void sub_broadcasts_both_ways(lac_context *ctx) {
  check_sub(ctx, "2,1,3", "4,1", "2,4,3");
  check_sub(ctx, "5", "2,3,5", "2,3,5");
  check_sub(ctx, "", "3,2", "3,2");
}

static void sub_takes_empty_and_single_arrays(lac_context *ctx) {
  check_sub(ctx, "", "", "");
  check_sub(ctx, "1,3", "0,3", "0,3");
}

static void sub_from_nothing_is_the_negative(lac_context *ctx) {
  lac_tape *tape = NULL;
  double value = 0;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var x = lac_tape_scalar(tape, LAC_F64, 3, 0), none = {0};
  CHECK_EQ(lac_sub(tape, x, none).id, x.id);
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, lac_sub(tape, none, x)), &value));
  CHECK(value == -3);
  CHECK_EQ(lac_sub(tape, none, none).id, 0);
  CHECK_OK(lac_tape_status(tape));
  lac_tape_destroy(&tape);
}

static void sub_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx,
                 &(op_case){.op = "sub", .shapes = {"200,300", "200,1"}, .result = {"200,300"}, .apply = sub_apply});
}

/// Forward: z. Gradient: z, and y_bar = -z_bar.
static void sub_takes_its_results_alone(lac_context *ctx) {
  int64_t bytes = 200 * 300 * 8;
  check_op_peak(ctx,
                &(op_case){.op = "sub", .shapes = {"200,300", "200,300"}, .result = {"200,300"}, .apply = sub_apply},
                LAC_F64, bytes, 2 * bytes);
}

CHECK_MAIN(sub_differentiates, sub_broadcasts_both_ways, sub_takes_empty_and_single_arrays,
           sub_from_nothing_is_the_negative, sub_does_not_depend_on_threads, sub_takes_its_results_alone)

// SPDX-License-Identifier: Apache-2.0
/// The operator add: its values, its refusals, its derivatives.

#include "support/op_case.h"

static void add_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_add(tape, in[0], in[1]);
}

static void add_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    *walk_item(&w, out, 0) = *walk_item(&w, &in[0], 0) + *walk_item(&w, &in[1], 0);
  }
}

static void check_add(lac_context *ctx, const char *x, const char *y, const char *z) {
  check_op(
      ctx,
      &(op_case){
          .op = "add", .shapes = {x, y}, .result = {z}, .apply = add_apply, .dense = add_dense, .takes_absent = 1});
}

static void add_differentiates(lac_context *ctx) { check_add(ctx, "4,3", "4,3", "4,3"); }

static void add_broadcasts_both_ways(lac_context *ctx) {
  check_add(ctx, "2,1,3", "4,1", "2,4,3");
  check_add(ctx, "5", "2,3,5", "2,3,5");
  check_add(ctx, "3,2", "", "3,2");
}

static void add_takes_empty_and_single_arrays(lac_context *ctx) {
  check_add(ctx, "", "", "");
  check_add(ctx, "0,3", "1,3", "0,3");
  check_add(ctx, "2,0", "2,0", "2,0");
}

static void add_refuses_shapes_that_do_not_broadcast(lac_context *ctx) {
  lac_tape *tape = NULL;
  lac_array *x = NULL, *y = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){4, 3}, &x));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){4, 2}, &y));
  CHECK_OK(lac_array_fill(ctx, x, 1, 0));
  CHECK_OK(lac_array_fill(ctx, y, 1, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var z = lac_add(tape, lac_tape_leaf(tape, x), lac_tape_leaf(tape, y));
  CHECK(!z.id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "(4, 2)");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  lac_array_destroy(&y);
}

static void an_absent_summand_is_zero(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var x = lac_tape_scalar(tape, LAC_F64, 3, 0), none = {0};
  CHECK_EQ(lac_add(tape, x, none).id, x.id);
  CHECK_EQ(lac_add(tape, none, x).id, x.id);
  CHECK_EQ(lac_add(tape, none, none).id, 0);
  CHECK_OK(lac_tape_status(tape));
  lac_tape_destroy(&tape);
}

static void add_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "add", .shapes = {"200,300", "300"}, .result = {"200,300"}, .apply = add_apply});
}

static void add_takes_its_result_alone(lac_context *ctx) {
  int64_t bytes = 200 * 300 * 8;
  check_op_peak(ctx,
                &(op_case){.op = "add", .shapes = {"200,300", "200,300"}, .result = {"200,300"}, .apply = add_apply},
                LAC_F64, bytes, bytes);
}

CHECK_MAIN(add_differentiates, add_broadcasts_both_ways, add_takes_empty_and_single_arrays,
           add_refuses_shapes_that_do_not_broadcast, an_absent_summand_is_zero, add_does_not_depend_on_threads,
           add_takes_its_result_alone)

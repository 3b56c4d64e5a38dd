// SPDX-License-Identifier: Apache-2.0
/// The operator slice: its values, its refusals, its derivatives.

#include "support/op_case.h"

/// i[] as the operator has them: axis from the end, begin, end, step.
static void slice_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const int64_t *i = setup->c->i;
  out[0] = lac_slice(tape, in[0], -1 - (int)i[0], i[1], i[2], i[3]);
}

/// Every number of y comes from where its axes say.
static void slice_dense(const op_case *c, const ref *in, ref *out) {
  int ndim = out[0].meta.ndim, axis = ndim - 1 - (int)c->i[0];
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    int64_t at = 0;
    for (int d = 0; d < ndim; ++d) {
      int64_t place = d == axis ? c->i[1] + w.at[d] * c->i[3] : w.at[d];
      at = at * in[0].meta.shape[d] + place;
    }
    *walk_item(&w, out, 0) = in[0].x[at];
  }
}

static void check_slice(lac_context *ctx, const char *x, int axis, int64_t begin, int64_t end, int64_t step,
                        const char *y) {
  check_op(ctx, &(op_case){.op = "slice",
                           .shapes = {x},
                           .result = {y},
                           .i = {axis, begin, end, step},
                           .apply = slice_apply,
                           .dense = slice_dense,
                           .degree = {1}});
}

static void slice_takes_any_axis_and_step(lac_context *ctx) {
  check_slice(ctx, "7", 0, 2, 5, 1, "3");
  check_slice(ctx, "2,5,3", 0, 1, 3, 1, "2,5,2");
  check_slice(ctx, "2,5,3", 1, 0, 5, 2, "2,3,3");
  check_slice(ctx, "2,5,3", 1, 1, 5, 3, "2,2,3");
  check_slice(ctx, "4,1,3", 2, 3, 4, 5, "1,1,3");
  check_slice(ctx, "2,3", 0, 0, 3, 1, "2,3");
  check_slice(ctx, "2,5", 0, 1, 5, INT64_MAX, "2,1");  // beyond the axis
}

static void slice_takes_what_is_empty(lac_context *ctx) {
  check_slice(ctx, "2,5,3", 1, 2, 2, 1, "2,0,3");
  check_slice(ctx, "2,5", 0, 5, 5, 2, "2,0");
  check_slice(ctx, "0,5", 0, 1, 4, 1, "0,3");
  check_slice(ctx, "0", 0, 0, 0, 1, "0");
}

static void refuse(lac_context *ctx, int axis, int64_t begin, int64_t end, int64_t step, lac_status want,
                   const char *sentence) {
  lac_tape *tape = NULL;
  lac_array *x = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){3, 4}, &x));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_slice(tape, lac_tape_leaf(tape, x), axis, begin, end, step).id);
  CHECK_FAILS(lac_tape_status(tape), want, sentence);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void slice_refuses_ranges_that_are_not_there(lac_context *ctx) {
  refuse(ctx, 2, 0, 1, 1, LAC_ERR_SHAPE, "2 dimensions has no axis 2");
  refuse(ctx, -3, 0, 1, 1, LAC_ERR_SHAPE, "2 dimensions has no axis -3");
  refuse(ctx, 1, 0, 5, 1, LAC_ERR_SHAPE, "from 0 to 5 of an axis of 4");
  refuse(ctx, -1, -1, 2, 1, LAC_ERR_SHAPE, "from -1 to 2");
  refuse(ctx, 0, 3, 2, 1, LAC_ERR_SHAPE, "from 3 to 2 of an axis of 3");
  refuse(ctx, -2, 0, 2, 0, LAC_ERR_ARG, "the step is 0");
  refuse(ctx, 0, 0, 2, -1, LAC_ERR_ARG, "the step is -1");
}

static void slice_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "slice", .shapes = {"700,500"}, .result = {"350,500"}, .i = {1, 1, 700, 2}, .apply = slice_apply};
  check_op_large(ctx, &c);
  c.i[0] = 0, c.i[2] = 500, c.i[3] = 3, c.result[0] = "700,167";
  check_op_large(ctx, &c);
  c.i[3] = 1, c.result[0] = "700,499";
  check_op_large(ctx, &c);
}

/// Forward: y. Gradient: y and x_bar.
static void slice_takes_its_results_alone(lac_context *ctx) {
  if (!check_claimed("slice")) return;
  op_case c = {.op = "slice", .shapes = {"300,500"}, .result = {"300,100"}, .i = {0, 0, 100, 1}, .apply = slice_apply};
  check_op_peak(ctx, &c, LAC_F64, 300 * 100 * 8, 300 * 100 * 8 + 300 * 500 * 8);
}

CHECK_MAIN(slice_takes_any_axis_and_step, slice_takes_what_is_empty, slice_refuses_ranges_that_are_not_there,
           slice_does_not_depend_on_threads, slice_takes_its_results_alone)

// SPDX-License-Identifier: Apache-2.0
/// The operator cumsum: its values, its refusals, its derivatives.

#include "support/op_case.h"

static void cumsum_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_cumsum(tape, in[0], -1 - (int)setup->c->i[0], setup->c->i[1] != 0);
}

/// Every number goes to all places that do not stand before it along the axis.
static void cumsum_dense(const op_case *c, const ref *in, ref *out) {
  int ndim = in[0].meta.ndim, axis = ndim - 1 - (int)c->i[0];
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    for (walk v = walk_batch(in, 0); walk_next(&v);) {
      int counts = !c->i[1] ? v.at[axis] <= w.at[axis] : v.at[axis] >= w.at[axis];
      for (int d = 0; d < ndim; ++d) counts = counts && (d == axis || v.at[d] == w.at[d]);
      if (counts) *walk_item(&w, out, 0) += *walk_item(&v, in, 0);
    }
  }
}

static void check_cumsum(lac_context *ctx, const char *x, int axis, bool backwards) {
  op_case c = {.op = "cumsum", .shapes = {x}, .result = {x}, .i = {axis, backwards}, .degree = {1}};
  c.apply = cumsum_apply, c.dense = cumsum_dense;
  check_op(ctx, &c);
}

static void cumsum_takes_any_axis_both_ways(lac_context *ctx) {
  check_cumsum(ctx, "5", 0, false);
  check_cumsum(ctx, "5", 0, true);
  check_cumsum(ctx, "2,3,2", 1, false);
  check_cumsum(ctx, "2,3,2", 2, true);
}

static void cumsum_takes_what_is_empty(lac_context *ctx) {
  check_cumsum(ctx, "0", 0, false);
  check_cumsum(ctx, "2,0", 1, false);
  check_cumsum(ctx, "0,2", 0, true);
}

static void cumsum_refuses_an_axis_that_is_not_there(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_cumsum(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), -1, false).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "no axis -1");
  lac_tape_destroy(&tape);
}

static void cumsum_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "cumsum", .shapes = {"300,500"}, .result = {"300,500"}, .apply = cumsum_apply};
  check_op_large(ctx, &c);
  c.i[0] = 1, c.i[1] = true;
  check_op_large(ctx, &c);
}

CHECK_MAIN(cumsum_takes_any_axis_both_ways, cumsum_takes_what_is_empty, cumsum_refuses_an_axis_that_is_not_there,
           cumsum_does_not_depend_on_threads)

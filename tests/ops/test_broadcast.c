// SPDX-License-Identifier: Apache-2.0
/// The operator broadcast: its values, its refusals, its derivatives.

#include "support/axes_case.h"

static void broadcast_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_meta like = op_shape(setup->c, setup->dtype, setup->c->result[0]);
  out[0] = lac_broadcast(tape, in[0], &like, AXES_OF(setup->c->i[0], like.ndim), setup->c->i[1] != 0);
}

/// Every number of y comes from where its other axes say.
static void broadcast_dense(const op_case *c, const ref *in, ref *out) {
  int ndim = out[0].meta.ndim;
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    int64_t at = 0;
    for (int d = 0; d < ndim; ++d) {
      if (!(c->i[0] >> (ndim - 1 - d) & 1)) at = at * out[0].meta.shape[d] + w.at[d];
    }
    *walk_item(&w, out, 0) = in[0].x[at];
  }
}

static void check_broadcast(lac_context *ctx, const char *x, uint32_t mask, bool keepdims, const char *y) {
  op_case c = {.op = "broadcast", .apply = broadcast_apply, .dense = broadcast_dense, .degree = {1}};
  c.shapes[0] = x, c.result[0] = y, c.i[0] = mask, c.i[1] = keepdims;
  check_op(ctx, &c);
}

static void broadcast_differentiates_over_any_axes(lac_context *ctx) {
  check_broadcast(ctx, "2,3", 1, false, "2,3,4");
  check_broadcast(ctx, "2,4", 2, false, "2,3,4");
  check_broadcast(ctx, "3,4", 4, false, "2,3,4");
  check_broadcast(ctx, "3", 5, false, "2,3,4");
  check_broadcast(ctx, "", 7, false, "2,3,4");
  check_broadcast(ctx, "2,3", 0, false, "2,3");
}

static void broadcast_fills_kept_axes(lac_context *ctx) {
  check_broadcast(ctx, "1,3,1", 5, true, "2,3,4");
  check_broadcast(ctx, "1,1", 3, true, "2,3");
}

static void broadcast_takes_what_is_empty(lac_context *ctx) {
  check_broadcast(ctx, "3", 1, false, "3,0");
  check_broadcast(ctx, "0", 2, false, "3,0");
}

static void broadcast_refuses_what_does_not_fit(lac_context *ctx) {
  lac_tape *tape = NULL;
  lac_meta like = {.dtype = LAC_F64, .ndim = 2, .shape = {3, 4}};
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_broadcast(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), &like, LAC_AXES(-1), false).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "(3, 4)");
  lac_tape_clear(tape);
  CHECK(!lac_broadcast(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), NULL, LAC_AXES(-1), false).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "broadcast: like is NULL");
  lac_tape_destroy(&tape);
}

static void broadcast_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "broadcast", .shapes = {"300"}, .result = {"300,500"}, .i = {1}, .apply = broadcast_apply};
  check_op_large(ctx, &c);
  c.i[0] = 2, c.shapes[0] = "500";
  check_op_large(ctx, &c);
}

/// Forward: y. Gradient: y and x_bar.
static void broadcast_takes_its_results_alone(lac_context *ctx) {
  op_case c = {.op = "broadcast", .shapes = {"300"}, .result = {"300,500"}, .i = {1}, .apply = broadcast_apply};
  check_op_peak(ctx, &c, LAC_F64, 300 * 500 * 8, 300 * 500 * 8 + 300 * 8);
}

CHECK_MAIN(broadcast_differentiates_over_any_axes, broadcast_fills_kept_axes, broadcast_takes_what_is_empty,
           broadcast_refuses_what_does_not_fit, broadcast_does_not_depend_on_threads, broadcast_takes_its_results_alone)

// SPDX-License-Identifier: Apache-2.0
/// The operator embed: its values, its refusals, its derivatives.

#include "support/op_case.h"

/// i[] as the operator has them: axis from the end, begin, end, step.
static void embed_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const int64_t *i = setup->c->i;
  lac_meta like = op_shape(setup->c, setup->dtype, setup->c->result[0]);
  out[0] = lac_embed(tape, in[0], &like, -1 - (int)i[0], i[1], i[2], i[3]);
}

/// Every number of x goes where its axes say.
static void embed_dense(const op_case *c, const ref *in, ref *out) {
  int ndim = in[0].meta.ndim, axis = ndim - 1 - (int)c->i[0];
  for (walk w = walk_batch(in, 0); walk_next(&w);) {
    int64_t at = 0;
    for (int d = 0; d < ndim; ++d) {
      int64_t place = d == axis ? c->i[1] + w.at[d] * c->i[3] : w.at[d];
      at = at * out[0].meta.shape[d] + place;
    }
    out[0].x[at] = *walk_item(&w, in, 0);
  }
}

static void check_embed(lac_context *ctx, const char *x, int axis, int64_t begin, int64_t end, int64_t step,
                        const char *y, uint32_t axes) {
  check_op(ctx, &(op_case){.op = "embed",
                           .shapes = {x},
                           .result = {y},
                           .i = {axis, begin, end, step},
                           .apply = embed_apply,
                           .dense = embed_dense,
                           .fixed = {axes},
                           .degree = {1}});
}

static void embed_takes_any_axis_and_step(lac_context *ctx) {
  check_embed(ctx, "3", 0, 2, 5, 1, "7", 1);
  check_embed(ctx, "2,5,2", 0, 1, 3, 1, "2,5,3", 7);
  check_embed(ctx, "2,3,3", 1, 0, 5, 2, "2,5,3", 7);
  check_embed(ctx, "2,2,3", 1, 1, 5, 3, "2,5,3", 7);
  check_embed(ctx, "1,1,3", 2, 3, 4, 5, "4,1,3", 7);
  check_embed(ctx, "2,3", 0, 0, 3, 1, "2,3", 3);
  check_embed(ctx, "2,1", 0, 1, 5, INT64_MAX, "2,5", 3);  // beyond the axis
}

static void embed_takes_what_is_empty(lac_context *ctx) {
  check_embed(ctx, "2,0,3", 1, 2, 2, 1, "2,5,3", 7);
  check_embed(ctx, "0,3", 0, 1, 4, 1, "0,5", 3);
}

static void embed_refuses_what_does_not_fit(lac_context *ctx) {
  lac_tape *tape = NULL;
  lac_array *x = NULL;
  lac_meta like = {.dtype = LAC_F64, .ndim = 1, .shape = {4}};
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){3}, &x));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_embed(tape, lac_tape_leaf(tape, x), &like, -1, 0, 2, 1).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "does not fill the places 0 to 2");
  lac_tape_clear(tape);
  CHECK(!lac_embed(tape, lac_tape_leaf(tape, x), &like, -1, 2, 5, 1).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "of an axis of 4");
  lac_tape_clear(tape);
  CHECK(!lac_embed(tape, lac_tape_leaf(tape, x), NULL, -1, 0, 3, 1).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "embed: like is NULL");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void embed_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "embed", .shapes = {"350,500"}, .result = {"700,500"}, .i = {1, 1, 700, 2}, .apply = embed_apply};
  check_op_large(ctx, &c);
}

CHECK_MAIN(embed_takes_any_axis_and_step, embed_takes_what_is_empty, embed_refuses_what_does_not_fit,
           embed_does_not_depend_on_threads)

// SPDX-License-Identifier: Apache-2.0
/// The operator concat: its values, its refusals, its derivatives; many arrays at once.

#include "support/op_case.h"

static void concat_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_concat(tape, in[0], in[1], -1 - (int)setup->c->i[0]);
}

/// The number of an input at a place of z, whose place along the axis is another.
static number concat_at(const walk *w, const ref *x, int axis, int64_t place) {
  int64_t at = 0;
  int lead = w->ndim - x->meta.ndim;
  for (int d = 0; d < x->meta.ndim; ++d) {
    int64_t i = d + lead == axis ? place : x->meta.shape[d] == 1 ? 0 : w->at[d + lead];
    at = at * x->meta.shape[d] + i;
  }
  return x->x[at];
}

static void concat_dense(const op_case *c, const ref *in, ref *out) {
  int axis = out[0].meta.ndim - 1 - (int)c->i[0];
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    int64_t place = w.at[axis];
    int o = 0;
    while (place >= in[o].meta.shape[in[o].meta.ndim - 1 - c->i[0]])
      place -= in[o].meta.shape[in[o].meta.ndim - 1 - c->i[0]], ++o;
    *walk_item(&w, out, 0) = concat_at(&w, &in[o], axis, place);
  }
}

static void check_concat(lac_context *ctx, const char *x, const char *y, int axis, const char *z) {
  op_case c = {.op = "concat", .shapes = {x, y}, .result = {z}, .i = {axis}};
  c.apply = concat_apply, c.dense = concat_dense;
  check_op(ctx, &c);
}

static void concat_takes_any_axis(lac_context *ctx) {
  check_concat(ctx, "3", "2", 0, "5");
  check_concat(ctx, "2,3", "2,1", 0, "2,4");
  check_concat(ctx, "2,3", "4,3", 1, "6,3");
  check_concat(ctx, "2,1,3", "2,2,3", 1, "2,3,3");
  check_concat(ctx, "1,2,3", "2,2,3", 2, "3,2,3");
}

static void concat_broadcasts_axes_before(lac_context *ctx) {
  check_concat(ctx, "2,3", "2", 0, "2,5");
  check_concat(ctx, "1,3", "4,2", 0, "4,5");
  check_concat(ctx, "2,1,3,2", "3,1,2", 1, "2,3,4,2");
}

static void concat_takes_what_is_empty(lac_context *ctx) {
  check_concat(ctx, "2,0", "2,3", 0, "2,3");
  check_concat(ctx, "2,3", "2,0", 0, "2,3");
  check_concat(ctx, "0,3", "0,3", 1, "0,3");
  check_concat(ctx, "3,0", "1,0", 1, "4,0");
}

static void concat_refuses_what_does_not_fit(lac_context *ctx) {
  static const struct {
    int64_t x[2], y[2];
    int axis;
    const char *sentence;
  } cases[] = {{{2, 3}, {3, 3}, -1, "must agree but for axis -1"},
               {{2, 3}, {2, 1}, 0, "must agree but for axis -2"},
               {{2, 3}, {2, 3}, 2, "2 dimensions has no axis 2"},
               {{2, 3}, {2, 3}, -3, "2 dimensions has no axis -3"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    lac_tape *tape = NULL;
    lac_array *x = NULL, *y = NULL;
    CHECK_OK(lac_array_create(ctx, LAC_F64, 2, cases[i].x, &x));
    CHECK_OK(lac_array_create(ctx, LAC_F64, 2, cases[i].y, &y));
    CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
    CHECK(!lac_concat(tape, lac_tape_leaf(tape, x), lac_tape_leaf(tape, y), cases[i].axis).id);
    CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, cases[i].sentence);
    lac_tape_destroy(&tape);
    lac_array_destroy(&x), lac_array_destroy(&y);
  }
}

static void all_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_concat_all(tape, 5, in, -1 - (int)setup->c->i[0]);
}

static void concat_all_joins_many(lac_context *ctx) {
  op_case c = {.op = "concat", .shapes = {"2,3", "2,1", "2,0", "1,2", "2,2"}, .result = {"2,8"}};
  c.apply = all_apply, c.dense = concat_dense;
  check_op(ctx, &c);
}

static void concat_all_refuses_what_is_not_there(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_concat_all(tape, 0, NULL, -1).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "give at least one");
  lac_tape_clear(tape);
  CHECK(!lac_concat_all(tape, 1, (lac_var[]){{0}}, -1).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ABSENT, "is absent");
  lac_tape_clear(tape);
  lac_var single = lac_tape_scalar(tape, LAC_F64, 1, 0);
  CHECK(!lac_concat_all(tape, 1, &single, -1).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "no axis -1");
  lac_tape_destroy(&tape);
}

static void concat_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "concat", .shapes = {"300,200", "300,301"}, .result = {"300,501"}, .apply = concat_apply};
  check_op_large(ctx, &c);
}

/// Forward: z. Gradient: z, x_bar and y_bar.
static void concat_takes_its_results_alone(lac_context *ctx) {
  if (!check_claimed("concat")) return;
  op_case c = {.op = "concat", .shapes = {"300,200", "300,300"}, .result = {"300,500"}, .apply = concat_apply};
  check_op_peak(ctx, &c, LAC_F64, 300 * 500 * 8, 2 * 300 * 500 * 8);
}

CHECK_MAIN(concat_takes_any_axis, concat_broadcasts_axes_before, concat_takes_what_is_empty,
           concat_refuses_what_does_not_fit, concat_all_joins_many, concat_all_refuses_what_is_not_there,
           concat_does_not_depend_on_threads, concat_takes_its_results_alone)

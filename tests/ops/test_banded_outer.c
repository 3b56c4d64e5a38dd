// SPDX-License-Identifier: Apache-2.0
/// The operator banded_outer: its values, its corners, its derivatives.

#include "support/banded.h"
#include "support/op_case.h"

static void banded_outer_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_banded_outer(tape, setup->c->i[1], setup->c->i[2], in[0], in[1]);
}

static int64_t rows_of(const ref *x) { return x->meta.shape[x->meta.ndim - 2]; }

static void banded_outer_dense(const op_case *c, const ref *in, ref *out) {
  int64_t k = in[0].meta.shape[in[0].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense u = dense_over(rows_of(&in[0]), k, walk_item(&w, &in[0], 2));
    dense v = dense_over(rows_of(&in[1]), k, walk_item(&w, &in[1], 2));
    banded_of(dense_mul(u, dense_side(v, LAC_ADJOINT)), (bands){c->i[1], c->i[2]}, walk_item(&w, out, 2));
  }
}

static void check_banded_outer(lac_context *ctx, bands b, const char *u, const char *v, const char *s) {
  op_case c = {.op = "banded_outer", .i = {0, b.lower, b.upper}, .shapes = {u, v}, .result = {s}};
  c.apply = banded_outer_apply, c.dense = banded_outer_dense;
  c.degree[0] = c.degree[1] = 1;
  check_op(ctx, &c);
}

static void banded_outer_differentiates(lac_context *ctx) {
  check_banded_outer(ctx, (bands){2, 1}, "5,2", "5,2", "4,5");
  check_banded_outer(ctx, (bands){1, 1}, "5,1", "5,1", "3,5");
}

static void banded_outer_has_zeros_in_the_corners_of_any_shape(lac_context *ctx) {
  check_banded_outer(ctx, (bands){4, 3}, "3,2", "3,2", "8,3");
  check_banded_outer(ctx, (bands){1, 2}, "2,1", "6,1", "4,6");
  check_banded_outer(ctx, (bands){0, 0}, "6,3", "2,3", "1,2");
  check_banded_outer(ctx, (bands){1, 0}, "1,1", "1,1", "2,1");
}

static void banded_outer_takes_what_is_empty(lac_context *ctx) {
  check_banded_outer(ctx, (bands){1, 1}, "3,0", "3,0", "3,3");
  check_banded_outer(ctx, (bands){1, 1}, "0,2", "3,2", "3,3");
  check_banded_outer(ctx, (bands){1, 1}, "0,2", "0,2", "3,0");
}

static void banded_outer_broadcasts_batches(lac_context *ctx) {
  check_banded_outer(ctx, (bands){1, 1}, "2,4,2", "4,2", "2,3,4");
  check_banded_outer(ctx, (bands){0, 1}, "3,2", "2,1,3,2", "2,1,2,3");
}

static void banded_outer_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "banded_outer", .i = {0, 1, 2}, .shapes = {"20000,2", "20000,2"}, .result = {"4,20000"}};
  c.apply = banded_outer_apply;
  check_op_large(ctx, &c);
}

CHECK_MAIN(banded_outer_differentiates, banded_outer_has_zeros_in_the_corners_of_any_shape,
           banded_outer_takes_what_is_empty, banded_outer_broadcasts_batches, banded_outer_does_not_depend_on_threads)

// SPDX-License-Identifier: Apache-2.0
/// The operator gather_outer: its values, its refusals, its derivatives.

#include "support/groups.h"

static void outer_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_gather_outer(tape, setup->object, in[0], in[1]);
}

/// i[1], i[2]: the sizes of a matrix.
static void outer_dense(const op_case *c, const ref *in, ref *out) {
  int64_t d = c->i[1], e = c->i[2];
  for (walk w = walk_batch(out, 3); walk_next(&w);) {
    const number *u = walk_item(&w, &in[0], 2), *v = walk_item(&w, &in[1], 2);
    number *m = walk_item(&w, out, 3);
    for (int64_t i = 0; i < c->patterns[0]->nnz; ++i) {
      for (int64_t k = 0; k < d * e && group_of(c, i) >= 0; ++k) {
        m[group_of(c, i) * d * e + k] += conj(u[i * d + k / e]) * v[i * e + k % e];
      }
    }
  }
}

static op_case outer_case(const sketch *s, group_kind kind, int64_t d, int64_t e, const char *u, const char *v,
                          const char *w) {
  op_case c = {.op = "gather_outer", .patterns = {s}, .apply = outer_apply, .dense = outer_dense, .object = group_map};
  c.i[1] = d, c.i[2] = e, c.i[5] = kind;
  c.shapes[0] = op_text("%snnz,%lld", u, (long long)d), c.shapes[1] = op_text("%snnz,%lld", v, (long long)e);
  c.result[0] = op_text("%s%lld,%lld,%lld", w, (long long)group_count(&c), (long long)d, (long long)e);
  c.degree[0] = c.degree[1] = 1, c.fixed[0] = c.fixed[1] = 2;
  return c;
}

static void check_outer(lac_context *ctx, const sketch *s, group_kind kind, int64_t d, int64_t e, const char *u,
                        const char *v, const char *w) {
  op_case c = outer_case(s, kind, d, e, u, v, w);
  check_op(ctx, &c);
}

static void gather_outer_differentiates(lac_context *ctx) {
  const sketch *s = sketch_random(4, 3, 0.8, 1);
  check_outer(ctx, s, BY_ROW, 2, 3, "", "", "");
  check_outer(ctx, s, BY_COL, 5, 1, "", "", "");
  check_outer(ctx, s, MIXED, 1, 2, "", "", "");
}

static void gather_outer_broadcasts_batches_both_ways(lac_context *ctx) {
  const sketch *s = sketch_random(3, 3, 0.7, 2);
  check_outer(ctx, s, BY_COL, 2, 2, "2,", "", "2,");
  check_outer(ctx, s, MIXED, 1, 2, "2,1,", "2,", "2,2,");
}

static void gather_outer_takes_what_is_empty(lac_context *ctx) {
  check_outer(ctx, sketch_empty(3, 4), BY_ROW, 2, 3, "", "", "");
  check_outer(ctx, sketch_random(3, 3, 0.5, 3), BY_ROW, 0, 3, "", "", "");
  check_outer(ctx, sketch_random(3, 3, 0.5, 3), BY_ROW, 2, 3, "0,", "", "0,");
}

static void wide_matrices_are_cut_into_tiles(lac_context *ctx) {
  op_case c = outer_case(sketch_random(3, 5, 0.8, 4), BY_ROW, 5, 19, "", "", "");
  c.skip = OP_SECOND | OP_MEMORY;
  check_op(ctx, &c);
}

/// Many groups are cut by their rows, few by panels.
static void gather_outer_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = outer_case(sketch_random(90, 110, 0.1, 7), BY_COL, 9, 21, "", "", "");
  check_op_large(ctx, &c);
  c = outer_case(sketch_random(2, 300, 0.9, 7), BY_ROW, 9, 21, "", "", "");
  check_op_large(ctx, &c);
}

CHECK_MAIN(gather_outer_differentiates, gather_outer_broadcasts_batches_both_ways, gather_outer_takes_what_is_empty,
           wide_matrices_are_cut_into_tiles, gather_outer_does_not_depend_on_threads)

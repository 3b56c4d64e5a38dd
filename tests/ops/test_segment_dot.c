// SPDX-License-Identifier: Apache-2.0
/// The operator segment_dot: its values, its refusals, its derivatives.

#include "support/groups.h"

static void dot_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_segment_dot(tape, setup->object, in[0], in[1]);
}

static void dot_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    const number *u = walk_item(&w, &in[0], 1), *v = walk_item(&w, &in[1], 1);
    number *s = walk_item(&w, out, 1);
    for (int64_t e = 0; e < c->patterns[0]->nnz; ++e) {
      if (group_of(c, e) >= 0) s[group_of(c, e)] += u[e] * conj(v[e]);
    }
  }
}

static void check_dot(lac_context *ctx, const sketch *p, group_kind kind, const char *u, const char *v, const char *s) {
  op_case c = {.op = "segment_dot", .patterns = {p}, .apply = dot_apply, .dense = dot_dense, .object = group_map};
  c.i[5] = kind, c.shapes[0] = op_text("%snnz", u), c.shapes[1] = op_text("%snnz", v);
  c.result[0] = op_text("%s%lld", s, (long long)group_count(&c));
  c.degree[0] = c.degree[1] = 1, c.fixed[0] = c.fixed[1] = 1;
  check_op(ctx, &c);
}

static void segment_dot_differentiates(lac_context *ctx) {
  const sketch *s = sketch_random(6, 5, 0.5, 1);
  for (int kind = BY_ROW; kind <= MIXED; ++kind) check_dot(ctx, s, (group_kind)kind, "", "", "");
}

static void segment_dot_broadcasts_batches_both_ways(lac_context *ctx) {
  const sketch *s = sketch_random(4, 5, 0.5, 2);
  check_dot(ctx, s, BY_ROW, "3,", "", "3,");
  check_dot(ctx, s, BY_COL, "2,1,", "3,", "2,3,");
}

static void segment_dot_takes_what_is_empty(lac_context *ctx) {
  check_dot(ctx, sketch_empty(3, 4), BY_ROW, "", "", "");
  check_dot(ctx, sketch_empty(3, 0), BY_COL, "2,", "", "2,");
  check_dot(ctx, sketch_random(3, 4, 0.5, 3), BY_COL, "0,", "", "0,");
}

static void segment_dot_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "segment_dot", .patterns = {sketch_random(900, 1100, 0.07, 7)}, .apply = dot_apply};
  c.object = group_map, c.shapes[0] = c.shapes[1] = "nnz", c.result[0] = "900";
  check_op_large(ctx, &c);
  c.i[5] = BY_COL, c.shapes[0] = "3,nnz", c.result[0] = "3,1100";
  check_op_large(ctx, &c);
}

CHECK_MAIN(segment_dot_differentiates, segment_dot_broadcasts_batches_both_ways, segment_dot_takes_what_is_empty,
           segment_dot_does_not_depend_on_threads)

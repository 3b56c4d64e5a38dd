// SPDX-License-Identifier: Apache-2.0
/// The operator segment_scale: its values, its refusals, its derivatives; scale_rows and scale_cols, which are made of
/// it.

#include "support/groups.h"

static void scale_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_segment_scale(tape, setup->object, in[0], in[1]);
}

static void scale_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    const number *d = walk_item(&w, &in[0], 1), *a = walk_item(&w, &in[1], 1);
    number *y = walk_item(&w, out, 1);
    for (int64_t e = 0; e < c->patterns[0]->nnz; ++e) y[e] = group_of(c, e) < 0 ? 0 : d[group_of(c, e)] * a[e];
  }
}

static void check_scale(lac_context *ctx, const sketch *s, group_kind kind, const char *d, const char *a,
                        const char *y) {
  op_case c = {.op = "segment_scale", .patterns = {s}, .apply = scale_apply, .dense = scale_dense};
  c.object = group_map, c.i[5] = kind;
  c.shapes[0] = op_text("%s%lld", d, (long long)group_count(&c));
  c.shapes[1] = op_text("%snnz", a), c.result[0] = op_text("%snnz", y);
  c.degree[0] = c.degree[1] = 1, c.fixed[0] = c.fixed[1] = 1;
  check_op(ctx, &c);
}

static void segment_scale_differentiates(lac_context *ctx) {
  const sketch *s = sketch_random(6, 5, 0.5, 1);
  for (int kind = BY_ROW; kind <= MIXED; ++kind) check_scale(ctx, s, (group_kind)kind, "", "", "");
}

static void segment_scale_broadcasts_batches_both_ways(lac_context *ctx) {
  const sketch *s = sketch_random(4, 5, 0.5, 2);
  check_scale(ctx, s, BY_ROW, "3,", "", "3,");
  check_scale(ctx, s, BY_COL, "", "3,", "3,");
  check_scale(ctx, s, MIXED, "2,1,", "3,", "2,3,");
}

static void segment_scale_takes_what_is_empty(lac_context *ctx) {
  check_scale(ctx, sketch_empty(3, 4), BY_ROW, "", "", "");
  check_scale(ctx, sketch_empty(0, 4), BY_COL, "2,", "", "2,");
  check_scale(ctx, sketch_random(3, 4, 0.5, 3), BY_COL, "0,", "", "0,");
  check_scale(ctx, sketch_square(1, 1, 3), BY_COL, "", "", "");
}

static void segment_scale_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "segment_scale", .patterns = {sketch_random(900, 1100, 0.07, 7)}, .apply = scale_apply};
  c.object = group_map, c.shapes[0] = "900", c.shapes[1] = "nnz", c.result[0] = "nnz";
  check_op_large(ctx, &c);
  c.i[5] = BY_COL, c.shapes[0] = "3,1100", c.result[0] = "3,nnz";
  check_op_large(ctx, &c);
}

/// Forward: y. Gradient: y, a_bar and d_bar, and nothing else of the length of y.
static void segment_scale_takes_its_results_alone(lac_context *ctx) {
  if (!check_claimed("segment_scale")) return;
  op_case c = {.op = "segment_scale", .patterns = {sketch_random(900, 1100, 0.03, 7)}, .apply = scale_apply};
  c.object = group_map, c.shapes[0] = "900", c.shapes[1] = "nnz", c.result[0] = "nnz";
  int64_t y = 8 * c.patterns[0]->nnz;
  check_op_peak(ctx, &c, LAC_F64, y, 2 * y + 8 * 900);
}

// -- rows and columns ------------------------------------------------------------------------------------------------

static void lines_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = setup->c->i[5] == BY_ROW ? lac_scale_rows(tape, setup->patterns[0], in[1], in[0])
                                    : lac_scale_cols(tape, setup->patterns[0], in[1], in[0]);
}

static void rows_and_columns_are_scaled(lac_context *ctx) {
  op_case c = {.op = "segment_scale", .patterns = {sketch_random(4, 6, 0.5, 4)}, .dense = scale_dense};
  c.apply = lines_apply, c.shapes[0] = "4", c.shapes[1] = "nnz", c.result[0] = "nnz", c.fixed[0] = c.fixed[1] = 1;
  check_op(ctx, &c);
  c.i[5] = BY_COL, c.shapes[0] = "2,6", c.result[0] = "2,nnz";
  check_op(ctx, &c);
}

CHECK_MAIN(segment_scale_differentiates, segment_scale_broadcasts_batches_both_ways, segment_scale_takes_what_is_empty,
           segment_scale_does_not_depend_on_threads, segment_scale_takes_its_results_alone, rows_and_columns_are_scaled)

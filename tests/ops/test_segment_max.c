// SPDX-License-Identifier: Apache-2.0
/// The operator segment_max: its values, its edges, its derivatives; sparse_max, which is made of it.

#include <math.h>

#include "support/groups.h"

static void max_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_segment_max(tape, setup->object, in[0], setup->c->i[0], (lac_extreme)setup->c->i[1]);
}

static void max_dense(const op_case *c, const ref *in, ref *out) {
  int64_t groups = group_count(c), nnz = c->patterns[0]->nnz;
  double sign = c->i[1] == LAC_EXTREME_LARGEST ? 1 : -1;
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    const number *x = walk_item(&w, in, 1);
    number *y = walk_item(&w, out, 1);
    for (int64_t j = 0; j < groups; ++j) {
      int64_t count = 0;
      double most = -INFINITY;
      for (int64_t e = 0; e < nnz; ++e) {
        if (group_of(c, e) == j) most = fmax(most, sign * creal(x[e])), ++count;
      }
      y[j] = sign * (count < c->i[0] ? fmax(most, 0) : most);
    }
  }
}

/// Different numbers, none of them close to another or to zero.
static void max_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] = (double)(i * 37 % 101 - 50) / 4 + 0.125;
}

static op_case max_case(const sketch *s, group_kind kind, lac_extreme extreme, int64_t full, const char *batch) {
  op_case c = {.op = "segment_max", .patterns = {s}, .apply = max_apply, .dense = max_dense, .fill = max_fill};
  c.object = group_map, c.i[0] = full, c.i[1] = extreme, c.i[5] = kind, c.fixed[0] = 1, c.dtypes = OP_REAL;
  c.degree[0] = 1, c.shapes[0] = op_text("%snnz", batch);
  c.result[0] = op_text("%s%lld", batch, (long long)group_count(&c));
  return c;
}

static void check_max(lac_context *ctx, const sketch *s, group_kind kind, lac_extreme extreme, int64_t full,
                      const char *batch) {
  op_case c = max_case(s, kind, extreme, full, batch);
  check_op(ctx, &c);
}

static void segment_max_differentiates(lac_context *ctx) {
  check_max(ctx, sketch_square(5, 0.4, 1), BY_ROW, LAC_EXTREME_LARGEST, 0, "");
  check_max(ctx, sketch_square(5, 0.4, 1), BY_COL, LAC_EXTREME_SMALLEST, 0, "2,");
}

static void implicit_zeros_take_part(lac_context *ctx) {
  const sketch *s = sketch_random(6, 5, 0.5, 1);
  check_max(ctx, s, BY_ROW, LAC_EXTREME_SMALLEST, 5, "");
  check_max(ctx, s, BY_COL, LAC_EXTREME_LARGEST, 6, "2,");
  check_max(ctx, s, MIXED, LAC_EXTREME_LARGEST, 30, "");
}

static void segment_max_takes_what_is_empty(lac_context *ctx) {
  check_max(ctx, sketch_empty(3, 4), BY_ROW, LAC_EXTREME_LARGEST, 4, "");
  check_max(ctx, sketch_empty(0, 4), BY_ROW, LAC_EXTREME_LARGEST, 4, "");
  check_max(ctx, sketch_random(3, 4, 0.5, 1), BY_ROW, LAC_EXTREME_LARGEST, 4, "0,");
}

static void segment_max_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = max_case(sketch_random(900, 1100, 0.07, 7), BY_ROW, LAC_EXTREME_LARGEST, 1100, "");
  check_op_large(ctx, &c);
  c = max_case(sketch_random(900, 1100, 0.07, 7), BY_COL, LAC_EXTREME_SMALLEST, 900, "2,");
  check_op_large(ctx, &c);
}

static lac_var largest(lac_tape *tape, const lac_map *map, lac_var x, int64_t full) {
  return lac_segment_max(tape, map, x, full, LAC_EXTREME_LARGEST);
}

static lac_var smallest(lac_tape *tape, const lac_map *map, lac_var x, int64_t full) {
  return lac_segment_max(tape, map, x, full, LAC_EXTREME_SMALLEST);
}

static void ties_share_and_nothing_is_infinite(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  static const int64_t target[] = {0, 0, 0, 1, 1, 3};
  const double x[6] = {2, 1, 2, -1, 0, NAN};
  double y[4], x_bar[6];
  CHECK_OK(group_probe(ctx, largest, 6, target, 4, 0, x, y, x_bar));
  CHECK(y[0] == 2 && y[1] == 0 && y[2] == -INFINITY && isnan(y[3]));
  CHECK(x_bar[0] == 0.5 && x_bar[1] == 0 && x_bar[2] == 0.5 && x_bar[3] == 0 && x_bar[4] == 1);
  CHECK_OK(group_probe(ctx, smallest, 6, target, 4, 0, x, y, x_bar));
  CHECK(y[0] == 1 && y[1] == -1 && y[2] == INFINITY && isnan(y[3]));
  CHECK_OK(group_probe(ctx, largest, 6, target, 4, 4, x, y, x_bar));
  CHECK(y[0] == 2 && y[1] == 0 && y[2] == 0);
  CHECK_NEAR(x_bar[4], 1.0 / 3, 1e-15);  // two zeros that are not stored tie with it
}

// -- lines of a matrix -----------------------------------------------------------------------------------------------

static void lines_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const op_case *c = setup->c;
  out[0] = lac_sparse_max(tape, setup->patterns[0], in[0], c->i[5] == BY_ROW ? LAC_LINES_ROWS : LAC_LINES_COLS,
                          c->i[0] ? LAC_ABSENT_IS_ZERO : LAC_ABSENT_IS_NOTHING, (lac_extreme)c->i[1]);
}

static void rows_and_columns_have_extremes(lac_context *ctx) {
  op_case c = max_case(sketch_random(4, 6, 0.5, 5), BY_ROW, LAC_EXTREME_LARGEST, 6, "");
  c.apply = lines_apply, c.object = NULL;
  check_op(ctx, &c);
  c = max_case(sketch_square(5, 0.5, 5), BY_COL, LAC_EXTREME_SMALLEST, 0, "");
  c.apply = lines_apply, c.object = NULL;
  check_op(ctx, &c);
}

CHECK_MAIN(segment_max_differentiates, implicit_zeros_take_part, segment_max_takes_what_is_empty,
           segment_max_does_not_depend_on_threads, ties_share_and_nothing_is_infinite, rows_and_columns_have_extremes)

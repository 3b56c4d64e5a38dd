// SPDX-License-Identifier: Apache-2.0
/// The operator segment_ties: its values, and its derivatives, which are zero.

#include <math.h>

#include "support/groups.h"

static void ties_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_segment_ties(tape, setup->object, in[0], setup->c->i[0], (lac_extreme)setup->c->i[1]);
}

/// By comparing all with all.
static void ties_dense(const op_case *c, const ref *in, ref *out) {
  int64_t nnz = c->patterns[0]->nnz;
  double sign = c->i[1] == LAC_EXTREME_LARGEST ? 1 : -1;
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    const number *x = walk_item(&w, in, 1);
    number *y = walk_item(&w, out, 1);
    for (int64_t e = 0; e < nnz; ++e) {
      int64_t better = 0, equal = 0, zeros = c->i[0];
      for (int64_t f = 0; f < nnz; ++f) {
        if (group_of(c, f) != group_of(c, e)) continue;
        better += sign * creal(x[f]) > sign * creal(x[e]);
        equal += creal(x[f]) == creal(x[e]);
        --zeros;
      }
      if (zeros > 0) better += sign * creal(x[e]) < 0;
      y[e] = better || group_of(c, e) < 0 ? 0 : 1.0 / (double)equal;
    }
  }
}

/// Different numbers, none of them close to another or to zero.
static void ties_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] = (double)(i * 37 % 101 - 50) / 4 + 0.125;
}

static void check_ties(lac_context *ctx, const sketch *s, group_kind kind, lac_extreme extreme, int64_t full,
                       const char *batch) {
  op_case c = {.op = "segment_ties", .patterns = {s}, .apply = ties_apply, .dense = ties_dense, .fill = ties_fill};
  c.object = group_map, c.i[0] = full, c.i[1] = extreme, c.i[5] = kind, c.fixed[0] = 1, c.dtypes = OP_REAL;
  c.shapes[0] = c.result[0] = op_text("%snnz", batch);
  check_op(ctx, &c);
}

static void segment_ties_has_zero_derivatives(lac_context *ctx) {
  const sketch *s = sketch_random(6, 5, 0.5, 1);
  check_ties(ctx, s, BY_ROW, LAC_EXTREME_LARGEST, 0, "");
  check_ties(ctx, s, BY_COL, LAC_EXTREME_SMALLEST, 6, "2,");
  check_ties(ctx, s, MIXED, LAC_EXTREME_LARGEST, 0, "");
  check_ties(ctx, sketch_empty(3, 4), BY_ROW, LAC_EXTREME_LARGEST, 0, "");
}

static lac_var largest(lac_tape *tape, const lac_map *map, lac_var x, int64_t full) {
  return lac_segment_ties(tape, map, x, full, LAC_EXTREME_LARGEST);
}

static void shares_are_even(lac_context *ctx) {
  if (!check_claimed("segment_ties")) return;
  static const int64_t target[] = {0, 0, 0, 1, 1};
  double w[5];
  CHECK_OK(group_probe(ctx, largest, 5, target, 2, 0, (const double[]){2, 2, 1, -INFINITY, -INFINITY}, w, NULL));
  CHECK(w[0] == 0.5 && w[1] == 0.5 && w[2] == 0 && w[3] == 0.5 && w[4] == 0.5);
}

CHECK_MAIN(segment_ties_has_zero_derivatives, shares_are_even)

// SPDX-License-Identifier: Apache-2.0
/// The operator segment_softmax: its values, its edges, its derivatives; sparse_softmax, which is made of it.

#include <math.h>

#include "support/groups.h"
#include "support/scratch.h"

static void softmax_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_segment_softmax(tape, setup->object, in[0], setup->c->i[0]);
}

/// The plain formula: numbers are small.
static void softmax_dense(const op_case *c, const ref *in, ref *out) {
  int64_t groups = group_count(c), nnz = c->patterns[0]->nnz;
  double *sum = scratch((size_t)groups * sizeof *sum + 1);
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    const number *x = walk_item(&w, in, 1);
    number *p = walk_item(&w, out, 1);
    for (int64_t j = 0; j < groups; ++j) sum[j] = (double)c->i[0];
    for (int64_t e = 0; e < nnz; ++e) {
      if (group_of(c, e) >= 0) sum[group_of(c, e)] += exp(creal(x[e])) - (c->i[0] ? 1 : 0);
    }
    for (int64_t e = 0; e < nnz; ++e) p[e] = group_of(c, e) < 0 ? 0 : exp(creal(x[e])) / sum[group_of(c, e)];
  }
}

static op_case softmax_case(const sketch *s, group_kind kind, int64_t full, const char *batch) {
  op_case c = {.op = "segment_softmax", .patterns = {s}, .apply = softmax_apply, .dense = softmax_dense};
  c.object = group_map, c.i[0] = full, c.i[5] = kind, c.fixed[0] = 1, c.dtypes = OP_REAL;
  c.shapes[0] = c.result[0] = op_text("%snnz", batch);
  return c;
}

static void check_softmax(lac_context *ctx, const sketch *s, group_kind kind, int64_t full, const char *batch) {
  op_case c = softmax_case(s, kind, full, batch);
  check_op(ctx, &c);
}

static void segment_softmax_differentiates(lac_context *ctx) {
  const sketch *s = sketch_random(6, 5, 0.5, 1);
  for (int kind = BY_ROW; kind <= MIXED; ++kind) check_softmax(ctx, s, (group_kind)kind, 0, "");
  check_softmax(ctx, s, BY_COL, 0, "2,");
}

static void implicit_zeros_take_part(lac_context *ctx) {
  const sketch *s = sketch_random(6, 5, 0.5, 1);
  check_softmax(ctx, s, BY_ROW, 5, "");
  check_softmax(ctx, s, BY_COL, 6, "2,");
}

static void segment_softmax_takes_what_is_empty(lac_context *ctx) {
  check_softmax(ctx, sketch_empty(3, 4), BY_ROW, 0, "");
  check_softmax(ctx, sketch_empty(0, 4), BY_COL, 0, "");
  check_softmax(ctx, sketch_random(3, 4, 0.5, 1), BY_ROW, 4, "0,");
  check_softmax(ctx, sketch_square(1, 1, 1), BY_COL, 0, "");
}

static void segment_softmax_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = softmax_case(sketch_random(900, 1100, 0.07, 7), BY_ROW, 0, "");
  check_op_large(ctx, &c);
  c = softmax_case(sketch_random(900, 1100, 0.07, 7), BY_COL, 900, "2,");
  check_op_large(ctx, &c);
}

static void edges_are_weights(lac_context *ctx) {
  if (!check_claimed("segment_softmax")) return;
  static const int64_t target[] = {0, 0, 1, 1, 2, 2, -1, 3, 3, 3};
  const double x[10] = {-INFINITY, -INFINITY, 1000, -1000, 1, NAN, 3, INFINITY, 7, INFINITY};
  double p[10];
  CHECK_OK(group_probe(ctx, lac_segment_softmax, 10, target, 4, 0, x, p, NULL));
  CHECK(p[0] == 0 && p[1] == 0);  // no mass
  CHECK(p[2] == 1 && p[3] == 0);
  CHECK(isnan(p[4]) && isnan(p[5]));
  CHECK(p[6] == 0);
  CHECK(p[7] == 0.5 && p[8] == 0 && p[9] == 0.5);  // as in softmax
}

// -- lines of a matrix -----------------------------------------------------------------------------------------------

static void lines_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const op_case *c = setup->c;
  out[0] = lac_sparse_softmax(tape, setup->patterns[0], in[0], c->i[5] == BY_ROW ? LAC_LINES_ROWS : LAC_LINES_COLS,
                              c->i[0] ? LAC_ABSENT_IS_ZERO : LAC_ABSENT_IS_NOTHING);
}

static void rows_and_columns_have_weights(lac_context *ctx) {
  const sketch *s = sketch_random(4, 6, 0.5, 5);
  const int64_t full[] = {0, 6, 0, 4};
  for (int i = 0; i < 4; ++i) {
    op_case c = softmax_case(s, i < 2 ? BY_ROW : BY_COL, full[i], "");
    c.apply = lines_apply, c.object = NULL;
    check_op(ctx, &c);
  }
}

static void lines_refuse_words_that_are_none(lac_context *ctx) {
  lac_pattern *p = NULL;
  lac_tape *tape = NULL;
  CHECK_OK(lac_pattern_eye(ctx, 2, 2, 0, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  (void)lac_sparse_softmax(tape, p, (lac_var){0}, (lac_lines)7, LAC_ABSENT_IS_ZERO);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "sparse_softmax: lines are");
  lac_tape_clear(tape);
  (void)lac_sparse_logsumexp(tape, p, (lac_var){0}, LAC_LINES_ROWS, (lac_absent)9);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "sparse_logsumexp: absent is");
  lac_tape_destroy(&tape);
  lac_pattern_destroy(&p);
}

CHECK_MAIN(segment_softmax_differentiates, implicit_zeros_take_part, segment_softmax_takes_what_is_empty,
           segment_softmax_does_not_depend_on_threads, edges_are_weights, rows_and_columns_have_weights,
           lines_refuse_words_that_are_none)

// SPDX-License-Identifier: Apache-2.0
/// The operator segment_logsumexp: its values, its edges, its derivatives; sparse_logsumexp, which is made of it.

#include <math.h>

#include "support/groups.h"

static void lse_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_segment_logsumexp(tape, setup->object, in[0], setup->c->i[0]);
}

/// The plain formula: numbers are small.
static void lse_dense(const op_case *c, const ref *in, ref *out) {
  int64_t groups = group_count(c);
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    const number *x = walk_item(&w, in, 1);
    number *y = walk_item(&w, out, 1);
    for (int64_t j = 0; j < groups; ++j) y[j] = (double)c->i[0];
    for (int64_t e = 0; e < c->patterns[0]->nnz; ++e) {
      if (group_of(c, e) >= 0) y[group_of(c, e)] += exp(creal(x[e])) - (c->i[0] ? 1 : 0);
    }
    for (int64_t j = 0; j < groups; ++j) y[j] = log(creal(y[j]));
  }
}

static op_case lse_case(const sketch *s, group_kind kind, int64_t full, const char *batch) {
  op_case c = {.op = "segment_logsumexp", .patterns = {s}, .apply = lse_apply, .dense = lse_dense, .dtypes = OP_REAL};
  c.object = group_map, c.i[0] = full, c.i[5] = kind, c.fixed[0] = 1;
  c.shapes[0] = op_text("%snnz", batch), c.result[0] = op_text("%s%lld", batch, (long long)group_count(&c));
  return c;
}

static void check_lse(lac_context *ctx, const sketch *s, group_kind kind, int64_t full, const char *batch) {
  op_case c = lse_case(s, kind, full, batch);
  check_op(ctx, &c);
}

static void segment_logsumexp_differentiates(lac_context *ctx) {
  check_lse(ctx, sketch_square(5, 0.4, 1), BY_ROW, 0, "");
  check_lse(ctx, sketch_square(5, 0.4, 1), BY_COL, 0, "");
  check_lse(ctx, sketch_square(4, 0.4, 2), BY_COL, 0, "2,");
}

static void implicit_zeros_take_part(lac_context *ctx) {
  const sketch *s = sketch_random(6, 5, 0.5, 1);
  check_lse(ctx, s, BY_ROW, 5, "");
  check_lse(ctx, s, BY_COL, 6, "3,");
  check_lse(ctx, s, MIXED, 20, "");
}

static void segment_logsumexp_takes_what_is_empty(lac_context *ctx) {
  check_lse(ctx, sketch_empty(3, 4), BY_ROW, 4, "");
  check_lse(ctx, sketch_empty(0, 4), BY_ROW, 4, "");
  check_lse(ctx, sketch_random(3, 4, 0.5, 1), BY_ROW, 4, "0,");
  check_lse(ctx, sketch_square(1, 1, 1), BY_COL, 0, "");
}

static void segment_logsumexp_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = lse_case(sketch_random(900, 1100, 0.07, 7), BY_ROW, 1100, "");
  check_op_large(ctx, &c);
  c = lse_case(sketch_random(900, 1100, 0.07, 7), BY_COL, 900, "2,");
  check_op_large(ctx, &c);
}

/// Sorted and mixed targets of the same groups: both loops.
static void edges_are_those_of_the_plain_formula(lac_context *ctx) {
  if (!check_claimed("segment_logsumexp")) return;
  static const int64_t targets[2][7] = {{0, 0, 1, 1, 2, 2, 4}, {2, 0, 1, 4, 0, 1, 2}};
  static const int64_t places[2][7] = {{0, 1, 2, 3, 4, 5, 6}, {4, 0, 2, 6, 1, 3, 5}};
  static const double numbers[7] = {-INFINITY, -INFINITY, INFINITY, 1, 1000, 1000, NAN};
  for (int t = 0; t < 2; ++t) {
    double x[7], y[5], x_bar[7];
    for (int i = 0; i < 7; ++i) x[i] = numbers[places[t][i]];
    CHECK_OK(group_probe(ctx, lac_segment_logsumexp, 7, targets[t], 5, 0, x, y, x_bar));
    CHECK(y[0] == -INFINITY);  // no mass
    CHECK(y[1] == INFINITY);
    CHECK_NEAR(y[2], 1000 + log(2), 1e-15);  // exp(1000) is beyond doubles
    CHECK(y[3] == -INFINITY);                // nothing
    CHECK(isnan(y[4]));
    for (int i = 0; i < 7; ++i) {
      if (targets[t][i] == 0) CHECK(x_bar[i] == 0);
      if (targets[t][i] == 2) CHECK_NEAR(x_bar[i], 0.5, 1e-15);
    }
    CHECK_OK(group_probe(ctx, lac_segment_logsumexp, 7, targets[t], 5, 4, x, y, x_bar));
    CHECK_NEAR(y[0], log(2), 1e-15);  // two zeros remain
    CHECK_NEAR(y[2], 1000 + log(2), 1e-15);
    CHECK_NEAR(y[3], log(4), 1e-15);
  }
}

static void tiny_and_huge_numbers_do_not_overflow(lac_context *ctx) {
  if (!check_claimed("segment_logsumexp")) return;
  double y[2], x_bar[3], x[3] = {-1e308, 1e308, -1e308};
  CHECK_OK(group_probe(ctx, lac_segment_logsumexp, 3, (const int64_t[]){0, 0, 1}, 2, 0, x, y, x_bar));
  CHECK_NEAR(y[0], 1e308, 0);
  CHECK_NEAR(y[1], -1e308, 0);
  CHECK(x_bar[0] == 0 && x_bar[1] == 1 && x_bar[2] == 1);
}

static void a_group_longer_than_its_length_is_refused(lac_context *ctx) {
  if (!check_claimed("segment_logsumexp")) return;
  double x[3] = {1, 2, 3}, y[1], x_bar[3];
  CHECK_FAILS(group_probe(ctx, lac_segment_logsumexp, 3, (const int64_t[]){0, 0, 0}, 1, 2, x, y, x_bar), LAC_ERR_ARG,
              "group 0 has 3 entries, more than its full length of 2");
  CHECK_FAILS(group_probe(ctx, lac_segment_logsumexp, 3, (const int64_t[]){0, 0, 0}, 1, -1, x, y, x_bar), LAC_ERR_ARG,
              "groups of -1 numbers");
}

// -- lines of a matrix -----------------------------------------------------------------------------------------------

static void bidir_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_var both[2];
  lac_sparse_bidir_logsumexp(tape, setup->patterns[0], in[0], LAC_ABSENT_IS_ZERO, both);
  out[0] = both[setup->c->i[5] == BY_ROW];
}

/// Columns first, each equal to the dense matrix's.
static void both_directions_equal_the_dense_matrix(lac_context *ctx) {
  const sketch *s = sketch_random(4, 6, 0.5, 5);
  op_case c = lse_case(s, BY_ROW, 6, "");
  c.apply = bidir_apply, c.object = NULL;
  check_op(ctx, &c);
  c = lse_case(s, BY_COL, 4, "2,");
  c.apply = bidir_apply, c.object = NULL;
  check_op(ctx, &c);
}

static void unknown_lines_and_absences_are_refused(lac_context *ctx) {
  lac_pattern *p = NULL;
  lac_tape *tape = NULL;
  lac_array *a = NULL;
  CHECK_OK(lac_pattern_eye(ctx, 2, 2, 0, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){2}, &a));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  (void)lac_sparse_logsumexp(tape, p, lac_tape_leaf(tape, a), (lac_lines)2, LAC_ABSENT_IS_ZERO);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG,
              "sparse_logsumexp: lines are LAC_LINES_ROWS or LAC_LINES_COLS, not 2");
  lac_tape_clear(tape);
  (void)lac_sparse_softmax(tape, p, lac_tape_leaf(tape, a), LAC_LINES_ROWS, (lac_absent)7);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "sparse_softmax: absent is LAC_ABSENT_IS_ZERO or");
  lac_tape_destroy(&tape);
  lac_array_destroy(&a);
  lac_pattern_destroy(&p);
}

CHECK_MAIN(segment_logsumexp_differentiates, implicit_zeros_take_part, segment_logsumexp_takes_what_is_empty,
           segment_logsumexp_does_not_depend_on_threads, edges_are_those_of_the_plain_formula,
           tiny_and_huge_numbers_do_not_overflow, a_group_longer_than_its_length_is_refused,
           both_directions_equal_the_dense_matrix, unknown_lines_and_absences_are_refused)

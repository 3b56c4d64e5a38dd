// SPDX-License-Identifier: Apache-2.0
/// The operator sampled_spgemm: its values, its refusals, its derivatives.

#include "support/op_case.h"

enum { TARGET, X, Y };  // patterns

static void sampled_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const int64_t *i = setup->c->i;
  lac_pattern *const *p = setup->patterns;
  out[0] = lac_sampled_spgemm(tape, p[TARGET], p[X], in[0], p[Y], in[1], (lac_form)i[0], (lac_form)i[1]);
}

static void sampled_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *s = c->patterns[TARGET];
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    dense x = dense_side(dense_matrix(c->patterns[X], walk_item(&w, &in[0], 1)), (lac_form)c->i[0]);
    dense y = dense_side(dense_matrix(c->patterns[Y], walk_item(&w, &in[1], 1)), (lac_form)c->i[1]);
    dense product = dense_mul(x, y);
    number *values = walk_item(&w, out, 1);
    for (int64_t z = 0; z < s->nnz; ++z) values[z] = product.x[s->row[z] * s->cols + s->col[z]];
  }
}

static op_case sampled_case(const sketch *target, const sketch *x, lac_form sx, const sketch *y, lac_form sy) {
  return (op_case){.op = "sampled_spgemm",
                   .patterns = {target, x, y},
                   .shapes = {"nnz1", "nnz2"},
                   .result = {"nnz"},
                   .i = {sx, sy},
                   .apply = sampled_apply,
                   .dense = sampled_dense,
                   .degree = {1, 1},
                   .fixed = {1, 1}};
}

/// op(X) is 4 x 3 and op(Y) is 3 x 5; the target has entries that the product lacks, and lacks some that it has.
static void sampled_spgemm_differentiates_on_all_sides(lac_context *ctx) {
  const sketch *target = sketch_random(4, 5, 0.5, 1), *x = sketch_random(4, 3, 0.6, 2),
               *y = sketch_random(3, 5, 0.6, 3);
  for (int sx = LAC_PLAIN; sx <= LAC_ADJOINT; ++sx) {
    for (int sy = LAC_PLAIN; sy <= LAC_ADJOINT; ++sy) {
      op_case c = sampled_case(target, sx & LAC_TRANSPOSED ? sketch_transpose(x) : x, (lac_form)sx,
                               sy & LAC_TRANSPOSED ? sketch_transpose(y) : y, (lac_form)sy);
      check_op(ctx, &c);
    }
  }
}

static void sampled_spgemm_broadcasts_batches_both_ways(lac_context *ctx) {
  const sketch *target = sketch_random(3, 3, 0.7, 1), *x = sketch_random(3, 4, 0.5, 5),
               *y = sketch_random(4, 3, 0.5, 6);
  op_case c = sampled_case(target, x, LAC_PLAIN, y, LAC_PLAIN);
  c.shapes[0] = "3,nnz1", c.result[0] = "3,nnz";
  check_op(ctx, &c);
  c.shapes[0] = "nnz1", c.shapes[1] = "3,nnz2";
  check_op(ctx, &c);
  c.shapes[0] = "2,1,nnz1", c.shapes[1] = "2,nnz2", c.result[0] = "2,2,nnz";
  check_op(ctx, &c);
}

static void sampled_spgemm_takes_what_is_empty(lac_context *ctx) {
  const sketch *x = sketch_random(3, 4, 0.5, 5), *y = sketch_random(4, 3, 0.5, 6);
  op_case no_target = sampled_case(sketch_empty(3, 3), x, LAC_PLAIN, y, LAC_PLAIN);
  op_case no_x = sampled_case(sketch_square(3, 0.5, 1), sketch_empty(3, 4), LAC_PLAIN, y, LAC_PLAIN);
  op_case nothing_between =
      sampled_case(sketch_square(3, 0.5, 1), sketch_empty(0, 3), LAC_ADJOINT, sketch_empty(0, 3), LAC_PLAIN);
  check_op(ctx, &no_target);
  check_op(ctx, &no_x);
  check_op(ctx, &nothing_between);
}

static void sampled_spgemm_takes_a_single_entry(lac_context *ctx) {
  const sketch *one = sketch_square(1, 1, 1);
  op_case c = sampled_case(one, one, LAC_ADJOINT, one, LAC_TRANSPOSED);
  check_op(ctx, &c);
}

static void sampled_spgemm_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = sampled_case(sketch_random(300, 280, 0.05, 9), sketch_random(250, 300, 0.05, 7), LAC_ADJOINT,
                           sketch_random(250, 280, 0.05, 8), LAC_PLAIN);
  check_op_large(ctx, &c);
}

/// Forward: t. Gradient: t, x_bar and y_bar.
static void sampled_spgemm_takes_its_results_alone(lac_context *ctx) {
  if (!check_claimed("sampled_spgemm")) return;
  op_case c = sampled_case(sketch_random(300, 280, 0.05, 9), sketch_random(300, 250, 0.05, 7), LAC_PLAIN,
                           sketch_random(250, 280, 0.05, 8), LAC_PLAIN);
  int64_t t = 8 * c.patterns[TARGET]->nnz, x_bar = 8 * c.patterns[X]->nnz, y_bar = 8 * c.patterns[Y]->nnz;
  check_op_peak(ctx, &c, LAC_F64, t, t + x_bar + y_bar);
}

CHECK_MAIN(sampled_spgemm_differentiates_on_all_sides, sampled_spgemm_broadcasts_batches_both_ways,
           sampled_spgemm_takes_what_is_empty, sampled_spgemm_takes_a_single_entry,
           sampled_spgemm_does_not_depend_on_threads, sampled_spgemm_takes_its_results_alone)

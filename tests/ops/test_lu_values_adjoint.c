// SPDX-License-Identifier: Apache-2.0
/// The operator lu_values_adjoint: its values, its refusals, its derivatives, which are the second and third of
/// lu_values.

#include "support/elimination.h"

static void adjoint_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_lu_values_adjoint(tape, setup->patterns[0], in[0], in[1]);
}

/// c_bar_p = sum_q conj(d lu_q / d c_p) lu_bar_q, one column of the derivative after another.
static void adjoint_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *s = c->patterns[0];
  size_t bytes = (size_t)(s->nnz + 1) * sizeof(number);
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    const number *values = walk_item(&w, &in[0], 1), *bar = walk_item(&w, &in[1], 1);
    number *c_bar = walk_item(&w, out, 1);
    for (int64_t p = 0; p < s->nnz; ++p) {
      size_t mark = scratch_mark();
      number *lu = scratch(bytes), *m = scratch(bytes);
      memcpy(lu, values, bytes - sizeof(number));
      m[p] = 1;
      eliminate(s, lu, m);
      for (int64_t q = 0; q < s->nnz; ++q) c_bar[p] += conj(m[q]) * bar[q];
      scratch_release(mark);
    }
  }
}

static op_case adjoint_case(const sketch *s, const char *c, const char *bar, const char *result) {
  op_case made = {.op = "lu_values_adjoint", .patterns = {s}, .shapes = {c, bar}, .result = {result}, .slack = 16};
  made.apply = adjoint_apply, made.dense = adjoint_dense, made.fill = eliminate_fill;
  made.fixed[0] = made.fixed[1] = 1, made.degree[1] = 1;
  return made;
}

static void check_adjoint(lac_context *ctx, const sketch *s, const char *c, const char *bar, const char *result) {
  op_case made = adjoint_case(s, c, bar, result);
  check_op(ctx, &made);
}

static void lu_values_adjoint_differentiates(lac_context *ctx) {
  check_adjoint(ctx, sketch_closed(sketch_square(4, 0.4, 1)), "nnz", "nnz", "nnz");
  check_adjoint(ctx, sketch_square(5, 0.3, 2), "nnz", "nnz", "nnz");
}

static void lu_values_adjoint_broadcasts_batches_both_ways(lac_context *ctx) {
  const sketch *s = sketch_square(4, 0.3, 2);
  check_adjoint(ctx, s, "nnz", "2,nnz", "2,nnz");
  check_adjoint(ctx, s, "2,1,nnz", "2,nnz", "2,2,nnz");
}

static void lu_values_adjoint_takes_small_and_empty_matrices(lac_context *ctx) {
  check_adjoint(ctx, sketch_square(1, 1, 1), "nnz", "nnz", "nnz");
  check_adjoint(ctx, sketch_square(3, 0.4, 1), "0,nnz", "nnz", "0,nnz");
  check_adjoint(ctx, sketch_empty(0, 0), "nnz", "nnz", "nnz");
}

static void lu_values_adjoint_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = adjoint_case(sketch_square(60, 0.05, 7), "33,nnz", "nnz", "33,nnz");
  check_op_large(ctx, &c);
}

static void lu_values_adjoint_refuses_a_zero_pivot(lac_context *ctx) {
  if (!check_claimed("lu_values_adjoint")) return;
  lac_pattern *p = NULL;
  lac_array *zeros = NULL;
  lac_tape *tape = NULL;
  const sketch *s = sketch_square(3, 1, 1);
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, &s->nnz, &zeros));
  CHECK_OK(lac_array_fill(ctx, zeros, 0, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var c = lac_tape_constant(tape, zeros);
  (void)lac_lu_values_adjoint(tape, p, c, c);
  CHECK_FAILS(check_late(ctx, lac_tape_status(tape)), LAC_ERR_SINGULAR, "pivot of row 0 is zero");
  lac_tape_destroy(&tape);
  lac_array_destroy(&zeros);
  lac_pattern_destroy(&p);
}

CHECK_MAIN(lu_values_adjoint_differentiates, lu_values_adjoint_broadcasts_batches_both_ways,
           lu_values_adjoint_takes_small_and_empty_matrices, lu_values_adjoint_does_not_depend_on_threads,
           lu_values_adjoint_refuses_a_zero_pivot)

// SPDX-License-Identifier: Apache-2.0
/// The operator spmm: its values, its refusals, its derivatives.

#include <stdbool.h>

#include "support/op_case.h"

static void spmm_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_spmm(tape, setup->patterns[0], in[0], in[1], (lac_form)setup->c->i[0]);
}

static void spmm_dense(const op_case *c, const ref *in, ref *out) {
  int64_t n = in[1].meta.shape[in[1].meta.ndim - 2], k = in[1].meta.shape[in[1].meta.ndim - 1];
  bool has_blocks = c->blocks[0][0];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    const number *values = walk_item(&w, &in[0], has_blocks ? 3 : 1);
    dense a = has_blocks ? dense_block_matrix(c->patterns[0], c->blocks[0][0], c->blocks[0][1], values)
                         : dense_matrix(c->patterns[0], values);
    a = dense_side(a, (lac_form)c->i[0]);
    dense_copy_to(dense_mul(a, dense_over(n, k, walk_item(&w, &in[1], 2))), walk_item(&w, out, 2));
  }
}

static void check_spmm(lac_context *ctx, const sketch *s, lac_form form, const char *a, const char *x, const char *y) {
  check_op(ctx, &(op_case){.op = "spmm",
                           .patterns = {s},
                           .shapes = {a, x},
                           .result = {y},
                           .i = {form},
                           .apply = spmm_apply,
                           .dense = spmm_dense,
                           .degree = {1, 1},
                           .fixed = {1, 2}});
}

static void check_blocks(lac_context *ctx, const sketch *s, int64_t br, int64_t bc, lac_form form, const char *a,
                         const char *x, const char *y) {
  check_op(ctx, &(op_case){.op = "spmm",
                           .patterns = {s},
                           .blocks = {{br, bc}},
                           .shapes = {a, x},
                           .result = {y},
                           .i = {form},
                           .apply = spmm_apply,
                           .dense = spmm_dense,
                           .degree = {1, 1},
                           .fixed = {7, 2}});
}

static void spmm_differentiates_on_every_side(lac_context *ctx) {
  const sketch *s = sketch_random(7, 5, 0.4, 1);
  check_spmm(ctx, s, LAC_PLAIN, "nnz", "5,3", "7,3");
  check_spmm(ctx, s, LAC_TRANSPOSED, "nnz", "7,3", "5,3");
  check_spmm(ctx, s, LAC_CONJUGATED, "nnz", "5,2", "7,2");
  check_spmm(ctx, s, LAC_ADJOINT, "nnz", "7,2", "5,2");
}

static void spmm_broadcasts_batches_both_ways(lac_context *ctx) {
  const sketch *s = sketch_random(4, 5, 0.4, 2);
  check_spmm(ctx, s, LAC_PLAIN, "nnz", "3,5,2", "3,4,2");
  check_spmm(ctx, s, LAC_ADJOINT, "3,nnz", "4,2", "3,5,2");
  check_spmm(ctx, s, LAC_PLAIN, "2,1,nnz", "3,5,1", "2,3,4,1");
  check_spmm(ctx, s, LAC_TRANSPOSED, "2,nnz", "2,4,2", "2,5,2");
}

static void spmm_takes_empty_rows_and_columns(lac_context *ctx) {
  check_spmm(ctx, sketch_random(9, 9, 0.15, 3), LAC_PLAIN, "nnz", "9,1", "9,1");
}

static void spmm_takes_what_is_empty(lac_context *ctx) {
  check_spmm(ctx, sketch_empty(4, 3), LAC_PLAIN, "nnz", "3,2", "4,2");
  check_spmm(ctx, sketch_empty(4, 3), LAC_ADJOINT, "nnz", "4,2", "3,2");
  check_spmm(ctx, sketch_empty(0, 3), LAC_PLAIN, "nnz", "3,2", "0,2");
  check_spmm(ctx, sketch_empty(0, 0), LAC_TRANSPOSED, "nnz", "0,2", "0,2");
  check_spmm(ctx, sketch_random(4, 3, 0.5, 4), LAC_PLAIN, "nnz", "3,0", "4,0");
  check_spmm(ctx, sketch_random(4, 3, 0.5, 4), LAC_PLAIN, "0,nnz", "3,2", "0,4,2");
}

static void spmm_takes_a_single_entry(lac_context *ctx) {
  check_spmm(ctx, sketch_square(1, 1, 5), LAC_PLAIN, "nnz", "1,1", "1,1");
  check_spmm(ctx, sketch_square(1, 1, 5), LAC_ADJOINT, "2,nnz", "1,1", "2,1,1");
}

static void spmm_takes_wide_blocks(lac_context *ctx) {
  check_spmm(ctx, sketch_random(5, 6, 0.4, 6), LAC_PLAIN, "nnz", "6,17", "5,17");
}

static void spmm_takes_blocks_on_every_side(lac_context *ctx) {
  const sketch *s = sketch_random(3, 2, 0.7, 8);
  check_blocks(ctx, s, 2, 3, LAC_PLAIN, "nnz,2,3", "6,2", "6,2");
  check_blocks(ctx, s, 2, 3, LAC_TRANSPOSED, "nnz,2,3", "6,1", "6,1");
  check_blocks(ctx, s, 2, 3, LAC_CONJUGATED, "nnz,2,3", "6,1", "6,1");
  check_blocks(ctx, s, 2, 3, LAC_ADJOINT, "nnz,2,3", "6,2", "6,2");
}

static void spmm_takes_batches_of_blocks(lac_context *ctx) {
  const sketch *s = sketch_random(2, 3, 0.6, 2);
  check_blocks(ctx, s, 2, 2, LAC_PLAIN, "nnz,2,2", "3,6,2", "3,4,2");
  check_blocks(ctx, s, 2, 2, LAC_ADJOINT, "3,nnz,2,2", "4,1", "3,6,1");
  check_blocks(ctx, s, 2, 2, LAC_PLAIN, "2,1,nnz,2,2", "3,6,1", "2,3,4,1");
}

static void spmm_takes_no_blocks_at_all(lac_context *ctx) {
  check_blocks(ctx, sketch_empty(2, 3), 2, 2, LAC_PLAIN, "nnz,2,2", "6,2", "4,2");
  check_blocks(ctx, sketch_empty(0, 3), 3, 1, LAC_TRANSPOSED, "nnz,3,1", "0,2", "3,2");
  check_blocks(ctx, sketch_random(2, 2, 0.9, 4), 2, 2, LAC_PLAIN, "nnz,2,2", "4,0", "4,0");
}

static void spmm_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "spmm", .patterns = {sketch_random(900, 1100, 0.03, 7)}, .apply = spmm_apply};
  c.shapes[0] = "nnz", c.shapes[1] = "1100,3", c.result[0] = "900,3";
  check_op_large(ctx, &c);
  c.i[0] = LAC_ADJOINT, c.shapes[1] = "4,900,1", c.result[0] = "4,1100,1";
  check_op_large(ctx, &c);
  c.patterns[0] = sketch_random(300, 400, 0.03, 7), c.blocks[0][0] = c.blocks[0][1] = 3;
  c.shapes[0] = "nnz,3,3", c.shapes[1] = "900,9", c.result[0] = "1200,9";
  check_op_large(ctx, &c);
}

/// Forward: y. Gradient: y, and a_bar and x_bar.
static void spmm_takes_its_results_alone(lac_context *ctx) {
  op_case c = {.op = "spmm", .patterns = {sketch_random(900, 1100, 0.03, 7)}, .apply = spmm_apply};
  c.shapes[0] = "nnz", c.shapes[1] = "1100,3", c.result[0] = "900,3";
  int64_t y = 900 * 3 * 8, x_bar = 1100 * 3 * 8, a_bar = c.patterns[0]->nnz * 8;
  check_op_peak(ctx, &c, LAC_F64, y, y + a_bar + x_bar);
}

CHECK_MAIN(spmm_differentiates_on_every_side, spmm_broadcasts_batches_both_ways, spmm_takes_empty_rows_and_columns,
           spmm_takes_what_is_empty, spmm_takes_a_single_entry, spmm_takes_wide_blocks, spmm_takes_blocks_on_every_side,
           spmm_takes_batches_of_blocks, spmm_takes_no_blocks_at_all, spmm_does_not_depend_on_threads,
           spmm_takes_its_results_alone)

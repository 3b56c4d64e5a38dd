// SPDX-License-Identifier: Apache-2.0
/// The operator sddmm: its values, its refusals, its derivatives.

#include "support/op_case.h"

static void sddmm_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_sddmm(tape, setup->patterns[0], in[0], in[1]);
}

static void sddmm_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *s = c->patterns[0];
  int64_t k = in[0].meta.shape[in[0].meta.ndim - 1];
  int64_t br = c->blocks[0][0] ? c->blocks[0][0] : 1, bc = c->blocks[0][1] ? c->blocks[0][1] : 1, size = br * bc;
  int64_t rows = s->rows * br, cols = s->cols * bc;
  int core = c->blocks[0][0] ? 3 : 1;
  for (walk w = walk_batch(out, core); walk_next(&w);) {
    dense u = dense_over(rows, k, walk_item(&w, &in[0], 2)), v = dense_over(cols, k, walk_item(&w, &in[1], 2));
    dense product = dense_mul(u, dense_side(v, LAC_ADJOINT));
    number *values = walk_item(&w, out, core);
    for (int64_t z = 0; z < s->nnz * size; ++z) {
      int64_t row = s->row[z / size] * br + z % size / bc, col = s->col[z / size] * bc + z % bc;
      values[z] = product.x[row * cols + col];
    }
  }
}

static void check_sddmm(lac_context *ctx, const sketch *s, const char *u, const char *v, const char *result) {
  check_op(ctx, &(op_case){.op = "sddmm",
                           .patterns = {s},
                           .shapes = {u, v},
                           .result = {result},
                           .apply = sddmm_apply,
                           .dense = sddmm_dense,
                           .degree = {1, 1},
                           .fixed = {3, 3}});
}

static void check_blocks(lac_context *ctx, const sketch *s, int64_t br, int64_t bc, const char *u, const char *v,
                         const char *result) {
  check_op(ctx, &(op_case){.op = "sddmm",
                           .patterns = {s},
                           .blocks = {{br, bc}},
                           .shapes = {u, v},
                           .result = {result},
                           .apply = sddmm_apply,
                           .dense = sddmm_dense,
                           .degree = {1, 1},
                           .fixed = {3, 3}});
}

static void sddmm_differentiates(lac_context *ctx) {
  check_sddmm(ctx, sketch_random(7, 5, 0.4, 1), "7,3", "5,3", "nnz");
  check_sddmm(ctx, sketch_square(4, 0.5, 2), "4,1", "4,1", "nnz");
}

static void sddmm_broadcasts_batches_both_ways(lac_context *ctx) {
  const sketch *s = sketch_random(4, 5, 0.4, 2);
  check_sddmm(ctx, s, "4,2", "3,5,2", "3,nnz");
  check_sddmm(ctx, s, "3,4,2", "5,2", "3,nnz");
  check_sddmm(ctx, s, "2,1,4,2", "3,5,2", "2,3,nnz");
  check_sddmm(ctx, s, "2,4,2", "2,5,2", "2,nnz");
}

static void sddmm_takes_what_is_empty(lac_context *ctx) {
  check_sddmm(ctx, sketch_empty(4, 3), "4,2", "3,2", "nnz");
  check_sddmm(ctx, sketch_empty(0, 3), "0,2", "3,2", "nnz");
  check_sddmm(ctx, sketch_random(4, 3, 0.5, 4), "4,0", "3,0", "nnz");
  check_sddmm(ctx, sketch_random(4, 3, 0.5, 4), "0,4,2", "3,2", "0,nnz");
}

static void sddmm_takes_a_single_entry(lac_context *ctx) {
  check_sddmm(ctx, sketch_square(1, 1, 5), "1,2", "1,2", "nnz");
}

static void sddmm_takes_wide_blocks(lac_context *ctx) {
  check_sddmm(ctx, sketch_random(5, 4, 0.4, 6), "5,17", "4,17", "nnz");
}

static void sddmm_takes_blocks(lac_context *ctx) {
  check_blocks(ctx, sketch_random(3, 2, 0.7, 8), 2, 3, "6,2", "6,2", "nnz,2,3");
  check_blocks(ctx, sketch_random(2, 2, 0.7, 8), 3, 3, "6,1", "6,1", "nnz,3,3");
  check_blocks(ctx, sketch_empty(2, 3), 2, 2, "4,2", "6,2", "nnz,2,2");
}

static void sddmm_takes_batches_of_blocks(lac_context *ctx) {
  const sketch *s = sketch_random(2, 3, 0.6, 2);
  check_blocks(ctx, s, 2, 2, "4,2", "3,6,2", "3,nnz,2,2");
  check_blocks(ctx, s, 2, 2, "2,1,4,1", "3,6,1", "2,3,nnz,2,2");
}

static void sddmm_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "sddmm", .patterns = {sketch_random(900, 1100, 0.03, 7)}, .apply = sddmm_apply};
  c.shapes[0] = "900,5", c.shapes[1] = "1100,5", c.result[0] = "nnz";
  check_op_large(ctx, &c);
  c.shapes[0] = "3,900,1", c.shapes[1] = "1100,1", c.result[0] = "3,nnz";
  check_op_large(ctx, &c);
  c.patterns[0] = sketch_random(300, 400, 0.03, 7), c.blocks[0][0] = c.blocks[0][1] = 3;
  c.shapes[0] = "900,5", c.shapes[1] = "1200,5", c.result[0] = "nnz,3,3";
  check_op_large(ctx, &c);
}

/// Forward: s. Gradient: s, u_bar and v_bar.
static void sddmm_takes_its_results_alone(lac_context *ctx) {
  op_case c = {.op = "sddmm", .patterns = {sketch_random(900, 1100, 0.03, 7)}, .apply = sddmm_apply};
  c.shapes[0] = "900,5", c.shapes[1] = "1100,5", c.result[0] = "nnz";
  int64_t s = c.patterns[0]->nnz * 8;
  check_op_peak(ctx, &c, LAC_F64, s, s + (900 + 1100) * 5 * 8);
}

CHECK_MAIN(sddmm_differentiates, sddmm_broadcasts_batches_both_ways, sddmm_takes_what_is_empty,
           sddmm_takes_a_single_entry, sddmm_takes_wide_blocks, sddmm_takes_blocks, sddmm_takes_batches_of_blocks,
           sddmm_does_not_depend_on_threads, sddmm_takes_its_results_alone)

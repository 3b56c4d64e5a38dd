// SPDX-License-Identifier: Apache-2.0
/// Kronecker products, sums and solves: values and derivatives beside the dense Kronecker product.

#include "support/op_case.h"

#define FORM(c) ((lac_form)(c)->i[0])
enum { PRODUCT, SUM, SOLVE };
#define WHAT(c) ((c)->i[1])

static void kron_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const op_case *c = setup->c;
  const lac_pattern *pa = setup->patterns[0], *pb = setup->patterns[1];
  lac_solver *sa = NULL, *sb = NULL;
  lac_context *ctx = lac_tape_context(tape);
  if (WHAT(c) == PRODUCT) out[0] = lac_kron_mm(tape, pa, in[0], pb, in[1], in[2], FORM(c));
  if (WHAT(c) == SUM) out[0] = lac_kronsum_mm(tape, pa, in[0], pb, in[1], in[2], FORM(c));
  if (WHAT(c) != SOLVE) return;
  CHECK_OK(lac_solver_create(ctx, pa, NULL, &sa));
  CHECK_OK(lac_solver_create(ctx, pb, NULL, &sb));
  out[0] = lac_kron_solve(tape, sa, in[0], sb, in[1], in[2], FORM(c));
  lac_solver_destroy(&sa);
  lac_solver_destroy(&sb);
}

/// s (x) t
static dense dense_kron(dense s, dense t) {
  dense k = dense_new(s.rows * t.rows, s.cols * t.cols);
  for (int64_t i = 0; i < k.rows; ++i) {
    for (int64_t j = 0; j < k.cols; ++j) {
      k.x[i * k.cols + j] = s.x[i / t.rows * s.cols + j / t.cols] * t.x[i % t.rows * t.cols + j % t.cols];
    }
  }
  return k;
}

static dense dense_identity(int64_t n) {
  dense a = dense_new(n, n);
  for (int64_t i = 0; i < n; ++i) a.x[i * n + i] = 1;
  return a;
}

static void kron_dense(const op_case *c, const ref *in, ref *out) {
  int64_t rows = in[2].meta.shape[in[2].meta.ndim - 2], k = in[2].meta.shape[in[2].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense a = dense_matrix(c->patterns[0], walk_item(&w, &in[0], 1));
    dense b = dense_matrix(c->patterns[1], walk_item(&w, &in[1], 1));
    dense x = dense_over(rows, k, walk_item(&w, &in[2], 2)), m = dense_kron(a, b);
    if (WHAT(c) == SUM) {
      dense one = dense_kron(a, dense_identity(b.rows)), two = dense_kron(dense_identity(a.rows), b);
      for (int64_t e = 0; e < m.rows * m.cols; ++e) m.x[e] = one.x[e] + two.x[e];
    }
    m = dense_side(m, FORM(c));
    dense_copy_to(WHAT(c) == SOLVE ? dense_solve(m, x) : dense_mul(m, x), walk_item(&w, out, 2));
  }
}

/// Diagonals away from zero.
static void kron_fill(const op_case *c, int input, ref *x) {
  if (input > 1 || WHAT(c) != SOLVE) return;
  const sketch *s = c->patterns[input];
  for (int64_t e = 0; e < x->count; ++e) {
    int64_t z = e % s->nnz;
    x->x[e] = s->row[z] == s->col[z] ? 3 + x->x[e] / 2 : x->x[e] / 4;
  }
}

static void check_kron(lac_context *ctx, int what, lac_form form, const sketch *a, const sketch *b, const char *va,
                       const char *vb, const char *x, const char *y) {
  static const char *const ops[] = {"spmm", "spmm", "solve_with"};
  op_case c = {.op = ops[what], .i = {form, what}, .patterns = {a, b}, .shapes = {va, vb, x}, .result = {y}};
  c.apply = kron_apply, c.dense = kron_dense, c.fill = kron_fill, c.slack = 30;
  c.skip = OP_INPUT | OP_OPERATOR | OP_SCALE | OP_MEMORY;
  check_op(ctx, &c);
}

static void kronecker_products_are_multiplied_on_every_side(lac_context *ctx) {
  const sketch *a = sketch_random(3, 2, 0.7, 1), *b = sketch_random(2, 4, 0.7, 2);
  check_kron(ctx, PRODUCT, LAC_PLAIN, a, b, "nnz", "nnz1", "8,2", "6,2");
  check_kron(ctx, PRODUCT, LAC_TRANSPOSED, a, b, "nnz", "nnz1", "6,1", "8,1");
  check_kron(ctx, PRODUCT, LAC_ADJOINT, a, b, "nnz", "nnz1", "6,2", "8,2");
  check_kron(ctx, PRODUCT, LAC_CONJUGATED, a, b, "2,nnz", "2,nnz1", "8,1", "2,6,1");
}

static void kronecker_sums_are_multiplied(lac_context *ctx) {
  const sketch *a = sketch_square(3, 0.4, 3), *b = sketch_square(2, 0.5, 4);
  check_kron(ctx, SUM, LAC_PLAIN, a, b, "nnz", "nnz1", "6,2", "6,2");
  check_kron(ctx, SUM, LAC_ADJOINT, a, b, "nnz", "nnz1", "2,6,1", "2,6,1");
}

static void kronecker_products_are_solved(lac_context *ctx) {
  if (!check_claimed("solve")) return;
  const sketch *a = sketch_square(3, 0.4, 3), *b = sketch_square(2, 0.5, 4);
  check_kron(ctx, SOLVE, LAC_PLAIN, a, b, "nnz", "nnz1", "6,2", "6,2");
  check_kron(ctx, SOLVE, LAC_TRANSPOSED, a, b, "nnz", "nnz1", "6,1", "6,1");
}

/// The status of kron_mm with a pattern on both sides; x is (1, 1).
static lac_status kron_of(lac_context *ctx, const lac_pattern *p) {
  lac_tape *tape = NULL;
  lac_array *x = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){1, 1}, &x));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var v = lac_tape_leaf(tape, x);
  (void)lac_kron_mm(tape, p, v, p, v, v, LAC_PLAIN);
  lac_status status = lac_tape_status(tape);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  return status;
}

static void blocks_and_sizes_beyond_what_can_be_addressed_are_refused(lac_context *ctx) {
  lac_pattern *blocks = NULL, *wide = NULL;
  CHECK_OK(
      lac_pattern_from_bsr(ctx, 2, 2, 2, 2, LAC_I32, (int32_t[]){0, 1}, (int32_t[]){0}, LAC_WIDTH_AUTO, &blocks, NULL));
  CHECK_FAILS(kron_of(ctx, blocks), LAC_ERR_UNSUPPORTED, "kron_mm: the pattern has blocks");
  CHECK_OK(lac_pattern_eye(ctx, 1, (int64_t)1 << 40, 0, LAC_WIDTH_AUTO, &wide));
  CHECK_FAILS(kron_of(ctx, wide), LAC_ERR_OVERFLOW, "kron_mm: 1099511627776 times 1099511627776 rows");
  CHECK_FAILS(kron_of(ctx, NULL), LAC_ERR_ARG, "kron_mm: the pattern is NULL");
  lac_pattern_destroy(&blocks);
  lac_pattern_destroy(&wide);
}

CHECK_MAIN(kronecker_products_are_multiplied_on_every_side, kronecker_sums_are_multiplied,
           kronecker_products_are_solved, blocks_and_sizes_beyond_what_can_be_addressed_are_refused)

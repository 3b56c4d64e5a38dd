// SPDX-License-Identifier: Apache-2.0
/// The operator norm2: its values, its refusals, its derivative; matrix_norm, which has it as one of four.

#include <math.h>

#include "support/op_case.h"

static void norm2_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_norm2(tape, setup->patterns[0], in[0], setup->c->f[0], 0);
}

/// The root of the largest eigenvalue of A^H A, whose powers, squared again and again, keep its vector alone.
static double largest_singular(dense a) {
  dense square = dense_mul(dense_side(a, LAC_ADJOINT), a), power = square;
  int64_t n = a.cols, best = 0;
  double most = 0, length = 0;
  for (int i = 0; i < 40; ++i) {
    double size = 0;
    for (int64_t z = 0; z < n * n; ++z) size = fmax(size, cabs(power.x[z]));
    if (size == 0) return 0;
    for (int64_t z = 0; z < n * n; ++z) power.x[z] /= size;
    if (i < 39) power = dense_mul(power, power);
  }
  for (int64_t j = 0; j < n; ++j) {
    if (cabs(power.x[j * n + j]) > most) most = cabs(power.x[j * n + j]), best = j;
  }
  dense v = dense_new(n, 1);
  for (int64_t i = 0; i < n; ++i) v.x[i] = power.x[i * n + best], length += pow(cabs(v.x[i]), 2);
  dense y = dense_mul(a, v);
  most = 0;
  for (int64_t i = 0; i < a.rows; ++i) most += pow(cabs(y.x[i]), 2);
  return sqrt(most / length);
}

static void norm2_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    *walk_item(&w, out, 0) = largest_singular(dense_matrix(c->patterns[0], walk_item(&w, in, 1)));
  }
}

static void check_norm2(lac_context *ctx, const sketch *s, const char *batch, const char *result) {
  op_case c = {.op = "norm2", .patterns = {s}, .apply = norm2_apply, .dense = norm2_dense, .slack = 64};
  c.result_dtype = op_real_dtype, c.fixed[0] = 1, c.degree[0] = 1, c.skip = OP_SECOND;
  c.shapes[0] = op_text("%snnz", batch), c.result[0] = result;
  check_op(ctx, &c);
}

static void norm2_differentiates_once(lac_context *ctx) {
  if (!check_claimed("norm2")) return;
  check_norm2(ctx, sketch_random(5, 4, 0.6, 1), "", "");
  check_norm2(ctx, sketch_random(3, 6, 0.6, 3), "", "");
  check_norm2(ctx, sketch_random(4, 4, 0.6, 2), "2,", "2");
}

static void norm2_takes_small_and_empty_matrices(lac_context *ctx) {
  if (!check_claimed("norm2")) return;
  check_norm2(ctx, sketch_square(1, 1, 1), "", "");
  check_norm2(ctx, sketch_random(1, 5, 0.9, 1), "", "");  // the start is not a multiple of the only row
  check_norm2(ctx, sketch_random(6, 1, 0.9, 1), "", "");
  check_norm2(ctx, sketch_random(2, 7, 0.8, 4), "", "");
  check_norm2(ctx, sketch_random(4, 4, 0.6, 2), "0,", "0");
}

typedef struct answer {
  double sigma, bar[16];
  lac_status status, second;
} answer;

/// sigma and its gradient for values of f64; `second`: what differentiating the gradient says.
static answer norm2_of(lac_context *ctx, const lac_pattern *p, double *values, double tolerance, int64_t steps) {
  answer got = {0};
  int64_t nnz = lac_pattern_nnz(p);
  lac_array *a = NULL;
  lac_tape *tape = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &nnz, values, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var x = lac_tape_leaf(tape, a), y = lac_norm2(tape, p, x, tolerance, steps), bar = {0}, again = {0};
  got.status = lac_tape_status(tape);
  if (got.status == LAC_OK) {
    CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, y), &got.sigma));
    CHECK_OK(lac_tape_vjp(tape, 1, &y, NULL, 1, &x, &bar, LAC_GRAPH_CREATE));
    if (nnz <= 16) CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, bar), got.bar));
    lac_var sum = lac_sum(tape, bar);
    got.second = lac_tape_vjp(tape, 1, &sum, NULL, 1, &x, &again, LAC_GRAPH_NONE);
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&a);
  return got;
}

/// Zeros give 0 with gradient 0, a multiple value one of its gradients; a second derivative is refused.
static void special_values_are_as_stated(lac_context *ctx) {
  if (!check_claimed("norm2")) return;
  lac_pattern *p = NULL;
  CHECK_OK(lac_pattern_eye(ctx, 3, 4, 0, LAC_WIDTH_AUTO, &p));
  answer got = norm2_of(ctx, p, (double[]){0, 0, 0}, 0, 0);
  CHECK(got.status == LAC_OK && got.sigma == 0 && got.bar[0] == 0 && got.bar[1] == 0);
  got = norm2_of(ctx, p, (double[]){2, -3, 1}, 0, 0);
  CHECK_NEAR(got.sigma, 3, 1e-14);
  CHECK_NEAR(got.bar[1], -1, 1e-14);
  CHECK(fabs(got.bar[0]) < 1e-11 && fabs(got.bar[2]) < 1e-11);
  CHECK_EQ(got.second, LAC_ERR_ORDER);
  got = norm2_of(ctx, p, (double[]){2, 2, 2}, 0, 0);
  CHECK_NEAR(got.sigma, 2, 1e-14);
  CHECK_NEAR(got.bar[0] + got.bar[1] + got.bar[2], 1, 1e-12);
  CHECK_FAILS(norm2_of(ctx, p, (double[]){2, NAN, 2}, 0, 0).status, LAC_ERR_NONFINITE, "slot 1");
  CHECK_FAILS(norm2_of(ctx, p, (double[]){2, 1, 2}, -1, 0).status, LAC_ERR_ARG, "tolerance -1");
  CHECK_FAILS(norm2_of(ctx, p, (double[]){2, 1, 2}, INFINITY, 0).status, LAC_ERR_ARG, "below 1");  // would say 0
  lac_pattern_destroy(&p);
}

/// Vectors are for the rules; whoever differentiates them is told.
static void vectors_have_no_derivative(lac_context *ctx) {
  if (!check_claimed("norm2")) return;
  lac_pattern *p = NULL;
  lac_array *a = NULL;
  lac_tape *tape = NULL;
  CHECK_OK(lac_pattern_eye(ctx, 3, 3, 0, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3}, (double[]){1, 2, 3}, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var x = lac_tape_leaf(tape, a), out[3] = {{0}}, bar = {0};
  CHECK_OK(lac_tape_call(tape, &(lac_spec){.op = lac_op_find("norm2"), .patterns = {p}}, &x, out));
  lac_var sum = lac_sum(tape, out[1]);
  CHECK_FAILS(lac_tape_vjp(tape, 1, &sum, NULL, 1, &x, &bar, LAC_GRAPH_NONE), LAC_ERR_ORDER, "have no derivative");
  lac_tape_destroy(&tape);
  lac_array_destroy(&a);
  lac_pattern_destroy(&p);
}

/// Tridiagonal (-1, 2, -1) of n rows: 2 + 2 cos(pi / (n + 1)), and its neighbour is close by.
static void what_does_not_converge_is_said(lac_context *ctx) {
  if (!check_claimed("norm2")) return;
  enum { N = 300 };
  static int64_t offsets[N + 1], columns[3 * N];
  static double values[3 * N];
  int64_t nnz = 0;
  lac_pattern *p = NULL;
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = i - 1; j <= i + 1; ++j) {
      if (j >= 0 && j < N) columns[nnz] = j, values[nnz++] = i == j ? 2 : -1;
    }
    offsets[i + 1] = nnz;
  }
  CHECK_OK(lac_pattern_from_csr(ctx, N, N, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_FAILS(norm2_of(ctx, p, values, 0, 40).status, LAC_ERR_CONVERGENCE, "after 40 steps (asked: 1.0e-12)");
  answer got = norm2_of(ctx, p, values, 1e-7, 0);
  CHECK_EQ(got.status, LAC_OK);
  CHECK_NEAR(got.sigma, 2 + 2 * cos(acos(-1) / (N + 1)), 1e-9);
  lac_pattern_destroy(&p);
}

// -- all four --------------------------------------------------------------------------------------------------------

static void norm_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_matrix_norm(tape, setup->patterns[0], in[0], (lac_norm_kind)setup->c->i[0]);
}

static void norm_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    dense a = dense_side(dense_matrix(c->patterns[0], walk_item(&w, in, 1)),
                         c->i[0] == LAC_NORM_1 ? LAC_TRANSPOSED : LAC_PLAIN);
    double most = 0, square = 0;
    for (int64_t i = 0; i < a.rows; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < a.cols; ++j)
        sum += cabs(a.x[i * a.cols + j]), square += pow(cabs(a.x[i * a.cols + j]), 2);
      most = fmax(most, sum);
    }
    *walk_item(&w, out, 0) = c->i[0] == LAC_NORM_FRO ? sqrt(square) : most;
  }
}

static void the_other_norms_equal_the_dense_matrix(lac_context *ctx) {
  static const char *const ops[] = {"norm", "max", "max"};
  for (int kind = LAC_NORM_FRO; kind <= LAC_NORM_INF; ++kind) {
    op_case c = {.op = ops[kind], .patterns = {sketch_random(4, 5, 0.6, 3)}, .apply = norm_apply, .dense = norm_dense};
    c.i[0] = kind, c.result_dtype = op_real_dtype, c.degree[0] = 1, c.slack = 8;
    c.shapes[0] = "2,nnz", c.result[0] = "2", c.fixed[0] = 1;
    check_op(ctx, &c);
  }
}

CHECK_MAIN(norm2_differentiates_once, norm2_takes_small_and_empty_matrices, special_values_are_as_stated,
           vectors_have_no_derivative, what_does_not_converge_is_said, the_other_norms_equal_the_dense_matrix)

// SPDX-License-Identifier: Apache-2.0
/// @file csc_solve.c
/// Factor a matrix of compressed columns, solve with many right-hand sides, take its log-determinant: no tape, no
/// derivative. The second difference -u'' on N points has the determinant N + 1, which is checked.

#include <lacuna/lacuna.h>
#include <math.h>
#include <stdio.h>

enum { N = 5, K = 2 };

// [solve]
// A x = b for k right-hand sides at once, and log|det A|. A (n x n) comes by compressed columns, b and x (n x k) are by
// rows, and x is written where the caller has it.
static lac_status solve(lac_context *ctx, int n, const int32_t *offsets, const int32_t *rows, const double *values,
                        int k, double *b, double *x, double *logdet) {
  int64_t shape[2] = {n, k};
  lac_matrix *a = NULL;
  lac_factor *factor = NULL;
  lac_array *right = NULL, *solution = NULL;
  lac_status status = lac_matrix_from_csc(ctx, n, n, LAC_I32, offsets, rows, LAC_F64, values, LAC_OWNERSHIP_COPY, &a);

  if (status == LAC_OK) status = lac_matrix_factor(ctx, a, NULL, &factor);
  if (status == LAC_OK) status = lac_array_from(ctx, LAC_F64, 2, shape, b, LAC_OWNERSHIP_BORROW, &right);
  if (status == LAC_OK) status = lac_array_from(ctx, LAC_F64, 2, shape, x, LAC_OWNERSHIP_BORROW, &solution);
  if (status == LAC_OK) status = lac_factor_solve(ctx, factor, right, LAC_PLAIN, solution);
  if (status == LAC_OK) status = lac_factor_slogdet(ctx, factor, logdet, NULL);
  lac_array_destroy(&right), lac_array_destroy(&solution);
  lac_factor_destroy(&factor), lac_matrix_destroy(&a);
  return status;
}
// [end]

/// -1, 2, -1 in each column, but for what lies outside.
static void second_difference(int32_t *offsets, int32_t *rows, double *values) {
  int32_t count = 0;

  for (int j = 0; j < N; j++) {
    offsets[j] = count;
    for (int i = j ? j - 1 : 0; i <= j + 1 && i < N; i++) rows[count] = i, values[count++] = i == j ? 2 : -1;
  }
  offsets[N] = count;
}

int main(void) {
  int32_t offsets[N + 1], rows[3 * N];
  double values[3 * N], x[N * K], b[N * K], logdet = 0, worst = 0;
  lac_context *ctx = NULL;
  lac_status status = lac_context_create("cpu", 0, &ctx);

  second_difference(offsets, rows, values);
  for (int i = 0; i < N; i++) {
    b[i * K] = i == 0 || i == N - 1;          // of ones
    b[i * K + 1] = i == N - 1 ? N + 1.0 : 0;  // of 1, 2, ..., N
  }
  if (status == LAC_OK) status = solve(ctx, N, offsets, rows, values, K, b, x, &logdet);
  if (status != LAC_OK) {
    fprintf(stderr, "%s\n", lac_context_error(ctx));
  } else {
    for (int i = 0; i < N; i++) worst = fmax(worst, fmax(fabs(x[i * K] - 1), fabs(x[i * K + 1] - (i + 1))));
    worst = fmax(worst, fabs(logdet - log(N + 1)));
    printf("log det = %.6f, largest error %.1e\n", logdet, worst);
  }
  lac_context_destroy(&ctx);
  return status != LAC_OK || worst > 1e-13;
}

// SPDX-License-Identifier: Apache-2.0
/// @file jacobi_weights.c
/// The best weights of one Jacobi step, one for each unknown.
///
///     e(omega) = (I - diag(omega) D^-1 A) x        A = tridiag(-1, 2, -1), n = 16
///     loss     = sum over x of e^T A e             x over the unit vectors: the mean over random x ~ N(0, I)
///
/// The loss is quadratic in omega, so Newton's method ends after one step; the Hessian comes column by column from the tape,
/// forward over reverse.

#include <lacuna/lacuna.h>
#include <math.h>
#include <stdio.h>

enum { N = 16 };

/// The known optimum, from the normal equations solved exactly.
static const double exact[N / 2] = {0.7889, 0.5279, 0.6276, 0.5895, 0.6040, 0.5985, 0.6006, 0.5999};

/// The pattern of tridiag, and its values for a given diagonal and off-diagonal.
static lac_status tridiagonal(lac_context *ctx, lac_pattern **pattern, double values[3 * N - 2], double diagonal,
                              double off) {
  int32_t row[3 * N - 2], col[3 * N - 2];
  int count = 0;

  for (int i = 0; i < N; i++) {
    for (int j = i ? i - 1 : 0; j <= i + 1 && j < N; j++, count++) {
      row[count] = i, col[count] = j;
      values[count] = i == j ? diagonal : off;
    }
  }
  return *pattern ? LAC_OK : lac_pattern_from_coo(ctx, N, N, count, LAC_I32, row, col, LAC_WIDTH_AUTO, pattern, NULL);
}

/// loss(omega) = <e, A e> with e = X - omega * (D^-1 A X).
static lac_var loss_of(lac_tape *tape, const lac_pattern *p, lac_var a, lac_var scaled, lac_var x, lac_var omega) {
  lac_var e = lac_sub(tape, x, lac_mul(tape, omega, lac_spmm(tape, p, LAC_N, scaled, x)));
  return lac_dot(tape, e, lac_spmm(tape, p, LAC_N, a, e));
}

/// Solve H step = -g by elimination; H is small, symmetric and positive definite.
static void newton_step(double h[N][N], const double *g, double *step) {
  for (int i = 0; i < N; i++) step[i] = -g[i];
  for (int k = 0; k < N; k++) {
    for (int i = k + 1; i < N; i++) {
      double factor = h[i][k] / h[k][k];
      for (int j = k; j < N; j++) h[i][j] -= factor * h[k][j];
      step[i] -= factor * step[k];
    }
  }
  for (int i = N - 1; i >= 0; i--) {
    for (int j = i + 1; j < N; j++) step[i] -= h[i][j] * step[j];
    step[i] /= h[i][i];
  }
}

/// The loss at omega, its gradient and its Hessian.
static lac_status derivatives(lac_context *ctx, const lac_pattern *p, lac_array *const arrays[3], double *omega,
                              double *loss, double *g, double h[N][N]) {
  int64_t shape[2] = {N, 1};
  lac_tape *tape = NULL;
  lac_array *at = NULL, *unit = NULL;
  lac_status status = lac_tape_create(ctx, LAC_RECORD, &tape);

  if (status == LAC_OK) status = lac_array_from(ctx, LAC_F64, 2, shape, omega, LAC_BORROW, &at);
  if (status == LAC_OK) {
    lac_var a = lac_tape_constant(tape, arrays[0]), scaled = lac_tape_constant(tape, arrays[1]);
    lac_var x = lac_tape_constant(tape, arrays[2]), w = lac_tape_leaf(tape, at), bar, column;
    lac_var value = loss_of(tape, p, a, scaled, x, w);
    status = lac_tape_vjp(tape, 1, &value, NULL, 1, &w, &bar, LAC_CREATE_GRAPH);
    if (status == LAC_OK) status = lac_array_read(ctx, lac_tape_value(tape, value), loss);
    if (status == LAC_OK) status = lac_array_read(ctx, lac_tape_value(tape, bar), g);
    for (int i = 0; i < N && status == LAC_OK; i++) {
      double direction[N] = {0};
      direction[i] = 1;
      status = lac_array_from(ctx, LAC_F64, 2, shape, direction, LAC_COPY, &unit);
      if (status != LAC_OK) break;
      lac_var dot = lac_tape_constant(tape, unit);
      status = lac_tape_jvp(tape, 1, &w, &dot, 1, &bar, &column, LAC_PLAIN);
      if (status == LAC_OK) status = lac_array_read(ctx, lac_tape_value(tape, column), h[i]);
      lac_array_destroy(&unit);
    }
  }
  lac_array_destroy(&at);
  lac_tape_destroy(&tape);
  return status;
}

/// Print the weights beside the known ones; returns how many differ by more than half a unit of the third digit.
static int compare(const double *omega) {
  int wrong = 0;

  for (int i = 0; i < N; i++) {
    double known = exact[i < N / 2 ? i : N - 1 - i];
    int is_wrong = fabs(omega[i] - known) > 5e-4;
    wrong += is_wrong;
    printf("  omega[%2d] = %.4f   known %.4f%s\n", i, omega[i], known, is_wrong ? "   <-- differs" : "");
  }
  return wrong;
}

int main(void) {
  double a[3 * N - 2], scaled[3 * N - 2], x[N * N] = {0}, omega[N], g[N], h[N][N], step[N], before, after;
  lac_context *ctx = NULL;
  lac_pattern *p = NULL;
  lac_array *arrays[3] = {NULL};
  lac_status status = lac_context_create("cpu", 0, &ctx);

  for (int i = 0; i < N; i++) omega[i] = 1, x[i * N + i] = 1;
  if (status == LAC_OK) status = tridiagonal(ctx, &p, a, 2, -1);
  if (status == LAC_OK) status = tridiagonal(ctx, &p, scaled, 1, -0.5);  // D^-1 A
  if (status == LAC_OK) status = lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3 * N - 2}, a, LAC_BORROW, &arrays[0]);
  if (status == LAC_OK)
    status = lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3 * N - 2}, scaled, LAC_BORROW, &arrays[1]);
  if (status == LAC_OK) status = lac_array_from(ctx, LAC_F64, 2, (int64_t[]){N, N}, x, LAC_BORROW, &arrays[2]);

  if (status == LAC_OK) status = derivatives(ctx, p, arrays, omega, &before, g, h);
  if (status == LAC_OK) newton_step(h, g, step);
  for (int i = 0; i < N && status == LAC_OK; i++) omega[i] += step[i];
  if (status == LAC_OK) status = derivatives(ctx, p, arrays, omega, &after, g, h);

  int wrong = 0;
  if (status == LAC_OK) {
    printf("entry-wise Jacobi weights: loss a vector %.4f at omega = 1, %.4f at the optimum\n", before, after);
    wrong = compare(omega);
  } else {
    fprintf(stderr, "%s\n", lac_context_error(ctx));
  }
  for (int i = 0; i < 3; i++) lac_array_destroy(&arrays[i]);
  lac_pattern_destroy(&p);
  lac_context_destroy(&ctx);
  return status != LAC_OK || wrong;
}

// SPDX-License-Identifier: Apache-2.0
/// @file jacobi_weights.c
/// The best weights of one Jacobi step, one for each unknown.
///
///     e(omega) = (I - diag(omega) D^-1 A) x        A = tridiag(-1, 2, -1), n = 16
///     loss     = sum over x of e^T A e             x over the unit vectors: the mean over random x ~ N(0, I)
///
/// The tape gives the gradient, L-BFGS the minimum. The loss is quadratic, so its curvature, forward over reverse, is
/// the same at the start and at the end.

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
  lac_var e = lac_sub(tape, x, lac_mul(tape, omega, lac_spmm(tape, p, scaled, x, LAC_PLAIN)));
  return lac_dot(tape, e, lac_spmm(tape, p, a, e, LAC_PLAIN));
}

/// What the loss is made of.
typedef struct problem {
  lac_context *ctx;
  lac_tape *tape;
  lac_pattern *pattern;
  lac_array *a, *scaled, *x;
} problem;

static lac_var record(const problem *p, const lac_array *omega, lac_var *leaf) {
  lac_var a = lac_tape_constant(p->tape, p->a), scaled = lac_tape_constant(p->tape, p->scaled);
  lac_var x = lac_tape_constant(p->tape, p->x);

  *leaf = lac_tape_leaf(p->tape, omega);
  return loss_of(p->tape, p->pattern, a, scaled, x, *leaf);
}

static lac_status objective(lac_context *ctx, void *data, int count, lac_array *const *omega, double *value,
                            lac_array **gradient) {
  problem *p = data;
  lac_var leaf;

  (void)ctx;
  lac_tape_clear(p->tape);
  lac_var loss = record(p, omega[0], &leaf);
  return lac_tape_gradient(p->tape, loss, count, &leaf, value, gradient);
}

/// v^T H v with v = (1, ..., 1), and the sum of the gradient: forward over reverse.
static lac_status curvature(const problem *p, const lac_array *omega, double *bend, double *slope) {
  lac_tape *tape = p->tape;
  lac_array *ones = NULL;
  lac_var leaf, bar, column;
  lac_status status = lac_array_clone(p->ctx, omega, &ones);

  if (status == LAC_OK) status = lac_array_fill(p->ctx, ones, 1, 0);
  if (status == LAC_OK) {
    lac_tape_clear(tape);
    lac_var loss = record(p, omega, &leaf), v = lac_tape_constant(tape, ones);
    status = lac_tape_vjp(tape, 1, &loss, NULL, 1, &leaf, &bar, LAC_GRAPH_CREATE);
    if (status == LAC_OK) status = lac_tape_jvp(tape, 1, &leaf, &v, 1, &bar, &column, LAC_GRAPH_NONE);
    if (status == LAC_OK) status = lac_array_read(p->ctx, lac_tape_value(tape, lac_dot(tape, v, column)), bend);
    if (status == LAC_OK) status = lac_array_read(p->ctx, lac_tape_value(tape, lac_dot(tape, v, bar)), slope);
  }
  lac_array_destroy(&ones);
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

static lac_status open_problem(problem *p, lac_array **omega) {
  double a[3 * N - 2], scaled[3 * N - 2], x[N * N] = {0};
  lac_status status = lac_context_create("cpu", 0, &p->ctx);

  for (int i = 0; i < N; i++) x[i * N + i] = 1;
  if (status == LAC_OK) status = lac_tape_create(p->ctx, LAC_TAPE_RECORD, &p->tape);
  if (status == LAC_OK) status = tridiagonal(p->ctx, &p->pattern, a, 2, -1);
  if (status == LAC_OK) status = tridiagonal(p->ctx, &p->pattern, scaled, 1, -0.5);  // D^-1 A
  if (status == LAC_OK)
    status = lac_array_from(p->ctx, LAC_F64, 1, (int64_t[]){3 * N - 2}, a, LAC_OWNERSHIP_COPY, &p->a);
  if (status == LAC_OK)
    status = lac_array_from(p->ctx, LAC_F64, 1, (int64_t[]){3 * N - 2}, scaled, LAC_OWNERSHIP_COPY, &p->scaled);
  if (status == LAC_OK) status = lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){N, N}, x, LAC_OWNERSHIP_COPY, &p->x);
  if (status == LAC_OK) status = lac_array_create(p->ctx, LAC_F64, 2, (int64_t[]){N, 1}, omega);
  if (status == LAC_OK) status = lac_array_fill(p->ctx, *omega, 1, 0);
  return status;
}

static void close_problem(problem *p) {
  lac_tape_destroy(&p->tape);
  lac_array_destroy(&p->a);
  lac_array_destroy(&p->scaled);
  lac_array_destroy(&p->x);
  lac_pattern_destroy(&p->pattern);
  lac_context_destroy(&p->ctx);
}

int main(void) {
  problem p = {.ctx = NULL};
  lac_array *at = NULL;
  lac_optimise_report report = {0};
  double omega[N], bend[2], slope[2];
  int wrong = 1;
  lac_status status = open_problem(&p, &at);

  if (status == LAC_OK) status = curvature(&p, at, &bend[0], &slope[0]);
  if (status == LAC_OK) status = lac_minimise(p.ctx, NULL, 1, &at, objective, &p, &report);
  if (status == LAC_OK) status = curvature(&p, at, &bend[1], &slope[1]);
  if (status == LAC_OK) status = lac_array_read(p.ctx, at, omega);
  if (status == LAC_OK) {
    printf("entry-wise Jacobi weights: loss a vector %.4f at omega = 1, %.4f at the optimum\n", report.first_value,
           report.value);
    printf("  %s in %d steps; v^T H v = %.4f at both ends\n", report.reason, report.iterations, bend[1]);
    wrong = compare(omega) + !(fabs(report.first_value - 15) < 1e-4) + !(fabs(report.value - 3.1689) < 1e-4);
    wrong += !(fabs(bend[1] - bend[0]) < 1e-9 * bend[0] && fabs(slope[1]) < 1e-6 * fabs(slope[0]));
  } else {
    fprintf(stderr, "%s\n", lac_context_error(p.ctx));
  }
  lac_array_destroy(&at);
  close_problem(&p);
  return status != LAC_OK || wrong;
}

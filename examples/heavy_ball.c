// SPDX-License-Identifier: Apache-2.0
/// @file heavy_ball.c
/// The best step and momentum of twelve heavy-ball iterations.
///
///     x_{k+1} = x_k - alpha A x_k + beta (x_k - x_{k-1})      A = tridiag(-1, 2, -1), n = 16, k < 12, x_{-1} = x_0
///     loss    = sum over x_0 of x_12^T A x_12                 x_0 over the unit vectors: the mean over random x_0 ~
///                                                             N(0, I)
///
/// The iteration is unrolled on the tape in checkpointed segments and differentiated through; L-BFGS moves (alpha,
/// beta).

#include <lacuna/lacuna.h>
#include <math.h>
#include <stdio.h>

enum { N = 16, NNZ = 3 * N - 2, STEPS = 12 };

typedef struct problem {
  lac_context *ctx;
  lac_tape *tape;
  lac_pattern *pattern;
  lac_array *a, *x0;
} problem;

/// (x, x before, alpha, beta) to the next (x, x before).
static lac_status heavy_ball(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  const problem *p = data;
  lac_var x = in[0], before = in[1], alpha = in[2], beta = in[3];
  lac_var ax = lac_spmm(tape, p->pattern, lac_tape_constant(tape, p->a), x, LAC_PLAIN);
  lac_var pull = lac_mul(tape, alpha, ax), push = lac_mul(tape, beta, lac_sub(tape, x, before));

  (void)step;
  out[0] = lac_add(tape, lac_sub(tape, x, pull), push);
  out[1] = x;
  return lac_tape_status(tape);
}

/// The objective of two arrays of one number: alpha and beta.
static lac_status expected_loss(lac_context *ctx, void *data, int count, lac_array *const *at, double *value,
                                lac_array **gradient) {
  problem *p = data;
  lac_tape *tape = p->tape;

  (void)ctx;
  lac_tape_clear(tape);
  lac_var leaf[2] = {lac_tape_leaf(tape, at[0]), lac_tape_leaf(tape, at[1])}, x0 = lac_tape_constant(tape, p->x0);
  lac_var in[4] = {x0, x0, leaf[0], leaf[1]}, out[2];
  lac_status status = lac_tape_checkpoint_steps(tape, heavy_ball, p, STEPS, 4, in, 2, out);
  if (status != LAC_OK) return status;
  lac_var ax = lac_spmm(tape, p->pattern, lac_tape_constant(tape, p->a), out[0], LAC_PLAIN);
  return lac_tape_gradient(tape, lac_dot(tape, out[0], ax), count, leaf, value, gradient);
}

static lac_status open_problem(problem *p, lac_array *at[2]) {
  double a[NNZ], identity[N * N] = {0};
  int32_t row[NNZ], col[NNZ];
  int z = 0;
  lac_status status = lac_context_create("cpu", 0, &p->ctx);

  for (int i = 0; i < N; i++) {
    identity[i * N + i] = 1;
    for (int j = i ? i - 1 : 0; j <= i + 1 && j < N; j++, z++) row[z] = i, col[z] = j, a[z] = i == j ? 2 : -1;
  }
  if (status == LAC_OK) status = lac_tape_create(p->ctx, LAC_TAPE_RECORD, &p->tape);
  if (status == LAC_OK)
    status = lac_pattern_from_coo(p->ctx, N, N, NNZ, LAC_I32, row, col, LAC_WIDTH_AUTO, &p->pattern, NULL);
  if (status == LAC_OK) status = lac_array_from(p->ctx, LAC_F64, 1, (int64_t[]){NNZ}, a, LAC_OWNERSHIP_COPY, &p->a);
  if (status == LAC_OK)
    status = lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){N, N}, identity, LAC_OWNERSHIP_COPY, &p->x0);
  for (int i = 0; i < 2; i++) {
    if (status == LAC_OK) status = lac_array_create(p->ctx, LAC_F64, 2, (int64_t[]){1, 1}, &at[i]);
    if (status == LAC_OK) status = lac_array_fill(p->ctx, at[i], 0.5, 0);
  }
  return status;
}

static void close_problem(problem *p, lac_array *at[2]) {
  for (int i = 0; i < 2; i++) lac_array_destroy(&at[i]);
  lac_tape_destroy(&p->tape);
  lac_array_destroy(&p->a);
  lac_array_destroy(&p->x0);
  lac_pattern_destroy(&p->pattern);
  lac_context_destroy(&p->ctx);
}

/// One number beside the known one; 1 when they differ in the digits printed.
static int compare(const char *name, double found, double known, double unit) {
  int is_wrong = !(fabs(found - known) <= 0.6 * unit);
  printf("  %-22s %.5f   known %.5f%s\n", name, found, known, is_wrong ? "   <-- differs" : "");
  return is_wrong;
}

int main(void) {
  problem p = {.ctx = NULL};
  lac_array *at[2] = {NULL};
  lac_optimise_report report = {0};
  double alpha = 0, beta = 0;
  int wrong = 1;
  lac_status status = open_problem(&p, at);

  if (status == LAC_OK) status = lac_minimise(p.ctx, NULL, 2, at, expected_loss, &p, &report);
  if (status == LAC_OK) status = lac_array_read(p.ctx, at[0], &alpha);
  if (status == LAC_OK) status = lac_array_read(p.ctx, at[1], &beta);
  if (status == LAC_OK) {
    printf("heavy ball, %d iterations: %s in %d steps\n", STEPS, report.reason, report.iterations);
    wrong = report.outcome != LAC_OUTCOME_SMALL_GRADIENT;
    wrong += compare("loss at (0.5, 0.5)", report.first_value, 0.02384, 1e-5);
    wrong += compare("alpha", alpha, 0.6530, 1e-4);
    wrong += compare("beta", beta, 0.4292, 1e-4);
    wrong += compare("loss at the optimum", report.value, 0.01749, 1e-5);
  } else {
    fprintf(stderr, "%s\n", lac_context_error(p.ctx));
  }
  close_problem(&p, at);
  return status != LAC_OK || wrong;
}

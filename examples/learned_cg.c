// SPDX-License-Identifier: Apache-2.0
/// @file learned_cg.c
/// A preconditioner of conjugate gradients, learned by differentiating through three of its steps.
///
///     A    = A8 (x) I + I (x) A8, A8 = tridiag(-1, 2, -1)     the 64 x 64 Laplacian of a square
///     z    = L L^T r   (product)   or   (L L^T)^-1 r (solve)  L lower bidiagonal: 127 numbers, at first 2 and 0.1
///     loss = sum_i w_i log10(1 + |r_i| / |b|)                 w_i ~ 0.7^(3 - i), i = 0..3, summing to 1
///
/// AdamW with rate 1e-3 and decay 0.01. One right-hand side is learned; two that were never seen are shown as well.
/// Known: the published trace of the product (loss and |r_3|/|b| at iterations 0 and 100), plain CG's residuals, and
/// for the solve the same run in PyTorch.

#include <lacuna/lacuna.h>
#include <math.h>
#include <stdio.h>

enum { FORM = 8, N = FORM * FORM, LEARNED = 2 * N - 1, STEPS = 3, SHOWN = 13 };

typedef enum form { NONE, PRODUCT, SOLVE } form;

typedef struct problem {
  lac_context *ctx;
  lac_tape *tape;
  lac_pattern *pa, *pl;
  lac_array *a, *b, *l;
} problem;

static lac_status precondition(lac_tape *tape, const problem *p, form how, lac_var l, lac_var r, lac_var *z) {
  if (how == NONE) *z = r;
  if (how == PRODUCT) *z = lac_spmm(tape, p->pl, l, lac_spmm(tape, p->pl, l, r, LAC_TRANSPOSED), LAC_PLAIN);
  if (how == SOLVE) {
    lac_var half = lac_trisolve(tape, p->pl, l, r, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, LAC_PLAIN);
    *z = lac_trisolve(tape, p->pl, l, half, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, LAC_TRANSPOSED);
  }
  return lac_tape_status(tape);
}

/// Conjugate gradients from x = 0 on the tape: residual[i] = |r_i| / |b|.
static lac_status conjugate_gradients(lac_tape *tape, const problem *p, form how, lac_var l, lac_var b, int steps,
                                      lac_var *residual) {
  lac_var a = lac_tape_constant(tape, p->a), r = b, z, d, rz, size = lac_sqrt(tape, lac_dot(tape, b, b));
  lac_status status = precondition(tape, p, how, l, r, &z);

  d = z, rz = lac_dot(tape, r, z);
  residual[0] = lac_div(tape, lac_sqrt(tape, lac_dot(tape, r, r)), size);
  for (int i = 1; i <= steps && status == LAC_OK; i++) {
    lac_var ad = lac_spmm(tape, p->pa, a, d, LAC_PLAIN), alpha = lac_div(tape, rz, lac_dot(tape, d, ad));
    r = lac_sub(tape, r, lac_mul(tape, alpha, ad));
    residual[i] = lac_div(tape, lac_sqrt(tape, lac_dot(tape, r, r)), size);
    if (i == steps) break;
    status = precondition(tape, p, how, l, r, &z);
    lac_var next = lac_dot(tape, r, z);
    d = lac_add(tape, z, lac_mul(tape, lac_div(tape, next, rz), d));
    rz = next;
  }
  return lac_tape_status(tape);
}

/// The loss, its gradient by L, and the last residual.
static lac_status evaluate(problem *p, form how, double *loss, double *last, lac_array **gradient) {
  lac_tape *tape = p->tape;
  lac_var residual[STEPS + 1], sum = {0};
  double total = 0;

  lac_tape_clear(tape);
  lac_var l = lac_tape_leaf(tape, p->l), b = lac_tape_constant(tape, p->b);
  lac_status status = conjugate_gradients(tape, p, how, l, b, STEPS, residual);
  for (int i = 0; i <= STEPS; i++) total += pow(0.7, STEPS - i);
  for (int i = 0; i <= STEPS; i++) {
    double weight = pow(0.7, STEPS - i) / total / log(10);
    sum = lac_add(tape, sum, lac_scale(tape, lac_log1p(tape, residual[i]), weight, 0));
  }
  if (status == LAC_OK) status = lac_tape_gradient(tape, sum, 1, &l, loss, gradient);
  if (status == LAC_OK) status = lac_array_read(p->ctx, lac_tape_value(tape, residual[STEPS]), last);
  return status;
}

/// The residuals of CG on any right-hand side, without recording.
static lac_status run_cg(const problem *p, form how, const double *b, int steps, double *residual) {
  lac_tape *run = NULL;
  lac_array *rhs = NULL;
  lac_var var[SHOWN + 1];
  lac_status status = lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){N, 1}, (void *)b, LAC_OWNERSHIP_COPY, &rhs);

  if (status == LAC_OK) status = lac_tape_create(p->ctx, LAC_TAPE_RUN, &run);
  if (status == LAC_OK) {
    lac_var l = lac_tape_constant(run, p->l);
    status = conjugate_gradients(run, p, how, l, lac_tape_constant(run, rhs), steps, var);
  }
  for (int i = 0; i <= steps && status == LAC_OK; i++)
    status = lac_array_read(p->ctx, lac_tape_value(run, var[i]), residual + i);
  lac_tape_destroy(&run);
  lac_array_destroy(&rhs);
  return status;
}

// -- set-up ----------------------------------------------------------------------------------------------------------

static lac_status make_laplacian(problem *p) {
  double value[5 * N];
  int32_t row[5 * N], col[5 * N];
  int z = 0;
  lac_status status;

  for (int i = 0; i < N; i++) {
    const int neighbour[5] = {i >= FORM ? i - FORM : -1, i % FORM ? i - 1 : -1, i, (i + 1) % FORM ? i + 1 : -1,
                              i + FORM < N ? i + FORM : -1};
    for (int k = 0; k < 5; k++) {
      if (neighbour[k] >= 0) row[z] = i, col[z] = neighbour[k], value[z++] = k == 2 ? 4 : -1;
    }
  }
  status = lac_pattern_from_coo(p->ctx, N, N, z, LAC_I32, row, col, LAC_WIDTH_AUTO, &p->pa, NULL);
  return status == LAC_OK ? lac_array_from(p->ctx, LAC_F64, 1, (int64_t[]){z}, value, LAC_OWNERSHIP_COPY, &p->a)
                          : status;
}

/// L back at its start: row by row the subdiagonal, then the diagonal.
static lac_status start_learning(problem *p) {
  double value[LEARNED];

  for (int i = 0; i < LEARNED; i++) value[i] = i % 2 ? 0.1 : 2;
  return lac_array_write(p->ctx, p->l, value);
}

static lac_status open_problem(problem *p, const double *b) {
  int32_t row[LEARNED], col[LEARNED];
  lac_status status = lac_context_create("cpu", 0, &p->ctx);

  for (int i = 0; i < LEARNED; i++) row[i] = (i + 1) / 2, col[i] = i / 2;
  if (status == LAC_OK) status = lac_tape_create(p->ctx, LAC_TAPE_RECORD, &p->tape);
  if (status == LAC_OK) status = make_laplacian(p);
  if (status == LAC_OK)
    status = lac_pattern_from_coo(p->ctx, N, N, LEARNED, LAC_I32, row, col, LAC_WIDTH_AUTO, &p->pl, NULL);
  if (status == LAC_OK) status = lac_array_create(p->ctx, LAC_F64, 1, (int64_t[]){LEARNED}, &p->l);
  if (status == LAC_OK)
    status = lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){N, 1}, (void *)b, LAC_OWNERSHIP_COPY, &p->b);
  return status;
}

static void close_problem(problem *p) {
  lac_tape_destroy(&p->tape);
  lac_array_destroy(&p->a);
  lac_array_destroy(&p->b);
  lac_array_destroy(&p->l);
  lac_pattern_destroy(&p->pa);
  lac_pattern_destroy(&p->pl);
  lac_context_destroy(&p->ctx);
}

// -- learning and what is known of it --------------------------------------------------------------------------------

/// 1 when a number is not the known one to `digits` digits.
static int differs(double found, double known, int digits) {
  return !(fabs(found - known) <= 0.6 * pow(10, floor(log10(known)) - digits + 1));
}

/// Learn until |r_3|/|b| < 3e-5 or for `most` iterations; `known` has loss and residual at iterations 0 and 100.
static lac_status learn(problem *p, form how, int most, const double known[2][2], int *wrong) {
  lac_optimise_options options = lac_optimise_options_defaults();
  lac_optimiser *adam = NULL;
  lac_array *gradient = NULL;
  double loss, last = 1;
  int it;
  lac_status status = start_learning(p);

  options.method = LAC_OPTIMISE_ADAM, options.rate = 1e-3, options.decay = 0.01,
  options.decay_kind = LAC_DECAY_DECOUPLED;
  if (status == LAC_OK) status = lac_optimiser_create(p->ctx, &options, 1, &p->l, &adam);
  for (it = 0; status == LAC_OK; it++) {
    status = evaluate(p, how, &loss, &last, &gradient);
    if (status == LAC_OK && it % 100 == 0 && it <= 100) {
      int off = differs(loss, known[it / 100][0], 4) + differs(last, known[it / 100][1], 4);
      printf("  iteration %3d: loss %.3e (known %.3e), |r_3|/|b| %.3e (known %.3e)%s\n", it, loss, known[it / 100][0],
             last, known[it / 100][1], off ? "   <-- differs" : "");
      *wrong += off;
    }
    if (status != LAC_OK || last < 3e-5 || it == most) break;
    status = lac_optimiser_step(adam, (const lac_array *const *)&gradient);
    lac_array_destroy(&gradient);
  }
  if (status == LAC_OK) printf("  iteration %3d: loss %.3e, |r_3|/|b| %.3e\n", it, loss, last);
  lac_array_destroy(&gradient);
  lac_optimiser_destroy(&adam);
  return status;
}

/// The right-hand side that is learned: -1..1 from row to row; the same from column to column; and random numbers.
static void make_sides(double b[3][N]) {
  unsigned state = 12345;

  for (int i = 0; i < N; i++) {
    b[0][i] = -1 + 2.0 * (i / FORM + 1) / (FORM + 1);
    b[1][i] = -1 + 2.0 * (i % FORM + 1) / (FORM + 1);
    state = state * 1664525u + 1013904223u;
    b[2][i] = state / 2147483648.0 - 1;
  }
}

/// Residuals of plain and learned CG on all right-hand sides: what was learned holds where it was learned.
static lac_status show(const problem *p, form how, double b[3][N]) {
  static const char *const name[3] = {"the one learned", "never seen: turned", "never seen: random"};
  lac_status status = LAC_OK;

  for (int i = 0; i < 3 && status == LAC_OK; i++) {
    double plain[SHOWN + 1], learned[SHOWN + 1];
    status = run_cg(p, NONE, b[i], SHOWN, plain);
    if (status == LAC_OK) status = run_cg(p, how, b[i], SHOWN, learned);
    printf("    %-19s", name[i]);
    for (int k = 1; k <= 10 && status == LAC_OK; k += 3)
      printf("  step %2d: %.1e (plain %.1e)", k, learned[k], plain[k]);
    printf("\n");
  }
  return status;
}

static int check_plain(const problem *p, const double *b) {
  static const double known[SHOWN] = {1,       0.768,   0.432,   0.232,   0.0894,  0.0314, 0.0130,
                                      7.10e-3, 1.56e-3, 5.18e-4, 7.28e-5, 1.40e-5, 1.97e-6};
  double residual[SHOWN + 1];
  int wrong = run_cg(p, NONE, b, SHOWN, residual) != LAC_OK;

  for (int k = 0; k < SHOWN && !wrong; k++) wrong += differs(residual[k], known[k], 3);
  printf("plain CG: %d residuals %s the known ones\n", SHOWN, wrong ? "differ from" : "equal");
  return wrong;
}

int main(void) {
  static const double product[2][2] = {{1.542e-01, 1.727e-01}, {1.127e-01, 4.806e-02}};
  static const double solve[2][2] = {{1.826e-01, 2.926e-01}, {1.319e-01, 1.007e-01}};
  problem p = {.ctx = NULL};
  double b[3][N];
  int wrong = 0;

  make_sides(b);
  lac_status status = open_problem(&p, b[0]);
  if (status == LAC_OK) wrong += check_plain(&p, b[0]);
  if (status == LAC_OK) printf("learned, z = L L^T r:\n");
  if (status == LAC_OK) status = learn(&p, PRODUCT, 2000, product, &wrong);
  if (status == LAC_OK) status = show(&p, PRODUCT, b);
  if (status == LAC_OK) printf("learned, z = (L L^T)^-1 r:\n");
  if (status == LAC_OK) status = learn(&p, SOLVE, 600, solve, &wrong);
  if (status == LAC_OK) status = show(&p, SOLVE, b);
  if (status != LAC_OK) fprintf(stderr, "%s\n", lac_context_error(p.ctx));
  close_problem(&p);
  return status != LAC_OK || wrong;
}

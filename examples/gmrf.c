// SPDX-License-Identifier: Apache-2.0
/// @file gmrf.c
/// A Gaussian Markov random field on a grid of 200 x 200, fitted by exact maximum likelihood.
///
///     field        x ~ N(0, Q^-1),   Q = tau (kappa^2 I + G)          G = B^T B, the graph Laplacian of the grid
///     data         y = x + sigma e,  e ~ N(0, I)
///     likelihood   -2 log p(y) = logdet(Q + s I) - logdet Q - n log s + s y^T y - s^2 y^T (Q + s I)^-1 y + n log 2 pi,
///                  s = 1 / sigma^2
///
/// tau, kappa and sigma are found by L-BFGS over their logarithms, with the exact gradient: that of a log-determinant
/// is the inverse on the pattern, never dense. The second derivatives, through the same rules once more, give the
/// observed information and with it standard errors. Known: the parameters that made the data, and the log-determinant
/// of Q in closed form, since G is diagonal in the cosine basis.

#include <lacuna/lacuna.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FORM = 200, N = FORM * FORM, EDGES = 2 * FORM * (FORM - 1), NNZ = N + 2 * EDGES, PARAMETERS = 3 };

static const char *const NAME[PARAMETERS] = {"tau", "kappa", "sigma"};
static const double TRUTH[PARAMETERS] = {2, 0.3, 0.5};
static const double PI = 3.14159265358979323846;

typedef struct problem {
  lac_context *ctx;
  lac_tape *tape;
  lac_pattern *pattern;
  lac_solver *solver;
  lac_array *identity, *laplacian;  // values of I and G, in the slots of the pattern
  lac_array *y;
  lac_array *theta[PARAMETERS];  // the logarithms of tau, kappa, sigma
} problem;

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// -- the likelihood --------------------------------------------------------------------------------------------------

/// tau (kappa^2 I + G) + shift I, as values.
static lac_var precision(lac_tape *tape, const problem *p, const lac_var *theta) {
  lac_var tau = lac_exp(tape, theta[0]), kappa2 = lac_exp(tape, lac_scale(tape, theta[1], 2, 0));
  lac_var i = lac_tape_constant(tape, p->identity), g = lac_tape_constant(tape, p->laplacian);
  return lac_mul(tape, tau, lac_add(tape, lac_mul(tape, kappa2, i), g));
}

// [likelihood]
/// -log p(y) / n, which keeps the numbers of the search near 1.
static lac_var likelihood(lac_tape *tape, const problem *p, const lac_var *theta) {
  lac_var y = lac_tape_constant(tape, p->y), i = lac_tape_constant(tape, p->identity);
  lac_var log_s = lac_scale(tape, theta[2], -2, 0), s = lac_exp(tape, log_s);
  lac_var q = precision(tape, p, theta), posterior = lac_add(tape, q, lac_mul(tape, s, i));
  lac_var mean = lac_solve(tape, p->solver, posterior, lac_mul(tape, s, y), LAC_PLAIN);
  lac_var misfit = lac_mul(tape, s, lac_dot(tape, y, lac_sub(tape, y, mean)));
  lac_var logdets = lac_sub(tape, lac_logdet(tape, p->solver, posterior), lac_logdet(tape, p->solver, q));
  lac_var twice = lac_add(tape, lac_sub(tape, logdets, lac_scale(tape, log_s, N, 0)), misfit);
  return lac_offset(tape, lac_scale(tape, twice, 0.5 / N, 0), 0.5 * log(2 * PI), 0);
}
// [end]

static lac_status objective(lac_context *ctx, void *data, int count, lac_array *const *x, double *value,
                            lac_array **gradient) {
  problem *p = data;
  lac_var theta[PARAMETERS];

  (void)ctx;
  lac_tape_clear(p->tape);
  for (int i = 0; i < count; i++) theta[i] = lac_tape_leaf(p->tape, x[i]);
  return lac_tape_gradient(p->tape, likelihood(p->tape, p, theta), count, theta, value, gradient);
}

/// The observed information: the Hessian of -log p(y), by differentiating the gradient.
static lac_status information(problem *p, double h[PARAMETERS][PARAMETERS]) {
  lac_tape *tape = p->tape;
  lac_var theta[PARAMETERS], gradient[PARAMETERS], row[PARAMETERS];
  lac_status status;

  lac_tape_clear(tape);
  for (int i = 0; i < PARAMETERS; i++) theta[i] = lac_tape_leaf(tape, p->theta[i]);
  lac_var f = likelihood(tape, p, theta);
  status = lac_tape_vjp(tape, 1, &f, NULL, PARAMETERS, theta, gradient, LAC_GRAPH_CREATE);
  for (int i = 0; i < PARAMETERS && status == LAC_OK; i++) {
    status = lac_tape_vjp(tape, 1, gradient + i, NULL, PARAMETERS, theta, row, LAC_GRAPH_NONE);
    for (int j = 0; j < PARAMETERS && status == LAC_OK; j++) {
      status = lac_array_read(p->ctx, lac_tape_value(tape, row[j]), &h[i][j]);
      h[i][j] *= N;
    }
  }
  return status;
}

/// The standard errors: roots of the diagonal of H^-1, by cofactors.
static void standard_errors(double h[PARAMETERS][PARAMETERS], double error[PARAMETERS]) {
  double det = 0;

  for (int j = 0; j < 3; j++) {
    int a = (j + 1) % 3, b = (j + 2) % 3;
    det += h[0][j] * (h[1][a] * h[2][b] - h[1][b] * h[2][a]);
  }
  for (int i = 0; i < 3; i++) {
    int a = (i + 1) % 3, b = (i + 2) % 3;
    error[i] = sqrt((h[a][a] * h[b][b] - h[a][b] * h[b][a]) / det);
  }
}

// -- the data --------------------------------------------------------------------------------------------------------

/// A standard normal number (Box and Muller) from a generator of 64 bits.
static double normal(uint64_t *state) {
  double u[2];

  for (int i = 0; i < 2; i++) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    u[i] = ((double)(*state >> 11) + 0.5) * 0x1p-53;
  }
  return sqrt(-2 * log(u[0])) * cos(2 * PI * u[1]);
}

/// M^T w for Q = M^T M, M = sqrt(tau) [kappa I; B]: then Q^-1 M^T w has the covariance Q^-1.
static void half_of_precision(uint64_t *state, double *out) {
  double root = sqrt(TRUTH[0]);

  for (int i = 0; i < N; i++) out[i] = root * TRUTH[1] * normal(state);
  for (int i = 0; i < N; i++) {
    int right = (i + 1) % FORM ? i + 1 : -1, below = i + FORM < N ? i + FORM : -1;
    for (int k = 0; k < 2; k++) {
      int j = k ? below : right;
      if (j < 0) continue;
      double w = root * normal(state);
      out[i] += w, out[j] -= w;
    }
  }
}

static lac_status set_theta(problem *p, const double *parameters) {
  lac_status status = LAC_OK;

  for (int i = 0; i < PARAMETERS && status == LAC_OK; i++) {
    double logarithm = log(parameters[i]);
    status = lac_array_write(p->ctx, p->theta[i], &logarithm);
  }
  return status;
}

/// A field with the true parameters into `field`, and the data y.
static lac_status simulate(problem *p, uint64_t state, double *field) {
  lac_tape *tape = p->tape;
  lac_array *b = NULL;
  lac_var theta[PARAMETERS];
  lac_status status = set_theta(p, TRUTH);

  for (int i = 0; i < 8; i++) (void)normal(&state);  // neighbouring seeds part
  half_of_precision(&state, field);
  if (status == LAC_OK) status = lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){N, 1}, field, LAC_OWNERSHIP_COPY, &b);
  if (status == LAC_OK) {
    lac_tape_clear(tape);
    for (int i = 0; i < PARAMETERS; i++) theta[i] = lac_tape_constant(tape, p->theta[i]);
    lac_var x = lac_solve(tape, p->solver, precision(tape, p, theta), lac_tape_constant(tape, b), LAC_PLAIN);
    status = lac_tape_status(tape);
    if (status == LAC_OK) status = lac_array_read(p->ctx, lac_tape_value(tape, x), field);
  }
  if (status == LAC_OK) {
    double *y = lac_array_edit(p->y);
    for (int i = 0; i < N; i++) y[i] = field[i] + TRUTH[2] * normal(&state);
  }
  lac_array_destroy(&b);
  return status;
}

// -- set-up ----------------------------------------------------------------------------------------------------------

static lac_status make_matrices(problem *p) {
  int32_t *row = malloc(NNZ * sizeof *row), *col = malloc(NNZ * sizeof *col);
  double *identity = malloc(NNZ * sizeof *identity), *laplacian = malloc(NNZ * sizeof *laplacian);
  lac_status status = LAC_ERR_MEMORY;
  int z = 0;

  for (int i = 0; i < N && row && col && identity && laplacian; i++) {
    const int neighbour[5] = {i >= FORM ? i - FORM : -1, i % FORM ? i - 1 : -1, i, (i + 1) % FORM ? i + 1 : -1,
                              i + FORM < N ? i + FORM : -1};
    int degree = 0;
    for (int k = 0; k < 5; k++) degree += k != 2 && neighbour[k] >= 0;
    for (int k = 0; k < 5; k++) {
      if (neighbour[k] < 0) continue;
      row[z] = i, col[z] = neighbour[k];
      identity[z] = k == 2, laplacian[z++] = k == 2 ? degree : -1;
    }
  }
  if (z == NNZ) status = lac_pattern_from_coo(p->ctx, N, N, z, LAC_I32, row, col, LAC_WIDTH_AUTO, &p->pattern, NULL);
  if (status == LAC_OK)
    status = lac_array_from(p->ctx, LAC_F64, 1, (int64_t[]){z}, identity, LAC_OWNERSHIP_COPY, &p->identity);
  if (status == LAC_OK)
    status = lac_array_from(p->ctx, LAC_F64, 1, (int64_t[]){z}, laplacian, LAC_OWNERSHIP_COPY, &p->laplacian);
  free(row), free(col), free(identity), free(laplacian);
  return status;
}

static lac_status open_problem(problem *p) {
  lac_status status = lac_context_create("cpu", 0, &p->ctx);

  if (status == LAC_OK) status = lac_tape_create(p->ctx, LAC_TAPE_RECORD, &p->tape);
  if (status == LAC_OK) status = make_matrices(p);
  if (status == LAC_OK) status = lac_solver_create(p->ctx, p->pattern, NULL, &p->solver);
  if (status == LAC_OK) status = lac_array_create(p->ctx, LAC_F64, 2, (int64_t[]){N, 1}, &p->y);
  for (int i = 0; i < PARAMETERS && status == LAC_OK; i++)
    status = lac_array_create(p->ctx, LAC_F64, 0, NULL, &p->theta[i]);
  return status;
}

static void close_problem(problem *p) {
  for (int i = 0; i < PARAMETERS; i++) lac_array_destroy(&p->theta[i]);
  lac_array_destroy(&p->y);
  lac_array_destroy(&p->identity);
  lac_array_destroy(&p->laplacian);
  lac_solver_destroy(&p->solver);
  lac_pattern_destroy(&p->pattern);
  lac_tape_destroy(&p->tape);
  lac_context_destroy(&p->ctx);
}

// -- what is known ---------------------------------------------------------------------------------------------------

/// logdet Q at the true parameters against sum log tau (kappa^2 + lambda), lambda = 4 - 2 cos(pi i / n) - 2 cos(pi j /
/// n).
static lac_status check_logdet(problem *p, double *difference) {
  double known = 0, found = 0;
  lac_var theta[PARAMETERS];

  for (int i = 0; i < FORM; i++) {
    for (int j = 0; j < FORM; j++) {
      double lambda = 4 - 2 * cos(PI * i / FORM) - 2 * cos(PI * j / FORM);
      known += log(TRUTH[0] * (TRUTH[1] * TRUTH[1] + lambda));
    }
  }
  lac_tape_clear(p->tape);
  for (int i = 0; i < PARAMETERS; i++) theta[i] = lac_tape_constant(p->tape, p->theta[i]);
  lac_var logdet = lac_logdet(p->tape, p->solver, precision(p->tape, p, theta));
  lac_status status = lac_tape_status(p->tape);
  if (status == LAC_OK) status = lac_array_read(p->ctx, lac_tape_value(p->tape, logdet), &found);
  *difference = fabs(found - known) / known;
  printf("logdet Q         %.10f, in closed form %.10f: %.1e apart\n", found, known, *difference);
  return status;
}

static int progress(void *data, const lac_optimise_report *report) {
  (void)data;
  printf("\r  step %2d: -log p(y) / n = %.9f, |gradient| %.1e  ", report->iterations, report->value,
         report->gradient_norm);
  fflush(stdout);
  return 0;
}

static lac_status fit(problem *p, lac_optimise_report *report) {
  lac_optimise_options options = lac_optimise_options_defaults();
  lac_status status = set_theta(p, (double[]){1, 1, 1});

  options.gradient_tolerance = 1e-7;
  options.progress = progress;
  if (status == LAC_OK) status = lac_minimise(p->ctx, &options, PARAMETERS, p->theta, objective, p, report);
  printf("\n");
  return status;
}

/// Estimates beside the truth; how many lie more than two standard errors away. The errors of logarithms are relative.
static lac_status show(problem *p, int *missed) {
  double h[PARAMETERS][PARAMETERS], error[PARAMETERS], logarithm;
  lac_status status = information(p, h);

  if (status != LAC_OK) return status;
  standard_errors(h, error);
  printf("            truth   estimate   standard error   off by\n");
  for (int i = 0; i < PARAMETERS && status == LAC_OK; i++) {
    status = lac_array_read(p->ctx, p->theta[i], &logarithm);
    double estimate = exp(logarithm), off = (logarithm - log(TRUTH[i])) / error[i];
    printf("  %-6s %8.4f   %8.4f   %14.4f   %+.2f standard errors\n", NAME[i], TRUTH[i], estimate, estimate * error[i],
           off);
    *missed += !(fabs(off) < 2);
  }
  return status;
}

/// gmrf [seed]: another field.
int main(int count, char **words) {
  problem p = {0};
  uint64_t seed = count > 1 ? strtoull(words[1], NULL, 10) : 4;
  lac_optimise_report report = {0};
  double *field = malloc(N * sizeof *field), difference = 1, begin;
  int missed = 0;
  lac_status status = field ? open_problem(&p) : LAC_ERR_MEMORY;

  printf("A Gaussian Markov random field on a grid of %d x %d: tau, kappa, sigma by exact maximum likelihood\n", FORM,
         FORM);
  if (status == LAC_OK) status = simulate(&p, seed, field);
  if (status == LAC_OK) status = check_logdet(&p, &difference);
  begin = seconds();
  if (status == LAC_OK) status = fit(&p, &report);
  if (status == LAC_OK)
    printf("  %d likelihoods with their gradients in %.2f s: %s\n", report.evaluations, seconds() - begin,
           report.reason);
  begin = seconds();
  if (status == LAC_OK) status = show(&p, &missed);
  if (status == LAC_OK) printf("  the information, by second derivatives, in %.2f s\n", seconds() - begin);
  if (status != LAC_OK) fprintf(stderr, "gmrf: %s\n", p.ctx ? lac_context_error(p.ctx) : "out of memory");
  close_problem(&p);
  free(field);
  return status != LAC_OK || missed > 0 || !(difference < 1e-12) || report.outcome > LAC_OUTCOME_SMALL_DECREASE;
}

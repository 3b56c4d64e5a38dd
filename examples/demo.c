// SPDX-License-Identifier: Apache-2.0
/// @file demo.c
/// Recover the conductivity of a plate from noisy temperatures at one point in twenty.
///
///     -div(k grad u_s) = f_s     on the unit square, u = 0 at the boundary, s = 1..S heat sources, n x n cells
///     k     = exp(theta),  theta = scale (I + l^2 L)^-1 w      L: differences between neighbouring cells
///     a(k)  = M k                the entries of the matrix: conductivities of faces are means of two cells
///     loss  = |W (A(k)^-1 F - D)|^2 / (2 noise^2) + |w|^2 / 2
///
/// W picks the observed points, D are the observations. w is white, so theta is a smooth random field that deviates by
/// DEVIATION from 0 on a length of l cells: L-BFGS looks for the most probable w, and stops where the misfit is what
/// the noise alone would leave (the discrepancy principle): from there on it would fit the noise. Both systems are
/// solved by CG with multigrid. The pattern is frozen: new values only refresh the hierarchy, and the adjoint uses that
/// of the forward.
///
///     demo [n]       512 by default

#define _POSIX_C_SOURCE 200809L  // isatty, clock_gettime

#include <lacuna/lacuna.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "picture.h"

enum { SOURCES = 4, ITERATIONS = 60, EVALUATIONS = 400 };

#define NOISE 0.01     // beside the largest temperature
#define SEEN 0.05      // of the points
#define ENOUGH 1.02    // misfit beside that of the noise
#define DEVIATION 0.7  // of log k
#define LENGTH 0.06    // of its variations, beside the form of the plate
#define PICTURE "build/demo.png"

/// A growing list of coordinates with values, from which patterns are built.
typedef struct triplets {
  int64_t count, room;
  int32_t *row, *col;
  double *value;
} triplets;

/// A sparse matrix of constants.
typedef struct constants {
  lac_pattern *pattern;
  lac_array *values;
} constants;

typedef struct problem {
  lac_context *ctx;
  lac_tape *tape;
  int n;
  int64_t cells;
  lac_pattern *pattern;  // of A
  lac_solver *solver;    // of A
  constants assembly;    // M
  constants prior;       // I + l^2 L
  lac_solver *smoother;  // of it
  lac_array *sources, *observed, *mask;
  double scale;
  double noise;  // the misfit that it leaves: half a unit for each observation
  struct timespec begin;
  int evaluations;
  double history[EVALUATIONS];  // of the misfit
} problem;

/// Report the first error and stop: this is a program, not a library.
static void must(const problem *p, lac_status status) {
  if (status == LAC_OK) return;
  fprintf(stderr, "\n%s\n  in %s\n", lac_context_error(p->ctx), lac_context_trace(p->ctx));
  exit(1);
}

static void *take(size_t count, size_t size) {
  void *block = calloc(count ? count : 1, size);
  if (block) return block;
  fprintf(stderr, "out of memory\n");
  exit(1);
}

// -- the matrices ----------------------------------------------------------------------------------------------------

static void add(triplets *t, int64_t row, int64_t col, double value) {
  t->row[t->count] = (int32_t)row, t->col[t->count] = (int32_t)col, t->value[t->count++] = value;
}

/// The matrix of a list; values of coordinates that stand twice are summed along the entry map.
static constants build(problem *p, int64_t rows, int64_t cols, triplets *t) {
  constants m = {NULL, NULL};
  lac_map *entries = NULL;
  lac_array *listed = NULL;
  lac_tape *run = NULL;

  must(p, lac_pattern_from_coo(p->ctx, rows, cols, t->count, LAC_I32, t->row, t->col, LAC_WIDTH_AUTO, &m.pattern,
                               &entries));
  must(p, lac_array_from(p->ctx, LAC_F64, 1, (int64_t[]){t->count}, t->value, LAC_OWNERSHIP_BORROW, &listed));
  must(p, lac_tape_create(p->ctx, LAC_TAPE_RUN, &run));
  lac_var summed = lac_remap(run, entries, lac_tape_constant(run, listed), LAC_PLAIN);
  must(p, lac_tape_status(run));
  must(p, lac_array_clone(p->ctx, lac_tape_value(run, summed), &m.values));
  lac_tape_destroy(&run);
  lac_array_destroy(&listed);
  lac_map_destroy(&entries);
  return m;
}

/// The neighbour of cell c in direction 0 to 3 (up, left, right, down), or -1 at the boundary.
static int64_t neighbour(const problem *p, int64_t c, int direction) {
  int64_t i = c / p->n, j = c % p->n;
  switch (direction) {
    case 0:
      return i > 0 ? c - p->n : -1;
    case 1:
      return j > 0 ? c - 1 : -1;
    case 2:
      return j < p->n - 1 ? c + 1 : -1;
    default:
      return i < p->n - 1 ? c + p->n : -1;
  }
}

/// I + l^2 L, on the five-point pattern that A has too.
static void make_prior(problem *p, triplets *t) {
  double l2 = LENGTH * p->n * LENGTH * p->n;

  t->count = 0;
  for (int64_t c = 0; c < p->cells; c++) {
    add(t, c, c, 1);
    for (int d = 0; d < 4; d++) {
      int64_t e = neighbour(p, c, d);
      if (e >= 0) add(t, c, c, l2), add(t, c, e, -l2);
    }
  }
  p->prior = build(p, p->cells, p->cells, t);
  p->pattern = lac_pattern_retain(p->prior.pattern);
  p->scale = DEVIATION * sqrt(4 * 3.14159265358979 * l2);
}

/// M: from the conductivities of the cells to the entries of A, which stand by rows and in them by columns.
static void make_assembly(problem *p, triplets *t) {
  int64_t slot = 0;

  t->count = 0;
  for (int64_t c = 0; c < p->cells; c++) {
    int64_t before = (neighbour(p, c, 0) >= 0) + (neighbour(p, c, 1) >= 0), diagonal = slot + before;
    for (int d = 0; d < 4; d++) {
      int64_t e = neighbour(p, c, d);
      if (d == 2) slot++;  // the diagonal stands between
      if (e < 0) {
        add(t, diagonal, c, 2);  // the boundary is half a cell away
      } else {
        add(t, diagonal, c, 0.5), add(t, diagonal, e, 0.5);
        add(t, slot, c, -0.5), add(t, slot++, e, -0.5);
      }
    }
  }
  p->assembly = build(p, lac_pattern_nnz(p->pattern), p->cells, t);
}

// [solver]
static lac_solver *make_solver(problem *p) {
  lac_solver_options options = lac_solver_options_defaults();
  lac_solver *solver = NULL;

  options.method = "flexible_cg";
  options.preconditioner.method = "multigrid";
  options.preconditioner.kind = LAC_MULTIGRID_SMOOTHED;
  options.iteration.rtol = 1e-6;  // far below the noise
  must(p, lac_solver_create(p->ctx, p->pattern, &options, &solver));
  return solver;
}
// [end]

// -- the experiment --------------------------------------------------------------------------------------------------

/// What is to be found: a background that varies slowly, a warm block, a cold ring.
static void true_conductivity(const problem *p, double *k) {
  for (int64_t c = 0; c < p->cells; c++) {
    double x = (double)(c % p->n) / p->n, y = (double)(c / p->n) / p->n;
    double block = 1 / (1 + exp(-40 * fmin(fmin(x - 0.14, 0.48 - x), fmin(y - 0.52, 0.84 - y))));
    double ring = exp(-pow((hypot(x - 0.66, y - 0.34) - 0.17) / 0.06, 2));
    k[c] = exp(0.3 * sin(5 * x + 2 * y) + 0.8 * block - 0.9 * ring);
  }
}

/// One broad bump a source, in the middle of each quarter.
static void make_sources(problem *p) {
  double *f = take((size_t)p->cells * SOURCES, sizeof *f);

  for (int64_t i = 0; i < p->cells * SOURCES; i++) {
    int64_t c = i / SOURCES, s = i % SOURCES;
    double x = (double)(c % p->n) / p->n - 0.25 - 0.5 * (double)(s % 2);
    double y = (double)(c / p->n) / p->n - 0.25 - 0.5 * (double)(s / 2);
    f[i] = exp(-(x * x + y * y) / (2 * 0.15 * 0.15));
  }
  must(p, lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){p->cells, SOURCES}, f, LAC_OWNERSHIP_COPY, &p->sources));
  free(f);
}

/// u = A(M k)^-1 F
static lac_var temperatures(problem *p, lac_tape *tape, lac_var k) {
  lac_var a = lac_spmm(tape, p->assembly.pattern, lac_tape_constant(tape, p->assembly.values), k, LAC_PLAIN);
  a = lac_reshape(tape, a, 1, (int64_t[]){lac_pattern_nnz(p->pattern)});
  return lac_solve(tape, p->solver, a, lac_tape_constant(tape, p->sources), LAC_PLAIN);
}

/// Normal numbers by the polar method, the same in every run.
static double normal(void) {
  double x, y, r;
  do {
    x = 2.0 * rand() / RAND_MAX - 1, y = 2.0 * rand() / RAND_MAX - 1, r = x * x + y * y;
  } while (r >= 1 || r == 0);
  return x * sqrt(-2 * log(r) / r);
}

/// The true temperatures, with noise, at the points that are seen; in units of the noise.
static void observe(problem *p, const double *truth) {
  size_t count = (size_t)p->cells * SOURCES;
  double *u = take(count, sizeof *u), *f = take(count, sizeof *f), *mask = take((size_t)p->cells, sizeof *mask);
  double largest = 0;
  lac_array *k = NULL;
  lac_tape *run = NULL;

  srand(7);
  must(p, lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){p->cells, 1}, (void *)truth, LAC_OWNERSHIP_BORROW, &k));
  must(p, lac_tape_create(p->ctx, LAC_TAPE_RUN, &run));
  lac_var solved = temperatures(p, run, lac_tape_constant(run, k));
  must(p, lac_tape_status(run));
  must(p, lac_array_read(p->ctx, lac_tape_value(run, solved), u));
  must(p, lac_array_read(p->ctx, p->sources, f));
  for (size_t i = 0; i < count; i++) largest = fmax(largest, u[i]);
  for (size_t i = 0; i < count; i++) u[i] = u[i] / (NOISE * largest) + normal(), f[i] /= NOISE * largest;
  for (int64_t c = 0; c < p->cells; c++) {
    mask[c] = rand() < SEEN * RAND_MAX;
    p->noise += 0.5 * SOURCES * mask[c];
  }
  must(p, lac_array_write(p->ctx, p->sources, f));
  must(p, lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){p->cells, SOURCES}, u, LAC_OWNERSHIP_COPY, &p->observed));
  must(p, lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){p->cells, 1}, mask, LAC_OWNERSHIP_COPY, &p->mask));
  lac_tape_destroy(&run);
  lac_array_destroy(&k);
  free(u), free(f), free(mask);
}

// -- the fit ---------------------------------------------------------------------------------------------------------

/// k = exp(scale (I + l^2 L)^-1 w)
static lac_var conductivity(problem *p, lac_tape *tape, lac_var w) {
  lac_var smooth = lac_solve(tape, p->smoother, lac_tape_constant(tape, p->prior.values), w, LAC_PLAIN);
  return lac_exp(tape, lac_scale(tape, smooth, p->scale, 0));
}

/// loss and gradient, for the optimiser.
static lac_status evaluate(lac_context *ctx, void *data, int count, lac_array *const *x, double *value,
                           lac_array **gradient) {
  problem *p = data;
  lac_tape *tape = p->tape;
  double half = 0;

  lac_tape_clear(tape);
  lac_var w = lac_tape_leaf(tape, x[0]), k = conductivity(p, tape, w);
  lac_var miss = lac_sub(tape, temperatures(p, tape, k), lac_tape_constant(tape, p->observed));
  lac_var seen = lac_mul(tape, lac_tape_constant(tape, p->mask), miss);
  lac_var misfit = lac_scale(tape, lac_dot(tape, seen, seen), 0.5, 0);
  lac_var loss = lac_add(tape, misfit, lac_scale(tape, lac_dot(tape, w, w), 0.5, 0));
  lac_status status = lac_tape_gradient(tape, loss, count, &w, value, gradient);
  if (status == LAC_OK) status = lac_array_read(ctx, lac_tape_value(tape, misfit), &half);
  if (p->evaluations < EVALUATIONS) p->history[p->evaluations++] = half;
  return status;
}

static double seconds_since(const struct timespec *begin) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - begin->tv_sec) + 1e-9 * (double)(now.tv_nsec - begin->tv_nsec);
}

/// A bar that moves on a terminal, a few lines elsewhere: misfit, time, time left. Ends the fit when only noise is
/// left.
static int progress(void *data, const lac_optimise_report *report) {
  static const char full[] = "##############################", empty[] = "..............................";
  const problem *p = data;
  double spent = seconds_since(&p->begin), misfit = p->history[p->evaluations - 1] / p->noise;
  int done = report->iterations * 30 / ITERATIONS;

  if (isatty(1) || report->iterations % 10 == 0) {
    printf("%s  [%.*s%.*s] step %2d of at most %d, misfit %.3f of the noise, %.0f s, at most %.0f s left %s",
           isatty(1) ? "\r" : "", done, full, 30 - done, empty, report->iterations, ITERATIONS, misfit, spent,
           spent / report->iterations * (ITERATIONS - report->iterations), isatty(1) ? "" : "\n");
    fflush(stdout);
  }
  return misfit <= ENOUGH;
}

/// Fit w from 0 on; leaves the conductivities in `k`. 1: it converged.
static int fit(problem *p, double *k) {
  lac_optimise_options options = lac_optimise_options_defaults();
  lac_optimise_report report = {0};
  lac_array *w = NULL;
  lac_tape *run = NULL;

  options.max_iterations = ITERATIONS;
  options.value_tolerance = 1e-4;
  options.progress = progress, options.progress_data = p;
  must(p, lac_array_create(p->ctx, LAC_F64, 2, (int64_t[]){p->cells, 1}, &w));
  must(p, lac_array_fill(p->ctx, w, 0, 0));
  clock_gettime(CLOCK_MONOTONIC, &p->begin);
  must(p, lac_minimise(p->ctx, &options, 1, &w, evaluate, p, &report));
  must(p, lac_tape_create(p->ctx, LAC_TAPE_RUN, &run));
  lac_var found = conductivity(p, run, lac_tape_constant(run, w));
  must(p, lac_tape_status(run));
  must(p, lac_array_read(p->ctx, lac_tape_value(run, found), k));
  if (report.outcome == LAC_OUTCOME_STOPPED) {
    snprintf(report.reason, sizeof report.reason, "converged: the misfit is that of the noise after %d steps",
             report.iterations);
  }
  printf("%s  %s\n  %d evaluations of loss and gradient in %.1f s\n", isatty(1) ? "\n" : "", report.reason,
         report.evaluations, seconds_since(&p->begin));
  lac_tape_destroy(&run);
  lac_array_destroy(&w);
  return report.outcome <= LAC_OUTCOME_STOPPED;
}

// -- what came of it -------------------------------------------------------------------------------------------------

/// The size of the difference of two fields, relative to the second.
static double relative(int64_t n, const double *a, const double *b) {
  double up = 0, down = 0;

  for (int64_t i = 0; i < n; i++) up += (a[i] - b[i]) * (a[i] - b[i]), down += b[i] * b[i];
  return sqrt(up / down);
}

/// Truth, recovery, error, and the misfit over the evaluations.
static int draw(const problem *p, const double *truth, const double *found) {
  enum { FORM = 512, GAP = 28 };
  static const char *const titles[] = {"truth", "recovery", "error", "misfit, logarithm"};
  picture sheet = picture_new(2 * FORM + 3 * GAP, 2 * FORM + 3 * GAP);
  double *error = take((size_t)p->cells, sizeof *error), low = INFINITY, high = 0;

  if (!sheet.rgb) return free(error), 1;
  for (int64_t c = 0; c < p->cells; c++) {
    low = fmin(low, truth[c]), high = fmax(high, truth[c]), error[c] = fabs(found[c] - truth[c]);
  }
  const double *fields[] = {truth, found, error};
  for (int i = 0; i < 4; i++) {
    int x = GAP + i % 2 * (FORM + GAP), y = GAP + i / 2 * (FORM + GAP);
    char title[80];
    snprintf(title, sizeof title, "%s", titles[i]);
    if (i < 3) snprintf(title, sizeof title, "%s %.2f - %.2f", titles[i], i < 2 ? low : 0, i < 2 ? high : 0.5 * high);
    picture_text(&sheet, x, y - 18, 2, title);
    if (i < 3) picture_field(&sheet, x, y, FORM, p->n, fields[i], i < 2 ? low : 0, i < 2 ? high : 0.5 * high);
    if (i == 3) picture_curve(&sheet, x, y, FORM, p->evaluations, p->history);
  }
  free(error);
  return picture_write(&sheet, PICTURE);
}

static void open_problem(problem *p, triplets *t) {
  p->cells = (int64_t)p->n * p->n;
  t->room = 24 * p->cells;
  t->row = take((size_t)t->room, sizeof *t->row);
  t->col = take((size_t)t->room, sizeof *t->col);
  t->value = take((size_t)t->room, sizeof *t->value);
  must(p, lac_context_create("cpu", 0, &p->ctx));
  must(p, lac_tape_create(p->ctx, LAC_TAPE_RECORD, &p->tape));
  make_prior(p, t);
  make_assembly(p, t);
  make_sources(p);
  p->solver = make_solver(p), p->smoother = make_solver(p);
  free(t->row), free(t->col), free(t->value);
}

static void close_problem(problem *p) {
  lac_array *arrays[] = {p->assembly.values, p->prior.values, p->sources, p->observed, p->mask};

  for (int i = 0; i < 5; i++) lac_array_destroy(&arrays[i]);
  lac_tape_destroy(&p->tape);
  lac_solver_destroy(&p->solver);
  lac_solver_destroy(&p->smoother);
  lac_pattern_destroy(&p->assembly.pattern);
  lac_pattern_destroy(&p->prior.pattern);
  lac_pattern_destroy(&p->pattern);
  lac_context_destroy(&p->ctx);
}

int main(int argc, char **argv) {
  problem p = {.n = argc > 1 ? atoi(argv[1]) : 512};
  triplets scratch = {0};

  if (p.n < 16 || p.n > 4096) return fprintf(stderr, "usage: demo [n], the form of the grid, 16 to 4096\n"), 2;
  open_problem(&p, &scratch);
  double *truth = take((size_t)p.cells, sizeof *truth), *found = take((size_t)p.cells, sizeof *found);
  true_conductivity(&p, truth);
  observe(&p, truth);
  printf(
      "conductivity of a plate, %d x %d unknowns, from %d experiments, temperatures at 5 %% of the points, noise 1 "
      "%%\n",
      p.n, p.n, SOURCES);
  int has_converged = fit(&p, found);
  double error = relative(p.cells, found, truth);
  int failed = draw(&p, truth, found);
  printf("  relative L2 error of the recovered conductivity: %.1f %%\n", 100 * error);
  printf(failed ? "the picture could not be written to %s\n" : "  truth, recovery, error, misfit: %s\n", PICTURE);
  free(truth), free(found);
  close_problem(&p);
  return failed || !has_converged || !(error < 0.1);
}

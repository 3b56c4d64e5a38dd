// SPDX-License-Identifier: Apache-2.0
/// @file demo.c
/// Recover an anisotropic diffusion coefficient from observations of the solution.
///
///     -div(K grad u_s) = f_s     on the unit square, u = 0 at the boundary, K = diag(kx, ky) varying in space, s = 1..S sources
///     a(q) = M q^2               the entries of the matrix, linear in the coefficients of the cells, which are squares
///     loss = |W (A(q)^-1 F - D)|^2 + alpha |G q|^2
///
/// W picks the observed cells, D are the observations with noise, G takes differences between neighbouring cells. The tape
/// differentiates through the assembly and the sparse solve; each gradient uses the factor of its own forward.

#define _POSIX_C_SOURCE 200809L  // isatty

#include <lacuna/lacuna.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "heatmap.h"

enum { N = 64, CELLS = N * N, SOURCES = 16, PARAMETERS = 2 * CELLS, ITERATIONS = 150 };

#define PICTURE "build/demo.svg"

/// A growing list of coordinates with values, from which patterns are built.
typedef struct triplets {
  int count;
  int32_t row[16 * CELLS], col[16 * CELLS];
  double value[16 * CELLS];
} triplets;

/// A sparse matrix of constants.
typedef struct constants {
  lac_pattern *pattern;
  lac_array *values;
} constants;

typedef struct problem {
  lac_context *ctx;
  lac_tape *tape;
  lac_pattern *pattern;  // of A
  lac_solver *solver;
  constants assembly;    // M
  constants difference;  // G
  lac_array *sources, *observed, *mask;
  double alpha;
  clock_t begin;
} problem;

/// Report the first error and stop: this is a program, not a library.
static void must(const problem *p, lac_status status) {
  if (status == LAC_OK) return;
  fprintf(stderr, "\n%s\n  in %s\n", lac_context_error(p->ctx), lac_context_trace(p->ctx));
  exit(1);
}

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
  must(p, lac_array_from(p->ctx, LAC_F64, 1, (int64_t[]){t->count}, t->value, LAC_BORROW, &listed));
  must(p, lac_tape_create(p->ctx, LAC_RUN, &run));
  lac_var summed = lac_remap(run, entries, LAC_N, lac_tape_constant(run, listed));
  must(p, lac_tape_status(run));
  must(p, lac_array_clone(p->ctx, lac_tape_value(run, summed), &m.values));
  lac_tape_destroy(&run);
  lac_array_destroy(&listed);
  lac_map_destroy(&entries);
  return m;
}

/// The five-point pattern of A. Its slots are found again by row and column when M is assembled.
static void make_pattern(problem *p, triplets *t) {
  t->count = 0;
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      int c = i * N + j;
      if (i > 0) add(t, c, c - N, 0);
      if (j > 0) add(t, c, c - 1, 0);
      add(t, c, c, 0);
      if (j < N - 1) add(t, c, c + 1, 0);
      if (i < N - 1) add(t, c, c + N, 0);
    }
  }
  must(p, lac_pattern_from_coo(p->ctx, CELLS, CELLS, t->count, LAC_I32, t->row, t->col, LAC_WIDTH_AUTO, &p->pattern,
                               NULL));
  must(p, lac_solver_create(p->ctx, p->pattern, NULL, &p->solver));
}

/// One face between cells c and d (d < 0: the boundary) of direction 0 (x) or 1 (y): what it adds to row c of A.
static void add_face(triplets *m, int64_t diagonal, int64_t neighbour, int c, int d, int direction) {
  int64_t k = (int64_t)direction * CELLS;

  if (d < 0) {
    add(m, diagonal, k + c, 2);  // half a cell away
  } else {
    add(m, diagonal, k + c, 0.5), add(m, diagonal, k + d, 0.5);
    add(m, neighbour, k + c, -0.5), add(m, neighbour, k + d, -0.5);
  }
}

/// M: from the coefficients of the cells to the entries of A.
static void make_assembly(problem *p, triplets *m) {
  int64_t slot = 0;

  m->count = 0;
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      int c = i * N + j;
      int64_t up = i > 0 ? slot++ : -1, left = j > 0 ? slot++ : -1, diagonal = slot++;
      int64_t right = j < N - 1 ? slot++ : -1, down = i < N - 1 ? slot++ : -1;
      add_face(m, diagonal, up, c, up < 0 ? -1 : c - N, 1);
      add_face(m, diagonal, left, c, left < 0 ? -1 : c - 1, 0);
      add_face(m, diagonal, right, c, right < 0 ? -1 : c + 1, 0);
      add_face(m, diagonal, down, c, down < 0 ? -1 : c + N, 1);
    }
  }
  p->assembly = build(p, lac_pattern_nnz(p->pattern), PARAMETERS, m);
}

/// G: differences between neighbouring cells, of both coefficients.
static void make_difference(problem *p, triplets *g) {
  int64_t row = 0;

  g->count = 0;
  for (int k = 0; k < PARAMETERS; k += CELLS) {
    for (int c = 0; c < CELLS; c++) {
      if (c % N < N - 1) add(g, row, k + c, -1), add(g, row++, k + c + 1, 1);
      if (c < CELLS - N) add(g, row, k + c, -1), add(g, row++, k + c + N, 1);
    }
  }
  p->difference = build(p, row, PARAMETERS, g);
}

/// What is to be found: a background that varies slowly, a block that conducts along x, a disc that conducts along y.
static void true_coefficients(double *k) {
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      double x = (j + 0.5) / N, y = (i + 0.5) / N, disc = exp(-pow(hypot(x - 0.68, y - 0.35) / 0.14, 4));
      double block = 1 / (1 + exp(-60 * fmin(fmin(x - 0.12, 0.55 - x), fmin(y - 0.55, 0.85 - y))));
      k[i * N + j] = 1 + 0.3 * sin(3 * x + y) + 2 * block;
      k[CELLS + i * N + j] = 1 + 0.3 * cos(2 * y - x) + 2 * disc;
    }
  }
}

/// S bumps on a 4 x 4 raster.
static void make_sources(problem *p) {
  double *f = calloc((size_t)CELLS * SOURCES, sizeof *f);

  for (int c = 0; c < CELLS; c++) {
    for (int s = 0; s < SOURCES; s++) {
      double x = (c % N + 0.5) / N - (s % 4 + 0.5) / 4, y = (c / N + 0.5) / N - (s / 4 + 0.5) / 4;
      f[c * SOURCES + s] = exp(-(x * x + y * y) / (2 * 0.05 * 0.05));
    }
  }
  must(p, lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){CELLS, SOURCES}, f, LAC_COPY, &p->sources));
  free(f);
}

/// u(q) = A(M q^2)^-1 F
static lac_var solution(problem *p, lac_tape *tape, lac_var q) {
  lac_var k = lac_mul(tape, q, q);
  lac_var a = lac_spmm(tape, p->assembly.pattern, LAC_N, lac_tape_constant(tape, p->assembly.values), k);
  a = lac_reshape(tape, a, 1, (int64_t[]){lac_pattern_nnz(p->pattern)});
  return lac_solve(tape, p->solver, LAC_N, a, lac_tape_constant(tape, p->sources));
}

/// Observe the true solution in half of the cells, with noise of a thousandth of its size.
static void observe(problem *p, const double *truth) {
  double *q = malloc(PARAMETERS * sizeof *q), *u = malloc((size_t)CELLS * SOURCES * sizeof *u), mask[CELLS],
         largest = 0;
  lac_array *at = NULL;
  lac_tape *run = NULL;

  srand(7);
  for (int i = 0; i < PARAMETERS; i++) q[i] = sqrt(truth[i]);
  must(p, lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){PARAMETERS, 1}, q, LAC_COPY, &at));
  must(p, lac_tape_create(p->ctx, LAC_RUN, &run));
  lac_var solved = solution(p, run, lac_tape_constant(run, at));
  must(p, lac_tape_status(run));
  must(p, lac_array_read(p->ctx, lac_tape_value(run, solved), u));
  for (int i = 0; i < CELLS * SOURCES; i++) largest = fmax(largest, fabs(u[i]));
  for (int i = 0; i < CELLS * SOURCES; i++) u[i] = u[i] / largest + 1e-3 * (2.0 * rand() / RAND_MAX - 1);
  for (int c = 0; c < CELLS; c++) mask[c] = rand() % 2;
  must(p, lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){CELLS, SOURCES}, u, LAC_COPY, &p->observed));
  must(p, lac_array_from(p->ctx, LAC_F64, 2, (int64_t[]){CELLS, 1}, mask, LAC_COPY, &p->mask));

  // Scale the sources so that the largest observation is 1.
  must(p, lac_array_read(p->ctx, p->sources, u));
  for (int i = 0; i < CELLS * SOURCES; i++) u[i] /= largest;
  must(p, lac_array_write(p->ctx, p->sources, u));
  lac_tape_destroy(&run);
  lac_array_destroy(&at);
  free(q), free(u);
}

/// loss and gradient, for the optimiser.
static lac_status evaluate(lac_context *ctx, void *data, int count, lac_array *const *x, double *value,
                           lac_array **gradient) {
  problem *p = data;
  lac_tape *tape = p->tape;

  (void)ctx;
  lac_tape_clear(tape);
  lac_var q = lac_tape_leaf(tape, x[0]);
  lac_var miss = lac_sub(tape, solution(p, tape, q), lac_tape_constant(tape, p->observed));
  lac_var seen = lac_mul(tape, lac_tape_constant(tape, p->mask), miss);
  lac_var steps = lac_spmm(tape, p->difference.pattern, LAC_N, lac_tape_constant(tape, p->difference.values), q);
  lac_var loss = lac_add(tape, lac_dot(tape, seen, seen), lac_scale(tape, p->alpha, 0, lac_dot(tape, steps, steps)));
  return lac_tape_gradient(tape, loss, count, &q, value, gradient);
}

static int progress(void *data, const lac_optimise_report *report) {
  const problem *p = data;
  double seconds = (double)(clock() - p->begin) / CLOCKS_PER_SEC;

  // One line that moves on a terminal, a few lines elsewhere.
  if (isatty(1) || report->iterations % 25 == 0) {
    printf("%s  fitting %d coefficients: step %3d of %d, loss %.3e, %.1f s of CPU%s", isatty(1) ? "\r" : "", PARAMETERS,
           report->iterations, ITERATIONS, report->value, seconds, isatty(1) ? " " : "\n");
    fflush(stdout);
  }
  return 0;
}

/// Fit the coefficients from q = 1 on; leaves their squares in `k`.
static void fit(problem *p, double *k) {
  lac_optimise_options options = lac_optimise_options_defaults();
  lac_optimise_report report;
  lac_array *q = NULL;

  options.max_iterations = ITERATIONS;
  options.progress = progress, options.progress_data = p;
  must(p, lac_array_create(p->ctx, LAC_F64, 2, (int64_t[]){PARAMETERS, 1}, &q));
  must(p, lac_array_fill(p->ctx, q, 1, 0));
  must(p, lac_minimise(p->ctx, &options, 1, &q, evaluate, p, &report));
  must(p, lac_array_read(p->ctx, q, k));
  for (int i = 0; i < PARAMETERS; i++) k[i] *= k[i];
  printf("%s  %s\n", isatty(1) ? "\n" : "", report.reason);
  lac_array_destroy(&q);
}

/// The size of the difference of two fields, relative to the second.
static double relative(int n, const double *a, const double *b) {
  double up = 0, down = 0;

  for (int i = 0; i < n; i++) up += (a[i] - b[i]) * (a[i] - b[i]), down += b[i] * b[i];
  return sqrt(up / down);
}

/// Truth, fit and misfit of both coefficients, side by side.
static int draw(const double *truth, const double *fit) {
  const char *names[2][3] = {{"kx, truth", "kx, fit", "kx, |fit - truth|"},
                             {"ky, truth", "ky, fit", "ky, |fit - truth|"}};
  double misfit[CELLS];
  FILE *file = heatmap_open(PICTURE, N, 3, 2);

  if (!file) return 1;
  for (int k = 0; k < 2; k++) {
    for (int c = 0; c < CELLS; c++) misfit[c] = fabs(fit[k * CELLS + c] - truth[k * CELLS + c]);
    heatmap_panel(file, N, truth + k * CELLS, 0.5, 3.5, names[k][0], 0, k);
    heatmap_panel(file, N, fit + k * CELLS, 0.5, 3.5, names[k][1], 1, k);
    heatmap_panel(file, N, misfit, 0, 1, names[k][2], 2, k);
  }
  return heatmap_close(file);
}

static void close_problem(problem *p) {
  lac_array *arrays[] = {p->assembly.values, p->difference.values, p->sources, p->observed, p->mask};

  for (int i = 0; i < 5; i++) lac_array_destroy(&arrays[i]);
  lac_tape_destroy(&p->tape);
  lac_solver_destroy(&p->solver);
  lac_pattern_destroy(&p->assembly.pattern);
  lac_pattern_destroy(&p->difference.pattern);
  lac_pattern_destroy(&p->pattern);
  lac_context_destroy(&p->ctx);
}

int main(void) {
  problem p = {.alpha = 1e-5};
  triplets *scratch = malloc(sizeof *scratch);
  double *truth = malloc(PARAMETERS * sizeof *truth), *q = malloc(PARAMETERS * sizeof *q);

  must(&p, lac_context_create("cpu", 0, &p.ctx));
  must(&p, lac_tape_create(p.ctx, LAC_RECORD, &p.tape));
  make_pattern(&p, scratch);
  make_assembly(&p, scratch);
  make_difference(&p, scratch);
  make_sources(&p);
  true_coefficients(truth);
  observe(&p, truth);
  printf("diffusion on a %d x %d grid, %d sources, half of the cells observed with noise\n", N, N, SOURCES);

  p.begin = clock();
  fit(&p, q);
  double error = relative(PARAMETERS, q, truth);
  int failed = draw(truth, q);
  printf("  relative error of the recovered coefficients: %.1f %%\n", 100 * error);
  printf(failed ? "the picture could not be written to %s\n" : "  truth, fit and misfit: %s\n", PICTURE);

  free(scratch), free(truth), free(q);
  close_problem(&p);
  return failed || !(error < 0.1);
}

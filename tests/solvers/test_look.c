// SPDX-License-Identifier: Apache-2.0
/// What AUTO does by a look at values: preconditioners that are plainer than multigrid, and direct factors where they
/// jump.

#include <math.h>
#include <string.h>

#include "kernels/smoothed.h"
#include "solvers/krylov/krylov_solver.h"
#include "support/check.h"
#include "support/iterative_case.h"
#include "support/random.h"
#include "support/reports.h"

/// A matrix as it is listed: what is off the diagonal in coordinates, and the diagonal.
typedef struct listed {
  int64_t n, count, most;
  int32_t *row, *column;
  double *value;
} listed;

static listed listed_begin(int64_t n, int64_t most) {
  listed a = {.n = n, .most = n + most};
  a.row = lac_calloc((size_t)a.most, sizeof *a.row);
  a.column = lac_calloc((size_t)a.most, sizeof *a.column);
  a.value = lac_calloc((size_t)a.most, sizeof *a.value);
  for (; a.count < n; a.count++) a.row[a.count] = a.column[a.count] = (int32_t)a.count;
  return a;
}

/// -weight in (i, j), and as much on the diagonal of i.
static void listed_put(listed *a, int64_t i, int64_t j, double weight) {
  CHECK(a->count < a->most);
  a->row[a->count] = (int32_t)i, a->column[a->count] = (int32_t)j;
  a->value[a->count++] = -weight;
  a->value[i] += weight;
}

static direct_system listed_open(lac_context *ctx, listed *a) {
  direct_system s = {0};
  lac_map *entries = NULL;
  lac_array *values = NULL;
  lac_tape *run = NULL;
  CHECK_OK(lac_pattern_from_coo(ctx, a->n, a->n, a->count, LAC_I32, a->row, a->column, LAC_WIDTH_AUTO, &s.pattern,
                                &entries));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){a->count}, a->value, LAC_OWNERSHIP_COPY, &values));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &run));
  lac_var summed = lac_remap(run, entries, lac_tape_constant(run, values), LAC_PLAIN);
  CHECK_OK(lac_tape_status(run));
  CHECK_OK(lac_array_clone(ctx, lac_tape_value(run, summed), &s.values));
  CHECK_OK(lac_solver_create(ctx, s.pattern, NULL, &s.solver));
  lac_tape_destroy(&run);
  lac_array_destroy(&values);
  lac_map_destroy(&entries);
  lac_free(a->row);
  lac_free(a->column);
  lac_free(a->value);
  return s;
}

/// A box of cells, z first, u = 0 around: weights of faces across z, a wind along x, and how stiff every other field of
/// eight by eight columns of cells is.
typedef struct box {
  int64_t nx, ny, nz;
  double across, wind, stiff;
} box;

static double box_stiffness(const box *o, int64_t i) {
  int64_t x = i / (o->ny * o->nz), y = i / o->nz % o->ny;
  return (x / 8 + y / 8) % 2 ? o->stiff : 1;
}

/// The harmonic mean.
static double box_face(const box *o, int64_t i, int64_t j) {
  return 2 / (1 / box_stiffness(o, i) + 1 / box_stiffness(o, j));
}

static direct_system box_open(lac_context *ctx, box o) {
  const int64_t size[] = {o.nx, o.ny, o.nz}, stride[] = {o.ny * o.nz, o.nz, 1};
  listed a = listed_begin(o.nx * o.ny * o.nz, 6 * o.nx * o.ny * o.nz);
  for (int64_t i = 0; i < a.n; i++) {
    for (int d = 0; d < 3; d++) {
      double weight = d == 2 ? o.across : 1;
      int64_t at = i / stride[d] % size[d], low = i - stride[d], high = i + stride[d];
      if (at > 0) listed_put(&a, i, low, weight * box_face(&o, i, low) + (d == 0 ? o.wind : 0));
      if (at + 1 < size[d]) listed_put(&a, i, high, weight * box_face(&o, i, high));
      if (at == 0 || at + 1 == size[d]) a.value[i] += 2 * weight * box_stiffness(&o, i);
    }
  }
  return listed_open(ctx, &a);
}

/// Each node is joined to six earlier ones at random: rows are near each other.
static direct_system graph_open(lac_context *ctx, int64_t n) {
  enum { DEGREE = 6 };
  random_state random = random_start(3);
  listed a = listed_begin(n, 2 * DEGREE * n);
  a.value[0] = 1;
  for (int64_t i = 1; i < n; i++) {
    for (int d = 0; d < DEGREE; d++) {
      int64_t j = (int64_t)(random_bits(&random) % (uint64_t)i);
      listed_put(&a, i, j, 1);
      listed_put(&a, j, i, 1);
    }
  }
  return listed_open(ctx, &a);
}

/// AUTO takes this preconditioner and converges with it, to the same bits on one thread and on two.
static void check_takes(lac_context *ctx, direct_system s, const char *preconditioner, int64_t most) {
  lac_array *x[2] = {NULL, NULL}, *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){s.pattern->rows, 1}, 3);
  for (int threads = 1; threads <= 2; threads++) {
    lac_factor *factor = NULL;
    lac_solver *solver = NULL;
    lac_context_set_threads(ctx, threads);
    CHECK_OK(lac_solver_create(ctx, s.pattern, NULL, &solver));
    CHECK_OK(lac_solver_factor(ctx, solver, s.values, &factor));
    x[threads - 1] = direct_random(ctx, LAC_F64, 2, (int64_t[]){s.pattern->rows, 1}, 3);
    CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x[threads - 1]));
    lac_report report = report_of_factor(factor);
    CHECK_TEXT(report.preconditioner, preconditioner);
    CHECK_EQ(strcmp(preconditioner, "multigrid") != 0, strstr(report.reason, "a look promises") != NULL);
    CHECK(report.iterations > 0 && report.iterations <= most);
    CHECK(direct_residual_of(&s, b, x[threads - 1]) <= 1e-10);
    lac_factor_destroy(&factor);
    lac_solver_destroy(&solver);
  }
  CHECK(memcmp(lac_array_data(x[0]), lac_array_data(x[1]), lac_array_bytes(b)) == 0);
  for (int i = 0; i < 2; i++) lac_array_destroy(&x[i]);
  lac_array_destroy(&b);
  direct_close(&s);
}

static void a_graph_whose_rows_are_near_each_other_has_jacobi(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  check_takes(ctx, graph_open(ctx, 12000), "jacobi", 60);
}

static void thin_layers_have_ic0(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  check_takes(ctx, box_open(ctx, (box){36, 36, 10, 900, 0, 1}), "ic0", 40);
}

static void convection_has_ilu0(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  check_takes(ctx, box_open(ctx, (box){24, 24, 24, 1, 300, 1}), "ilu0", 40);
}

static void a_cube_has_multigrid_without_a_look(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  check_takes(ctx, box_open(ctx, (box){24, 24, 24, 1, 0, 1}), "multigrid", 30);
}

/// New values: multigrid stays, and a plain one is looked at again, since these may be harder.
static void what_was_taken_is_taken_again(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  direct_system systems[] = {box_open(ctx, (box){24, 24, 24, 1, 0, 1}), box_open(ctx, (box){36, 36, 10, 900, 0, 1})};
  for (int i = 0; i < 2; i++) {
    lac_factor *first = NULL, *second = NULL;
    CHECK_OK(lac_solver_factor(ctx, systems[i].solver, systems[i].values, &first));
    double *a = lac_array_edit(systems[i].values);
    for (int64_t p = 0; p < systems[i].pattern->nnz; p++) a[p] *= 3;
    CHECK_OK(lac_solver_factor(ctx, systems[i].solver, systems[i].values, &second));
    CHECK_TEXT(report_of_factor(second).preconditioner, i ? "ic0" : "multigrid");
    CHECK_EQ(report_of_factor(second).refreshes, 1);
    lac_factor_destroy(&first);
    lac_factor_destroy(&second);
    direct_close(&systems[i]);
  }
}

/// A square of 130 x 130: multigrid is cheaper than a factor by half, unless its entries jump.
static void a_square_is_iterated_on_unless_its_entries_jump(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  for (int jumps = 0; jumps < 2; jumps++) {
    direct_system s = box_open(ctx, (box){130, 130, 1, 1e-3, 0, jumps ? 1e4 : 1});
    lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){s.pattern->rows, 1}, 3);
    lac_array *x = direct_random(ctx, LAC_F64, 2, (int64_t[]){s.pattern->rows, 1}, 3);
    lac_factor *factor = NULL;
    CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factor));
    CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x));
    CHECK_TEXT(report_of_factor(factor).method, jumps ? "cholesky" : "flexible_cg");
    CHECK_EQ(jumps, strstr(report_of_factor(factor).reason, "entries jump") != NULL);
    CHECK(direct_residual_of(&s, b, x) <= 1e-10);
    lac_array_destroy(&b);
    lac_array_destroy(&x);
    lac_factor_destroy(&factor);
    direct_close(&s);
  }
}

// -- nodes -----------------------------------------------------------------------------------------------------------

static int nodes_looks;

static lac_status nodes_translations(lac_context *ctx, const lac_rows *a, const lac_array *values, int64_t size,
                                     int64_t samples, lac_array *found) {
  nodes_looks++;
  return lac_backend_find("cpu")->kernels->smoothed->translations(ctx, a, values, size, samples, found);
}

/// A grid of 71 x 71 points with two unknowns each, which every edge couples by [2 1; 1 2]: of nodes of 2 to 6 rows
/// only those of 2 can be, so that one look asks the kernel once.
static direct_system pairs_open(lac_context *ctx) {
  enum { PAIRS_SIDE = 71 };
  direct_system grid = box_open(ctx, (box){PAIRS_SIDE, PAIRS_SIDE, 1, 1e-6, 0, 1}), s = {0};
  lac_solver_options options = lac_solver_options_defaults();
  lac_pattern *full = NULL;
  CHECK_OK(lac_pattern_banded(ctx, 2, 2, 1, 1, LAC_WIDTH_AUTO, &full, NULL));
  CHECK_OK(lac_pattern_kron(ctx, grid.pattern, full, &s.pattern, NULL));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){s.pattern->nnz}, &s.values));
  double *a = lac_array_edit(s.values);
  const double *g = lac_array_data(grid.values);
  for (int64_t i = 0; i < s.pattern->rows; i++) {
    int64_t begin = lac_buffer_get(s.pattern->offsets, i), first = lac_buffer_get(grid.pattern->offsets, i / 2);
    for (int64_t p = begin; p < lac_buffer_get(s.pattern->offsets, i + 1); p++)
      a[p] = g[first + (p - begin) / 2] * (lac_buffer_get(s.pattern->columns, p) % 2 == i % 2 ? 2 : 1);
  }
  options.method = "flexible_cg";
  CHECK_OK(lac_solver_create(ctx, s.pattern, &options, &s.solver));
  lac_pattern_destroy(&full);
  direct_close(&grid);
  return s;
}

static void nodes_are_looked_for_once(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  const lac_kernels *before = ctx->kernels;
  lac_kernels own = *before;
  lac_smoothed_kernels smoothed = *before->smoothed;
  direct_system s = pairs_open(ctx);
  lac_factor *factor = NULL;
  char *text = NULL;
  smoothed.translations = nodes_translations, own.smoothed = &smoothed;
  nodes_looks = 0;
  ctx->kernels = &own;
  CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factor));
  ctx->kernels = before;
  CHECK_EQ(nodes_looks, 1);
  CHECK_OK(lac_krylov_of(factor)->m->table->describe(ctx, lac_krylov_of(factor)->m, &text));
  CHECK(text && strstr(text, "in nodes of 2"));
  CHECK(iterative_run(ctx, factor, s.pattern->rows, 1).ending == LAC_ENDING_CONVERGED);
  lac_free(text);
  lac_factor_destroy(&factor);
  direct_close(&s);
}

CHECK_MAIN(a_graph_whose_rows_are_near_each_other_has_jacobi, thin_layers_have_ic0, convection_has_ilu0,
           a_cube_has_multigrid_without_a_look, what_was_taken_is_taken_again,
           a_square_is_iterated_on_unless_its_entries_jump, nodes_are_looked_for_once)

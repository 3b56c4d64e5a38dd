// SPDX-License-Identifier: Apache-2.0
/// The automatic choice between direct and iterative solvers: what is foreseen, what the values say, what follows a
/// failure.

#include <math.h>
#include <string.h>

#include "solvers/auto/auto.h"
#include "solvers/krylov/krylov_solver.h"
#include "support/check.h"
#include "support/cube.h"
#include "support/iterative_case.h"
#include "support/random.h"
#include "support/reports.h"

static bool iterates(const lac_factor *factor) { return lac_factor_innermost(factor)->table->flags & LAC_ITERATES; }

// -- what is foreseen ------------------------------------------------------------------------------------------------

static void small_systems_are_solved_directly(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  iterative_system s = iterative_open(ctx, &c, NULL);
  CHECK(!iterates(s.factor));
  iterative_close(&s);
}

static void a_large_cube_is_iterated_on_without_a_direct_analysis(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  direct_system s = cube_open(ctx, 38, NULL);
  lac_factor *factor = NULL;
  CHECK(((const lac_auto_core *)s.solver->core->part)->begins_iterating &&
        strstr(report_of_solver(s.solver).reason, "separators"));
  CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factor));
  CHECK(iterates(factor) && !lac_auto_of(factor)->taken->partner);
  CHECK_TEXT(report_of_factor(factor).method, "flexible_cg");
  CHECK(iterative_run(ctx, factor, s.pattern->rows, 1).ending == LAC_ENDING_CONVERGED);
  lac_factor_destroy(&factor);
  direct_close(&s);
}

/// What AUTO foresees by an analysis beside what a factor has in the end.
static void an_analysis_foresees_bytes_and_flops(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  lac_solver_options options = lac_solver_options_defaults();
  for (int64_t n = 5; n <= 21; n += 4) {  // up to 10 000 rows, which are solved directly
    direct_system s = cube_open(ctx, n, &options);
    lac_factor *factor = NULL;
    lac_auto_cost cost = {0};
    bool is_known = false;
    CHECK_OK(lac_auto_analyse(ctx, s.solver->core, &cost, &is_known));
    CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factor));
    lac_report report = report_of_factor(factor);
    CHECK(is_known && cost.is_exact && !iterates(factor));
    CHECK(cost.flops <= 1.3 * report.flops && report.flops <= 1.3 * cost.flops);
    CHECK(cost.bytes <= 1.3 * (double)report.factor_bytes && (double)report.factor_bytes <= 1.3 * cost.bytes);
    CHECK(cost.nnz <= 1.3 * (double)report.factor_nnz && (double)report.factor_nnz <= 1.3 * cost.nnz);
    lac_factor_destroy(&factor);
    direct_close(&s);
  }
}

/// An arrow of 60 000 rows: the first is a neighbour of all, and a factor fills nothing in.
static void a_dense_row_does_not_make_a_factor_costly(lac_context *ctx) {
  enum { N = 60000 };
  lac_pattern *pattern = NULL;
  lac_auto_cost cost = {0};
  int32_t *row = lac_alloc(3 * N * sizeof *row), *column = lac_alloc(3 * N * sizeof *column);
  for (int32_t i = 0; i < N; i++) {
    row[3 * i] = column[3 * i] = i;
    row[3 * i + 1] = column[3 * i + 2] = i;
    column[3 * i + 1] = row[3 * i + 2] = 0;
  }
  CHECK_OK(lac_pattern_from_coo(ctx, N, N, 3 * N, LAC_I32, row, column, LAC_WIDTH_AUTO, &pattern, NULL));
  CHECK_OK(lac_auto_foresee(ctx, pattern, &cost));
  CHECK(!cost.is_costly && cost.width < 100);
  lac_pattern_destroy(&pattern);
  lac_free(row);
  lac_free(column);
}

/// Whether the context reads indices on the host; on a device multigrid is taken without a search.
static bool searches(const lac_context *ctx) {
  if (lac_context_is_host(ctx)) return true;
  check_skip("on a device nothing is searched");
  return false;
}

static void on_a_device_multigrid_is_taken_without_a_search(lac_context *ctx) {
  enum { FORM = 24 };
  lac_pattern *cube = cube_pattern(ctx, FORM);
  lac_auto_cost cost = {0};
  CHECK_OK(lac_auto_foresee(ctx, cube, &cost));
  CHECK(cost.is_costly);
  CHECK_EQ(cost.is_away, !lac_context_is_host(ctx));
  CHECK_EQ(cost.width > 0, lac_context_is_host(ctx));
  lac_pattern_destroy(&cube);
}

/// A tree of 20 000 nodes, each joined to an earlier one: its levels are wide, and yet nothing fills in.
static void a_tree_is_not_costly(lac_context *ctx) {
  enum { N = 20000 };
  if (!searches(ctx)) return;
  random_state random = random_start(2);
  lac_pattern *pattern = NULL;
  lac_auto_cost cost = {0};
  int32_t *row = lac_alloc(3 * N * sizeof *row), *column = lac_alloc(3 * N * sizeof *column);
  for (int32_t i = 0; i < N; i++) {
    int32_t parent = i ? (int32_t)(random_bits(&random) % (uint64_t)i) : 0;
    row[3 * i] = column[3 * i] = i;
    row[3 * i + 1] = column[3 * i + 2] = i;
    column[3 * i + 1] = row[3 * i + 2] = parent;
  }
  CHECK_OK(lac_pattern_from_coo(ctx, N, N, 3 * N, LAC_I32, row, column, LAC_WIDTH_AUTO, &pattern, NULL));
  CHECK_OK(lac_auto_foresee(ctx, pattern, &cost));
  CHECK(!cost.is_costly && cost.width <= 2 && cost.levels > 10);
  lac_pattern_destroy(&pattern);
  lac_free(row);
  lac_free(column);
}

/// A cube of which each edge is stored in one direction alone, by its parity: elimination sees the same graph, by LU.
static void a_pattern_without_its_mirror_costs_what_elimination_makes_of_it(lac_context *ctx) {
  enum { FORM = 24, N = FORM * FORM * FORM };
  if (!searches(ctx)) return;
  lac_pattern *lopsided = NULL, *cube = cube_pattern(ctx, FORM);
  lac_auto_cost whole = {0}, cost = {0};
  int64_t nnz = cube->nnz, count = 0;
  int32_t *row = lac_alloc((size_t)nnz * sizeof *row), *column = lac_alloc((size_t)nnz * sizeof *column);
  for (int32_t i = 0; i < N; i++) {
    for (int64_t p = lac_buffer_get(cube->offsets, i); p < lac_buffer_get(cube->offsets, i + 1); p++) {
      int32_t j = (int32_t)lac_buffer_get(cube->columns, p);
      if (i != j && (i < j) == (i * 7 + j * 7) % 3 % 2) continue;
      row[count] = i, column[count++] = j;
    }
  }
  CHECK(2 * (count - N) == nnz - N);
  CHECK_OK(lac_pattern_from_coo(ctx, N, N, count, LAC_I32, row, column, LAC_WIDTH_AUTO, &lopsided, NULL));
  CHECK_OK(lac_auto_foresee(ctx, cube, &whole));
  CHECK_OK(lac_auto_foresee(ctx, lopsided, &cost));
  CHECK(!whole.is_lopsided && !whole.has_both && cost.is_lopsided && cost.has_both);
  CHECK(cost.width == whole.width && cost.levels == whole.levels);
  CHECK(cost.flops == 2 * whole.flops && cost.bytes == 2 * whole.bytes && cost.nnz == 2 * whole.nnz);
  lac_pattern_destroy(&lopsided);
  lac_free(row);
  lac_free(column);
  lac_pattern_destroy(&cube);
}

/// Five entries a row anywhere, and a diagonal that is `share` times their sum, by rows or by columns: a factor fills
/// in.
static direct_system scattered_open(lac_context *ctx, int32_t n, double share, bool by_columns) {
  enum { BESIDE = 5 };
  direct_system s = {0};
  random_state random = random_start(7);
  int64_t count = (int64_t)n * (BESIDE + 1);
  lac_array *listed = NULL;
  lac_map *entries = NULL;
  lac_tape *run = NULL;
  int32_t *row = lac_alloc((size_t)count * sizeof *row), *column = lac_alloc((size_t)count * sizeof *column);
  double *value = lac_calloc((size_t)count, sizeof *value);
  for (int32_t i = 0; i < n; i++) row[i] = column[i] = i, value[i] = 1e-3;
  for (int64_t k = n; k < count; k++) {
    row[k] = (int32_t)(k % n), column[k] = (int32_t)(random_bits(&random) % (uint64_t)n);
    value[k] = random_unit(&random);
    value[by_columns ? column[k] : row[k]] += share * fabs(value[k]);
  }
  CHECK_OK(lac_pattern_from_coo(ctx, n, n, count, LAC_I32, row, column, LAC_WIDTH_AUTO, &s.pattern, &entries));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){count}, value, LAC_OWNERSHIP_BORROW, &listed));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &run));
  lac_var summed = lac_remap(run, entries, lac_tape_constant(run, listed), LAC_PLAIN);
  CHECK_OK(lac_tape_status(run));
  CHECK_OK(lac_array_clone(ctx, lac_tape_value(run, summed), &s.values));
  lac_tape_destroy(&run);
  lac_array_destroy(&listed);
  lac_map_destroy(&entries);
  lac_free(row);
  lac_free(column);
  lac_free(value);
  return s;
}

/// LU takes seconds for each.
static void scattered_matrices_with_a_dominant_diagonal_are_iterated_on(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  for (int by_columns = 0; by_columns < 2; by_columns++) {
    direct_system s = scattered_open(ctx, 12000, 1.25, by_columns);
    lac_factor *factor = NULL;
    CHECK_OK(lac_solver_create(ctx, s.pattern, NULL, &s.solver));
    CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factor));
    CHECK(iterates(factor) && strstr(report_of_factor(factor).reason, "diagonally dominant"));
    CHECK(strstr(report_of_factor(factor).reason, "separators"));
    CHECK_TEXT(report_of_factor(factor).method, "gmres");
    CHECK_TEXT(report_of_factor(factor).preconditioner, "ilu0");
    CHECK(iterative_run(ctx, factor, s.pattern->rows, 1).ending == LAC_ENDING_CONVERGED);
    lac_factor_destroy(&factor);
    direct_close(&s);
  }
}

static void only_what_dominates_in_all_rows_or_all_columns_is_dominant(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  const double shares[] = {1.25, 0.8}, expected[] = {0.8, 1.25};
  for (int i = 0; i < 4; i++) {
    direct_system s = scattered_open(ctx, 300, shares[i / 2], i % 2);
    lac_array *values = NULL;
    lac_survey survey;
    const char *finding = "";
    CHECK_OK(lac_array_reshape(ctx, s.values, 2, (int64_t[]){1, s.pattern->nnz}, &values));
    double largest = 0;
    CHECK_OK(lac_survey_values(ctx, s.pattern, values, &largest, &survey));
    CHECK(largest > 0);
    CHECK(survey.dominance > 0.9 * expected[i / 2] && (i / 2 || survey.dominance <= expected[i / 2]));
    CHECK_EQ(lac_auto_suits(&survey, &finding), i < 2);
    CHECK(i < 2 || strstr(finding, "nor diagonally dominant"));
    lac_array_destroy(&values);
    direct_close(&s);
  }
}

// -- what the values say, and what follows ---------------------------------------------------------------------------

/// What is foreseen is overruled, so that what follows is seen on a small system.
static iterative_system automatic_open(lac_context *ctx, const direct_case *c, const lac_solver_options *options) {
  lac_solver_options given = *options;
  given.method = "auto";
  given.preconditioner.method = "jacobi";
  return iterative_open(ctx, c, &given);
}

static void what_is_not_for_iterating_is_solved_directly(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  direct_case c = direct_make(DIRECT_ZERO_DIAGONAL, 30, LAC_F64, 2);
  lac_solver_options options = lac_solver_options_defaults();
  iterative_system s = automatic_open(ctx, &c, &options);
  CHECK(!iterates(s.factor) && strstr(report_of_factor(s.factor).reason, "not iterated on"));
  direct_check(ctx, &c, s.factor, LAC_TRANSPOSED, 2, 1e3);
  iterative_close(&s);
}

static void an_iteration_that_fails_falls_back_on_a_direct_factor(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  options.iteration.max_iterations = 2;
  iterative_system s = automatic_open(ctx, &c, &options);
  CHECK(iterative_residual(ctx, &c, s.factor, LAC_PLAIN, 2) <= 1e-12);
  CHECK_TEXT(report_of_factor(s.factor).method, "cholesky");
  CHECK(strstr(report_of_factor(s.factor).reason, "did not reach the tolerance"));
  int64_t solves = report_of_factor(s.factor).solves;
  CHECK(iterative_residual(ctx, &c, s.factor, LAC_ADJOINT, 2) <= 1e-12);
  CHECK_EQ(report_of_factor(s.factor).solves, solves);  // not tried again
  iterative_close(&s);
}

/// Two factors of a solver whose iterations must fail: by AUTO the second is direct at once; a method by name tries
/// again.
static void a_solver_remembers_that_iterating_failed(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  lac_factor *second = NULL, *third = NULL;
  lac_array *twice = NULL;
  options.iteration.max_iterations = 2;
  iterative_system s = automatic_open(ctx, &c, &options);
  CHECK(iterative_residual(ctx, &c, s.factor, LAC_PLAIN, 2) <= 1e-12);
  for (int64_t z = 0; z < c.s->nnz; z++) c.a.x[z] *= 2;
  CHECK_OK(ref_upload(ctx, &c.a, &twice));
  CHECK_OK(lac_solver_factor(ctx, s.s.solver, twice, &second));
  CHECK(!iterates(second) && strstr(report_of_factor(second).reason, "earlier values did not converge"));
  CHECK(iterative_residual(ctx, &c, second, LAC_PLAIN, 2) <= 1e-12);
  CHECK_OK(lac_factor_refactor(ctx, s.factor, twice, &third));
  CHECK(!iterates(third));
  lac_factor_destroy(&second);
  lac_factor_destroy(&third);
  iterative_close(&s);
  options.method = "cg";
  s = iterative_open(ctx, &c, &options);
  CHECK(iterative_run(ctx, s.factor, c.s->rows, 1).ending == LAC_ENDING_LIMIT);
  for (int64_t z = 0; z < c.s->nnz; z++) c.a.x[z] *= 2;
  lac_array_destroy(&twice);
  CHECK_OK(ref_upload(ctx, &c.a, &twice));
  CHECK_OK(lac_solver_factor(ctx, s.s.solver, twice, &second));
  CHECK(iterates(second));
  lac_factor_destroy(&second);
  lac_array_destroy(&twice);
  iterative_close(&s);
}

static void near_null_vectors_are_a_hint(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  lac_array *ones = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){c.s->rows, 1}, &ones));
  CHECK_OK(lac_array_fill(ctx, ones, 1, 0));
  options.preconditioner.near_null = ones;
  iterative_system s = iterative_open(ctx, &c, &options);
  CHECK(!iterates(s.factor));
  iterative_close(&s);
  lac_array_destroy(&ones);
}

/// The Laplacian of a path, times `sign`, with the constants as its null space.
static iterative_system path_open(lac_context *ctx, direct_case *c, double sign, int64_t limit, lac_array **constants) {
  enum { N = 12 };
  double entries[N * N] = {0};
  lac_solver_options options = lac_solver_options_defaults();
  for (int i = 0; i + 1 < N; i++) {
    entries[i * N + i] += sign, entries[(i + 1) * N + i + 1] += sign;
    entries[i * N + i + 1] = entries[(i + 1) * N + i] = -sign;
  }
  *c = direct_small(N, entries, LAC_F64);
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){N, 1}, constants));
  CHECK_OK(lac_array_fill(ctx, *constants, 1, 0));
  options.iteration.null_space = *constants;
  options.iteration.max_iterations = limit;
  options.preconditioner.method = "jacobi";
  return iterative_open(ctx, c, &options);
}

static void a_null_space_keeps_an_automatic_solver_from_direct_factors(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  direct_case c;
  lac_array *constants = NULL, *b = NULL, *x = NULL;
  iterative_system s = path_open(ctx, &c, -1, 0, &constants);  // not definite, not an M-matrix
  double sum = 0;
  b = direct_random(ctx, LAC_F64, 2, (int64_t[]){c.s->rows, 1}, 3);
  x = direct_random(ctx, LAC_F64, 2, (int64_t[]){c.s->rows, 1}, 3);
  CHECK(iterates(s.factor));
  CHECK_OK(lac_factor_solve(ctx, s.factor, b, LAC_PLAIN, x));
  for (int64_t i = 0; i < c.s->rows; i++) sum += ((const double *)lac_array_data(x))[i];
  CHECK(fabs(sum) <= 1e-9);
  iterative_close(&s);
  lac_array_destroy(&constants);
  s = path_open(ctx, &c, 1, 2, &constants);
  CHECK_FAILS(lac_factor_solve(ctx, s.factor, b, LAC_PLAIN, x), LAC_ERR_CONVERGENCE, "after 2 iterations");
  iterative_close(&s);
  lac_array_destroy(&constants);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
}

static void where_neither_will_do_the_error_tells_of_both(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  options.iteration.max_iterations = 2;
  options.max_bytes = 1000;
  iterative_system s = automatic_open(ctx, &c, &options);
  int64_t shape[] = {c.s->rows, 1};
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 3), *x = direct_random(ctx, LAC_F64, 2, shape, 3);
  CHECK_FAILS(lac_factor_solve(ctx, s.factor, b, LAC_PLAIN, x), LAC_ERR_CONVERGENCE, "max_bytes is 1.00 kB");
  CHECK_FAILS(lac_factor_solve(ctx, s.factor, b, LAC_PLAIN, x), LAC_ERR_CONVERGENCE, "after 2 iterations");
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  iterative_close(&s);
}

/// Where there is room for a direct factor it is taken; nothing else is asked.
static void what_has_no_room_for_a_factor_is_iterated_on(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  lac_factor *again = NULL;
  lac_array *twice = NULL;
  options.max_bytes = 1000;
  iterative_system s = iterative_open(ctx, &c, &options);
  CHECK_TEXT(report_of_factor(s.factor).method, "flexible_cg");
  CHECK(strstr(report_of_factor(s.factor).reason, "no room for a direct factor"));
  CHECK(strstr(report_of_factor(s.factor).reason, "max_bytes is 1.00 kB"));
  CHECK(iterative_residual(ctx, &c, s.factor, LAC_PLAIN, 2) <= 1e-10);
  for (int64_t z = 0; z < c.s->nnz; z++) c.a.x[z] *= 2;
  CHECK_OK(ref_upload(ctx, &c.a, &twice));
  CHECK_OK(lac_solver_factor(ctx, s.s.solver, twice, &again));
  CHECK_EQ(report_of_factor(again).refreshes, 1);
  CHECK(iterative_residual(ctx, &c, again, LAC_PLAIN, 2) <= 1e-10);
  lac_array_destroy(&twice);
  lac_factor_destroy(&again);
  iterative_close(&s);
}

static void what_has_no_room_and_is_not_for_iterating_is_refused_for_both(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  direct_case unfit = direct_make(DIRECT_COMPLEX_SYMMETRIC, 60, LAC_F64, 2),
              fit = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  lac_factor *factor = NULL;
  options.max_bytes = 1000;
  direct_system s = direct_open(ctx, &unfit, LAC_WIDTH_AUTO, &options);
  CHECK_FAILS(lac_solver_factor(ctx, s.solver, s.values, &factor), LAC_ERR_MEMORY, "max_bytes is 1.00 kB");
  CHECK_FAILS(lac_solver_factor(ctx, s.solver, s.values, &factor), LAC_ERR_MEMORY, "nor is it iterated on");
  direct_close(&s);
  options.method = "direct";
  s = direct_open(ctx, &fit, LAC_WIDTH_AUTO, &options);
  CHECK_FAILS(lac_solver_factor(ctx, s.solver, s.values, &factor), LAC_ERR_MEMORY, "max_bytes is 1.00 kB");
  direct_close(&s);
}

/// The square of a pattern has more entries.
static void a_solver_that_covers_more_iterates_only_where_the_first_does(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  static const char *const METHODS[] = {"auto", "direct", "cholesky"};
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  for (int m = 0; m < 3; m++) {
    lac_solver_options options = lac_solver_options_defaults();
    lac_solver *wide = NULL;
    lac_factor *factor = NULL;
    lac_pattern *square = NULL;
    lac_array *ones = NULL;
    options.method = METHODS[m], options.max_bytes = 1000;
    direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    CHECK_OK(lac_pattern_product(ctx, s.pattern, s.pattern, &square));
    CHECK_OK(lac_solver_covering(ctx, s.solver, square, &wide));
    CHECK_EQ(lac_pattern_nnz(square), lac_pattern_nnz(lac_solver_pattern(wide)));
    CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){lac_pattern_nnz(square)}, &ones));
    CHECK_OK(lac_array_fill(ctx, ones, 1, 0));
    if (strcmp(METHODS[m], "auto") == 0) {
      CHECK_OK(lac_solver_factor(ctx, wide, ones, &factor));
      CHECK_TEXT(report_of_factor(factor).method, "flexible_cg");
    } else {
      CHECK_FAILS(lac_solver_factor(ctx, wide, ones, &factor), LAC_ERR_MEMORY, "max_bytes is 1.00 kB");
    }
    lac_factor_destroy(&factor);
    lac_solver_destroy(&wide);
    lac_array_destroy(&ones);
    lac_pattern_destroy(&square);
    direct_close(&s);
  }
}

static lac_status make_and_solve_twice(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                                       lac_array *const values[2], const lac_array *b, lac_array *x) {
  lac_solver *solver = NULL;
  lac_status status = lac_solver_create(ctx, pattern, options, &solver);
  for (int i = 0; i < 2 && status == LAC_OK; i++) {
    lac_factor *factor = NULL;
    status = lac_solver_factor(ctx, solver, values[i], &factor);
    if (status == LAC_OK) status = lac_factor_solve(ctx, factor, b, LAC_PLAIN, x);
    lac_factor_destroy(&factor);
  }
  lac_solver_destroy(&solver);
  return status;
}

/// No room for a factor; no convergence, twice. What fails for want of memory is told as that, or as no convergence
/// without room for a factor.
static void every_failing_allocation_is_told(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  direct_case c = direct_make(DIRECT_POISSON, 100, LAC_F64, 1);
  lac_solver_options cases[] = {lac_solver_options_defaults(), lac_solver_options_defaults()};
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  int64_t shape[] = {c.s->rows, 1};
  lac_array *values[2] = {s.values, NULL};
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 3), *x = direct_random(ctx, LAC_F64, 2, shape, 3);
  for (int64_t z = 0; z < c.s->nnz; z++) c.a.x[z] *= 2;
  CHECK_OK(ref_upload(ctx, &c.a, &values[1]));
  cases[0].max_bytes = 1000;
  cases[1].preconditioner.method = "jacobi", cases[1].iteration.max_iterations = 2;
  for (int i = 0; i < 2; i++) {
    CHECK_OK(make_and_solve_twice(ctx, s.pattern, &cases[i], values, b, x));
    for (int64_t n = 1;; n = check_next_failure(ctx, n)) {
      lac_memory_fail_at(n);
      lac_status status = make_and_solve_twice(ctx, s.pattern, &cases[i], values, b, x);
      int64_t asked = lac_memory_fail_at(0);
      CHECK(status == LAC_OK || status == LAC_ERR_MEMORY || (i == 1 && status == LAC_ERR_CONVERGENCE));
      if (asked < n) break;
    }
  }
  lac_array_destroy(&values[1]);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  direct_close(&s);
}

/// Of sizes where the pattern alone decides, and where an analysis does: no more seconds than went by.
static void an_analysis_is_counted_once(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  for (int64_t n = 10; n <= 28; n += 18) {
    double begin = lac_seconds();
    direct_system s = cube_open(ctx, n, NULL);
    lac_factor *factor = NULL;
    double *a = lac_array_edit(s.values);
    for (int64_t p = 0; p < s.pattern->nnz; p++) a[p] *= -1;  // not for iterating
    CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factor));
    lac_report report = report_of_factor(factor);
    CHECK(!iterates(factor) && report.analyse_seconds + report.factor_seconds <= lac_seconds() - begin);
    CHECK(report.analyse_seconds >= report_of_solver(s.solver).analyse_seconds);
    lac_factor_destroy(&factor);
    direct_close(&s);
  }
}

/// Before anything is taken: to the byte, but for the values, which a device need not keep.
static void bytes_on_a_grid_are_foreseen(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 170 * 170, LAC_F64, 1);
  for (int low = 0; low < 2; ++low) {
    lac_solver_options options = lac_solver_options_defaults();
    options.low_memory = low;
    direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    lac_report foreseen = {.size = sizeof foreseen}, made = {.size = sizeof made};
    lac_factor *factor = NULL;
    CHECK_OK(lac_solver_report(s.solver, &foreseen));
    CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factor));
    CHECK_OK(lac_factor_report(factor, &made));
    int64_t values =
        lac_context_is_host(ctx) ? 0 : c.s->nnz * (int64_t)sizeof(double) + (int64_t)sizeof(lac_factor) + 8;
    CHECK_EQ(foreseen.factor_bytes, made.factor_bytes - values);
    CHECK(strcmp(made.method, low ? "cg" : "flexible_cg") == 0);
    CHECK(strcmp(foreseen.method, made.method) == 0);
    CHECK(foreseen.work_bytes > 0 && foreseen.solve_bytes > (low ? 3 : 4) * c.s->rows * (int64_t)sizeof(double));
    lac_factor_destroy(&factor);
    direct_close(&s);
  }
}

CHECK_MAIN(an_analysis_is_counted_once, small_systems_are_solved_directly,
           a_large_cube_is_iterated_on_without_a_direct_analysis, a_dense_row_does_not_make_a_factor_costly,
           a_pattern_without_its_mirror_costs_what_elimination_makes_of_it,
           scattered_matrices_with_a_dominant_diagonal_are_iterated_on,
           only_what_dominates_in_all_rows_or_all_columns_is_dominant, what_is_not_for_iterating_is_solved_directly,
           an_iteration_that_fails_falls_back_on_a_direct_factor,
           a_null_space_keeps_an_automatic_solver_from_direct_factors, where_neither_will_do_the_error_tells_of_both,
           a_solver_remembers_that_iterating_failed, on_a_device_multigrid_is_taken_without_a_search,
           a_tree_is_not_costly, an_analysis_foresees_bytes_and_flops, near_null_vectors_are_a_hint,
           what_has_no_room_for_a_factor_is_iterated_on, what_has_no_room_and_is_not_for_iterating_is_refused_for_both,
           a_solver_that_covers_more_iterates_only_where_the_first_does, every_failing_allocation_is_told,
           bytes_on_a_grid_are_foreseen)

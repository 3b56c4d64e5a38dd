// SPDX-License-Identifier: Apache-2.0
/// Batches of small systems by lists: all kinds and dtypes are solved and differentiated on all sides, each with its
/// own matrix, and what the diagonal does not do for pivots is left to a factor that chooses them.

#include <math.h>
#include <string.h>

#include "solvers/batched/plan.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"
#include "support/square.h"

static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

static lac_solver_options batched_options(void) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "batched";
  return options;
}

// -- lists -----------------------------------------------------------------------------------------------------------

/// What a chunk does to the numbers of a matrix, read from its integers alone.
static void run_chunk(const lac_worklist *w, int64_t c, const double *f, double *y) {
  lac_chunk head = lac_worklist_chunk(w, c);
  for (int64_t first = 0; first < LAC_LANES; first += head.lanes) {
    lac_two task = lac_two_get(w->tasks, c * LAC_LANES + first);
    double sum = 0;
    if (task.low == lac_none(w->tasks)) continue;
    CHECK(first + head.lanes <= head.active);
    for (int64_t at = (int64_t)head.begin * LAC_LANES; at < (int64_t)head.end * LAC_LANES; at++) {
      lac_two pair = lac_two_get(w->pairs, at);
      if (at % LAC_LANES >= first && at % LAC_LANES < first + head.lanes) sum += f[pair.low] * y[pair.high];
    }
    y[task.low] = (y[task.low] - sum) / (task.high == lac_none(w->tasks) ? 1 : f[task.high]);
  }
}

/// The level of each chunk by what its warp waits for.
static int64_t *levels_of(const lac_worklist *w) {
  int64_t *level = scratch(sizeof *level * (size_t)w->chunks);
  for (int warp = 0; warp < w->warps; warp++) {
    int64_t now = 0;
    for (int64_t c = lac_buffer_get(w->first, warp); c < lac_buffer_get(w->first, warp + 1); c++) {
      level[c] = now;
      now += lac_worklist_chunk(w, c).waits;
    }
    CHECK_EQ(now, w->levels);  // all warps end all levels
  }
  return level;
}

/// Warps backwards, so that none leans on what another one does in its level.
static void run_list(const lac_worklist *w, const double *f, double *y) {
  int64_t *level = levels_of(w);
  for (int64_t l = 0; l < w->levels; l++) {
    for (int64_t c = w->chunks - 1; c >= 0; c--) {
      if (level[c] == l) run_chunk(w, c, f, y);
    }
  }
}

/// Every task of a list stands once.
static void check_tasks(const lac_worklist *w, int64_t count) {
  int64_t *done = scratch(sizeof *done * (size_t)count);
  for (int64_t i = 0; i < count; i++) done[i] = 0;
  for (int64_t lane = 0; lane < w->chunks * LAC_LANES; lane++) {
    uint32_t target = lac_two_get(w->tasks, lane).low;
    if (target != lac_none(w->tasks)) CHECK_EQ(done[target]++, 0);
  }
}

/// L U = A by dense products of what the lists make.
static void lists_eliminate(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POSITIVE, 40, LAC_F64, 3);
  lac_solver_options options = batched_options();
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_listed_lu *list = NULL;
  int64_t products = 0, n = c.s->rows;
  CHECK_OK(lac_batched_plan(ctx, system.pattern, LAC_ORDER_AUTO, &products, &list));
  CHECK(list && list->n == n && list->products == products);
  double *f = scratch(sizeof *f * (size_t)(list->entries + 1)), *y = scratch(sizeof *y * (size_t)(n + 1));
  for (int64_t e = 0; e < list->entries; e++) {
    int64_t slot = lac_buffer_get(list->source, e);
    f[e] = slot < 0 ? 0 : c.a.x[slot];
  }
  f[list->entries] = 0;
  run_list(&list->factor, f, f);
  check_tasks(&list->factor, list->entries);
  for (int t = 0; t < 2; t++) {
    for (int up = 0; up < 2; up++) check_tasks(&list->solve[t][up], n);
    for (int64_t i = 0; i < n; i++) y[i] = (double)(i % 7) - 3;
    y[n] = 0;
    run_list(&list->solve[t][0], f, y);
    run_list(&list->solve[t][1], f, y);
    number *b = scratch(sizeof *b * (size_t)n), *x = scratch(sizeof *x * (size_t)n);
    for (int64_t i = 0; i < n; i++)
      b[lac_buffer_get(list->steps, i)] = (double)(i % 7) - 3, x[lac_buffer_get(list->steps, i)] = y[i];
    CHECK(direct_error(c.s, c.a.x, t ? LAC_TRANSPOSED : LAC_PLAIN, 1, b, x) <= 1e3 * direct_rounding(LAC_F64));
  }
  lac_batched_plan_destroy(&list);
  direct_close(&system);
}

// -- solutions -------------------------------------------------------------------------------------------------------

static void check_all_sides(lac_context *ctx, const direct_case *c, const char *way) {
  static const int64_t COLUMNS[] = {0, 1, 3, 6};
  lac_solver_options options = batched_options();
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  lac_report report = report_of_factor(factor);
  CHECK_TEXT(report.method, "batched");
  CHECK(strstr(report.reason, way));
  CHECK(report.factor_nnz >= c->s->rows && report.factor_bytes > 0);
  for (int s = 0; s < 4; s++) {
    for (int k = 0; k < 4; k++) direct_check(ctx, c, factor, FORMS[s], COLUMNS[k], 1e3);
  }
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void every_kind_dtype_and_side_is_solved_to_rounding(lac_context *ctx) {
  static const char *const WAYS[DIRECT_KINDS] = {[DIRECT_ZERO_DIAGONAL] = "chooses its pivots serves"};
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    for (int d = LAC_F32; d <= LAC_C128; d++) {
      size_t mark = scratch_mark();
      direct_case c = direct_make((direct_kind)kind, 41, (lac_dtype)d, (uint64_t)kind + 1);
      check_all_sides(ctx, &c, WAYS[kind] ? WAYS[kind] : "by a block of threads");
      scratch_release(mark);
    }
  }
}

/// More entries than 16 bits count, more than a block has shared memory for, and a chain, whose levels have one task.
static void structures_of_all_sizes_are_solved(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 2500, LAC_F64, 1);
  check_all_sides(ctx, &c, "by a block of threads");
  c = direct_make(DIRECT_NONSYMMETRIC, 300, LAC_C64, 1);
  check_all_sides(ctx, &c, "by a block of threads");
  double *full = scratch(sizeof(double) * 200 * 200);
  for (int i = 0; i < 200 * 200; i++) full[i] = i / 200 == i % 200 ? 4 : 0;
  for (int i = 0; i + 1 < 200; i++) full[i * 201 + 1] = -1, full[(i + 1) * 200 + i] = 2;
  c = direct_small(200, full, LAC_F64);
  check_all_sides(ctx, &c, "by a block of threads");
}

static void the_smallest_systems_are_solved(lac_context *ctx) {
  direct_case c = direct_small(1, (double[]){4}, LAC_C128);
  check_all_sides(ctx, &c, "by a block of threads");
  c = direct_small(2, (double[]){4, 0, 0, 8}, LAC_F32);
  check_all_sides(ctx, &c, "by a block of threads");
}

// -- batches ---------------------------------------------------------------------------------------------------------

enum { ITEMS = 9 };

/// Values of shape [ITEMS, 1, nnz] and b of shape [2, n, k]: each matrix with each b.
static void check_batch(lac_context *ctx, direct_kind kind, lac_dtype dtype, int64_t k, const char *method) {
  direct_case c = direct_make(kind, 30, dtype, 3);
  int64_t nnz = c.s->nnz, n = c.s->rows, given[] = {2, n, k}, shape[] = {ITEMS, 2, n, k};
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_array *values = NULL, *b = direct_random(ctx, dtype, 3, given, 9), *x = NULL;
  lac_factor *factor = NULL;
  ref a = ref_new(&(lac_meta){.dtype = dtype, .ndim = 3, .shape = {ITEMS, 1, nnz}}), rb, rx;
  for (int64_t z = 0; z < ITEMS * nnz; z++) a.x[z] = c.a.x[z % nnz] * (1 + (double)(z / nnz));
  CHECK_OK(ref_upload(ctx, &a, &values));
  CHECK_OK(lac_array_create(ctx, dtype, 4, shape, &x));
  CHECK_OK(lac_solver_factor(ctx, system.solver, values, &factor));
  CHECK_TEXT(report_of_factor(factor).method, "batched");
  for (int s = 0; s < 4; s++) {
    CHECK_OK(lac_factor_solve(ctx, factor, b, FORMS[s], x));
    CHECK_OK(ref_download(ctx, b, &rb));
    CHECK_OK(ref_download(ctx, x, &rx));
    for (int64_t i = 0; i < 2 * ITEMS; i++) {
      double error = direct_error(c.s, a.x + i / 2 * nnz, FORMS[s], k, rb.x + i % 2 * n * k, rx.x + i * n * k);
      CHECK(error <= 1e3 * direct_rounding(dtype));
    }
  }
  lac_factor_destroy(&factor);
  lac_array_destroy(&values);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  direct_close(&system);
}

static void batches_are_solved_each_with_its_own_matrix(lac_context *ctx) {
  check_batch(ctx, DIRECT_POSITIVE, LAC_C128, 1, "batched");
  check_batch(ctx, DIRECT_NONSYMMETRIC, LAC_F32, 2, "batched");
  check_batch(ctx, DIRECT_POISSON, LAC_F64, 5, "batched");
}

/// Elsewhere than on the host, whose methods share a batch among threads.
static void the_automatic_choice_takes_it_for_batches_on_devices(lac_context *ctx) {
  if (lac_context_is_host(ctx)) {
    check_skip("on the host other methods are chosen");
    return;
  }
  check_batch(ctx, DIRECT_POSITIVE, LAC_F64, 1, "auto");
  check_batch(ctx, DIRECT_NONSYMMETRIC, LAC_C64, 2, "auto");
}

/// Matrices of many whose diagonal will not do: all of them are solved nevertheless.
static void check_bad_pivots(lac_context *ctx, int64_t bad, const char *words) {
  enum { MANY = 20 };
  direct_case c = direct_small(3, (double[]){2, 1, 0, 1, 3, 1, 0, 1, 4}, LAC_F64);
  lac_solver_options options = batched_options();
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_array *values = NULL, *b = direct_random(ctx, LAC_F64, 3, (int64_t[]){MANY, 3, 1}, 9), *x = NULL;
  lac_factor *factor = NULL;
  ref a = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {MANY, c.s->nnz}}), rb, rx;
  for (int64_t z = 0; z < MANY * c.s->nnz; z++) a.x[z] = c.a.x[z % c.s->nnz];
  for (int64_t i = 0; i < bad; i++) a.x[(7 + i) * c.s->nnz] = 0;
  CHECK_OK(ref_upload(ctx, &a, &values));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 3, (int64_t[]){MANY, 3, 1}, &x));
  CHECK_OK(lac_solver_factor(ctx, system.solver, values, &factor));
  CHECK(strstr(report_of_factor(factor).reason, words));
  CHECK_OK(ref_download(ctx, b, &rb));
  for (int form = 0; form < 4; form++) {
    CHECK_OK(lac_factor_solve(ctx, factor, b, FORMS[form], x));
    CHECK_OK(ref_download(ctx, x, &rx));
    for (int64_t i = 0; i < MANY; i++)
      CHECK(direct_error(c.s, a.x + i * c.s->nnz, FORMS[form], 1, rb.x + 3 * i, rx.x + 3 * i) <= 1e-13);
  }
  lac_factor_destroy(&factor);
  lac_array_destroy(&values), lac_array_destroy(&b), lac_array_destroy(&x);
  direct_close(&system);
}

static void matrices_without_good_pivots_have_a_factor_of_their_own(lac_context *ctx) {
  check_bad_pivots(ctx, 1, "of 1 the diagonal has no good pivots");
  check_bad_pivots(ctx, 5, "of 5 the diagonal has no good pivots");
  check_bad_pivots(ctx, 12, "which was inaccurate");
}

/// Where a few matrices of a broadcast batch are the rest, each b goes to its matrix.
static void the_rest_of_a_batch_broadcasts(lac_context *ctx) {
  direct_case c = direct_small(3, (double[]){2, 1, 0, 1, 3, 1, 0, 1, 4}, LAC_C64);
  int64_t nnz = c.s->nnz, given[] = {2, 3, 2}, shape[] = {ITEMS, 2, 3, 2};
  lac_solver_options options = batched_options();
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_array *values = NULL, *b = direct_random(ctx, LAC_C64, 3, given, 9), *x = NULL;
  lac_factor *factor = NULL;
  ref a = ref_new(&(lac_meta){.dtype = LAC_C64, .ndim = 3, .shape = {ITEMS, 1, nnz}}), rb, rx;
  for (int64_t z = 0; z < ITEMS * nnz; z++) a.x[z] = c.a.x[z % nnz] * (1 + (double)(z / nnz));
  a.x[2 * nnz] = a.x[8 * nnz] = 0;
  CHECK_OK(ref_upload(ctx, &a, &values));
  CHECK_OK(lac_array_create(ctx, LAC_C64, 4, shape, &x));
  CHECK_OK(lac_solver_factor(ctx, system.solver, values, &factor));
  CHECK(strstr(report_of_factor(factor).reason, "of 2 the diagonal"));
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_ADJOINT, x));
  CHECK_OK(ref_download(ctx, b, &rb));
  CHECK_OK(ref_download(ctx, x, &rx));
  for (int64_t i = 0; i < 2 * ITEMS; i++)
    CHECK(direct_error(c.s, a.x + i / 2 * nnz, LAC_ADJOINT, 2, rb.x + i % 2 * 6, rx.x + i * 6) <= 1e-4);
  lac_factor_destroy(&factor);
  lac_array_destroy(&values), lac_array_destroy(&b), lac_array_destroy(&x);
  direct_close(&system);
}

// -- derivatives -----------------------------------------------------------------------------------------------------

static void check_derivatives(lac_context *ctx, const sketch *s, lac_form form, look looks, const char *a,
                              const char *b, const char *x) {
  lac_solver_options options = batched_options();
  op_case c = {.op = "solve_with",
               .patterns = {s},
               .shapes = {a, b},
               .result = {x},
               .i = {form, FACTOR, looks},
               .data = &options,
               .object = square_object,
               .needs = "batched",
               .apply = square_solve_apply,
               .dense = square_solve_dense,
               .fill = square_fill,
               .degree = {-1, 1},
               .fixed = {1, 2},
               .slack = 64};
  check_op(ctx, &c);
}

static void solves_differentiate_on_every_side(lac_context *ctx) {
  const sketch *s = sketch_square(6, 0.4, 1);
  for (int i = 0; i < 4; i++) check_derivatives(ctx, s, FORMS[i], GENERAL, "nnz", "6,2", "6,2");
  check_derivatives(ctx, sketch_symmetric(6, 0.4, 3), LAC_TRANSPOSED, DEFINITE, "nnz", "6,1", "6,1");
}

static void solves_differentiate_batches(lac_context *ctx) {
  const sketch *s = sketch_square(4, 0.4, 5);
  check_derivatives(ctx, s, LAC_PLAIN, GENERAL, "nnz", "3,4,2", "3,4,2");
  check_derivatives(ctx, s, LAC_ADJOINT, GENERAL, "3,nnz", "4,2", "3,4,2");
  check_derivatives(ctx, s, LAC_TRANSPOSED, GENERAL, "2,1,nnz", "2,4,1", "2,2,4,1");
}

// -- what it cannot do -----------------------------------------------------------------------------------------------

static void check_refusal(lac_context *ctx, int64_t n, const double *full, lac_status status, const char *words) {
  direct_case c = direct_small(n, full, LAC_F64);
  lac_solver_options options = batched_options();
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), status, words);
  CHECK(!factor);
  direct_close(&system);
}

static void singular_matrices_are_refused(lac_context *ctx) {
  check_refusal(ctx, 2, (double[]){2, -1, NAN, 2}, LAC_ERR_NONFINITE, "(1, 0)");
  check_refusal(ctx, 2, (double[]){2, INFINITY, 1, 2}, LAC_ERR_NONFINITE, "(0, 1)");
  check_refusal(ctx, 3, (double[]){2, 0, 0, 0, 2, 0, NAN, 0, 3}, LAC_ERR_NONFINITE, "(2, 0)");
  check_refusal(ctx, 2, (double[]){1, 2, 2, 4}, LAC_ERR_SINGULAR, "singular");
  check_refusal(ctx, 3, (double[]){2, 0, 1, 3, 0, 4, 5, 0, 7}, LAC_ERR_SINGULAR, "singular");
}

static void determinants_are_those_of_the_partner(lac_context *ctx) {
  direct_case c = direct_small(3, (double[]){4, 1, 0, 2, 5, 1, 0, 1, 3}, LAC_F64);
  lac_solver_options options = batched_options();
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  double logabs = 0, sign[2];
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(lac_factor_slogdet(ctx, factor, &logabs, sign));
  CHECK_NEAR(logabs, log(50), 1e-14);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void what_is_not_small_is_refused(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, LAC_BATCHED_ROWS + 400, LAC_F64, 1);
  lac_solver_options options = batched_options();
  lac_solver *solver = NULL;
  lac_pattern *pattern = NULL;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  pattern = lac_pattern_retain(system.pattern);
  CHECK_FAILS(lac_solver_create(ctx, pattern, &options, &solver), LAC_ERR_UNSUPPORTED, "use method = \"auto\"");
  lac_pattern_destroy(&pattern);
  direct_close(&system);
  enum { FULL = 400 };
  double *full = scratch(sizeof *full * FULL * FULL);
  for (int i = 0; i < FULL * FULL; i++) full[i] = i / FULL == i % FULL ? FULL : 1;
  c = direct_small(FULL, full, LAC_F64);
  system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  CHECK_FAILS(lac_solver_create(ctx, system.pattern, &options, &solver), LAC_ERR_UNSUPPORTED, "products");
  direct_close(&system);
  c = direct_make(DIRECT_POISSON, 40, LAC_F64, 1);
  options.max_bytes = 64;
  system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_MEMORY, "max_bytes is 64");
  direct_close(&system);
}

CHECK_MAIN_OF("batched", lists_eliminate, every_kind_dtype_and_side_is_solved_to_rounding,
              structures_of_all_sizes_are_solved, the_smallest_systems_are_solved,
              batches_are_solved_each_with_its_own_matrix, the_automatic_choice_takes_it_for_batches_on_devices,
              matrices_without_good_pivots_have_a_factor_of_their_own, the_rest_of_a_batch_broadcasts,
              solves_differentiate_on_every_side, solves_differentiate_batches, singular_matrices_are_refused,
              determinants_are_those_of_the_partner, what_is_not_small_is_refused)

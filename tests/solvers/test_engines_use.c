// SPDX-License-Identifier: Apache-2.0
/// Engines shared by threads, what they refuse, and memory that fails; one that is not here is named with the package
/// that brings it.

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core/memory_impl.h"
#include "solvers/engines/engine.h"
#include "support/check.h"
#include "support/engine_case.h"
#include "support/scratch.h"

// -- threads ---------------------------------------------------------------------------------------------------------

typedef struct sharer {
  const lac_factor *factor;
  const lac_array *b;
  double *x;
  int fails;
} sharer;

static void *solve_often(void *argument) {
  sharer *s = argument;
  lac_context *ctx = NULL;
  int64_t shape[] = {s->b->meta.shape[0], s->b->meta.shape[1]};
  lac_array *x = NULL;
  s->fails = lac_context_create("cpu", 0, &ctx) != LAC_OK || lac_array_create(ctx, LAC_F64, 2, shape, &x) != LAC_OK;
  for (int round = 0; round < 30 && !s->fails; round++) {
    s->fails = lac_factor_solve(ctx, s->factor, s->b, round % 2 ? LAC_PLAIN : LAC_TRANSPOSED, x) != LAC_OK;
  }
  s->fails = s->fails || lac_array_read(ctx, x, s->x) != LAC_OK;
  lac_array_destroy(&x);
  lac_context_destroy(&ctx);
  return NULL;
}

static void visit_threads(lac_context *ctx, const engine *e) {
  direct_case c = direct_make(e->is_hermitian ? DIRECT_POSITIVE : DIRECT_NONSYMMETRIC, 60, LAC_F64, 2);
  int64_t shape[] = {c.s->rows, 11};
  size_t bytes = (size_t)(shape[0] * shape[1]) * sizeof(double);
  lac_solver_options options = engine_options(e, LAC_ORDER_AUTO);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 4);
  lac_factor *factor = NULL;
  pthread_t threads[2];
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  sharer sharers[3] = {{factor, b, scratch(bytes), 0}, {factor, b, scratch(bytes), 0}, {factor, b, scratch(bytes), 0}};
  for (int t = 0; t < 2; t++) CHECK(pthread_create(&threads[t], NULL, solve_often, &sharers[t]) == 0);
  for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
  solve_often(&sharers[2]);
  for (int t = 0; t < 3; t++) CHECK(!sharers[t].fails);
  for (int t = 0; t < 2; t++) CHECK(memcmp(sharers[t].x, sharers[2].x, bytes) == 0);
  lac_array_destroy(&b);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void threads_share_a_factor(lac_context *ctx) { each_engine(ctx, visit_threads); }

// -- refusals --------------------------------------------------------------------------------------------------------

static void check_refusal(lac_context *ctx, const engine *e, int64_t n, const double *full, lac_status status,
                          const char *words) {
  int64_t row[16], col[16], shape[] = {n * n};
  lac_solver_options options = engine_options(e, LAC_ORDER_AUTO);
  direct_system system = {0};
  lac_factor *factor = NULL;
  for (int64_t p = 0; p < n * n; p++) row[p] = p / n, col[p] = p % n;
  CHECK_OK(lac_pattern_from_coo(ctx, n, n, n * n, LAC_I64, row, col, LAC_WIDTH_AUTO, &system.pattern, NULL));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, shape, (void *)full, LAC_OWNERSHIP_COPY, &system.values));
  CHECK_OK(lac_solver_create(ctx, system.pattern, &options, &system.solver));
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), status, words);
  CHECK(!factor);
  direct_close(&system);
}

static void visit_refusals(lac_context *ctx, const engine *e) {
  check_refusal(ctx, e, 2, (double[]){2, -1, NAN, 2}, LAC_ERR_NONFINITE, "(1, 0)");
  if (e->is_hermitian) {
    check_refusal(ctx, e, 2, (double[]){2, -1, -2, 2}, LAC_ERR_SYMMETRY, "(0, 1)");
    check_refusal(ctx, e, 3, (double[]){2, 0, 0, 0, 2, 0, 0, 0, -5}, LAC_ERR_DEFINITE, "in row 2");
    check_refusal(ctx, e, 3, (double[]){2, 0, 0, 0, -5, 0, 0, 0, 2}, LAC_ERR_DEFINITE, "in row 1");
  } else {
    check_refusal(ctx, e, 3, (double[]){2, 0, 1, 3, 0, 4, 5, 0, 7}, LAC_ERR_SINGULAR,
                  strcmp(e->method, "mumps") == 0 ? "in row" : "in column 1");
    check_refusal(ctx, e, 2, (double[]){1, 2, 2, 4}, LAC_ERR_SINGULAR, "pivot 0");
    check_refusal(ctx, e, 2, (double[]){0, 0, 0, 0}, LAC_ERR_SINGULAR, "pivot 0");
  }
  if (e->has_single) return;
  direct_case c = direct_make(DIRECT_POISSON, 9, LAC_F32, 1);
  lac_solver_options options = engine_options(e, LAC_ORDER_AUTO);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_UNSUPPORTED, "the values are f32");
  direct_close(&system);
}

static void what_an_engine_cannot_take_is_named(lac_context *ctx) { each_engine(ctx, visit_refusals); }

// Without an entry on the diagonal, and without any in a row.
static void visit_structures(lac_context *ctx, const engine *e) {
  int64_t row[] = {0, 1, 1, 2}, col[] = {1, 0, 2, 1};
  double a[] = {1, 1, 2, 2};
  lac_solver_options options = engine_options(e, LAC_ORDER_AUTO);
  for (int64_t count = 0; count <= 4; count += 2) {
    direct_system system = {0};
    lac_factor *factor = NULL;
    CHECK_OK(lac_pattern_from_coo(ctx, 3, 3, count, LAC_I64, row, col, LAC_WIDTH_AUTO, &system.pattern, NULL));
    CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &count, a, LAC_OWNERSHIP_COPY, &system.values));
    CHECK_OK(lac_solver_create(ctx, system.pattern, &options, &system.solver));
    CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor),
                e->is_hermitian ? LAC_ERR_DEFINITE : LAC_ERR_SINGULAR, e->is_hermitian ? "in row" : "singular");
    direct_close(&system);
  }
}

static void structurally_singular_matrices_are_refused(lac_context *ctx) { each_engine(ctx, visit_structures); }

static void an_engine_that_is_missing_is_named_with_its_package(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 9, LAC_F64, 1);
  lac_pattern *pattern = NULL;
  CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
  lac_plugin_hide(true);
  for (int i = 0; i < ENGINE_COUNT; i++) {
    lac_solver_options options = engine_options(&ENGINES[i], LAC_ORDER_AUTO);
    lac_solver *solver = NULL;
    const char *package = strcmp(ENGINES[i].method, "mumps") == 0 ? "libmumps-seq-dev" : "libsuitesparse-dev";
    CHECK_FAILS(lac_engine_find(ctx, ENGINES[i].method), LAC_ERR_UNSUPPORTED, package);
    CHECK_FAILS(lac_solver_create(ctx, pattern, &options, &solver), LAC_ERR_UNSUPPORTED, "build Lacuna with it");
    CHECK(!solver);
  }
  CHECK_OK(lac_engine_find(ctx, "auto"));
  CHECK_OK(lac_engine_find(ctx, "pivoting_lu"));
  lac_plugin_hide(false);
  lac_pattern_destroy(&pattern);
}

// -- memory ----------------------------------------------------------------------------------------------------------

static lac_status solve_from_nothing(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                                     const lac_array *values, const lac_array *b, lac_array *x) {
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_status status = lac_solver_create(ctx, pattern, options, &solver);
  if (status == LAC_OK) status = lac_solver_factor(ctx, solver, values, &factor);
  if (status == LAC_OK) status = lac_factor_solve(ctx, factor, b, LAC_PLAIN, x);
  lac_factor_destroy(&factor);
  lac_solver_destroy(&solver);
  return status;
}

// What the engine's own library takes is not ours to fail.
static void visit_memory(lac_context *ctx, const engine *e) {
  direct_case c = direct_make(e->is_hermitian ? DIRECT_POSITIVE : DIRECT_NONSYMMETRIC, 20, LAC_F64, 3);
  int64_t shape[] = {c.s->rows, 2}, n = 1;
  lac_solver_options options = engine_options(e, LAC_ORDER_NATURAL);
  lac_array *values = NULL, *b = direct_random(ctx, LAC_F64, 2, shape, 1), *x = NULL;
  CHECK_OK(ref_upload(ctx, &c.a, &values));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, shape, &x));
  for (lac_status status = LAC_ERR_MEMORY; status != LAC_OK; n++) {
    lac_pattern *pattern = NULL;
    CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
    lac_pattern_destroy(&pattern);
    long long before = check_live_blocks();
    CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
    lac_memory_fail_at(n);
    status = solve_from_nothing(ctx, pattern, &options, values, b, x);
    int is_reached = lac_memory_fail_at(0) >= n;
    CHECK_EQ(status, is_reached ? LAC_ERR_MEMORY : LAC_OK);
    lac_pattern_destroy(&pattern);
    CHECK_EQ(check_live_blocks(), before);
  }
  CHECK(n > 20);
  lac_array_destroy(&values);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
}

static void every_failing_allocation_is_said_and_leaks_nothing(lac_context *ctx) {
  each_engine(ctx, visit_memory);
  lac_engine_set_narrow(-1);
  each_engine(ctx, visit_memory);
  lac_engine_set_narrow(INT32_MAX);
}

CHECK_MAIN(an_engine_that_is_missing_is_named_with_its_package, threads_share_a_factor,
           what_an_engine_cannot_take_is_named, structurally_singular_matrices_are_refused,
           every_failing_allocation_is_said_and_leaks_nothing)

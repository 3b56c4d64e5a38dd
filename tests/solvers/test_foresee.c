// SPDX-License-Identifier: Apache-2.0
/// What is foreseen: figures that come true, refusals before memory runs out, warnings where a pattern fills in.

#include <string.h>

#include "core/context_impl.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

static lac_solver_options options_of(const char *method, lac_ordering ordering) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  options.ordering = ordering;
  return options;
}

static void figures_come_true(lac_context *ctx) {
  static const char *const METHODS[] = {"cholesky", "ldlt"};
  for (int m = 0; m < 2; m++) {
    for (int ordering = LAC_ORDER_AUTO; ordering <= LAC_ORDER_NATURAL; ordering++) {
      lac_solver_options options = options_of(METHODS[m], (lac_ordering)ordering);
      if (lac_ordering_find(ctx, options.ordering) != LAC_OK) continue;
      direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
      direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
      lac_factor *factor = NULL;
      CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
      lac_report before = report_of_solver(system.solver), after = report_of_factor(factor);
      CHECK(before.factor_nnz > c.s->nnz / 2);
      CHECK_EQ(before.factor_nnz, after.factor_nnz);
      CHECK_EQ(before.factor_bytes, after.factor_bytes);
      CHECK_EQ(before.work_bytes, after.work_bytes);
      CHECK(before.flops == after.flops && before.flops > 0);
      CHECK_TEXT(before.ordering, after.ordering);
      CHECK_TEXT(before.warning, "");
      lac_factor_destroy(&factor);
      direct_close(&system);
    }
  }
}

// Methods share an analysis; the figures are those of the method that is asked, whoever came first.
static void each_method_has_its_own_figures(lac_context *ctx) {
  lac_solver_options lu = options_of("lu", LAC_ORDER_AMD), cholesky = options_of("cholesky", LAC_ORDER_AMD);
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &lu);
  lac_solver *second = NULL;
  CHECK_OK(lac_solver_create(ctx, lac_solver_pattern(system.solver), &cholesky, &second));
  lac_report both = report_of_solver(system.solver), half = report_of_solver(second);
  CHECK(half.factor_nnz > 0);
  CHECK_EQ(both.factor_nnz, 2 * half.factor_nnz - 400);
  CHECK(both.flops == 2 * half.flops);
  lac_solver_destroy(&second);
  direct_close(&system);
}

// Against what the memory of the library counts.
static void bytes_come_true(lac_context *ctx) {
  static const char *const METHODS[] = {"cholesky", "ldlt", "lu"};
  int threads = ctx->threads;
  ctx->threads = 1;
  for (int m = 0; m < 3; m++) {
    lac_solver_options options = options_of(METHODS[m], LAC_ORDER_AMD);
    direct_case c = direct_make(DIRECT_POISSON, 6400, LAC_F64, 1);
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    lac_report report = report_of_solver(system.solver);
    lac_factor *factor = NULL;
    int64_t before = memory_now("cpu").live_bytes;
    lac_memory_reset_peak("cpu");
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    lac_memory_stats after = memory_now("cpu");
    double bytes = (double)report.factor_bytes, work = (double)report.work_bytes;
    CHECK_NEAR((double)(after.live_bytes - before), bytes, 0.1 * bytes);
    CHECK_NEAR((double)(after.peak_bytes - before), bytes + work, 0.25 * (bytes + work));
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
  ctx->threads = threads;
}

// -- memory ----------------------------------------------------------------------------------------------------------

// A batch of `items` copies of a matrix under a limit.
static lac_status factor_batch(lac_context *ctx, const direct_case *c, int64_t items, int64_t max_bytes) {
  lac_solver_options options = options_of("cholesky", LAC_ORDER_AMD);
  options.max_bytes = max_bytes;
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  ref values = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {items, c->s->nnz}});
  lac_array *array = NULL;
  lac_factor *factor = NULL;
  for (int64_t i = 0; i < values.count; i++) values.x[i] = c->a.x[i % c->s->nnz];
  CHECK_OK(ref_upload(ctx, &values, &array));
  lac_status status = lac_solver_factor(ctx, system.solver, array, &factor);
  lac_factor_destroy(&factor);
  lac_array_destroy(&array);
  direct_close(&system);
  return status;
}

static void more_than_max_bytes_is_refused(lac_context *ctx) {
  lac_solver_options options = options_of("cholesky", LAC_ORDER_AMD);
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_report report = report_of_solver(system.solver);
  int64_t one = report.factor_bytes + report.work_bytes;
  direct_close(&system);
  CHECK_OK(factor_batch(ctx, &c, 1, one));
  CHECK_FAILS(factor_batch(ctx, &c, 1, report.factor_nnz * 8 - 1), LAC_ERR_MEMORY, "max_bytes is");
  CHECK_FAILS(factor_batch(ctx, &c, 5, one), LAC_ERR_MEMORY, "LAC_ORDER_METIS");
  CHECK_FAILS(factor_batch(ctx, &c, 5, one), LAC_ERR_MEMORY, "f32");
  CHECK_OK(factor_batch(ctx, &c, 5, 10 * one));
  CHECK_OK(factor_batch(ctx, &c, 0, 1));
  CHECK_OK(factor_batch(ctx, &c, 5, 0));
}

static void a_negative_limit_is_refused(lac_context *ctx) {
  lac_solver_options options = lac_solver_options_defaults();
  lac_pattern *pattern = NULL;
  lac_solver *solver = NULL;
  options.max_bytes = -1;
  CHECK_OK(sketch_pattern(ctx, sketch_square(4, 0.5, 1), LAC_WIDTH_AUTO, &pattern));
  CHECK_FAILS(lac_solver_create(ctx, pattern, &options, &solver), LAC_ERR_ARG, "max_bytes must not be negative");
  lac_pattern_destroy(&pattern);
}

static void the_machine_says_what_it_has(lac_context *ctx) {
  (void)ctx;
  int64_t there = lac_memory_available();
  CHECK(there > INT64_C(1) << 20);
  CHECK(there == INT64_MAX || there < INT64_C(1) << 50);
}

// Full first row and column, and the diagonal.
static const sketch *sketch_arrow(int64_t n) {
  sketch *s = scratch(sizeof *s);
  *s = (sketch){n, n, 0, scratch((size_t)(3 * n) * sizeof *s->row), scratch((size_t)(3 * n) * sizeof *s->col)};
  for (int64_t j = 0; j < n; j++) s->col[s->nnz++] = j;
  for (int64_t i = 1; i < n; i++) {
    s->row[s->nnz] = s->row[s->nnz + 1] = i;
    s->col[s->nnz + 1] = i;
    s->nnz += 2;
  }
  return s;
}

// Taken from the wrong end, an arrow of so many rows would fill some terabytes.
static void more_than_the_machine_has_is_refused(lac_context *ctx) {
  lac_solver_options options = options_of("cholesky", LAC_ORDER_NATURAL);
  direct_case c = {.s = sketch_arrow(1000000)};
  c.a = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {c.s->nnz}});
  for (int64_t i = 0; i < c.s->nnz; i++) c.a.x[i] = 1;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_EQ(report_of_solver(system.solver).factor_nnz, c.s->rows * (c.s->rows + 1) / 2);
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_MEMORY, "but there are");
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_MEMORY, "TB");
  direct_close(&system);
}

// -- fill ------------------------------------------------------------------------------------------------------------

static void an_arrow_fills_in_when_it_is_taken_from_the_wrong_end(lac_context *ctx) {
  static const lac_ordering ORDERINGS[] = {LAC_ORDER_AMD, LAC_ORDER_NATURAL};
  for (int i = 0; i < 2; i++) {
    size_t mark = scratch_mark();
    lac_solver_options options = options_of("cholesky", ORDERINGS[i]);
    direct_case c = direct_make(DIRECT_ARROW, 1200, LAC_F64, 2);
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    lac_factor *factor = NULL;
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    const char *before = report_of_solver(system.solver).warning, *after = report_of_factor(factor).warning;
    CHECK_TEXT(before, after);
    CHECK_EQ(strstr(after, "fills in") != NULL, ORDERINGS[i] == LAC_ORDER_NATURAL);
    CHECK_EQ(strstr(after, "LAC_ORDER_METIS") != NULL, ORDERINGS[i] == LAC_ORDER_NATURAL);
    CHECK(ORDERINGS[i] == LAC_ORDER_NATURAL || *after == '\0');
    lac_factor_destroy(&factor);
    direct_close(&system);
    scratch_release(mark);
  }
}

CHECK_MAIN_OF("direct", figures_come_true, bytes_come_true, each_method_has_its_own_figures,
              more_than_max_bytes_is_refused, more_than_the_machine_has_is_refused, a_negative_limit_is_refused,
              the_machine_says_what_it_has, an_arrow_fills_in_when_it_is_taken_from_the_wrong_end)

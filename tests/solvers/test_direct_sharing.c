// SPDX-License-Identifier: Apache-2.0
/// The built-in direct solver: what is made of the same values is made once, few factors are kept, and threads share
/// solvers and factors.

#include <complex.h>
#include <pthread.h>
#include <string.h>

#include "solvers/solver_impl.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

static lac_solver_options options_of(const char *method) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  return options;
}

// -- factors that are kept -------------------------------------------------------------------------------------------

static void values_that_come_back_give_the_same_factor(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 20, LAC_F64, 2);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *first = NULL, *again = NULL, *other = NULL;
  int matches = 0;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &first));
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &again));
  CHECK(first == again);
  CHECK_EQ(report_of_factor(first).factorisations, 1);
  CHECK_EQ(report_of_factor(first).reuses, 1);
  CHECK_OK(lac_factor_matches(ctx, "test", first, system.values, &matches));
  CHECK(matches);

  ((double *)lac_array_edit(system.values))[0] += 1;
  CHECK_OK(lac_factor_matches(ctx, "test", first, system.values, &matches));
  CHECK(!matches);
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &other));
  CHECK(other != first && lac_factor_id(other) != lac_factor_id(first));
  CHECK_EQ(report_of_factor(first).factorisations, 2);
  CHECK(lac_factor_pattern(first) == system.pattern && lac_solver_pattern(system.solver) == system.pattern);

  direct_close(&system);  // factors outlive their solver
  direct_check(ctx, &c, first, LAC_ADJOINT, 3, 1e3);
  lac_factor_destroy(&first);
  lac_factor_destroy(&again);
  lac_factor_destroy(&other);
}

static void what_is_kept_stays_within_the_budget(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 20, LAC_F64, 2);
  lac_solver_options options = options_of("lu");
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  options.keep_bytes = 5 * report_of_factor(factor).factor_bytes / 2;
  lac_factor_destroy(&factor);
  lac_solver_destroy(&system.solver);
  CHECK_OK(lac_solver_create(ctx, system.pattern, &options, &system.solver));

  for (int i = 0; i < 5; i++) {  // the diagonal changes, the fill does not
    ((double *)lac_array_edit(system.values))[0] = 4 + i;
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    lac_factor_destroy(&factor);
  }
  ((double *)lac_array_edit(system.values))[0] = 4 + 3;  // the last but one is still there, the first is not
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_EQ(report_of_factor(factor).reuses, 1);
  lac_factor_destroy(&factor);
  ((double *)lac_array_edit(system.values))[0] = 4;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_EQ(report_of_factor(factor).factorisations, 6);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

// Newton on a small system: every step has new values.
static void always_changing_values_keep_a_few_factors_only(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_TRIANGULAR, 5, LAC_F64, 2);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = NULL;
  int64_t bytes = 0, kept = 0, rounds = 20000;
  for (int64_t i = 0; i < rounds; i++) {
    ((double *)lac_array_edit(system.values))[0] = 4 + (double)i;
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    lac_factor_destroy(&factor);
    CHECK(system.solver->kept_count <= LAC_KEPT_FACTORS);
  }
  for (lac_factor *f = system.solver->kept; f; f = f->next) kept++, bytes += lac_factor_bytes(f);
  CHECK_EQ(kept, LAC_KEPT_FACTORS);
  CHECK_EQ(system.solver->kept_count, kept);
  CHECK_EQ(system.solver->kept_bytes, bytes);

  for (int64_t age = 0; age <= LAC_KEPT_FACTORS; age++) {  // the last of these is one too old
    ((double *)lac_array_edit(system.values))[0] = 4 + (double)(rounds - 1 - age);
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    lac_factor_destroy(&factor);
  }
  CHECK_EQ(report_of_solver(system.solver).reuses, LAC_KEPT_FACTORS);
  CHECK_EQ(report_of_solver(system.solver).factorisations, rounds + 1);
  direct_close(&system);
}

// Memory of the library is known by its version, and what was written to it by its bits, wherever they stand.
static void values_are_known_by_version_and_by_bits(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_TRIANGULAR, 5, LAC_F64, 2);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *first = NULL, *second = NULL, *again = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &first));
  ((double *)lac_array_edit(system.values))[0] += 1;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &second));
  CHECK(second != first && memcmp(first->identity.hash, second->identity.hash, sizeof first->identity.hash) != 0);
  ((double *)lac_array_edit(system.values))[0] -= 1;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &again));
  CHECK(again == first);
  lac_factor_destroy(&again);
  second->identity.storage = system.values->storage->id;  // as if the same memory had been factored a version before
  second->identity.version = lac_array_version(system.values) - 1;
  second->identity.has_hash = false;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &again));
  CHECK(again == first);
  lac_factor_destroy(&first);
  lac_factor_destroy(&second);
  lac_factor_destroy(&again);
  direct_close(&system);
}

static void partners_count_from_the_next_use_on(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 20, LAC_F64, 2);
  lac_solver_options options = options_of("lu");
  for (int fits = 1; fits >= 0; fits--) {
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    const lac_factor *partner = NULL;
    lac_factor *factor = NULL, *again = NULL;
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    CHECK_OK(lac_factor_partner(ctx, factor, NULL, &partner));
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &again));
    int64_t both = lac_factor_bytes(factor) + lac_factor_bytes(partner);
    CHECK(partner && again == factor);
    CHECK_EQ(system.solver->kept_bytes, both);  // the last one stays
    CHECK_EQ(system.solver->kept_count, 1);
    ((double *)lac_array_edit(system.values))[0] *= 2;
    lac_factor_destroy(&again);
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &again));
    CHECK_EQ(system.solver->kept_count, fits ? 2 : 1);
    options.keep_bytes = both - 1;
    lac_factor_destroy(&factor);
    lac_factor_destroy(&again);
    direct_close(&system);
  }
}

static void a_last_factor_beyond_the_budget_stays_and_drives_nothing_out(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_TRIANGULAR, 20, LAC_F64, 2);
  lac_solver_options options = options_of("lu");
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_array *batch = direct_random(ctx, LAC_F64, 2, (int64_t[]){3, c.s->nnz}, 1);
  lac_factor *factor = NULL, *large = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  options.keep_bytes = 2 * report_of_factor(factor).factor_bytes;
  lac_factor_destroy(&factor);
  lac_solver_destroy(&system.solver);
  CHECK_OK(lac_solver_create(ctx, system.pattern, &options, &system.solver));

  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(lac_solver_factor(ctx, system.solver, batch, &large));
  CHECK(lac_factor_bytes(large) > options.keep_bytes);
  CHECK(system.solver->kept == large && large->next == factor && !factor->next);
  CHECK_EQ(system.solver->kept_count, 2);
  CHECK_EQ(system.solver->kept_bytes, lac_factor_bytes(factor) + lac_factor_bytes(large));
  lac_factor_destroy(&large);
  CHECK_OK(lac_solver_factor(ctx, system.solver, batch, &large));  // as a backward does
  CHECK_EQ(report_of_factor(large).factorisations, 2);
  ((double *)lac_array_edit(batch))[0] *= 2;
  lac_factor_destroy(&large);
  CHECK_OK(lac_solver_factor(ctx, system.solver, batch, &large));  // in the place of the large one before
  CHECK(system.solver->kept == large && large->next == factor && system.solver->kept_count == 2);
  lac_factor_destroy(&factor);
  lac_factor_destroy(&large);
  lac_array_destroy(&batch);
  direct_close(&system);
}

// -- threads and memory ----------------------------------------------------------------------------------------------

typedef struct worker {
  const lac_solver *solver;
  const direct_case *c;
  int fails;
} worker;

static void *work(void *argument) {
  worker *w = argument;
  lac_context *ctx = NULL;
  int64_t nnz = w->c->s->nnz, shape[] = {nnz}, shape_b[] = {w->c->s->rows, 2};
  double a[512];
  if (lac_context_create("cpu", 0, &ctx) != LAC_OK) return w->fails = 1, NULL;
  for (int round = 0; round < 40 && !w->fails; round++) {
    lac_array *values = NULL, *b = NULL, *x = NULL;
    lac_factor *factor = NULL;
    for (int64_t z = 0; z < nnz; z++) a[z] = creal(w->c->a.x[z]) * (1 + round % 3);  // three matrices, over and over
    w->fails = lac_array_from(ctx, LAC_F64, 1, shape, a, LAC_OWNERSHIP_COPY, &values) != LAC_OK ||
               lac_array_create(ctx, LAC_F64, 2, shape_b, &b) != LAC_OK || lac_array_fill(ctx, b, 1, 0) != LAC_OK ||
               lac_array_create(ctx, LAC_F64, 2, shape_b, &x) != LAC_OK ||
               lac_solver_factor(ctx, w->solver, values, &factor) != LAC_OK ||
               lac_factor_solve(ctx, factor, b, LAC_TRANSPOSED, x) != LAC_OK;
    lac_factor_destroy(&factor);
    lac_array_destroy(&values);
    lac_array_destroy(&b);
    lac_array_destroy(&x);
  }
  lac_context_destroy(&ctx);
  return NULL;
}

static void two_threads_share_a_solver(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 30, LAC_F64, 2);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  worker workers[2] = {{system.solver, &c, 0}, {system.solver, &c, 0}};
  pthread_t threads[2];
  CHECK(c.s->nnz <= 512);
  for (int t = 0; t < 2; t++) CHECK(pthread_create(&threads[t], NULL, work, &workers[t]) == 0);
  for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
  CHECK(!workers[0].fails && !workers[1].fails);
  direct_close(&system);
}

typedef struct sharer {
  const lac_factor *factor;
  const lac_array *b;
  double *x;  // what it found, to compare
  int fails;
} sharer;

static void *solve_often(void *argument) {
  sharer *s = argument;
  lac_context *ctx = NULL;
  if (lac_context_create("cpu", 0, &ctx) != LAC_OK) return s->fails = 1, NULL;
  for (int round = 0; round < 100 && !s->fails; round++) {
    lac_array *x = NULL;
    s->fails = lac_array_create(ctx, LAC_F64, 2, s->b->meta.shape, &x) != LAC_OK ||
               lac_factor_solve(ctx, s->factor, s->b, LAC_TRANSPOSED, x) != LAC_OK ||
               lac_array_read(ctx, x, s->x) != LAC_OK;
    lac_array_destroy(&x);
  }
  lac_context_destroy(&ctx);
  return NULL;
}

static void two_threads_solve_with_one_factor(lac_context *ctx) {
  static const direct_kind KINDS[] = {DIRECT_POSITIVE, DIRECT_NONSYMMETRIC};
  for (int kind = 0; kind < 2; kind++) {
    direct_case c = direct_make(KINDS[kind], 30, LAC_F64, 2);
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
    lac_factor *factor = NULL;
    lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){c.s->rows, 11}, 5);
    size_t bytes = (size_t)(c.s->rows * 11) * sizeof(double);
    pthread_t threads[2];
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    sharer sharers[2] = {{factor, b, scratch(bytes), 0}, {factor, b, scratch(bytes), 0}};
    for (int t = 0; t < 2; t++) CHECK(pthread_create(&threads[t], NULL, solve_often, &sharers[t]) == 0);
    for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
    CHECK(!sharers[0].fails && !sharers[1].fails);
    CHECK(memcmp(sharers[0].x, sharers[1].x, bytes) == 0);
    lac_array_destroy(&b);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

// The peak of one solve above what was live before it.
static int64_t solve_peak(lac_context *ctx, const lac_factor *factor, int64_t n, int64_t k) {
  lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){n, k}, 5), *x = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){n, k}, &x));
  int64_t before = memory_now("cpu").live_bytes, blocks = memory_now("cpu").allocations;
  lac_memory_reset_peak("cpu");
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x));
  int64_t peak = memory_now("cpu").peak_bytes - before;
  CHECK_EQ(memory_now("cpu").allocations, blocks + 1);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return peak;
}

static void a_solve_works_in_one_block_of_n_by_sixteen_for_each_thread(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 100, LAC_F64, 2);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  int64_t n = c.s->rows, block = 5 * n * 16 * (int64_t)sizeof(double);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  for (int threads = 1; threads <= 2; threads++) {
    CHECK_OK(lac_context_set_threads(ctx, threads));
    CHECK(solve_peak(ctx, factor, n, 1) <= block / 16 + 256);
    CHECK(solve_peak(ctx, factor, n, 100) <= threads * block + 256);
  }
  lac_factor_destroy(&factor);
  direct_close(&system);
}

CHECK_MAIN_OF("direct", values_that_come_back_give_the_same_factor, what_is_kept_stays_within_the_budget,
              always_changing_values_keep_a_few_factors_only, values_are_known_by_version_and_by_bits,
              partners_count_from_the_next_use_on, a_last_factor_beyond_the_budget_stays_and_drives_nothing_out,
              two_threads_share_a_solver, two_threads_solve_with_one_factor,
              a_solve_works_in_one_block_of_n_by_sixteen_for_each_thread)

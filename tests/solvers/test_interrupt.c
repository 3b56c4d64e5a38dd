// SPDX-License-Identifier: Apache-2.0
/// Interruption of what takes long: at whichever look the function says so, the call ends with LAC_ERR_INTERRUPTED,
/// nothing leaks, and the next call gives what it gives undisturbed.

#include <pthread.h>
#include <string.h>

#include "core/test_hooks.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/scratch.h"

/// Says "end" at one of its calls, and counts them.
typedef struct bell {
  int64_t rings_at, calls;
  pthread_t owner;
  bool is_foreign;  // another thread than the owner called it
} bell;

static int bell_ring(void *data) {
  bell *b = data;
  b->is_foreign = b->is_foreign || !pthread_equal(b->owner, pthread_self());
  return ++b->calls == b->rings_at;
}

/// What is interrupted: `made` is destroyed after each try.
typedef struct trade {
  lac_status (*run)(lac_context *ctx, const struct trade *t, void **made);
  void (*drop)(void **made);
  const direct_system *system;
  const sketch *sketch;
  const lac_factor *factor;
  lac_array *in, *out;
  const lac_solver_options *options;
} trade;

static void drop_solver(void **made) { lac_solver_destroy((lac_solver **)made); }
static void drop_factor(void **made) { lac_factor_destroy((lac_factor **)made); }
static void drop_nothing(void **made) { CHECK(!*made); }

/// One try, which rings at look k. Who does which piece of the work may change how many looks the calling thread has:
/// a try that ends before look k, beyond the first, comes through.
static void check_interrupt(lac_context *ctx, const trade *t, bell *b, int64_t k) {
  long long before = check_live_blocks();
  void *made = NULL;
  lac_status status;

  b->calls = 0, b->rings_at = k;
  status = t->run(ctx, t, &made);
  if (b->calls < k && k > 1) {
    CHECK_OK(status);
    t->drop(&made);
  } else {
    CHECK_FAILS(status, LAC_ERR_INTERRUPTED, "interrupted");
  }
  CHECK(!made);
  CHECK_EQ(check_live_blocks(), before);
}

/// At many looks in turn, the first ones each; and once more undisturbed.
static void check_interrupts(lac_context *ctx, const trade *t, int64_t least) {
  bell b = {.owner = pthread_self()};
  int64_t looks = 0;
  void *made = NULL;

  lac_stop_set_pause(0);
  CHECK_OK(lac_context_set_interrupt(ctx, bell_ring, &b));
  CHECK_OK(t->run(ctx, t, &made));
  t->drop(&made);
  looks = b.calls;
  CHECK(looks >= least);
  for (int64_t k = 1; k <= looks; k += k < 8 ? 1 : 1 + looks / 8) check_interrupt(ctx, t, &b, k);
  CHECK(!b.is_foreign);
  b.rings_at = 0;
  CHECK_OK(t->run(ctx, t, &made));
  t->drop(&made);
  CHECK_OK(lac_context_set_interrupt(ctx, NULL, NULL));
  lac_stop_set_pause(0.1);
}

// -- direct methods --------------------------------------------------------------------------------------------------

static lac_status run_factor(lac_context *ctx, const trade *t, void **made) {
  return lac_solver_factor(ctx, t->system->solver, t->system->values, (lac_factor **)made);
}

static lac_status run_refactor(lac_context *ctx, const trade *t, void **made) {
  return lac_factor_refactor(ctx, t->factor, t->system->values, (lac_factor **)made);
}

static lac_status run_inverse(lac_context *ctx, const trade *t, void **made) {
  (void)made;
  return lac_factor_selected_inverse(ctx, t->factor, t->out);
}

// A grid whose fronts are worth looks, for each method that has a walk of its own, with one thread and with two.
static void check_method(lac_context *ctx, const direct_case *c, const char *method) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  options.keep_bytes = -1;  // values that were factored before are factored again
  for (int threads = 1; threads <= 2; threads++) {
    direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
    lac_factor *factor = NULL;
    lac_array *z = NULL;
    int64_t least = threads == 1 ? 6 : 1;  // tasks have 3; of two threads, the other may do nearly all
    CHECK_OK(lac_context_set_threads(ctx, threads));
    trade t = {.run = run_factor, .drop = drop_factor, .system = &system};
    check_interrupts(ctx, &t, least);
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    t.factor = factor, t.run = run_refactor;
    check_interrupts(ctx, &t, least);
    CHECK_OK(lac_array_clone(ctx, system.values, &z));
    t.run = run_inverse, t.drop = drop_nothing, t.out = z;
    check_interrupts(ctx, &t, least);
    direct_check(ctx, c, factor, LAC_PLAIN, 3, 1e3);
    lac_array_destroy(&z);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

static void factors_and_inverses_end_between_fronts(lac_context *ctx) {
  static const char *const METHODS[] = {"cholesky", "ldlt", "lu"};
  direct_case c = direct_make(DIRECT_POISSON, 6000, LAC_F64, 1);
  for (int m = 0; m < 3; m++) check_method(ctx, &c, METHODS[m]);
}

static void factors_and_inverses_end_between_columns(lac_context *ctx) {
  direct_case c = direct_convection(80, 5, LAC_F64);
  check_method(ctx, &c, "pivoting_lu");
}

// Not positive definite, so that Cholesky comes first and an interruption of it must not lead to the next method.
static void an_interrupted_method_is_not_followed_by_another(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 6000, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  for (int64_t z = 0; z < c.s->nnz; z++) {
    if (c.s->row[z] == c.s->col[z]) c.a.x[z] -= 0.5;
  }
  options.keep_bytes = -1;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  trade t = {.run = run_factor, .drop = drop_factor, .system = &system};
  check_interrupts(ctx, &t, 3);
  direct_close(&system);
}

// -- analyses, solves, estimates, set-ups ----------------------------------------------------------------------------

static lac_status run_analysis(lac_context *ctx, const trade *t, void **made) {
  lac_pattern *own = NULL;  // a new one, which keeps no analysis yet
  lac_status status = sketch_pattern(ctx, t->sketch, LAC_WIDTH_AUTO, &own);
  if (status == LAC_OK) status = lac_solver_create(ctx, own, t->options, (lac_solver **)made);
  lac_pattern_destroy(&own);
  return status;
}

static void analyses_end_between_stages(lac_context *ctx) {
  static const lac_ordering ORDERINGS[] = {LAC_ORDER_AUTO, LAC_ORDER_AMD, LAC_ORDER_NATURAL};
  direct_case c = direct_make(DIRECT_POISSON, 6000, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "cholesky";
  for (int o = 0; o < 3; o++) {
    options.ordering = ORDERINGS[o];
    trade t = {.run = run_analysis, .drop = drop_solver, .sketch = c.s, .options = &options};
    check_interrupts(ctx, &t, ORDERINGS[o] == LAC_ORDER_NATURAL ? 2 : 4);
  }
}

static lac_status run_solve(lac_context *ctx, const trade *t, void **made) {
  (void)made;
  return lac_factor_solve(ctx, t->factor, t->in, LAC_PLAIN, t->out);
}

static lac_status run_rcond(lac_context *ctx, const trade *t, void **made) {
  (void)made;
  return lac_factor_rcond(ctx, t->factor, t->out);
}

static void solves_of_many_columns_and_conditions_end(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  const int64_t shape[] = {c.s->rows, 100};
  lac_factor *factor = NULL;
  lac_array *rcond = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &rcond));
  trade t = {.run = run_solve, .drop = drop_nothing, .factor = factor};
  t.in = direct_random(ctx, LAC_F64, 2, shape, 1), t.out = direct_random(ctx, LAC_F64, 2, shape, 2);
  for (int threads = 1; threads <= 2; threads++) {
    CHECK_OK(lac_context_set_threads(ctx, threads));
    check_interrupts(ctx, &t, threads == 1 ? 7 : 1);  // blocks of columns
  }
  direct_check(ctx, &c, factor, LAC_PLAIN, 100, 1e3);
  lac_array_destroy(&t.out);
  t.run = run_rcond, t.out = rcond;
  check_interrupts(ctx, &t, 3);
  lac_array_destroy(&t.in);
  lac_array_destroy(&rcond);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void set_ups_of_multigrid_end_between_levels(lac_context *ctx) {
  static const lac_multigrid_kind KINDS[] = {LAC_MULTIGRID_AUTO, LAC_MULTIGRID_PAIRWISE, LAC_MULTIGRID_SMOOTHED,
                                             LAC_MULTIGRID_GRID};
  direct_case c = direct_make(DIRECT_POISSON, 6000, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  options.keep_bytes = -1;
  options.method = "multigrid";
  options.preconditioner.coarse_rows = 20;
  for (int i = 0; i < 4; i++) {
    options.preconditioner.kind = KINDS[i];
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    trade t = {.run = run_factor, .drop = drop_factor, .system = &system};
    check_interrupts(ctx, &t, 3);
    direct_close(&system);
  }
}

static lac_status run_norm(lac_context *ctx, const trade *t, void **made) {
  lac_tape *tape = NULL;
  lac_status status = lac_tape_create(ctx, LAC_TAPE_RUN, &tape);
  (void)made;
  if (status == LAC_OK) {
    (void)lac_norm2(tape, t->system->pattern, lac_tape_leaf(tape, t->system->values), 0, 0);
    status = lac_tape_status(tape);
  }
  lac_tape_destroy(&tape);
  return status;
}

static void estimates_end_between_steps(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  trade t = {.run = run_norm, .drop = drop_nothing, .system = &system};
  check_interrupts(ctx, &t, 3);
  direct_close(&system);
}

// -- iterations ------------------------------------------------------------------------------------------------------

static void iterations_end_alike(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  const int64_t shape[] = {c.s->rows, 1};
  lac_factor *factor = NULL;
  options.method = "cg";
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  trade t = {.run = run_solve, .drop = drop_nothing, .factor = factor};
  t.in = direct_random(ctx, LAC_F64, 2, shape, 1), t.out = direct_random(ctx, LAC_F64, 2, shape, 2);
  check_interrupts(ctx, &t, 3);
  lac_array_destroy(&t.in);
  lac_array_destroy(&t.out);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

CHECK_MAIN(factors_and_inverses_end_between_fronts, factors_and_inverses_end_between_columns,
           an_interrupted_method_is_not_followed_by_another, analyses_end_between_stages,
           solves_of_many_columns_and_conditions_end, set_ups_of_multigrid_end_between_levels,
           estimates_end_between_steps, iterations_end_alike)

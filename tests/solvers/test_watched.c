// SPDX-License-Identifier: Apache-2.0
/// Iterations that an automatic choice watches: when they are left for a direct factor, what follows where that has no
/// room, whose limit and whose word counts on the way.

#include <string.h>

#include "core/memory_impl.h"
#include "core/test_hooks.h"
#include "solvers/auto/auto.h"
#include "support/check.h"
#include "support/cube.h"
#include "support/reports.h"

enum { FORM = 14, WATCHED_MOST = 4000 };

/// A weighted cube, which AUTO iterates on with Jacobi for long, and a right-hand side.
typedef struct watched {
  direct_system s;
  lac_factor *factor;
  lac_array *b, *x;
} watched;

static watched watched_open(lac_context *ctx, const lac_solver_options *options) {
  watched w = {0};
  lac_solver_options given = options ? *options : lac_solver_options_defaults();
  given.preconditioner.method = "jacobi";
  w.s = cube_open(ctx, FORM, &given);
  cube_weigh(&w.s);
  w.b = direct_random(ctx, LAC_F64, 2, (int64_t[]){w.s.pattern->rows, 1}, 3);
  w.x = direct_random(ctx, LAC_F64, 2, (int64_t[]){w.s.pattern->rows, 1}, 3);
  CHECK_OK(lac_solver_factor(ctx, w.s.solver, w.s.values, &w.factor));
  CHECK(lac_factor_innermost(w.factor)->table->flags & LAC_ITERATES);
  return w;
}

static void watched_close(watched *w) {
  lac_factor_destroy(&w->factor);
  lac_array_destroy(&w->b);
  lac_array_destroy(&w->x);
  direct_close(&w->s);
}

static lac_status watched_solve(lac_context *ctx, const watched *w) {
  return lac_factor_solve(ctx, w->factor, w->b, LAC_PLAIN, w->x);
}

static double watched_residual(const watched *w) { return direct_residual_of(&w->s, w->b, w->x); }

static bool watched_is_direct(const lac_factor *factor) {
  return strcmp(report_of_factor(factor).method, "cholesky") == 0;
}

static int64_t watched_lacking(const watched *w) { return atomic_load(&lac_auto_of(w->factor)->lacking); }

/// A factor of other values, in place of the first.
static void watched_renew(lac_context *ctx, watched *w) {
  double *a = lac_array_edit(w->s.values);
  lac_factor_destroy(&w->factor);
  for (int64_t p = 0; p < w->s.pattern->nnz; p++) a[p] *= 2;
  CHECK_OK(lac_solver_factor(ctx, w->s.solver, w->s.values, &w->factor));
}

static void an_iteration_that_is_slower_than_a_factor_is_left(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  int64_t iterations[2];
  for (int threads = 1; threads <= 2; threads++) {
    lac_context_set_threads(ctx, threads);
    watched w = watched_open(ctx, NULL);
    CHECK_OK(watched_solve(ctx, &w));
    CHECK(watched_is_direct(w.factor) && watched_residual(&w) <= 1e-8);
    CHECK(strstr(report_of_factor(w.factor).reason, "was left after"));
    iterations[threads - 1] = report_of_factor(w.factor).iterations;
    watched_renew(ctx, &w);
    CHECK(!(lac_factor_innermost(w.factor)->table->flags & LAC_ITERATES));
    CHECK(strstr(report_of_factor(w.factor).reason, "slower than a direct factor"));
    watched_close(&w);
  }
  CHECK(iterations[0] > 0 && iterations[0] < 500);
  CHECK_EQ(iterations[0], iterations[1]);  // counted, not measured
}

// -- without room ----------------------------------------------------------------------------------------------------

/// Allocations fail in turn, of the analysis and of the factor too: what was left goes on then, and is not left again
/// by these values; others are watched anew.
static void an_iteration_that_was_left_goes_on_where_there_is_no_room(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  int went_on = 0, went_over = 0;
  for (int64_t n = 1; n < 240; n += 7) {
    watched w = watched_open(ctx, NULL);
    lac_memory_fail_at(n);
    lac_status status = watched_solve(ctx, &w);
    lac_memory_fail_at(0);
    CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
    if (status == LAC_OK) {
      CHECK(watched_residual(&w) <= 1e-8);
      CHECK(!watched_is_direct(w.factor) || !watched_lacking(&w));
      went_over += watched_is_direct(w.factor), went_on += watched_lacking(&w) > 0;
    }
    if (status == LAC_OK && watched_lacking(&w)) {
      CHECK_OK(watched_solve(ctx, &w));
      CHECK(!watched_is_direct(w.factor));
      watched_renew(ctx, &w);
      CHECK_OK(watched_solve(ctx, &w));
      CHECK(watched_is_direct(w.factor));
    }
    watched_close(&w);
  }
  CHECK(went_on > 0 && went_over > 0);
}

static void a_factor_is_asked_for_again_where_there_is_more_memory(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  watched w = watched_open(ctx, NULL);
  atomic_store(&lac_auto_of(w.factor)->lacking, lac_memory_available());
  CHECK_OK(watched_solve(ctx, &w));
  CHECK(!watched_is_direct(w.factor) && watched_residual(&w) <= 1e-8);
  atomic_store(&lac_auto_of(w.factor)->lacking, 1);  // as if there had been one byte
  CHECK_OK(watched_solve(ctx, &w));
  CHECK(watched_is_direct(w.factor) && watched_residual(&w) <= 1e-8);
  watched_close(&w);
}

// -- the caller's word -----------------------------------------------------------------------------------------------

/// What a progress function hears, and when it ends the solve: at its `ends_at`-th call.
typedef struct listener {
  int64_t calls, ends_at;
  int64_t at[WATCHED_MOST];  // iterations
} listener;

static int listener_hear(void *data, int64_t iteration, double residual) {
  listener *l = data;
  (void)residual;
  CHECK(l->calls < WATCHED_MOST);
  l->at[l->calls++] = iteration;
  return l->calls == l->ends_at;
}

/// An iteration that is left for a factor whose entries would have room, but not what it works in.
static watched listened_open(lac_context *ctx, listener *l, int64_t limit) {
  lac_solver_options options = lac_solver_options_defaults();
  watched w = watched_open(ctx, &options);
  lac_auto_cost cost = {0};
  bool is_known = false;
  CHECK_OK(lac_auto_analyse(ctx, w.s.solver->core, &cost, &is_known));
  CHECK(is_known);
  watched_close(&w);
  options.max_bytes = (int64_t)cost.bytes + 1;
  options.iteration.max_iterations = limit;
  options.iteration.progress = listener_hear, options.iteration.progress_data = l;
  return watched_open(ctx, &options);
}

/// The iteration at which it is left.
static int64_t listened_left(lac_context *ctx) {
  watched w = watched_open(ctx, NULL);
  CHECK_OK(watched_solve(ctx, &w));
  CHECK(watched_is_direct(w.factor));
  int64_t left = report_of_factor(w.factor).iterations;
  watched_close(&w);
  return left;
}

static void the_limit_of_iterations_is_that_of_the_whole(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  enum { MORE = 20 };
  static listener l;
  int64_t left = listened_left(ctx);
  l = (listener){0};
  watched w = listened_open(ctx, &l, left + MORE);
  CHECK_FAILS(watched_solve(ctx, &w), LAC_ERR_CONVERGENCE, "nor is there room for a direct factor");
  CHECK(watched_lacking(&w) > 0);
  for (int64_t i = 1; i < l.calls; i++) CHECK_EQ(l.at[i], l.at[i - 1] + 1);
  CHECK_EQ(l.at[l.calls - 1], left + MORE);
  CHECK_EQ(report_of_factor(w.factor).iterations, left + MORE);
  watched_close(&w);
}

static void who_stops_an_iteration_that_went_on_is_heard(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  static listener l;
  int64_t left = listened_left(ctx);
  for (int64_t after = -10; after <= 10; after += 20) {
    l = (listener){.ends_at = left + after};
    watched w = listened_open(ctx, &l, 0);
    CHECK_FAILS(watched_solve(ctx, &w), LAC_ERR_INTERRUPTED, "the progress callback ended it");
    CHECK_EQ(l.calls, left + after);
    CHECK_EQ(watched_lacking(&w) > 0, after > 0);
    watched_close(&w);
  }
}

CHECK_MAIN(an_iteration_that_is_slower_than_a_factor_is_left, an_iteration_that_was_left_goes_on_where_there_is_no_room,
           a_factor_is_asked_for_again_where_there_is_more_memory, the_limit_of_iterations_is_that_of_the_whole,
           who_stops_an_iteration_that_went_on_is_heard)

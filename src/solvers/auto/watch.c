// SPDX-License-Identifier: Apache-2.0
/// @file watch.c
/// The rate of an iteration, and the verdict.

#include "solvers/auto/watch.h"

#include <math.h>

enum { WATCH_LEAST = 12 };             // iterations before there is a rate
static const double watch_doubt = 30;  // a guess may be so many times too large

static void watch_note(lac_watch *w, int64_t iteration, double excess) {
  double now = excess > 1 ? log(excess) : 0;

  if (iteration <= 0) {
    w->best = w->recent = w->older = isfinite(now) ? now : 0;
    w->recent_at = w->older_at = 0;
    return;
  }
  if (now < w->best) w->best = now;
  if (iteration < 2 * w->recent_at || iteration < 2) return;
  w->older = w->recent, w->older_at = w->recent_at;
  w->recent = w->best, w->recent_at = iteration;
}

/// Iterations to the tolerance at the rate of late.
static double watch_iterations(const lac_watch *w, int64_t iteration) {
  double rate = (w->older - w->best) / (double)(iteration - w->older_at);
  if (w->best <= 0) return 0;
  return rate > 0 ? w->best / rate : INFINITY;
}

/// An analysis is a stake: less of the whole where even the guess speaks for iterating.
static bool watch_asks(const lac_watch *w) {
  double least = (w->rest > w->guess ? 2.5 : 5) * w->analysis;
  return w->spent >= w->analysis / 2 && w->spent + w->rest >= least && w->rest > w->analysis + w->guess / watch_doubt;
}

static bool watch_leaves(const lac_watch *w) {
  return w->spent >= w->direct / 4 && w->rest > (w->spent < w->direct / 2 ? 2 : 1) * w->direct;
}

lac_watch_verdict lac_watch_look(lac_watch *w, int64_t iteration, double excess) {
  watch_note(w, iteration, excess);
  if (iteration < WATCH_LEAST) return LAC_WATCH_GO_ON;
  w->spent = w->before + w->per_iteration * (double)iteration;
  w->rest = w->per_iteration * watch_iterations(w, iteration);
  if (w->direct < 0) return watch_asks(w) ? LAC_WATCH_ASK : LAC_WATCH_GO_ON;
  return watch_leaves(w) ? LAC_WATCH_LEAVE : LAC_WATCH_GO_ON;
}

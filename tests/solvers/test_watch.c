// SPDX-License-Identifier: Apache-2.0
/// The watch on an iteration, on residuals that are made up: what is spent in all beside the better of the two ways.

#include <math.h>

#include "solvers/auto/watch.h"
#include "support/check.h"

/// What came of an iteration whose residuals are foretold.
typedef struct outcome {
  double cost;         // in all, by the way that it took
  double iterating;    // what iterating alone takes
  int64_t iterations;  // that were done
  int64_t asked_at;    // after so many
  bool has_asked, has_left;
} outcome;

typedef double (*course)(double iteration, double length);  // log |r| over what is asked; 0 from `length` on

static outcome run(course of, double length, double analysis, double direct) {
  lac_watch w = {.per_iteration = 1, .analysis = analysis, .guess = direct, .direct = -1};
  outcome o = {.iterating = length};
  for (int64_t i = 0; (double)i < length && !o.has_left; i++) {
    lac_watch_verdict verdict = lac_watch_look(&w, i, exp(of((double)i, length)));
    if (verdict == LAC_WATCH_ASK) {
      CHECK(!o.has_asked);
      o.has_asked = true, o.asked_at = i;
      w.direct = direct;
      verdict = lac_watch_look(&w, i, exp(of((double)i, length)));
    }
    o.has_left = verdict == LAC_WATCH_LEAVE;
    o.iterations = i;
  }
  o.cost = (o.has_left ? (double)o.iterations + direct : length) + (o.has_asked ? analysis : 0);
  return o;
}

static double steady(double i, double length) { return 20 * (1 - i / length); }

/// Half of the way in a tenth of the time, and then slowly.
static double quick_at_first(double i, double length) {
  return i < 0.1 * length ? 20 - 100 * i / length : 10 * (1 - i / length) / 0.9;
}

/// Nothing for two thirds of the time, with a residual that goes up and down, and then all.
static double late(double i, double length) { return i < 0.66 * length ? 20 + sin(i) : 20 * (1 - i / length) / 0.34; }

/// Whatever the prices, where an analysis takes from `least` to `most` times as long as a factor: the most that is
/// taken in all, beside the better way and 12 iterations without a rate.
static double worst_of(course of, double least, double most, int *left, int *stayed) {
  double worst = 0;
  for (double length = 20; length < 1e5; length *= 1.7) {
    for (double direct = 10; direct < 1e5; direct *= 1.9) {
      for (double share = least; share <= most; share *= 1.4) {
        outcome o = run(of, length, share * direct, direct);
        worst = fmax(worst, (o.cost - 13) / fmin(o.iterating, (1 + share) * direct));
        *left += o.has_left, *stayed += !o.has_left;
      }
    }
  }
  return worst;
}

static void what_is_taken_in_all_is_bounded_by_the_better_way(lac_context *ctx) {
  (void)ctx;
  int left = 0, stayed = 0;
  CHECK(worst_of(steady, 0.05, 1, &left, &stayed) <= 1.5);
  CHECK(worst_of(quick_at_first, 0.05, 1, &left, &stayed) <= 2);
  CHECK(worst_of(late, 0.05, 1, &left, &stayed) <= 5.5);
  CHECK(left > 100 && stayed > 100);
}

static void where_an_analysis_takes_longer_than_a_factor_twice_the_better_way_is_the_bound(lac_context *ctx) {
  (void)ctx;
  int left = 0, stayed = 0;
  CHECK(worst_of(steady, 1, 4, &left, &stayed) <= 2);
  CHECK(worst_of(quick_at_first, 1, 4, &left, &stayed) <= 2);
  CHECK(worst_of(late, 1, 4, &left, &stayed) <= 5);
  CHECK(left > 100 && stayed > 100);
}

static void half_of_an_analysis_is_spent_before_it_is_asked_for(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(run(steady, 1e9, 100, 1000).asked_at, 50);
  CHECK_EQ(run(steady, 1e9, 1000, 100).asked_at, 500);
}

/// The guess speaks for iterating: an analysis is worth a fifth of the whole, and no quarter of it.
static void where_the_guess_speaks_for_iterating_little_is_staked(lac_context *ctx) {
  (void)ctx;
  CHECK(!run(steady, 450, 100, 1000).has_asked);
  CHECK(run(steady, 550, 100, 1000).has_asked);
  CHECK(run(steady, 450, 100, 300).has_asked);  // it does not
}

static void what_converges_soon_is_never_asked_about(lac_context *ctx) {
  (void)ctx;
  for (double length = 13; length < 40; length++) CHECK(!run(steady, length, 20, 1).has_asked);
}

static void what_stands_still_is_left_early(lac_context *ctx) {
  (void)ctx;
  outcome o = run(steady, 1e9, 100, 1000);
  CHECK(o.has_left && o.iterations == 250);
}

static void where_there_is_no_other_way_it_goes_on(lac_context *ctx) {
  (void)ctx;
  outcome o = run(steady, 1e4, 10, INFINITY);
  CHECK(!o.has_left);
}

CHECK_MAIN(what_is_taken_in_all_is_bounded_by_the_better_way,
           where_an_analysis_takes_longer_than_a_factor_twice_the_better_way_is_the_bound,
           half_of_an_analysis_is_spent_before_it_is_asked_for, where_the_guess_speaks_for_iterating_little_is_staked,
           what_converges_soon_is_never_asked_about, what_stands_still_is_left_early,
           where_there_is_no_other_way_it_goes_on)

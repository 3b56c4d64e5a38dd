// SPDX-License-Identifier: Apache-2.0
/// @file watch.h
/// Watching an iteration: when to ask what the other way costs, and when to take it.
///
/// Like renting or buying skis: what an iteration has yet to take is foreseen from its rate, what a direct factor takes
/// is known after an analysis. Both are counted (cost.h), so that the verdict depends on the matrix and b alone.
///
///     rate      of log |r| over the last half to three quarters of the iterations: what falls quickly at first says
///               little of the rest, and CG may stand for long and then fall
///     rest      iterations to the tolerance at that rate, times the price of one
///     spent     by iterations, and before them by the set-up of the preconditioner
///     ask       once half of the price of an analysis is spent, and the whole is foreseen to be 2.5 times it, or
///               5 times it where the rest is below the guess of what the other way takes
///     leave     once spent       direct / 4   direct / 2
///               and rest beyond  2            1            times direct
///
/// So where an analysis takes no longer than the factor after it, what is spent before an iteration is left is a
/// quarter to a half of what the factor takes, and of a steady iteration all of it is within 1.5 times the better way.
/// A longer analysis is asked for later: up to 4 times the factor, all of it is within 2 times the better way. An
/// iteration that stands still and then falls at once is left too early at times; it costs at most 5 times what it
/// would have.

#ifndef LACUNA_SOLVERS_AUTO_WATCH_H
#define LACUNA_SOLVERS_AUTO_WATCH_H

#include <stdbool.h>
#include <stdint.h>

typedef enum lac_watch_verdict { LAC_WATCH_GO_ON, LAC_WATCH_ASK, LAC_WATCH_LEAVE } lac_watch_verdict;

typedef struct lac_watch {
  double before;         // prices: of the set-up,
  double per_iteration;  // of an iteration,
  double analysis;       // of asking,
  double guess;          // of the other way, before it is asked about,
  double direct;         // and when it was; negative: it was not
  double spent, rest;    // so far, and from here on at the rate that is seen
  double best;           // log of |r| over what is asked, the least so far
  int64_t recent_at, older_at;
  double recent, older;  // the least up to these iterations: `older` is from a quarter to a half of all of them
} lac_watch;

/// After an iteration, with the worst |r| over what is asked. LAC_WATCH_ASK: the caller sets `direct`, infinite where
/// there is no other way, and looks again.
lac_watch_verdict lac_watch_look(lac_watch *watch, int64_t iteration, double excess);

#endif

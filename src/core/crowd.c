// SPDX-License-Identifier: Apache-2.0
/// @file crowd.c
/// Loops of the last few milliseconds, and a pause of working with several threads: ten times as long as what was lost,
/// and twice the last one as long as the cores stay taken, so that trying again costs little. Each calling thread has its
/// own: threads that share its loops are its own, too.

#include "core/crowd.h"

#include <math.h>

#include "core/context_impl.h"

// Parts are cut evenly, but cores differ: waiting as long as working is no loss. Waking a thread takes its time.
static const double CROWD_WAKING = 5e-5;
static const double CROWD_LOOK = 3e-3;                 // seconds of loops after which they are judged
static const double CROWD_PAUSE = 10, CROWD_MOST = 1;  // times what was lost; seconds

static _Thread_local struct {
  double all, lost;     // seconds of loops, and those of waiting in vain, since the last judgement
  double pause, until;  // the last pause, and when it ends
  double good;          // seconds of loops since then
} crowd;

int lac_crowd_threads(int threads) {
  if (threads <= 1 || crowd.until == 0) return threads;
  if (lac_seconds() < crowd.until) return 1;
  crowd.until = 0;
  return threads;
}

void lac_crowd_note(double begin, double own, double end) {
  crowd.all += end - begin;
  crowd.lost += fmax(0, (end - own) - (own - begin) - CROWD_WAKING);
  if (crowd.all < CROWD_LOOK) return;
  if (2 * crowd.lost > crowd.all) {
    crowd.pause = fmin(fmax(2 * crowd.pause, CROWD_PAUSE * crowd.lost), CROWD_MOST);
    crowd.until = end + crowd.pause;
    crowd.good = 0;
  } else {
    crowd.good += crowd.all;
    if (crowd.good > crowd.pause) crowd.pause = 0;
  }
  crowd.all = crowd.lost = 0;
}

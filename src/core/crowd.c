// SPDX-License-Identifier: Apache-2.0
/// @file crowd.c
/// An account of what working with several threads costs: time that loops lose while the system takes cores away is a
/// debt, and a share of all their time pays it off. So cores that are away now and then leave a loop its threads, which
/// are still quicker than one, however the times away fall. A debt that has grown too large pauses working with several
/// threads, for longer each time while the cores stay taken, so that trying again costs little. Waiting alone is no
/// loss: parts may be uneven. Each calling thread has its own account: threads that share its loops are its own, too.

#define _GNU_SOURCE

#include "core/crowd.h"

#include <math.h>

#ifdef __linux__
#include <sys/resource.h>
#endif

#include "core/context_impl.h"

static const double crowd_waking = 5e-5;  // seconds that waking a thread may take
static const double crowd_look = 3e-3;    // seconds of loops after which they are judged
static const double crowd_paid = 0.25;    // of the seconds of loops pay off a debt
static const double crowd_debt = 2e-2;    // seconds of debt are too many
static const double crowd_pause = 10;     // times the debt is the first pause,
static const double crowd_longer = 4;     // times the last one the next,
static const double crowd_most = 2;       // seconds the longest

static _Thread_local struct {
  double all, lost;     // seconds of loops, and those of waiting in vain, since the last judgement
  int64_t taken;        // at the last judgement,
  int threads;          // from so many threads; 0: there was none
  double debt;          // seconds
  double pause, until;  // the last pause, 0 once no debt is left, and when it ends
} crowd;

int lac_crowd_threads(int threads) {
  if (threads <= 1 || crowd.until == 0) return threads;
  if (lac_seconds() < crowd.until) return 1;
  crowd.until = 0;
  return threads;
}

bool lac_crowd_looks(void) { return crowd.all >= crowd_look; }

int64_t lac_crowd_taken(void) {
#ifdef RUSAGE_THREAD
  struct rusage usage;
  if (getrusage(RUSAGE_THREAD, &usage) == 0) return usage.ru_nivcsw;
#endif
  return 0;
}

/// Half of a debt is left, so that cores that stay taken are noticed sooner the next time.
static void crowd_stop(double now) {
  crowd.pause = fmin(fmax(crowd_longer * crowd.pause, crowd_pause * crowd.debt), crowd_most);
  crowd.until = now + crowd.pause;
  crowd.debt = crowd_debt / 2;
}

static void crowd_judge(const lac_crowd_loop *loop) {
  bool is_taken = crowd.threads == loop->threads && loop->taken > crowd.taken;
  crowd.debt = fmax(0, crowd.debt + (is_taken ? crowd.lost : 0) - crowd_paid * crowd.all);
  if (crowd.debt > crowd_debt) crowd_stop(loop->end);
  if (crowd.debt == 0) crowd.pause = 0;
  crowd.all = crowd.lost = 0;
  crowd.taken = loop->taken;
  crowd.threads = loop->threads;
}

/// Parts are cut evenly, but cores differ: waiting as long as working is no loss.
void lac_crowd_note(const lac_crowd_loop *loop) {
  crowd.all += loop->end - loop->begin;
  crowd.lost += fmax(0, (loop->end - loop->first) - (loop->first - loop->begin) - crowd_waking);
  if (loop->is_looked_at) crowd_judge(loop);
}

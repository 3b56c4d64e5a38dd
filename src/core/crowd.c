// SPDX-License-Identifier: Apache-2.0
/// @file crowd.c
/// Loops of the last few milliseconds, and a pause of working with several threads: ten times as long as what was lost,
/// and longer each time while the cores stay taken, so that trying again costs little. Waiting alone does not tell:
/// parts may be uneven. Nor does one look, for two threads of which one is late now and then are faster than one: the
/// first pause takes two bad looks in a row. Where threads of this process took the cores, pauses stay short: those of
/// a BLAS look for work for a tenth of a second after its last call, and then sleep. Several threads of the process
/// that have loops of ours are a crowd like any other. Each calling thread has an account of its own: threads that
/// share its loops are its own, too. A long pause goes on for as long as the system says that no core was idle: trying
/// again would cost what it did before.

#define _GNU_SOURCE

#include "core/crowd.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include <omp.h>
#include <time.h>
#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif

#include "core/context_impl.h"

static const double crowd_waking = 5e-5;  // seconds that waking a thread may take
static const double crowd_look = 3e-3;    // seconds of loops after which they are judged
static const double crowd_lost = 0.25;    // of them, lost, are too many
static const double crowd_pause = 10;     // times what was lost is the first pause,
static const double crowd_longer = 4;     // times the last one the next,
static const double crowd_most = 1;       // seconds the longest,
static const double crowd_brief = 0.04;   // where only threads of this process are in the way
static const double crowd_ours = 0.85;    // of all cores are all but what the system itself takes
static const double crowd_told = 0.1;     // seconds of a pause of which the system, counting hundredths, can tell
static const double crowd_idle = 0.5;     // of a core, idle, are worth another try

/// What the system says of all its cores since it began, in seconds of one core; 0 where it does not tell.
typedef struct crowd_cores {
  double idle, all;
} crowd_cores;

static _Thread_local struct {
  double all, lost;     // seconds of loops, and those of waiting in vain, since the last judgement
  int64_t taken;        // at the last judgement,
  int threads;          // from so many threads; 0: there was none
  double since, spent;  // when the first loop began after that, and what the process had had of its cores by then
  int callers;          // the most that had loops at once since then
  bool was_bad;         // what was judged
  double pause, until;  // the last pause, and when it ends
  crowd_cores before;   // the pause, if the system can tell of it
  double good;          // seconds of loops since then
} crowd;

static atomic_int crowd_callers;  // threads that have loops now

/// The first line is the sum over cores: user, nice, system, idle, waiting for disks, ... .
static crowd_cores crowd_cores_now(void) {
  crowd_cores now = {0};
#ifdef __linux__
  double tick = 1 / (double)sysconf(_SC_CLK_TCK);
  long long t[5] = {0};
  FILE *file = fopen("/proc/stat", "r");
  if (!file) return now;
  if (fscanf(file, "cpu %lld %lld %lld %lld %lld", &t[0], &t[1], &t[2], &t[3], &t[4]) == 5) {
    now.idle = tick * (double)(t[3] + t[4]);
    now.all = now.idle + tick * (double)(t[0] + t[1] + t[2]);
  }
  fclose(file);
#endif
  return now;
}

static void crowd_begin_pause(double now, double seconds) {
  crowd.pause = seconds;
  crowd.until = now + crowd.pause;
  if (crowd.pause >= crowd_told) crowd.before = crowd_cores_now();
}

/// Whether no core was idle in a pause that ends now, which then goes on. Numbers that stand still, as some containers
/// show, tell nothing.
static bool crowd_stays(double now) {
  if (crowd.pause < crowd_told) return false;
  crowd_cores cores = crowd_cores_now();
  double seconds = now - (crowd.until - crowd.pause);
  bool is_told = cores.all - crowd.before.all > crowd_idle * seconds;
  if (!is_told || cores.idle - crowd.before.idle > crowd_idle * seconds) return false;
  crowd_begin_pause(now, fmin(crowd_longer * crowd.pause, crowd_most));
  return true;
}

int lac_crowd_threads(int threads) {
  if (threads <= 1 || crowd.until == 0) return threads;
  double now = lac_seconds();
  if (now < crowd.until || crowd_stays(now)) return 1;
  crowd.until = 0;
  return threads;
}

lac_crowd_loop lac_crowd_begin(int threads) {
  int callers = atomic_fetch_add_explicit(&crowd_callers, 1, memory_order_relaxed) + 1;
  lac_crowd_loop loop = {.threads = threads, .is_looked_at = crowd.all >= crowd_look, .callers = callers};
  if (crowd.all == 0) loop.spent_before = lac_crowd_spent();
  loop.begin = lac_seconds();
  return loop;
}

void lac_crowd_end(void) { atomic_fetch_sub_explicit(&crowd_callers, 1, memory_order_relaxed); }

int64_t lac_crowd_taken(void) {
#ifdef RUSAGE_THREAD
  struct rusage usage;
  if (getrusage(RUSAGE_THREAD, &usage) == 0) return usage.ru_nivcsw;
#endif
  return 0;
}

double lac_crowd_spent(void) {
#ifdef CLOCK_PROCESS_CPUTIME_ID
  struct timespec t;
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0) return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#endif
  return 0;
}

/// Whether this process had all cores during the loops that are judged, and no other thread of it had loops of ours.
static bool crowd_has_all(const lac_crowd_loop *loop) {
  int cores = omp_get_num_procs();
  bool is_alone = crowd.callers <= 1 && cores > 1;
  return is_alone && loop->spent - crowd.spent >= crowd_ours * cores * (loop->end - crowd.since);
}

static void crowd_judge(const lac_crowd_loop *loop) {
  bool is_known = crowd.threads == loop->threads;
  bool is_bad = is_known && loop->taken > crowd.taken && crowd.lost > crowd_lost * crowd.all;
  if (is_bad && (crowd.was_bad || crowd.pause > 0)) {
    double most = crowd_has_all(loop) ? crowd_brief : crowd_most;
    crowd_begin_pause(loop->end, fmin(fmax(crowd_longer * crowd.pause, crowd_pause * crowd.lost), most));
    crowd.good = 0;
  } else if (!is_bad) {
    crowd.good += crowd.all;
    if (crowd.good > crowd.pause) crowd.pause = 0;
  }
  crowd.was_bad = is_bad;
  crowd.all = crowd.lost = 0;
  crowd.taken = loop->taken;
  crowd.threads = loop->threads;
  crowd.callers = 0;
}

/// Parts are cut evenly, but cores differ: waiting as long as working is no loss.
void lac_crowd_note(const lac_crowd_loop *loop) {
  if (crowd.all == 0) crowd.since = loop->begin, crowd.spent = loop->spent_before;
  if (loop->callers > crowd.callers) crowd.callers = loop->callers;
  crowd.all += loop->end - loop->begin;
  crowd.lost += fmax(0, (loop->end - loop->first) - (loop->first - loop->begin) - crowd_waking);
  if (loop->is_looked_at) crowd_judge(loop);
}

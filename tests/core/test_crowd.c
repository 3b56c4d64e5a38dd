// SPDX-License-Identifier: Apache-2.0
/// Cores that others have: which loops tell of it, and how long loops then have one thread. Each test has a thread of
/// its own, since the account of loops is the thread's.

#include <omp.h>
#include <pthread.h>

#include "core/context_impl.h"
#include "core/crowd.h"
#include "support/check.h"

/// A loop of a second that just ended: its first thread was done after `first` of it, cores were taken `taken` times.
static void note(double first, int64_t taken) {
  lac_crowd_loop loop = lac_crowd_begin(4);
  loop.end = loop.begin, loop.begin -= 1, loop.first = loop.begin + first;
  loop.taken = taken;
  lac_crowd_end();
  lac_crowd_note(&loop);
}

/// The number of threads that a test comes to, in a thread of its own.
static int alone(void *(*test)(void *)) {
  int threads = 0;
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, NULL, test, &threads), 0);
  CHECK_EQ(pthread_join(thread, NULL), 0);
  return threads;
}

static void *uneven(void *threads) {
  for (int i = 0; i < 100; i++) note(0.1, 7);
  *(int *)threads = lac_crowd_threads(4);
  return threads;
}

static void *taken_evenly(void *threads) {
  for (int i = 0; i < 100; i++) note(0.9, i);
  *(int *)threads = lac_crowd_threads(4);
  return threads;
}

static void *taken_for_long(void *threads) {
  for (int i = 0; i < 2; i++) note(0.5, 2);      // a first look: since when cores were taken is not known
  for (int i = 0; i < 4; i++) note(0.1, 3 + i);  // two looks: each is taken in the loop after the one that was long
  *(int *)threads = lac_crowd_threads(4);
  return threads;
}

/// Six loops of a second, the last of which just ended, long for a waiting thread, in which the process had `spent`
/// seconds of cores each, of several calling threads or one.
static void note_spending(double spent, int callers) {
  for (int i = 0; i < 6; i++) {
    lac_crowd_loop loop = lac_crowd_begin(4);
    loop.begin += i - 6, loop.first = loop.begin + 0.1, loop.end = loop.begin + 1;
    loop.taken = 3 + i, loop.spent_before = i * spent, loop.spent = (i + 1) * spent, loop.callers = callers;
    lac_crowd_end();
    lac_crowd_note(&loop);
  }
}

/// Threads after a tenth of a second, if there is one before.
static void after_a_while(int *threads) {
  double begin = lac_seconds();
  int before = lac_crowd_threads(4);
  while (lac_seconds() < begin + 0.1) {
  }
  *threads = before == 1 ? lac_crowd_threads(4) : -1;
}

static void *taken_by_the_process(void *threads) {
  note_spending(omp_get_num_procs(), 1);
  after_a_while(threads);
  return threads;
}

static void *taken_by_half(void *threads) {
  note_spending(0.5 * omp_get_num_procs(), 1);
  after_a_while(threads);
  return threads;
}

static void *taken_by_callers(void *threads) {
  note_spending(omp_get_num_procs(), 2);
  after_a_while(threads);
  return threads;
}

static void *bad_once(void *threads) {
  for (int i = 0; i < 2; i++) note(0.5, 2);
  for (int i = 0; i < 9; i++) note(i % 4 < 2 ? 0.1 : 0.5, 3 + i);  // every other look is bad
  *(int *)threads = lac_crowd_threads(4);
  return threads;
}

static void *worth(void *threads) {
  taken_for_long(threads);
  *(int *)threads = lac_threads_worth(4, 4, 1e9);
  return threads;
}

/// A loop of two milliseconds, of which the first thread was done after `first`.
static void note_short(double first, int64_t taken) {
  lac_crowd_loop loop = lac_crowd_begin(2);
  loop.end = loop.begin, loop.begin -= 2e-3, loop.first = loop.begin + first;
  loop.taken = taken;
  lac_crowd_end();
  lac_crowd_note(&loop);
}

/// Waits for the end of a pause, and then has uneven loops while nobody takes a core.
static void *ends(void *threads) {
  int k = 0;
  for (; k < 60 && lac_crowd_threads(2) == 2; k++) note_short(2e-4, k);
  bool has_paused = lac_crowd_threads(2) == 1;
  while (lac_crowd_threads(2) == 1) {
  }
  for (int more = 0; more < 60; more++) note_short(2e-4, k - 1);
  *(int *)threads = has_paused ? lac_crowd_threads(2) : -1;
  return threads;
}

static void uneven_loops_keep_their_threads(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(alone(uneven), 4);
}
static void even_loops_keep_their_threads(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(alone(taken_evenly), 4);
}

static void loops_that_wait_for_others_have_one_thread(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(alone(taken_for_long), 1);
  CHECK_EQ(alone(worth), 1);
}

/// Begun and not ended, loops count.
static void callers_are_counted(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(lac_crowd_begin(2).callers, 1);
  CHECK_EQ(lac_crowd_begin(2).callers, 2);
  lac_crowd_end();
  lac_crowd_end();
  CHECK_EQ(lac_crowd_begin(2).callers, 1);
  lac_crowd_end();
}

static void pauses_are_short_where_the_process_has_all_cores(lac_context *ctx) {
  (void)ctx;
  if (omp_get_num_procs() < 2) {
    check_skip("one core");
    return;
  }
  CHECK_EQ(alone(taken_by_the_process), 4);
  CHECK_EQ(alone(taken_by_half), 1);
  CHECK_EQ(alone(taken_by_callers), 1);
}

static void a_pause_ends(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(alone(ends), 2);
}

static void a_core_that_is_away_now_and_then_leaves_the_threads(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(alone(bad_once), 4);
}

CHECK_MAIN(uneven_loops_keep_their_threads, even_loops_keep_their_threads, loops_that_wait_for_others_have_one_thread,
           callers_are_counted, pauses_are_short_where_the_process_has_all_cores, a_pause_ends,
           a_core_that_is_away_now_and_then_leaves_the_threads)

// SPDX-License-Identifier: Apache-2.0
/// @file crowd.h
/// Whether the cores are taken by others. Threads that share a loop wait for the last of them; where another program
/// has its core, they wait for that program as well, and one thread alone would be quicker. So waiting is measured, and
/// where it takes much of the time while the system takes cores away, loops have one thread for a while. Results do not
/// depend on it. Where the process itself has all cores, as with threads of a BLAS that look for work some time after
/// their last, it is a short while.

#ifndef LACUNA_CORE_CROWD_H
#define LACUNA_CORE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

/// A loop that several threads share, by lac_seconds.
typedef struct lac_crowd_loop {
  double begin, first, end;  // its beginning, when the first thread had done its part, and when all had
  int threads;               // that shared it
  int64_t taken;  // how often the system has taken a core from one of them (lac_crowd_taken), if is_looked_at
  double spent_before, spent;  // seconds of all cores that the process has had (lac_crowd_spent): by its beginning, if
                               // it is the first since loops were looked at, and by its end, if is_looked_at
  bool is_looked_at;
  int callers;  // threads of the process that had such a loop when it began, this one included
} lac_crowd_loop;

/// How many of `threads` a loop of the calling thread shall have now: all, or one.
int lac_crowd_threads(int threads);

/// A loop begins now; and has ended, before it is noted. It is looked at now and then: the system is asked how often it
/// has taken cores.
lac_crowd_loop lac_crowd_begin(int threads);
void lac_crowd_end(void);

/// How often the system has taken the core from the calling thread since it began; 0 where it does not tell.
int64_t lac_crowd_taken(void);

/// Seconds of cores that the process has had since it began; 0 where the system does not tell.
double lac_crowd_spent(void);

/// What a loop with several threads took.
void lac_crowd_note(const lac_crowd_loop *loop);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file crowd.h
/// Whether the cores are taken by others. Threads that share a loop wait for the last of them; where another program has
/// its core, they wait for that program as well, and one thread alone would be quicker. So waiting is measured, and
/// while it takes most of the time loops have one thread. Results do not depend on it.

#ifndef LACUNA_CORE_CROWD_H
#define LACUNA_CORE_CROWD_H

/// How many of `threads` a loop of the calling thread shall have now: all, or one.
int lac_crowd_threads(int threads);

/// A loop with several threads began, had its own part done, and had all parts done, by lac_seconds.
void lac_crowd_note(double begin, double own, double end);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file blas.c
/// The memory and the threads of a BLAS that is called by our own threads.
///
/// OpenBLAS maps its buffers one by one and never gives them back: as many as threads were in it at once. So before
/// more threads than ever go in, the address space for their buffers is asked for, and if it is there OpenBLAS takes
/// them at once, before anybody else can.

#include "core/blas.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

enum { BLAS_MOST = 32 };  // buffers that are taken beforehand: fewer than OpenBLAS has room for, which has at least 50

static pthread_mutex_t blas_lock = PTHREAD_MUTEX_INITIALIZER;
static int blas_users;                    // of lac_blas_enter
static int blas_inside;                   // threads of ours that may be in BLAS
static int blas_team;                     // threads that the BLAS which serves had before us; 0: it keeps them
static int blas_open[LAC_OPENBLAS_MOST];  // the same of each OpenBLAS
static int blas_had[LAC_OPENBLAS_MOST];   // buffers that it is known to have

// -- memory ----------------------------------------------------------------------------------------------------------

/// Whether there is room for so many buffers: RLIMIT_AS and a kernel that does not overcommit refuse here.
static bool blas_ask(int count) {
  size_t bytes = (size_t)count * LAC_BLAS_BUFFER;
  void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, bytes);
  return true;
}

/// Let OpenBLAS have `count` buffers at once. Its list is filled from the front, so that these are all there is in use,
/// beside those of threads that are in it now.
static void blas_take(const lac_openblas *o, int count) {
  void *buffers[BLAS_MOST];
  for (int i = 0; i < count; i++) buffers[i] = o->memory_alloc(0);
  for (int i = 0; i < count; i++) o->memory_free(buffers[i]);
}

// -- threads of their own --------------------------------------------------------------------------------------------

static int team_get(const lac_blas_team *team) {
  if (team->get_wide) return (int)team->get_wide();
  return team->get ? team->get() : 1;
}

static void team_set(const lac_blas_team *team, int threads) {
  if (team->set_wide) team->set_wide(threads);
  if (!team->set_wide && team->set) team->set(threads);
}

/// One thread; returns how many there were, 0 where that is nothing to set back.
static int team_rest(const lac_blas_team *team) {
  int threads = team_get(team);
  if (threads <= 1) return 0;
  team_set(team, 1);
  return threads;
}

/// Threads of OpenBLAS itself, which take a buffer each when they begin: that may be now.
static int blas_own(const lac_openblas *o) { return team_get(&o->team) - 1; }

// -- doors -----------------------------------------------------------------------------------------------------------

/// The lock is held. Room for `threads` more in buffers that an OpenBLAS has or gets now. One that hides its memory, or
/// has more than are taken beforehand, is asked each time whether there is room.
static bool blas_fits(const lac_openblas *o, int *had, int threads) {
  int wants = blas_inside + threads + blas_own(o);
  if (wants <= *had) return true;
  bool fits = blas_ask(wants - *had + blas_inside + blas_own(o));  // and what others hold while these are taken
  if (!fits || !o->memory_alloc) return fits;
  if (*had < BLAS_MOST) blas_take(o, wants < BLAS_MOST ? wants : BLAS_MOST);
  if (wants <= BLAS_MOST) *had = wants;
  return true;
}

// Threads are counted without OpenBLAS too: an engine may bring it while they are inside.
bool lac_blas_hold(int threads) {
  const lac_openblas *all;
  if (!lac_blas_find()) return false;
  int count = lac_blas_openblas(&all);
  bool fits = true;
  pthread_mutex_lock(&blas_lock);
  for (int i = 0; i < count && fits; i++) fits = blas_fits(&all[i], &blas_had[i], threads);
  if (fits && blas_inside == 0) blas_team = lac_blas_found ? team_rest(&lac_blas_found->team) : 0;
  if (fits) blas_inside += threads;
  pthread_mutex_unlock(&blas_lock);
  return fits;
}

void lac_blas_drop(int threads) {
  pthread_mutex_lock(&blas_lock);
  blas_inside -= threads;
  if (blas_inside == 0 && blas_team) team_set(&lac_blas_found->team, blas_team);
  pthread_mutex_unlock(&blas_lock);
}

bool lac_blas_enter(int threads) {
  const lac_openblas *all;
  if (!lac_blas_hold(threads)) return false;
  int count = lac_blas_openblas(&all);
  pthread_mutex_lock(&blas_lock);
  for (int i = 0; i < count && blas_users == 0; i++) blas_open[i] = team_rest(&all[i].team);
  blas_users++;
  pthread_mutex_unlock(&blas_lock);
  return true;
}

void lac_blas_leave(int threads) {
  const lac_openblas *all;
  int count = lac_blas_openblas(&all);
  lac_blas_drop(threads);
  pthread_mutex_lock(&blas_lock);
  blas_users--;
  for (int i = 0; i < count && blas_users == 0; i++) {
    if (blas_open[i]) team_set(&all[i].team, blas_open[i]);
    blas_open[i] = 0;
  }
  pthread_mutex_unlock(&blas_lock);
}

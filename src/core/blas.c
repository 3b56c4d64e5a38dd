// SPDX-License-Identifier: Apache-2.0
/// @file blas.c
/// OpenBLAS maps its buffers one by one and never gives them back: as many as threads were in it at once. So before
/// more threads than ever go in, the address space for their buffers is asked for, and if it is there OpenBLAS takes
/// them at once, before anybody else can.

#include "core/blas.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

enum { BLAS_MOST = 32 };  // buffers that are taken beforehand: fewer than OpenBLAS has room for, which has at least 50

static pthread_mutex_t blas_lock = PTHREAD_MUTEX_INITIALIZER;
static int blas_users, blas_threads;  // of lac_blas_enter; what OpenBLAS was set to before them
static int blas_inside, blas_had;     // threads of ours that may be in BLAS; buffers that it is known to have

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

/// Threads of OpenBLAS itself, which take a buffer each when they begin: that may be now.
static int blas_own(const lac_openblas *o) { return o->get_threads() - 1; }

/// The lock is held. Room for `threads` more, in buffers that OpenBLAS has or gets now.
static bool blas_fits(const lac_openblas *o, int threads) {
  int wants = blas_inside + threads + blas_own(o);
  if (wants <= blas_had) return true;
  bool fits = blas_ask(wants - blas_had + blas_inside + blas_own(o));  // and what others hold while these are taken
  if (fits && blas_had < BLAS_MOST) blas_take(o, wants < BLAS_MOST ? wants : BLAS_MOST);
  if (fits && wants <= BLAS_MOST) blas_had = wants;  // of more it is asked each time whether there is room
  return fits;
}

// Threads are counted without OpenBLAS too: an engine may bring it while they are inside.
bool lac_blas_hold(int threads) {
  if (!lac_blas_find()) return false;
  const lac_openblas *o = lac_blas_openblas();
  pthread_mutex_lock(&blas_lock);
  bool fits = !o || blas_fits(o, threads);
  if (fits) blas_inside += threads;
  pthread_mutex_unlock(&blas_lock);
  return fits;
}

void lac_blas_drop(int threads) {
  pthread_mutex_lock(&blas_lock);
  blas_inside -= threads;
  pthread_mutex_unlock(&blas_lock);
}

// -- threads ---------------------------------------------------------------------------------------------------------

bool lac_blas_enter(int threads) {
  if (!lac_blas_hold(threads)) return false;
  const lac_openblas *o = lac_blas_openblas();
  pthread_mutex_lock(&blas_lock);
  if (blas_users++ == 0) {
    blas_threads = o ? o->get_threads() : 0;
    if (blas_threads > 1) o->set_threads(1);
  }
  pthread_mutex_unlock(&blas_lock);
  return true;
}

void lac_blas_leave(int threads) {
  const lac_openblas *o = lac_blas_openblas();
  lac_blas_drop(threads);
  pthread_mutex_lock(&blas_lock);
  if (--blas_users == 0 && blas_threads > 1) o->set_threads(blas_threads);
  pthread_mutex_unlock(&blas_lock);
}

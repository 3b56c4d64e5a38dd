// SPDX-License-Identifier: Apache-2.0
/// @file stop.h
/// Whether work that takes long shall end: the thread that began it asks the user's function, the others look.

#ifndef LACUNA_CORE_STOP_H
#define LACUNA_CORE_STOP_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/context_impl.h"

/// One piece of work. It stays where it was made, for threads point to it, and ends with the work.
typedef struct lac_stop {
  lac_context *ctx;     // whose function is asked
  pthread_t asker;      // the only thread that may do so
  _Atomic bool is_set;  // the answer, for all threads and for good
} lac_stop;

/// Work that begins in the calling thread.
void lac_stop_init(lac_stop *stop, lac_context *ctx);

/// Whether it shall end. In the thread that began it this costs a look at a clock, in the others a read; NULL: it
/// shall not. Who finds so gives up with LAC_ERR_INTERRUPTED.
bool lac_stop_is_set(lac_stop *stop);

/// Whether a failure is no reason to try another way: there is no memory, no device, or the call was interrupted.
static inline bool lac_status_is_final(lac_status status) {
  return status == LAC_ERR_MEMORY || status == LAC_ERR_BACKEND || status == LAC_ERR_INTERRUPTED;
}

/// Go on asking, in the thread that began the work, until `left` pieces that others have in hand are none. Another
/// thread returns at once.
void lac_stop_await(lac_stop *stop, const _Atomic int64_t *left);

/// Operations after which a loop over small pieces of work looks again: less than a millisecond.
enum { LAC_STOP_WORK = 1 << 20 };

/// The same for a loop over pieces, each of so much work, that looks once it has come to LAC_STOP_WORK. `since` is that
/// of the loop in one thread, 0 at its beginning.
static inline bool lac_stop_is_due(lac_stop *stop, double work, double *since) {
  *since += work;
  if (!stop || *since < LAC_STOP_WORK) return false;
  *since = 0;
  return lac_stop_is_set(stop);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file stop.c
/// Interruption. Whom to ask is the context's; a function that is called in signal-safe moments of one thread, such as
/// Python's, would not bear to be called by another one.

#include "core/stop.h"

#include <time.h>

#include "core/test_hooks.h"

static _Atomic double stop_pause = 0.1;  // seconds from one question to the next

void lac_stop_set_pause(double seconds) { atomic_store(&stop_pause, seconds); }

double lac_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool lac_context_is_interrupted(lac_context *ctx) {
  double seconds;

  if (!ctx->interrupt) return false;
  seconds = lac_seconds();
  if (seconds - ctx->asked < atomic_load(&stop_pause)) return false;
  ctx->asked = seconds;
  return ctx->interrupt(ctx->interrupt_data) != 0;
}

lac_status lac_context_look(lac_context *ctx, const char *work) {
  lac_status status = LAC_OK;
  LAC_CHECK(!ctx || !lac_context_is_interrupted(ctx), LAC_ERR_INTERRUPTED,
            "%s was interrupted; call again to begin anew", work);
done:
  return status;
}

void lac_stop_init(lac_stop *stop, lac_context *ctx) {
  stop->ctx = ctx;
  stop->asker = pthread_self();
  atomic_init(&stop->is_set, false);
}

// It sleeps a tenth of what it has waited: it is late by no more, and takes no time from those who work.
void lac_stop_await(lac_stop *stop, const _Atomic int64_t *left) {
  const double longest = 0.02;
  double begin;

  if (!stop || !stop->ctx->interrupt || !pthread_equal(stop->asker, pthread_self())) return;
  begin = lac_seconds();
  while (atomic_load(left) > 0) {
    double pause = 0.1 * (lac_seconds() - begin);
    struct timespec nap = {.tv_nsec = (long)(1e9 * (pause < longest ? pause : longest))};
    (void)lac_stop_is_set(stop);
    nanosleep(&nap, NULL);
  }
}

bool lac_stop_is_set(lac_stop *stop) {
  if (!stop || !stop->ctx->interrupt) return false;
  if (atomic_load_explicit(&stop->is_set, memory_order_relaxed)) return true;
  if (!pthread_equal(stop->asker, pthread_self()) || !lac_context_is_interrupted(stop->ctx)) return false;
  atomic_store_explicit(&stop->is_set, true, memory_order_relaxed);
  return true;
}

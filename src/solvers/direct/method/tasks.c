// SPDX-License-Identifier: Apache-2.0
/// @file tasks.c
/// Tasks on threads, and the first fault of them.

#include <omp.h>

#include "solvers/direct/method/method.h"

lac_trial lac_tasks_run(int threads, int64_t first, int64_t count, lac_task task, const void *job) {
  lac_trial trial = {.status = LAC_OK, .task = count};

#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (int64_t i = first; i < count; i++) {
    lac_trial own = {.task = i};
    own.status = task(job, i, omp_get_thread_num(), &own.fault);
    if (own.status == LAC_OK) continue;
#pragma omp critical(lac_tasks_fault)
    if (i < trial.task) trial = own;
  }
  return trial;
}

// SPDX-License-Identifier: Apache-2.0
/// @file tasks.c
/// Tasks on threads, and the first fault of them.

#include <omp.h>
#include <stdio.h>

#include "solvers/direct/method/method.h"

lac_status lac_fault_interrupted(lac_fault *fault) {
  snprintf(fault->text, sizeof fault->text, "it was interrupted");
  return LAC_ERR_INTERRUPTED;
}

lac_trial lac_tasks_run(int threads, lac_stop *stop, int64_t first, int64_t count, lac_task task, const void *job) {
  lac_trial trial = {.status = LAC_OK, .task = count};

  (void)lac_stop_is_set(stop);  // the thread that may ask need not get a task

#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (int64_t i = first; i < count; i++) {
    lac_trial own = {.task = i};
    own.status =
        lac_stop_is_set(stop) ? lac_fault_interrupted(&own.fault) : task(job, i, omp_get_thread_num(), &own.fault);
    if (own.status == LAC_OK) continue;
#pragma omp critical(lac_tasks_fault)
    if (i < trial.task) trial = own;
  }
  if (stop && atomic_load(&stop->is_set)) trial.status = lac_fault_interrupted(&trial.fault);  // whoever failed first
  return trial;
}

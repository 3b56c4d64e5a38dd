// SPDX-License-Identifier: Apache-2.0
/// @file tasks.c
/// Tasks on threads, and the first fault of them.

#include <omp.h>
#include <stdio.h>

#include "core/blas.h"
#include "solvers/direct/method/method.h"

lac_status lac_fault_interrupted(lac_fault *fault) {
  snprintf(fault->text, sizeof fault->text, "it was interrupted");
  return LAC_ERR_INTERRUPTED;
}

lac_status lac_fault_blas(lac_fault *fault) {
  snprintf(fault->text, sizeof fault->text, LAC_BLAS_LACKS);
  return LAC_ERR_MEMORY;
}

static void tasks_do(lac_trial *trial, lac_stop *stop, lac_task task, const void *job, int64_t i, int thread) {
  lac_trial own = {.task = i};
  own.status = lac_stop_is_set(stop) ? lac_fault_interrupted(&own.fault) : task(job, i, thread, &own.fault);
  if (own.status == LAC_OK) return;
#pragma omp critical(lac_tasks_fault)
  if (i < trial->task) *trial = own;
}

// One thread goes without a parallel region: inside of one, if of a single thread, those of the tasks would not find
// the threads that there are, and begin and end threads of their own each time.
lac_trial lac_tasks_run(int threads, lac_stop *stop, int64_t first, int64_t count, lac_task task, const void *job) {
  lac_trial trial = {.status = LAC_OK, .task = count};

  (void)lac_stop_is_set(stop);  // the thread that may ask need not get a task
  if (threads == 1) {
    for (int64_t i = first; i < count; i++) tasks_do(&trial, stop, task, job, i, 0);
  } else {
    _Atomic int64_t left = count - first;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(dynamic) nowait
      for (int64_t i = first; i < count; i++) {
        tasks_do(&trial, stop, task, job, i, omp_get_thread_num());
        atomic_fetch_sub(&left, 1);
      }
      lac_stop_await(stop, &left);  // the thread that may ask has no more to do, the others have
    }
  }
  if (stop && atomic_load(&stop->is_set)) trial.status = lac_fault_interrupted(&trial.fault);  // whoever failed first
  return trial;
}

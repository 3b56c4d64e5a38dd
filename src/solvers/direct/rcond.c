// SPDX-License-Identifier: Apache-2.0
/// @file rcond.c
/// 1 / (||A||_1 ||A^-1||_1), estimated by a few solves for every matrix of a batch. Right-hand sides are scaled like A,
/// so that solutions are as large as the condition, whatever the scale of A.

#include <math.h>

#include "core/number_at.h"
#include "solvers/direct/direct.h"
#include "solvers/direct/method/inverse_norm.h"

/// The matrices of a factor, `share` bytes for each thread to work in, and where the estimates go.
typedef struct rcond_work {
  const lac_factor *f;
  int threads;  // of each matrix
  char *memory;
  size_t share;
  void *out;
  lac_stop *stop;
} rcond_work;

static lac_status rcond_item(const void *job, int64_t item, int thread, lac_fault *fault) {
  const rcond_work *w = job;
  const lac_structure *s = lac_direct_structure(w->f);
  size_t block = (size_t)(s->n * LAC_INVERSE_NORM_WIDTH) * lac_dtype_size(w->f->meta.dtype);
  lac_inverse_task task = {.system = lac_direct_system(w->f, item, w->threads, w->stop),
                           .refines = lac_direct_of(w->f)->finding.perturbed > 0};
  double norm, inverse = 0, rcond = 1;
  lac_status status = LAC_OK;

  task.system.is_regular = false;  // a condition is asked for where this is in doubt
  for (int i = 0; i < REFINE_BLOCKS; i++) {
    task.blocks[i] = w->memory + (size_t)thread * w->share + (size_t)i * block;
  }
  if (s->n > 0) {
    task.root = lac_inverse_root(&task.system);
    norm = lac_inverse_given(&task.system, task.root);
    status = lac_inverse_norm(&task, LAC_PLAIN, NULL, NULL, &inverse, fault);
    rcond = isfinite(inverse) ? fmin(1, 1 / norm / inverse) : 0;
  }
  lac_number_put(lac_dtype_real(w->f->meta.dtype), w->out, item, rcond);
  return status;
}

lac_status lac_direct_rcond(lac_context *ctx, const lac_factor *f, lac_array *rcond) {
  lac_status status = LAC_OK;
  const lac_structure *s = lac_direct_structure(f);
  double numbers = (double)lac_direct_of(f)->finding.nnz + (double)f->items * (double)s->nnz;
  int threads = lac_threads_worth(ctx->threads, f->items, numbers * LAC_INVERSE_NORM_WIDTH);
  lac_stop stop;
  rcond_work work = {
      .f = f, .threads = f->items < ctx->threads ? ctx->threads : 1, .out = lac_array_edit(rcond), .stop = &stop};
  lac_trial trial;

  work.share = (size_t)(REFINE_BLOCKS * LAC_INVERSE_NORM_WIDTH) * (size_t)s->n * lac_dtype_size(f->meta.dtype);
  work.memory = lac_alloc((size_t)threads * work.share);
  LAC_CHECK(work.memory, LAC_ERR_MEMORY, "lac_factor_rcond: out of memory: %zu bytes to work in",
            (size_t)threads * work.share);
  lac_stop_init(&stop, ctx);
  trial = lac_tasks_run(threads, &stop, 0, f->items, rcond_item, &work);
  LAC_CHECK(trial.status == LAC_OK, trial.status, "lac_factor_rcond: %s", trial.fault.text);
done:
  lac_free(work.memory);
  return status;
}

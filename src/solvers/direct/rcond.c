// SPDX-License-Identifier: Apache-2.0
/// @file rcond.c
/// 1 / (||A||_1 ||A^-1||_1), estimated (Hager 1984, Higham 1988).
///
///     ||A^-1||_1 = max ||A^-1 x||_1 over ||x||_1 = 1        is at a unit vector, and convex:
///     y = A^-1 x,   z = A^-H sign(y),   x = e_j where |z_j| is largest        until y grows no more
///
/// from x = (1, ..., 1) / n on; and once for a vector of alternating signs, which meets matrices that fool this. The
/// estimate is a lower bound of the norm, mostly sharp, rarely less than a third. Right-hand sides are scaled like A, so
/// that solutions are as large as the condition, whatever the scale of A.

#include "core/number_at.h"
#include "solvers/direct/direct.h"

enum { RCOND_STEPS = 5, RCOND_WIDTH = 2 };

#define KERNEL_FILE "solvers/direct/rcond_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef double rcond_norm_kernel(const lac_structure *, const void *, double *);
typedef void rcond_start_kernel(int32_t, double, void *);
typedef void rcond_unit_kernel(int32_t, int32_t, double, void *);
typedef double rcond_sum_kernel(int32_t, int, int, const void *);
typedef void rcond_signs_kernel(int32_t, int, double, const void *, void *);
typedef double rcond_largest_kernel(int32_t, const void *, int32_t *);
static rcond_norm_kernel *const rcond_norm_kernels[] = TABLE(rcond_norm);
static rcond_start_kernel *const rcond_start_kernels[] = TABLE(rcond_start);
static rcond_unit_kernel *const rcond_unit_kernels[] = TABLE(rcond_unit);
static rcond_sum_kernel *const rcond_sum_kernels[] = TABLE(rcond_sum);
static rcond_signs_kernel *const rcond_signs_kernels[] = TABLE(rcond_signs);
static rcond_largest_kernel *const rcond_largest_kernels[] = TABLE(rcond_largest);

// One matrix, and blocks to work in.
typedef struct rcond_task {
  lac_system system;
  bool refines;  // pivots were enlarged: what the factor says by itself is of another matrix
  double scale;  // a power of two, as large as A
  void *blocks[REFINE_BLOCKS];
} rcond_task;

// Where refinement does not arrive, what it has is still the size of the solution.
static lac_status rcond_solve(rcond_task *t, lac_side side, int width, lac_fault *fault) {
  const lac_system *a = &t->system;
  lac_status status;
  if (!t->refines) {
    return a->table->solve(a->analysis, a->numeric, side, width, a->threads, t->blocks[REFINE_B], t->blocks[REFINE_X],
                           t->blocks[REFINE_WORK], fault);
  }
  status = lac_refine_solve(a, side, width, t->blocks, fault);
  return status == LAC_ERR_CONVERGENCE || status == LAC_ERR_NONFINITE ? LAC_OK : status;
}

// ||scale A^-1||_1 from below; infinity or NaN where a solution overflows.
static lac_status rcond_estimate(rcond_task *t, double *norm, lac_fault *fault) {
  int32_t n = t->system.structure->n, at = -1, next;
  lac_dtype dtype = t->system.dtype;
  double alternating, grown, largest, before = -1;
  lac_status status;

  rcond_start_kernels[dtype](n, t->scale, t->blocks[REFINE_B]);
  status = rcond_solve(t, LAC_N, RCOND_WIDTH, fault);
  if (status != LAC_OK) return status;
  *norm = rcond_sum_kernels[dtype](n, RCOND_WIDTH, 0, t->blocks[REFINE_X]);
  alternating = rcond_sum_kernels[dtype](n, RCOND_WIDTH, 1, t->blocks[REFINE_X]);
  for (int step = 0, width = RCOND_WIDTH; step < RCOND_STEPS && n > 1; step++, width = 1) {
    rcond_signs_kernels[dtype](n, width, t->scale, t->blocks[REFINE_X], t->blocks[REFINE_B]);
    status = rcond_solve(t, LAC_T, 1, fault);
    if (status != LAC_OK) return status;
    largest = rcond_largest_kernels[dtype](n, t->blocks[REFINE_X], &next);
    if (next == at || !(largest > before)) break;
    at = next, before = largest;
    rcond_unit_kernels[dtype](n, at, t->scale, t->blocks[REFINE_B]);
    status = rcond_solve(t, LAC_N, 1, fault);
    if (status != LAC_OK) return status;
    grown = rcond_sum_kernels[dtype](n, 1, 0, t->blocks[REFINE_X]);
    if (grown <= *norm) break;
    *norm = grown;
  }
  if (!(alternating <= *norm)) *norm = alternating;
  return LAC_OK;
}

/// The matrices of a factor, `share` bytes for each thread to work in, and where the estimates go.
typedef struct rcond_work {
  const lac_factor *f;
  int threads;  // of each matrix
  char *memory;
  size_t share;
  void *out;
} rcond_work;

static lac_status rcond_item(const void *job, int64_t item, int thread, lac_fault *fault) {
  const rcond_work *w = job;
  const lac_structure *s = lac_direct_structure(w->f);
  size_t block = (size_t)(s->n * RCOND_WIDTH) * lac_dtype_size(w->f->meta.dtype);
  rcond_task task = {.system = lac_direct_system(w->f, item, w->threads),
                     .refines = lac_direct_of(w->f)->finding.perturbed > 0};
  double norm, inverse = 0, rcond = 1;
  lac_status status = LAC_OK;

  task.system.is_regular = false;  // a condition is asked for where this is in doubt
  for (int i = 0; i < REFINE_BLOCKS; i++) {
    task.blocks[i] = w->memory + (size_t)thread * w->share + (size_t)i * block;
  }
  if (s->n > 0) {
    norm = rcond_norm_kernels[w->f->meta.dtype](s, task.system.values, &task.scale);
    status = rcond_estimate(&task, &inverse, fault);
    rcond = isfinite(inverse) ? fmin(1, 1 / norm / inverse) : 0;
  }
  lac_number_put(lac_dtype_real(w->f->meta.dtype), w->out, item, rcond);
  return status;
}

lac_status lac_direct_rcond(lac_context *ctx, const lac_factor *f, lac_array *rcond) {
  lac_status status = LAC_OK;
  const lac_structure *s = lac_direct_structure(f);
  double numbers = (double)lac_direct_of(f)->finding.nnz + (double)f->items * (double)s->nnz;
  int threads = lac_threads_worth(ctx->threads, f->items, numbers * RCOND_WIDTH);
  rcond_work work = {.f = f, .threads = f->items < ctx->threads ? ctx->threads : 1, .out = lac_array_edit(rcond)};
  lac_trial trial;

  work.share = (size_t)(REFINE_BLOCKS * RCOND_WIDTH) * (size_t)s->n * lac_dtype_size(f->meta.dtype);
  work.memory = lac_alloc((size_t)threads * work.share);
  LAC_CHECK(work.memory, LAC_ERR_MEMORY, "lac_factor_rcond: out of memory: %zu bytes to work in",
            (size_t)threads * work.share);
  trial = lac_tasks_run(threads, 0, f->items, rcond_item, &work);
  LAC_CHECK(trial.status == LAC_OK, trial.status, "lac_factor_rcond: %s", trial.fault.text);
done:
  lac_free(work.memory);
  return status;
}

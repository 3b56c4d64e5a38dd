// SPDX-License-Identifier: Apache-2.0
/// @file factor_rcond.c
/// 1 / (||A||_1 ||A^-1||_1), estimated (Hager 1984, Higham 1988).
///
///     ||A^-1||_1 = max ||A^-1 x||_1 over ||x||_1 = 1        is at a unit vector, and convex:
///     y = A^-1 x,   z = A^-H sign(y),   x = e_j where |z_j| is largest        until y grows no more
///
/// from x = (1, ..., 1) / n on; and once for a vector of alternating signs, which meets matrices that fool this. The
/// estimate is a lower bound of the norm, mostly sharp, rarely less than a third. Right-hand sides are scaled like A, so
/// that solutions are as large as the condition, whatever the scale of A.

#include <omp.h>

#include "core/number_at.h"
#include "solvers/direct/method/refine.h"

enum { RCOND_STEPS = 5, RCOND_WIDTH = 2 };

#define KERNEL_FILE "solvers/direct/factor_rcond_kernel.h"
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

static lac_status rcond_item(const lac_factor *f, int64_t item, int threads, char *memory, double *rcond,
                             lac_fault *fault) {
  const lac_structure *s = f->core->structure;
  size_t number = lac_dtype_size(f->meta.dtype);
  rcond_task task = {.refines = f->finding.perturbed > 0};
  double norm, inverse = 0;

  task.system = (lac_system){.table = f->table,
                             .structure = s,
                             .analysis = f->analysis->part,
                             .numeric = f->numerics[item],
                             .values = (const char *)f->values + (size_t)(item * s->nnz) * number,
                             .dtype = f->meta.dtype,
                             .threads = threads,
                             .is_stable = f->table->is_stable(&f->core->options)};
  *rcond = 1;
  if (s->n == 0) return LAC_OK;
  for (int i = 0; i < REFINE_BLOCKS; i++) task.blocks[i] = memory + (size_t)(i * (int64_t)s->n * RCOND_WIDTH) * number;
  norm = rcond_norm_kernels[f->meta.dtype](s, task.system.values, &task.scale);
  lac_status status = rcond_estimate(&task, &inverse, fault);
  *rcond = isfinite(inverse) ? fmin(1, 1 / norm / inverse) : 0;
  return status;
}

static lac_status rcond_run(lac_context *ctx, const lac_factor *f, void *out) {
  lac_status status = LAC_OK, result = LAC_OK;
  double work = (double)f->finding.nnz + (double)f->items * (double)f->core->structure->nnz;
  int threads = lac_threads_worth(ctx->threads, f->items, work * RCOND_WIDTH);
  size_t share = (size_t)(REFINE_BLOCKS * RCOND_WIDTH) * (size_t)f->core->structure->n * lac_dtype_size(f->meta.dtype);
  char *memory = lac_alloc((size_t)threads * share);
  lac_fault fault = {.text = ""};
  int64_t first = f->items;

  LAC_CHECK(memory, LAC_ERR_MEMORY, "lac_factor_rcond: out of memory: %zu bytes to work in", (size_t)threads * share);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (int64_t i = 0; i < f->items; i++) {
    lac_fault own = {.text = ""};
    double rcond;
    lac_status got = rcond_item(f, i, f->items < ctx->threads ? ctx->threads : 1,
                                memory + (size_t)omp_get_thread_num() * share, &rcond, &own);
    lac_real_put(f->meta.dtype, out, i, rcond);
    if (got == LAC_OK) continue;
#pragma omp critical(lac_rcond_fault)
    if (i < first) first = i, result = got, fault = own;
  }
  LAC_CHECK(result == LAC_OK, result, "lac_factor_rcond: %s", fault.text);
done:
  lac_free(memory);
  return status;
}

lac_status lac_factor_rcond(lac_context *ctx, const lac_factor *factor, lac_array *rcond) {
  lac_status status = LAC_OK;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(factor, LAC_ERR_ARG, "lac_factor_rcond: the factor is NULL");
  LAC_TRY(lac_factor_check_batch(ctx, __func__, factor, rcond, lac_dtype_real(factor->meta.dtype), "rcond"));
  if (factor->iterative) LAC_TRY(lac_factor_partner(ctx, factor, &factor));
  LAC_TRY(rcond_run(ctx, factor, lac_array_edit(rcond)));
done:
  return status;
}

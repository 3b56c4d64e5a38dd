// SPDX-License-Identifier: Apache-2.0
/// @file pivoting_lu_again.c
/// LU with the scaling, the pivots and therefore the structure of an earlier factor: no search, and nothing grows but the
/// numbers.
///
///     column k   x = (R A C)(:, order(k)), rows by their steps;   u_jk = x_j, x -= l_j u_jk for its steps j in order
///                d_k = x_k;   l_ik = x_i / d_k
///
/// Whether the old pivots suit is probed by a solve.

#include <stdio.h>

#include "solvers/direct/pivoting/pivoting_lu.h"
#include "solvers/direct/method/refine.h"

#define KERNEL_FILE "solvers/direct/pivoting/pivoting_lu_again_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef bool again_column_kernel(const lac_structure *, const void *, int32_t, int32_t, const int32_t *, void *,
                                 pivoting_numeric *);
static again_column_kernel *const again_column_kernels[] = TABLE(again_column);

static void again_copy_triangle(const pivoting_triangle *like, int32_t n, pivoting_triangle *to) {
  memcpy(to->offsets, like->offsets, (size_t)(n + 1) * sizeof *to->offsets);
  memcpy(to->rows, like->rows, (size_t)like->count * sizeof *to->rows);
  to->count = like->count;
}

static pivoting_numeric *again_create(const lac_structure *s, const pivoting_numeric *like) {
  pivoting_numeric *f = pivoting_create(s, like->dtype, like->l.count, like->u.count);
  size_t n = (size_t)s->n, size = lac_dtype_size(like->dtype);
  if (!f) return NULL;
  again_copy_triangle(&like->l, s->n, &f->l);
  again_copy_triangle(&like->u, s->n, &f->u);
  memcpy(f->pivots, like->pivots, n * sizeof *f->pivots);
  memcpy(f->row_scale, like->row_scale, n * size);
  memcpy(f->col_scale, like->col_scale, n * size);
  f->flops = like->flops;
  f->growth = like->growth;
  f->is_rough = like->is_rough;
  return f;
}

static lac_status again_probe(const lac_direct_job *job, const pivoting_numeric *f, lac_fault *fault) {
  lac_system system = {.table = &lac_direct_pivoting_lu,
                       .structure = job->structure,
                       .analysis = job->part,
                       .numeric = f,
                       .values = job->values,
                       .dtype = job->dtype,
                       .threads = job->threads,
                       .stop = job->stop};
  double error;
  return lac_refine_probe(&system, false, f->row_scale, f->col_scale, &error, fault);
}

static lac_status again_eliminate(const lac_direct_job *job, const int32_t *place, void *x, pivoting_numeric *f,
                                  lac_fault *fault) {
  const pivoting_analysis *a = job->part;
  double since = 0, work = f->flops / f->n;  // of a column, on the average
  for (int32_t k = 0; k < f->n; k++) {
    if (lac_stop_is_due(job->stop, work, &since)) return lac_fault_interrupted(fault);
    if (again_column_kernels[f->dtype](job->structure, job->values, a->order[k], k, place, x, f)) continue;
    snprintf(fault->text, sizeof fault->text, "the old pivot of column %d is 0 or overflows", a->order[k]);
    return LAC_ERR_CONVERGENCE;
  }
  return again_probe(job, f, fault);
}

lac_status pivoting_factor_again(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  const pivoting_numeric *like = job->like;
  size_t n = (size_t)job->structure->n;
  lac_status status = LAC_ERR_MEMORY;
  pivoting_numeric *f = again_create(job->structure, like);
  int32_t *place = lac_alloc(n * sizeof *place);
  void *x = lac_calloc(n, lac_dtype_size(job->dtype));

  if (f && place && x) {
    for (int32_t k = 0; k < job->structure->n; k++) place[like->pivots[k]] = k;
    status = again_eliminate(job, place, x, f, fault);
  } else {
    snprintf(fault->text, sizeof fault->text, "out of memory: LU of %d rows", job->structure->n);
  }
  if (status == LAC_OK) *numeric = f, f = NULL;
  pivoting_destroy(f);
  lac_free(place);
  lac_free(x);
  return status;
}

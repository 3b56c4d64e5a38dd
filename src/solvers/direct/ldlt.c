// SPDX-License-Identifier: Apache-2.0
/// @file ldlt.c
/// Cholesky without roots, and L D L^H without pivoting, for Hermitian matrices.
///
///     P A P^T = C = L D L^H            L unit lower triangular, D real and diagonal
///     row k      L y = C(:, k),  l_ki = conj(y_i) / d_i,  d_k = c_kk - sum_i l_ki y_i        (above the diagonal)
///     solve      A^-1 b = P^T L^-H D^-1 L^-1 P b
///
/// Positive definite means that every d_k is positive: then nothing grows and no pivoting is needed. Otherwise the
/// factor may be useless, which the residual of every solve shows (refine.c). Numbers are only compared with others of
/// their own row and multiplied by quotients, so that the scale of the matrix does not matter.

#include <stdio.h>

#include "solvers/determinant.h"
#include "solvers/direct/symbolic.h"
#include "solvers/solver_impl.h"

typedef struct ldlt_numeric {
  lac_dtype dtype;
  void *l;  // by the symbolic's l_offsets
  void *d;  // real
  double smallest;
  int64_t where;
} ldlt_numeric;

typedef struct ldlt_work {
  void *y;
  int32_t *mark, *path;
  int64_t *cursor;  // where the next row of each column of L goes
} ldlt_work;

#define KERNEL_FILE "solvers/direct/ldlt_kernel.h"
#include "solvers/direct/instantiate.h"

typedef int32_t ldlt_factor_kernel(const lac_symbolic *, const void *, bool, ldlt_work *, ldlt_numeric *, double *);
typedef void ldlt_solve_kernel(const lac_symbolic *, const ldlt_numeric *, lac_side, int, const void *, void *, void *);
static ldlt_factor_kernel *const ldlt_factor_kernels[] = TABLE(ldlt_factor);
typedef double ldlt_pivot_kernel(const ldlt_numeric *, int32_t);
static ldlt_solve_kernel *const ldlt_solve_kernels[] = TABLE(ldlt_solve);
static ldlt_pivot_kernel *const ldlt_pivot_kernels[] = TABLE(ldlt_pivot);

static lac_status ldlt_analyse(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, void **analysis,
                               int64_t *bytes) {
  lac_symbolic *symbolic = NULL;
  lac_status status = lac_symbolic_create(ctx, structure, ordering, &symbolic);
  if (status != LAC_OK) return status;
  *analysis = symbolic;
  *bytes = lac_symbolic_bytes(symbolic);
  return LAC_OK;
}

static void ldlt_forget(void *analysis) { lac_symbolic_destroy(analysis); }

static void ldlt_destroy(void *numeric) {
  ldlt_numeric *f = numeric;
  if (!f) return;
  lac_free(f->l);
  lac_free(f->d);
  lac_free(f);
}

static void ldlt_work_clear(ldlt_work *w) {
  lac_free(w->y);
  lac_free(w->mark);
  lac_free(w->path);
  lac_free(w->cursor);
}

static bool ldlt_work_init(const lac_symbolic *s, lac_dtype dtype, ldlt_work *w) {
  size_t n = (size_t)s->n;
  w->y = lac_calloc(n, lac_dtype_size(dtype));
  w->mark = lac_calloc(n, sizeof *w->mark);
  w->path = lac_calloc(n, sizeof *w->path);
  w->cursor = lac_calloc(n, sizeof *w->cursor);
  if (!w->y || !w->mark || !w->path || !w->cursor) return false;
  memset(w->mark, -1, n * sizeof *w->mark);
  memcpy(w->cursor, s->l_offsets, n * sizeof *w->cursor);
  return true;
}

static ldlt_numeric *ldlt_create(const lac_symbolic *s, lac_dtype dtype) {
  ldlt_numeric *f = lac_calloc(1, sizeof *f);
  if (!f) return NULL;
  f->dtype = dtype;
  f->smallest = 1;
  f->l = lac_alloc((size_t)s->l_offsets[s->n] * lac_dtype_size(dtype));
  f->d = lac_alloc((size_t)s->n * lac_dtype_size(dtype));
  if (f->l && f->d) return f;
  ldlt_destroy(f);
  return NULL;
}

static lac_status ldlt_refuse(const lac_symbolic *s, int32_t step, bool positive, double pivot, lac_fault *fault) {
  if (positive) {
    snprintf(fault->text, sizeof fault->text, "the matrix is not positive definite: pivot %.3g in row %d", pivot,
             s->order[step]);
    return LAC_ERR_DEFINITE;
  }
  snprintf(fault->text, sizeof fault->text, "L D L^H without pivoting meets pivot %.3g in column %d", pivot,
           s->order[step]);
  return LAC_ERR_SINGULAR;
}

static lac_status ldlt_make(const lac_symbolic *s, bool positive, lac_dtype dtype, const void *values, void **numeric,
                            lac_fault *fault) {
  lac_status status = LAC_OK;
  ldlt_work w = {0};
  ldlt_numeric *f = ldlt_create(s, dtype);

  if (!f || !ldlt_work_init(s, dtype, &w)) {
    snprintf(fault->text, sizeof fault->text, "out of memory: a factor of %lld entries",
             (long long)s->l_offsets[s->n] + s->n);
    status = LAC_ERR_MEMORY;
  } else {
    double pivot = 0;
    int32_t step = ldlt_factor_kernels[dtype](s, values, positive, &w, f, &pivot);
    if (step >= 0) status = ldlt_refuse(s, step, positive, pivot, fault);
  }
  if (status == LAC_OK) *numeric = f, f = NULL;
  ldlt_destroy(f);
  ldlt_work_clear(&w);
  return status;
}

static lac_status ldlt_factor(const lac_factor_job *job, void **numeric, lac_fault *fault) {
  return ldlt_make(job->part, false, job->dtype, job->values, numeric, fault);
}

static bool ldlt_is_stable(const lac_solver_options *options) { return (void)options, false; }

static lac_status ldlt_solve(const void *analysis, const void *numeric, lac_side side, int width, int threads,
                             const void *b, void *x, void *work, lac_fault *fault) {
  (void)threads, (void)fault;
  const ldlt_numeric *f = numeric;
  ldlt_solve_kernels[f->dtype](analysis, f, side, width, b, x, work);
  return LAC_OK;
}

// det A = det D: the permutation stands on both sides.
static lac_status ldlt_logdet(const void *analysis, const void *numeric, lac_polar *out) {
  const ldlt_numeric *f = numeric;
  lac_determinant det = lac_determinant_one();
  for (int32_t k = 0; k < ((const lac_symbolic *)analysis)->n; k++) {
    lac_determinant_times(&det, ldlt_pivot_kernels[f->dtype](f, k), 0);
  }
  *out = lac_determinant_log(&det);
  return LAC_OK;
}

// Without pivoting the structure says all but the numbers.
static void ldlt_predict(const void *analysis, lac_dtype dtype, lac_finding *finding) {
  const lac_symbolic *s = analysis;
  finding->nnz = s->l_offsets[s->n] + s->n;
  finding->bytes = finding->nnz * (int64_t)lac_dtype_size(dtype);
  finding->flops = s->flops * (lac_dtype_is_complex(dtype) ? 4 : 1);
}

static void ldlt_report(const void *analysis, const void *numeric, lac_finding *finding) {
  const ldlt_numeric *f = numeric;
  ldlt_predict(analysis, f->dtype, finding);
  finding->smallest = f->smallest;
  finding->where = f->where;
}

const lac_solver_table lac_solver_ldlt = {
    .name = "ldlt",
    .needs_hermitian = true,
    .is_stable = ldlt_is_stable,
    .analyse = ldlt_analyse,
    .forget = ldlt_forget,
    .predict = ldlt_predict,
    .factor = ldlt_factor,
    .solve = ldlt_solve,
    .logdet = ldlt_logdet,
    .report = ldlt_report,
    .destroy = ldlt_destroy,
};

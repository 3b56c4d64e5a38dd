// SPDX-License-Identifier: Apache-2.0
/// @file banded.c
/// LU with partial pivoting inside a band (core/numbers/band_lu.h); tridiagonal matrices too.
///
///     L_n-1 P_n-1 ... L_0 P_0 R A C = U        R, C scale by powers of two (exactly); P_k swaps two rows
///     A^-1 b = C U^-1 (L_n-1 P_n-1 ... L_0 P_0) R b
///
/// Nothing depends on other entries than those of the band, so there is nothing to order and nothing to analyse.

#include <stdio.h>

#include "core/numbers/band_lu.h"
#include "solvers/direct/method/determinant.h"

typedef struct banded_part {
  int32_t n, lower, upper;
} banded_part;

typedef struct banded_numeric {
  lac_dtype dtype;
  lac_band_lu lu;  // of a matrix whose columns have largest numbers near 1
  void *row_scale, *col_scale;
} banded_numeric;

#define KERNEL_FILE "solvers/direct/special/banded_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef int32_t banded_scale_kernel(const lac_structure *, const void *, void *, void *);
typedef int64_t banded_factor_kernel(const lac_structure *, const void *, banded_numeric *);
typedef void banded_solve_kernel(const banded_numeric *, lac_form, int, const void *, void *);
typedef void banded_logdet_kernel(const banded_numeric *, lac_determinant *);
static banded_scale_kernel *const banded_scale_kernels[] = TABLE(equilibrate);
static banded_factor_kernel *const banded_factor_kernels[] = TABLE(banded_factor);
static banded_solve_kernel *const banded_solve_kernels[] = TABLE(banded_solve);
static banded_logdet_kernel *const banded_logdet_kernels[] = TABLE(banded_logdet);

static lac_status banded_analyse(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, void **part,
                                 int64_t *bytes) {
  lac_status status = LAC_OK;
  banded_part *p = NULL;

  (void)ordering;
  LAC_ALLOC(p, 1);
  *p = (banded_part){structure->n, structure->lower, structure->upper};
  *bytes = (int64_t)sizeof *p;
  *part = p;
done:
  return status;
}

// Of a factorisation in which every pivot comes from as far below as it can.
static void banded_foresee(const void *part, lac_dtype dtype, lac_finding *finding) {
  const banded_part *p = part;
  int64_t width = lac_band_lu_width(p->lower, p->upper), size = (int64_t)lac_dtype_size(dtype);
  finding->ordering = "natural";
  finding->nnz = p->n * width;
  finding->bytes =
      (int64_t)sizeof(banded_numeric) + finding->nnz * size + p->n * (2 * size + 2 * (int64_t)sizeof(int32_t));
  finding->flops = 2.0 * p->n * p->lower * ((double)p->lower + p->upper) * (lac_dtype_is_complex(dtype) ? 4 : 1);
}

static void banded_destroy(void *numeric) {
  banded_numeric *f = numeric;
  if (!f) return;
  lac_free(f->lu.numbers);
  lac_free(f->lu.pivots);
  lac_free(f->lu.ends);
  lac_free(f->row_scale);
  lac_free(f->col_scale);
  lac_free(f);
}

static banded_numeric *banded_create(const banded_part *p, lac_dtype dtype) {
  banded_numeric *f = lac_calloc(1, sizeof *f);
  size_t n = (size_t)p->n, size = lac_dtype_size(dtype);
  if (!f) return NULL;
  f->dtype = dtype;
  f->lu = (lac_band_lu){.n = p->n, .lower = p->lower, .upper = p->upper, .smallest = 1, .overflow = -1};
  f->lu.numbers = lac_calloc(n * (size_t)lac_band_lu_width(p->lower, p->upper), size);
  f->lu.pivots = lac_alloc(n * sizeof *f->lu.pivots);
  f->lu.ends = lac_alloc(n * sizeof *f->lu.ends);
  f->row_scale = lac_alloc(n * size);
  f->col_scale = lac_alloc(n * size);
  if (f->lu.numbers && f->lu.pivots && f->lu.ends && f->row_scale && f->col_scale) return f;
  banded_destroy(f);
  return NULL;
}

static lac_status banded_eliminate(const lac_direct_job *job, banded_numeric *f, lac_fault *fault) {
  int32_t row = banded_scale_kernels[job->dtype](job->structure, job->values, f->row_scale, f->col_scale);
  if (row >= 0) {
    snprintf(fault->text, sizeof fault->text, "the matrix is singular: row %lld has only zeros, pivot 0",
             (long long)row);
    return LAC_ERR_SINGULAR;
  }
  int64_t column = banded_factor_kernels[job->dtype](job->structure, job->values, f);
  bool is_singular = f->lu.overflow < 0;
  if (column < 0) return LAC_OK;
  snprintf(fault->text, sizeof fault->text,
           is_singular ? "the matrix is singular: pivot 0 in column %lld" : "LU overflows in column %lld",
           (long long)column);
  return is_singular ? LAC_ERR_SINGULAR : LAC_ERR_NONFINITE;
}

static lac_status banded_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  const banded_part *p = job->part;
  lac_status status = LAC_ERR_MEMORY;
  banded_numeric *f = banded_create(p, job->dtype);

  if (f) {
    status = banded_eliminate(job, f, fault);
  } else {
    snprintf(fault->text, sizeof fault->text, "out of memory: a band of %lld rows, %lld below and %lld above",
             (long long)p->n, (long long)p->lower, (long long)p->upper);
  }
  if (status == LAC_OK) *numeric = f, f = NULL;
  banded_destroy(f);
  return status;
}

static bool banded_is_stable(const lac_solver_options *options) { return (void)options, true; }

static lac_status banded_solve(const void *part, const void *numeric, lac_form form, int width, int threads,
                               const void *b, void *x, void *work, lac_fault *fault) {
  const banded_numeric *f = numeric;
  (void)part, (void)threads, (void)work, (void)fault;
  banded_solve_kernels[f->dtype](f, form, width, b, x);
  return LAC_OK;
}

static lac_status banded_logdet(const void *part, const void *numeric, lac_polar *out) {
  const banded_numeric *f = numeric;
  lac_determinant d = lac_determinant_one();
  (void)part;
  banded_logdet_kernels[f->dtype](f, &d);
  *out = lac_determinant_log(&d);
  return LAC_OK;
}

static void banded_report(const void *part, const void *numeric, lac_finding *finding) {
  const banded_numeric *f = numeric;
  banded_foresee(part, f->dtype, finding);
  finding->flops = 2 * f->lu.flops * (lac_dtype_is_complex(f->dtype) ? 4 : 1);
  finding->smallest = f->lu.smallest;
  finding->where = f->lu.where;
}

const lac_direct_table lac_direct_banded = {
    .name = "banded",
    .is_stable = banded_is_stable,
    .analyse = banded_analyse,
    .forget = lac_free,
    .foresee = banded_foresee,
    .factor = banded_factor,
    .solve = banded_solve,
    .logdet = banded_logdet,
    .report = banded_report,
    .destroy = banded_destroy,
};

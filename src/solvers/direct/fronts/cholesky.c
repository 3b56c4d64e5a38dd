// SPDX-License-Identifier: Apache-2.0
/// @file cholesky.c
/// Cholesky over supernodes, for Hermitian positive definite matrices.
///
///     P A P^T = L L^H
///     front      A_PP = L_PP L_PP^H,   L_RP = A_RP L_PP^-H,   A_RR - L_RP L_RP^H for the parent       (fronts.c)
///     solve      A^-1 b = P^T L^-H L^-1 P b
///
/// Positive definite means that every pivot is positive: then nothing grows and no pivoting is needed.

#include <stdio.h>

#include "solvers/direct/dense/dense.h"
#include "solvers/direct/symbolic/front_analysis.h"
#include "solvers/direct/fronts/fronts.h"
#include "solvers/direct/fronts/selected.h"

enum { CHOLESKY_SHARED = 1 << 14 };  // rows from which threads share them

#define KERNEL_FILE "solvers/direct/fronts/cholesky_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef void cholesky_norms_kernel(const lac_structure *, const lac_supernodes *, const void *, int, double *);
static cholesky_norms_kernel *const cholesky_norms[] = TABLE(cholesky_norms);
lac_eliminate *const lac_eliminate_cholesky[4] = TABLE(cholesky_eliminate);

static lac_status cholesky_refuse(const lac_fronts *f, lac_status status, lac_fault *fault) {
  if (status == LAC_ERR_DEFINITE) {
    snprintf(fault->text, sizeof fault->text, "the matrix is not positive definite: pivot %.3g in row %d", f->smallest,
             f->s->row_at[f->where]);
  }
  return status == LAC_ERR_INTERRUPTED ? lac_fault_interrupted(fault) : status;
}

static lac_status cholesky_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  lac_supernodes *s = ((const lac_front_analysis *)job->part)->plain;
  lac_status status = LAC_ERR_MEMORY;
  double *norms = lac_alloc((size_t)s->n * sizeof *norms);
  lac_fronts *f = lac_fronts_create(s, LAC_FRONT_CHOLESKY, job->dtype);
  lac_fronts_job fronts = {
      .eliminate = lac_eliminate_cholesky, .values = job->values, .threads = job->threads, .stop = job->stop};

  if (f && norms) {
    cholesky_norms[job->dtype](job->structure, s, job->values, job->threads, norms);
    fronts.norms = norms;
    status = cholesky_refuse(f, lac_fronts_factor(f, &fronts), fault);
  }
  if (status == LAC_ERR_MEMORY && f && f->lacks_blas) {
    status = lac_fault_blas(fault);
  } else if (status == LAC_ERR_MEMORY) {
    snprintf(fault->text, sizeof fault->text, "out of memory: a factor of %lld entries", (long long)s->nnz);
  }
  if (status == LAC_OK) *numeric = f, f = NULL;
  lac_fronts_destroy(f);
  lac_free(norms);
  return status;
}

static bool cholesky_is_stable(const lac_solver_options *options) { return (void)options, true; }

static void cholesky_add_norms(const lac_supernodes *s, lac_finding *finding) {
  finding->work_bytes += s->n * (int64_t)sizeof(double);
}

static void cholesky_foresee(const void *part, lac_dtype dtype, lac_finding *finding) {
  const lac_supernodes *s = ((const lac_front_analysis *)part)->plain;
  lac_fronts_foresee(s, LAC_FRONT_CHOLESKY, dtype, finding);
  cholesky_add_norms(s, finding);
}

static void cholesky_report(const void *part, const void *numeric, lac_finding *finding) {
  (void)part;
  lac_fronts_report(numeric, finding);
  cholesky_add_norms(((const lac_fronts *)numeric)->s, finding);
}

static lac_status cholesky_solve(const void *part, const void *numeric, lac_form form, int width, int threads,
                                 const void *b, void *x, void *work, lac_fault *fault) {
  (void)part;
  return lac_fronts_solve(numeric, form, width, threads, b, x, work, fault);
}

const lac_direct_table lac_direct_cholesky = {
    .name = "cholesky",
    .needs_hermitian = true,
    .is_stable = cholesky_is_stable,
    .analyse = lac_front_analyse,
    .forget = lac_front_forget,
    .foresee = cholesky_foresee,
    .factor = cholesky_factor,
    .solve = cholesky_solve,
    .logdet = lac_fronts_logdet,
    .selected_inverse = lac_fronts_selected_inverse,
    .report = cholesky_report,
    .destroy = lac_fronts_destroy,
};

// SPDX-License-Identifier: Apache-2.0
/// @file pivoted_fronts.c
/// Pivots inside supernodes, and the probe that says whether they suit.
///
/// A pivot may be enlarged to sqrt(eps) of what it eliminates: the factor is then one of a matrix that differs by as
/// much, and refinement makes good for it, as a rule. Growth loses digits likewise. Whether it did so is measured: by
/// two solves where there is doubt, and by one where choices were taken over.

#include "solvers/direct/fronts/pivoted_fronts.h"

#include <math.h>
#include <stdio.h>

#include "core/blas.h"
#include "solvers/direct/method/refine.h"

// Growth from which on there is doubt.
static const double PIVOTED_GROWTH = 1e3;

static double pivoted_small(lac_dtype dtype) { return sqrt(lac_dtype_epsilon(dtype)); }

static lac_status pivoted_memory(const lac_pivoted_job *p, lac_fault *fault) {
  snprintf(fault->text, sizeof fault->text, "out of memory: a factor of %lld numbers",
           (p->kind == LAC_FRONT_LU ? 2 : 1) * (long long)p->s->nnz);
  return LAC_ERR_MEMORY;
}

static lac_status pivoted_eliminate(lac_pivoted_job *p, lac_fronts *f, lac_fault *fault) {
  lac_fronts_job fronts_job = {.eliminate = p->kind == LAC_FRONT_LU ? lac_eliminate_lu : lac_eliminate_ldlt,
                               .values = p->scaled,
                               .like = p->job->like,
                               .small = pivoted_small(f->dtype),
                               .threads = p->job->threads,
                               .stop = p->job->stop};
  lac_status status = lac_fronts_factor(f, &fronts_job);
  if (status == LAC_ERR_MEMORY) return f->lacks_blas ? lac_fault_blas(fault) : pivoted_memory(p, fault);
  if (status == LAC_ERR_INTERRUPTED) return lac_fault_interrupted(fault);
  if (status == LAC_ERR_NONFINITE) {
    snprintf(fault->text, sizeof fault->text, "pivots inside supernodes do not suit: numbers overflow");
    return LAC_ERR_CONVERGENCE;  // where pivots come from anywhere they need not
  }
  return status;
}

// Where nothing else was enlarged, elimination has come to a column of zeros as it would with any choice of pivots.
// With gaps on the diagonal a matching decides whether this is so for all values.
static lac_status pivoted_singular(const lac_pivoted_job *p, const lac_fronts *f, lac_fault *fault) {
  bool is_open = p->kind == LAC_FRONT_LDLT && p->job->structure->diagonals < p->job->structure->n;
  snprintf(fault->text, sizeof fault->text, "the matrix is singular: pivot 0 in column %lld", (long long)f->where);
  return is_open ? LAC_ERR_CONVERGENCE : LAC_ERR_SINGULAR;
}

static bool pivoted_is_sure(const lac_fronts *f) { return f->perturbed == 0 && f->growth <= PIVOTED_GROWTH; }

lac_status lac_pivoted_probe(const lac_direct_job *job, const lac_direct_table *table, const lac_fronts *f,
                             lac_fault *fault) {
  lac_system system = {.table = table,
                       .structure = job->structure,
                       .analysis = job->part,
                       .numeric = f,
                       .values = job->values,
                       .dtype = job->dtype,
                       .threads = job->threads,
                       .stop = job->stop};
  double error;
  lac_status status = lac_refine_probe(&system, !pivoted_is_sure(f), f->row_scale, f->col_scale, &error, fault);
  if (status == LAC_ERR_CONVERGENCE) {
    snprintf(fault->text, sizeof fault->text,
             "pivots inside supernodes do not suit: %lld enlarged, growth %.1e, the backward error of a probe stays at "
             "%.1e",
             (long long)f->perturbed, f->growth, error);
  }
  return status;
}

static lac_status pivoted_judge(const lac_pivoted_job *p, const lac_fronts *f, lac_fault *fault) {
  if (pivoted_is_sure(f) && !p->job->like) return LAC_OK;
  if (f->zeros > 0 && f->zeros == f->perturbed) return pivoted_singular(p, f, fault);
  if (p->is_strict && f->perturbed > 0) {
    snprintf(fault->text, sizeof fault->text, "pivots inside supernodes do not suit: %lld enlarged",
             (long long)f->perturbed);
    return LAC_ERR_CONVERGENCE;
  }
  if (p->is_tentative && f->perturbed > 0) return LAC_OK;
  return lac_pivoted_probe(p->job, p->table, f, fault);
}

// What is foreseen once the supernodes are chosen is no guess.
static lac_status pivoted_check(const lac_pivoted_job *p, lac_fault *fault) {
  lac_finding finding = {0};
  lac_fronts_foresee(p->s, p->kind, p->job->dtype, &finding);
  return lac_foresee_check(p->table, p->job->options, p->job->dtype, 1, 1, &finding, fault);
}

lac_status lac_pivoted_factor(lac_pivoted_job *p, lac_fronts **out, lac_fault *fault) {
  lac_status status = pivoted_check(p, fault);
  if (status != LAC_OK) return status;
  lac_fronts *f = lac_fronts_create(p->s, p->kind, p->job->dtype);
  if (!f) return pivoted_memory(p, fault);
  status = pivoted_eliminate(p, f, fault);
  f->row_scale = p->row_scale, f->col_scale = p->col_scale;
  if (status == LAC_OK) status = pivoted_judge(p, f, fault);
  if (status == LAC_OK) {
    p->row_scale = p->col_scale = NULL;
    *out = f;
    return LAC_OK;
  }
  f->row_scale = f->col_scale = NULL;
  lac_fronts_destroy(f);
  return status;
}

// What was in doubt was probed.
bool lac_pivoted_is_stable(const lac_solver_options *options) { return (void)options, true; }

lac_status lac_pivoted_solve(const void *part, const void *numeric, lac_form form, int width, int threads,
                             const void *b, void *x, void *work, lac_fault *fault) {
  (void)part;
  return lac_fronts_solve(numeric, form, width, threads, b, x, work, fault);
}

void lac_pivoted_report(const void *part, const void *numeric, lac_finding *finding) {
  (void)part;
  lac_fronts_report(numeric, finding);
}

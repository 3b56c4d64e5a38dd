// SPDX-License-Identifier: Apache-2.0
/// @file lu.c
/// LU inside supernodes, on the structure of B + B^T (after PARDISO: Schenk and Gaertner 2004).
///
///     B = R A C with its rows matched to columns,   P B P^T = Pi^T L U        P the order, Pi inside supernodes
///
/// Scaling, matching and order are chosen first (lu_choice.h), then pivots inside supernodes (pivoted_fronts.h). Where
/// those fail, a matching of these values is tried instead; where that fails, or was there already, the method gives up
/// with LAC_ERR_CONVERGENCE, and LU that may pivot anywhere is the way out.

#include "solvers/direct/symbolic/front_analysis.h"
#include "solvers/direct/fronts/lu_choice.h"
#include "solvers/direct/fronts/pivoted_fronts.h"
#include "solvers/direct/fronts/selected.h"

static lac_status lu_eliminate(const lac_direct_job *job, lac_lu_choice *c, lac_fronts **out, lac_fault *fault) {
  lac_pivoted_job pivoted = {.job = job,
                             .table = &lac_direct_lu,
                             .kind = LAC_FRONT_LU,
                             .s = c->s,
                             .scaled = c->scaled,
                             .row_scale = c->row_scale,
                             .col_scale = c->col_scale,
                             .is_strict = c->is_weak && !job->like};
  lac_status status = lac_pivoted_factor(&pivoted, out, fault);
  c->row_scale = pivoted.row_scale, c->col_scale = pivoted.col_scale;
  return status;
}

static lac_status lu_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  lac_lu_choice choice = {0};
  lac_fronts *f = NULL;
  lac_status status = lac_lu_choose(job, &choice, fault);
  if (status == LAC_OK) status = lu_eliminate(job, &choice, &f, fault);
  if (status == LAC_ERR_CONVERGENCE && !job->like && !choice.row_power) {
    lac_supernodes *failed = lac_object_retain(choice.s);
    lac_fault before = *fault;
    status = lac_lu_choose_matching(job, &choice, fault);
    if (status == LAC_OK && choice.s == failed) status = LAC_ERR_CONVERGENCE, *fault = before;
    if (status == LAC_OK) status = lu_eliminate(job, &choice, &f, fault);
    lac_object_release(failed);
  }
  if (status == LAC_OK) *numeric = f;
  lac_lu_choice_clear(&choice);
  return status;
}

// The values decide where a matching is needed: then nothing is known, or what is known is that of the matrix as it
// stands.
static void lu_foresee(const void *part, lac_dtype dtype, lac_finding *finding) {
  const lac_front_analysis *a = part;
  *finding = (lac_finding){.nnz = -1, .bytes = -1, .work_bytes = -1, .flops = -1};
  if (a->plain) lac_fronts_foresee(a->plain, LAC_FRONT_LU, dtype, finding);
  finding->is_guess = true;
}

const lac_direct_table lac_direct_lu = {
    .name = "lu",
    .is_stable = lac_pivoted_is_stable,
    .analyse = lac_front_analyse,
    .forget = lac_front_forget,
    .foresee = lu_foresee,
    .factor = lu_factor,
    .solve = lac_pivoted_solve,
    .logdet = lac_fronts_logdet,
    .selected_inverse = lac_fronts_selected_inverse,
    .report = lac_pivoted_report,
    .destroy = lac_fronts_destroy,
};

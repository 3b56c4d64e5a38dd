// SPDX-License-Identifier: Apache-2.0
/// @file ldlt.c
/// L D L^H inside supernodes, for Hermitian matrices that are not definite.
///
///     B = D A D / 2^g,   P B P^T = Pi^T L D L^H Pi        D powers of two; P the order; Pi inside supernodes
///
/// D has blocks of one and two rows (eliminate.h). Where pivots inside supernodes had to be enlarged or do not suit
/// (pivoted_fronts.h), rows are paired (pairs.h) and ordered so that both of a pair are in one supernode; the pairs are
/// kept for values to come. Where that does not suit either the method gives up with LAC_ERR_CONVERGENCE, and LU is the
/// way out.

#include <stdio.h>
#include <string.h>

#include "solvers/direct/symbolic/front_analysis.h"
#include "solvers/direct/order/pairs.h"
#include "solvers/direct/fronts/pivoted_fronts.h"
#include "solvers/direct/order/scaling.h"
#include "solvers/direct/fronts/selected.h"

// Scales still serve where nothing is much larger than 1; and pairs are worth so many times the flops of a factor that
// refinement must make good for.
static const double LDLT_NEAR = 16, LDLT_WORTH = 4;

// What is decided before the elimination.
typedef struct ldlt_choice {
  lac_supernodes *s;                     // held
  void *row_scale, *col_scale, *scaled;  // owned
  bool is_settled;                       // values before these had the choice between this and pairs
} ldlt_choice;

static void ldlt_clear(ldlt_choice *c) {
  lac_object_release(c->s);
  lac_free(c->row_scale);
  lac_free(c->col_scale);
  lac_free(c->scaled);
  *c = (ldlt_choice){0};
}

static bool ldlt_allocate(const lac_direct_job *job, ldlt_choice *c) {
  size_t n = (size_t)job->structure->n, size = lac_dtype_size(job->dtype);
  c->row_scale = lac_alloc(n * size);
  c->col_scale = lac_alloc(n * size);
  c->scaled = lac_alloc((size_t)job->structure->nnz * size);
  return c->row_scale && c->col_scale && c->scaled;
}

static lac_status ldlt_memory(lac_fault *fault) {
  snprintf(fault->text, sizeof fault->text, "out of memory: the choices of L D L^H");
  return LAC_ERR_MEMORY;
}

static void ldlt_apply(const lac_direct_job *job, ldlt_choice *c) {
  lac_scaling_apply(job->structure, job->dtype, job->values, c->row_scale, c->col_scale, c->scaled);
}

// The choice of another factor: `like`, or the first of the batch.
static void ldlt_copy(const lac_direct_job *job, const lac_fronts *from, ldlt_choice *c) {
  size_t bytes = (size_t)from->s->n * lac_dtype_size(job->dtype);
  c->s = lac_object_retain(from->s);
  memcpy(c->row_scale, from->row_scale, bytes);
  memcpy(c->col_scale, from->col_scale, bytes);
}

// The pairs of values before these, or the matrix as it stands.
static lac_status ldlt_choose(const lac_direct_job *job, ldlt_choice *c, lac_fault *fault) {
  const lac_front_analysis *a = job->part;
  const lac_fronts *near = job->near;
  if (!ldlt_allocate(job, c)) return ldlt_memory(fault);
  if (job->like) ldlt_copy(job, job->like, c);
  if (!job->like && near && near->s != a->plain) ldlt_copy(job, near, c);
  if (!job->like && !near) c->s = lac_front_recall(a, LAC_FRONT_PAIRED, job->dtype, c->row_scale, c->col_scale);
  c->is_settled = c->s && !near;
  if (c->s) ldlt_apply(job, c);
  if (job->like || (c->s && lac_scaling_measure(job->structure, job->dtype, c->scaled, NULL).largest <= LDLT_NEAR)) {
    return LAC_OK;
  }
  int32_t zero_row = lac_scaling_symmetric(job->structure, job->dtype, job->values, c->row_scale, c->col_scale);
  if (zero_row >= 0) {
    lac_scaling_zero_text(job->structure, zero_row, fault->text, sizeof fault->text);
    return LAC_ERR_SINGULAR;
  }
  if (!c->s) c->s = lac_object_retain(a->plain);
  ldlt_apply(job, c);
  return LAC_OK;
}

// Pairs of these values. Where there are none, or not all rows are matched, the choice has no supernodes.
static lac_status ldlt_choose_pairs(const lac_direct_job *job, ldlt_choice *c, lac_fault *fault) {
  const lac_front_analysis *a = job->part;
  int32_t *mate = lac_alloc((size_t)job->structure->n * sizeof *mate), pairs = 0;
  lac_status status = mate && ldlt_allocate(job, c) ? LAC_OK : LAC_ERR_MEMORY;

  if (status == LAC_OK) {
    status = lac_pairs_find(job->structure, job->dtype, job->values, mate, c->row_scale, c->col_scale, &pairs);
  }
  if (status == LAC_OK && pairs > 0) {
    status = lac_supernodes_create_paired(NULL, job->structure, mate, a->ordering, &c->s);
    ldlt_apply(job, c);
  }
  lac_free(mate);
  return status == LAC_ERR_MEMORY ? ldlt_memory(fault) : LAC_OK;
}

static lac_status ldlt_eliminate(const lac_direct_job *job, ldlt_choice *c, bool is_tentative, lac_fronts **out,
                                 lac_fault *fault) {
  lac_pivoted_job pivoted = {.job = job,
                             .table = &lac_direct_ldlt,
                             .kind = LAC_FRONT_LDLT,
                             .s = c->s,
                             .scaled = c->scaled,
                             .row_scale = c->row_scale,
                             .col_scale = c->col_scale,
                             .is_tentative = is_tentative};
  lac_status status = lac_pivoted_factor(&pivoted, out, fault);
  c->row_scale = pivoted.row_scale, c->col_scale = pivoted.col_scale;
  return status;
}

// Whether pairs may take the place of a factor with enlarged pivots: they are worth much, but not everything.
static bool ldlt_pays(const lac_direct_job *job, const lac_supernodes *pairs, const lac_fronts *f) {
  lac_finding paired = {0}, plain = {0};
  lac_fault unheard;
  lac_fronts_foresee(pairs, LAC_FRONT_LDLT, f->dtype, &paired);
  lac_fronts_foresee(f->s, LAC_FRONT_LDLT, f->dtype, &plain);
  return paired.flops <= LDLT_WORTH * plain.flops &&
         lac_foresee_check(&lac_direct_ldlt, job->options, f->dtype, 1, 1, &paired, &unheard) == LAC_OK;
}

// What values to come will begin with.
static lac_status ldlt_settle(const lac_direct_job *job, const lac_fronts *f, lac_fault *fault) {
  bool is_kept = job->near || lac_front_keep(job->part, LAC_FRONT_PAIRED, f->dtype, f->s, f->row_scale, f->col_scale);
  return is_kept ? LAC_OK : ldlt_memory(fault);
}

// A factor with enlarged pivots that pairs did not replace is probed now; none is left where it fails.
static lac_status ldlt_probe(const lac_direct_job *job, lac_fronts **f, lac_fault *fault) {
  lac_status status = lac_pivoted_probe(job, &lac_direct_ldlt, *f, fault);
  if (status == LAC_OK) return LAC_OK;
  lac_fronts_destroy(*f);
  *f = NULL;
  return status;
}

static bool ldlt_is_better(const lac_fronts *paired, const lac_fronts *f) {
  return paired && (!f || paired->perturbed < f->perturbed);
}

// Pairs where they pay, or where *f fails its probe: *f is NULL, or has enlarged pivots and is not probed yet. The
// fault of pairs is told only where it ends the work.
static lac_status ldlt_compare(const lac_direct_job *job, ldlt_choice *c, lac_fronts **f, lac_fronts **paired,
                               lac_fault *fault) {
  lac_status status = LAC_OK;
  lac_fault other = *fault;
  bool pays = c->s && (!*f || ldlt_pays(job, c->s, *f));
  if (pays) status = ldlt_eliminate(job, c, false, paired, &other);
  if (!lac_status_is_final(status) && *f && !ldlt_is_better(*paired, *f)) {
    status = ldlt_probe(job, f, fault);
    if (*f || pays || !c->s || lac_status_is_final(status)) return status;
    status = ldlt_eliminate(job, c, false, paired, &other);
  }
  if (lac_status_is_final(status)) *fault = other;
  return status;
}

// A factor by pairs in place of *f, which is NULL or has enlarged pivots; it stays where pairs cost too much or do no
// better.
static lac_status ldlt_pair(const lac_direct_job *job, lac_fronts **f, lac_fault *fault) {
  ldlt_choice choice = {0};
  lac_fronts *paired = NULL;
  lac_status status = ldlt_choose_pairs(job, &choice, fault);
  if (status == LAC_OK) status = ldlt_compare(job, &choice, f, &paired, fault);
  if (ldlt_is_better(paired, *f)) {
    lac_fronts *other = *f;
    *f = paired, paired = other;
  }
  lac_fronts_destroy(paired);
  ldlt_clear(&choice);
  if (lac_status_is_final(status)) return status;
  return *f ? ldlt_settle(job, *f, fault) : LAC_ERR_CONVERGENCE;
}

static lac_status ldlt_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  ldlt_choice choice = {0};
  lac_fronts *f = NULL;
  lac_status status = ldlt_choose(job, &choice, fault);
  bool may_pair = !job->like && !choice.is_settled;
  if (status == LAC_OK) status = ldlt_eliminate(job, &choice, may_pair, &f, fault);
  ldlt_clear(&choice);
  if ((status == LAC_ERR_CONVERGENCE && !job->like) || (status == LAC_OK && f->perturbed > 0 && may_pair)) {
    status = ldlt_pair(job, &f, fault);
  }
  if (status == LAC_OK) {
    *numeric = f;
  } else {
    lac_fronts_destroy(f);
  }
  return status;
}

static void ldlt_foresee(const void *part, lac_dtype dtype, lac_finding *finding) {
  lac_fronts_foresee(((const lac_front_analysis *)part)->plain, LAC_FRONT_LDLT, dtype, finding);
}

const lac_direct_table lac_direct_ldlt = {
    .name = "ldlt",
    .needs_hermitian = true,
    .is_stable = lac_pivoted_is_stable,
    .analyse = lac_front_analyse,
    .forget = lac_front_forget,
    .foresee = ldlt_foresee,
    .factor = ldlt_factor,
    .solve = lac_pivoted_solve,
    .logdet = lac_fronts_logdet,
    .selected_inverse = lac_fronts_selected_inverse,
    .report = lac_pivoted_report,
    .destroy = lac_fronts_destroy,
};

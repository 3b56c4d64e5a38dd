// SPDX-License-Identifier: Apache-2.0
/// @file ldlt.c
/// L D L^H inside supernodes, for Hermitian matrices that are not definite.
///
///     B = D A D / 2^g,   P B P^T = Pi^T L D L^H Pi        D powers of two; P the order; Pi inside supernodes
///
/// D has blocks of one and two rows (eliminate.h). Where pivots inside supernodes do not suit (pivoted_fronts.h) the
/// method gives up with LAC_ERR_CONVERGENCE, and LU is the way out.

#include <stdio.h>
#include <string.h>

#include "solvers/direct/front_analysis.h"
#include "solvers/direct/pivoted_fronts.h"
#include "solvers/direct/scaling.h"
#include "solvers/direct/selected.h"

typedef struct ldlt_room {
  void *row_scale, *col_scale, *scaled;
} ldlt_room;

static void ldlt_room_clear(ldlt_room *room) {
  lac_free(room->row_scale);
  lac_free(room->col_scale);
  lac_free(room->scaled);
}

static bool ldlt_room_init(const lac_factor_job *job, ldlt_room *room) {
  size_t n = (size_t)job->structure->n, size = lac_dtype_size(job->dtype);
  room->row_scale = lac_alloc(n * size);
  room->col_scale = lac_alloc(n * size);
  room->scaled = lac_alloc((size_t)job->structure->nnz * size);
  return room->row_scale && room->col_scale && room->scaled;
}

// Scales as before or of these values. Returns a row of zeros, or -1.
static int32_t ldlt_scale(const lac_factor_job *job, ldlt_room *room) {
  const lac_fronts *like = job->like;
  size_t bytes = (size_t)job->structure->n * lac_dtype_size(job->dtype);
  int32_t zero_row = -1;
  if (like) {
    memcpy(room->row_scale, like->row_scale, bytes);
    memcpy(room->col_scale, like->col_scale, bytes);
  } else {
    zero_row = lac_scaling_symmetric(job->structure, job->dtype, job->values, room->row_scale, room->col_scale);
  }
  if (zero_row >= 0) return zero_row;
  lac_scaling_apply(job->structure, job->dtype, job->values, room->row_scale, room->col_scale, room->scaled);
  return -1;
}

static lac_status ldlt_eliminate(const lac_factor_job *job, ldlt_room *room, void **numeric, lac_fault *fault) {
  const lac_front_analysis *a = job->part;
  lac_fronts *f = NULL;
  lac_pivoted_job pivoted = {.job = job,
                             .table = &lac_solver_ldlt,
                             .kind = LAC_FRONT_LDLT,
                             .s = a->plain,
                             .scaled = room->scaled,
                             .row_scale = room->row_scale,
                             .col_scale = room->col_scale};
  lac_status status = lac_pivoted_factor(&pivoted, &f, fault);
  room->row_scale = pivoted.row_scale, room->col_scale = pivoted.col_scale;
  *numeric = f;
  return status;
}

static lac_status ldlt_factor(const lac_factor_job *job, void **numeric, lac_fault *fault) {
  ldlt_room room = {0};
  lac_status status = LAC_OK;
  if (!ldlt_room_init(job, &room)) {
    snprintf(fault->text, sizeof fault->text, "out of memory: a copy of %lld scaled values",
             (long long)job->structure->nnz);
    status = LAC_ERR_MEMORY;
  } else {
    int32_t zero_row = ldlt_scale(job, &room);
    if (zero_row >= 0) {
      lac_scaling_zero_text(job->structure, zero_row, fault->text, sizeof fault->text);
      status = LAC_ERR_SINGULAR;
    }
  }
  if (status == LAC_OK) status = ldlt_eliminate(job, &room, numeric, fault);
  ldlt_room_clear(&room);
  return status;
}

static void ldlt_predict(const void *part, lac_dtype dtype, lac_finding *finding) {
  lac_fronts_predict(((const lac_front_analysis *)part)->plain, LAC_FRONT_LDLT, dtype, finding);
}

const lac_solver_table lac_solver_ldlt = {
    .name = "ldlt",
    .needs_hermitian = true,
    .is_stable = lac_pivoted_is_stable,
    .analyse = lac_front_analyse,
    .forget = lac_front_forget,
    .predict = ldlt_predict,
    .factor = ldlt_factor,
    .solve = lac_pivoted_solve,
    .logdet = lac_fronts_logdet,
    .selected_inverse = lac_fronts_selected_inverse,
    .report = lac_pivoted_report,
    .destroy = lac_fronts_destroy,
};

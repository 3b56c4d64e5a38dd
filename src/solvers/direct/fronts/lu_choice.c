// SPDX-License-Identifier: Apache-2.0
/// @file lu_choice.c
/// Scaling and matching for LU inside supernodes.
///
///     equilibrated   |a_ij| < 1 with a number of 1/2 or more in every row and column: strong where |a_ii| >= 1/100
///     matched        |a_ij| <= 2, about 1 where j = match(i)                          still so after small changes
///
/// A diagonal that is weak but there has the first turn too: its order is at hand, and what is nearly skew needs no
/// other (convection against little diffusion), where a matching would tear it apart.

#include "solvers/direct/fronts/lu_choice.h"

#include <stdio.h>
#include <string.h>

#include "core/number_at.h"
#include "solvers/direct/symbolic/front_analysis.h"
#include "solvers/direct/fronts/fronts.h"
#include "solvers/direct/order/matching.h"
#include "solvers/direct/order/scaling.h"

static const double CHOICE_STRONG = 0.01, CHOICE_WEAK = 1e-6, CHOICE_NEAR = 1.0 / 16;

void lac_lu_choice_clear(lac_lu_choice *c) {
  lac_object_release(c->s);
  lac_free(c->row_scale);
  lac_free(c->col_scale);
  lac_free(c->scaled);
  lac_free(c->match);
  lac_free(c->row_power);
  lac_free(c->col_power);
}

static lac_status choice_memory(lac_fault *fault) {
  snprintf(fault->text, sizeof fault->text, "out of memory: the choices of LU");
  return LAC_ERR_MEMORY;
}

static bool choice_allocate(const lac_direct_job *job, lac_lu_choice *c) {
  size_t n = (size_t)job->structure->n, size = lac_dtype_size(job->dtype);
  c->row_scale = lac_alloc(n * size);
  c->col_scale = lac_alloc(n * size);
  c->scaled = lac_alloc((size_t)job->structure->nnz * size);
  c->match = lac_alloc(n * sizeof *c->match);
  return c->row_scale && c->col_scale && c->scaled && c->match;
}

static void choice_apply(const lac_direct_job *job, lac_lu_choice *c) {
  lac_scaling_apply(job->structure, job->dtype, job->values, c->row_scale, c->col_scale, c->scaled);
}

static void choice_take(lac_lu_choice *c, const lac_supernodes *s) {
  lac_supernodes *before = c->s;
  c->s = lac_object_retain(s);
  lac_object_release(before);
}

// The matching that supernodes were made for: what stands on their diagonal.
static int32_t choice_match(const lac_supernodes *s, int32_t row) { return s->col_at[s->row_step[row]]; }

static bool choice_has_match(const lac_supernodes *s, const int32_t *match) {
  for (int32_t i = 0; s && i < s->n; i++) {
    if (match[i] != choice_match(s, i)) return false;
  }
  return s != NULL;
}

// -- a choice made before --------------------------------------------------------------------------------------------

static void choice_copy(const lac_direct_job *job, const lac_fronts *from, lac_lu_choice *c) {
  size_t number = lac_dtype_size(job->dtype) / (lac_dtype_is_complex(job->dtype) ? 2 : 1);
  choice_take(c, from->s);
  memcpy(c->row_scale, from->row_scale, (size_t)from->s->n * number);
  memcpy(c->col_scale, from->col_scale, (size_t)from->s->n * number);
}

// Where a matching made for other values suits these.
static bool choice_recall(const lac_direct_job *job, const lac_front_analysis *a, lac_lu_choice *c) {
  const lac_fronts *near = job->near;
  if (near && near->s != a->plain) choice_copy(job, near, c);
  if (!near) c->s = lac_front_recall(a, LAC_FRONT_MATCHED, job->dtype, c->row_scale, c->col_scale);
  if (!c->s) return false;
  for (int32_t i = 0; i < c->s->n; i++) c->match[i] = choice_match(c->s, i);
  choice_apply(job, c);
  lac_scaling_range range = lac_scaling_measure(job->structure, job->dtype, c->scaled, c->match);
  return range.weakest >= CHOICE_NEAR && range.largest <= 1 / CHOICE_NEAR;
}

// -- a choice made for these values ----------------------------------------------------------------------------------

static lac_status choice_unmatched(const lac_structure *s, const int32_t *match, lac_fault *fault) {
  int32_t row = 0;
  while (match[row] >= 0) row++;
  lac_structure_singular_text(s, -1 - match[row], fault->text, sizeof fault->text);
  return LAC_ERR_SINGULAR;
}

static void choice_round(lac_dtype dtype, int32_t n, const double *power, void *scale) {
  for (int32_t i = 0; i < n; i++) lac_real_put(dtype, scale, i, power[i]);
}

// The supernodes of choice->match: those at hand where they fit, else new ones.
static lac_status choice_analyse(const lac_direct_job *job, lac_lu_choice *c, lac_fault *fault) {
  const lac_front_analysis *a = job->part;
  const lac_fronts *near = job->near;
  lac_supernodes *s = NULL;
  if (choice_has_match(c->s, c->match)) return LAC_OK;
  if (choice_has_match(a->plain, c->match)) return choice_take(c, a->plain), LAC_OK;
  if (near && choice_has_match(near->s, c->match)) return choice_take(c, near->s), LAC_OK;
  lac_status status = lac_supernodes_create(NULL, job->structure, c->match, a->ordering, &s);
  if (status == LAC_ERR_MEMORY) return choice_memory(fault);
  if (status != LAC_OK) {
    snprintf(fault->text, sizeof fault->text, "the matched matrix could not be ordered; use LAC_ORDER_AMD");
    return status;
  }
  choice_take(c, s);
  lac_object_release(s);
  return LAC_OK;
}

lac_status lac_lu_choose_matching(const lac_direct_job *job, lac_lu_choice *c, lac_fault *fault) {
  const lac_structure *s = job->structure;
  int32_t rank = 0;
  lac_status status;

  if (!c->scaled && !choice_allocate(job, c)) return choice_memory(fault);
  if (!c->row_power) c->row_power = lac_alloc((size_t)s->n * sizeof *c->row_power);
  if (!c->col_power) c->col_power = lac_alloc((size_t)s->n * sizeof *c->col_power);
  if (!c->row_power || !c->col_power) return choice_memory(fault);
  status = lac_matching(s, job->dtype, job->values, c->match, c->row_power, c->col_power, &rank);
  if (status == LAC_ERR_SINGULAR) return choice_unmatched(s, c->match, fault);
  if (status != LAC_OK) return choice_memory(fault);
  c->is_weak = false;
  choice_round(job->dtype, s->n, c->row_power, c->row_scale);
  choice_round(job->dtype, s->n, c->col_power, c->col_scale);
  choice_apply(job, c);
  status = choice_analyse(job, c, fault);
  if (status != LAC_OK || job->near) return status;
  bool is_kept = lac_front_keep(job->part, LAC_FRONT_MATCHED, job->dtype, c->s, c->row_scale, c->col_scale);
  return is_kept ? LAC_OK : choice_memory(fault);
}

lac_status lac_lu_choose(const lac_direct_job *job, lac_lu_choice *c, lac_fault *fault) {
  const lac_front_analysis *a = job->part;
  const lac_structure *s = job->structure;
  if (!choice_allocate(job, c)) return choice_memory(fault);
  if (job->like) {
    choice_copy(job, job->like, c);
    choice_apply(job, c);
    return LAC_OK;
  }
  int32_t zero_row = lac_scaling_equilibrate(s, job->dtype, job->values, c->row_scale, c->col_scale);
  if (zero_row >= 0) {
    lac_scaling_zero_text(s, zero_row, fault->text, sizeof fault->text);
    return LAC_ERR_SINGULAR;
  }
  choice_apply(job, c);
  if (a->plain) {
    double weakest = lac_scaling_measure(s, job->dtype, c->scaled, NULL).weakest;
    c->is_weak = weakest < CHOICE_STRONG;
    if (weakest >= CHOICE_WEAK) return choice_take(c, a->plain), LAC_OK;
  }
  return choice_recall(job, a, c) ? LAC_OK : lac_lu_choose_matching(job, c, fault);
}

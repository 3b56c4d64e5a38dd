// SPDX-License-Identifier: Apache-2.0
/// @file column_lu.c
/// LU column by column where its columns are short, the way of KLU (Davis and Palamadai Natarajan 2010).
///
///     P R A C Q = L U        Q from the outline of A: the fill is that of B + B^T while pivots are diagonal in B
///
///     [ A_00        ]        where the blocks of the block triangular form pay, A_bb = L_b U_b alone, and
///     [ A_10   A_11 ]        A_bb x_b = b_b - sum_{c < b} A_bc x_c: what stands below them fills nothing in
///
/// The elimination is that of pivoting_lu.c, but pivots leave the diagonal only where it is a thousand times smaller
/// than others, or as strictly as the user asks: every one that does so fills in what was not foreseen. Where numbers
/// grow by that, a partner is asked for determinants and inverses; where they grow much, and from then on, the
/// tolerance is the one that was asked for.

#include <math.h>
#include <string.h>

#include "solvers/direct/order/block_form.h"
#include "solvers/direct/order/outline.h"
#include "solvers/direct/pivoting/pivoting_lu_replay.h"

// Blocks that pay are eliminated one after another, in their order of substitution; steps inside stay as they are. The
// next place of a block is at hand while columns are of one.
static lac_status column_take_blocks(lac_context *ctx, const lac_block_form *form, pivoting_analysis *a) {
  lac_status status = LAC_OK;
  int32_t *next = NULL, *order = NULL, last = 0, place = 0;

  a->blocks = form->blocks;
  LAC_ROOM(a->first, a->blocks + 1);
  LAC_ROOM(a->row_block, a->n);
  LAC_ROOM(a->col_block, a->n);
  LAC_ROOM(next, a->blocks);
  LAC_ROOM(order, a->n);
  memcpy(a->first, form->first, (size_t)(a->blocks + 1) * sizeof *a->first);
  memcpy(next, form->first, (size_t)a->blocks * sizeof *next);
  memcpy(a->col_block, form->block, (size_t)a->n * sizeof *a->col_block);
  for (int32_t k = 0; k < a->n; k++) a->row_block[form->rows[k]] = form->block[form->cols[k]];
  for (int32_t k = 0; k < a->n; k++, place++) {
    int32_t block = form->block[a->order[k]];
    if (block != last) {
      next[last] = place;
      last = block, place = next[last];
    }
    order[place] = a->order[k];
  }
  lac_free(a->order);
  a->order = order, order = NULL;
done:
  lac_free(next);
  lac_free(order);
  return status;
}

static lac_status column_analyse(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, void **part,
                                 int64_t *bytes) {
  lac_status status = LAC_OK;
  const lac_outline *outline = NULL;
  pivoting_analysis *a = NULL;

  LAC_TRY(lac_outline_get(ctx, structure, ordering, &outline));
  if (!outline) return lac_direct_pivoting_lu.analyse(ctx, structure, ordering, part, bytes);
  LAC_ALLOC(a, 1);
  pthread_mutex_init(&a->lock, NULL);
  a->n = structure->n;
  a->ordering = outline->ordering;
  a->nnz = 2 * outline->cost.nnz - a->n;
  a->flops = outline->cost.flops;
  LAC_ROOM(a->order, a->n);
  memcpy(a->order, outline->order, (size_t)a->n * sizeof *a->order);
  if (outline->row_of) {
    LAC_ROOM(a->row_of, a->n);
    memcpy(a->row_of, outline->row_of, (size_t)a->n * sizeof *a->row_of);
  }
  a->below = outline->below;
  if (outline->form) LAC_TRY(column_take_blocks(ctx, outline->form, a));
  *bytes = (int64_t)sizeof *a + lac_outline_bytes(outline) + 5 * a->n * (int64_t)sizeof *a->order;
  *part = a, a = NULL;
done:
  pivoting_forget(a);
  return status;
}

// While pivots stay where they are foreseen.
static void column_foresee(const void *part, lac_dtype dtype, lac_finding *finding) {
  const pivoting_analysis *a = part;
  *finding = (lac_finding){.ordering = a->ordering, .nnz = a->nnz > 0 ? a->nnz + a->below : -1, .is_guess = true};
  finding->bytes = pivoting_bytes(dtype, a->n, a->nnz + a->below);
  finding->flops = 2 * a->flops * (lac_dtype_is_complex(dtype) ? 4 : 1);
}

// The shape that is kept, held; or NULL.
static pivoting_shape *column_shape(pivoting_analysis *a) {
  pthread_mutex_lock(&a->lock);
  pivoting_shape *shape = a->shape ? lac_object_retain(a->shape) : NULL;
  pthread_mutex_unlock(&a->lock);
  return shape;
}

static void column_keep(pivoting_analysis *a, pivoting_shape *shape) {
  pthread_mutex_lock(&a->lock);
  pivoting_shape *before = a->shape;
  a->shape = lac_object_retain(shape);
  pthread_mutex_unlock(&a->lock);
  lac_object_release(before);
}

// A search made `f`, where `kept` was known. A shape is the same for all values that choose its pivots; it makes way
// for that of other pivots unless it has a replay.
static void column_learn(const lac_direct_job *job, pivoting_analysis *a, pivoting_shape *kept,
                         const pivoting_numeric *f) {
  if (job->near || f->growth > PIVOTING_GROWTH) return;
  if (kept && memcmp(f->shape->pivots, kept->pivots, (size_t)a->n * sizeof *kept->pivots) == 0) {
    atomic_store(&kept->is_usual, true);
    pivoting_replay_learn(job, f, kept);
  } else if (!kept || !atomic_load(&kept->replay)) {
    column_keep(a, f->shape);
  }
}

// The pivots of earlier values where these would choose them too; else a search.
static lac_status column_choose(const lac_direct_job *job, pivoting_analysis *a, void **numeric, lac_fault *fault) {
  pivoting_shape *kept = column_shape(a);
  lac_status status = kept ? pivoting_factor_chosen(job, kept, numeric, fault) : LAC_ERR_CONVERGENCE;
  if (status != LAC_OK && !lac_status_is_final(status)) {
    status = pivoting_factor_by(job, pivoting_readiness(job->options), numeric, fault);
    if (status == LAC_OK) column_learn(job, a, kept, *numeric);
  }
  lac_object_release(kept);
  return status;
}

// A factor in whose columns numbers did not grow, or none.
static lac_status column_try(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  pivoting_analysis *a = (pivoting_analysis *)job->part;  // what it learns is for all values to come
  if (atomic_load(&a->is_weak)) return LAC_ERR_CONVERGENCE;
  lac_status status = column_choose(job, a, numeric, fault);
  pivoting_numeric *f = *numeric;
  if (status != LAC_OK) return status;
  f->is_rough = f->growth > PIVOTING_ROUGH;
  if (f->growth <= PIVOTING_GROWTH) return LAC_OK;
  pivoting_destroy(f);
  *numeric = NULL;
  if (!job->near) atomic_store(&a->is_weak, true);  // others of a batch may be on their way
  return LAC_ERR_CONVERGENCE;
}

static lac_status column_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  if (job->like) return pivoting_factor_again(job, numeric, fault);
  lac_status status = column_try(job, numeric, fault);
  if (status == LAC_OK || lac_status_is_final(status)) return status;
  return lac_direct_pivoting_lu.factor(job, numeric, fault);
}

const lac_direct_table lac_direct_column_lu = {
    .name = "pivoting_lu",
    .is_stable = pivoting_is_stable,
    .analyse = column_analyse,
    .forget = pivoting_forget,
    .foresee = column_foresee,
    .factor = column_factor,
    .solve = pivoting_solve,
    .logdet = pivoting_logdet,
    .selected_inverse = pivoting_selected_inverse,
    .report = pivoting_report,
    .destroy = pivoting_destroy,
};

// SPDX-License-Identifier: Apache-2.0
/// @file block_lu.c
/// LU of the diagonal blocks alone, where the block triangular form has several (the way of KLU: Davis and Palamadai
/// Natarajan 2010).
///
///     A(rows, cols) = [ A_00        ]      A_bb x_b = b_b - sum_{c < b} A_bc x_c,      b = 0, 1, ...
///                     [ A_10   A_11 ]      A_bb^T x_b = b_b - sum_{c > b} A_cb^T x_c,  b = ..., 1, 0
///
///     det A = +-prod_b det A_bb,   (A^-1)_ji = (A_bb^-1)_ji where a_ij stands in a diagonal block, else 0
///
/// What stands off the blocks is never changed: it fills nothing in. Circuits and chemical plants have many blocks of
/// one row. Blocks whose factors fill in are factored inside supernodes, others column by column.

#include "solvers/direct/method/method.h"

#include <stdio.h>
#include <string.h>

#include "solvers/direct/method/determinant.h"
#include "solvers/direct/order/block_form.h"
#include "solvers/direct/order/outline.h"

// From so many rows on supernodes pay, and from so many on it matters how short columns are.
enum { BLOCK_LARGE = 64, BLOCK_THIN = 256 };

// A block of more than one row.
typedef struct block_piece {
  lac_structure *s;  // held
  int64_t *slots;    // of A
  int64_t before;    // entries of pieces before
  const lac_direct_table *table;
  void *part;
} block_piece;

typedef struct block_part {
  lac_structure *s;            // held
  const lac_block_form *form;  // kept by s
  int32_t *row_place, *col_place;
  int64_t *single;    // of each block: the slot of its number; -1: it has more than one row
  int32_t *piece_of;  // of each block; -1: it has one row
  block_piece *pieces;
  int32_t piece_count, largest;
  int64_t inner;  // entries of all pieces
  bool is_odd;    // the permutation from rows to cols
} block_part;

typedef struct block_numeric {
  lac_dtype dtype;
  const block_part *part;
  const void *values;  // of A
  void *inner;         // of the pieces, one after another
  void **numerics;
} block_numeric;

#define KERNEL_FILE "solvers/direct/fronts/block_lu_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef void block_move_kernel(int64_t, const int64_t *, const void *, void *);
typedef int32_t block_zero_kernel(const block_part *, const void *);
typedef void block_singles_kernel(const block_part *, const void *, lac_determinant *);
typedef void block_invert_kernel(const block_part *, const void *, void *);
typedef lac_status block_solve_kernel(const block_part *, const block_numeric *, lac_form, int, int, const void *,
                                      void *, void *, lac_fault *);
static block_move_kernel *const block_gather_kernels[] = TABLE(block_gather);
static block_move_kernel *const block_scatter_kernels[] = TABLE(block_scatter);
static block_zero_kernel *const block_zero_kernels[] = TABLE(block_zero);
static block_singles_kernel *const block_singles_kernels[] = TABLE(block_singles);
static block_invert_kernel *const block_invert_kernels[] = TABLE(block_invert);
static block_solve_kernel *const block_solve_kernels[] = TABLE(block_solve);

// -- analysis --------------------------------------------------------------------------------------------------------

static void block_forget(void *part) {
  block_part *p = part;
  if (!p) return;
  for (int32_t i = 0; p->pieces && i < p->piece_count; i++) {
    if (p->pieces[i].table) p->pieces[i].table->forget(p->pieces[i].part);
    lac_object_release(p->pieces[i].s);
    lac_free(p->pieces[i].slots);
  }
  lac_object_release(p->s);
  lac_free(p->row_place);
  lac_free(p->col_place);
  lac_free(p->single);
  lac_free(p->piece_of);
  lac_free(p->pieces);
  lac_free(p);
}

// Which blocks have one row, and how many have more.
static void block_sort_out(block_part *p) {
  const lac_block_form *form = p->form;
  for (int32_t k = 0; k < form->n; k++) p->row_place[form->rows[k]] = p->col_place[form->cols[k]] = k;
  for (int32_t b = 0; b < form->blocks; b++) {
    int32_t size = form->first[b + 1] - form->first[b];
    p->single[b] = p->piece_of[b] = -1;
    if (size > p->largest) p->largest = size;
    if (size > 1) {
      p->piece_of[b] = p->piece_count++;
      continue;
    }
    int64_t slot = p->s->offsets[form->rows[form->first[b]]];
    while (p->s->columns[slot] != form->cols[form->first[b]]) slot++;
    p->single[b] = slot;
  }
}

// Of small blocks the safest, for what it fills in does not matter; of large ones what their columns ask for.
static lac_status block_method(lac_context *ctx, const lac_structure *s, lac_ordering ordering,
                               const lac_direct_table **table) {
  lac_status status = LAC_OK;
  const lac_outline *outline = NULL;

  *table = s->n < BLOCK_LARGE ? &lac_direct_pivoting_lu : &lac_direct_lu;
  if (s->n < BLOCK_THIN) goto done;
  LAC_TRY(lac_outline_get(ctx, s, ordering, &outline));
  if (lac_outline_is_thin(outline, LAC_OUTLINE_THIN)) *table = &lac_direct_column_lu;
done:
  return status;
}

static lac_status block_cut(lac_context *ctx, block_part *p, lac_ordering ordering, int64_t *bytes) {
  lac_status status = LAC_OK;
  const lac_block_form *form = p->form;

  for (int32_t b = 0; b < form->blocks; b++) {
    int32_t first = form->first[b], size = form->first[b + 1] - first;
    block_piece *piece = p->piece_of[b] < 0 ? NULL : &p->pieces[p->piece_of[b]];
    int64_t own = 0;
    if (!piece) continue;
    LAC_TRY(lac_structure_part(ctx, p->s, size, form->rows + first, p->col_place, first, &piece->s, &piece->slots));
    piece->before = p->inner;
    p->inner += piece->s->nnz;
    LAC_TRY(block_method(ctx, piece->s, ordering, &piece->table));
    LAC_TRY(piece->table->analyse(ctx, piece->s, ordering, &piece->part, &own));
    *bytes += own + 40 * piece->s->nnz;
  }
done:
  return status;
}

static lac_status block_analyse(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, void **part,
                                int64_t *bytes) {
  lac_status status = LAC_OK;
  block_part *p = NULL;

  LAC_ALLOC(p, 1);
  p->s = lac_object_retain(structure);
  LAC_TRY(lac_block_form_get(ctx, structure, &p->form));
  LAC_TRY(lac_block_form_parity(ctx, p->form, &p->is_odd));
  LAC_ALLOC(p->row_place, structure->n);
  LAC_ALLOC(p->col_place, structure->n);
  LAC_ALLOC(p->single, p->form->blocks);
  LAC_ALLOC(p->piece_of, p->form->blocks);
  block_sort_out(p);
  LAC_ALLOC(p->pieces, p->piece_count);
  *bytes = (int64_t)sizeof *p + 20 * (int64_t)structure->n;
  LAC_TRY(block_cut(ctx, p, ordering, bytes));
  *part = p, p = NULL;
done:
  block_forget(p);
  return status;
}

// -- factor ----------------------------------------------------------------------------------------------------------

static void block_destroy(void *numeric) {
  block_numeric *f = numeric;
  if (!f) return;
  for (int32_t i = 0; f->numerics && i < f->part->piece_count; i++) f->part->pieces[i].table->destroy(f->numerics[i]);
  lac_free(f->numerics);
  lac_free(f->inner);
  lac_free(f);
}

static block_numeric *block_create(const lac_direct_job *job) {
  const block_part *p = job->part;
  block_numeric *f = lac_calloc(1, sizeof *f);
  if (!f) return NULL;
  *f = (block_numeric){.dtype = job->dtype, .part = p, .values = job->values};
  f->numerics = lac_calloc((size_t)p->piece_count, sizeof *f->numerics);
  f->inner = lac_alloc((size_t)p->inner * lac_dtype_size(job->dtype));
  if (f->numerics && f->inner) return f;
  block_destroy(f);
  return NULL;
}

// What is singular, or does not suit, is left to LU of the whole matrix: it has the right names for rows and columns.
static lac_status block_explain(const block_part *p, int32_t rows, lac_status status, lac_fault *fault) {
  lac_fault own = *fault;
  if (lac_status_is_final(status)) return status;
  snprintf(fault->text, sizeof fault->text, "of %lld blocks, that of %lld rows was refused (%.100s)",
           (long long)p->form->blocks, (long long)rows, own.text);
  return LAC_ERR_CONVERGENCE;
}

static lac_status block_factor_piece(const lac_direct_job *job, int32_t i, block_numeric *f, lac_fault *fault) {
  const block_piece *piece = &f->part->pieces[i];
  const block_numeric *like = job->like, *near = job->near;
  size_t size = lac_dtype_size(job->dtype);
  void *values = (char *)f->inner + (size_t)piece->before * size;
  lac_direct_job own = {.structure = piece->s,
                        .part = piece->part,
                        .options = job->options,
                        .dtype = job->dtype,
                        .values = values,
                        .like = like ? like->numerics[i] : NULL,
                        .near = near ? near->numerics[i] : NULL,
                        .threads = job->threads,
                        .stop = job->stop};
  block_gather_kernels[job->dtype](piece->s->nnz, piece->slots, job->values, values);
  return piece->table->factor(&own, &f->numerics[i], fault);
}

static lac_status block_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  const block_part *p = job->part;
  lac_status status = LAC_OK;
  block_numeric *f = block_create(job);
  int32_t zero = block_zero_kernels[job->dtype](p, job->values);
  double since = 0;

  if (!f) {
    snprintf(fault->text, sizeof fault->text, "out of memory: %lld blocks of LU", (long long)p->form->blocks);
    return LAC_ERR_MEMORY;
  }
  if (zero >= 0) {
    snprintf(fault->text, sizeof fault->text, "the matrix is singular: pivot 0 in column %lld",
             (long long)p->form->cols[p->form->first[zero]]);
    status = LAC_ERR_SINGULAR;
  }
  for (int32_t i = 0; i < p->piece_count && status == LAC_OK; i++) {
    bool is_over = lac_stop_is_due(job->stop, (double)LAC_STOP_WORK / BLOCK_LARGE, &since);
    status = is_over ? lac_fault_interrupted(fault) : block_factor_piece(job, i, f, fault);
    if (status != LAC_OK) status = block_explain(p, p->pieces[i].s->n, status, fault);
  }
  if (status == LAC_OK) *numeric = f, f = NULL;
  block_destroy(f);
  return status;
}

// -- what it is for --------------------------------------------------------------------------------------------------

static bool block_is_stable(const lac_solver_options *options) {
  return lac_direct_lu.is_stable(options) && lac_direct_pivoting_lu.is_stable(options);
}

static lac_status block_solve(const void *part, const void *numeric, lac_form form, int width, int threads,
                              const void *b, void *x, void *work, lac_fault *fault) {
  const block_part *p = part;
  const block_numeric *f = numeric;
  size_t bytes = 3 * (size_t)p->largest * (size_t)width * lac_dtype_size(f->dtype);
  void *room = lac_alloc(bytes);
  (void)work;
  if (!room) {
    snprintf(fault->text, sizeof fault->text, "out of memory: %zu bytes to solve with blocks", bytes);
    return LAC_ERR_MEMORY;
  }
  lac_status status = block_solve_kernels[f->dtype](p, f, form, width, threads, b, x, room, fault);
  lac_free(room);
  return status;
}

static lac_status block_logdet(const void *part, const void *numeric, lac_polar *out) {
  const block_part *p = part;
  const block_numeric *f = numeric;
  lac_determinant d = lac_determinant_one();
  lac_status status = LAC_OK;
  double logabs = 0;

  if (p->is_odd) lac_determinant_negate(&d);
  block_singles_kernels[f->dtype](p, f->values, &d);
  for (int32_t i = 0; i < p->piece_count && status == LAC_OK; i++) {
    lac_polar own = {0};
    status = p->pieces[i].table->logdet(p->pieces[i].part, f->numerics[i], &own);
    if (status != LAC_OK) break;
    logabs += own.logabs;
    lac_determinant_times(&d, own.sign_re, own.sign_im);
  }
  *out = lac_determinant_log(&d);
  out->logabs += logabs;
  return status;
}

static lac_status block_selected_inverse(const lac_structure *structure, const void *part, const void *numeric,
                                         int threads, lac_stop *stop, void *values, lac_fault *fault) {
  const block_part *p = part;
  const block_numeric *f = numeric;
  lac_status status = LAC_OK;
  double since = 0;

  (void)structure;
  block_invert_kernels[f->dtype](p, f->values, values);
  for (int32_t i = 0; i < p->piece_count && status == LAC_OK; i++) {
    const block_piece *piece = &p->pieces[i];
    if (lac_stop_is_due(stop, (double)LAC_STOP_WORK / BLOCK_LARGE, &since)) return lac_fault_interrupted(fault);
    size_t bytes = (size_t)piece->s->nnz * lac_dtype_size(f->dtype);
    void *own = lac_alloc(bytes);
    if (!own) {
      snprintf(fault->text, sizeof fault->text, "out of memory: %zu bytes of an inverse", bytes);
      return LAC_ERR_MEMORY;
    }
    status = piece->table->selected_inverse(piece->s, piece->part, f->numerics[i], threads, stop, own, fault);
    if (status == LAC_OK) block_scatter_kernels[f->dtype](piece->s->nnz, piece->slots, own, values);
    lac_free(own);
  }
  return status;
}

// Of the parts together, and of what stands off the blocks.
static void block_report(const void *part, const void *numeric, lac_finding *finding) {
  const block_part *p = part;
  const block_numeric *f = numeric;
  *finding = (lac_finding){.nnz = p->s->nnz - p->inner, .smallest = 1, .where = -1, .weakest = 1};
  finding->bytes =
      (int64_t)sizeof *f + p->piece_count * (int64_t)sizeof(void *) + p->inner * (int64_t)lac_dtype_size(f->dtype);
  for (int32_t b = 0; b < p->form->blocks; b++) {
    int32_t i = p->piece_of[b];
    lac_finding own = {0};
    if (i < 0) continue;
    p->pieces[i].table->report(p->pieces[i].part, f->numerics[i], &own);
    if (own.nnz > finding->nnz) finding->ordering = own.ordering;
    finding->nnz += own.nnz;
    finding->bytes += own.bytes;
    finding->flops += own.flops;
    finding->perturbed += own.perturbed;
    finding->growth = fmax(finding->growth, own.growth);
    finding->is_rough |= own.is_rough;
    finding->weakest = fmin(finding->weakest, lac_finding_weakest(&own));
    finding->work_bytes = own.work_bytes > finding->work_bytes ? own.work_bytes : finding->work_bytes;
    if (own.smallest >= finding->smallest) continue;
    finding->smallest = own.smallest;
    finding->where = p->form->cols[p->form->first[b] + own.where];
  }
}

const lac_direct_table lac_direct_block_lu = {
    .name = "lu",
    .is_stable = block_is_stable,
    .analyse = block_analyse,
    .forget = block_forget,
    .factor = block_factor,
    .solve = block_solve,
    .logdet = block_logdet,
    .selected_inverse = block_selected_inverse,
    .report = block_report,
    .destroy = block_destroy,
};

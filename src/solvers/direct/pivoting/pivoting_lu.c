// SPDX-License-Identifier: Apache-2.0
/// @file pivoting_lu.c
/// LU with partial pivoting, column by column (Gilbert and Peierls 1988).
///
///     P R A C Q = L U        R, C scale by powers of two (exactly); Q keeps L and U sparse; P is chosen on the way
///     column k   L x = (R A C Q)(:, k): what is above the diagonal goes to U, what is below over the pivot to L
///     pivot      the largest of x below the diagonal; or A's diagonal where it is `pivot_tolerance` of that or more
///     solve      A^-1 b = C Q U^-1 L^-1 P R b,   A^-T b = R P^T L^-T U^-T Q^T C b
///
/// Scaled so, "large" means the same in every row, and no product leaves the range of the dtype.

#include "solvers/direct/pivoting/pivoting_lu.h"

#include <stdio.h>

#include "solvers/direct/order/ordering.h"
#include "solvers/direct/pivoting/pivoting_lu_replay.h"

// A column that took the row of another one leaves it its own: else that column, and one after another those that it
// takes from, would have the largest number for a pivot, wherever that fills in (Davis and Palamadai Natarajan 2010).
static void pivoting_exchange(int32_t column, int32_t taken, pivoting_work *w) {
  int32_t left = w->row_of[column];
  if (left == taken) return;
  int32_t other = w->col_of[taken];
  w->row_of[other] = left, w->col_of[left] = other;
  w->row_of[column] = taken, w->col_of[taken] = column;
}

#define KERNEL_FILE "solvers/direct/pivoting/pivoting_lu_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef int32_t pivoting_scale_kernel(const lac_structure *, const pivoting_analysis *, const void *, void *, void *,
                                      double *);
typedef lac_status pivoting_columns_kernel(const lac_direct_job *, double, int32_t *, pivoting_work *,
                                           pivoting_numeric *);
typedef void pivoting_solve_kernel(const pivoting_analysis *, const pivoting_numeric *, lac_form, int, const void *,
                                   void *, void *);
static pivoting_scale_kernel *const pivoting_scale_kernels[] = TABLE(pivoting_scale);
static pivoting_columns_kernel *const pivoting_columns_kernels[] = TABLE(pivoting_columns);
static pivoting_solve_kernel *const pivoting_solve_kernels[] = TABLE(pivoting_solve);

// -- analysis --------------------------------------------------------------------------------------------------------

void pivoting_forget(void *analysis) {
  pivoting_analysis *a = analysis;
  if (!a) return;
  lac_free(a->order);
  lac_free(a->row_of);
  lac_free(a->first);
  lac_free(a->row_block);
  lac_free(a->col_block);
  lac_object_release(a->shape);
  pthread_mutex_destroy(&a->lock);
  lac_free(a);
}

// Pivots will stay on the diagonal, mostly, where it is nearly full and the structure nearly symmetric: then the fill
// is that of A + A^T. Otherwise they may come from anywhere, and the fill of A^T A is the bound to keep low.
static bool pivoting_is_nearly_symmetric(const lac_structure *s) {
  return s->diagonals >= 0.9 * s->n && (double)lac_structure_matched(s) >= 0.5 * (double)(s->nnz - s->diagonals);
}

static lac_status pivoting_analyse(lac_context *ctx, const lac_structure *structure, lac_ordering ordering,
                                   void **analysis, int64_t *bytes) {
  lac_status status = LAC_OK;
  pivoting_analysis *a = NULL;

  LAC_ALLOC(a, 1);
  pthread_mutex_init(&a->lock, NULL);
  a->n = structure->n;
  LAC_ALLOC(a->order, a->n);
  if (pivoting_is_nearly_symmetric(structure)) {
    LAC_TRY(lac_order_symmetric(ctx, structure, ordering, a->order));
  } else {
    LAC_TRY(lac_order_columns(ctx, structure, ordering, a->order));
  }
  *bytes = (int64_t)sizeof *a + a->n * (int64_t)sizeof *a->order;
  *analysis = a, a = NULL;
done:
  pivoting_forget(a);
  return status;
}

// -- factor ----------------------------------------------------------------------------------------------------------

static lac_status pivoting_fault(lac_fault *fault, lac_status status, const char *format, int64_t number) {
  snprintf(fault->text, sizeof fault->text, format, (long long)number);
  return status;
}

// An empty row or column is named before anything else: elimination would only find that some column is left over.
static lac_status pivoting_check_structure(const lac_structure *s, lac_fault *fault) {
  for (int32_t i = 0; i < s->n; i++) {
    if (s->offsets[i] < s->offsets[i + 1] && s->t_offsets[i] < s->t_offsets[i + 1]) continue;
    lac_structure_singular_text(s, i, fault->text, sizeof fault->text);
    return LAC_ERR_SINGULAR;
  }
  return LAC_OK;
}

static lac_status pivoting_explain(lac_status status, const pivoting_work *w, int32_t column, lac_fault *fault) {
  if (status == LAC_ERR_MEMORY) return pivoting_fault(fault, status, "out of memory in column %lld of LU", column);
  if (status == LAC_ERR_CONVERGENCE) {
    return pivoting_fault(fault, status, "what stands below the blocks in column %lld overflows", column);
  }
  if (status == LAC_ERR_NONFINITE) return pivoting_fault(fault, status, "LU overflows in column %lld", column);
  if (w->rest_count > 0) return pivoting_fault(fault, status, "the matrix is singular: pivot 0 in column %lld", column);
  return pivoting_fault(fault, status, "the matrix is structurally singular: no pivot is left for column %lld", column);
}

int32_t pivoting_scale(const lac_direct_job *job, pivoting_numeric *f) {
  return pivoting_scale_kernels[f->dtype](job->structure, job->part, job->values, f->row_scale, f->col_scale,
                                          &f->apart);
}

static void pivoting_foresee_all(const pivoting_analysis *a, pivoting_work *w) {
  for (int32_t column = 0; column < a->n; column++) {
    int32_t row = pivoting_foreseen(a, column);
    w->row_of[column] = row, w->col_of[row] = column;
  }
}

static lac_status pivoting_columns(const lac_direct_job *job, double tolerance, pivoting_work *w, pivoting_numeric *f,
                                   lac_fault *fault) {
  const pivoting_analysis *a = job->part;
  w->row_block = a->row_block;
  f->shape->tolerance = tolerance;
  pivoting_foresee_all(a, w);
  for (int32_t k = 0; k < f->n;) {
    lac_status status = pivoting_columns_kernels[f->dtype](job, tolerance, &k, w, f);
    if (status != LAC_OK) return pivoting_explain(status, w, a->order[k], fault);
    if (k < f->n && lac_stop_is_set(job->stop)) return lac_fault_interrupted(fault);
  }
  return LAC_OK;
}

// Rows of the matrix become steps.
static void pivoting_renumber(const pivoting_shape *shape, pivoting_index *index) {
  for (int64_t p = 0; p < index->count; p++) index->rows[p] = shape->place[index->rows[p]];
}

static lac_status pivoting_eliminate(const lac_direct_job *job, double tolerance, pivoting_work *w, pivoting_numeric *f,
                                     lac_fault *fault) {
  int32_t zero_row = pivoting_scale(job, f);
  if (zero_row >= 0) {
    return pivoting_fault(fault, LAC_ERR_SINGULAR, "the matrix is singular: row %lld has only zeros, pivot 0",
                          zero_row);
  }
  lac_status status = pivoting_columns(job, tolerance, w, f, fault);
  if (status != LAC_OK) return status;
  pivoting_name(job->part, f);
  pivoting_renumber(f->shape, &f->shape->l);
  pivoting_renumber(f->shape, &f->shape->below);
  return LAC_OK;
}

// Entries of a triangle, with some to spare where they are foreseen.
static int64_t pivoting_guess(const lac_direct_job *job) {
  const pivoting_analysis *a = job->part;
  return a->nnz > 0 ? a->nnz / 2 + a->nnz / 10 + a->n : 2 * job->structure->nnz;
}

lac_status pivoting_factor_by(const lac_direct_job *job, double tolerance, void **numeric, lac_fault *fault) {
  const lac_structure *structure = job->structure;
  lac_status status = pivoting_check_structure(structure, fault);
  if (status != LAC_OK) return status;

  pivoting_work w = {0};
  pivoting_numeric *f = pivoting_create(job->part, job->dtype, pivoting_guess(job), pivoting_guess(job));
  if (!f || !pivoting_work_init(&w, (size_t)structure->n, job->dtype)) {
    status = pivoting_fault(fault, LAC_ERR_MEMORY, "out of memory: LU of %lld rows", structure->n);
  } else {
    status = pivoting_eliminate(job, tolerance, &w, f, fault);
  }
  if (status == LAC_OK) *numeric = f, f = NULL;
  pivoting_destroy(f);
  pivoting_work_clear(&w);
  return status;
}

// Pivots that may be a thousand times smaller than what they eliminate are hardly chosen at all.
bool pivoting_is_stable(const lac_solver_options *options) { return options->pivot_tolerance >= 1e-3; }

// Numbers that grow because of small pivots swallow the others, and what is left may cancel though the matrix is
// regular: that it is singular is for pivots to say that were chosen.
static lac_status pivoting_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  if (job->like) return pivoting_factor_again(job, numeric, fault);
  lac_status status = pivoting_factor_by(job, job->options->pivot_tolerance, numeric, fault);
  if (pivoting_is_stable(job->options) || (status != LAC_ERR_SINGULAR && status != LAC_ERR_NONFINITE)) return status;
  return pivoting_factor_by(job, lac_solver_options_defaults().pivot_tolerance, numeric, fault);
}

lac_status pivoting_solve(const void *analysis, const void *numeric, lac_form form, int width, int threads,
                          const void *b, void *x, void *work, lac_fault *fault) {
  (void)threads, (void)fault;
  const pivoting_numeric *f = numeric;
  if (f->replay && form == LAC_PLAIN && width == 1) {
    pivoting_replay_solve(f, b, x, work);
  } else {
    pivoting_solve_kernels[f->dtype](analysis, f, form, width, b, x, work);
  }
  return LAC_OK;
}

void pivoting_report(const void *analysis, const void *numeric, lac_finding *finding) {
  const pivoting_numeric *f = numeric;
  finding->ordering = ((const pivoting_analysis *)analysis)->ordering;
  const pivoting_shape *shape = f->shape;
  finding->nnz = shape->l.count + shape->u.count + shape->below.count + f->n;
  finding->bytes = pivoting_bytes_of(f);
  finding->flops = 2 * shape->flops * (lac_dtype_is_complex(f->dtype) ? 4 : 1);
  finding->growth = f->growth;
  finding->weakest = f->weakest;
  finding->is_rough = f->is_rough;
  finding->apart = f->apart;
  finding->smallest = f->smallest;
  finding->where = f->where;
}

const lac_direct_table lac_direct_pivoting_lu = {
    .name = "pivoting_lu",
    .is_stable = pivoting_is_stable,
    .analyse = pivoting_analyse,
    .forget = pivoting_forget,
    .factor = pivoting_factor,
    .solve = pivoting_solve,
    .logdet = pivoting_logdet,
    .selected_inverse = pivoting_selected_inverse,
    .report = pivoting_report,
    .destroy = pivoting_destroy,
};

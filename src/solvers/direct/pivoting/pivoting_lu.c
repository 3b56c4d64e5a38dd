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

#define KERNEL_FILE "solvers/direct/pivoting/pivoting_lu_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef int32_t pivoting_scale_kernel(const lac_structure *, const void *, void *, void *);
typedef lac_status pivoting_column_kernel(const lac_structure *, const void *, int32_t, int32_t, int32_t, double,
                                          pivoting_work *, pivoting_numeric *);
typedef void pivoting_solve_kernel(const int32_t *, const pivoting_numeric *, lac_side, int, const void *, void *,
                                   void *);
static pivoting_scale_kernel *const pivoting_scale_kernels[] = TABLE(equilibrate);
static pivoting_column_kernel *const pivoting_column_kernels[] = TABLE(pivoting_column);
static pivoting_solve_kernel *const pivoting_solve_kernels[] = TABLE(pivoting_solve);

// -- analysis --------------------------------------------------------------------------------------------------------

void pivoting_forget(void *analysis) {
  pivoting_analysis *a = analysis;
  if (!a) return;
  lac_free(a->order);
  lac_free(a->row_of);
  lac_free(a);
}

// Pivots will stay on the diagonal, mostly, where it is nearly full and the structure nearly symmetric: then the fill
// is that of A + A^T. Otherwise they may come from anywhere, and the fill of A^T A is the bound to keep low.
static bool pivoting_is_nearly_symmetric(const lac_structure *s) {
  return s->diagonals >= 0.9 * s->n && s->matched >= 0.5 * (double)(s->nnz - s->diagonals);
}

static lac_status pivoting_analyse(lac_context *ctx, const lac_structure *structure, lac_ordering ordering,
                                   void **analysis, int64_t *bytes) {
  lac_status status = LAC_OK;
  pivoting_analysis *a = NULL;

  LAC_ALLOC(a, 1);
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

// -- memory ----------------------------------------------------------------------------------------------------------

bool pivoting_reserve(pivoting_triangle *triangle, int64_t count, size_t number_size) {
  if (count <= triangle->capacity - triangle->count) return true;
  int64_t capacity = triangle->count + count + triangle->capacity / 2;
  int32_t *rows = lac_realloc(triangle->rows, (size_t)capacity * sizeof *rows);
  if (rows) triangle->rows = rows;
  void *values = lac_realloc(triangle->values, (size_t)capacity * number_size);
  if (values) triangle->values = values;
  if (rows && values) triangle->capacity = capacity;
  return rows && values;
}

static bool pivoting_triangle_init(pivoting_triangle *triangle, int32_t n, int64_t capacity, size_t number_size) {
  triangle->capacity = capacity;
  triangle->offsets = lac_calloc((size_t)n + 1, sizeof *triangle->offsets);
  triangle->rows = lac_alloc((size_t)capacity * sizeof *triangle->rows);
  triangle->values = lac_alloc((size_t)capacity * number_size);
  return triangle->offsets && triangle->rows && triangle->values;
}

static void pivoting_triangle_clear(pivoting_triangle *triangle) {
  lac_free(triangle->offsets);
  lac_free(triangle->rows);
  lac_free(triangle->values);
}

void pivoting_destroy(void *numeric) {
  pivoting_numeric *f = numeric;
  if (!f) return;
  pivoting_triangle_clear(&f->l);
  pivoting_triangle_clear(&f->u);
  lac_free(f->diagonal);
  lac_free(f->pivots);
  lac_free(f->row_scale);
  lac_free(f->col_scale);
  lac_free(f);
}

pivoting_numeric *pivoting_create(const lac_structure *s, lac_dtype dtype, int64_t l_count, int64_t u_count) {
  pivoting_numeric *f = lac_calloc(1, sizeof *f);
  size_t n = (size_t)s->n, size = lac_dtype_size(dtype);
  if (!f) return NULL;
  f->dtype = dtype;
  f->n = s->n;
  f->smallest = 1;
  f->diagonal = lac_alloc(n * size);
  f->pivots = lac_alloc(n * sizeof *f->pivots);
  f->row_scale = lac_alloc(n * size);
  f->col_scale = lac_alloc(n * size);
  bool has_l = pivoting_triangle_init(&f->l, s->n, l_count, size),
       has_u = pivoting_triangle_init(&f->u, s->n, u_count, size);
  if (has_l && has_u && f->diagonal && f->pivots && f->row_scale && f->col_scale) return f;
  pivoting_destroy(f);
  return NULL;
}

static void pivoting_work_clear(pivoting_work *w) {
  lac_free(w->x);
  lac_free(w->place);
  lac_free(w->mark);
  lac_free(w->path);
  lac_free(w->stack);
  lac_free(w->resume);
  lac_free(w->rest);
  lac_free(w->pruned);
}

static bool pivoting_work_init(pivoting_work *w, size_t n, lac_dtype dtype) {
  w->x = lac_calloc(n, lac_dtype_size(dtype));
  w->place = lac_alloc(n * sizeof *w->place);
  w->mark = lac_alloc(n * sizeof *w->mark);
  w->path = lac_alloc(n * sizeof *w->path);
  w->stack = lac_alloc(n * sizeof *w->stack);
  w->resume = lac_alloc(n * sizeof *w->resume);
  w->rest = lac_alloc(n * sizeof *w->rest);
  w->pruned = lac_alloc(n * sizeof *w->pruned);
  if (!w->x || !w->place || !w->mark || !w->path || !w->stack || !w->resume || !w->rest || !w->pruned) return false;
  memset(w->place, -1, n * sizeof *w->place);
  memset(w->mark, -1, n * sizeof *w->mark);
  return true;
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
  if (status == LAC_ERR_NONFINITE) return pivoting_fault(fault, status, "LU overflows in column %lld", column);
  if (w->rest_count > 0) return pivoting_fault(fault, status, "the matrix is singular: pivot 0 in column %lld", column);
  return pivoting_fault(fault, status, "the matrix is structurally singular: no pivot is left for column %lld", column);
}

static lac_status pivoting_eliminate(const lac_direct_job *job, double tolerance, pivoting_work *w, pivoting_numeric *f,
                                     lac_fault *fault) {
  const lac_structure *s = job->structure;
  const pivoting_analysis *a = job->part;
  double since = 0;
  int32_t zero_row = pivoting_scale_kernels[f->dtype](s, job->values, f->row_scale, f->col_scale);
  if (zero_row >= 0) {
    return pivoting_fault(fault, LAC_ERR_SINGULAR, "the matrix is singular: row %lld has only zeros, pivot 0",
                          zero_row);
  }
  for (int32_t k = 0; k < f->n; k++) {
    double before = f->flops;
    int32_t column = a->order[k], diagonal = a->row_of ? a->row_of[column] : column;
    lac_status status = pivoting_column_kernels[f->dtype](s, job->values, column, diagonal, k, tolerance, w, f);
    if (status != LAC_OK) return pivoting_explain(status, w, column, fault);
    if (lac_stop_is_due(job->stop, f->flops - before, &since)) return lac_fault_interrupted(fault);
  }
  for (int64_t p = 0; p < f->l.count; p++) f->l.rows[p] = w->place[f->l.rows[p]];
  return LAC_OK;
}

lac_status pivoting_factor_by(const lac_direct_job *job, double tolerance, void **numeric, lac_fault *fault) {
  const lac_structure *structure = job->structure;
  lac_status status = pivoting_check_structure(structure, fault);
  if (status != LAC_OK) return status;

  pivoting_work w = {0};
  pivoting_numeric *f = pivoting_create(structure, job->dtype, 2 * structure->nnz, 2 * structure->nnz);
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

// Numbers that grow beside small pivots swallow the others, and what is left may cancel though the matrix is regular: that
// it is singular is for pivots to say that were chosen.
static lac_status pivoting_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  if (job->like) return pivoting_factor_again(job, numeric, fault);
  lac_status status = pivoting_factor_by(job, job->options->pivot_tolerance, numeric, fault);
  if (pivoting_is_stable(job->options) || (status != LAC_ERR_SINGULAR && status != LAC_ERR_NONFINITE)) return status;
  return pivoting_factor_by(job, lac_solver_options_defaults().pivot_tolerance, numeric, fault);
}

lac_status pivoting_solve(const void *analysis, const void *numeric, lac_side side, int width, int threads,
                          const void *b, void *x, void *work, lac_fault *fault) {
  (void)threads, (void)fault;
  const pivoting_numeric *f = numeric;
  pivoting_solve_kernels[f->dtype](((const pivoting_analysis *)analysis)->order, f, side, width, b, x, work);
  return LAC_OK;
}

int64_t pivoting_bytes(lac_dtype dtype, int32_t n, int64_t entries) {
  size_t size = lac_dtype_size(dtype);
  return entries * (int64_t)(size + sizeof(int32_t)) + n * (int64_t)(3 * size + sizeof(int32_t) + 2 * sizeof(int64_t));
}

void pivoting_report(const void *analysis, const void *numeric, lac_finding *finding) {
  const pivoting_numeric *f = numeric;
  finding->ordering = ((const pivoting_analysis *)analysis)->ordering;
  finding->nnz = f->l.count + f->u.count + f->n;
  finding->bytes = pivoting_bytes(f->dtype, f->n, f->l.capacity + f->u.capacity);
  finding->flops = 2 * f->flops * (lac_dtype_is_complex(f->dtype) ? 4 : 1);
  finding->growth = f->growth;
  finding->is_rough = f->is_rough;
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

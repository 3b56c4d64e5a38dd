// SPDX-License-Identifier: Apache-2.0
/// @file triangular.c
/// Matrices that need no factorisation: rows in an order in which each has one unknown more than those before it.
///
///     A(rows, cols) = L                              place k: row rows[k], column cols[k], diagonal l_kk
///     A x = b         l_kk x_cols[k] = b_rows[k] - sum of the row's other entries times what is known
///     A^T x = b       the same by columns, from the last place to the first
///     (A^-1)_ji       where a_ij is stored: 1 / l_kk on the diagonal of L, else 0
///
/// A diagonal matrix is the simplest of them.

#include <stdio.h>

#include "core/numbers/search.h"
#include "solvers/direct/method/determinant.h"
#include "solvers/direct/order/block_form.h"

typedef struct triangular_part {
  lac_structure *s;  // held
  int32_t *rows, *cols;
  int64_t *diagonal;  // slots
  int32_t vacant;     // the first column that has no diagonal, or -1: then the others above are empty
  bool is_odd;        // the permutation from rows to cols
} triangular_part;

typedef struct triangular_numeric {
  lac_dtype dtype;
  const void *values;  // of A
} triangular_numeric;

#define KERNEL_FILE "solvers/direct/special/triangular_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef int32_t triangular_zero_kernel(const triangular_part *, const void *);
typedef void triangular_solve_kernel(const triangular_part *, const void *, lac_form, int, const void *, void *);
typedef void triangular_logdet_kernel(const triangular_part *, const void *, lac_determinant *);
typedef void triangular_inverse_kernel(const triangular_part *, const void *, void *);
static triangular_zero_kernel *const triangular_zero_kernels[] = TABLE(triangular_zero);
static triangular_solve_kernel *const triangular_solve_kernels[] = TABLE(triangular_solve);
static triangular_logdet_kernel *const triangular_logdet_kernels[] = TABLE(triangular_logdet);
static triangular_inverse_kernel *const triangular_inverse_kernels[] = TABLE(triangular_inverse);

static void triangular_forget(void *part) {
  triangular_part *t = part;
  if (!t) return;
  lac_object_release(t->s);
  lac_free(t->rows);
  lac_free(t->cols);
  lac_free(t->diagonal);
  lac_free(t);
}

// The slot of an entry that is there.
static int64_t triangular_slot(const lac_structure *s, int32_t row, int32_t col) {
  return lac_search_i32(s->columns, s->offsets[row], s->offsets[row + 1], col);
}

// A lower or upper triangle with a full diagonal as it comes; else as the block triangular form finds it.
static lac_status triangular_order(lac_context *ctx, triangular_part *t) {
  lac_status status = LAC_OK;
  const lac_structure *s = t->s;
  const lac_block_form *form = NULL;
  bool is_lower = s->upper == 0;

  t->vacant = -1;
  if (s->diagonals == s->n && (is_lower || s->lower == 0)) {
    for (int32_t k = 0; k < s->n; k++) t->rows[k] = t->cols[k] = is_lower ? k : s->n - 1 - k;
  } else {
    LAC_TRY(lac_block_form_get(ctx, s, &form));
    if (form->vacant >= 0) t->vacant = form->cols[form->vacant];
    for (int32_t k = 0; k < s->n; k++) t->rows[k] = form->rows[k], t->cols[k] = form->cols[k];
    LAC_TRY(lac_block_form_parity(ctx, form, &t->is_odd));
  }
  for (int32_t k = 0; t->vacant < 0 && k < s->n; k++) t->diagonal[k] = triangular_slot(s, t->rows[k], t->cols[k]);
done:
  return status;
}

static lac_status triangular_analyse(lac_context *ctx, const lac_structure *structure, lac_ordering ordering,
                                     void **part, int64_t *bytes) {
  lac_status status = LAC_OK;
  triangular_part *t = NULL;

  (void)ordering;
  LAC_ALLOC(t, 1);
  t->s = lac_object_retain(structure);
  LAC_ALLOC(t->rows, structure->n);
  LAC_ALLOC(t->cols, structure->n);
  LAC_ALLOC(t->diagonal, structure->n);
  LAC_TRY(triangular_order(ctx, t));
  *bytes = (int64_t)sizeof *t + 16 * (int64_t)structure->n;
  *part = t, t = NULL;
done:
  triangular_forget(t);
  return status;
}

static void triangular_foresee(const void *part, lac_dtype dtype, lac_finding *finding) {
  (void)dtype;
  finding->ordering = "natural";
  finding->nnz = ((const triangular_part *)part)->s->nnz;
  finding->bytes = (int64_t)sizeof(triangular_numeric);
}

static lac_status triangular_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  const triangular_part *t = job->part;
  if (t->vacant >= 0) {
    lac_structure_singular_text(t->s, t->vacant, fault->text, sizeof fault->text);
    return LAC_ERR_SINGULAR;
  }
  int32_t zero = triangular_zero_kernels[job->dtype](t, job->values);
  if (zero >= 0) {
    snprintf(fault->text, sizeof fault->text,
             "the matrix is singular: pivot 0 in column %lld, the diagonal of a triangle, in row %lld",
             (long long)t->cols[zero], (long long)t->rows[zero]);
    return LAC_ERR_SINGULAR;
  }
  triangular_numeric *f = lac_alloc(sizeof *f);
  if (!f) {
    snprintf(fault->text, sizeof fault->text, "out of memory: %zu bytes", sizeof *f);
    return LAC_ERR_MEMORY;
  }
  *f = (triangular_numeric){job->dtype, job->values};
  *numeric = f;
  return LAC_OK;
}

static bool triangular_is_stable(const lac_solver_options *options) { return (void)options, true; }

static lac_status triangular_solve(const void *part, const void *numeric, lac_form form, int width, int threads,
                                   const void *b, void *x, void *work, lac_fault *fault) {
  const triangular_numeric *f = numeric;
  (void)threads, (void)work, (void)fault;
  triangular_solve_kernels[f->dtype](part, f->values, form, width, b, x);
  return LAC_OK;
}

static lac_status triangular_logdet(const void *part, const void *numeric, lac_polar *out) {
  const triangular_part *t = part;
  const triangular_numeric *f = numeric;
  lac_determinant d = lac_determinant_one();
  triangular_logdet_kernels[f->dtype](t, f->values, &d);
  if (t->is_odd) lac_determinant_negate(&d);
  *out = lac_determinant_log(&d);
  return LAC_OK;
}

static lac_status triangular_selected_inverse(const lac_structure *structure, const void *part, const void *numeric,
                                              int threads, lac_stop *stop, void *values, lac_fault *fault) {
  const triangular_numeric *f = numeric;
  (void)structure, (void)threads, (void)stop, (void)fault;
  triangular_inverse_kernels[f->dtype](part, f->values, values);
  return LAC_OK;
}

static void triangular_report(const void *part, const void *numeric, lac_finding *finding) {
  triangular_foresee(part, ((const triangular_numeric *)numeric)->dtype, finding);
  finding->smallest = 1;
}

// A diagonal is a triangle each row of which has one entry: only the name is another.
#define TRIANGULAR_TABLE(called)                                                                                     \
  {                                                                                                                  \
    .name = (called), .is_stable = triangular_is_stable, .analyse = triangular_analyse, .forget = triangular_forget, \
    .foresee = triangular_foresee, .factor = triangular_factor, .solve = triangular_solve,                           \
    .logdet = triangular_logdet, .selected_inverse = triangular_selected_inverse, .report = triangular_report,       \
    .destroy = lac_free,                                                                                             \
  }

const lac_direct_table lac_direct_triangular = TRIANGULAR_TABLE("triangular");
const lac_direct_table lac_direct_diagonal = TRIANGULAR_TABLE("diagonal");

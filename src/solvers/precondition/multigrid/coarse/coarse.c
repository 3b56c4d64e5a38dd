// SPDX-License-Identifier: Apache-2.0
/// @file coarse.c
/// Dense factors of the coarsest level (coarse.h), by rows and in double precision.

#include "solvers/precondition/multigrid/coarse/coarse.h"

#include "core/numbers/numbers.h"

struct lac_coarse {
  lac_dtype dtype;
  int64_t n, items;
  double rounding;       // pivots below this share of what they began with are zero
  void *factors;         // [items, n, n]: L without its diagonal below U, of accumulators
  int64_t *rows, *cols;  // [items, n]: row k of P A is row rows[k] of A, and so for columns
};

enum {
  COARSE_LEVELS = 30,
  COARSE_ROWS = 700
};  // unless the options say otherwise; dense factors of 700 rows have 4 MB

enum { COARSE_COLUMNS = 8 };  // that are solved together, in vectors

#define KERNEL_FILE "solvers/precondition/multigrid/coarse/coarse_kernel.h"
#include "core/numbers/instantiate.h"

typedef void (*coarse_fill)(const lac_pattern *pattern, const void *values, void *dense);
typedef bool (*coarse_try)(int64_t n, double rounding, void *dense);
typedef void (*coarse_factor)(int64_t n, double rounding, void *dense, int64_t *rows, int64_t *cols);
typedef void (*coarse_unit)(int64_t n, void *x);
typedef void (*coarse_solve)(const lac_coarse *c, int64_t item, bool adjoint, int64_t k, const void *b, void *x,
                             void *work);

static const coarse_fill coarse_dense[4] = TABLE(coarse_dense);
static const coarse_try coarse_hermitian[4] = TABLE(coarse_hermitian);
static const coarse_factor coarse_pivoted[4] = TABLE(coarse_pivoted);
static const coarse_solve coarse_columns[4] = TABLE(coarse_columns);
static const coarse_unit coarse_identity[4] = TABLE(coarse_identity);

static size_t coarse_wide(lac_dtype dtype) { return dtype == LAC_C64 || dtype == LAC_C128 ? 16 : 8; }

int lac_coarse_levels(const lac_precondition *options) {
  if (options->max_levels <= 0) return COARSE_LEVELS;
  return options->max_levels < LAC_LEVELS ? options->max_levels : LAC_LEVELS;
}

int64_t lac_coarse_rows(const lac_precondition *options) {
  return options->coarse_rows > 0 ? options->coarse_rows : COARSE_ROWS;
}

void lac_coarse_destroy(lac_coarse *coarse) {
  if (!coarse) return;
  lac_free(coarse->factors);
  lac_free(coarse->rows);
  lac_free(coarse->cols);
  lac_free(coarse);
}

int64_t lac_coarse_bytes(const lac_coarse *coarse) {
  if (!coarse) return 0;
  return coarse->items * coarse->n * (coarse->n * (int64_t)coarse_wide(coarse->dtype) + 16);
}

static void coarse_factorise(lac_coarse *c, const lac_pattern *pattern, int64_t item, const void *values,
                             bool is_hermitian) {
  int64_t *rows = c->rows + item * c->n, *cols = c->cols + item * c->n;
  char *dense = (char *)c->factors + (size_t)(item * c->n * c->n) * coarse_wide(c->dtype);
  int64_t each = pattern->nnz * pattern->br * pattern->bc;
  const char *numbers = (const char *)values + (size_t)(item * each) * lac_dtype_size(c->dtype);

  for (int64_t i = 0; i < c->n; ++i) rows[i] = cols[i] = i;
  coarse_dense[c->dtype](pattern, numbers, dense);
  if (is_hermitian && coarse_hermitian[c->dtype](c->n, c->rounding, dense)) return;
  coarse_dense[c->dtype](pattern, numbers, dense);
  coarse_pivoted[c->dtype](c->n, c->rounding, dense, rows, cols);
}

/// The numbers of an array on the host: where they lie, or in a copy that the caller frees.
static lac_status coarse_read(lac_context *ctx, const lac_array *array, void **copy, const void **numbers) {
  lac_status status = LAC_OK;
  if (ctx->space->is_host) {
    *numbers = lac_array_data(array);
    goto done;
  }
  *copy = lac_alloc((size_t)array->count * lac_dtype_size(array->meta.dtype));
  LAC_CHECK(*copy, LAC_ERR_MEMORY, "out of memory: %lld numbers", (long long)array->count);
  LAC_TRY(lac_array_fetch(ctx, array, *copy));
  *numbers = *copy;
done:
  return status;
}

lac_status lac_coarse_create_of(lac_context *ctx, const lac_pattern *pattern, lac_dtype dtype, int64_t items,
                                const void *numbers, bool is_hermitian, double rounding, lac_coarse **out) {
  lac_status status = LAC_OK;
  lac_coarse *c = NULL;
  int64_t n = pattern->rows * pattern->br;

  LAC_ALLOC(c, 1);
  c->dtype = dtype, c->n = n, c->items = items, c->rounding = rounding;
  LAC_ALLOC(c->rows, items * n);
  LAC_ALLOC(c->cols, items * n);
  c->factors = lac_calloc((size_t)(items * n * n), coarse_wide(dtype));
  LAC_CHECK(c->factors, LAC_ERR_MEMORY, "out of memory: a dense factor of %lld rows", (long long)n);
  for (int64_t item = 0; item < items; ++item) coarse_factorise(c, pattern, item, numbers, is_hermitian);
  *out = c, c = NULL;
done:
  lac_coarse_destroy(c);
  return status;
}

lac_status lac_coarse_create(lac_context *ctx, const lac_pattern *pattern, const lac_array *values, bool is_hermitian,
                             double rounding, lac_coarse **out) {
  lac_status status = LAC_OK;
  int64_t each = pattern->nnz * pattern->br * pattern->bc;
  int64_t items = each > 0 ? values->count / each : values->meta.ndim > 1 ? values->meta.shape[0] : 1;
  const void *numbers = NULL;
  void *copy = NULL;

  LAC_TRY(coarse_read(ctx, values, &copy, &numbers));
  LAC_TRY(lac_coarse_create_of(ctx, pattern, values->meta.dtype, items, numbers, is_hermitian, rounding, out));
done:
  lac_free(copy);
  return status;
}

/// x = op(A)^+ b in host memory.
static lac_status coarse_solve_here(lac_context *ctx, const lac_coarse *coarse, int64_t item, bool adjoint, int64_t k,
                                    const void *b, void *x) {
  lac_status status = LAC_OK;
  void *work = lac_alloc((size_t)(coarse->n * k) * coarse_wide(coarse->dtype));

  LAC_CHECK(work, LAC_ERR_MEMORY, "out of memory: %lld numbers", (long long)(coarse->n * k));
  coarse_columns[coarse->dtype](coarse, item, adjoint, k, b, x, work);
done:
  lac_free(work);
  return status;
}

lac_status lac_coarse_solve(lac_context *ctx, const lac_coarse *coarse, int64_t item, bool adjoint, const lac_array *b,
                            lac_array *x) {
  lac_status status = LAC_OK;
  int64_t k = coarse->n ? b->count / coarse->n : 0;
  const void *numbers = NULL;
  void *copy = NULL;

  LAC_TRY(coarse_read(ctx, b, &copy, &numbers));
  LAC_TRY(coarse_solve_here(ctx, coarse, item, adjoint, k, numbers, copy ? copy : lac_array_edit(x)));
  if (copy) LAC_TRY(lac_array_write(ctx, x, copy));
done:
  lac_free(copy);
  return status;
}

lac_status lac_coarse_inverse(lac_context *ctx, const lac_coarse *coarse, lac_array *out) {
  lac_status status = LAC_OK;
  size_t bytes = (size_t)(coarse->n * coarse->n) * lac_dtype_size(coarse->dtype);
  char *copy = NULL, *numbers = ctx->space->is_host ? lac_array_edit(out) : NULL;

  if (!numbers) {
    LAC_ALLOC(copy, (size_t)coarse->items * bytes);
    numbers = copy;
  }
  for (int64_t item = 0; item < coarse->items; ++item) {
    char *x = numbers + (size_t)item * bytes;
    coarse_identity[coarse->dtype](coarse->n, x);
    LAC_TRY(coarse_solve_here(ctx, coarse, item, false, coarse->n, x, x));
  }
  if (copy) LAC_TRY(lac_array_write(ctx, out, copy));
done:
  lac_free(copy);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file fit.c
/// What fits a factor: arrays where the context's arrays lie, in the factor's dtype, of its shape and batch.

#include <string.h>

#include "solvers/solver_impl.h"

lac_status lac_solver_require_here(lac_context *ctx, const char *function, const char *name, const lac_array *array) {
  lac_status status = LAC_OK;

  LAC_CHECK(array, LAC_ERR_ARG, "%s: %s is NULL; give an array", function, name);
  LAC_CHECK(array->storage->space == ctx->space, LAC_ERR_DEVICE,
            "%s: %s lies on %s, the context on %s; make it through this context", function, name,
            array->storage->space->backend, lac_context_backend(ctx));
  LAC_CHECK(!array->meta.partition, LAC_ERR_UNSUPPORTED,
            "%s: the built-in solvers work in one process, and %s is partitioned over ranks", function, name);
done:
  return status;
}

lac_status lac_factor_require_here(lac_context *ctx, const char *function, const lac_factor *factor) {
  lac_status status = LAC_OK;

  LAC_CHECK(factor->space == ctx->space, LAC_ERR_DEVICE,
            "%s: the factor takes arrays on %s, the context has them on %s; factor the values through this context",
            function, factor->space->backend, lac_context_backend(ctx));
done:
  return status;
}

/// Whether the batch of x is the joint one of values and b.
static bool fit_batch(const lac_meta *const metas[3], const int core[3], const lac_batch *batch) {
  bool fits = true;
  for (int o = 0; o < 3; o++) {
    int own = metas[o]->ndim - core[o];
    fits = fits && own <= batch->ndim && (o < 2 || own == batch->ndim);
    for (int d = 0; fits && d < own; d++) {
      int64_t size = metas[o]->shape[d], joint = batch->shape[batch->ndim - own + d];
      fits = size == joint || (o < 2 && size == 1);
    }
  }
  return fits;
}

/// b and x fit the factor: dtype, rows, columns, and the batch of x is the joint one of values and b.
static lac_status fit_columns(lac_context *ctx, const char *who, const lac_factor *factor, lac_form form,
                              const lac_meta *b, const lac_meta *x, lac_batch *batch) {
  lac_status status = LAC_OK;
  const lac_meta *metas[] = {&factor->meta, b, x};
  const int core[] = {1, 2, 2};
  bool turns = lac_form_transposes(form);
  long long m = turns ? factor->core->cols : factor->core->rows, n = turns ? factor->core->rows : factor->core->cols;
  char text[LAC_SHAPE_TEXT], other[LAC_SHAPE_TEXT];

  LAC_CHECK(b->dtype == factor->meta.dtype && x->dtype == factor->meta.dtype, LAC_ERR_DTYPE,
            "%s: the factor is %s, b is %s and x is %s; they must agree", who, lac_dtype_name(factor->meta.dtype),
            lac_dtype_name(b->dtype), lac_dtype_name(x->dtype));
  LAC_CHECK(b->ndim >= 2 && b->shape[b->ndim - 2] == m, LAC_ERR_SHAPE,
            "%s: b must have shape (*batch, %lld, k), it has %s%s", who, m, lac_shape_text(b->ndim, b->shape, text),
            b->ndim >= 2 && b->shape[b->ndim - 1] == m
                ? "; a batch of vectors wants one more dimension, of 1, at the end"
                : "");
  LAC_CHECK(x->ndim >= 2 && x->shape[x->ndim - 2] == n && x->shape[x->ndim - 1] == b->shape[b->ndim - 1], LAC_ERR_SHAPE,
            "%s: x must have shape (*batch, %lld, %lld), it has %s", who, n, (long long)b->shape[b->ndim - 1],
            lac_shape_text(x->ndim, x->shape, text));
  lac_batch_init(batch, 2, metas, core);
  LAC_CHECK(fit_batch(metas, core, batch), LAC_ERR_SHAPE,
            "%s: the batch dimensions of x, %s, must be the joint ones of the factored values and of b, %s", who,
            lac_shape_text(x->ndim, x->shape, text), lac_shape_text(b->ndim, b->shape, other));
  lac_batch_init(batch, 3, metas, core);
done:
  return status;
}

lac_status lac_factor_fit(lac_context *ctx, const char *function, const lac_factor *factor, lac_form form,
                          const lac_array *b, const lac_array *x, lac_batch *batch) {
  lac_status status = LAC_OK;

  LAC_CHECK(factor, LAC_ERR_ARG, "%s: the factor is NULL", function);
  LAC_CHECK(form >= LAC_PLAIN && form <= LAC_ADJOINT, LAC_ERR_ARG,
            "%s: op is %d; it must be LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED or LAC_ADJOINT", function, (int)form);
  LAC_TRY(lac_factor_require_here(ctx, function, factor));
  LAC_TRY(lac_solver_require_here(ctx, function, "b", b));
  LAC_TRY(lac_solver_require_here(ctx, function, "x", x));
  LAC_CHECK(!lac_array_overlaps(b, x), LAC_ERR_ARG, "%s: b and x share memory; give x memory of its own", function);
  LAC_TRY(fit_columns(ctx, function, factor, form, &b->meta, &x->meta, batch));
done:
  return status;
}

bool lac_factor_same_shape(const lac_meta *a, const lac_meta *b, int core) {
  int skip_a = 0, skip_b = 0;

  while (skip_a < a->ndim - core && a->shape[skip_a] == 1) skip_a++;
  while (skip_b < b->ndim - core && b->shape[skip_b] == 1) skip_b++;
  return a->ndim - skip_a == b->ndim - skip_b &&
         memcmp(a->shape + skip_a, b->shape + skip_b, (size_t)(a->ndim - skip_a) * sizeof *a->shape) == 0;
}

lac_status lac_factor_fit_batch(lac_context *ctx, const char *function, const lac_factor *factor,
                                const lac_array *array, lac_dtype dtype, const char *name) {
  lac_status status = LAC_OK;
  lac_meta wanted = factor->meta;
  char text[LAC_SHAPE_TEXT], other[LAC_SHAPE_TEXT];

  LAC_TRY(lac_factor_require_here(ctx, function, factor));
  LAC_TRY(lac_solver_require_here(ctx, function, name, array));
  LAC_CHECK(array->meta.dtype == dtype, LAC_ERR_DTYPE, "%s: the factor is %s, so %s must be %s; it is %s", function,
            lac_dtype_name(factor->meta.dtype), name, lac_dtype_name(dtype), lac_dtype_name(array->meta.dtype));
  wanted.dtype = dtype;
  wanted.ndim--;
  LAC_CHECK(lac_factor_same_shape(&wanted, &array->meta, 0), LAC_ERR_SHAPE,
            "%s: %s must have the batch shape of the factor, %s; it has %s", function, name,
            lac_shape_text(wanted.ndim, wanted.shape, text),
            lac_shape_text(array->meta.ndim, array->meta.shape, other));
done:
  return status;
}

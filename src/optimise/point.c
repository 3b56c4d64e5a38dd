// SPDX-License-Identifier: Apache-2.0
/// @file point.c
/// Several arrays as one vector.

#include "core/number_at.h"
#include "kernels/kernels.h"
#include "optimise/optimise_impl.h"

lac_status lac_point_empty(lac_context *ctx, int count, lac_point *out) {
  lac_status status = LAC_OK;

  LAC_ALLOC(*out, count);
done:
  return status;
}

lac_status lac_point_make(lac_context *ctx, int count, lac_array *const *like, lac_point *out) {
  lac_status status = LAC_OK;
  lac_point point = NULL;

  LAC_TRY(lac_point_empty(ctx, count, &point));
  for (int i = 0; i < count; i++) LAC_TRY(lac_array_make(ctx, &like[i]->meta, &point[i]));
  *out = point, point = NULL;
done:
  lac_point_destroy(count, &point);
  return status;
}

void lac_point_drop(int count, lac_array **arrays) {
  for (int i = 0; arrays && i < count; i++) lac_array_destroy(&arrays[i]);
}

void lac_point_destroy(int count, lac_point *point) {
  lac_point_drop(count, *point);
  lac_free(*point);
  *point = NULL;
}

lac_status lac_point_scale(lac_context *ctx, int count, double alpha, lac_array *const *x, lac_array *const *y) {
  lac_status status = LAC_OK;

  for (int i = 0; i < count; i++) {
    (void)lac_array_edit(y[i]);  // a new version
    LAC_TRY(x[i] ? ctx->kernels->scale(ctx, alpha, 0, x[i], y[i]) : ctx->backend->fill(ctx, y[i], 0, 0));
  }
done:
  return status;
}

lac_status lac_point_axpy(lac_context *ctx, int count, double alpha, lac_array *const *x, lac_array *const *y) {
  lac_status status = LAC_OK;

  for (int i = 0; i < count; i++) {
    if (!x[i]) continue;
    (void)lac_array_edit(y[i]);
    LAC_TRY(ctx->kernels->axpy(ctx, alpha, 0, x[i], y[i]));
  }
done:
  return status;
}

bool lac_point_shares(int count, lac_array *const *x, const lac_array *array) {
  for (int i = 0; i < count; i++) {
    if (x[i]->storage == array->storage) return true;
  }
  return false;
}

/// The same numbers with at least two axes, which is what the kernel dot takes.
static lac_status point_columns(lac_context *ctx, lac_array *x, lac_array **out) {
  int64_t shape[2] = {x->meta.partition ? -1 : x->count, 1};

  if (x->meta.ndim < 2) return lac_array_reshape(ctx, x, 2, shape, out);
  *out = lac_array_retain(x);
  return LAC_OK;
}

/// The real part of an array of one number.
static lac_status point_read(lac_context *ctx, const lac_array *number, double *out) {
  lac_number host = {.c128 = 0};
  lac_status status = lac_array_read(ctx, number, &host);

  *out = lac_real_get(number->meta.dtype, &host, 0);
  return status;
}

/// Re sum conj(x) y of two arrays.
static lac_status point_dot_arrays(lac_context *ctx, lac_array *x, lac_array *y, double *out) {
  lac_status status = LAC_OK;
  lac_array *u = NULL, *v = NULL, *items = NULL, *total = NULL;
  lac_meta meta;

  LAC_TRY(point_columns(ctx, x, &u));
  LAC_TRY(point_columns(ctx, y, &v));
  meta = u->meta;
  meta.ndim -= 2;  // a number for each of the batch
  if (meta.partition && meta.partition_axis >= meta.ndim) meta.partition = NULL;
  LAC_TRY(lac_array_make(ctx, &meta, &items));
  LAC_TRY(ctx->kernels->dot(ctx, u, v, items));
  LAC_TRY(lac_array_create(ctx, meta.dtype, 0, NULL, &total));
  LAC_TRY(ctx->kernels->sum(ctx, items, (1u << meta.ndim) - 1, total));
  LAC_TRY(point_read(ctx, total, out));
done:
  lac_array_destroy(&u);
  lac_array_destroy(&v);
  lac_array_destroy(&items);
  lac_array_destroy(&total);
  return status;
}

lac_status lac_point_dot(lac_context *ctx, int count, lac_array *const *x, lac_array *const *y, double *out) {
  lac_status status = LAC_OK;
  double sum = 0, term = 0;

  for (int i = 0; i < count; i++) {
    if (!x[i] || !y[i]) continue;
    LAC_TRY(point_dot_arrays(ctx, x[i], y[i], &term));
    sum += term;
  }
  *out = sum;
done:
  return status;
}

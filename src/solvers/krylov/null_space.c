// SPDX-License-Identifier: Apache-2.0
/// @file null_space.c
/// Vectors freed of their part along a null space: y -= U U^H y, U orthonormal.
///
/// b leaves the null space of op(A)^H and x that of op(A). For A^T and conj(A) the given columns are conjugated. Holds
/// the basis in the vectors' dtype, and one vector where there are several columns.

#include <math.h>

#include "core/number_at.h"
#include "solvers/krylov/frame.h"

/// Make row m of [m + 1, n] orthogonal to those before, twice, and of length one. False where it depends on them.
static bool null_orthogonalise(c128 *rows, int64_t n, int64_t m) {
  c128 *u = rows + m * n;
  double size = 0, left = 0;
  for (int64_t i = 0; i < n; ++i) size = fmax(size, cabs(u[i]));
  for (int64_t i = 0; size > 0 && i < n; ++i) u[i] /= size;
  for (int64_t i = 0; i < n; ++i) left += creal(u[i] * conj(u[i]));
  size = sqrt(left);
  for (int64_t j = 0; j < 2 * m; ++j) {
    const c128 *v = rows + j % m * n;
    c128 along = 0;
    for (int64_t i = 0; i < n; ++i) along += conj(v[i]) * u[i];
    for (int64_t i = 0; i < n; ++i) u[i] -= along * v[i];
  }
  left = 0;
  for (int64_t i = 0; i < n; ++i) left += creal(u[i] * conj(u[i]));
  left = sqrt(left);
  if (!(left > 1e-8 * size)) return false;
  for (int64_t i = 0; i < n; ++i) u[i] /= left;
  return true;
}

static lac_status null_check(lac_context *ctx, const lac_krylov_job *job, const lac_array *space, int64_t n) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT];
  LAC_CHECK(space->meta.dtype == job->dtype, LAC_ERR_DTYPE, "a null space of dtype %s for a system of %s; cast it",
            lac_dtype_name(space->meta.dtype), lac_dtype_name(job->dtype));
  LAC_CHECK(space->meta.ndim == 2 && space->meta.shape[0] == n, LAC_ERR_SHAPE,
            "a null space is an array of columns (%lld, m); this one is %s", (long long)n,
            lac_shape_text(space->meta.ndim, space->meta.shape, text));
done:
  return status;
}

/// The columns of `space` as orthonormal rows; *count of them are independent.
static lac_status null_rows(krylov *k, const lac_array *space, int64_t n, c128 *rows, int64_t *count) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  lac_dtype dtype = k->job->dtype;
  bool conjugates = lac_form_conjugates(k->job->form) != lac_form_transposes(k->job->form);
  int64_t m = space->meta.shape[1];
  void *host = lac_alloc(lac_array_bytes(space));

  LAC_CHECK(host, LAC_ERR_MEMORY, "out of memory: a null space of %lld numbers", (long long)space->count);
  LAC_TRY(lac_array_fetch(ctx, space, host));
  *count = 0;
  for (int64_t j = 0; j < m; ++j) {
    for (int64_t i = 0; i < n; ++i) {
      c128 x = lac_number_get(dtype, host, i * m + j);
      rows[*count * n + i] = conjugates ? conj(x) : x;
    }
    *count += null_orthogonalise(rows, n, *count);
  }
done:
  lac_free(host);
  return status;
}

static lac_status null_open(krylov *k, const lac_array *space, int64_t n, krylov_basis *basis) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  lac_dtype dtype = k->job->dtype;
  int64_t count = 0;
  c128 *rows = NULL;

  if (!space || space->count == 0) goto done;
  LAC_TRY(null_check(ctx, k->job, space, n));
  LAC_ALLOC(rows, space->count);
  LAC_TRY(null_rows(k, space, n, rows, &count));
  LAC_ALLOC(basis->vectors, count + 1);
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t i = 0; i < n; ++i) lac_number_put(dtype, rows, i, rows[j * n + i]);  // never ahead of what is read
    LAC_TRY(
        lac_array_from(ctx, dtype, 3, (int64_t[]){1, n, 1}, rows, LAC_OWNERSHIP_COPY, &basis->vectors[basis->count]));
    ++basis->count;
  }
done:
  lac_free(rows);
  return status;
}

lac_status krylov_bases_open(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  const lac_array *right = k->job->iteration->null_space, *left = k->job->iteration->left_null_space;
  int64_t rows = k->b_rows > k->x_rows ? k->b_rows : k->x_rows;
  bool turns = lac_form_transposes(k->job->form);

  if (!left && k->b_rows == k->x_rows) left = right;
  LAC_TRY(null_open(k, turns ? left : right, k->x_rows, &k->x_null));
  LAC_TRY(null_open(k, turns ? right : left, k->b_rows, &k->b_null));
  if (k->columns > 1 && (k->x_null.count || k->b_null.count)) {
    LAC_TRY(lac_array_create(ctx, k->job->dtype, 1, (int64_t[]){k->columns * rows}, &k->spread));
  }
done:
  return status;
}

static void null_close(krylov_basis *basis) {
  for (int64_t i = 0; i < basis->count; ++i) lac_array_destroy(basis->vectors + i);
  lac_free(basis->vectors);
}

void krylov_bases_close(krylov *k) {
  null_close(&k->x_null);
  null_close(&k->b_null);
  lac_array_destroy(&k->spread);
}

lac_status krylov_free_of(krylov *k, const krylov_basis *basis, lac_array *y) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  lac_array *wide = NULL;

  if (basis->count && k->spread) LAC_TRY(lac_array_wrap(ctx, &y->meta, k->spread->storage->data, &wide));
  for (int64_t i = 0; i < basis->count; ++i) {
    const lac_array *u = wide ? wide : basis->vectors[i];
    if (wide) LAC_TRY(ctx->kernels->broadcast(ctx, basis->vectors[i], 1u << 2 | 1u << 0, wide));
    LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_DOT, LAC_SLOT_ALONG, 1, u, y}));
    LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_ADD, LAC_SLOT_ALONG, -1, u, y}));
  }
done:
  lac_array_destroy(&wide);
  return status;
}

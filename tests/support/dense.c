// SPDX-License-Identifier: Apache-2.0
/// @file dense.c
/// References in complex double.

#include "support/dense.h"

#include <math.h>
#include <string.h>

#include "core/number_at.h"
#include "support/scratch.h"

// -- refs ------------------------------------------------------------------------------------------------------------

ref ref_new(const lac_meta *meta) {
  ref r = {.meta = *meta, .count = 1};
  for (int d = 0; d < meta->ndim; ++d) r.count *= meta->shape[d];
  r.x = scratch((size_t)r.count * sizeof *r.x);
  return r;
}

ref ref_copy(const ref *from) {
  ref r = ref_new(&from->meta);
  memcpy(r.x, from->x, (size_t)r.count * sizeof *r.x);
  return r;
}

void ref_random(ref *x, uint64_t seed, int is_complex) {
  random_state r = random_start(seed);
  for (int64_t i = 0; i < x->count; ++i) {
    double real = random_unit(&r), imag = random_unit(&r);
    x->x[i] = is_complex ? real + imag * _Complex_I : real;
  }
}

double ref_max(const ref *x) {
  double most = 0;
  for (int64_t i = 0; i < x->count; ++i) most = fmax(most, cabs(x->x[i]));
  return most;
}

void ref_axpy(number alpha, const ref *x, ref *y) {
  for (int64_t i = 0; i < x->count; ++i) y->x[i] += alpha * x->x[i];
}

double ref_inner(const ref *x, const ref *y, double *size) {
  double sum = 0;
  for (int64_t i = 0; i < x->count; ++i) {
    sum += creal(conj(x->x[i]) * y->x[i]);
    *size += cabs(x->x[i]) * cabs(y->x[i]);
  }
  return sum;
}

lac_status ref_upload(lac_context *ctx, const ref *x, lac_array **out) {
  size_t mark = scratch_mark();
  lac_dtype dtype = x->meta.dtype;
  void *data = scratch((size_t)x->count * lac_dtype_size(dtype));
  for (int64_t i = 0; i < x->count; ++i) lac_number_put(dtype, data, i, x->x[i]);
  lac_status status = lac_array_from(ctx, dtype, x->meta.ndim, x->meta.shape, data, LAC_OWNERSHIP_COPY, out);
  scratch_release(mark);
  return status;
}

lac_status ref_download(lac_context *ctx, const lac_array *array, ref *out) {
  *out = ref_new(lac_array_meta(array));
  size_t mark = scratch_mark();
  void *data = scratch((size_t)out->count * lac_dtype_size(out->meta.dtype));
  lac_status status = lac_array_read(ctx, array, data);
  for (int64_t i = 0; i < out->count; ++i) out->x[i] = lac_number_get(out->meta.dtype, data, i);
  scratch_release(mark);
  return status;
}

// -- batches ---------------------------------------------------------------------------------------------------------

walk walk_batch(const ref *result, int core) {
  walk w = {.ndim = result->meta.ndim - core, .left = 1};
  for (int d = 0; d < w.ndim; ++d) {
    w.shape[d] = result->meta.shape[d];
    w.left *= w.shape[d];
  }
  if (w.ndim) w.at[w.ndim - 1] = -1;
  return w;
}

int walk_next(walk *w) {
  if (w->left-- <= 0) return 0;
  for (int d = w->ndim - 1; d >= 0; --d) {
    if (++w->at[d] < w->shape[d]) break;
    w->at[d] = 0;
  }
  return 1;
}

number *walk_item(const walk *w, const ref *operand, int core) {
  int own = operand->meta.ndim - core;
  int64_t item = 0, size = 1;
  for (int d = 0; d < own; ++d) {
    int64_t extent = operand->meta.shape[d];
    item = item * extent + (extent == 1 ? 0 : w->at[w->ndim - own + d]);
  }
  for (int d = own; d < operand->meta.ndim; ++d) size *= operand->meta.shape[d];
  return operand->x + item * size;
}

// -- matrices --------------------------------------------------------------------------------------------------------

dense dense_new(int64_t rows, int64_t cols) {
  return dense_over(rows, cols, scratch((size_t)(rows * cols) * sizeof(number)));
}

dense dense_over(int64_t rows, int64_t cols, number *x) { return (dense){rows, cols, x}; }

dense dense_matrix(const sketch *s, const number *values) {
  dense a = dense_new(s->rows, s->cols);
  for (int64_t z = 0; z < s->nnz; ++z) a.x[s->row[z] * s->cols + s->col[z]] += values[z];
  return a;
}

dense dense_block_matrix(const sketch *s, int64_t br, int64_t bc, const number *values) {
  dense a = dense_new(s->rows * br, s->cols * bc);
  for (int64_t z = 0; z < s->nnz; ++z) {
    for (int64_t r = 0; r < br; ++r) {
      for (int64_t c = 0; c < bc; ++c) a.x[(s->row[z] * br + r) * a.cols + s->col[z] * bc + c] += *values++;
    }
  }
  return a;
}

dense dense_side(dense a, lac_form form) {
  int is_transposed = form == LAC_TRANSPOSED || form == LAC_ADJOINT,
      is_conjugate = form == LAC_CONJUGATED || form == LAC_ADJOINT;
  dense b = is_transposed ? dense_new(a.cols, a.rows) : dense_new(a.rows, a.cols);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.cols; ++j) {
      number value = a.x[i * a.cols + j];
      b.x[is_transposed ? j * a.rows + i : i * a.cols + j] = is_conjugate ? conj(value) : value;
    }
  }
  return b;
}

dense dense_mul(dense a, dense b) {
  dense c = dense_new(a.rows, b.cols);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.cols; ++k) {
      for (int64_t j = 0; j < b.cols; ++j) c.x[i * b.cols + j] += a.x[i * a.cols + k] * b.x[k * b.cols + j];
    }
  }
  return c;
}

static void dense_swap_rows(dense a, int64_t i, int64_t j) {
  for (int64_t c = 0; c < a.cols; ++c) {
    number keep = a.x[i * a.cols + c];
    a.x[i * a.cols + c] = a.x[j * a.cols + c];
    a.x[j * a.cols + c] = keep;
  }
}

/// Row i of a minus factor times row j.
static void dense_subtract(dense a, int64_t i, int64_t j, number factor) {
  for (int64_t c = 0; c < a.cols; ++c) a.x[i * a.cols + c] -= factor * a.x[j * a.cols + c];
}

dense dense_solve(dense a, dense b) {
  dense lu = dense_side(a, LAC_PLAIN), x = dense_side(b, LAC_PLAIN);  // copies
  int64_t n = a.rows;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k; i < n; ++i) {
      if (cabs(lu.x[i * n + k]) > cabs(lu.x[pivot * n + k])) pivot = i;
    }
    dense_swap_rows(lu, k, pivot);
    dense_swap_rows(x, k, pivot);
    for (int64_t i = 0; i < n; ++i) {
      if (i == k) continue;
      number factor = lu.x[i * n + k] / lu.x[k * n + k];
      dense_subtract(lu, i, k, factor);
      dense_subtract(x, i, k, factor);
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < x.cols; ++j) x.x[i * x.cols + j] /= lu.x[i * n + i];
  }
  return x;
}

number dense_determinant(dense a) {
  dense lu = dense_side(a, LAC_PLAIN);  // a copy
  int64_t n = a.rows;
  number det = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k; i < n; ++i) {
      if (cabs(lu.x[i * n + k]) > cabs(lu.x[pivot * n + k])) pivot = i;
    }
    dense_swap_rows(lu, k, pivot);
    det *= pivot == k ? lu.x[k * n + k] : -lu.x[k * n + k];
    for (int64_t i = k + 1; i < n; ++i) dense_subtract(lu, i, k, lu.x[i * n + k] / lu.x[k * n + k]);
  }
  return det;
}

dense dense_inverse(dense a) {
  dense one = dense_new(a.rows, a.rows);
  for (int64_t i = 0; i < a.rows; ++i) one.x[i * a.rows + i] = 1;
  return dense_solve(a, one);
}

void dense_copy_to(dense a, number *x) { memcpy(x, a.x, (size_t)(a.rows * a.cols) * sizeof *x); }

// SPDX-License-Identifier: Apache-2.0
// The text of smoothed_block_product.c, for one dtype T and integers O, C (instantiate_indexed.h). Functions that take
// the sizes of a block are inlined where these are constants.

/// c += a b: [n, q] times [q, m].
INLINE void XN(block_add_product)(const T *restrict a, const T *restrict b, T *restrict c, int n, int q, int m) {
  UNROLL(8) for (int i = 0; i < n; ++i) {
    UNROLL(8) for (int k = 0; k < q; ++k) {
      T value = a[i * q + k];
      for (int j = 0; j < m; ++j) c[i * m + j] = FN(mac)(c[i * m + j], value, b[k * m + j]);
    }
  }
}

/// Row i of A P behind the others of the chunk; false without memory. Marks are its own places, from `begin` on.
INLINE bool XN(block_make_row)(const block_product *j, block_work *w, int64_t i, int size, int m) {
  const O *offsets = j->a->offsets, *p_offsets = j->p->offsets;
  const C *columns = j->a->columns, *p_columns = j->p->columns;
  const T *values = j->values, *p_values = j->p_values;
  int64_t begin = w->blocks, count = begin, most = 0, area = (int64_t)size * m;

  for (int64_t q = offsets[i]; q < offsets[i + 1]; ++q) most += p_offsets[columns[q] + 1] - p_offsets[columns[q]];
  if (most > j->p->cols) most = j->p->cols;
  if (!block_grow(w, begin + most, (size_t)area * sizeof(T))) return false;
  T *numbers = w->numbers;
  for (int64_t q = offsets[i]; q < offsets[i + 1]; ++q) {
    for (int64_t s = p_offsets[columns[q]]; s < p_offsets[columns[q] + 1]; ++s) {
      int64_t at = w->mark[p_columns[s]];
      if (at < 0) {
        at = w->mark[p_columns[s]] = count;
        w->columns[count++] = p_columns[s];
        for (int64_t n = 0; n < area; ++n) numbers[at * area + n] = 0;
      }
      XN(block_add_product)(values + q * size * size, p_values + s * area, numbers + at * area, size, size, m);
    }
  }
  for (int64_t n = begin; n < count; ++n) w->mark[w->columns[n]] = -1;
  w->where[i] = w->rows, w->made[w->rows] = i;
  w->start[w->rows++] = begin, w->start[w->rows] = w->blocks = count;
  return true;
}

/// A row of the result: all rows of A P that it reads are made before its own columns are marked.
INLINE bool XN(block_row_of)(const block_product *j, block_work *w, int64_t row, int size, int m) {
  const O *r_offsets = j->r->offsets, *c_offsets = j->c->offsets;
  const C *r_columns = j->r->columns, *c_columns = j->c->columns;
  const T *r_values = j->r_values;
  T *out = j->out;
  int64_t area = (int64_t)size * m;
  for (int64_t q = r_offsets[row]; q < r_offsets[row + 1]; ++q) {
    if (w->where[r_columns[q]] < 0 && !XN(block_make_row)(j, w, r_columns[q], size, m)) return false;
  }
  for (int64_t q = c_offsets[row]; q < c_offsets[row + 1]; ++q) {
    w->mark[c_columns[q]] = q;
    for (int n = 0; n < m * m; ++n) out[q * m * m + n] = 0;
  }
  for (int64_t q = r_offsets[row]; q < r_offsets[row + 1]; ++q) {
    int64_t at = w->where[r_columns[q]];
    for (int64_t s = w->start[at]; s < w->start[at + 1]; ++s) {
      XN(block_add_product)
      (r_values + q * area, (const T *)w->numbers + s * area, out + w->mark[w->columns[s]] * m * m, m, size, m);
    }
  }
  for (int64_t q = c_offsets[row]; q < c_offsets[row + 1]; ++q) w->mark[c_columns[q]] = -1;
  return true;
}

INLINE void XN(block_product_of)(const block_product *j, block_work *w, int size, int m) {
  for (int64_t row = w->begin; row < w->end && !w->failed; ++row) {
    if ((row - w->begin) % BLOCK_CHUNK == 0 || w->blocks * size * m > BLOCK_KEPT) block_forget(w);
    w->failed = !XN(block_row_of)(j, w, row, size, m);
  }
}

static void XN(block_product_rows)(const block_product *j, block_work *w) {
  int sizes = 10 * j->size + j->m;
  if (sizes == 22) {
    XN(block_product_of)(j, w, 2, 2);
  } else if (sizes == 23) {
    XN(block_product_of)(j, w, 2, 3);
  } else if (sizes == 33) {
    XN(block_product_of)(j, w, 3, 3);
  } else if (sizes == 36) {
    XN(block_product_of)(j, w, 3, 6);
  } else if (sizes == 66) {
    XN(block_product_of)(j, w, 6, 6);
  } else {
    XN(block_product_of)(j, w, j->size, j->m);
  }
}

static void XN(block_transpose_rows)(const void *job, int64_t begin, int64_t end) {
  const block_transpose_job *j = job;
  const O *p_offsets = j->p->offsets, *r_offsets = j->r->offsets;
  const C *p_columns = j->p->columns, *r_columns = j->r->columns;
  const T *p_values = j->p_values;
  T *r_values = j->r_values;
  int64_t area = (int64_t)j->size * j->m;
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t q = r_offsets[row]; q < r_offsets[row + 1]; ++q) {
      int64_t s = p_offsets[r_columns[q]];
      while (p_columns[s] != row) ++s;
      for (int64_t n = 0; n < area; ++n)
        r_values[q * area + n] = FN(conj)(p_values[s * area + n % j->size * j->m + n / j->size]);
    }
  }
}

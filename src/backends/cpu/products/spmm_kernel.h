// SPDX-License-Identifier: Apache-2.0
// Rows of op(A) times a dense block x of k columns. Walks without slots are A or conj(A), walks with slots their
// transposes.
//
// One column: rows of A are summed in accumulators (f64 for f32 and c64), in four lanes when they are long; rows of A^T
// are summed in T from the first entry to the last, which is also what scattering does. Several columns are summed in
// T, entry by entry.

#define REAL FN(real)

INLINE T XN(value)(const cpu_pass *pass, int64_t p) {
  return FN(signed)(((const T *)pass->in[0])[p], (REAL)pass->sign);
}

/// s + the products of `length` entries, a constant to the compiler.
INLINE FN(acc) XN(short_row)(const cpu_pass *pass, int64_t p, FN(acc) s, const int length) {
  const C *column = (const C *)pass->columns + p;
  const T *x = pass->in[1];
  UNROLL(8) for (int q = 0; q < length; ++q) s = FN(mac_acc)(s, XN(value)(pass, p + q), x[column[q]]);
  return s;
}

/// Rows of the same length from row i on; returns the first row that is not. Hardware does not foresee four streams at
/// once, so the next values are prefetched, unless they are in a cache anyway.
INLINE int64_t XN(short_rows)(const cpu_pass *pass, int64_t i, int64_t end, const int length, const bool asks) {
  const O *offsets = pass->offsets;
  T *y = pass->out;
  int64_t p = offsets[i];
  do {
    if (asks) {
      __builtin_prefetch((const T *)pass->in[0] + p + SPMM_AHEAD, 0, 0);
      __builtin_prefetch((const C *)pass->columns + p + SPMM_AHEAD, 0, 0);
      XN(ask_rows)(pass, pass->in[1], 1, p, p + length);
    }
    y[i] = (T)XN(short_row)(pass, p, pass->adds ? y[i] : 0, length);
    p += length, ++i;
  } while (i < end && offsets[i + 1] - p == length);
  return i;
}

static FN(acc) XN(long_row)(const cpu_pass *pass, int64_t p, int64_t end) {
  const C *column = pass->columns;
  const T *x = pass->in[1];
  FN(acc) s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (; p + 4 <= end; p += 4) {
    s0 = FN(mac_acc)(s0, XN(value)(pass, p), x[column[p]]);
    s1 = FN(mac_acc)(s1, XN(value)(pass, p + 1), x[column[p + 1]]);
    s2 = FN(mac_acc)(s2, XN(value)(pass, p + 2), x[column[p + 2]]);
    s3 = FN(mac_acc)(s3, XN(value)(pass, p + 3), x[column[p + 3]]);
  }
  for (; p < end; ++p) s0 = FN(mac_acc)(s0, XN(value)(pass, p), x[column[p]]);
  return (s0 + s1) + (s2 + s3);
}

INLINE void XN(spmv_all)(const cpu_pass *pass, int64_t i, int64_t end, const bool asks) {
  const O *offsets = pass->offsets;
  T *y = pass->out;
  while (i < end) {
    switch (offsets[i + 1] - offsets[i]) {
      case 1:
        i = XN(short_rows)(pass, i, end, 1, asks);
        break;
      case 2:
        i = XN(short_rows)(pass, i, end, 2, asks);
        break;
      case 3:
        i = XN(short_rows)(pass, i, end, 3, asks);
        break;
      case 4:
        i = XN(short_rows)(pass, i, end, 4, asks);
        break;
      case 5:
        i = XN(short_rows)(pass, i, end, 5, asks);
        break;
      case 6:
        i = XN(short_rows)(pass, i, end, 6, asks);
        break;
      case 7:
        i = XN(short_rows)(pass, i, end, 7, asks);
        break;
      case 8:
        i = XN(short_rows)(pass, i, end, 8, asks);
        break;
      default:
        if (asks) XN(ask_rows)(pass, pass->in[1], 1, offsets[i], offsets[i + 1]);
        y[i] = (T)((pass->adds ? y[i] : 0) + XN(long_row)(pass, offsets[i], offsets[i + 1]));
        ++i;
    }
  }
}

static void XN(spmv)(const cpu_pass *shared, int64_t begin, int64_t end) {
  const cpu_pass pass = *shared;
  if (pass.is_large) {
    XN(spmv_all)(&pass, begin, end, true);
  } else {
    XN(spmv_all)(&pass, begin, end, false);
  }
}

/// Rows of A^T: entries in order. A column's last entry leads through the values, so the place behind it is prefetched.
static void XN(spmv_gathered)(const cpu_pass *shared, int64_t begin, int64_t end) {
  const cpu_pass local = *shared, *pass = &local;
  const O *offsets = pass->offsets, *slots = pass->slots;
  const C *column = pass->columns;
  const T *x = pass->in[1];
  T *y = pass->out;
  for (int64_t i = begin, p = offsets[begin]; i < end; ++i) {
    T s = pass->adds ? y[i] : 0;
    int64_t stop = offsets[i + 1];
    __builtin_prefetch(slots + p + SPMM_AHEAD, 0, 0);
    __builtin_prefetch(column + p + SPMM_AHEAD, 0, 0);
    if (p < stop) __builtin_prefetch((const T *)pass->in[0] + slots[stop - 1] + SPMM_AHEAD, 0, 3);
    XN(ask_rows)(pass, x, 1, p, stop);
    for (; p < stop; ++p) s = FN(mac)(s, XN(value)(pass, slots[p]), x[column[p]]);
    y[i] = s;
  }
}

/// A^T x on one thread, by the rows of A: no transpose is needed, and every y gets the same products in the same order.
static void XN(spmv_scattered)(const cpu_pass *shared, int64_t begin, int64_t end) {
  const cpu_pass local = *shared, *pass = &local;
  const O *offsets = pass->offsets;
  const C *column = pass->columns;
  const T *x = pass->in[1];
  T *y = pass->out;
  if (!pass->adds) memset(y, 0, (size_t)pass->cols * sizeof(T));
  for (int64_t i = begin, p = offsets[begin]; i < end; ++i) {
    if (pass->is_large) {
      __builtin_prefetch((const T *)pass->in[0] + p + SPMM_AHEAD, 0, 0);
      __builtin_prefetch(column + p + SPMM_AHEAD, 0, 0);
    }
    for (int64_t stop = offsets[i + 1]; p < stop; ++p) y[column[p]] = FN(mac)(y[column[p]], XN(value)(pass, p), x[i]);
  }
}

/// Columns [j, j + n blocks of 64 bytes) of row i. A complex product is two real ones with the parts of a, put together
/// at the end.
INLINE void XN(row_blocks)(const cpu_pass *pass, const int64_t k, const int64_t stride, int64_t i, int64_t j,
                           const int n) {
  enum { REALS = sizeof(T) / sizeof(REAL), WIDTH = 64 / sizeof(REAL) };
  const O *offsets = pass->offsets, *slots = pass->slots;
  const REAL *x = (const REAL *)((const T *)pass->in[1] + j);
  REAL *y = (REAL *)((T *)pass->out + i * stride + j);
  FN(block) s[4] = {{0}}, t[4] = {{0}};
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    T a = XN(value)(pass, slots ? slots[p] : p);
    const REAL *row = x + ((const C *)pass->columns)[p] * k * REALS;
    for (int b = 0; b < n; ++b) {
      FN(block) xb = *(const FN(block) *)(row + b * WIDTH);
      s[b] += FN(re)(a) * xb;
      if (FN(has_imag)) t[b] += FN(im)(a) * xb;
    }
  }
  for (int b = 0; b < n; ++b, y += WIDTH) {
    if (FN(has_imag)) {
      for (int r = 0; r < WIDTH; r += 2) s[b][r] -= t[b][r + 1], s[b][r + 1] += t[b][r];
    }
    if (pass->adds) s[b] += *(const FN(block) *)y;
    if (pass->streams && (uintptr_t)y % 64 == 0) {
      cpu_stream(y, &s[b]);
    } else if (pass->streams) {
      cpu_stream_parts(y, &s[b]);
    } else {
      *(FN(block) *)y = s[b];
    }
  }
}

/// A^T x on one thread, by the rows of A, for real numbers in whole blocks: every y gets the same products in the same
/// order.
static void XN(spmm_scattered)(const cpu_pass *shared, int64_t begin, int64_t end) {
  enum { WIDTH = 64 / sizeof(REAL) };
  const cpu_pass local = *shared, *pass = &local;
  const O *offsets = pass->offsets;
  const C *columns = pass->columns;
  const int64_t k = pass->k;
  memset(pass->out, 0, (size_t)(pass->cols * k) * sizeof(T));
  for (int64_t i = begin; i < end; ++i) {
    const REAL *x = (const REAL *)((const T *)pass->in[1] + i * k);
    XN(ask_rows)(pass, pass->out, k, offsets[i], offsets[i + 1]);
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
      REAL a = FN(re)(XN(value)(pass, p)), *y = (REAL *)((T *)pass->out + columns[p] * k);
      for (int64_t j = 0; j < k; j += WIDTH) *(FN(block) *)(y + j) += a * *(const FN(block) *)(x + j);
    }
  }
}

/// Columns [j, j + n) of row i, n a constant to the compiler.
INLINE void XN(row_columns)(const cpu_pass *pass, const int64_t k, const int64_t stride, int64_t i, int64_t j,
                            const int n) {
  const O *offsets = pass->offsets, *slots = pass->slots;
  const T *x = (const T *)pass->in[1] + j;
  T *y = (T *)pass->out + i * stride + j, s[8];
  UNROLL(8) for (int c = 0; c < n; ++c) s[c] = pass->adds ? y[c] : 0;
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    T a = XN(value)(pass, slots ? slots[p] : p);
    const T *row = x + ((const C *)pass->columns)[p] * k;
    UNROLL(8) for (int c = 0; c < n; ++c) s[c] = FN(mac)(s[c], a, row[c]);
  }
  UNROLL(8) for (int c = 0; c < n; ++c) y[c] = s[c];
}

/// k columns: a constant to the compiler where they are few. Rows of y are `stride` numbers apart.
INLINE void XN(spmm_columns)(const cpu_pass *pass, int64_t begin, int64_t end, const int64_t k, const int64_t stride) {
  enum { BLOCK = 64 / sizeof(T), MANY = FN(has_imag) ? 2 : 4 };
  const O *offsets = pass->offsets;
  const C *columns = pass->columns;
  for (int64_t i = begin; i < end; ++i) {
    int64_t j = 0, ahead = offsets[i] + SPMM_AHEAD;
    if (!pass->slots) __builtin_prefetch((const T *)pass->in[0] + ahead, 0, 0);
    __builtin_prefetch(columns + ahead, 0, 0);
    XN(ask_rows)(pass, pass->in[1], k, offsets[i], offsets[i + 1]);
    if (!pass->ahead && k > BLOCK && i + SPMM_ROWS_AHEAD < end) {  // the last entry of a row leads through x
      int64_t next = offsets[i + SPMM_ROWS_AHEAD + 1];
      if (next > 0) ask_for_row(pass->in[1], columns[next - 1], (size_t)k * sizeof(T));
    }
    for (; j + MANY * BLOCK <= k; j += MANY * BLOCK) XN(row_blocks)(pass, k, stride, i, j, MANY);
    for (; j + BLOCK <= k; j += BLOCK) XN(row_blocks)(pass, k, stride, i, j, 1);
    if (BLOCK > 8 && j + 8 <= k) XN(row_columns)(pass, k, stride, i, j, 8), j += 8;
    if (BLOCK > 4 && j + 4 <= k) XN(row_columns)(pass, k, stride, i, j, 4), j += 4;
    if (BLOCK > 2 && j + 2 <= k) XN(row_columns)(pass, k, stride, i, j, 2), j += 2;
    if (j < k) XN(row_columns)(pass, k, stride, i, j, 1);
  }
}

/// The values of rows in the order of the walk.
static void XN(spmm_values)(const cpu_pass *pass, int64_t begin, int64_t end) {
  const O *offsets = pass->offsets, *slots = pass->slots;
  for (int64_t p = offsets[begin]; p < offsets[end]; ++p) ((T *)pass->out)[p] = ((const T *)pass->in[0])[slots[p]];
}

static void XN(spmm_rows)(const cpu_pass *shared, int64_t begin, int64_t end) {
  const cpu_pass pass = *shared;
  switch (pass.k == pass.stride ? pass.k : 0) {
    case 2:
      XN(spmm_columns)(&pass, begin, end, 2, 2);
      break;
    case 4:
      XN(spmm_columns)(&pass, begin, end, 4, 4);
      break;
    case 8:
      XN(spmm_columns)(&pass, begin, end, 8, 8);
      break;
    default:
      XN(spmm_columns)(&pass, begin, end, pass.k, pass.stride);
  }
  if (pass.streams) cpu_stream_end();
}

#undef REAL

// SPDX-License-Identifier: Apache-2.0
// Substitution by rows: x_i = (b_i - sum of a_ij x_j over the triangle) / a_ii.
//
// A neighbour is the entry beside the diagonal: the unknown that was found last. It comes last in its row, and the row
// is divided before it: x_i = (b_i - ...) / a_ii - (a_ij / a_ii) x_j. A chain of rows then waits for one fused product
// a row and not for a division. Rows, levels and scattering do the same operations in the same order: the bits do not
// depend on the way.

#define REAL FN(real)

INLINE T XN(entry)(const solve_job *job, const T *a, int64_t p) {
  const O *slots = job->slots;
  return FN(signed)(a[slots ? slots[p] : p], (REAL)job->sign);
}

/// s / d - (v / d) x. A zero d is noticed and named afterwards.
INLINE T XN(finish)(T s, T v, T d, T x, bool *zero) {
  T pair[2] = {s, v};
  UNROLL(2) for (int c = 0; c < 2; ++c) pair[c] = FN(div)(pair[c], d);
  *zero |= d == 0;
  return FN(mac)(pair[0], -pair[1], x);
}

/// Row i, one right-hand side. A row has its diagonal at one end; the other entries are taken towards it.
/// `found` is the unknown before this one, and read only by rows that need it: in a level others may be writing it.
INLINE T XN(row_one)(const solve_job *job, const T *a, const T *b, const T *x, int64_t i, const T *found,
                     const bool is_lower, bool *zero) {
  const O *offsets = job->offsets;
  const C *column = job->columns;
  const int64_t begin = offsets[i], end = offsets[i + 1], step = is_lower ? 1 : -1, stored = !job->is_unit;
  int64_t p = is_lower ? begin : end - 1, left = end - begin - stored;
  T s = b[i];
  for (; left > 1; --left, p += step) s = FN(mac)(s, -XN(entry)(job, a, p), x[column[p]]);
  if (left == 1 && column[p] == i - step) {
    T v = XN(entry)(job, a, p);
    return stored ? XN(finish)(s, v, XN(entry)(job, a, p + step), *found, zero) : FN(mac)(s, -v, *found);
  }
  if (left == 1) s = FN(mac)(s, -XN(entry)(job, a, p), x[column[p]]), p += step;
  if (!stored) return s;
  T d = XN(entry)(job, a, p);
  *zero |= d == 0;
  return FN(div)(s, d);
}

INLINE void XN(sweep_one)(const solve_job *job, const T *a, const T *b, T *x, const bool is_lower) {
  const int64_t rows = job->rows, step = is_lower ? 1 : -1;
  bool zero = false;
  T found = 0;
  for (int64_t n = 0, i = is_lower ? 0 : rows - 1; n < rows; ++n, i += step) {
    x[i] = found = XN(row_one)(job, a, b, x, i, &found, is_lower, &zero);
  }
  if (zero) solve_note_zero(job);
}

/// Ask for what the n-th row of the order needs, which lies anywhere: its place first, then its entries.
INLINE void XN(ask_ahead)(const solve_job *job, const T *a, const T *b, int64_t n, int64_t end) {
  const O *offsets = job->offsets, *slots = job->slots;
  const C *order = job->order, *columns = job->columns;
  if (n + 2 * LEVEL_AHEAD < end) {
    __builtin_prefetch(offsets + order[n + 2 * LEVEL_AHEAD]);
    __builtin_prefetch(b + order[n + 2 * LEVEL_AHEAD] * job->k);
  }
  if (n + LEVEL_AHEAD < end) {
    const int64_t i = order[n + LEVEL_AHEAD], p = offsets[i], last = offsets[i + 1] - 1;
    __builtin_prefetch(columns + p);
    __builtin_prefetch(columns + last);
    if (slots) {
      __builtin_prefetch(slots + p);
      __builtin_prefetch(slots + last);
    } else {
      __builtin_prefetch(a + p);
      __builtin_prefetch(a + last);
    }
  }
}

/// Rows [begin, end) of an order in which they do not need each other.
INLINE void XN(level_one)(const solve_job *job, const T *a, const T *b, T *x, int64_t begin, int64_t end,
                          const bool is_lower) {
  const C *order = job->order;
  const int64_t step = is_lower ? 1 : -1;
  bool zero = false;
  for (int64_t n = begin; n < end; ++n) {
    XN(ask_ahead)(job, a, b, n, end);
    int64_t i = order[n], before = i - step;
    const T *found = x + (before >= 0 && before < job->rows ? before : 0);
    x[i] = XN(row_one)(job, a, b, x, i, found, is_lower, &zero);
  }
  if (zero) solve_note_zero(job);
}

/// T^T x = b by the rows of T, last unknown first for a lower T: each unknown, once found, is taken out of those it
/// appears in.
INLINE void XN(scatter_one)(const solve_job *job, const T *a, const T *b, T *x, const bool is_lower) {
  const O *offsets = job->offsets;
  const C *column = job->columns;
  const int64_t rows = job->rows, step = is_lower ? -1 : 1, stored = !job->is_unit;
  bool zero = false, has_neighbour = false;
  T found = 0, v = 0;
  if (x != b) memcpy(x, b, (size_t)rows * sizeof(T));
  for (int64_t n = 0, i = is_lower ? rows - 1 : 0; n < rows; ++n, i += step) {
    const int64_t begin = offsets[i], end = offsets[i + 1];
    int64_t p = is_lower ? begin : end - 1, left = end - begin - stored, last = is_lower ? end - 1 : begin;
    if (stored) {
      T d = XN(entry)(job, a, last);
      last += step;
      if (has_neighbour) {
        found = XN(finish)(x[i], v, d, found, &zero);
      } else {
        zero |= d == 0;
        found = FN(div)(x[i], d);
      }
    } else {
      found = has_neighbour ? FN(mac)(x[i], -v, found) : x[i];
    }
    x[i] = found;
    has_neighbour = left > 0 && column[last] == i + step;
    if (has_neighbour) v = XN(entry)(job, a, last), --left;
    for (; left > 0; --left, p -= step) x[column[p]] = FN(mac)(x[column[p]], -XN(entry)(job, a, p), found);
  }
  if (zero) solve_note_zero(job);
}

/// s - v x on n columns, n a constant to the compiler: they stay in registers.
INLINE void XN(take)(T *s, T v, const T *x, const int n) {
#pragma omp simd
  for (int c = 0; c < n; ++c) s[c] = FN(mac)(s[c], -v, x[c]);
}

/// Columns [j, j + n) of row i, as row_one.
INLINE void XN(row_columns)(const solve_job *job, const T *a, const T *b, T *x, int64_t i, int64_t j, const int n,
                            bool *zero) {
  const O *offsets = job->offsets;
  const C *column = job->columns;
  const int64_t k = job->k, begin = offsets[i], end = offsets[i + 1], step = job->is_lower ? 1 : -1,
                stored = !job->is_unit;
  int64_t p = job->is_lower ? begin : end - 1, left = end - begin - stored;
  T s[SOLVE_TILE / sizeof(T)], d = 1;
  if (stored) d = XN(entry)(job, a, job->is_lower ? end - 1 : begin);
  *zero |= d == 0;
  bool has_neighbour = left > 0 && column[p + (left - 1) * step] == i - step;
  for (int c = 0; c < n; ++c) s[c] = b[i * k + j + c];
  for (left -= has_neighbour; left > 0; --left, p += step) {
    XN(take)(s, XN(entry)(job, a, p), x + column[p] * k + j, n);
  }
  if (stored) {
#pragma omp simd
    for (int c = 0; c < n; ++c) s[c] = FN(div)(s[c], d);
  }
  if (has_neighbour) {
    T v = XN(entry)(job, a, p);
    XN(take)(s, stored ? FN(div)(v, d) : v, x + (i - step) * k + j, n);
  }
  for (int c = 0; c < n; ++c) x[i * k + j + c] = s[c];
}

/// Columns [j, end) of row i, at most SOLVE_TILE bytes of them.
INLINE void XN(row_many)(const solve_job *job, const T *a, const T *b, T *x, int64_t i, int64_t j, int64_t end,
                         bool *zero) {
  enum { TILE = SOLVE_TILE / sizeof(T), LINE = 64 / sizeof(T) };
  if (end - j == TILE) {
    XN(row_columns)(job, a, b, x, i, j, TILE, zero);
    return;
  }
  for (; j + LINE <= end; j += LINE) XN(row_columns)(job, a, b, x, i, j, LINE, zero);
  if (LINE > 8 && j + 8 <= end) XN(row_columns)(job, a, b, x, i, j, 8, zero), j += 8;
  if (LINE > 4 && j + 4 <= end) XN(row_columns)(job, a, b, x, i, j, 4, zero), j += 4;
  if (j + 2 <= end) XN(row_columns)(job, a, b, x, i, j, 2, zero), j += 2;
  if (j < end) XN(row_columns)(job, a, b, x, i, j, 1, zero);
}

/// The operands of an item.
INLINE void XN(operands)(const solve_job *job, int64_t item, const T **a, const T **b, T **x) {
  *a = (const T *)job->a + lac_batch_item(&job->batch, 0, item) * job->nnz;
  *b = (const T *)job->b + lac_batch_item(&job->batch, 1, item) * job->rows * job->k;
  *x = (T *)job->x + lac_batch_item(&job->batch, 2, item) * job->rows * job->k;
}

static void XN(solve_one)(const solve_job *job, int64_t item) {
  const T *a, *b;
  T *x;
  XN(operands)(job, item, &a, &b, &x);
  if (job->scatters) {
    if (job->is_lower) {
      XN(scatter_one)(job, a, b, x, false);
    } else {
      XN(scatter_one)(job, a, b, x, true);
    }
  } else if (job->is_lower) {
    XN(sweep_one)(job, a, b, x, true);
  } else {
    XN(sweep_one)(job, a, b, x, false);
  }
}

/// Units [begin, end): a unit is one item of the batch, or one tile of its columns.
static void XN(solve_units)(const void *opaque, int64_t begin, int64_t end) {
  enum { TILE = SOLVE_TILE / sizeof(T) };
  const solve_job local = *(const solve_job *)opaque, *job = &local;
  for (int64_t unit = begin; unit < end; ++unit) {
    const T *a, *b;
    T *x;
    bool zero = false;
    if (job->k == 1) {
      XN(solve_one)(job, unit);
      continue;
    }
    XN(operands)(job, unit / job->tiles, &a, &b, &x);
    int64_t j = unit % job->tiles * TILE, stop = j + TILE < job->k ? j + TILE : job->k;
    for (int64_t n = 0; n < job->rows; ++n) {
      XN(row_many)(job, a, b, x, job->is_lower ? n : job->rows - 1 - n, j, stop, &zero);
    }
    if (zero) solve_note_zero(job);
  }
}

/// Rows order[begin, end) of item `item`, all columns.
static void XN(solve_level)(const solve_job *job, int64_t item, int64_t begin, int64_t end) {
  enum { TILE = SOLVE_TILE / sizeof(T) };
  const C *order = job->order;
  const T *a, *b;
  T *x;
  bool zero = false;
  XN(operands)(job, item, &a, &b, &x);
  if (job->k == 1) {
    if (job->is_lower) {
      XN(level_one)(job, a, b, x, begin, end, true);
    } else {
      XN(level_one)(job, a, b, x, begin, end, false);
    }
    return;
  }
  for (int64_t n = begin; n < end; ++n) {
    XN(ask_ahead)(job, a, b, n, end);
    for (int64_t j = 0; j < job->k; j += TILE) {
      XN(row_many)(job, a, b, x, order[n], j, j + TILE < job->k ? j + TILE : job->k, &zero);
    }
  }
  if (zero) solve_note_zero(job);
}

#undef REAL

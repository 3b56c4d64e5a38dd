// SPDX-License-Identifier: Apache-2.0
// Passes over the matrix of a level. Products are summed in T, from a row's first entry to its last.

#define REAL FN(real)

/// The sum of `length` entries, a constant to the compiler, from entry p on.
INLINE T MN(few)(const level_job *g, const T *values, int64_t p, const H *x, const int length) {
  const C *columns = (const C *)g->columns + p;
  values += p;
  T s = 0;
  UNROLL(12) for (int q = 0; q < length; ++q) s = FN(mac)(s, FN(signed)(values[q], (REAL)g->sign), x[columns[q]]);
  return s;
}

/// The sum of 1 to 8 entries without a branch on how many there are: where that changes from row to row, branches are
/// guessed wrong. Places behind the last hold zero times the first.
INLINE T MN(up_to_eight)(const level_job *g, const T *values, int64_t p, const H *x, const int64_t length) {
  const C *columns = (const C *)g->columns + p;
  values += p;
  T s = 0;
  UNROLL(8) for (int64_t q = 0; q < 8; ++q) {
    const int64_t at = q < length ? q : 0;
    const REAL keep = q < length ? 1 : 0;
    s = FN(mac)(s, FN(signed)(values[at], (REAL)g->sign) * keep, x[columns[at]]);
  }
  return s;
}

/// Row i of A x for one column. Lengths that grids have are distinguished, which spares the loop.
INLINE T MN(row_one)(const level_job *g, const T *values, int64_t i, const H *x) {
  const O *offsets = g->offsets;
  int64_t p = offsets[i], length = offsets[i + 1] - p;
  if (g->asks) {
    __builtin_prefetch(values + p + LEVEL_AHEAD, 0, 0);
    __builtin_prefetch((const C *)g->columns + p + LEVEL_AHEAD, 0, 0);
  }
  if (g->is_ragged && length > 0) {
    T s = 0;
    for (; length > 8; p += 8, length -= 8) s += MN(few)(g, values, p, x, 8);
    return s + MN(up_to_eight)(g, values, p, x, length);
  }
  switch (length) {
    case 3:
      return MN(few)(g, values, p, x, 3);
    case 4:
      return MN(few)(g, values, p, x, 4);
    case 5:
      return MN(few)(g, values, p, x, 5);
    case 6:
      return MN(few)(g, values, p, x, 6);
    case 7:
      return MN(few)(g, values, p, x, 7);
    case 8:
      return MN(few)(g, values, p, x, 8);
    case 9:
      return MN(few)(g, values, p, x, 9);
    default: {
      T s = 0;
      for (int64_t q = p; q < p + length; ++q) {
        s = FN(mac)(s, FN(signed)(values[q], (REAL)g->sign), x[((const C *)g->columns)[q]]);
      }
      return s;
    }
  }
}

/// s = columns [0, m) of row i of op(A) x, where x is that of the first such column.
INLINE void MN(row)(const level_job *g, const bool gathers, const T *values, int64_t i, const H *x, const int64_t k,
                    const int m, T *s) {
  const O *offsets = g->offsets, *slots = g->slots;
  const C *columns = g->columns;
  const REAL sign = (REAL)g->sign;
  if (k == 1 && !gathers) {
    s[0] = MN(row_one)(g, values, i, x);
    return;
  }
  UNROLL(8) for (int c = 0; c < m; ++c) s[c] = 0;
  for (int64_t p = offsets[i], end = offsets[i + 1]; p < end; ++p) {
    T a = FN(signed)(values[gathers ? slots[p] : p], sign);
    const H *row = x + columns[p] * k;
    UNROLL(8) for (int c = 0; c < m; ++c) s[c] = FN(mac)(s[c], a, row[c]);
  }
}

/// s[r, c] = column j + c of rows [i, i + count) of op(A) x: a slice, the last rows of one, or a single row.
INLINE void MN(rows)(const level_job *g, const int way, int64_t i, int64_t count, const int64_t k, int64_t j,
                     const int m, T *s) {
  const H *x = (const H *)g->x + j;
  const T *values = g->values;
  if (way == LEVEL_SLICES) {
    const int32_t *list = g->lists + g->firsts[i / LAC_SLICE];
    const T *own = (const T *)g->x + i * k + j;  // coarse levels have numbers of one kind
    values += g->slice_starts[i / LAC_SLICE];
    if (*list > 0) {
      if (k == 1) {
        FN(slice)(g, values, list, own, s);
      } else {
        FN(slice_columns)(g, values, list, own, k, m, s);
      }
      return;
    }
    values -= ((const O *)g->offsets)[i];
  }
  for (int64_t r = 0; r < count; ++r) MN(row)(g, way == LEVEL_SLOTS, values, i + r, x, k, m, s + r * m);
}

/// s = columns [j, j + m) of rows [i, i + count) of the scaled b - op(A) x.
INLINE void MN(residuals)(const level_job *g, const int way, int64_t i, int64_t count, const int64_t k, int64_t j,
                          const int m, T *s) {
  const T *b = (const T *)g->b + i * k + j;
  const REAL unit = (REAL)g->unit;
  MN(rows)(g, way, i, count, k, j, m, s);
  for (int64_t r = 0; r < count; ++r) {
    UNROLL(8) for (int c = 0; c < m; ++c) {
      s[r * m + c] = b[r * k + c] * (g->in_scale ? (REAL)g->in_scale[j + c] : 1) - unit * s[r * m + c];
    }
  }
}

INLINE H MN(weight)(const level_job *g, const void *weights, int64_t i) {
  return HN(signed)(((const H *)weights)[i], (HN(real))g->sign);
}

/// y = P^T (b - A x), z = next_weights y
INLINE void MN(restrict_all)(const level_job *g, int64_t begin, int64_t end, const int64_t k, const int way) {
  const int32_t *starts = g->starts, *members = g->members;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < k; j += LEVEL_COLUMNS) {
      const int m = k - j < LEVEL_COLUMNS ? (int)(k - j) : LEVEL_COLUMNS;
      T sum[LEVEL_COLUMNS] = {0}, s[LEVEL_COLUMNS] = {0};

      for (int32_t q = starts[i]; q < starts[i + 1]; ++q) {
        MN(residuals)(g, way == LEVEL_SLOTS ? LEVEL_SLOTS : LEVEL_ROWS, members[q], 1, k, j, m, s);  // never in slices
        UNROLL(8) for (int c = 0; c < m; ++c) sum[c] += s[c];
      }
      H *y = (H *)g->y + i * k + j, *z = g->z;
      UNROLL(8) for (int c = 0; c < m; ++c) {
        y[c] = (H)sum[c];
        if (z) z[i * k + j + c] = HN(mul)(MN(weight)(g, g->next_weights, i), y[c]);
      }
    }
  }
}

/// z = b - A x
INLINE void MN(remain_some)(const level_job *g, int64_t i, int64_t count, const int64_t k, int64_t j, const int m,
                            const int way) {
  T s[LAC_SLICE * LEVEL_COLUMNS], *z = (T *)g->z + i * k + j;
  MN(residuals)(g, way, i, count, k, j, m, s);
  for (int64_t r = 0; r < count; ++r) {
    UNROLL(8) for (int c = 0; c < m; ++c) z[r * k + c] = s[r * m + c];
  }
}

/// z = (x + weights (b - A x)) out_scale
INLINE void MN(smooth_some)(const level_job *g, int64_t i, int64_t count, const int64_t k, int64_t j, const int m,
                            const int way) {
  const H *x = (const H *)g->x + i * k + j;
  T s[LAC_SLICE * LEVEL_COLUMNS], *z = (T *)g->z + i * k + j;
  MN(residuals)(g, way, i, count, k, j, m, s);
  for (int64_t r = 0; r < count; ++r) {
    const T w = MN(weight)(g, g->weights, i + r);
    UNROLL(8) for (int c = 0; c < m; ++c) {
      z[r * k + c] = FN(mac)(x[r * k + c], w, s[r * m + c]) * (g->out_scale ? (REAL)g->out_scale[j + c] : 1);
    }
  }
}

/// The sum of conj(a) b over `count` rows, at most LAC_SLICE, in eight parts: one after another they would wait for
/// each other.
INLINE FN(acc) MN(dot)(const T *a, const int64_t a_stride, const T *b, const int64_t b_stride, const int64_t count) {
  FN(acc) parts[8] = {0};
  int64_t r = 0;
  for (; r + 8 <= count; r += 8) {
    for (int q = 0; q < 8; ++q) {
      parts[q] = FN(mac_acc)(parts[q], FN(conj)(a[(r + q) * a_stride]), b[(r + q) * b_stride]);
    }
  }
  for (; r < count; ++r) parts[r % 8] = FN(mac_acc)(parts[r % 8], FN(conj)(a[r * a_stride]), b[r * b_stride]);
  return ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]));
}

/// y = A x, with the inner products of t = x or A x: <t, A x>, <t, b>, <t, c>. x has the numbers of the level, T.
INLINE void MN(product_some)(const level_job *g, int64_t i, int64_t count, const int64_t k, int64_t j, const int m,
                             const int way) {
  FN(acc) *sums = (FN(acc) *)g->sums + j;
  T s[LAC_SLICE * LEVEL_COLUMNS];
  MN(rows)(g, way, i, count, k, j, m, s);
  for (int c = 0; c < m; ++c) {
    const int64_t at = i * k + j + c;
    const T *here = s + c, *t = g->of_image ? here : (const T *)g->x + at;
    const int64_t stride = g->of_image ? m : k;
    sums[c] += MN(dot)(t, stride, here, m, count);
    sums[k + c] += MN(dot)(t, stride, (const T *)g->b + at, k, count);
    if (g->c) sums[2 * k + c] += MN(dot)(t, stride, (const T *)g->c + at, k, count);
    if (g->y) {
      for (int64_t r = 0; r < count; ++r) ((T *)g->y)[at + r * k] = here[r * m];
    }
  }
}

/// Rows in groups of LAC_SLICE: blocks begin with one.
#define IN_GROUPS(name)                                                                                        \
  INLINE void MN(name##_all)(const level_job *g, int64_t begin, int64_t end, const int64_t k, const int way) { \
    for (int64_t i = begin; i < end; i += LAC_SLICE) {                                                         \
      const int64_t count = end - i < LAC_SLICE ? end - i : LAC_SLICE;                                         \
      for (int64_t j = 0; j < k; j += LEVEL_COLUMNS) {                                                         \
        const int m = k - j < LEVEL_COLUMNS ? (int)(k - j) : LEVEL_COLUMNS;                                    \
        MN(name##_some)(g, i, count, k, j, m, way);                                                            \
      }                                                                                                        \
    }                                                                                                          \
  }
IN_GROUPS(remain)
IN_GROUPS(smooth)
IN_GROUPS(product)

/// One column is what counts most.
#define KERNEL(name)                                                          \
  static void MN(name)(const level_job *shared, int64_t begin, int64_t end) { \
    const level_job g = *shared;                                              \
    if (g.k > 1 || g.way == LEVEL_SLOTS) {                                    \
      MN(name##_all)(&g, begin, end, g.k, g.way);                             \
    } else if (g.way == LEVEL_SLICES) {                                       \
      MN(name##_all)(&g, begin, end, 1, LEVEL_SLICES);                        \
    } else {                                                                  \
      MN(name##_all)(&g, begin, end, 1, LEVEL_ROWS);                          \
    }                                                                         \
  }
KERNEL(restrict)
KERNEL(remain)
KERNEL(smooth)
KERNEL(product)

/// The sum of the sizes of `length` entries of row i, and its diagonal entry.
INLINE double MN(sizes)(const level_job *g, int64_t i, int64_t p, const int64_t length, T *own) {
  const C *columns = (const C *)g->columns + p;
  const T *values = (const T *)g->values + p;
  double sum = 0;
  UNROLL(8) for (int64_t q = 0; q < length; ++q) {
    sum += g->unit * FN(abs)(values[q]);
    *own = columns[q] == i ? values[q] : *own;
  }
  return sum;
}

/// weights = omega conj(phase a_ii) / max(|a_ii|, sum_j |a_ij| / 2); small ones of narrow numbers do not overflow
static void MN(weigh)(const level_job *shared, int64_t begin, int64_t end) {
  const level_job local = *shared, *g = &local;
  const O *offsets = g->offsets;
  H *weights = g->y;
  const double omega = *(const double *)g->c, most = sizeof(HN(real)) == sizeof(f32) ? 1e30 : 1e300;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t p = offsets[i], length = offsets[i + 1] - p;
    T own = 0;
    __builtin_prefetch((const T *)g->values + p + LEVEL_AHEAD, 0, 3);
    __builtin_prefetch((const C *)g->columns + p + LEVEL_AHEAD, 0, 3);
    const double sum = length == 5   ? MN(sizes)(g, i, p, 5, &own)
                       : length == 7 ? MN(sizes)(g, i, p, 7, &own)
                                     : MN(sizes)(g, i, p, length, &own);
    const double diagonal = g->unit * FN(abs)(own), d = diagonal > sum / 2 ? diagonal : sum / 2;
    const double share = omega / d, w = d > 0 ? (share < most ? share : most) : 0;
    if (!FN(has_imag)) {
      weights[i] = HN(make)(FN(re)(own) < 0 ? -w : w, 0);
    } else {
      const double re = diagonal > 0 ? g->unit * FN(re)(own) / diagonal : 1;
      const double im = diagonal > 0 ? -g->unit * FN(im)(own) / diagonal : 0;
      weights[i] = HN(make)(w * re, w * im);
    }
  }
}

#undef KERNEL
#undef IN_GROUPS
#undef REAL

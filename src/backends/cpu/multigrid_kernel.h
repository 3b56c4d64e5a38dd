// SPDX-License-Identifier: Apache-2.0
// Passes over the matrix of a level. Products are summed in T, from a row's first entry to its last.

#define REAL FN(real)

/// The sum of `length` entries, a constant to the compiler, from entry p on.
INLINE T MN(few)(const grid_job *g, int64_t p, const H *x, const int length) {
  const C *columns = (const C *)g->columns + p;
  const T *values = (const T *)g->values + p;
  T s = 0;
  UNROLL(12) for (int q = 0; q < length; ++q) s = FN(mac)(s, FN(signed)(values[q], (REAL)g->sign), x[columns[q]]);
  return s;
}

/// The sum of 1 to 8 entries without a branch on how many there are: where that changes from row to row, branches are guessed wrong. Places
/// behind the last hold zero times the first.
INLINE T MN(up_to_eight)(const grid_job *g, int64_t p, const H *x, const int64_t length) {
  const C *columns = (const C *)g->columns + p;
  const T *values = (const T *)g->values + p;
  T s = 0;
  UNROLL(8) for (int64_t q = 0; q < 8; ++q) {
    const int64_t at = q < length ? q : 0;
    const REAL keep = q < length ? 1 : 0;
    s = FN(mac)(s, FN(signed)(values[at], (REAL)g->sign) * keep, x[columns[at]]);
  }
  return s;
}

/// Row i of A x for one column. Lengths that grids have are told apart, which spares the loop.
INLINE T MN(row_one)(const grid_job *g, int64_t i, const H *x) {
  const O *offsets = g->offsets;
  int64_t p = offsets[i], length = offsets[i + 1] - p;
  if (g->asks) {
    __builtin_prefetch((const T *)g->values + p + GRID_AHEAD, 0, 0);
    __builtin_prefetch((const C *)g->columns + p + GRID_AHEAD, 0, 0);
  }
  if (g->is_ragged && length > 0) {
    T s = 0;
    for (; length > 8; p += 8, length -= 8) s += MN(few)(g, p, x, 8);
    return s + MN(up_to_eight)(g, p, x, length);
  }
  switch (length) {
    case 3:
      return MN(few)(g, p, x, 3);
    case 4:
      return MN(few)(g, p, x, 4);
    case 5:
      return MN(few)(g, p, x, 5);
    case 6:
      return MN(few)(g, p, x, 6);
    case 7:
      return MN(few)(g, p, x, 7);
    case 8:
      return MN(few)(g, p, x, 8);
    case 9:
      return MN(few)(g, p, x, 9);
    default: {
      T s = 0;
      for (int64_t q = p; q < p + length; ++q) {
        s = FN(mac)(s, FN(signed)(((const T *)g->values)[q], (REAL)g->sign), x[((const C *)g->columns)[q]]);
      }
      return s;
    }
  }
}

/// s = columns [0, m) of row i of op(A) x, where x is that of the first such column.
INLINE void MN(row)(const grid_job *g, const bool gathers, int64_t i, const H *x, const int64_t k, const int m, T *s) {
  const O *offsets = g->offsets, *slots = g->slots;
  const C *columns = g->columns;
  const T *values = g->values;
  const REAL sign = (REAL)g->sign;
  if (k == 1 && !gathers) {
    s[0] = MN(row_one)(g, i, x);
    return;
  }
  UNROLL(8) for (int c = 0; c < m; ++c) s[c] = 0;
  for (int64_t p = offsets[i], end = offsets[i + 1]; p < end; ++p) {
    T a = FN(signed)(values[gathers ? slots[p] : p], sign);
    const H *row = x + columns[p] * k;
    UNROLL(8) for (int c = 0; c < m; ++c) s[c] = FN(mac)(s[c], a, row[c]);
  }
}

/// s = columns [j, j + m) of row i of the scaled b - op(A) x.
INLINE void MN(residual)(const grid_job *g, const bool gathers, int64_t i, const int64_t k, int64_t j, const int m,
                         T *s) {
  const T *b = (const T *)g->b + i * k + j;
  const REAL unit = (REAL)g->unit;
  MN(row)(g, gathers, i, (const H *)g->x + j, k, m, s);
  UNROLL(8) for (int c = 0; c < m; ++c) { s[c] = b[c] * (g->in_scale ? (REAL)g->in_scale[j + c] : 1) - unit * s[c]; }
}

INLINE H MN(weight)(const grid_job *g, const void *weights, int64_t i) {
  return HN(signed)(((const H *)weights)[i], (HN(real))g->sign);
}

/// y = P^T (b - A x), z = next_weights y
INLINE void MN(restrict_all)(const grid_job *g, int64_t begin, int64_t end, const int64_t k, const bool gathers) {
  const int32_t *starts = g->starts, *members = g->members;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < k; j += GRID_COLUMNS) {
      const int m = k - j < GRID_COLUMNS ? (int)(k - j) : GRID_COLUMNS;
      T sum[GRID_COLUMNS] = {0}, s[GRID_COLUMNS] = {0};

      for (int32_t q = starts[i]; q < starts[i + 1]; ++q) {
        MN(residual)(g, gathers, members[q], k, j, m, s);
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
INLINE void MN(remain_all)(const grid_job *g, int64_t begin, int64_t end, const int64_t k, const bool gathers) {
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < k; j += GRID_COLUMNS) {
      const int m = k - j < GRID_COLUMNS ? (int)(k - j) : GRID_COLUMNS;
      T s[GRID_COLUMNS] = {0}, *z = (T *)g->z + i * k + j;
      MN(residual)(g, gathers, i, k, j, m, s);
      UNROLL(8) for (int c = 0; c < m; ++c) z[c] = s[c];
    }
  }
}

/// z = (x + weights (b - A x)) out_scale
INLINE void MN(smooth_all)(const grid_job *g, int64_t begin, int64_t end, const int64_t k, const bool gathers) {
  for (int64_t i = begin; i < end; ++i) {
    const T w = MN(weight)(g, g->weights, i);
    for (int64_t j = 0; j < k; j += GRID_COLUMNS) {
      const int m = k - j < GRID_COLUMNS ? (int)(k - j) : GRID_COLUMNS;
      const H *x = (const H *)g->x + i * k + j;
      T s[GRID_COLUMNS] = {0}, *z = (T *)g->z + i * k + j;
      MN(residual)(g, gathers, i, k, j, m, s);
      UNROLL(8) for (int c = 0; c < m; ++c) {
        z[c] = FN(mac)(x[c], w, s[c]) * (g->out_scale ? (REAL)g->out_scale[j + c] : 1);
      }
    }
  }
}

/// y = A x, with the inner products of t = x or A x: <t, A x>, <t, b>, <t, c>
INLINE void MN(product_all)(const grid_job *g, int64_t begin, int64_t end, const int64_t k, const bool gathers) {
  FN(acc) *sums = g->sums;
  memset(sums, 0, (size_t)(3 * k) * sizeof *sums);
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < k; j += GRID_COLUMNS) {
      const int m = k - j < GRID_COLUMNS ? (int)(k - j) : GRID_COLUMNS;
      const int64_t at = i * k + j;
      T s[GRID_COLUMNS] = {0};
      MN(row)(g, gathers, i, (const H *)g->x + j, k, m, s);
      UNROLL(8) for (int c = 0; c < m; ++c) {
        T t = FN(conj)(g->of_image ? s[c] : (T)((const H *)g->x)[at + c]);
        sums[j + c] = FN(mac_acc)(sums[j + c], t, s[c]);
        sums[k + j + c] = FN(mac_acc)(sums[k + j + c], t, ((const T *)g->b)[at + c]);
        if (g->c) sums[2 * k + j + c] = FN(mac_acc)(sums[2 * k + j + c], t, ((const T *)g->c)[at + c]);
        if (g->y) ((T *)g->y)[at + c] = s[c];
      }
    }
  }
}

#define KERNEL(name)                                                         \
  static void MN(name)(const grid_job *shared, int64_t begin, int64_t end) { \
    const grid_job g = *shared;                                              \
    if (g.k == 1 && !g.gathers) {                                            \
      MN(name##_all)(&g, begin, end, 1, false);                              \
    } else if (g.gathers) {                                                  \
      MN(name##_all)(&g, begin, end, g.k, true);                             \
    } else {                                                                 \
      MN(name##_all)(&g, begin, end, g.k, false);                            \
    }                                                                        \
  }
KERNEL(restrict)
KERNEL(remain)
KERNEL(smooth)
KERNEL(product)

/// weights = omega conj(phase a_ii) / max(|a_ii|, sum_j |a_ij| / 2); small ones of narrow numbers do not overflow
static void MN(weigh)(const grid_job *g, int64_t begin, int64_t end) {
  const O *offsets = g->offsets;
  const C *columns = g->columns;
  const T *values = g->values;
  H *weights = g->y;
  const double omega = *(const double *)g->c, most = sizeof(HN(real)) == sizeof(f32) ? 1e30 : 1e300;
  for (int64_t i = begin; i < end; ++i) {
    double sum = 0, diagonal = 0;
    c128 phase = 1;
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
      double size = g->unit * (FN(has_imag) ? hypot((double)FN(re)(values[p]), (double)FN(im)(values[p]))
                                            : fabs((double)FN(re)(values[p])));
      sum += size;
      if (columns[p] != i || size == 0) continue;
      diagonal = size;
      phase = PAIR(g->unit * FN(re)(values[p]) / size, -g->unit * FN(im)(values[p]) / size);
    }
    double d = diagonal > sum / 2 ? diagonal : sum / 2, w = d > 0 ? omega / d : 0;
    if (w > most) w = most;
    weights[i] = HN(make)(w * creal(phase), w * cimag(phase));
  }
}

#undef KERNEL
#undef REAL

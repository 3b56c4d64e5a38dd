// SPDX-License-Identifier: Apache-2.0
// Rows of a slice that lie on diagonals (lac_slices). Sums as in pairwise_kernel.h: entry by entry and in T.

#define REAL FN(real)

/// s += the sums over `count` diagonals, a constant to the compiler; x is that of the first row.
INLINE void FN(diagonals)(const level_job *g, const T *values, const int32_t *shifts, const T *x, const int count,
                          T *s) {
  const T *from[9];
  UNROLL(9) for (int q = 0; q < count; ++q) from[q] = x + shifts[q];
  for (int r = 0; r < LAC_SLICE; ++r) {
    T t = s[r];
    UNROLL(9)
    for (int q = 0; q < count; ++q) {
      t = FN(mac)(t, FN(signed)(values[r + q * LAC_SLICE], (REAL)g->sign), from[q][r]);
    }
    s[r] = t;
  }
}

/// A slice for one column. Counts that grids have are told apart.
static void FN(slice)(const level_job *g, const T *values, const int32_t *list, const T *x, T *s) {
  const int32_t *shifts = list + 1;
  int count = *list;
  for (int r = 0; r < LAC_SLICE; ++r) s[r] = 0;
  switch (count) {
    case 5:
      FN(diagonals)(g, values, shifts, x, 5, s);
      return;
    case 7:
      FN(diagonals)(g, values, shifts, x, 7, s);
      return;
    case 9:
      FN(diagonals)(g, values, shifts, x, 9, s);
      return;
    default:
      for (; count >= 4; count -= 4, shifts += 4, values += 4 * LAC_SLICE) FN(diagonals)(g, values, shifts, x, 4, s);
      for (; count > 0; --count, ++shifts, values += LAC_SLICE) FN(diagonals)(g, values, shifts, x, 1, s);
  }
}

/// s[r, c] = columns [0, m) of a slice; x is that of the first row.
static void FN(slice_columns)(const level_job *g, const T *values, const int32_t *list, const T *x, const int64_t k,
                              const int m, T *s) {
  for (int r = 0; r < LAC_SLICE; ++r, ++values, x += k, s += m) {
    UNROLL(8) for (int c = 0; c < m; ++c) s[c] = 0;
    for (int q = 0; q < *list; ++q) {
      const T a = FN(signed)(values[q * LAC_SLICE], (REAL)g->sign), *row = x + list[1 + q] * k;
      UNROLL(8) for (int c = 0; c < m; ++c) s[c] = FN(mac)(s[c], a, row[c]);
    }
  }
}

#undef REAL

// SPDX-License-Identifier: Apache-2.0
// The text of coarse.c, for one dtype T (core/numbers/instantiate.h). W: the accumulators, in which all is done.

#define W FN(acc)
#define ABS(x) fabs((double)creal(x)) + fabs((double)cimag(x))

INLINE double FN(coarse_size)(W x) { return ABS(x); }
INLINE W FN(coarse_conj)(W x) { return (W)conj(x); }

static void FN(coarse_dense)(const lac_pattern *pattern, const void *values, void *dense) {
  const T *a = values;
  W *d = dense;
  int64_t b = pattern->br, n = pattern->rows * b;
  memset(d, 0, (size_t)(n * n) * sizeof *d);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t p = lac_buffer_get(pattern->offsets, i / b); p < lac_buffer_get(pattern->offsets, i / b + 1); ++p) {
      W *to = d + i * n + lac_buffer_get(pattern->columns, p) * b;
      for (int64_t j = 0; j < b; ++j) to[j] += a[(p * b + i % b) * b + j];
    }
  }
}

/// Column k of L, below its pivot, and what it takes from the rows behind; row k becomes that of U.
static void FN(coarse_eliminate)(int64_t n, int64_t k, W *d, double pivot) {
  for (int64_t i = k + 1; i < n; ++i) d[k * n + i] = FN(coarse_conj)(d[i * n + k]);
  for (int64_t i = k + 1; i < n; ++i) {
    W l = d[i * n + k] / pivot;
    const W *restrict from = d + k * n;
    W *restrict to = d + i * n;
    for (int64_t j = k + 1; j <= i; ++j) to[j] -= l * from[j];
    to[k] = l;
  }
}

/// L D L^H from the lower triangle; false where a pivot is negative, or zero in a column of other entries.
static bool FN(coarse_hermitian)(int64_t n, double share, void *dense) {
  W *d = dense;
  for (int64_t k = 0; k < n; ++k) {
    double before = 0, pivot = (double)creal(d[k * n + k]), below = 0;
    for (int64_t j = 0; j < k; ++j) before += FN(coarse_size)(d[k * n + j]) * FN(coarse_size)(d[j * n + k]);
    before += fabs(pivot);
    for (int64_t i = k + 1; i < n; ++i) below = fmax(below, FN(coarse_size)(d[i * n + k]));
    double rounding = share * before;
    if (pivot > rounding) {
      d[k * n + k] = pivot;
      FN(coarse_eliminate)(n, k, d, pivot);
    } else if (fabs(pivot) <= rounding && below <= 10 * rounding) {
      for (int64_t i = k; i < n; ++i) d[k * n + i] = d[i * n + k] = 0;
    } else {
      return false;
    }
  }
  return true;
}

INLINE void FN(coarse_swap)(W *x, W *y) {
  W z = *x;
  *x = *y, *y = z;
}

/// The largest entry behind k goes to (k, k); returns its size.
static double FN(coarse_pivot)(int64_t n, int64_t k, W *d, int64_t *rows, int64_t *cols) {
  int64_t row = k, col = k, index = 0;
  double most = -1;
  for (int64_t i = k; i < n; ++i) {
    for (int64_t j = k; j < n; ++j) {
      double size = FN(coarse_size)(d[i * n + j]);
      if (size > most) most = size, row = i, col = j;
    }
  }
  for (int64_t j = 0; j < n; ++j) FN(coarse_swap)(&d[row * n + j], &d[k * n + j]);
  for (int64_t i = 0; i < n; ++i) FN(coarse_swap)(&d[i * n + col], &d[i * n + k]);
  index = rows[k], rows[k] = rows[row], rows[row] = index;
  index = cols[k], cols[k] = cols[col], cols[col] = index;
  return most;
}

/// L U with the largest pivots; what is left when none is more than rounding counts as zero.
static void FN(coarse_pivoted)(int64_t n, double share, void *dense, int64_t *rows, int64_t *cols) {
  W *d = dense;
  double first = 0;
  for (int64_t k = 0; k < n; ++k) {
    double most = FN(coarse_pivot)(n, k, d, rows, cols);
    if (k == 0) first = most;
    bool vanishes = !(most > share * first);
    for (int64_t i = k + 1; i < n; ++i) {
      W l = vanishes ? 0 : d[i * n + k] / d[k * n + k];
      const W *restrict from = d + k * n;
      W *restrict to = d + i * n;
      for (int64_t j = k + 1; j < n && !vanishes; ++j) to[j] -= l * from[j];
      to[k] = l;
    }
    for (int64_t j = k; j < n && vanishes; ++j) d[k * n + j] = 0;
  }
}

/// y_i -= a y_j, for k columns that lie side by side.
INLINE void FN(coarse_take)(const int64_t k, W a, const W *y_j, W *y_i) {
  for (int64_t c = 0; c < k; ++c) y_i[c] -= a * y_j[c];
}

INLINE void FN(coarse_divide)(const int64_t k, W by, W *y) {
  for (int64_t c = 0; c < k; ++c) y[c] = by == 0 ? 0 : y[c] / by;
}

/// y = U^-1 L^-1 y
INLINE void FN(coarse_forward)(int64_t n, const int64_t k, const W *d, W *y) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) FN(coarse_take)(k, d[i * n + j], y + j * k, y + i * k);
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t j = i + 1; j < n; ++j) FN(coarse_take)(k, d[i * n + j], y + j * k, y + i * k);
    FN(coarse_divide)(k, d[i * n + i], y + i * k);
  }
}

/// y = L^-H U^-H y
INLINE void FN(coarse_adjoint)(int64_t n, const int64_t k, const W *d, W *y) {
  for (int64_t i = 0; i < n; ++i) {
    FN(coarse_divide)(k, FN(coarse_conj)(d[i * n + i]), y + i * k);
    for (int64_t j = i + 1; j < n; ++j) FN(coarse_take)(k, FN(coarse_conj)(d[i * n + j]), y + i * k, y + j * k);
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t j = 0; j < i; ++j) FN(coarse_take)(k, FN(coarse_conj)(d[i * n + j]), y + i * k, y + j * k);
  }
}

/// The same for either; `k` is a constant in most places.
INLINE void FN(coarse_some)(int64_t n, bool adjoint, const int64_t k, const W *d, W *y) {
  if (adjoint) FN(coarse_adjoint)(n, k, d, y);
  if (!adjoint) FN(coarse_forward)(n, k, d, y);
}

static void FN(coarse_identity)(int64_t n, void *x) {
  T *to = x;
  for (int64_t i = 0; i < n * n; ++i) to[i] = i % (n + 1) == 0;
}

static void FN(coarse_columns)(const lac_coarse *c, int64_t item, bool adjoint, int64_t k, const void *b, void *x,
                               void *work) {
  int64_t n = c->n;
  const W *d = (const W *)c->factors + item * n * n;
  const int64_t *rows = (adjoint ? c->cols : c->rows) + item * n, *cols = (adjoint ? c->rows : c->cols) + item * n;
  const T *from = b;
  T *to = x;
  for (int64_t j = 0; j < k; j += COARSE_COLUMNS) {
    const int64_t some = k - j < COARSE_COLUMNS ? k - j : COARSE_COLUMNS;
    W *y = (W *)work + j * n;
    for (int64_t i = 0; i < n * some; ++i) y[i] = from[rows[i / some] * k + j + i % some];
    if (some == COARSE_COLUMNS) FN(coarse_some)(n, adjoint, COARSE_COLUMNS, d, y);
    if (some == 1) FN(coarse_some)(n, adjoint, 1, d, y);
    if (some > 1 && some < COARSE_COLUMNS) FN(coarse_some)(n, adjoint, some, d, y);
  }
  for (int64_t j = 0; j < k; j += COARSE_COLUMNS) {
    const int64_t some = k - j < COARSE_COLUMNS ? k - j : COARSE_COLUMNS;
    const W *y = (const W *)work + j * n;
    for (int64_t i = 0; i < n * some; ++i) to[cols[i / some] * k + j + i % some] = (T)y[i];
  }
}

#undef W
#undef ABS

// SPDX-License-Identifier: Apache-2.0
// LU inside a band for one dtype (band_lu.h). A text for others to include, once for each dtype.

/// A[i, j] for all of row i: element j - i.
INLINE T *FN(band_row)(const lac_band_lu *f, int64_t i) {
  return (T *)f->numbers + i * lac_band_lu_width(f->lower, f->upper) + f->lower;
}

/// How many rows have multipliers of column k.
INLINE int64_t FN(band_below)(const lac_band_lu *f, int64_t k) {
  return f->lower < f->n - 1 - k ? f->lower : f->n - 1 - k;
}

/// How far below the diagonal the largest number of column k is, and its size.
static int64_t FN(band_choose)(const lac_band_lu *f, int64_t k, double *size) {
  int64_t pivot = 0, below = FN(band_below)(f, k);
  *size = FN(size)(FN(band_row)(f, k)[0]);
  for (int64_t i = 1; i <= below; i++) {
    double candidate = FN(size)(FN(band_row)(f, k + i)[-i]);
    if (candidate > *size) *size = candidate, pivot = i;
  }
  return pivot;
}

static void FN(band_swap)(const lac_band_lu *f, int64_t k, int64_t pivot, int64_t end) {
  T *a = FN(band_row)(f, k), *b = FN(band_row)(f, k + pivot) - pivot;
#pragma omp simd
  for (int64_t j = 0; j <= end; j++) {
    T value = a[j];
    a[j] = b[j], b[j] = value;
  }
}

/// Short rows are not worth a loop in lanes.
INLINE void FN(band_short)(int64_t end, const T *restrict from, T *restrict to) {
  const T factor = to[0];
  for (int64_t j = 1; j <= end; j++) to[j] -= factor * from[j];
}

INLINE void FN(band_one)(int64_t end, const T *restrict from, T *restrict to) {
  const T factor = to[0];
  if (factor == 0) return;
#pragma omp simd
  for (int64_t j = 1; j <= end; j++) to[j] -= factor * from[j];
}

/// Four rows at once read row k once.
INLINE void FN(band_four)(int64_t end, const T *restrict from, T *restrict a, T *restrict b, T *restrict c,
                          T *restrict d) {
  const T fa = a[0], fb = b[0], fc = c[0], fd = d[0];
#pragma omp simd
  for (int64_t j = 1; j <= end; j++) {
    const T x = from[j];
    a[j] -= fa * x, b[j] -= fb * x, c[j] -= fc * x, d[j] -= fd * x;
  }
}

/// Row k times what eliminates column k, off the rows below it.
static void FN(band_eliminate)(lac_band_lu *f, int64_t k, int64_t end) {
  const T *from = FN(band_row)(f, k);
  int64_t below = FN(band_below)(f, k), step = lac_band_lu_width(f->lower, f->upper) - 1, i = 0, taken = 0;
  T *to = FN(band_row)(f, k) + step;
  for (i = 0; i < below; i++) {
    to[i * step] = FN(div)(to[i * step], from[0]);
    taken += to[i * step] != 0;
  }
  f->flops += (double)(taken * end);
  for (i = 0; i < below && end < BAND_LU_SHORT; i++, to += step) FN(band_short)(end, from, to);
  for (; i + 4 <= below; i += 4, to += 4 * step) {
    FN(band_four)(end, from, to, to + step, to + 2 * step, to + 3 * step);
  }
  for (; i < below; i++, to += step) FN(band_one)(end, from, to);
}

/// Row k of U and column k of L. Returns how far below the diagonal the pivot was, or -1: it is zero.
static int64_t FN(band_step)(lac_band_lu *f, int64_t k) {
  double size;
  int64_t pivot = FN(band_choose)(f, k, &size), end = k + pivot + f->upper;
  if (size == 0) return -1;
  if (!isfinite(size) && f->overflow < 0) f->overflow = k;
  if (size < f->smallest) f->smallest = size, f->where = k;
  if (end > f->reach) f->reach = end < f->n ? end : f->n - 1;
  if (pivot) FN(band_swap)(f, k, pivot, f->reach - k);
  FN(band_eliminate)(f, k, f->reach - k);
  return pivot;
}

// -- solves of `width` columns, x by rows: a constant to the compiler where the caller has one ------------------------

INLINE void FN(band_exchange)(T *x, int64_t k, int64_t l, const int64_t width) {
  for (int64_t c = 0; c < width && k != l; c++) {
    T value = x[k * width + c];
    x[k * width + c] = x[l * width + c];
    x[l * width + c] = value;
  }
}

/// x[to] -= factor x[from]
INLINE void FN(band_take)(T *x, int64_t to, T factor, int64_t from, const int64_t width) {
  T *target = x + to * width;
  const T *source = x + from * width;
#pragma omp simd
  for (int64_t c = 0; c < width; c++) target[c] -= factor * source[c];
}

INLINE void FN(band_divide)(T *x, int64_t k, T pivot, const int64_t width) {
  for (int64_t c = 0; c < width; c++) x[k * width + c] = FN(div)(x[k * width + c], pivot);
}

/// Step k of x = L^-1 P x, and of x = U^-1 x, row k of which ends that far behind the diagonal.
INLINE void FN(band_down)(const lac_band_lu *f, int64_t k, int64_t pivot, const int64_t width, T *x) {
  int64_t below = FN(band_below)(f, k);
  FN(band_exchange)(x, k, k + pivot, width);
  for (int64_t i = 1; i <= below; i++) FN(band_take)(x, k + i, FN(band_row)(f, k + i)[-i], k, width);
}

INLINE void FN(band_up)(const lac_band_lu *f, int64_t k, int64_t end, const int64_t width, T *x) {
  const T *u = FN(band_row)(f, k);
  for (int64_t j = 1; j <= end; j++) FN(band_take)(x, k, u[j], k + j, width);
  FN(band_divide)(x, k, u[0], width);
}

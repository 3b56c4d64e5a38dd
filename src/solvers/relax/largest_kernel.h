// SPDX-License-Identifier: Apache-2.0
// Numbers between the host's doubles and a dtype, and the start of the iteration (largest.c).

/// d^-1/2 of a diagonal, in place or not; false where it is not positive.
static bool FN(largest_root)(int64_t count, const void *from, void *to) {
  const T *d = from;
  T *root = to;
  for (int64_t i = 0; i < count; i++) {
    if (!(FN(re)(d[i]) > 0)) return false;
    root[i] = (T)(1 / sqrt((double)FN(re)(d[i])));
  }
  return true;
}

static void FN(largest_store)(int64_t count, const double *from, void *to) {
  T *x = to;
  for (int64_t i = 0; i < count; i++) x[i] = (T)from[i];
}

/// The real parts.
static void FN(largest_load)(int64_t count, const void *from, double *to) {
  const T *x = from;
  for (int64_t i = 0; i < count; i++) to[i] = FN(re)(x[i]);
}

/// The same for every item. No signs alone: a symmetric grid has vectors that are orthogonal to them.
static void FN(largest_start)(int64_t items, int64_t n, void *to) {
  T *x = to;
  for (int64_t i = 0; i < items * n; i++) x[i] = (T)lac_random_unit(LARGEST_SEED, (uint64_t)(i % n));
}

/// x becomes inverse y over its largest; returns the largest inverse y / x. A number that is not finite makes it infinite.
static double FN(largest_ratio)(int64_t n, const void *product, const double *inverse, double *x) {
  const T *y = product;
  double ratio = 0, most = 0;
  for (int64_t i = 0; i < n; i++) {
    double next = inverse[i] * (double)FN(re)(y[i]);
    if (!isfinite(next)) return INFINITY;
    ratio = fmax(ratio, next / x[i]);
    x[i] = next;
    most = fmax(most, next);
  }
  for (int64_t i = 0; i < n; i++) x[i] = fmax(x[i] / most, DBL_MIN);
  return ratio;
}

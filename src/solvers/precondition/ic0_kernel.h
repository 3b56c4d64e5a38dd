// SPDX-License-Identifier: Apache-2.0
// Reciprocals of real, positive pivots (ic0.c). Returns the first pivot that is rounding of its diagonal entry, or -1.

static int64_t FN(ic0_invert)(int64_t count, const void *pivots, const void *diagonal, void *to) {
  const T *d = pivots, *a = diagonal;
  T *inverse = to;
  for (int64_t i = 0; i < count; i++) {
    REAL pivot = FN(re)(d[i]);
    if (!(pivot > 8 * FN(epsilon) * FN(re)(a[i]) && pivot > 0)) return i;
    inverse[i] = 1 / pivot;
    if (!FN(finite)(inverse[i])) return i;
  }
  return -1;
}

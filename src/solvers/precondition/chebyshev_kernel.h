// SPDX-License-Identifier: Apache-2.0
// x / theta, a theta for each item of n numbers (chebyshev.c).

static void FN(chebyshev_scale)(int64_t items, int64_t n, const double *theta, void *opaque) {
  T *x = opaque;
  for (int64_t i = 0; i < items * n; i++) x[i] = (T)((WIDE)x[i] / theta[i / n]);
}

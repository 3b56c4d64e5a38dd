// SPDX-License-Identifier: Apache-2.0
/// @file tridiagonal.c
/// Implicit QL with Wilkinson's shift; of the vectors only the first row is carried along (Golub and Welsch 1969).

#include "solvers/eigen/tridiagonal.h"

#include <float.h>
#include <math.h>

enum { TRIDIAGONAL_SWEEPS = 60 };  // for one eigenvalue; two or three are usual

/// The end of the unreduced block that begins at l.
static int64_t block_end(int64_t n, int64_t l, const double *d, const double *e) {
  int64_t m = l;
  while (m + 1 < n && fabs(e[m]) > DBL_EPSILON * (fabs(d[m]) + fabs(d[m + 1])) / 2) m++;
  return m;
}

/// One sweep of rotations from m up to l, with the shift of the two rows at l.
static void tridiagonal_sweep(int64_t l, int64_t m, double *d, double *e, double *first) {
  double half = (d[l + 1] - d[l]) / (2 * e[l]), shift = d[l] - e[l] / (half + copysign(hypot(half, 1), half));
  double g = d[m] - shift, s = 1, c = 1, p = 0;
  for (int64_t i = m - 1; i >= l; i--) {
    double f = s * e[i], b = c * e[i], r = hypot(f, g);
    e[i + 1] = r;
    if (r == 0) {  // the block falls apart
      d[i + 1] -= p;
      e[m] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    double t = (d[i] - g) * s + 2 * c * b;
    p = s * t;
    d[i + 1] = g + p;
    g = c * t - b;
    if (first) {
      double z = first[i + 1];
      first[i + 1] = s * first[i] + c * z;
      first[i] = c * first[i] - s * z;
    }
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
}

bool lac_tridiagonal_eigen(int64_t n, double *diagonal, double *beside, double *first) {
  if (n > 0) beside[n - 1] = 0;
  for (int64_t i = 0; first && i < n; i++) first[i] = i == 0;
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(diagonal[i]) || !isfinite(beside[i])) return false;
  }
  for (int64_t l = 0; l < n; l++) {
    int sweeps = 0;
    for (int64_t m = block_end(n, l, diagonal, beside); m > l; m = block_end(n, l, diagonal, beside)) {
      if (sweeps++ == TRIDIAGONAL_SWEEPS) return false;
      tridiagonal_sweep(l, m, diagonal, beside, first);
    }
  }
  return true;
}

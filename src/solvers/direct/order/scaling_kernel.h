// SPDX-License-Identifier: Apache-2.0
// Scalings for one dtype; scaling.c has the equation. Included once for each.

#include "solvers/direct/order/equilibrate_kernel.h"

// a r c, where two of them alone may overflow or underflow and all three do not.
static inline T FN(scaled)(T a, REAL r, REAL c) { return (r > 1) == (c > 1) ? a * r * c : a * (r * c); }

// The exponent of the largest number of all, so that the scale of the matrix does not matter to the bit.
static int FN(scaling_exponent)(const lac_structure *s, const void *values) {
  const T *a = values;
  double largest = 0;
  for (int64_t p = 0; p < s->nnz; p++) {
    double size = FN(size)(a[p]);
    if (size > largest) largest = size;
  }
  return largest > 0 ? exponent_of(largest) : 0;
}

// The exponent of the largest a r c of a row, by the exponents alone: in a graded matrix the products may all
// underflow. INT_MIN: zeros.
static int FN(scaling_row_exponent)(const lac_structure *s, const T *a, const REAL *r, const REAL *c, int32_t i) {
  int largest = INT_MIN;
  for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
    double size = FN(size)(a[p]);
    if (!(size > 0)) continue;
    int own = exponent_of(size) + exponent_of(r[i]) + exponent_of(c[s->columns[p]]) - 2;  // that of 2^k is k + 1
    if (own > largest) largest = own;
  }
  return largest;
}

static int32_t FN(scaling_symmetric)(const lac_structure *s, const void *values, void *row_scale, void *col_scale) {
  const T *a = values;
  REAL *r = row_scale, *c = col_scale;
  int exponent = FN(scaling_exponent)(s, a), half = exponent / 2;
  bool is_even = false;
  for (int32_t i = 0; i < s->n; i++) r[i] = (REAL)ldexp(1, -half), c[i] = (REAL)ldexp(1, half - exponent);
  for (int round = 0; round < SCALING_ROUNDS && !is_even; round++) {
    is_even = true;
    for (int32_t i = 0; i < s->n; i++) {
      double largest = 0;
      for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
        double size = FN(size)(FN(scaled)(a[p], r[i], c[s->columns[p]]));
        if (size > largest) largest = size;
      }
      int own = largest > 0 ? exponent_of(largest) : FN(scaling_row_exponent)(s, a, r, c, i);
      if (own == INT_MIN) return i;
      r[i] = (REAL)ldexp(r[i], -(own / 2)), c[i] = (REAL)ldexp(c[i], -(own / 2));
      is_even = is_even && own / 2 == 0;
    }
  }
  return -1;
}

static void FN(scaling_apply)(const lac_structure *s, const void *values, const void *row_scale, const void *col_scale,
                              void *scaled) {
  const T *a = values;
  const REAL *r = row_scale, *c = col_scale;
  T *to = scaled;
  for (int32_t i = 0; i < s->n; i++) {
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) to[p] = FN(scaled)(a[p], r[i], c[s->columns[p]]);
  }
}

static lac_scaling_range FN(scaling_measure)(const lac_structure *s, const void *scaled, const int32_t *match) {
  const T *a = scaled;
  lac_scaling_range range = {.weakest = (double)INFINITY};
  for (int32_t i = 0; i < s->n; i++) {
    int32_t column = match ? match[i] : i;
    double own = 0;
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      double size = FN(size)(a[p]);
      if (s->columns[p] == column) own = size;
      range.largest = size > range.largest ? size : range.largest;
    }
    range.weakest = own < range.weakest ? own : range.weakest;
  }
  return range;
}

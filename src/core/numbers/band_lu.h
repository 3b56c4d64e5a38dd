// SPDX-License-Identifier: Apache-2.0
/// @file band_lu.h
/// LU with partial pivoting inside a band, in memory of the caller's:
///
///     L_n-1 P_n-1 ... L_0 P_0 A = U        P_k swaps the rows k and k + pivots[k]
///
/// Row i has the numbers of columns i - lower .. i + upper + lower one after another: the last `lower` are room for
/// what pivoting brings up, and zero before. Multipliers stay where they eliminated. The text for each dtype is
/// band_lu_kernel.h.

#ifndef LACUNA_CORE_BAND_LU_H
#define LACUNA_CORE_BAND_LU_H

#include <stdint.h>

typedef struct lac_band_lu {
  int64_t n, lower, upper;
  void *numbers;            // n rows of lac_band_lu_width: A, then L and U
  int32_t *pivots, *ends;   // n each, from the diagonal on: the row that was swapped; the last column of a row of U
  int64_t reach;            // the last column that a row so far has entries in
  double flops;             // multiply-adds
  double smallest;          // pivot, of those below what stands here before
  int64_t where, overflow;  // its column; the first column whose pivot is not finite, -1 before and where there is none
} lac_band_lu;

enum { BAND_LU_SHORT = 16 };  // numbers of a row

static inline int64_t lac_band_lu_width(int64_t lower, int64_t upper) { return 2 * lower + upper + 1; }

#endif

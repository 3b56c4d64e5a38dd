// SPDX-License-Identifier: Apache-2.0
/// @file survey.h
/// What the numbers of a matrix say about the method that it needs: finite? Hermitian? a positive diagonal? like an
/// M-matrix? diagonally dominant? And the bounds by which every backend judges.

#ifndef LACUNA_KERNELS_SURVEY_H
#define LACUNA_KERNELS_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

// How many roundings the two numbers of a Hermitian pair, a_ij and a_ji, may be apart: of the larger of them, or of the
// root of |a_ii a_jj|. They are often sums of the same terms in another order, and where such terms cancel, what is
// left is rounding of the terms: an assembled matrix has 1e-15 in one place and 0 in the other, with a diagonal of
// 100.
#define LAC_SURVEY_ROUNDINGS 8

// The largest share of positive numbers in the sum of off-diagonal sizes of an M-like matrix.
#define LAC_SURVEY_SHARE 0.05

/// Of all matrices of a batch. Slots and rows are the first offender of the first matrix that has one, or -1.
typedef struct lac_survey {
  int64_t nonfinite;     // slot of a NaN or an infinity; the others mean nothing then
  int64_t asymmetric;    // slot of an entry (i, j) that is not conj of (j, i), to a few roundings; 0 for a rectangle
  int64_t not_positive;  // row whose diagonal is not a positive number
  int64_t without;       // row whose diagonal is zero or not stored
  int64_t nonfinite_item, asymmetric_item, not_positive_item, without_item;
  bool is_unpaired;  // it is asymmetric because (j, i) is not stored
  bool is_m_like;    // real parts: a positive diagonal, and all but a small share of the off-diagonal sizes is negative
  // The largest ratio, over the rows, of the sum of off-diagonal sizes to the diagonal entry; below 1 rows dominate.
  // Where rows do not dominate, and the matrix is neither m_like nor Hermitian with a positive diagonal, a second pass
  // takes the columns if their ratio is smaller, and exact moduli of complex numbers in place of sizes that are up to
  // sqrt(2) too large.
  double dominance;
  // The size of the largest diagonal entry over that of the smallest, of the matrix where it is largest; 0: not known.
  double spread;
} lac_survey;

/// A survey of no numbers.
static inline lac_survey lac_survey_begin(void) {
  lac_survey s = {-1, -1, -1, -1, 0, 0, 0, 0, false, true, 0, 0};
  return s;
}

#endif

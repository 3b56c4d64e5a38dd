// SPDX-License-Identifier: Apache-2.0
/// @file banded.h
/// Banded matrices for references: ab[upper + i - j, j] = A[i, j].

#ifndef LACUNA_TESTS_BANDED_H
#define LACUNA_TESTS_BANDED_H

#include "support/dense.h"

typedef struct bands {
  int64_t lower, upper;
} bands;

/// The dense matrix of a band.
static inline dense dense_banded(int64_t rows, int64_t cols, bands b, const number *ab) {
  dense a = dense_new(rows, cols);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      if (i - j <= b.lower && j - i <= b.upper) a.x[i * cols + j] = ab[(b.upper + i - j) * cols + j];
    }
  }
  return a;
}

/// The band of a dense matrix, zero in the corners.
static inline void banded_of(dense a, bands b, number *ab) {
  for (int64_t r = 0; r <= b.lower + b.upper; ++r) {
    for (int64_t j = 0; j < a.cols; ++j) {
      int64_t i = j + r - b.upper;
      ab[r * a.cols + j] = i >= 0 && i < a.rows ? a.x[i * a.cols + j] : 0;
    }
  }
}

#endif

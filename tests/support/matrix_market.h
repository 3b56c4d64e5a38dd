// SPDX-License-Identifier: Apache-2.0
/// @file matrix_market.h
/// Real matrices for tests: the files of data/matrices, read by the library. Symmetric, Hermitian and skew-symmetric
/// storage is expanded, patterns have ones.

#ifndef LACUNA_TESTS_MATRIX_MARKET_H
#define LACUNA_TESTS_MATRIX_MARKET_H

#include <stdint.h>

typedef struct mm_matrix {
  int64_t rows, cols, count;
  int64_t *row, *col;  // from 0, by rows
  double *value;       // two for each entry: real and imaginary part
  int is_complex, is_pattern;
} mm_matrix;

/// Read data/matrices/<name>.mtx. A file that is missing, or cannot be understood, fails the test.
void mm_read(const char *name, mm_matrix *out);
void mm_free(mm_matrix *matrix);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file zoo.h
/// Families of matrices that are hard to judge: singular, nearly so, or only looking so; and what is true of a system,
/// in quadruple precision.

#ifndef LACUNA_TESTS_ZOO_H
#define LACUNA_TESTS_ZOO_H

#include <stdbool.h>

#include "support/random.h"

enum { ZOO_MOST = 48 };  // rows

/// A matrix of n x n, row by row. `unit` has numbers d_j such that d_j x_j are of like size whatever the scale of
/// columns.
typedef struct zoo_matrix {
  int64_t n;
  double full[ZOO_MOST * ZOO_MOST];
  double unit[ZOO_MOST];
} zoo_matrix;

typedef struct zoo_family {
  const char *name;
  bool is_hermitian;
  bool is_solvable;  // every solve must give digits, without a warning
  void (*fill)(random_state *r, zoo_matrix *a);
} zoo_family;

extern const zoo_family ZOO[];
extern const int ZOO_FAMILIES;

/// What is true of op(A) x = b.
typedef struct zoo_truth {
  double condition;  // || D |A^-1| |A| D^-1 ||_oo; infinite where A is singular
  double plain;      // || |A^-1| (|A| |x| + |b|) ||_oo / || x ||_oo: what rounding does to this x as it stands
  double x[ZOO_MOST];
  double logabs, sign;
} zoo_truth;

zoo_truth zoo_solve(const zoo_matrix *a, bool transposed, const double *b);

/// || D (x - y) ||_oo / || D y ||_oo; the units of A^T are those of its rows.
double zoo_error(const zoo_matrix *a, bool transposed, const double *x, const double *y);

/// A rectangle, row by row; rows + cols <= ZOO_MOST.
typedef struct zoo_rectangle {
  int64_t rows, cols;
  double full[ZOO_MOST * ZOO_MOST / 4];
} zoo_rectangle;

/// All of a matrix but the last `rows` and `cols`, one of which is 0, or with singular values from 1 to 10^-decades:
/// all but one of them 1, or evenly spread.
zoo_rectangle zoo_cut(const zoo_matrix *a, int64_t rows, int64_t cols);
zoo_rectangle zoo_spread(random_state *r, int64_t rows, int64_t cols, double decades, bool is_even);

/// What is true of the shortest x that minimises |A x - b|, in the units d of columns where there are as many rows,
/// else of rows.
typedef struct zoo_fit {
  double size;       // the largest of |x / d| and |b|, or of |x| and |d b|
  double condition;  // || |x of K^-1| (|K| |z| + |b|) ||_oo over that size, K z = b the system of x and the residual
  double spread;     // the largest over the smallest singular value, about; infinite where the rank is not full
  double x[ZOO_MOST];
} zoo_fit;

zoo_fit zoo_lstsq(const zoo_rectangle *a, const double *b);

/// The largest |x - y| in those units, over that size.
double zoo_fit_error(const zoo_rectangle *a, const zoo_fit *truth, const double *x);

#endif

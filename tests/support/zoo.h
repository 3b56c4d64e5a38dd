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
  double x[ZOO_MOST];
  double logabs, sign;
} zoo_truth;

zoo_truth zoo_solve(const zoo_matrix *a, bool transposed, const double *b);

/// || D (x - y) ||_oo / || D y ||_oo; the units of A^T are those of its rows.
double zoo_error(const zoo_matrix *a, bool transposed, const double *x, const double *y);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file inverse_norm.h
/// How large an inverse is, by a few solves.

#ifndef LACUNA_SOLVERS_DIRECT_METHOD_INVERSE_NORM_H
#define LACUNA_SOLVERS_DIRECT_METHOD_INVERSE_NORM_H

#include "solvers/direct/method/refine.h"

enum { LAC_INVERSE_NORM_WIDTH = 2 };  // columns of each block to work in

/// A matrix A whose inverse is asked about.
typedef struct lac_inverse_task {
  lac_system system;
  bool refines;                 // pivots were enlarged: what the factor says by itself is of another matrix
  double scale;                 // a power of two, as large as A
  bool is_lost;                 // a refinement did not arrive: the factor is too poor to tell of A
  void *blocks[REFINE_BLOCKS];  // n rows of LAC_INVERSE_NORM_WIDTH numbers each
} lac_inverse_task;

/// The largest column sum of A in units of `scale`, and that unit.
double lac_inverse_scale(const lac_system *a, double *scale);

/// An estimate, from below, of || diag(left) op(A)^-1 diag(right / scale) ||_1, op by `side`; infinity or NaN where a solution overflows.
/// `left` and `right` have the unit of A, so that nothing leaves the range of numbers; NULL: all are `scale`.
lac_status lac_inverse_norm(lac_inverse_task *t, lac_side side, const double *left, const double *right, double *norm,
                            lac_fault *fault);

#endif

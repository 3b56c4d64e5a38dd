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
  double root;                  // a power of two, about the root of the largest number of A
  bool is_lost;                 // a refinement did not converge: the factor is too inaccurate to judge A
  void *blocks[REFINE_BLOCKS];  // n rows of LAC_INVERSE_NORM_WIDTH numbers each
} lac_inverse_task;

/// The root of a matrix, and its largest column sum over root^2.
double lac_inverse_root(const lac_system *a);
double lac_inverse_given(const lac_system *a, double root);

/// An estimate, from below, of || diag(left) op(A)^-1 diag(right) ||_1, op by `form`; infinity or NaN where a solution
/// overflows. `left` and `right` are best of the unit of the root, so that nothing leaves the range of numbers; NULL:
/// all are `root`.
lac_status lac_inverse_norm(lac_inverse_task *t, lac_form form, const double *left, const double *right, double *norm,
                            lac_fault *fault);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file tridiagonal.h
/// The eigenvalues of a real symmetric tridiagonal matrix, and the first components of its vectors: nodes and weights
/// of quadrature.

#ifndef LACUNA_SOLVERS_EIGEN_TRIDIAGONAL_H
#define LACUNA_SOLVERS_EIGEN_TRIDIAGONAL_H

#include <stdbool.h>
#include <stdint.h>

/// `diagonal` (n) becomes the eigenvalues, in no order; `beside` (n, off-diagonal, its last is not read) is
/// overwritten. `first` (n; may be NULL) becomes the first component of each normalised vector. False: no convergence,
/// or numbers that are not finite.
bool lac_tridiagonal_eigen(int64_t n, double *diagonal, double *beside, double *first);

#endif

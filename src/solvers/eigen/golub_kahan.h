// SPDX-License-Identifier: Apache-2.0
/// @file golub_kahan.h
/// The largest singular value of a sparse matrix and its vectors.

#ifndef LACUNA_SOLVERS_EIGEN_GOLUB_KAHAN_H
#define LACUNA_SOLVERS_EIGEN_GOLUB_KAHAN_H

#include "kernels/kernels.h"

typedef struct lac_singular_options {
  const char *function;  // begins sentences
  double tolerance;      // of |A^H u - sigma v| over sigma
  int64_t steps;         // at most: products with A and with A^H
} lac_singular_options;

/// sigma, u (m, 1) and v (n, 1) of the matrix with values a (nnz): A v = sigma u, A^H u = sigma v. All zero for a
/// matrix without a nonzero. LAC_ERR_NONFINITE names a value that is not finite, LAC_ERR_CONVERGENCE says how far it
/// came.
lac_status lac_singular_largest(lac_context *ctx, const lac_pattern *p, const lac_array *a,
                                const lac_singular_options *options, double *sigma, lac_array *u, lac_array *v);

#endif

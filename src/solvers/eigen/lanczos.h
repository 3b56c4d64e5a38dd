// SPDX-License-Identifier: Apache-2.0
/// @file lanczos.h
/// Lanczos' process for Hermitian maps, with full reorthogonalisation, for each of a batch.

#ifndef LACUNA_SOLVERS_EIGEN_LANCZOS_H
#define LACUNA_SOLVERS_EIGEN_LANCZOS_H

#include "kernels/kernels.h"

/// What is asked, and room on the host for what comes of it, for each of the `items` of the batch.
typedef struct lac_lanczos {
  const char *function;                                                                         // begins sentences
  lac_status (*product)(lac_context *ctx, const void *self, const lac_array *x, lac_array *y);  // of [*batch, n, 1]
  const void *self;
  int64_t steps;  // at most: no more than n are made
  double *alpha;  // [items][steps]: the diagonal of the tridiagonal matrix
  double *beta;   // [items][steps]: off the diagonal; the last is the norm of the residual, 0: the space is exhausted
  double *norm;   // [items]: of the start
  int64_t *made;  // [items]: how many steps it took or was given
} lac_lanczos;

/// From a start [*batch, n, 1]. Memory: steps vectors. Two numbers of each item are read a step. Deterministic.
lac_status lac_lanczos_run(lac_context *ctx, const lac_lanczos *job, const lac_array *start);

#endif

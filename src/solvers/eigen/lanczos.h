// SPDX-License-Identifier: Apache-2.0
/// @file lanczos.h
/// Lanczos' process for Hermitian maps, with full reorthogonalisation, for each of a batch.
///
/// T = V^H A V for vectors V with V^H B^-1 V = I that begin with B start: those of B^1/2 A B^1/2 from B^1/2 start.

#ifndef LACUNA_SOLVERS_EIGEN_LANCZOS_H
#define LACUNA_SOLVERS_EIGEN_LANCZOS_H

#include "kernels/kernels.h"

/// y = A x of arrays [*batch, n, 1].
typedef lac_status lac_lanczos_apply(lac_context *ctx, const void *self, const lac_array *x, lac_array *y);

/// What is asked, and room on the host for what comes of it, for each of the `items` of the batch.
typedef struct lac_lanczos {
  const char *function;  // begins sentences
  lac_lanczos_apply *product;
  lac_lanczos_apply *preconditioner;  // B x; NULL: B = I
  const void *self;
  int64_t steps;  // at most: no more than n are made
  double *alpha;  // [items][steps]: the diagonal of the tridiagonal matrix
  double *beta;   // [items][steps]: off the diagonal; the last is the norm of the residual, 0: the space is exhausted
  double *norm;   // [items]: of the start, sqrt(start^H B start)
  int64_t *made;  // [items]: how many steps it took or was given
} lac_lanczos;

/// From a start [*batch, n, 1]. Memory: steps vectors, twice as many with a preconditioner. Two numbers of each item
/// are read a step. Deterministic.
lac_status lac_lanczos_run(lac_context *ctx, const lac_lanczos *job, const lac_array *start);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file refined.h
/// Solves on a device that measure their own error and mend it, as direct/method/refine.h does on the host.

#ifndef LACUNA_SOLVERS_ENGINES_CUDSS_REFINED_H
#define LACUNA_SOLVERS_ENGINES_CUDSS_REFINED_H

#include "kernels/kernels.h"

/// y = op(A)^-1 r by a factor, for arrays [count, n, k].
typedef lac_status cudss_apply(lac_context *ctx, const void *self, const lac_array *r, lac_array *y);

/// A system op(A) x = b. The arrays are borrowed.
typedef struct cudss_system {
  const lac_pattern *pattern;
  const lac_array *values;  // [*batch, nnz]
  lac_form form;
  const lac_array *b;  // [count, n, k], spread over the joint batch
  lac_array *x;        // [*joint batch, n, k]
  cudss_apply *apply;
  const void *self;
} cudss_system;

/// What came of it, over the columns whose b is finite.
typedef struct cudss_refined {
  double error;   // the largest max_i |b - A x|_i / (|A| |x| + |b|)_i; infinite where x is not finite
  double growth;  // the largest max (|A| |x| + |b|) / max |b|, which is no more than 1 + the condition of the matrix
} cudss_refined;

/// A backward error of so many roundings is good, and one of so many too bad to hand out (direct/method/refine.c).
enum { CUDSS_GOOD = 32, CUDSS_BAD = 1000 };

lac_status lac_cudss_refine(lac_context *ctx, const cudss_system *a, cudss_refined *out);

#endif

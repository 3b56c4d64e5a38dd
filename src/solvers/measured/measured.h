// SPDX-License-Identifier: Apache-2.0
/// @file measured.h
/// Solves on a device that measure their own error and mend it, as direct/method/refine.h does on the host.

#ifndef LACUNA_SOLVERS_MEASURED_MEASURED_H
#define LACUNA_SOLVERS_MEASURED_MEASURED_H

#include "kernels/kernels.h"

/// y = op(A)^-1 r by a factor, for arrays [count, n, k].
typedef lac_status lac_measured_apply(lac_context *ctx, const void *self, const lac_array *r, lac_array *y);

/// A system op(A) x = b. The arrays are borrowed.
typedef struct lac_measured_system {
  const lac_pattern *pattern;
  const lac_array *values;  // [*batch, nnz]
  lac_form form;
  const lac_array *b;  // [count, n, k], spread over the joint batch
  lac_array *x;        // [*joint batch, n, k]
  lac_measured_apply *apply;
  const void *self;
  double *errors, *growths;  // of each of count k columns, as below; NULL: they are not asked for
} lac_measured_system;

/// What came of it, over the columns whose b is finite.
typedef struct lac_measured {
  double error;   // the largest max_i |b - A x|_i / (|A| |x| + |b|)_i; infinite where x is not finite
  double growth;  // the largest max (|A| |x| + |b|) / max |b|, which is no more than 1 + the condition of the matrix
} lac_measured;

/// A backward error of so many roundings is good, and one of so many too bad to hand out (direct/method/refine.c).
enum { LAC_MEASURED_GOOD = 32, LAC_MEASURED_BAD = 1000 };

lac_status lac_measured_solve(lac_context *ctx, const lac_measured_system *a, lac_measured *out);

#endif

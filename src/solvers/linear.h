// SPDX-License-Identifier: Apache-2.0
/// @file linear.h
/// Linear maps on arrays [items, n, k]: a matrix, a preconditioner, a user's operator. What Krylov methods see.

#ifndef LACUNA_SOLVERS_LINEAR_H
#define LACUNA_SOLVERS_LINEAR_H

#include "kernels/kernels.h"

/// y = op(L) x; x and y have the dtype of the system and do not overlap. `apply` may be called by several threads at once, each with a
/// context of its own: what it works in, it takes and gives back.
typedef struct lac_linear {
  lac_status (*apply)(lac_context *ctx, const void *self, lac_side side, const lac_array *x, lac_array *y);
  const void *self;
} lac_linear;

static inline lac_status lac_linear_apply(lac_context *ctx, const lac_linear *linear, lac_side side, const lac_array *x,
                                          lac_array *y) {
  return linear->apply(ctx, linear->self, side, x, y);
}

/// norms[i, j] = |x[i, :, j]| of the [items, n, k] numbers of x, whose squares may be out of range (norms.c).
lac_status lac_column_norms(lac_context *ctx, const lac_array *x, int64_t items, int64_t n, int64_t k, double *norms);

#endif

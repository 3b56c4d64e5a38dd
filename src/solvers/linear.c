// SPDX-License-Identifier: Apache-2.0
/// @file linear.c
/// y = op(A) x for a matrix given by pattern and values.

#include "solvers/linear.h"

lac_status lac_matrix_linear_apply(lac_context *ctx, const void *self, lac_form form, const lac_array *x,
                                   lac_array *y) {
  const lac_matrix_linear *a = self;
  return ctx->kernels->spmm(ctx, a->pattern, form, a->values, x, y);
}

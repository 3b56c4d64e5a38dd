// SPDX-License-Identifier: Apache-2.0
/// @file finite.h
/// Which number is not finite.

#ifndef LACUNA_CORE_FINITE_H
#define LACUNA_CORE_FINITE_H

#include "core/context_impl.h"

/// The slot of the first NaN or infinity of matrices [items, nnz] in host memory, and its matrix in *item; or -1 and 0.
/// The same on any number of threads.
int64_t lac_nonfinite_first(const lac_context *ctx, lac_dtype dtype, const void *values, int64_t items, int64_t nnz,
                            int64_t *item);

#endif

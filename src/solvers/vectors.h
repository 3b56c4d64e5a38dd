// SPDX-License-Identifier: Apache-2.0
/// @file vectors.h
/// Vectors of a batch: norms of their columns, items of them, right-hand sides spread over a joint batch.

#ifndef LACUNA_SOLVERS_VECTORS_H
#define LACUNA_SOLVERS_VECTORS_H

#include "kernels/kernels.h"

/// norms[i, j] = |x[i, :, j]| of the [items, n, k] numbers of x, whose squares may be out of range.
lac_status lac_column_norms(lac_context *ctx, const lac_array *x, int64_t items, int64_t n, int64_t k, double *norms);

/// `count` items of an array [items, ...] from `first` on, over the same memory.
lac_status lac_batch_items(lac_context *ctx, const lac_array *array, int64_t first, int64_t count, lac_array **out);

/// Item i of `from`, [items, ...], goes to item j of `to`.
lac_status lac_batch_move(lac_context *ctx, const lac_array *from, int64_t i, const lac_array *to, int64_t j);

/// b [*, m, k] as [count, m, k]: itself, or spread over the joint batch.
lac_status lac_batch_spread(lac_context *ctx, const lac_batch *batch, int operand, const lac_array *b, lac_array **out);

#endif

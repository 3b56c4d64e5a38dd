// SPDX-License-Identifier: Apache-2.0
/// @file rooms.h
/// The arrays that a cycle works in, which live as long as it does. On a device they are cut from one block: to ask for
/// memory takes as long there as to start a kernel, and a cycle has dozens of small arrays.
///
/// They are asked for twice in the same order, by lac_rooms_take: the first round only counts bytes.

#ifndef LACUNA_SOLVERS_PRECONDITION_MULTIGRID_COARSE_ROOMS_H
#define LACUNA_SOLVERS_PRECONDITION_MULTIGRID_COARSE_ROOMS_H

#include "core/array_impl.h"

typedef struct lac_rooms {
  bool is_open;
  size_t bytes;      // of all, or of those that have been taken
  lac_array *block;  // NULL: arrays have memory of their own
} lac_rooms;

/// An array of three dimensions, undefined contents; in the first round *out stays NULL.
lac_status lac_rooms_take(lac_context *ctx, lac_rooms *rooms, lac_dtype dtype, const int64_t shape[3], lac_array **out);

/// The end of the first round.
lac_status lac_rooms_open(lac_context *ctx, lac_rooms *rooms);

/// After the arrays are destroyed.
void lac_rooms_close(lac_rooms *rooms);

#endif

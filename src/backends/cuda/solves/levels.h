// SPDX-License-Identifier: Apache-2.0
/// @file levels.h
/// The level sets of a triangle: a row's level is one more than the highest level of the rows that it needs. Rows of a
/// level do not need each other, and none needs a row of a later level.

#ifndef LACUNA_BACKENDS_CUDA_SOLVES_LEVELS_H
#define LACUNA_BACKENDS_CUDA_SOLVES_LEVELS_H

#include "backends/cuda/backend.h"

typedef struct cuda_levels {
  lac_object object;
  bool transposed, is_lower;  // the walk whose rows these are, and the triangle of it that counts
  int64_t count;
  lac_buffer *order;  // the rows by level, ascending within each
} cuda_levels;

/// The levels of a triangle of A or of A^T, found when first asked and kept with the pattern. Entries of
/// the other triangle and of the diagonal do not count. Retained for the caller (lac_object_release).
lac_status cuda_levels_get(lac_context *ctx, const lac_pattern *p, bool transposed, bool is_lower, cuda_levels **out);

#endif

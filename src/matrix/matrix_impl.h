// SPDX-License-Identifier: Apache-2.0
/// @file matrix_impl.h
/// The inside of a matrix.

#ifndef LACUNA_MATRIX_MATRIX_IMPL_H
#define LACUNA_MATRIX_MATRIX_IMPL_H

#include "core/array_impl.h"
#include "core/pattern/pattern_impl.h"
#include "lacuna/matrix.h"

struct lac_matrix {
  lac_object object;
  lac_pattern *pattern;
  lac_map *entries;   // from the caller's order to slots; NULL: they are the same
  lac_array *given;   // the caller's numbers, [*batch, count]; by slots where there is no map
  lac_array *values;  // by slots; `given` itself where there is no map
};

/// Numbers as a caller hands them in.
typedef struct lac_matrix_numbers {
  lac_dtype dtype;
  const void *data;
  lac_ownership ownership;
} lac_matrix_numbers;

/// A matrix of a pattern and a map, for the public `function`: an identity is dropped. One number for each input of the
/// map.
lac_status lac_matrix_make(lac_context *ctx, const char *function, const lac_pattern *pattern, const lac_map *entries,
                           lac_matrix_numbers numbers, lac_matrix **out);

/// The meta of values by slots under a batch of `batch` dimensions: `like` has these and the dtype.
lac_meta lac_matrix_slots_meta(const lac_pattern *pattern, const lac_meta *like, int batch);

#endif

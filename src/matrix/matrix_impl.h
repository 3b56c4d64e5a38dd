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
  lac_map *mirrored;  // from there to the mirror images of entries off the diagonal; NULL: there are none
  lac_form mirror;    // what an image is: LAC_TRANSPOSED, or LAC_ADJOINT, conjugated
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

/// A matrix without values yet, and an array of the caller's numbers for one, for the public `function`.
lac_status lac_matrix_open(lac_context *ctx, const lac_pattern *pattern, const lac_map *entries, lac_matrix **out);
lac_status lac_matrix_take(lac_context *ctx, const char *function, lac_matrix *matrix, const lac_array *array);

/// Values by slots with the mirror images of the caller's numbers added.
lac_status lac_matrix_add_image(lac_context *ctx, const lac_matrix *matrix, const lac_array *given,
                                const lac_array *values, lac_array **out);

/// The meta of values by slots under a batch of `batch` dimensions: `like` has these and the dtype.
lac_meta lac_matrix_slots_meta(const lac_pattern *pattern, const lac_meta *like, int batch);

#endif

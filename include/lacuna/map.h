// SPDX-License-Identifier: Apache-2.0
/// @file map.h
/// A map is a frozen index map between entries: out[j] = sum of in[i] over the sources i of j. lac_remap applies it.
///
/// A map is a 0/1 matrix M without values, each column of which has at most one 1. Applying it, or its transpose, is
/// linear. Maps are immutable, reference counted, and may be shared between threads.

#ifndef LACUNA_MAP_H
#define LACUNA_MAP_H

#include <stdint.h>

#include "lacuna/array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_map lac_map;

/// Make a map from the target of each input entry: entry i is added to out[target[i]]; a target of -1 drops it.
/// Ownership: the caller destroys *out; `target` is copied.
/// Errors: LAC_ERR_ARG names the first target outside -1 .. outputs - 1, and is for negative counts and NULL too;
/// LAC_ERR_OVERFLOW for outputs that cannot be addressed.
LAC_API lac_status lac_map_create(lac_context *ctx, int64_t inputs, int64_t outputs, const int64_t *target,
                                  lac_map **out);

/// Add a holder, and remove one; both accept NULL. The last one that goes ends the map; *map is NULL afterwards.
/// Threads: any.
LAC_API lac_map *lac_map_retain(const lac_map *map);
LAC_API void lac_map_destroy(lac_map **map);

/// The counts of input and output entries; and the number of a map, which no other object of the process has. Of NULL:
/// 0.
LAC_API int64_t lac_map_inputs(const lac_map *map);
LAC_API int64_t lac_map_outputs(const lac_map *map);
LAC_API int64_t lac_map_id(const lac_map *map);

/// 1 where out[i] = in[i] for all i, else 0.
LAC_API int lac_map_is_identity(const lac_map *map);

/// Copy the target of each input entry, -1 where it is dropped, into `inputs` integers.
/// Errors: LAC_ERR_ARG for NULL. A map that was made on a device is copied to the host first: LAC_ERR_MEMORY,
/// LAC_ERR_BACKEND.
LAC_API lac_status lac_map_read(const lac_map *map, int64_t *target);

#ifdef __cplusplus
}
#endif
#endif

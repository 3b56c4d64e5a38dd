// SPDX-License-Identifier: Apache-2.0
/// @file map.h
/// A map is a frozen index map between entries: out[j] = sum of in[i] over the sources i of j. `remap` applies it.
///
/// A map is a 0/1 matrix without values: linear, its transpose is a map again. Immutable, reference counted, shareable.

#ifndef LACUNA_MAP_H
#define LACUNA_MAP_H

#include <stdint.h>

#include "lacuna/array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_map lac_map;

/// From the target of each input entry: entry i is added to out[target[i]]; a target of -1 drops it.
LAC_API lac_status lac_map_create(lac_context *ctx, int64_t inputs, int64_t outputs, const int64_t *target,
                                  lac_map **out);

LAC_API lac_map *lac_map_retain(const lac_map *map);
LAC_API void lac_map_destroy(lac_map **map);

LAC_API int64_t lac_map_inputs(const lac_map *map);
LAC_API int64_t lac_map_outputs(const lac_map *map);
LAC_API int64_t lac_map_id(const lac_map *map);

/// 1 when out[i] = in[i] for all i.
LAC_API int lac_map_is_identity(const lac_map *map);

/// The target of each input entry (-1: dropped), into `inputs` integers. Every map made here has at most one. Only a map that was made
/// on a device can fail: LAC_ERR_MEMORY, or LAC_ERR_BACKEND when the device does.
LAC_API lac_status lac_map_read(const lac_map *map, int64_t *target);

#ifdef __cplusplus
}
#endif
#endif

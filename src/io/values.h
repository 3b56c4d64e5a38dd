// SPDX-License-Identifier: Apache-2.0
/// @file values.h
/// Values from host memory onto a context's device, along an entry map; and back.

#ifndef LACUNA_IO_VALUES_H
#define LACUNA_IO_VALUES_H

#include "core/array_impl.h"
#include "core/pattern/pattern_impl.h"

/// The slots' values of entries [*batch, inputs] that lie in host memory: y = M x. The last size is the map's inputs.
lac_status io_values_along(lac_context *ctx, const lac_map *map, lac_dtype dtype, int ndim, const int64_t *shape,
                           const void *host, lac_array **out);

/// The numbers of an array in host memory: its own, or a copy that `owned` holds (to be freed by lac_free).
lac_status io_values_on_host(lac_context *ctx, const char *function, const lac_array *array, const void **out,
                             void **owned);

#endif

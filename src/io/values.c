// SPDX-License-Identifier: Apache-2.0
/// @file values.c
/// Values between host memory and devices.

#include "io/values.h"

#include "kernels/kernels.h"

lac_status io_values_along(lac_context *ctx, const lac_map *map, lac_dtype dtype, int ndim, const int64_t *shape,
                           const void *host, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *entries = NULL, *values = NULL;
  int64_t slots[LAC_MAX_DIMS] = {0};
  bool is_here = ctx->space == &lac_host_space && (uintptr_t)host % lac_dtype_size(dtype) == 0;

  if (map->is_identity) {
    LAC_TRY(lac_array_from(ctx, dtype, ndim, shape, (void *)host, LAC_OWNERSHIP_COPY, out));
    goto done;
  }
  for (int d = 0; d < ndim; ++d) slots[d] = d + 1 < ndim ? shape[d] : map->outputs;
  LAC_TRY(lac_array_from(ctx, dtype, ndim, shape, (void *)host, is_here ? LAC_OWNERSHIP_BORROW : LAC_OWNERSHIP_COPY,
                         &entries));
  LAC_TRY(lac_array_create(ctx, dtype, ndim, slots, &values));
  LAC_TRY(ctx->backend->kernels->remap(ctx, map, LAC_PLAIN, 0, entries, values));
  LAC_TRY(ctx->backend->synchronize(ctx));
  *out = values, values = NULL;
done:
  lac_array_destroy(&entries);
  lac_array_destroy(&values);
  return status;
}

lac_status io_values_on_host(lac_context *ctx, const char *function, const lac_array *array, const void **out,
                             void **owned) {
  lac_status status = LAC_OK;
  const lac_meta *meta = lac_array_meta(array);
  size_t bytes = (size_t)lac_array_count(array) * lac_dtype_size(meta->dtype);
  void *copy = NULL;

  LAC_CHECK(!meta->partition, LAC_ERR_UNSUPPORTED,
            "%s: the array is spread over ranks; write each part on its own, or gather it first", function);
  if (ctx->space == &lac_host_space && array->storage->space == &lac_host_space) {
    *out = lac_array_data(array);
    goto done;
  }
  copy = lac_alloc(bytes);
  LAC_CHECK(copy, LAC_ERR_MEMORY, "%s: out of memory: %zu bytes", function, bytes);
  LAC_TRY(lac_array_read(ctx, array, copy));
  *out = *owned = copy, copy = NULL;
done:
  lac_free(copy);
  return status;
}

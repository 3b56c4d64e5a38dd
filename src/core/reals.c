// SPDX-License-Identifier: Apache-2.0
/// @file reals.c
/// Doubles and arrays.

#include "core/reals.h"

#define KERNEL_FILE "core/reals_kernel.h"
#include "core/numbers/instantiate.h"

typedef void reals_load_kernel(int64_t, const void *, double *);
typedef void reals_store_kernel(int64_t, const double *, void *);
static reals_load_kernel *const reals_load[] = TABLE(reals_load);
static reals_store_kernel *const reals_store[] = TABLE(reals_store);

lac_status lac_reals_read(lac_context *ctx, const lac_array *array, double *out) {
  lac_status status = LAC_OK;
  char *host = NULL;

  LAC_ALLOC(host, lac_array_bytes(array));
  LAC_TRY(lac_array_fetch(ctx, array, host));
  reals_load[array->meta.dtype](array->count, host, out);
done:
  lac_free(host);
  return status;
}

lac_status lac_reals_write(lac_context *ctx, lac_array *array, const double *in) {
  lac_status status = LAC_OK;
  char *host = NULL;

  LAC_ALLOC(host, lac_array_bytes(array));
  reals_store[array->meta.dtype](array->count, in, host);
  LAC_TRY(lac_array_write(ctx, array, host));
done:
  lac_free(host);
  return status;
}

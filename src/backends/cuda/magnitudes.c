// SPDX-License-Identifier: Apache-2.0
/// @file magnitudes.c
/// Scales by the magnitudes of vectors (kernels.def), made where the vectors are.

#include "backends/cuda/magnitudes.h"

#include "backends/cuda/backend.h"

enum { MOST_ITEMS = 65535 };  // that a launch may have

lac_status cuda_magnitudes(lac_context *ctx, const lac_array *x, const lac_array *unit, lac_array *scale) {
  lac_status status = LAC_OK;
  int64_t items = x->meta.shape[0], rows = x->meta.shape[1], k = x->meta.shape[2];
  cuda_scratch words = {NULL, 0};
  cuda_scope scope;

  LAC_CHECK(items <= MOST_ITEMS, LAC_ERR_UNSUPPORTED,
            "multigrid: %lld matrices are more than the %d that the backend cuda takes at once; solve them in parts",
            (long long)items, MOST_ITEMS);
  LAC_TRY(cuda_scratch_take(ctx, "magnitudes", (size_t)(items * k) * sizeof(unsigned long long), &words));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope,
                   cuda_launch_magnitudes(ctx->stream, x->meta.dtype, items, rows, k, x->storage->data,
                                          unit ? unit->storage->data : NULL, words.data, scale->storage->data),
                   "magnitudes"));
done:
  cuda_scratch_release(ctx, &words);
  return status;
}

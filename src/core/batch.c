// SPDX-License-Identifier: Apache-2.0
/// @file batch.c
/// Metas, and the joint batch of several operands.

#include <stdio.h>

#include "core/array_impl.h"

lac_status lac_meta_check(lac_context *ctx, const char *who, const lac_meta *meta) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT];
  ptrdiff_t bytes = 0;

  LAC_CHECK(meta, LAC_ERR_ARG, "%s: the meta is NULL", who);
  bytes = (ptrdiff_t)lac_dtype_size(meta->dtype);
  LAC_CHECK(bytes, LAC_ERR_DTYPE, "%s: dtype %d is none of f32, f64, c64, c128", who, (int)meta->dtype);
  LAC_CHECK(meta->ndim >= 0 && meta->ndim <= LAC_MAX_DIMS, LAC_ERR_SHAPE, "%s: %d dimensions; give 0 to %d", who,
            meta->ndim, LAC_MAX_DIMS);
  for (int d = 0; d < meta->ndim; ++d) {
    LAC_CHECK(meta->shape[d] >= 0, LAC_ERR_SHAPE, "%s: dimension %d of shape %s is negative; give 0 or more", who, d,
              lac_shape_text(meta->ndim, meta->shape, text));
    int64_t factor = meta->shape[d] ? meta->shape[d] : 1;
    LAC_CHECK(!__builtin_mul_overflow(bytes, factor, &bytes), LAC_ERR_OVERFLOW,
              "%s: shape %s of %s has more bytes than fit 64 bits, even where a dimension of 0 is left out", who,
              lac_shape_text(meta->ndim, meta->shape, text), lac_dtype_name(meta->dtype));
  }
done:
  return status;
}

int64_t lac_meta_count(const lac_meta *meta) {
  int64_t count = 1;
  for (int d = 0; d < meta->ndim; ++d) count *= meta->shape[d];
  return count;
}

bool lac_meta_same(const lac_meta *a, const lac_meta *b) {
  if (a->dtype != b->dtype || a->ndim != b->ndim || a->partition != b->partition) return false;
  if (a->partition && a->partition_axis != b->partition_axis) return false;
  for (int d = 0; d < a->ndim; ++d) {
    if (a->shape[d] != b->shape[d]) return false;
  }
  return true;
}

const char *lac_shape_text(int ndim, const int64_t *shape, char text[LAC_SHAPE_TEXT]) {
  size_t used = 0;
  text[used++] = '(';
  for (int d = 0; d < ndim && used + 2 < LAC_SHAPE_TEXT; ++d) {
    used += (size_t)snprintf(text + used, LAC_SHAPE_TEXT - used, d ? ", %lld" : "%lld", (long long)shape[d]);
  }
  if (used > LAC_SHAPE_TEXT - 2) used = LAC_SHAPE_TEXT - 2;
  text[used] = ')';
  text[used + 1] = '\0';
  return text;
}

void lac_batch_init(lac_batch *batch, int operands, const lac_meta *const *metas, const int *core) {
  batch->ndim = 0;
  for (int o = 0; o < operands; ++o) {
    int own = metas[o]->ndim - core[o];
    if (own > batch->ndim) batch->ndim = own;
  }
  for (int d = 0; d < batch->ndim; ++d) batch->shape[d] = 1;
  for (int o = 0; o < operands; ++o) {
    int own = metas[o]->ndim - core[o], shift = batch->ndim - own;
    int64_t stride = 1;
    for (int d = 0; d < shift; ++d) batch->stride[o][d] = 0;
    for (int d = own - 1; d >= 0; --d) {
      int64_t size = metas[o]->shape[d];
      batch->stride[o][shift + d] = size == 1 ? 0 : stride;
      if (size != 1) batch->shape[shift + d] = size;
      stride *= size;
    }
  }
  batch->count = 1;
  for (int d = 0; d < batch->ndim; ++d) batch->count *= batch->shape[d];
}

int64_t lac_batch_item(const lac_batch *batch, int operand, int64_t i) {
  int64_t item = 0;
  for (int d = batch->ndim - 1; d >= 0; --d) {
    item += i % batch->shape[d] * batch->stride[operand][d];
    i /= batch->shape[d];
  }
  return item;
}

// SPDX-License-Identifier: Apache-2.0
/// @file reshape.c
/// The same numbers under another shape, and which axis is then spread over ranks.
///
/// Each rank sees its own rows alone, and all must choose the same axis: rows of {1, 3} that become (1, rows) are (1,
/// 1) here and (1, 3) there. What all ranks have in common are the other sizes. Axis d can be the spread one if
///
///     product of the sizes before d = that before the old axis      product behind d = that behind the old axis
///
/// and the choice is taken for certain only if, whatever rows a rank has, no other axis could be. Otherwise the caller
/// says which it is, by writing -1 for its size.

#include "core/array_impl.h"

static int64_t reshape_product(const int64_t *shape, int from, int to) {
  int64_t product = 1;

  for (int d = from; d < to; ++d) product *= shape[d];
  return product;
}

/// The sizes around axis `d` are those around the spread axis of `old`.
static bool reshape_fits(const lac_meta *old, const lac_meta *meta, int d) {
  const int axis = old->partition_axis;

  return reshape_product(meta->shape, 0, d) == reshape_product(old->shape, 0, axis) &&
         reshape_product(meta->shape, d + 1, meta->ndim) == reshape_product(old->shape, axis + 1, old->ndim);
}

/// On a rank with some number of rows, another axis than `axis` would look like the spread one. Does not depend on this
/// rank's rows: they are replaced by those with which the other axis would be mistaken.
static bool reshape_is_ambiguous(const lac_meta *old, const lac_meta *meta, int axis) {
  for (int d = 0; d < meta->ndim; ++d) {
    lac_meta there = *meta;

    there.shape[axis] = meta->shape[d];
    if (d != axis && reshape_fits(old, &there, d)) return true;
  }
  return false;
}

/// Find the axis of `meta` that is spread over ranks; `marked` is the one that the caller named, or -1.
static lac_status reshape_spread(lac_context *ctx, const char *function, const lac_meta *old, int marked,
                                 lac_meta *meta) {
  const int64_t rows = old->shape[old->partition_axis];
  lac_status status = LAC_OK;
  int axis = marked < 0 ? 0 : marked;
  char from[LAC_SHAPE_TEXT], to[LAC_SHAPE_TEXT];

  if (marked < 0) {
    while (axis < meta->ndim && (meta->shape[axis] != rows || !reshape_fits(old, meta, axis))) ++axis;
  }
  LAC_CHECK(
      axis < meta->ndim && reshape_fits(old, meta, axis), LAC_ERR_SHAPE,
      "%s: %s cannot keep axis %d of %s, which is spread over ranks: as many numbers must stand before and behind it",
      function, lac_shape_text(meta->ndim, meta->shape, to), old->partition_axis,
      lac_shape_text(old->ndim, old->shape, from));
  LAC_CHECK(marked >= 0 || !reshape_is_ambiguous(old, meta, axis), LAC_ERR_SHAPE,
            "%s: which axis of %s is spread over ranks looks different to ranks with other rows; write -1 for its size",
            function, lac_shape_text(meta->ndim, meta->shape, to));
  meta->partition = old->partition;
  meta->partition_axis = axis;
done:
  return status;
}

/// Write the rows of the spread axis for the first -1, and return its place; -1 if there is none.
static int reshape_marked(const lac_meta *old, lac_meta *meta) {
  for (int d = 0; old->partition && d < meta->ndim; ++d) {
    if (meta->shape[d] != -1) continue;
    meta->shape[d] = old->shape[old->partition_axis];
    return d;
  }
  return -1;
}

lac_status lac_meta_reshape(lac_context *ctx, const char *function, const lac_meta *old, int ndim, const int64_t *shape,
                            lac_meta *out) {
  lac_status status = LAC_OK;
  lac_meta meta = {.dtype = old->dtype, .ndim = ndim};
  int marked = -1;
  char from[LAC_SHAPE_TEXT], to[LAC_SHAPE_TEXT];

  LAC_CHECK(ndim >= 0 && ndim <= LAC_MAX_DIMS, LAC_ERR_SHAPE, "%s: %d dimensions; give 0 to %d", function, ndim,
            LAC_MAX_DIMS);
  LAC_CHECK(shape || ndim == 0, LAC_ERR_ARG, "%s: shape is NULL; give %d sizes", function, ndim);
  for (int d = 0; d < ndim; ++d) meta.shape[d] = shape[d];
  marked = reshape_marked(old, &meta);
  LAC_TRY(lac_meta_check(ctx, function, &meta));
  LAC_CHECK(lac_meta_count(&meta) == lac_meta_count(old), LAC_ERR_SHAPE,
            "%s: shape %s holds %lld numbers, the array %s holds %lld", function, lac_shape_text(ndim, meta.shape, to),
            (long long)lac_meta_count(&meta), lac_shape_text(old->ndim, old->shape, from),
            (long long)lac_meta_count(old));
  if (old->partition) LAC_TRY(reshape_spread(ctx, function, old, marked, &meta));
  *out = meta;
done:
  return status;
}

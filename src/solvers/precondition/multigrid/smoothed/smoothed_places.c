// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_places.c
/// Rows at their places in whole nodes.
///
/// Where single rows of nodes were taken out, as by rollers, no whole number of rows is a node any more. Rows and
/// columns get the numbers that they would have if nothing were missing; what is missing are empty rows, which
/// generalised inverses leave at zero. Entries keep their order, so that values are used as they are.

#include "solvers/precondition/multigrid/smoothed/smoothed.h"

void smoothed_places_close(smoothed_places *places) {
  lac_pattern_destroy(&places->pattern);
  lac_map_destroy(&places->rows);
}

/// Places of rows to their pattern and map.
static lac_status places_make(lac_context *ctx, const lac_setup *setup, int64_t count, lac_buffer **rows,
                              smoothed_places *places) {
  lac_status status = LAC_OK;
  lac_rows walk = smoothed_walk(setup->pattern);
  lac_buffer *offsets = NULL, *columns = NULL;

  LAC_TRY(ctx->kernels->smoothed->spread(ctx, &walk, *rows, count, &offsets, &columns));
  LAC_TRY(lac_pattern_adopt(ctx, count, count, setup->pattern->width, &offsets, &columns, &places->pattern));
  LAC_TRY(lac_map_adopt_injective(ctx, count, rows, &places->rows));
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

lac_status smoothed_places_find(lac_context *ctx, const lac_setup *setup, int64_t most, int64_t *size,
                                smoothed_places *places) {
  lac_status status = LAC_OK;
  lac_rows walk = smoothed_walk(setup->pattern);
  lac_array *found = NULL;
  lac_buffer *rows = NULL;
  smoothed_places made = {0};
  double told[2];

  *size = 1;
  LAC_TRY(smoothed_found_create(ctx, &found));
  LAC_TRY(ctx->kernels->smoothed->places(ctx, &walk, setup->values, most, &rows, found));
  LAC_TRY(smoothed_found_read(ctx, found, told));
  if (told[0] * told[1] <= (double)setup->pattern->rows) goto done;  // nothing is missing
  LAC_TRY(places_make(ctx, setup, (int64_t)(told[0] * told[1]), &rows, &made));
  *size = (int64_t)told[0];
  *places = made, made = (smoothed_places){0};
done:
  smoothed_places_close(&made);
  lac_array_destroy(&found);
  lac_object_release(rows);
  return status;
}

lac_status smoothed_places_put(lac_context *ctx, const smoothed_places *places, const lac_array *x, lac_array **out) {
  lac_status status = LAC_OK;
  lac_meta meta = x->meta;
  lac_array *made = NULL;

  meta.shape[meta.ndim - 2] = places->rows->outputs;
  LAC_TRY(lac_array_make(ctx, &meta, &made));
  LAC_TRY(ctx->kernels->remap(ctx, places->rows, LAC_PLAIN, 1, x, made));
  *out = made, made = NULL;
done:
  lac_array_destroy(&made);
  return status;
}

lac_status smoothed_places_take(lac_context *ctx, const smoothed_places *places, const lac_array *x, lac_array *out) {
  return ctx->kernels->remap(ctx, places->rows, LAC_TRANSPOSED, 1, x, out);
}

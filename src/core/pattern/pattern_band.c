// SPDX-License-Identifier: Apache-2.0
/// @file pattern_band.c
/// The band of a pattern: how far below and above the diagonal its entries reach, and whether the diagonal is there.
///
/// Columns ascend within a row, so the first and the last entry of each row tell all. A triangle, a chain (a bidiagonal
/// matrix) and the storage of a band are recognised by it.

#include "core/pattern/structure.h"

static void band_look(const lac_pattern *p, lac_band *band) {
  for (int64_t i = 0; i < p->rows; ++i) {
    int64_t begin = lac_buffer_get(p->offsets, i), end = lac_buffer_get(p->offsets, i + 1);
    int64_t first = begin < end ? lac_buffer_get(p->columns, begin) : -1;
    int64_t last = begin < end ? lac_buffer_get(p->columns, end - 1) : -1;
    if (first != i && band->first_without < 0) band->first_without = i;
    if (last != i && band->last_without < 0) band->last_without = i;
    if (begin == end) continue;
    if (first - i < band->low) band->low = first - i;
    if (last - i > band->high) band->high = last - i;
  }
}

lac_status lac_pattern_band(lac_context *ctx, const lac_pattern *pattern, const lac_band **out) {
  lac_status status = LAC_OK;
  lac_pattern *p = (lac_pattern *)pattern;  // only its derived parts change, under the lock
  const lac_structure_kernels *structure = lac_structure_of(ctx);
  lac_band *band = NULL;

  pthread_mutex_lock(&p->lock);
  if (!p->band) {
    LAC_ALLOC(band, 1);
    *band = (lac_band){.low = INT64_MAX, .high = INT64_MIN, .first_without = -1, .last_without = -1};
    if (structure && !(lac_buffer_is_host(p->offsets) && lac_buffer_is_host(p->columns))) {
      LAC_TRY(structure->band(ctx, p, band));
    } else {
      LAC_TRY(lac_pattern_host(ctx, p));
      band_look(p, band);
    }
    p->band = band, band = NULL;
  }
  *out = p->band;
done:
  lac_free(band);
  pthread_mutex_unlock(&p->lock);
  return status;
}

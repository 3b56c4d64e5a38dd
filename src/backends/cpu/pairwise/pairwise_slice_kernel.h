// SPDX-License-Identifier: Apache-2.0
// Values of rows, T, into slices of numbers H.

/// One slice that lies on `count` diagonals. Where every row has them all, their order is that of the rows.
static void VN(fill_slice)(const slice_job *g, int64_t row, const T *values, int count, const int32_t *shifts, H *out) {
  const int64_t begin = lac_buffer_get(g->offsets, row);
  if (lac_buffer_get(g->offsets, row + LAC_SLICE) - begin == count * LAC_SLICE) {
    for (int r = 0; r < LAC_SLICE; ++r) {
      for (int q = 0; q < count; ++q) out[q * LAC_SLICE + r] = (H)values[begin + r * count + q];
    }
    return;
  }
  for (int q = 0; q < count * LAC_SLICE; ++q) out[q] = 0;
  for (int r = 0; r < LAC_SLICE; ++r) {
    int q = 0;
    for (int64_t p = lac_buffer_get(g->offsets, row + r); p < lac_buffer_get(g->offsets, row + r + 1); ++p) {
      while (row + r + shifts[q] != g->columns[p]) ++q;
      out[q * LAC_SLICE + r] = (H)values[p];
    }
  }
}

static void VN(fill_slices)(const void *job, int64_t begin, int64_t end) {
  const slice_job *g = job;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t item = unit / g->count, slice = unit % g->count, row = slice * LAC_SLICE;
    const int64_t last = row + LAC_SLICE < g->rows ? row + LAC_SLICE : g->rows;
    const int32_t *list = g->lists + g->firsts[slice];
    const int count = *list;
    const T *values = (const T *)g->values + item * g->nnz;
    H *out = (H *)g->out + item * g->room + g->starts[slice];
    if (count) {
      VN(fill_slice)(g, row, values, count, list + 1, out);
    } else {
      for (int64_t p = lac_buffer_get(g->offsets, row), q = p; q < lac_buffer_get(g->offsets, last); ++q)
        out[q - p] = (H)values[q];
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
// Values of P^T A P. The columns of a coarse row are marked with their places, and the entries of its members add up
// there. Slices of rows that have a shape need no marks: their entries are walked side by side.

/// The values of a slice from its first row i on.
static void XN(galerkin_slice)(const galerkin_job *g, const int32_t *shape, int64_t i, const T *values, double unit,
                               FN(acc) * out) {
  const O *offsets = g->offsets;
  const int32_t members = shape[0], length = shape[1], *lengths = shape + 2 + length, *places = lengths + members;
  FN(acc) sums[LAC_SHAPE][LAC_SLICE];
  memset(sums, 0, (size_t)length * sizeof *sums);
  for (int32_t m = 0; m < members; ++m) {
    const T *rows[LAC_SLICE];
    for (int r = 0; r < LAC_SLICE; ++r) {
      rows[r] = values + offsets[g->members[g->starts[i + r] + m]];
      __builtin_prefetch(rows[r] + LEVEL_AHEAD);
    }
    for (int32_t q = 0; q < lengths[m]; ++q) {
      FN(acc) *sum = sums[*places++];
      for (int r = 0; r < LAC_SLICE; ++r) sum[r] += (FN(acc))rows[r][q];
    }
  }
  for (int r = 0; r < LAC_SLICE; ++r) {
    for (int32_t q = 0; q < length; ++q) out[r * length + q] = unit * sums[q][r];
  }
}

/// Values of coarse row i, whose columns are marked.
static void XN(galerkin_row)(const galerkin_job *g, const int32_t *mark, int64_t i, const T *values, double unit,
                             int64_t length, FN(acc) * out) {
  const O *offsets = g->offsets;
  const C *columns = g->columns;
  for (int64_t q = 0; q < length; ++q) out[q] = 0;
  for (int32_t q = g->starts[i]; q < g->starts[i + 1]; ++q) {
    int64_t row = g->members[q];
    if (!g->is_regular && q + 16 < g->starts[g->coarse]) {  // rows lie anywhere
      __builtin_prefetch(offsets + g->members[q + 16]);
      __builtin_prefetch(columns + offsets[g->members[q + 8]]);
      __builtin_prefetch(values + offsets[g->members[q + 8]]);
    }
    for (int64_t p = offsets[row]; p < offsets[row + 1]; ++p) {
      int32_t aggregate = g->aggregates[columns[p]];
      if (aggregate >= 0) out[mark[aggregate]] += unit * (FN(acc))values[p];
    }
  }
}

static void XN(galerkin_rows)(const galerkin_job *g, int32_t *mark, int64_t begin, int64_t end) {
  for (int64_t i = begin, next; i < end; i = next) {
    const int32_t *shape = lac_aggregation_shape(g->aggregation, i);
    const bool is_slice = i % LAC_SLICE == 0 && shape;
    const int64_t first = lac_buffer_get(g->coarse_offsets, i),
                  length = lac_buffer_get(g->coarse_offsets, i + 1) - first;
    next = is_slice ? i + LAC_SLICE : i + 1;
    for (int64_t q = 0; !is_slice && q < length; ++q) mark[g->coarse_columns[first + q]] = (int32_t)q;
    for (int64_t item = 0; item < g->items; ++item) {
      const T *values = (const T *)g->values + item * g->nnz;
      const double unit = g->unit ? g->unit[2 * item] : 1;
      FN(acc) *out = (FN(acc) *)g->out + item * g->coarse_nnz + first;
      if (is_slice) {
        XN(galerkin_slice)(g, shape, i, values, unit, out);
      } else {
        XN(galerkin_row)(g, mark, i, values, unit, length, out);
      }
    }
  }
}

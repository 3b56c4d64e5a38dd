// SPDX-License-Identifier: Apache-2.0
// Values of P^T A P. The columns of a coarse row are marked with their places, and the entries of its members add up there.

static void XN(galerkin_rows)(const galerkin_job *g, int32_t *mark, int64_t begin, int64_t end) {
  const O *offsets = g->offsets;
  const C *columns = g->columns;
  for (int64_t i = begin; i < end; ++i) {
    int64_t first = galerkin_offset(g, i), length = galerkin_offset(g, i + 1) - first;
    for (int64_t q = 0; q < length; ++q) mark[g->coarse_columns[first + q]] = (int32_t)q;
    for (int64_t item = 0; item < g->items; ++item) {
      const T *values = (const T *)g->values + item * g->nnz;
      const double unit = g->unit ? g->unit[2 * item] : 1;
      FN(acc) *out = (FN(acc) *)g->out + item * g->coarse_nnz + first;
      FN(acc) own = 0;  // of entries within the aggregate, the most: in a register where their order can be foreseen
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
          if (g->is_regular && aggregate == i) {
            own += (FN(acc))values[p];
          } else if (aggregate >= 0) {
            out[mark[aggregate]] += unit * (FN(acc))values[p];
          }
        }
      }
      if (g->is_regular) out[mark[i]] += unit * own;
    }
  }
}

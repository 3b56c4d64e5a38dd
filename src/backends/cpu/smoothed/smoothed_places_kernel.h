// SPDX-License-Identifier: Apache-2.0
// The text of smoothed_places.c, for one dtype T and integers O, C (instantiate_indexed.h).

static void XN(places_same)(const void *job, int64_t begin, int64_t end) {
  const places_job *j = job;
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  for (int64_t i = begin; i < end; ++i) {
    int64_t length = offsets[i + 1] - offsets[i];
    j->same[i] = i > 0 && offsets[i] - offsets[i - 1] == length &&
                 memcmp(columns + offsets[i], columns + offsets[i - 1], (size_t)length * sizeof *columns) == 0;
  }
}

/// The node of a row: the last that begins before it.
INLINE int64_t XN(places_node)(const places_job *j, int64_t row) {
  int64_t low = 0, high = j->nodes - 1;
  while (low < high) {
    int64_t middle = (low + high + 1) / 2;
    if (j->first[middle] <= row) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// For each unknown of whole nodes: the sum of its entries in row i over the diagonal.
static void XN(places_sums)(const places_job *j, int64_t i, double *sums) {
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  const T *values = j->values;
  FN(acc) sum[LAC_BLOCK_MOST] = {0}, own = 0;
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    int64_t node = XN(places_node)(j, columns[p]), begin = j->first[node];
    if (j->first[node + 1] - begin == j->size) sum[columns[p] - begin] += values[p];
    if (columns[p] == i) own = values[p];
  }
  for (int c = 0; c < j->size; ++c) sums[c] = own == 0 ? 0 : creal((c128)(sum[c] / own));
}

/// Which of the choices of `rows` unknowns, as bits, has the least sums.
static int64_t XN(places_choice)(const places_job *j, int64_t rows, double (*sums)[LAC_BLOCK_MOST]) {
  double least = DBL_MAX;
  int64_t best = ((int64_t)1 << rows) - 1;  // where all sums overflow
  for (int64_t bits = 1; bits < (int64_t)1 << j->size; ++bits) {
    double sum = 0;
    int64_t row = 0;
    for (int64_t c = 0; c < j->size; ++c) {
      if (!(bits >> c & 1)) continue;
      if (row < rows) sum += sums[row][c];
      ++row;
    }
    if (row == rows && sum < least) least = sum, best = bits;
  }
  return best;
}

static void XN(places_nodes)(const void *job, int64_t begin, int64_t end) {
  const places_job *j = job;
  C *place = j->place;
  for (int64_t node = begin; node < end; ++node) {
    double sums[LAC_BLOCK_MOST][LAC_BLOCK_MOST];
    int64_t first = j->first[node], rows = j->first[node + 1] - first, bits = ((int64_t)1 << j->size) - 1;
    for (int64_t r = 0; r < rows && rows < j->size; ++r) XN(places_sums)(j, first + r, sums[r]);
    if (rows < j->size) bits = XN(places_choice)(j, rows, sums);
    for (int64_t c = 0, r = 0; c < j->size; ++c) {
      if (bits >> c & 1) place[first + r++] = (C)(node * j->size + c);
    }
  }
}

/// Where the rows begin: of row i, and of the places without a row before it; behind the last row, all that is left.
static void XN(spread_offsets)(const void *job, int64_t begin, int64_t end) {
  const spread_job *j = job;
  const O *offsets = j->a->offsets;
  const C *place = j->place;
  O *to = j->offsets;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t at = i > 0 ? place[i - 1] + 1 : 0; at <= place[i]; ++at) to[at] = offsets[i];
    for (int64_t at = place[i] + 1; i + 1 == j->a->rows && at <= j->count; ++at) to[at] = offsets[i + 1];
  }
}

static void XN(spread_columns)(const void *job, int64_t begin, int64_t end) {
  const spread_job *j = job;
  const C *columns = j->a->columns, *place = j->place;
  C *to = j->columns;
  for (int64_t p = begin; p < end; ++p) to[p] = place[columns[p]];
}

// SPDX-License-Identifier: Apache-2.0
// The text of smoothed_blocks.c, for one dtype T and integers O, C (instantiate_indexed.h).

/// The next node along the rows of a node, from where each of them stands; INT64_MAX at the end.
INLINE int64_t XN(next_node)(const nodes_job *j, int64_t node, const int64_t *at) {
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  int64_t least = INT64_MAX;
  for (int r = 0; r < j->size; ++r) {
    if (at[r] >= offsets[node * j->size + r + 1]) continue;
    int64_t other = columns[at[r]] / j->size;
    least = other < least ? other : least;
  }
  return least;
}

/// The nodes that the rows of a node have entries in: how many, and which (NULL: only counted).
INLINE int64_t XN(nodes_of)(const nodes_job *j, int64_t node, C *which) {
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  int64_t at[LAC_BLOCK_MOST], count = 0, other;
  for (int r = 0; r < j->size; ++r) at[r] = offsets[node * j->size + r];
  for (; (other = XN(next_node)(j, node, at)) != INT64_MAX; ++count) {
    if (which) which[count] = (C)other;
    for (int r = 0; r < j->size; ++r) {
      while (at[r] < offsets[node * j->size + r + 1] && columns[at[r]] / j->size == other) ++at[r];
    }
  }
  return count;
}

/// The graph's lengths, or its columns.
static void XN(nodes_rows)(const void *job, int64_t begin, int64_t end) {
  const nodes_job *j = job;
  O *offsets = j->offsets;
  C *columns = j->columns;
  for (int64_t node = begin; node < end; ++node) {
    int64_t count = XN(nodes_of)(j, node, columns ? columns + offsets[node] : NULL);
    if (!columns) offsets[node] = (O)count;
  }
}

/// Entries into blocks; what is not stored is 0.
static void XN(nodes_blocks)(const void *job, int64_t begin, int64_t end) {
  const nodes_job *j = job;
  const O *offsets = j->a->offsets, *starts = j->nodes->offsets;
  const C *columns = j->a->columns, *others = j->nodes->columns;
  const T *values = j->values;
  int64_t size = j->size, area = size * size;
  T *out = j->out;
  for (int64_t node = begin; node < end; ++node) {
    for (int64_t n = starts[node] * area; n < starts[node + 1] * area; ++n) out[n] = 0;
    for (int64_t i = node * size; i < (node + 1) * size; ++i) {
      int64_t q = starts[node];
      for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
        while (others[q] < columns[p] / size) ++q;
        out[q * area + i % size * size + columns[p] % size] = values[p];
      }
    }
  }
}

/// What row i does to each of `size` unknowns by itself, beside what it does to all: |sum| over sums of moduli. 0:
/// nothing.
INLINE double XN(translation_of)(const translations_job *j, int64_t i) {
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  const T *values = j->values;
  FN(acc) sums[LAC_BLOCK_MOST] = {0};
  double all = 0, left = 0;
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    sums[columns[p] % j->size] += values[p];
    all += FN(modulus)(values[p]);
  }
  for (int c = 0; c < j->size; ++c) left += cabs((c128)sums[c]);
  return all > 0 ? left / all : 1;
}

/// Shares: of the rows looked at those in which no translation has much left, and of the places in the blocks of their
/// nodes those that hold an entry.
static void XN(translations_rows)(const translations_job *j, double found[2]) {
  const O *offsets = j->a->offsets;
  const nodes_job nodes = {.a = j->a, .size = j->size};
  int64_t rows = 0, still = 0, entries = 0, places = 0;
  for (int64_t node = 0; node < j->a->rows / j->size; node += j->step) {
    places += XN(nodes_of)(&nodes, node, NULL) * j->size * j->size;
    for (int64_t i = node * j->size; i < (node + 1) * j->size; ++i, ++rows) {
      entries += offsets[i + 1] - offsets[i];
      still += XN(translation_of)(j, i) < TRANSLATION_LEFT;
    }
  }
  found[0] = rows ? (double)still / (double)rows : 0;
  found[1] = places ? (double)entries / (double)places : 0;
}

static void XN(sizes_roots)(const void *job, int64_t begin, int64_t end) {
  const sizes_job *j = job;
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
      if (columns[p] == i && j->out[p] > 0) j->root[i] = 1 / sqrt(j->out[p]);
    }
  }
}

static void XN(sizes_scale)(const void *job, int64_t begin, int64_t end) {
  const sizes_job *j = job;
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) j->out[p] *= j->root[i] * j->root[columns[p]];
  }
}

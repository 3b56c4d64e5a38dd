// SPDX-License-Identifier: Apache-2.0
// Sums and dot products, block by block. dot_kernel.h says how a run is added.

static FN(acc) FN(run_sum)(const T *x, int64_t n) {
  FN(acc) total = 0;
  int64_t i = 0;
  if (n >= DOT_LANES) {
    FN(acc) lane[DOT_LANES] = {0};
    for (; i + DOT_LANES <= n; i += DOT_LANES) {
      for (int l = 0; l < DOT_LANES; ++l) lane[l] += x[i + l];
    }
    total = FN(lanes_total)(lane, DOT_LANES);
  }
  for (; i < n; ++i) total += x[i];
  return total;
}

/// Blocks of sums whose innermost dimension is summed: one number each.
static void FN(sum_along)(const sum_job *job, int64_t unit, FN(acc) * partial) {
  const T *x = (const T *)job->x + axes_offset(&job->kept, unit / job->blocks);
  int64_t block = unit % job->blocks;
  if (job->pieces > 1) {  // a part of one run
    int64_t start = block % job->pieces * REDUCE_BLOCK, left = job->inner - start;
    x += axes_offset(&job->summed, block / job->pieces) + start;
    *partial = FN(run_sum)(x, left < REDUCE_BLOCK ? left : REDUCE_BLOCK);
    return;
  }
  int64_t begin = block * job->runs,
          end = begin + job->runs < job->summed.count ? begin + job->runs : job->summed.count;
  *partial = 0;
  for (int64_t r = begin; r < end; ++r) *partial += FN(run_sum)(x + axes_offset(&job->summed, r), job->inner);
}

/// Blocks of sums whose innermost dimension is kept: a tile of columns each, added row by row.
static void FN(sum_across)(const sum_job *job, int64_t unit, int64_t tile, FN(acc) * partial) {
  int64_t first = tile * REDUCE_TILE, width = job->inner - first < REDUCE_TILE ? job->inner - first : REDUCE_TILE;
  const T *x = (const T *)job->x + axes_offset(&job->kept, unit / job->blocks) + first;
  int64_t begin = unit % job->blocks * job->runs;
  int64_t end = begin + job->runs < job->summed.count ? begin + job->runs : job->summed.count;
  FN(acc) column[REDUCE_TILE];
  for (int64_t c = 0; c < width; ++c) column[c] = 0;
  for (int64_t r = begin; r < end; ++r) {
    const T *row = x + axes_offset(&job->summed, r);
    for (int64_t c = 0; c < width; ++c) column[c] += row[c];
  }
  memcpy(partial + first, column, (size_t)width * sizeof *column);
}

/// partial[unit, 0..width) for units [begin, end), each cut into tiles.
static void FN(sum_units)(const void *opaque, int64_t begin, int64_t end) {
  const sum_job *job = opaque;
  FN(acc) *partial = job->partial;
  for (int64_t u = begin; u < end; ++u) {
    int64_t unit = u / job->tiles;
    if (job->is_along) {
      FN(sum_along)(job, unit, partial + unit);
    } else {
      FN(sum_across)(job, unit, u % job->tiles, partial + unit * job->inner);
    }
  }
}

/// Add up partial[0..blocks, 0..width) pair by pair, into T numbers.
static void FN(tree)(void *sums, int64_t blocks, int64_t width, void *out) {
  FN(acc) *partial = sums;
  T *y = out;
  for (int64_t step = 1; step < blocks; step *= 2) {
    for (int64_t b = 0; b + step < blocks; b += 2 * step) {
      for (int64_t c = 0; c < width; ++c) partial[b * width + c] += partial[(b + step) * width + c];
    }
  }
  for (int64_t c = 0; c < width; ++c) y[c] = (T)partial[c];
}

static void FN(dot_units)(const void *opaque, int64_t begin, int64_t end) {
  const dot_job *job = opaque;
  FN(acc) *partial = job->partial;
  for (int64_t u = begin; u < end; ++u) {
    int64_t item = u / job->blocks, start = u % job->blocks * REDUCE_BLOCK, left = job->count - start;
    const T *x = (const T *)job->x + lac_batch_item(&job->batch, 0, item) * job->count + start;
    const T *y = (const T *)job->y + lac_batch_item(&job->batch, 1, item) * job->count + start;
    partial[u] = FN(run_dot)(x, y, left < REDUCE_BLOCK ? left : REDUCE_BLOCK, DOT_LANES);
  }
}

static void FN(add_to)(void *sum, const void *x) { *(T *)sum += *(const T *)x; }

// SPDX-License-Identifier: Apache-2.0
// Running sums in accumulators: f64 for f32 and c64.

INLINE void FN(cumsum_columns)(const T *x, T *y, int64_t n, int64_t step, const int64_t width) {
  FN(acc) sum[CUMSUM_TILE];
  for (int64_t c = 0; c < width; ++c) sum[c] = 0;
  for (int64_t i = 0; i < n; ++i, x += step, y += step) {
    for (int64_t c = 0; c < width; ++c) y[c] = (T)(sum[c] += x[c]);
  }
}

/// Units are tiles of columns of the places before the axis.
static void FN(cumsum_units)(const void *opaque, int64_t begin, int64_t end) {
  const cumsum_job *job = opaque;
  for (int64_t u = begin; u < end; ++u) {
    int64_t first = u % job->tiles * CUMSUM_TILE, left = job->inner - first;
    int64_t at = u / job->tiles * job->n * job->inner + first + (job->backwards ? (job->n - 1) * job->inner : 0);
    int64_t step = job->backwards ? -job->inner : job->inner;
    const T *x = (const T *)job->x + at;
    T *y = (T *)job->y + at;
    if (left == 1) {
      FN(cumsum_columns)(x, y, job->n, step, 1);
    } else {
      FN(cumsum_columns)(x, y, job->n, step, left < CUMSUM_TILE ? left : CUMSUM_TILE);
    }
  }
}

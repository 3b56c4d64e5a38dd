// SPDX-License-Identifier: Apache-2.0
// Slices of sliced ELL times a dense block x of k columns. The first `full` entries of every lane are no padding, so
// that they need no question. One column is summed in accumulators (f64 for f32 and c64), several in T.

/// Lanes [lane, lane + lanes) of slice s, one column; `lanes` is a constant to the compiler.
INLINE void IN(sell_lanes)(const sell_job *job, const T *a, const T *x, T *y, int64_t s, int64_t lane,
                           const int64_t slice, const int lanes) {
  const C *column = job->columns;
  int64_t p = job->offsets[s] + lane, end = job->offsets[s + 1], full = p + job->full[s] * slice;
  FN(acc) sum[SELL_LANES] = {0};
  for (; p < full; p += slice) {
    __builtin_prefetch(a + p + SELL_AHEAD, 0, 0);
    __builtin_prefetch(column + p + SELL_AHEAD, 0, 0);
    UNROLL(8) for (int l = 0; l < lanes; ++l) sum[l] = FN(mac_acc)(sum[l], a[p + l], x[column[p + l]]);
  }
  for (; p < end; p += slice) {
    UNROLL(8) for (int l = 0; l < lanes; ++l) {
      if (column[p + l] >= 0) sum[l] = FN(mac_acc)(sum[l], a[p + l], x[column[p + l]]);
    }
  }
  int64_t first = s * slice + lane;
  if (job->f->in_order && first + lanes <= job->f->pattern->rows) {
    UNROLL(8) for (int l = 0; l < lanes; ++l) y[first + l] = (T)sum[l];
    return;
  }
  UNROLL(8) for (int l = 0; l < lanes; ++l) {
    int64_t row = sell_row(job, first + l);
    if (row >= 0) y[row] = (T)sum[l];
  }
}

INLINE void IN(sell_slice)(const sell_job *job, const T *a, const T *x, T *y, int64_t s, const int64_t slice) {
  int64_t lane = 0;
  for (; lane + SELL_LANES <= slice; lane += SELL_LANES) IN(sell_lanes)(job, a, x, y, s, lane, slice, SELL_LANES);
  for (; lane < slice; ++lane) IN(sell_lanes)(job, a, x, y, s, lane, slice, 1);
}

/// Several columns of slice s, lane after lane.
INLINE void IN(sell_rows)(const sell_job *job, const T *a, const T *x, T *y, int64_t s) {
  const C *column = job->columns;
  const int64_t slice = job->f->width, k = job->k;
  for (int64_t lane = 0; lane < slice; ++lane) {
    int64_t row = sell_row(job, s * slice + lane);
    if (row < 0) continue;
    T *sum = y + row * k;
    for (int64_t j = 0; j < k; ++j) sum[j] = 0;
    for (int64_t p = job->offsets[s] + lane; p < job->offsets[s + 1] && column[p] >= 0; p += slice) {
      const T *from = x + column[p] * k;
      for (int64_t j = 0; j < k; ++j) sum[j] = FN(mac)(sum[j], a[p], from[j]);
    }
  }
}

static void IN(sell_slices)(const void *opaque, int64_t begin, int64_t end) {
  const sell_job local = *(const sell_job *)opaque, *job = &local;
  const lac_pattern *p = job->f->pattern;
  for (int64_t item = 0; item < job->batch.count; ++item) {
    const T *a = (const T *)job->a + lac_batch_item(&job->batch, 0, item) * job->f->size;
    const T *x = (const T *)job->x + lac_batch_item(&job->batch, 1, item) * p->cols * job->k;
    T *y = (T *)job->y + lac_batch_item(&job->batch, 2, item) * p->rows * job->k;
    for (int64_t s = begin; s < end; ++s) {
      if (job->k > 1) {
        IN(sell_rows)(job, a, x, y, s);
      } else if (job->f->width == SELL_LANES) {
        IN(sell_slice)(job, a, x, y, s, SELL_LANES);
      } else {
        IN(sell_slice)(job, a, x, y, s, job->f->width);
      }
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
// Entries of k numbers along a map whose integers are C. Ranges count entries over all items of the batch; `n` is how
// many one item has. k is 1 to the compiler where it is 1.

/// y[i] = x[target[i]], or 0 where the target is -1.
INLINE void IN(gather_span)(const C *target, const T *x, T *y, int64_t n, const int64_t k) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = 0; c < k; ++c) y[i * k + c] = target[i] < 0 ? 0 : x[target[i] * k + c];
  }
}

static void IN(gather)(const void *opaque, int64_t begin, int64_t end) {
  const remap_job *job = opaque;
  for (int64_t n; begin < end; begin += n) {
    int64_t item = begin / job->n, i0 = begin % job->n;
    const C *target = (const C *)job->index + i0;
    const T *x = (const T *)job->x + item * job->n_x * job->k;
    T *y = (T *)job->y + begin * job->k;
    n = job->n - i0 < end - begin ? job->n - i0 : end - begin;
    if (job->k == 1) {
      IN(gather_span)(target, x, y, n, 1);
    } else {
      IN(gather_span)(target, x, y, n, job->k);
    }
  }
}

/// y[target[i]] = x[i]: no two inputs have the same target, and y was zero.
INLINE void IN(scatter_span)(const C *target, const T *x, T *y, int64_t n, const int64_t k) {
  for (int64_t i = 0; i < n; ++i) {
    if (target[i] < 0) continue;
    for (int64_t c = 0; c < k; ++c) y[target[i] * k + c] = x[i * k + c];
  }
}

static void IN(scatter)(const void *opaque, int64_t begin, int64_t end) {
  const remap_job *job = opaque;
  for (int64_t n; begin < end; begin += n) {
    int64_t item = begin / job->n, i0 = begin % job->n;
    const C *target = (const C *)job->index + i0;
    const T *x = (const T *)job->x + begin * job->k;
    T *y = (T *)job->y + item * job->n_y * job->k;
    n = job->n - i0 < end - begin ? job->n - i0 : end - begin;
    if (job->k == 1) {
      IN(scatter_span)(target, x, y, n, 1);
    } else {
      IN(scatter_span)(target, x, y, n, job->k);
    }
  }
}

/// The sum of entries of x, in the order of their sources: `width` numbers of each. `runs`: entries [g, end)
/// themselves.
INLINE void IN(group_sum)(const C *sources, int64_t g, int64_t end, const T *x, int64_t k, T *y, const int64_t width,
                          const bool runs) {
  FN(acc) sum[REMAP_TILE];
  for (int64_t c = 0; c < width; ++c) sum[c] = 0;
  for (; g < end; ++g) {
    for (int64_t c = 0; c < width; ++c) sum[c] += x[(runs ? g : (int64_t)sources[g]) * k + c];
  }
  for (int64_t c = 0; c < width; ++c) y[c] = (T)sum[c];
}

/// y[j] = the sum of x over the sources of j, in their order.
INLINE void IN(group_span)(const C *offsets, const C *sources, const T *x, T *y, int64_t n, const int64_t k,
                           const bool runs) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t c = 0; c < k; c += REMAP_TILE) {
      IN(group_sum)
      (sources, offsets[j], offsets[j + 1], x + c, k, y + j * k + c, k - c < REMAP_TILE ? k - c : REMAP_TILE, runs);
    }
  }
}

static void IN(group)(const void *opaque, int64_t begin, int64_t end) {
  const remap_job *job = opaque;
  for (int64_t n; begin < end; begin += n) {
    int64_t item = begin / job->n, j0 = begin % job->n;
    const C *offsets = (const C *)job->index + j0;
    const T *x = (const T *)job->x + item * job->n_x * job->k;
    T *y = (T *)job->y + begin * job->k;
    n = job->n - j0 < end - begin ? job->n - j0 : end - begin;
    if (job->k == 1 && !job->sources) {
      IN(group_span)(offsets, NULL, x, y, n, 1, true);
    } else if (job->k == 1) {
      IN(group_span)(offsets, job->sources, x, y, n, 1, false);
    } else if (!job->sources) {
      IN(group_span)(offsets, NULL, x, y, n, job->k, true);
    } else {
      IN(group_span)(offsets, job->sources, x, y, n, job->k, false);
    }
  }
}

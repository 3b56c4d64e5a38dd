// SPDX-License-Identifier: Apache-2.0
// Values along a map whose integers are C. Ranges count over all items of the batch; `n` is the length of one.

/// y[i] = x[target[i]], or 0 where the target is -1.
static void IN(gather)(const void *opaque, int64_t begin, int64_t end) {
  const remap_job *job = opaque;
  const C *target = job->index;
  for (int64_t n; begin < end; begin += n) {
    int64_t item = begin / job->n, i0 = begin % job->n;
    const T *x = (const T *)job->x + item * job->n_x;
    T *y = (T *)job->y + begin;
    n = job->n - i0 < end - begin ? job->n - i0 : end - begin;
    for (int64_t i = 0; i < n; ++i) y[i] = target[i0 + i] < 0 ? 0 : x[target[i0 + i]];
  }
}

/// y[target[i]] = x[i]: no two inputs have the same target, and y was zero.
static void IN(scatter)(const void *opaque, int64_t begin, int64_t end) {
  const remap_job *job = opaque;
  const C *target = job->index;
  for (int64_t n; begin < end; begin += n) {
    int64_t item = begin / job->n, i0 = begin % job->n;
    const T *x = (const T *)job->x + begin;
    T *y = (T *)job->y + item * job->n_y;
    n = job->n - i0 < end - begin ? job->n - i0 : end - begin;
    for (int64_t i = 0; i < n; ++i) {
      if (target[i0 + i] >= 0) y[target[i0 + i]] = x[i];
    }
  }
}

/// y[j] = the sum of x over the sources of j, in their order. Of a sorted map sources are the inputs themselves.
static void IN(group)(const void *opaque, int64_t begin, int64_t end) {
  const remap_job *job = opaque;
  const C *offsets = job->index, *sources = job->sources;
  for (int64_t n; begin < end; begin += n) {
    int64_t item = begin / job->n, j0 = begin % job->n;
    const T *x = (const T *)job->x + item * job->n_x;
    T *y = (T *)job->y + begin;
    n = job->n - j0 < end - begin ? job->n - j0 : end - begin;
    for (int64_t j = 0; j < n; ++j) {
      FN(acc) sum = 0;
      int64_t g = offsets[j0 + j], last = offsets[j0 + j + 1];
      if (sources) {
        for (; g < last; ++g) sum += x[sources[g]];
      } else {
        for (; g < last; ++g) sum += x[g];
      }
      y[j] = (T)sum;
    }
  }
}

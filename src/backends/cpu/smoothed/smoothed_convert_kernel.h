// SPDX-License-Identifier: Apache-2.0
// The text of the conversions in smoothed_cycle.c, for one dtype T (instantiate.h): the wide numbers are its
// accumulators.

static void FN(narrow_part)(const void *job, int64_t begin, int64_t end) {
  const convert_job *j = job;
  const FN(acc) *x = j->x;
  T *y = j->y;
  if (j->k == 1) {
    double factor = j->factor[0];
    for (int64_t i = begin; i < end; ++i) y[i] = (T)(factor * x[i]);
    return;
  }
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t c = 0; c < j->k; ++c) y[i * j->k + c] = (T)(j->factor[c] * x[i * j->k + c]);
  }
}

static void FN(widen_part)(const void *job, int64_t begin, int64_t end) {
  const convert_job *j = job;
  const T *x = j->x;
  FN(acc) *y = j->y;
  if (j->k == 1) {
    double factor = j->factor[0];
    for (int64_t i = begin; i < end; ++i) y[i] = factor * (FN(acc))x[i];
    return;
  }
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t c = 0; c < j->k; ++c) y[i * j->k + c] = j->factor[c] * (FN(acc))x[i * j->k + c];
  }
}

/// The larger of the parts of a number. A NaN compares as larger than anything.
INLINE double FN(largest_of)(double most, T x) {
  double re = fabs((double)FN(re)(x)), im = fabs((double)FN(im)(x));
  most = re > most || re != re ? re : most;
  return has_imag_c64 && (im > most || im != im) ? im : most;
}

static void FN(largest_part)(const void *job, int64_t begin, int64_t end) {
  const largest_job *j = job;
  const T *x = j->x;
  for (int64_t b = begin; b < end; ++b) {
    int64_t from = b * LARGEST_BLOCK, to = from + LARGEST_BLOCK < j->count ? from + LARGEST_BLOCK : j->count;
    for (int64_t c = 0; c < j->k; ++c) {
      double most[4] = {0};
      int64_t i = from;
      for (; i + 4 <= to; i += 4) {
        for (int l = 0; l < 4; ++l) most[l] = FN(largest_of)(most[l], x[(i + l) * j->k + c]);
      }
      for (; i < to; ++i) most[0] = FN(largest_of)(most[0], x[i * j->k + c]);
      for (int l = 1; l < 4; ++l) most[0] = most[l] > most[0] || most[l] != most[l] ? most[l] : most[0];
      j->largest[b * j->k + c] = most[0];
    }
  }
}

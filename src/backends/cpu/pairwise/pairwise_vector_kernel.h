// SPDX-License-Identifier: Apache-2.0
// What multigrid does with vectors alone. T and H as in pairwise_instantiate.h.

#define REAL FN(real)

/// z = weights b scale, from T to H
INLINE void VN(narrow_all)(const level_job *g, int64_t begin, int64_t end, const int64_t k) {
  const T *b = g->b;
  const H *weights = g->weights;
  H *z = g->z;
  for (int64_t c = 0; c < k; ++c) {
    const REAL scale = g->in_scale ? (REAL)g->in_scale[c] : 1;
    for (int64_t i = begin; i < end; ++i) {
      const T x = b[i * k + c] * scale;
      z[i * k + c] = (H)(weights ? FN(mul)(HN(signed)(weights[i], (HN(real))g->sign), x) : x);
    }
  }
}

static void VN(narrow)(const level_job *g, int64_t begin, int64_t end) {
  if (g->k == 1) {
    VN(narrow_all)(g, begin, end, 1);
  } else {
    VN(narrow_all)(g, begin, end, g->k);
  }
}

/// y = P^T b, z = next_weights y
INLINE void VN(collect_all)(const level_job *g, int64_t begin, int64_t end, const int64_t k) {
  const T *b = g->b;
  const H *weights = g->next_weights;
  H *y = g->y, *z = g->z;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t c = 0; c < k; ++c) {
      T sum = 0;
      for (int32_t q = g->starts[i]; q < g->starts[i + 1]; ++q) sum += b[g->members[q] * k + c];
      y[i * k + c] = (H)sum;
      if (z) z[i * k + c] = HN(mul)(HN(signed)(weights[i], (HN(real))g->sign), y[i * k + c]);
    }
  }
}

static void VN(collect)(const level_job *g, int64_t begin, int64_t end) {
  if (g->k == 1) {
    VN(collect_all)(g, begin, end, 1);
  } else {
    VN(collect_all)(g, begin, end, g->k);
  }
}

/// z = b scale, from H to T
static void VN(widen)(const level_job *g, int64_t begin, int64_t end) {
  const H *b = g->b;
  T *z = g->z;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t c = 0; c < g->k; ++c) {
      z[i * g->k + c] = (T)b[i * g->k + c] * (g->in_scale ? (REAL)g->in_scale[c] : 1);
    }
  }
}

/// The largest part of each column of b in these rows: NaN and infinity stay
static void VN(largest)(const level_job *g, int64_t begin, int64_t end) {
  const REAL *b = g->b;
  const int64_t parts = sizeof(T) / sizeof(REAL), k = g->k;
  double *sums = g->sums;
  for (int64_t c = 0; c < k; ++c) {
    REAL most[8] = {0};
    int64_t i = begin;
    if (k == 1) {
      for (; i + 8 / parts <= end; i += 8 / parts) {
        for (int q = 0; q < 8; ++q) {
          REAL size = b[i * parts + q] < 0 ? -b[i * parts + q] : b[i * parts + q];
          most[q] = size <= most[q] ? most[q] : size;
        }
      }
    }
    for (; i < end; ++i) {
      for (int64_t q = 0; q < parts; ++q) {
        REAL part = b[(i * k + c) * parts + q], size = part < 0 ? -part : part;
        most[q] = size <= most[q] ? most[q] : size;
      }
    }
    for (int q = 1; q < 8; ++q) most[0] = most[q] <= most[0] ? most[0] : most[q];
    sums[c] = (double)most[0];
  }
}

#undef REAL

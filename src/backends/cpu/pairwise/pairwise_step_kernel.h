// SPDX-License-Identifier: Apache-2.0
// What a K-cycle does with vectors of the hierarchy, of numbers T. Coefficients are accumulators.

/// y += P (step c + step' d), row by row
INLINE void FN(prolong_all)(const level_job *g, int64_t begin, int64_t end, const int64_t k, const bool has_steps) {
  const FN(acc) *steps = g->steps;
  const T *c = g->c, *d = g->d;
  const int32_t *aggregates = g->aggregates;
  T *y = g->y;
  for (int64_t j = 0; j < k; ++j) {
    const T first = has_steps ? (T)steps[LAC_CYCLE_C * k + j] : 1,
            second = has_steps ? (T)steps[LAC_CYCLE_D * k + j] : 0;
    for (int64_t i = begin; i < end; ++i) {
      if (aggregates[i] < 0) continue;
      const int64_t at = aggregates[i] * k + j;
      y[i * k + j] += has_steps ? FN(mac)(FN(mul)(first, c[at]), second, d[at]) : c[at];
    }
  }
}

static void FN(prolong)(const level_job *g, int64_t begin, int64_t end) {
  if (!g->steps) {
    FN(prolong_all)(g, begin, end, g->k, false);
  } else if (g->k == 1) {
    FN(prolong_all)(g, begin, end, 1, true);
  } else {
    FN(prolong_all)(g, begin, end, g->k, true);
  }
}

/// y -= first c, z = weights y
INLINE void FN(advance_all)(const level_job *g, int64_t begin, int64_t end, const int64_t k) {
  const FN(acc) *steps = g->steps;
  const T *c = g->c, *weights = g->weights;
  T *y = g->y, *z = g->z;
  for (int64_t j = 0; j < k; ++j) {
    const T step = -(T)steps[LAC_CYCLE_FIRST * k + j];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i * k + j;
      const T r = FN(mac)(y[at], step, c[at]);
      y[at] = r;
      z[at] = FN(mul)(FN(signed)(weights[i], (FN(real))g->sign), r);
    }
  }
}

static void FN(advance)(const level_job *g, int64_t begin, int64_t end) {
  if (g->k == 1) {
    FN(advance_all)(g, begin, end, 1);
  } else {
    FN(advance_all)(g, begin, end, g->k);
  }
}

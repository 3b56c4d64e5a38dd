// SPDX-License-Identifier: Apache-2.0
// What a K-cycle does with vectors of the hierarchy, of numbers T. Coefficients are accumulators.

/// x += P (step c + step' d) over aggregates
INLINE void FN(prolong_all)(const grid_job *g, int64_t begin, int64_t end, const int64_t k) {
  const FN(acc) *steps = g->steps;
  const T *c = g->c, *d = g->d;
  T *y = g->y;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      T e = c[i * k + j];
      if (steps) {
        e = FN(mul)((T)steps[LAC_STEP_C * k + j], e);
        e = FN(mac)(e, (T)steps[LAC_STEP_D * k + j], d[i * k + j]);
      }
      for (int32_t q = g->starts[i]; q < g->starts[i + 1]; ++q) y[g->members[q] * k + j] += e;
    }
  }
}

static void FN(prolong)(const grid_job *g, int64_t begin, int64_t end) {
  if (g->k == 1) {
    FN(prolong_all)(g, begin, end, 1);
  } else {
    FN(prolong_all)(g, begin, end, g->k);
  }
}

/// y -= first c, z = weights y
static void FN(advance)(const grid_job *g, int64_t begin, int64_t end) {
  const FN(acc) *steps = g->steps;
  const T *c = g->c, *weights = g->weights;
  T *y = g->y, *z = g->z;
  for (int64_t i = begin; i < end; ++i) {
    const T w = FN(signed)(weights[i], (FN(real))g->sign);
    for (int64_t j = 0; j < g->k; ++j) {
      const int64_t at = i * g->k + j;
      y[at] = FN(mac)(y[at], -(T)steps[LAC_STEP_FIRST * g->k + j], c[at]);
      z[at] = FN(mul)(w, y[at]);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
// Cholesky's part of fronts for one dtype. Included once for each.

static bool FN(cholesky_eliminate)(lac_front *front) {
  int p = front->p, r = front->r, m = p + r;
  T *l = front->l;
  int refused = FN(dense_cholesky)(m, p, l, m, &front->smallest, front->threads);
  if (refused >= 0) {
    front->where = front->first + refused;
    return false;
  }
  if (r > 0) FN(dense_herk)(r, p, l + p, m, front->beta, front->update, r, front->threads);
  front->smallest = 1;
  for (int k = 0; front->norms && k < p; k++) {
    double root = FN(re)(l[k + (int64_t)k * m]), pivot = root * (root / front->norms[k]);
    if (k == 0 || pivot < front->smallest) front->smallest = pivot, front->where = front->first + k;
  }
  return true;
}

// The largest number of each row, by steps.
static void FN(cholesky_norms)(const lac_structure *structure, const lac_supernodes *s, const void *values, int threads,
                               double *norms) {
  const T *a = values;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && s->n > CHOLESKY_SHARED)
  for (int32_t i = 0; i < s->n; i++) {
    double largest = 0;
    for (int64_t p = structure->offsets[i]; p < structure->offsets[i + 1]; p++) {
      double size = FN(size)(a[p]);
      if (size > largest) largest = size;
    }
    norms[s->row_step[i]] = largest;
  }
}

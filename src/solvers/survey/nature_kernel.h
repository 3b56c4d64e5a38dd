// SPDX-License-Identifier: Apache-2.0
// The nature of a matrix for one dtype; nature.c. Included once for each.

static int64_t FN(nature_nonfinite)(const lac_structure *s, const T *a) {
  for (int64_t p = 0; p < s->nnz; p++) {
    if (!FN(finite)(a[p])) return p;
  }
  return -1;
}

// In a symmetric structure the p-th entry by rows, (i, j), and the p-th by columns, (j, i), mirror each other.
static int64_t FN(nature_asymmetric)(const lac_structure *s, const T *a) {
  if (!s->is_symmetric) return s->unmatched;
  for (int64_t p = 0; p < s->nnz; p++) {
    T here = a[p], there = FN(conj)(a[s->t_slots[p]]);
    if (here == there) continue;
    double size = fmax(FN(size)(here), FN(size)(there));
    if (!(FN(size)(here - there) <= NATURE_ROUNDINGS * FN(epsilon) * size)) return p;
  }
  return -1;
}

static int64_t FN(nature_not_positive)(const lac_structure *s, const T *a) {
  for (int32_t i = 0; i < s->n; i++) {
    int64_t p = s->offsets[i], end = s->offsets[i + 1];
    while (p < end && s->columns[p] < i) p++;
    if (p == end || s->columns[p] != i || !(FN(re)(a[p]) > 0)) return i;
  }
  return -1;
}

static lac_values_nature FN(nature)(const lac_structure *s, const void *values) {
  lac_values_nature nature = {.nonfinite = FN(nature_nonfinite)(s, values), .asymmetric = -1, .not_positive = -1};
  if (nature.nonfinite >= 0) return nature;
  nature.asymmetric = FN(nature_asymmetric)(s, values);
  nature.not_positive = FN(nature_not_positive)(s, values);
  return nature;
}

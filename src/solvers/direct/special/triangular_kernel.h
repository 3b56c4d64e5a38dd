// SPDX-License-Identifier: Apache-2.0
// Substitution in a found order for one dtype; triangular.c has the equation. Included once for each.

// The first place whose diagonal is zero, or -1.
static int32_t FN(triangular_zero)(const triangular_part *t, const void *values) {
  const T *a = values;
  for (int32_t k = 0; k < t->s->n; k++) {
    if (a[t->diagonal[k]] == 0) return k;
  }
  return -1;
}

static inline __attribute__((always_inline)) void FN(triangular_forth)(const triangular_part *t, const T *a,
                                                                       const int width, const T *b, T *x) {
  const lac_structure *s = t->s;
  for (int32_t k = 0; k < s->n; k++) {
    int32_t i = t->rows[k];
    int64_t own = t->diagonal[k];
    WIDE sum[LAC_BLOCK_WIDTH];
    for (int c = 0; c < width; c++) sum[c] = b[(int64_t)i * width + c];
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      const T *from = x + (int64_t)s->columns[p] * width;
      if (p == own) continue;
      for (int c = 0; c < width; c++) sum[c] -= (WIDE)a[p] * from[c];
    }
    T *to = x + (int64_t)t->cols[k] * width;
    for (int c = 0; c < width; c++) to[c] = FN(div)((T)sum[c], a[own]);
  }
}

static inline __attribute__((always_inline)) void FN(triangular_back)(const triangular_part *t, const T *a,
                                                                      const int width, const T *b, T *x) {
  const lac_structure *s = t->s;
  for (int32_t k = s->n - 1; k >= 0; k--) {
    int32_t j = t->cols[k];
    int64_t own = t->diagonal[k];
    WIDE sum[LAC_BLOCK_WIDTH];
    for (int c = 0; c < width; c++) sum[c] = b[(int64_t)j * width + c];
    for (int64_t q = s->t_offsets[j]; q < s->t_offsets[j + 1]; q++) {
      const T *from = x + (int64_t)s->t_rows[q] * width, value = a[s->t_slots[q]];
      if (s->t_slots[q] == own) continue;
      for (int c = 0; c < width; c++) sum[c] -= (WIDE)value * from[c];
    }
    T *to = x + (int64_t)t->rows[k] * width;
    for (int c = 0; c < width; c++) to[c] = FN(div)((T)sum[c], a[own]);
  }
}

static inline __attribute__((always_inline)) void FN(triangular_block)(const triangular_part *t, const T *a,
                                                                       lac_form form, const int width, const T *b,
                                                                       T *x) {
  if (form == LAC_TRANSPOSED) {
    FN(triangular_back)(t, a, width, b, x);
  } else {
    FN(triangular_forth)(t, a, width, b, x);
  }
}

static void FN(triangular_solve)(const triangular_part *t, const void *a, lac_form form, int width, const void *b,
                                 void *x) {
  if (width == 1) {
    FN(triangular_block)(t, a, form, 1, b, x);
  } else if (width == LAC_BLOCK_WIDTH) {
    FN(triangular_block)(t, a, form, LAC_BLOCK_WIDTH, b, x);
  } else {
    FN(triangular_block)(t, a, form, width, b, x);
  }
}

static void FN(triangular_logdet)(const triangular_part *t, const void *values, lac_determinant *d) {
  const T *a = values;
  for (int32_t k = 0; k < t->s->n; k++) lac_determinant_times(d, FN(re)(a[t->diagonal[k]]), FN(im)(a[t->diagonal[k]]));
}

static void FN(triangular_inverse)(const triangular_part *t, const void *values, void *inverse) {
  const T *a = values;
  T *z = inverse;
  for (int64_t p = 0; p < t->s->nnz; p++) z[p] = 0;
  for (int32_t k = 0; k < t->s->n; k++) z[t->diagonal[k]] = FN(div)(1, a[t->diagonal[k]]);
}

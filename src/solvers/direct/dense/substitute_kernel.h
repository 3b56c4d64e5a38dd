// SPDX-License-Identifier: Apache-2.0
// Substitution with a triangle stored by columns, steps begin .. end - 1 of it, on a block x of `width` columns.
// Included by kernel texts.
//
//     lower       L x = b        unit diagonal, not stored
//     lower_t     L^T x = b      or L^H x = b
//     upper       U x = b        one over its diagonal apart
//     upper_t     U^T x = b
//
// `width` is a constant wherever these are called, so that the innermost loops unroll.

static inline __attribute__((always_inline)) void FN(lower)(int32_t begin, int32_t end, const int64_t *offsets,
                                                            const int32_t *rows, const T *l, const int width, T *x) {
  for (int32_t k = begin; k < end; k++) {
    T from[LAC_BLOCK_WIDTH];  // a copy, which no store can change
    for (int c = 0; c < width; c++) from[c] = x[(int64_t)k * width + c];
    for (int64_t p = offsets[k]; p < offsets[k + 1]; p++) {
      T *to = x + (int64_t)rows[p] * width;
      for (int c = 0; c < width; c++) to[c] -= l[p] * from[c];
    }
  }
}

static inline __attribute__((always_inline)) void FN(lower_t)(int32_t begin, int32_t end, const int64_t *offsets,
                                                              const int32_t *rows, const T *l, const bool conjugate,
                                                              const int width, T *x) {
  for (int32_t k = end - 1; k >= begin; k--) {
    T *to = x + (int64_t)k * width;
    for (int64_t p = offsets[k]; p < offsets[k + 1]; p++) {
      const T *from = x + (int64_t)rows[p] * width, factor = conjugate ? FN(conj)(l[p]) : l[p];
      for (int c = 0; c < width; c++) to[c] -= factor * from[c];
    }
  }
}

static inline __attribute__((always_inline)) void FN(upper)(int32_t begin, int32_t end, const int64_t *offsets,
                                                            const int32_t *rows, const T *u, const T *inverse,
                                                            const int width, T *x) {
  for (int32_t k = end - 1; k >= begin; k--) {
    T from[LAC_BLOCK_WIDTH];
    for (int c = 0; c < width; c++) from[c] = x[(int64_t)k * width + c] *= inverse[k];
    for (int64_t p = offsets[k]; p < offsets[k + 1]; p++) {
      T *to = x + (int64_t)rows[p] * width;
      for (int c = 0; c < width; c++) to[c] -= u[p] * from[c];
    }
  }
}

static inline __attribute__((always_inline)) void FN(upper_t)(int32_t begin, int32_t end, const int64_t *offsets,
                                                              const int32_t *rows, const T *u, const T *inverse,
                                                              const int width, T *x) {
  for (int32_t k = begin; k < end; k++) {
    T *to = x + (int64_t)k * width;
    for (int64_t p = offsets[k]; p < offsets[k + 1]; p++) {
      const T *from = x + (int64_t)rows[p] * width;
      for (int c = 0; c < width; c++) to[c] -= u[p] * from[c];
    }
    for (int c = 0; c < width; c++) to[c] *= inverse[k];
  }
}

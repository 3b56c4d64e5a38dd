// SPDX-License-Identifier: Apache-2.0
// What eliminations of a front share, for one dtype. Included by kernel texts.

// The largest of n numbers. Infinity is found; NaN only comes where infinity was before.
static inline double FN(front_largest)(int64_t n, const T *restrict x) {
  REAL largest = 0;
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < n; i++) {
    REAL size = (REAL)FN(size)(x[i]);
    largest = size > largest ? size : largest;
  }
  return (double)largest;
}

// The first row of a largest number among x[from .. to - 1].
static inline int FN(front_search)(int from, int to, const T *x) {
  int row = from;
  double largest = FN(size)(x[from]);
  for (int i = from + 1; i < to; i++) {
    double size = FN(size)(x[i]);
    if (size > largest) largest = size, row = i;
  }
  return row;
}

// y -= X f, n rows and `count` columns of X; f stands in every `stride`-th place, `conjugate` takes conj(f).
static inline __attribute__((always_inline)) void FN(front_subtract)(int n, int count, const T *restrict x, int ldx,
                                                                     const T *restrict f, int stride,
                                                                     const bool conjugate, T *restrict y) {
  int j = 0;
  for (; j + 4 <= count; j += 4, x += 4 * (int64_t)ldx) {
    T f0 = f[(int64_t)j * stride], f1 = f[(int64_t)(j + 1) * stride], f2 = f[(int64_t)(j + 2) * stride],
      f3 = f[(int64_t)(j + 3) * stride];
    const T *x1 = x + ldx, *x2 = x1 + ldx, *x3 = x2 + ldx;
    if (conjugate) f0 = FN(conj)(f0), f1 = FN(conj)(f1), f2 = FN(conj)(f2), f3 = FN(conj)(f3);
    for (int i = 0; i < n; i++) y[i] -= (x[i] * f0 + x1[i] * f1) + (x2[i] * f2 + x3[i] * f3);
  }
  for (; j < count; j++, x += ldx) {
    T f0 = conjugate ? FN(conj)(f[(int64_t)j * stride]) : f[(int64_t)j * stride];
    for (int i = 0; i < n; i++) y[i] -= x[i] * f0;
  }
}

static inline void FN(front_multiply)(int n, T factor, T *restrict x) {
  for (int i = 0; i < n; i++) x[i] *= factor;
}

static inline void FN(front_swap)(int n, int stride, T *restrict x, T *restrict y) {
  for (int64_t i = 0; i < (int64_t)n * stride; i += stride) {
    T kept = x[i];
    x[i] = y[i], y[i] = kept;
  }
}

static inline void FN(front_note)(lac_front *f, int k, double pivot) {
  if (pivot < f->smallest) f->smallest = pivot, f->where = f->first + k;
}

// A pivot that is too small for what it eliminates, of size `below`, becomes as large as it must be, with its sign or
// phase.
static inline T FN(front_pivot)(lac_front *f, int k, T pivot, double below) {
  double size = FN(size)(pivot), least = f->small * (below > 0 ? below : size > 0 ? 0 : 1);
  bool is_zero = size == 0 && !(below > 0);
  FN(front_note)(f, k, is_zero || size > least ? size : least);
  if (size >= least) return pivot;
  f->perturbed++;
  f->zeros += is_zero;
  return size > 0 ? pivot / (REAL)size * (REAL)least : (T)least;
}

static inline void FN(front_begin)(lac_front *f) {
  f->smallest = (double)INFINITY;
  f->where = f->first;
  f->largest = 0;
  f->perturbed = f->zeros = 0;
  for (int k = 0; k < f->p; k++) f->pivots[k] = f->first + k;
}

// SPDX-License-Identifier: Apache-2.0
// LU of a front for one dtype; eliminate_lu.c has the equation. Included once for each.

#include "solvers/direct/eliminate_kernel.h"

// Column k, updated by all before it: its pivot goes to the diagonal, in columns begin .. end - 1 at once, and column k
// of L is what is below, over it.
static void FN(lu_column)(lac_front *f, int begin, int end, int k) {
  int m = f->p + f->r;
  int32_t *swaps = f->work;
  T *a = f->l, *column = a + (int64_t)k * m;
  int largest = FN(front_search)(k, f->p, column), row = f->like_pivots ? k : largest;
  double below = fmax(FN(size)(column[largest]), FN(front_largest)(f->r, column + f->p));

  swaps[k] = row;
  if (row != k) FN(front_swap)(end - begin, m, a + (int64_t)begin * m + k, a + (int64_t)begin * m + row);
  f->largest = fmax(f->largest, below);
  column[k] = FN(front_pivot)(f, k, column[k], k + 1 < m ? below : 0);
  FN(front_multiply)(m - k - 1, FN(div)(1, column[k]), column + k + 1);
}

// Columns begin .. end - 1 one by one. The rows of the columns before them are solved for first.
static void FN(lu_narrow)(lac_front *f, int begin, int end) {
  int m = f->p + f->r;
  T *a = f->l;
  for (int k = begin; k < end; k++) {
    T *column = a + (int64_t)k * m;
    const T *left = a + (int64_t)begin * m;
    for (int i = begin + 1; i < k; i++) {
      for (int j = begin; j < i; j++) column[i] -= a[(int64_t)j * m + i] * column[j];
    }
    FN(front_subtract)(m - k, k - begin, left + k, m, column + begin, 1, false, column + k);
    FN(lu_column)(f, begin, end, k);
  }
}

// The row exchanges of steps from .. to - 1 in columns begin .. end - 1.
static void FN(lu_exchange)(const lac_front *f, int from, int to, int begin, int end) {
  int m = f->p + f->r;
  const int32_t *swaps = f->work;
  for (int j = begin; j < end; j++) {
    T *column = (T *)f->l + (int64_t)j * m;
    for (int k = from; k < to; k++) {
      T kept = column[k];
      column[k] = column[swaps[k]], column[swaps[k]] = kept;
    }
  }
}

// Columns begin .. end - 1 over the rows from `begin` on, updated by all columns before them.
static void FN(lu_halves)(lac_front *f, int begin, int end) {
  int m = f->p + f->r, width = (end - begin) / 2 / LU_NARROW * LU_NARROW;
  int half = begin + (width > 0 ? width : LU_NARROW);
  if (end - begin <= LU_NARROW) {
    FN(lu_narrow)(f, begin, end);
    return;
  }
  T *left = (T *)f->l + (int64_t)begin * m, *right = (T *)f->l + (int64_t)half * m;
  FN(lu_halves)(f, begin, half);
  FN(lu_exchange)(f, begin, half, half, end);
  FN(dense_trsm)
  (DENSE_LEFT, DENSE_LOWER_UNIT, LAC_N, half - begin, end - half, left + begin, m, right + begin, m, f->threads);
  FN(dense_gemm)
  (LAC_N, LAC_N, m - half, end - half, half - begin, -1, left + half, m, right + begin, m, 1, right + half, m,
   f->threads);
  FN(lu_halves)(f, half, end);
  FN(lu_exchange)(f, half, end, begin, half);
}

// Bring the rows to the places they had in an earlier factor: pivots[] is what stands where.
static void FN(lu_arrange)(lac_front *f) {
  int m = f->p + f->r;
  T *a = f->l, *u = f->u;
  for (int k = 0; k < f->p; k++) {
    int at = k;
    while (f->pivots[at] != f->like_pivots[k]) at++;
    if (at == k) continue;
    f->pivots[at] = f->pivots[k];
    f->pivots[k] = f->like_pivots[k];
    FN(front_swap)(f->p, m, a + k, a + at);
    FN(front_swap)(f->r, 1, u + (int64_t)k * f->r, u + (int64_t)at * f->r);
  }
}

// U_PR^T: its columns follow the rows of A_PP.
static void FN(lu_right)(lac_front *f) {
  int p = f->p, r = f->r;
  const int32_t *swaps = f->work;
  T *u = f->u;
  for (int k = 0; k < p; k++) {
    int32_t at = swaps[k], step = f->pivots[k];
    f->pivots[k] = f->pivots[at], f->pivots[at] = step;
    if (at != k) FN(front_swap)(r, 1, u + (int64_t)k * r, u + (int64_t)at * r);
  }
  if (r > 0 && p > 1) {
    FN(dense_trsm)(DENSE_RIGHT, DENSE_LOWER_UNIT, LAC_T, r, p, f->l, p + r, u, r, f->threads);
  }
  f->largest = fmax(f->largest, FN(front_largest)((int64_t)r * p, u));
}

static bool FN(eliminate_lu)(lac_front *f) {
  int p = f->p, r = f->r;
  FN(front_begin)(f);
  if (f->like_pivots) FN(lu_arrange)(f);
  FN(lu_halves)(f, 0, p);
  FN(lu_right)(f);
  if (r > 0) {
    FN(dense_gemm)(LAC_N, LAC_T, r, r, p, -1, (T *)f->l + p, p + r, f->u, r, (T)f->beta, f->update, r, f->threads);
  }
  return isfinite(f->largest);
}

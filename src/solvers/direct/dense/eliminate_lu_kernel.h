// SPDX-License-Identifier: Apache-2.0
// LU of a front for one dtype; eliminate_lu.c has the equation. Included once for each.

#include "solvers/direct/dense/eliminate_kernel.h"

// Column k, updated by all before it: its pivot goes to the diagonal, in columns begin .. end - 1 at once, and column k
// of L is what is below, over it.
static void FN(lu_column)(lac_front *f, int begin, int end, int k) {
  int m = f->p + f->r;
  int32_t *swaps = f->work;
  T *a = f->l, *column = a + (int64_t)k * m;
  int largest = FN(front_search)(k, f->p, column), row = f->like_pivots ? k : largest;
  double below = lac_front_larger(FN(size)(column[largest]), FN(front_largest)(f->r, column + f->p));

  swaps[k] = row;
  if (row != k) FN(front_swap)(end - begin, m, a + (int64_t)begin * m + k, a + (int64_t)begin * m + row);
  column[k] = FN(front_pivot)(f, k, column[k], k + 1 < m ? below : 0);
  f->largest = lac_front_larger(f->largest, below * (below / FN(size)(column[k])));
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
  (DENSE_LEFT, DENSE_LOWER_UNIT, LAC_PLAIN, half - begin, end - half, left + begin, m, right + begin, m, f->threads);
  FN(dense_gemm)
  (LAC_PLAIN, LAC_PLAIN, m - half, end - half, half - begin, -1, left + half, m, right + begin, m, 1, right + half, m,
   f->threads);
  FN(lu_halves)(f, half, end);
  FN(lu_exchange)(f, half, end, begin, half);
}

// Bring the rows to the places they had in an earlier factor.
static void FN(lu_arrange)(lac_front *f) {
  int m = f->p + f->r;
  T *a = f->l, *u = f->u;
  for (int k = 0; k < f->p; k++) {
    int at = lac_front_earlier(f, k);
    if (at == k) continue;
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
    FN(dense_trsm)(DENSE_RIGHT, DENSE_LOWER_UNIT, LAC_TRANSPOSED, r, p, f->l, p + r, u, r, f->threads);
  }
}

// A_PP aside: false, with nothing done, where a pivot is in doubt.
static bool FN(lu_aside)(lac_front *f) {
  T room[LU_ASIDE * LU_ASIDE], *a = f->l;
  int p = f->p, m = p + f->r, where = 0;
  int32_t *swaps = f->work;
  double sure = LU_SURE * f->largest, smallest = (double)INFINITY;

  for (int j = 0; j < p; j++) memcpy(room + j * p, a + (int64_t)j * m, (size_t)p * sizeof *room);
  for (int k = 0; k < p; k++) {
    T *column = room + k * p;
    swaps[k] = f->like_pivots ? k : FN(front_search)(k, p, column);
    if (swaps[k] != k) FN(front_swap)(p, p, room + k, room + swaps[k]);
    double size = FN(size)(column[k]);
    if (!(size >= sure) || size == 0) return false;
    if (size < smallest) smallest = size, where = k;
    FN(front_multiply)(p - k - 1, FN(div)(1, column[k]), column + k + 1);
    for (int j = k + 1; j < p; j++) {
      T *right = room + j * p;
      FN(front_subtract)(p - k - 1, 1, column + k + 1, p, right + k, 1, false, right + k + 1);
    }
  }
  for (int j = 0; j < p; j++) memcpy(a + (int64_t)j * m, room + j * p, (size_t)p * sizeof *room);
  f->smallest = smallest, f->where = f->first + where;
  if (f->r > 0) FN(dense_trsm)(DENSE_RIGHT, DENSE_UPPER, LAC_PLAIN, f->r, p, a, m, a + p, m, f->threads);
  return true;
}

static bool FN(eliminate_lu)(lac_front *f) {
  int p = f->p, r = f->r;
  FN(front_begin)(f);
  f->largest = lac_front_larger(FN(front_largest)((int64_t)(p + r) * p, f->l), FN(front_largest)((int64_t)r * p, f->u));
  if (f->like_pivots) FN(lu_arrange)(f);
  if (p > LU_ASIDE || !FN(lu_aside)(f)) FN(lu_halves)(f, 0, p);
  FN(lu_right)(f);
  if (r > 0) {
    FN(dense_gemm)
    (LAC_PLAIN, LAC_TRANSPOSED, r, r, p, -1, (T *)f->l + p, p + r, f->u, r, (T)f->beta, f->update, r, f->threads);
  }
  return isfinite(f->largest);
}

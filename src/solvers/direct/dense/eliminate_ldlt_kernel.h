// SPDX-License-Identifier: Apache-2.0
// L D L^H of a front for one dtype; eliminate_ldlt.c has the equation. Included once for each.

#include "solvers/direct/dense/eliminate_kernel.h"

// Column c of what is left at step k, from row k on, into column `to` of W. Columns from `begin` on are not yet in A.
static T *FN(ldlt_column)(const lac_front *f, int begin, int k, int c, int to) {
  int m = f->p + f->r;
  const T *a = f->l;
  T *work = f->work, *w = work + (int64_t)to * m;
  for (int i = k; i < c; i++) w[i] = FN(conj)(a[(int64_t)i * m + c]);
  memcpy(w + c, a + (int64_t)c * m + c, (size_t)(m - c) * sizeof *w);
  FN(front_subtract)
  (m - k, k - begin, a + (int64_t)begin * m + k, m, work + (int64_t)begin * m + c, m, true, w + k);
  w[c] = FN(re)(w[c]);
  return w;
}

// Rows and columns i < j of all that is left change places; i is about to be eliminated, its column stands in W.
static void FN(ldlt_exchange)(lac_front *f, int begin, int i, int j) {
  int m = f->p + f->r;
  T *a = f->l, *work = f->work;
  int32_t step = f->pivots[i];
  if (i == j) return;
  f->pivots[i] = f->pivots[j], f->pivots[j] = step;
  a[(int64_t)j * m + j] = a[(int64_t)i * m + i];
  for (int c = i + 1; c < j; c++) a[(int64_t)c * m + j] = FN(conj)(a[(int64_t)i * m + c]);
  memcpy(a + (int64_t)j * m + j + 1, a + (int64_t)i * m + j + 1, (size_t)(m - j - 1) * sizeof *a);
  FN(front_swap)(i, m, a + i, a + j);
  FN(front_swap)(i + 1 - begin, m, work + (int64_t)begin * m + i, work + (int64_t)begin * m + j);
}

// The largest of w[k .. p - 1] but for row `but`, and its row.
static double FN(ldlt_rival)(const lac_front *f, int k, int but, const T *w, int *row) {
  double largest = 0;
  *row = -1;
  for (int i = k; i < f->p; i++) {
    double size = FN(size)(w[i]);
    if (i != but && size > largest) largest = size, *row = i;
  }
  return largest;
}

// Choose at step k, whose column stands in W: 1 or 2 rows, and the row that comes to the place of the last of them.
static int FN(ldlt_choose)(lac_front *f, int begin, int k, int *row) {
  int m = f->p + f->r, rival, other;
  T *w = (T *)f->work + (int64_t)k * m;
  double own = FN(size)(w[k]), column = FN(ldlt_rival)(f, k + 1, -1, w, &rival);
  double outside = FN(front_largest)(f->r, w + f->p);

  *row = k;
  if (rival < 0 || own >= LDLT_ALPHA * column || lac_front_larger(own, column) < f->small * outside) return 1;
  T *v = FN(ldlt_column)(f, begin, k, rival, k + 1);
  double beside = FN(ldlt_rival)(f, k, rival, v, &other);
  if (own * beside >= LDLT_ALPHA * column * column) return 1;
  *row = rival;
  if (FN(size)(v[rival]) < LDLT_ALPHA * beside) return 2;
  memcpy(w + k, v + k, (size_t)(m - k) * sizeof *w);
  return 1;
}

static void FN(ldlt_one)(lac_front *f, int k) {
  int m = f->p + f->r;
  T *a = (T *)f->l + (int64_t)k * m, *w = (T *)f->work + (int64_t)k * m;
  double below = FN(front_largest)(m - k - 1, w + k + 1);
  f->largest = lac_front_larger(f->largest, lac_front_larger(below, FN(size)(w[k])));
  a[k] = w[k] = FN(front_pivot)(f, k, FN(re)(w[k]), below);
  ((T *)f->d_below)[k] = 0;
  REAL inverse = 1 / FN(re)(w[k]);
  for (int i = k + 1; i < m; i++) a[i] = w[i] * inverse;
}

// The off-diagonal number of a block of two: enlarged where the block is too small for the entries it eliminates, whose
// growth is (w^2 d22 + 2 w v d21 + v^2 d11) / det.
static T FN(ldlt_beside)(lac_front *f, int k, T d, double one, double two, double w, double v) {
  double size = FN(size)(d), largest = lac_front_larger(size, lac_front_larger(fabs(one), fabs(two))),
         below = lac_front_larger(w, v);
  double det = fabs(one * two - (double)FN(re)(d * FN(conj)(d)));
  double growth = w * w * fabs(two) + 2 * w * v * size + v * v * fabs(one);
  if (!(det > 0 && size > 0 && det * below >= f->small * growth)) {
    double least = 2 * lac_front_larger(largest, f->small * (below > 0 ? below : 1));
    d = size > 0 ? d / (REAL)size * (REAL)least : (T)least;
    largest = least, det = least * least;
    f->perturbed++;
  }
  FN(front_note)(f, k, det / largest);
  return d;
}

// [w v] D^-1, where D is scaled by its off-diagonal number so that nothing overflows.
static void FN(ldlt_two)(lac_front *f, int k) {
  int m = f->p + f->r;
  T *a = (T *)f->l + (int64_t)k * m, *w = (T *)f->work + (int64_t)k * m, *v = w + m, *d_below = f->d_below;
  double w_below = FN(front_largest)(m - k - 2, w + k + 2), v_below = FN(front_largest)(m - k - 2, v + k + 2);
  T d = FN(ldlt_beside)(f, k, w[k + 1], (double)FN(re)(w[k]), (double)FN(re)(v[k + 1]), w_below, v_below);
  REAL size = (REAL)FN(size)(d), one = FN(re)(w[k]) / size, two = FN(re)(v[k + 1]) / size;
  T unit = d / size;
  REAL scale = 1 / (one * two - FN(re)(unit * FN(conj)(unit))) / size;

  f->largest = lac_front_larger(f->largest,
                                lac_front_larger(lac_front_larger(w_below, v_below),
                                                 size * lac_front_larger(1, lac_front_larger(fabs(one), fabs(two)))));
  a[k] = w[k], a[k + 1] = 0, a[m + k + 1] = v[k + 1];
  w[k + 1] = d_below[k] = d, v[k] = FN(conj)(d), d_below[k + 1] = 0;
  for (int i = k + 2; i < m; i++) {
    a[i] = (w[i] * two - v[i] * unit) * scale;
    a[m + i] = (v[i] * one - w[i] * FN(conj)(unit)) * scale;
  }
}

// Columns from `begin` on, as many as a block takes; returns the first that is left.
static int FN(ldlt_block)(lac_front *f, int begin) {
  const T *like = f->like_d_below;
  int k = begin, row;
  while (k < f->p && k < begin + LDLT_BLOCK) {
    FN(ldlt_column)(f, begin, k, k, k);
    int width = 1;
    if (f->like_pivots) {
      width = like[k] != 0 && k + 1 < f->p ? 2 : 1;
      if (width == 2) FN(ldlt_column)(f, begin, k, k + 1, k + 1);
    } else {
      width = FN(ldlt_choose)(f, begin, k, &row);
      FN(ldlt_exchange)(f, begin, k + width - 1, row);
    }
    if (width == 1) {
      FN(ldlt_one)(f, k);
    } else {
      FN(ldlt_two)(f, k);
    }
    k += width;
  }
  return k;
}

// A -= L W^H in the columns from `k` on.
static void FN(ldlt_update)(const lac_front *f, int begin, int k) {
  int m = f->p + f->r, left = f->p - k;
  T *a = f->l, *l = a + (int64_t)begin * m, *work = (T *)f->work + (int64_t)begin * m, *right = a + (int64_t)k * m;
  FN(dense_gemmt)(LAC_ADJOINT, left, k - begin, l + k, m, work + k, m, 1, right + k, m, f->threads);
  FN(dense_gemm)
  (LAC_PLAIN, LAC_ADJOINT, f->r, left, k - begin, -1, l + f->p, m, work + k, m, 1, right + f->p, m, f->threads);
}

// Rows and columns i < j of the whole front change places.
static void FN(ldlt_swap)(lac_front *f, int i, int j) {
  int m = f->p + f->r;
  T *a = f->l, *at_i = a + (int64_t)i * m, *at_j = a + (int64_t)j * m, kept = at_i[i];
  at_i[i] = at_j[j], at_j[j] = kept;
  at_i[j] = FN(conj)(at_i[j]);
  FN(front_swap)(i, m, a + i, a + j);
  for (int c = i + 1; c < j; c++) {
    kept = FN(conj)(at_i[c]);
    at_i[c] = FN(conj)(a[(int64_t)c * m + j]), a[(int64_t)c * m + j] = kept;
  }
  FN(front_swap)(m - j - 1, 1, at_i + j + 1, at_j + j + 1);
}

// Bring rows and columns to the places they had in an earlier factor.
static void FN(ldlt_arrange)(lac_front *f) {
  for (int k = 0; k < f->p; k++) {
    int at = lac_front_earlier(f, k);
    if (at != k) FN(ldlt_swap)(f, k, at);
  }
}

static bool FN(eliminate_ldlt)(lac_front *f) {
  int p = f->p, r = f->r, m = p + r;
  FN(front_begin)(f);
  if (f->like_pivots) FN(ldlt_arrange)(f);
  for (int begin = 0, end; begin < p; begin = end) {
    end = FN(ldlt_block)(f, begin);
    if (end < p) FN(ldlt_update)(f, begin, end);
  }
  if (r > 0)
    FN(dense_gemmt)(LAC_ADJOINT, r, p, (T *)f->l + p, m, (T *)f->work + p, m, f->beta, f->update, r, f->threads);
  return isfinite(f->largest);
}

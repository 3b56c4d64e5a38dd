// SPDX-License-Identifier: Apache-2.0
// Checks of the dense kernels for one dtype against sums taken one by one in double; included once for each by
// test_dense.c.

// op(A)(i, j)
static c128 FN(entry)(lac_form form, const T *a, int lda, int i, int j) {
  c128 x = form & LAC_TRANSPOSED ? a[j + i * lda] : a[i + j * lda];
  return form & LAC_CONJUGATED ? PAIR(creal(x), -cimag(x)) : x;
}

static T *FN(random)(int ld, int cols, uint64_t seed) {
  random_state r = random_start(seed);
  T *a = scratch((size_t)(ld * cols + 1) * sizeof *a);
  for (int i = 0; i < ld * cols; i++) {
    double re = random_unit(&r), im = random_unit(&r);
    a[i] = FN(number)(re, im);
  }
  return a;
}

static double FN(distance)(T x, c128 y) { return cabs((c128)x - y); }

static void FN(check_gemm)(lac_form sa, lac_form sb, int m, int n, int k, int threads) {
  int lda = (sa & LAC_TRANSPOSED ? k : m) + 1, ldb = (sb & LAC_TRANSPOSED ? n : k) + 2, ldc = m + 3;
  T *a = FN(random)(lda, sa & LAC_TRANSPOSED ? m : k, 1), *b = FN(random)(ldb, sb & LAC_TRANSPOSED ? k : n, 2),
    *c = FN(random)(ldc, n, 3);
  T *was = FN(random)(ldc, n, 3), alpha = FN(number)(-2, 1), beta = FN(number)(k % 2, 0);
  FN(dense_gemm)(sa, sb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, threads);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < ldc; i++) {
      c128 sum = 0;
      for (int l = 0; l < k && i < m; l++) sum += FN(entry)(sa, a, lda, i, l) * FN(entry)(sb, b, ldb, l, j);
      c128 right = i < m ? (c128)beta * was[i + j * ldc] + (c128)alpha * sum : (c128)was[i + j * ldc];
      CHECK(FN(distance)(c[i + j * ldc], right) <= 20 * FN(rounding) * (k + 1));
    }
  }
}

static void FN(check_gemmt)(lac_form sb, int n, int k, double beta, bool hermitian, int threads) {
  int lda = n + 1, ldb = (sb & LAC_TRANSPOSED ? n : k) + 2, ldc = n + 3;
  T *a = FN(random)(lda, k, 1), *b = FN(random)(ldb, sb & LAC_TRANSPOSED ? k : n, 2), *c = FN(random)(ldc, n, 3);
  T *was = FN(random)(ldc, n, 3);
  for (int j = 0; j < n; j++) c[j + j * ldc] = was[j + j * ldc] = FN(re)(was[j + j * ldc]);
  if (hermitian) {
    FN(dense_herk)(n, k, a, lda, beta, c, ldc, threads);
    b = a, ldb = lda, sb = LAC_ADJOINT;
  } else {
    FN(dense_gemmt)(sb, n, k, a, lda, b, ldb, beta, c, ldc, threads);
  }
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < ldc; i++) {
      c128 sum = 0, right = was[i + j * ldc];
      for (int l = 0; l < k && i < n; l++) sum += (c128)a[i + l * lda] * FN(entry)(sb, b, ldb, l, j);
      if (i >= j && i < n) right = beta * right - sum;
      CHECK(FN(distance)(c[i + j * ldc], right) <= 20 * FN(rounding) * (k + 1));
      if (i == j && hermitian) CHECK(FN(im)(c[i + j * ldc]) == 0);
    }
  }
}

// A well-conditioned triangle: what stands off its diagonal is small.
static T *FN(random_triangle)(int n, int ld, uint64_t seed) {
  T *t = FN(random)(ld, n, seed);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < ld; i++) t[i + j * ld] = i == j ? t[i + j * ld] + 3 : t[i + j * ld] / (n + 1);
  }
  return t;
}

// op(T) X or X op(T) at (i, j), of the triangle alone.
static c128 FN(triangle_times)(dense_place place, dense_shape shape, lac_form form, int size, const T *t, int ldt,
                               const T *x, int ldx, int i, int j) {
  bool unit = shape == DENSE_LOWER_UNIT || shape == DENSE_UPPER_UNIT;
  c128 sum = unit ? x[i + j * ldx] : 0;
  for (int l = 0; l < size; l++) {
    int row = place == DENSE_LEFT ? i : l, col = place == DENSE_LEFT ? l : j;
    if (!dense_reads(shape, form & LAC_TRANSPOSED ? col : row, form & LAC_TRANSPOSED ? row : col)) continue;
    sum += FN(entry)(form, t, ldt, row, col) * (c128)(place == DENSE_LEFT ? x[l + j * ldx] : x[i + l * ldx]);
  }
  return sum;
}

static void FN(check_trsm)(dense_place place, dense_shape shape, lac_form form, int m, int n, int threads) {
  int size = place == DENSE_LEFT ? m : n, ldt = size + 1, ldb = m + 2;
  T *t = FN(random_triangle)(size, ldt, 1), *b = FN(random)(ldb, n, 2), *was = FN(random)(ldb, n, 2);
  FN(dense_trsm)(place, shape, form, m, n, t, ldt, b, ldb, threads);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < ldb; i++) {
      c128 is = i < m ? FN(triangle_times)(place, shape, form, size, t, ldt, b, ldb, i, j) : (c128)b[i + j * ldb];
      CHECK(FN(distance)(was[i + j * ldb], is) <= 40 * FN(rounding) * (size + 4));
    }
  }
}

static void FN(check_cholesky)(int m, int n, int threads) {
  int lda = m + 1;
  double pivot = 0;
  T *a = FN(random)(lda, n, 1), *was;
  for (int j = 0; j < n; j++) a[j + j * lda] = m + 1;
  was = memcpy(scratch((size_t)(lda * n + 1) * sizeof *was), a, (size_t)(lda * n) * sizeof *was);
  CHECK_EQ(FN(dense_cholesky)(m, n, a, lda, &pivot, threads), -1);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < lda; i++) {
      c128 is = i < j || i == m ? (c128)a[i + j * lda] : 0;  // above the diagonal and behind the column: as it was
      for (int l = 0; l <= j && i >= j && i < m; l++)
        is += (c128)a[i + l * lda] * FN(entry)(LAC_CONJUGATED, a, lda, j, l);
      CHECK(FN(distance)(was[i + j * lda], is) <= 40 * FN(rounding) * (m + 1));
    }
  }
}

static void FN(check_refused)(int m, int n, int bad, double value) {
  double pivot = 0;
  T *a = FN(random)(m, n, 1);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) a[i + j * m] = i == j ? i == bad ? (T)value : (T)(m + 1) : 0;
  }
  CHECK_EQ(FN(dense_cholesky)(m, n, a, m, &pivot, 1), bad);
  CHECK(pivot == value || isnan(value));
}

static void FN(check_products)(void) {
  static const int SIZES[][3] = {{0, 3, 2},   {1, 1, 1},    {3, 0, 4},     {4, 5, 0},     {7, 9, 5},
                                 {17, 33, 8}, {65, 31, 40}, {32, 64, 100}, {130, 70, 21}, {261, 258, 3}};
  for (int s = 0; s < 10; s++) {
    for (int forms = 0; forms < 16; forms++) {
      size_t mark = scratch_mark();
      FN(check_gemm)((lac_form)(forms / 4), (lac_form)(forms % 4), SIZES[s][0], SIZES[s][1], SIZES[s][2], 1 + s % 2);
      scratch_release(mark);
    }
  }
}

static void FN(check_triangles)(void) {
  static const int SIZES[][2] = {{0, 3}, {1, 1}, {5, 0}, {4, 7}, {13, 3}, {33, 20}, {70, 41}, {261, 5}};
  for (int s = 0; s < 8; s++) {
    for (int form = 0; form < 4; form++) {
      size_t mark = scratch_mark();
      FN(check_gemmt)((lac_form)form, SIZES[s][0], SIZES[s][1], form % 2, form == 3, 2);
      scratch_release(mark);
    }
  }
}

static void FN(check_substitution)(void) {
  static const int SIZES[][2] = {{0, 3}, {1, 1}, {5, 0}, {4, 7}, {13, 3}, {33, 20}, {20, 37}, {3, 261}, {261, 3}};
  for (int s = 0; s < 9; s++) {
    for (int kind = 0; kind < 32; kind++) {
      size_t mark = scratch_mark();
      FN(check_trsm)
      (kind % 2 ? DENSE_LEFT : DENSE_RIGHT, (dense_shape)(kind / 2 % 4), (lac_form)(kind / 8), SIZES[s][0], SIZES[s][1],
       2);
      scratch_release(mark);
    }
  }
}

static void FN(check_factors)(void) {
  static const int SIZES[][2] = {{0, 0},  {1, 1},   {3, 3},   {4, 1},   {9, 4},    {16, 16},   {17, 17},
                                 {40, 5}, {50, 33}, {70, 64}, {90, 90}, {300, 20}, {270, 270}, {600, 261}};
  for (int s = 0; s < 14; s++) {
    size_t mark = scratch_mark();
    FN(check_cholesky)(SIZES[s][0], SIZES[s][1], 2);
    for (int bad = 0; bad < SIZES[s][1]; bad += 7) FN(check_refused)(SIZES[s][0], SIZES[s][1], bad, bad % 2 ? -1 : 0);
    scratch_release(mark);
  }
  FN(check_refused)(20, 18, 17, (double)NAN);
  FN(check_refused)(20, 18, 17, (double)INFINITY);
}

// SPDX-License-Identifier: Apache-2.0
// Small products, Cholesky factors and substitutions for one dtype, in registers; included once for each by dense.c.
//
// A tile of C has up to two vectors of rows and four columns. A is read where it lies, by columns, so that nothing is
// packed: fronts of a few dozen rows are done before BLAS would have begun.

/// C = beta C + alpha A B, m x n, or its part i >= j; B(l, j) = b[l * along + j * across], or its conjugate.
typedef struct FN(product) {
  int m, n, k;
  const T *a, *b;
  T *c;
  int64_t lda, along, across, ldc;
  T alpha, beta;
  bool conjugated, lower;
} FN(product);

INLINE FN(vec) FN(lanes_load)(const bool full, const T *p, int end) {
  return full ? *(const FN(vec) *)p : FN(part_load)(p, 0, end);
}

// The lanes of vector v of a tile at row i that stand at or below the diagonal in column j.
INLINE int FN(lanes_first)(bool lower, int i, int j) {
  int first = lower ? j - i : 0;
  return first < 0 ? 0 : first > FN(LANES) ? FN(LANES) : first;
}

INLINE void FN(tile_store)(const FN(product) * p, int i, int j, int end, FN(vec) sum) {
  T *c = p->c + i + j * p->ldc;
  int first = FN(lanes_first)(p->lower, i, j);
  sum *= p->alpha;
  if (first >= end) return;
  if (p->beta != 0) sum += p->beta * FN(part_load)(c, first, end);
  FN(part_store)(c, first, end, sum);
}

// The tile at (i, j); `full` when all its rows are there.
INLINE void FN(tile)(const FN(product) * p, const int vectors, const int cols, const bool full, int i, int j) {
  FN(vec) sum[2][8] = {0};
  int rows = p->m - i, last = rows - (vectors - 1) * FN(LANES);
  const T *a = p->a + i, *b = p->b + j * p->across;

  for (int l = 0; l < p->k; l++, a += p->lda, b += p->along) {
    FN(vec) x0 = FN(lanes_load)(full || vectors == 2, a, last);
    FN(vec) x1 = vectors == 2 ? FN(lanes_load)(full, a + FN(LANES), last) : x0;
    FN(vec_hold)(&x0), FN(vec_hold)(&x1);
    DENSE_UNROLL
    for (int c = 0; c < cols; c++) {
      T y = p->conjugated ? FN(conj)(b[c * p->across]) : b[c * p->across];
      sum[0][c] += x0 * y;
      if (vectors == 2) sum[1][c] += x1 * y;
    }
  }
  DENSE_UNROLL
  for (int c = 0; c < cols; c++) {
    FN(tile_store)(p, i, j + c, full || vectors == 2 ? FN(LANES) : last, sum[0][c]);
    if (vectors == 2) FN(tile_store)(p, i + FN(LANES), j + c, full ? FN(LANES) : last, sum[1][c]);
  }
}

INLINE void FN(tile_column)(const FN(product) * p, const int cols, int j) {
  int i = p->lower ? j : 0;
  for (; i + 2 * FN(LANES) <= p->m; i += 2 * FN(LANES)) FN(tile)(p, 2, cols, true, i, j);
  if (i + FN(LANES) < p->m) {
    FN(tile)(p, 2, cols, false, i, j);
  } else if (i < p->m) {
    FN(tile)(p, 1, cols, false, i, j);
  }
}

static void FN(small_product)(const FN(product) * p) {
  int j = 0;
  for (; j + 4 <= p->n; j += 4) FN(tile_column)(p, 4, j);
  if (p->n - j == 3) FN(tile_column)(p, 3, j);
  if (p->n - j == 2) FN(tile_column)(p, 2, j);
  if (p->n - j == 1) FN(tile_column)(p, 1, j);
}

// -- substitution ----------------------------------------------------------------------------------------------------

/// X W = B for upper triangular W of at most DENSE_LEAF columns; the reciprocals stand on its diagonal.
typedef T FN(triangle)[DENSE_LEAF][DENSE_LEAF];

INLINE void FN(substitute_lanes)(const int cols, const bool full, int end, T *b, int64_t ldb, FN(triangle) w, int j) {
  FN(vec) x[4];
  DENSE_UNROLL
  for (int c = 0; c < cols; c++) {
    x[c] = FN(lanes_load)(full, b + c * ldb, end);
    DENSE_UNROLL
    for (int l = 0; l < c; l++) x[c] -= x[l] * w[j + l][j + c];
    x[c] *= w[j + c][j + c];
    if (full) {
      *(FN(vec) *)(b + c * ldb) = x[c];
    } else {
      FN(part_store)(b + c * ldb, 0, end, x[c]);
    }
  }
}

INLINE void FN(substitute_columns)(const int cols, int m, T *b, int64_t ldb, FN(triangle) w, int j) {
  int i = 0;
  for (; i + FN(LANES) <= m; i += FN(LANES)) FN(substitute_lanes)(cols, true, FN(LANES), b + i, ldb, w, j);
  if (i < m) FN(substitute_lanes)(cols, false, m - i, b + i, ldb, w, j);
}

// Columns j .. j + cols - 1 of X, those before and their share taken off.
static void FN(substitute_block)(int cols, int m, T *b, int64_t ldb, FN(triangle) w, int j) {
  switch (cols) {
    case 4:
      FN(substitute_columns)(4, m, b, ldb, w, j);
      break;
    case 3:
      FN(substitute_columns)(3, m, b, ldb, w, j);
      break;
    case 2:
      FN(substitute_columns)(2, m, b, ldb, w, j);
      break;
    default:
      FN(substitute_columns)(1, m, b, ldb, w, j);
  }
}

// X W = B, m x n. A negative ldb goes through the columns backwards.
static void FN(small_right)(int m, int n, FN(triangle) w, T *b, int64_t ldb) {
  for (int j = 0; j < n; j += 4) {
    int cols = n - j < 4 ? n - j : 4;
    FN(product) p = {.m = m, .n = cols, .k = j, .a = b, .lda = ldb, .b = &w[0][j], .along = DENSE_LEAF, .across = 1};
    p.c = b + j * ldb, p.ldc = ldb, p.alpha = -1, p.beta = 1;
    if (j > 0) FN(small_product)(&p);
    FN(substitute_block)(cols, m, b + j * ldb, ldb, w, j);
  }
}

// W^T X = B, n x m, column by column. A step of -1 goes through the rows backwards.
static void FN(small_left)(int n, int m, FN(triangle) w, T *b, int64_t step, int64_t ldb) {
  for (int c = 0; c < m; c++, b += ldb) {
    for (int j = 0; j < n; j++) {
      T x = b[j * step] * w[j][j];
      b[j * step] = x;
      for (int i = j + 1; i < n; i++) b[i * step] -= x * w[j][i];
    }
  }
}

// -- Cholesky --------------------------------------------------------------------------------------------------------

// A diagonal block of at most four columns, and W = L^H of it.
INLINE int FN(cholesky_diagonal)(int n, T *a, int64_t lda, FN(triangle) w, double *pivot) {
  for (int j = 0; j < n; j++) {
    REAL d = FN(re)(a[j + j * lda]);
    for (int l = 0; l < j; l++) d -= FN(re)(a[j + l * lda] * w[l][j]);
    *pivot = d;
    if (!(d > 0) || !isfinite(d)) return j;
    REAL root = FN(root)(d), inverse = 1 / root;
    a[j + j * lda] = root;
    w[j][j] = inverse;
    for (int i = j + 1; i < n; i++) {
      T x = a[i + j * lda];
      for (int l = 0; l < j; l++) x -= a[i + l * lda] * w[l][j];
      a[i + j * lda] = x * inverse;
      w[j][i] = FN(conj)(a[i + j * lda]);
    }
  }
  return -1;
}

// The first n <= DENSE_LEAF columns, m rows.
static int FN(small_cholesky)(int m, int n, T *a, int64_t lda, double *pivot) {
  FN(triangle) w;
  for (int j = 0; j < n; j += 4) {
    int cols = n - j < 4 ? n - j : 4;
    T *block = a + j + j * lda;
    FN(product) p = {.m = m - j, .n = cols, .k = j, .a = a + j, .lda = lda, .b = a + j, .along = lda, .across = 1};
    p.c = block, p.ldc = lda, p.alpha = -1, p.beta = 1, p.conjugated = true, p.lower = true;
    if (j > 0) FN(small_product)(&p);
    int refused = FN(cholesky_diagonal)(cols, block, lda, w, pivot);
    if (refused >= 0) return j + refused;
    FN(substitute_block)(cols, m - j - cols, block + cols, lda, w, 0);
  }
  return -1;
}

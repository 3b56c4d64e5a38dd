// SPDX-License-Identifier: Apache-2.0
// Dense products, Cholesky factors and substitutions for one dtype: blocks that go to BLAS or to the small kernels.
// Included once for each by dense.c.

#include "solvers/direct/dense/dense_small_kernel.h"

// -- products --------------------------------------------------------------------------------------------------------

// Where op(A) at (i, j) stands.
static const T *FN(at)(lac_form form, const T *a, int64_t lda, int64_t i, int64_t j) {
  return lac_form_transposes(form) ? a + j + i * lda : a + i + j * lda;
}

// Bits of op(A) that are not read by columns, into memory of their own.
static void FN(pack)(lac_form form, int m, int k, const T *a, int64_t lda, T *to) {
  int64_t down = lac_form_transposes(form) ? lda : 1, right = lac_form_transposes(form) ? 1 : lda;
  bool conjugated = lac_form_conjugates(form);
  for (int l = 0; l < k; l++) {
    for (int i = 0; i < m; i++) {
      T x = a[i * down + l * right];
      to[l * DENSE_PACK + i] = conjugated ? FN(conj)(x) : x;
    }
  }
}

// By the small kernels, whatever the form of A; in pieces that stay in the cache.
static void FN(product_loops)(lac_form form_a, const FN(product) * p) {
  int tall = form_a == LAC_PLAIN ? DENSE_TILE : DENSE_PACK, deep = form_a == LAC_PLAIN ? DENSE_TILE : DENSE_PACK;
  T room[DENSE_PACK * DENSE_PACK];
  FN(product) part = *p;
  for (int i = 0; i < p->m; i += tall) {
    part.m = dense_least(p->m - i, tall);
    part.c = p->c + i;
    for (int l = 0; l == 0 || l < p->k; l += deep) {
      part.k = dense_least(p->k - l, deep);
      part.a = FN(at)(form_a, p->a, p->lda, i, l);
      part.b = p->b + l * p->along;
      part.beta = l == 0 ? p->beta : 1;
      if (form_a != LAC_PLAIN) {
        FN(pack)(form_a, part.m, part.k, part.a, p->lda, room);
        part.a = room, part.lda = DENSE_PACK;
      }
      FN(small_product)(&part);
    }
  }
}

static FN(product) FN(product_of)(lac_form form_b, int m, int n, int k, T alpha, const T *a, int64_t lda, const T *b,
                                  int64_t ldb, T beta, T *c, int64_t ldc) {
  bool turned = lac_form_transposes(form_b);
  FN(product) p = {.m = m, .n = n, .k = k, .a = a, .lda = lda, .b = b, .c = c, .ldc = ldc, .alpha = alpha};
  p.along = turned ? ldb : 1, p.across = turned ? 1 : ldb;
  p.beta = beta, p.conjugated = lac_form_conjugates(form_b);
  return p;
}

void FN(dense_thin)(lac_form form_b, int m, int n, int k, const T *a, int lda, const T *b, int ldb, T beta, T *c,
                    int ldc) {
  FN(product) p = FN(product_of)(form_b, m, n, k, -1, a, lda, b, ldb, beta, c, ldc);
  FN(small_product)(&p);
}

// A product of at most DENSE_TALL x DENSE_TILE in the thread that calls.
static void FN(product_block)(lac_form form_a, lac_form form_b, int m, int n, int k, T alpha, const T *a, int64_t lda,
                              const T *b, int64_t ldb, T beta, T *c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (!FN(is_complex)) form_a &= LAC_TRANSPOSED, form_b &= LAC_TRANSPOSED;
  if (lac_blas_found && form_a != LAC_CONJUGATED && form_b != LAC_CONJUGATED && (double)m * n * k > FN(BLAS_FROM)) {
    FN(blas_gemm)(form_a, form_b, m, n, k, alpha, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
    return;
  }
  FN(product) p = FN(product_of)(form_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  FN(product_loops)(form_a, &p);
}

/// What threads share: tile t of C.
typedef struct FN(tiled) {
  lac_form form_a, form_b;
  int m, n, k, lda, ldb, ldc, down;
  T alpha, beta;
  const T *a, *b;
  T *c;
} FN(tiled);

APART void FN(gemm_tile)(const FN(tiled) * p, int t) {
  int i = t % p->down * DENSE_TALL, j = t / p->down * DENSE_TILE;
  int rows = dense_least(p->m - i, DENSE_TALL), cols = dense_least(p->n - j, DENSE_TILE);
  FN(product_block)
  (p->form_a, p->form_b, rows, cols, p->k, p->alpha, FN(at)(p->form_a, p->a, p->lda, i, 0), p->lda,
   FN(at)(p->form_b, p->b, p->ldb, 0, j), p->ldb, p->beta, p->c + i + (int64_t)j * p->ldc, p->ldc);
}

void FN(dense_gemm)(lac_form form_a, lac_form form_b, int m, int n, int k, T alpha, const T *a, int lda, const T *b,
                    int ldb, T beta, T *c, int ldc, int threads) {
  FN(tiled) p = {form_a, form_b, m, n, k, lda, ldb, ldc, dense_pieces(m, DENSE_TALL), alpha, beta, a, b, c};
  int tiles = p.down * dense_pieces(n, DENSE_TILE);
  if (!dense_splits(threads, tiles, (double)m * n * k)) {
    for (int t = 0; t < tiles; t++) FN(gemm_tile)(&p, t);
    return;
  }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int t = 0; t < tiles; t++) FN(gemm_tile)(&p, t);
}

// The lower triangle of C = beta C - A op(B): halves, until the triangle is small.
static void FN(triangle_block)(lac_form form_b, int n, int k, const T *a, int64_t lda, const T *b, int64_t ldb, T beta,
                               T *c, int64_t ldc) {
  if (n <= DENSE_TRIANGLE) {
    FN(product) p = FN(product_of)(form_b, n, n, k, -1, a, lda, b, ldb, beta, c, ldc);
    p.lower = true;
    FN(small_product)(&p);
    return;
  }
  int half = dense_half(n, DENSE_LEAF);
  const T *right = FN(at)(form_b, b, ldb, 0, half);
  FN(triangle_block)(form_b, half, k, a, lda, b, ldb, beta, c, ldc);
  FN(product_block)(LAC_PLAIN, form_b, n - half, half, k, -1, a + half, lda, b, ldb, beta, c + half, ldc);
  FN(triangle_block)(form_b, n - half, k, a + half, lda, right, ldb, beta, c + half + half * ldc, ldc);
}

// Column by column of tiles: the triangle on the diagonal, then what is below it.
APART void FN(gemmt_tile)(const FN(tiled) * p, int t) {
  int j = t / p->down * DENSE_TILE, i = t % p->down == 0 ? j : j + DENSE_TILE + (t % p->down - 1) * DENSE_TALL;
  int rows = dense_least(p->n - i, i == j ? DENSE_TILE : DENSE_TALL);
  if (rows <= 0) return;
  const T *left = p->a + i, *right = FN(at)(p->form_b, p->b, p->ldb, 0, j);
  T *c = p->c + i + (int64_t)j * p->ldc;
  if (i == j) {
    FN(triangle_block)(p->form_b, rows, p->k, left, p->lda, right, p->ldb, p->beta, c, p->ldc);
  } else {
    FN(product_block)
    (LAC_PLAIN, p->form_b, rows, DENSE_TILE, p->k, -1, left, p->lda, right, p->ldb, p->beta, c, p->ldc);
  }
}

void FN(dense_gemmt)(lac_form form_b, int n, int k, const T *a, int lda, const T *b, int ldb, double beta, T *c,
                     int ldc, int threads) {
  FN(tiled) p = {LAC_PLAIN, form_b, n, n, k, lda, ldb, ldc, 1 + dense_pieces(n, DENSE_TALL), -1, (T)beta, a, b, c};
  int tiles = p.down * dense_pieces(n, DENSE_TILE);
  if (!dense_splits(threads, tiles, (double)n * n * k / 2)) {
    for (int t = 0; t < tiles; t++) FN(gemmt_tile)(&p, t);
    return;
  }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int t = 0; t < tiles; t++) FN(gemmt_tile)(&p, t);
}

void FN(dense_herk)(int n, int k, const T *a, int lda, double beta, T *c, int ldc, int threads) {
  FN(dense_gemmt)(LAC_ADJOINT, n, k, a, lda, a, lda, beta, c, ldc, threads);
  for (int64_t j = 0; j < n; j++) c[j + j * ldc] = FN(re)(c[j + j * ldc]);  // rounding leaves an imaginary part
}

// -- substitution ----------------------------------------------------------------------------------------------------

/// X op(T) = B or op(T) X = B; `forward` when the first columns or rows of X come first.
typedef struct FN(system) {
  dense_place place;
  lac_form form;
  bool unit, forward;
  int64_t ldt, ldb;
} FN(system);

// op(T) or its transpose in the order of substitution, as an upper triangle with reciprocals on the diagonal.
static void FN(triangle_take)(const FN(system) * s, int n, const T *t, FN(triangle) w) {
  bool turned = lac_form_transposes(s->form) != (s->place == DENSE_LEFT), conjugated = lac_form_conjugates(s->form);
  for (int j = 0; j < n; j++) {
    for (int l = 0; l <= j; l++) {
      int64_t row = s->forward ? l : n - 1 - l, col = s->forward ? j : n - 1 - j;
      T x = turned ? t[col + row * s->ldt] : t[row + col * s->ldt];
      if (conjugated) x = FN(conj)(x);
      w[l][j] = l < j ? x : s->unit ? 1 : FN(div)(1, x);
    }
  }
}

static void FN(substitute_leaf)(const FN(system) * s, int m, int n, const T *t, T *b) {
  FN(triangle) w;
  int size = s->place == DENSE_LEFT ? m : n;
  FN(triangle_take)(s, size, t, w);
  if (s->place == DENSE_LEFT) {
    FN(small_left)(m, n, w, s->forward ? b : b + m - 1, s->forward ? 1 : -1, s->ldb);
  } else {
    FN(small_right)(m, n, w, s->forward ? b : b + (n - 1) * s->ldb, s->forward ? s->ldb : -s->ldb);
  }
}

// Halves: one is solved, its share taken off the other, which is then solved.
static void FN(substitute)(const FN(system) * s, int m, int n, const T *t, T *b) {
  bool left = s->place == DENSE_LEFT;
  int size = left ? m : n, half = dense_half(size, DENSE_LEAF), rest = size - half;
  if (size <= DENSE_LEAF) {
    FN(substitute_leaf)(s, m, n, t, b);
    return;
  }
  T *b2 = left ? b + half : b + half * s->ldb, *from = s->forward ? b : b2, *to = s->forward ? b2 : b;
  const T *t2 = t + half + half * s->ldt;
  bool below = left == s->forward;  // the block of op(T) between the halves
  const T *between = below ? FN(at)(s->form, t, s->ldt, half, 0) : FN(at)(s->form, t, s->ldt, 0, half);
  int done = s->forward ? half : rest, left_over = size - done;

  FN(substitute)(s, left ? done : m, left ? n : done, s->forward ? t : t2, from);
  if (left) {
    FN(product_block)(s->form, LAC_PLAIN, left_over, n, done, -1, between, s->ldt, from, s->ldb, 1, to, s->ldb);
  } else {
    FN(product_block)(LAC_PLAIN, s->form, m, left_over, done, -1, from, s->ldb, between, s->ldt, 1, to, s->ldb);
  }
  FN(substitute)(s, left ? left_over : m, left ? n : left_over, s->forward ? t2 : t, to);
}

// Piece `tile` of the rows (right) or columns (left) of B, which do not depend on each other.
APART void FN(substitute_tile)(const FN(system) * s, int m, int n, const T *t, T *b, int tile) {
  bool left = s->place == DENSE_LEFT;
  int at = tile * DENSE_SHARE, share = dense_least((left ? n : m) - at, DENSE_SHARE);
  FN(substitute)(s, left ? m : share, left ? share : n, t, left ? b + at * s->ldb : b + at);
}

void FN(dense_trsm)(dense_place place, dense_shape shape, lac_form form, int m, int n, const T *t, int ldt, T *b,
                    int ldb, int threads) {
  bool lower = shape == DENSE_LOWER || shape == DENSE_LOWER_UNIT, left = place == DENSE_LEFT;
  FN(system) s = {.place = place, .form = form, .ldt = ldt, .ldb = ldb};
  int tiles = dense_pieces(left ? n : m, DENSE_SHARE);
  s.unit = shape == DENSE_LOWER_UNIT || shape == DENSE_UPPER_UNIT;
  s.forward = (lower != lac_form_transposes(form)) == left;
  if (m == 0 || n == 0) return;
  if (!dense_splits(threads, tiles, (double)m * n * (left ? m : n) / 2)) {
    for (int tile = 0; tile < tiles; tile++) FN(substitute_tile)(&s, m, n, t, b, tile);
    return;
  }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int tile = 0; tile < tiles; tile++) FN(substitute_tile)(&s, m, n, t, b, tile);
}

// -- Cholesky --------------------------------------------------------------------------------------------------------

// Halves of the columns: the first is factored, its share taken off the second, which is factored.
static int FN(cholesky_block)(int m, int n, T *a, int64_t lda, double *pivot) {
  if (n <= DENSE_LEAF) return FN(small_cholesky)(m, n, a, lda, pivot);
  int half = dense_half(n, DENSE_LEAF), rest = n - half;
  T *below = a + half, *second = a + half + half * lda;
  int refused = FN(cholesky_block)(m, half, a, lda, pivot);
  if (refused >= 0) return refused;
  FN(triangle_block)(LAC_ADJOINT, rest, half, below, lda, below, lda, 1, second, lda);
  FN(product_block)(LAC_PLAIN, LAC_ADJOINT, m - n, rest, half, -1, a + n, lda, below, lda, 1, second + rest, lda);
  refused = FN(cholesky_block)(m - half, rest, second, lda, pivot);
  return refused < 0 ? -1 : half + refused;
}

// At most DENSE_TILE columns: many rows below them are solved for apart, by threads.
static int FN(cholesky_columns)(int m, int n, T *a, int lda, double *pivot, int threads) {
  bool whole = m - n <= DENSE_TILE;
  int refused = FN(cholesky_block)(whole ? m : n, n, a, lda, pivot);
  if (refused >= 0 || whole) return refused;
  FN(dense_trsm)(DENSE_RIGHT, DENSE_LOWER, LAC_ADJOINT, m - n, n, a, lda, a + n, lda, threads);
  return -1;
}

int FN(dense_cholesky)(int m, int n, T *a, int lda, double *pivot, int threads) {
  if (n <= DENSE_TILE) return FN(cholesky_columns)(m, n, a, lda, pivot, threads);
  int half = dense_half(n, DENSE_TILE), rest = n - half;
  T *below = a + half, *second = below + (int64_t)half * lda;
  int refused = FN(dense_cholesky)(m, half, a, lda, pivot, threads);
  if (refused >= 0) return refused;
  FN(dense_herk)(rest, half, below, lda, 1, second, lda, threads);
  FN(dense_gemm)(LAC_PLAIN, LAC_ADJOINT, m - n, rest, half, -1, a + n, lda, below, lda, 1, second + rest, lda, threads);
  refused = FN(dense_cholesky)(m - half, rest, second, lda, pivot, threads);
  return refused < 0 ? -1 : half + refused;
}

// SPDX-License-Identifier: Apache-2.0
/// @file dense.c
/// Dense matrices by columns: products, substitution, Cholesky.
///
/// Everything is reduced to products by halving: a triangle is two triangles and a rectangle. Rectangles go to BLAS
/// when they are large enough for a call to pay, and to kernels in registers else (dense_small_kernel.h); without a
/// BLAS all do. What threads share are tiles at fixed places, each computed by one thread in one order: tall ones,
/// since BLAS packs what it multiplies and columns are packed once for all rows.

#include "solvers/direct/dense/dense.h"

#include "core/blas.h"
#include "core/pattern/pattern_impl.h"
#include "solvers/direct/dense/dense_vector.h"

enum {
  DENSE_TILE = 256,     // columns of a tile,
  DENSE_TALL = 1024,    // and rows
  DENSE_SHARE = 512,    // rows or columns of a system that are solved at once
  DENSE_LEAF = 16,      // columns of triangles that are solved in registers
  DENSE_TRIANGLE = 32,  // of triangles of products that are
  DENSE_PACK = 32
};

#if defined(__clang__)
#define DENSE_UNROLL _Pragma("unroll")
#else
#define DENSE_UNROLL _Pragma("GCC unroll 8")
#endif

static int dense_least(int a, int b) { return a < b ? a : b; }
static int dense_pieces(int n, int size) { return (n + size - 1) / size; }

/// Products with less than this many multiplications are not worth waking threads for.
static bool dense_splits(int threads, int tiles, double work) { return threads > 1 && tiles > 1 && work > 2e6; }

/// About half of n, a multiple of `leaf`.
static int dense_half(int n, int leaf) { return dense_pieces(n / 2, leaf) * leaf; }

// -- BLAS ------------------------------------------------------------------------------------------------------------

#define BLAS_GEMM(T, name, ALPHA)                                                                                    \
  static void blas_gemm_##T(lac_form form_a, lac_form form_b, int m, int n, int k, T alpha, const T *a, int lda,     \
                            const T *b, int ldb, T beta, T *c, int ldc) {                                            \
    lac_blas_found->name(LAC_BLAS_BY_COLUMNS, lac_blas_form(form_a), lac_blas_form(form_b), m, n, k, ALPHA alpha, a, \
                         lda, b, ldb, ALPHA beta, c, ldc);                                                           \
  }
BLAS_GEMM(f32, sgemm, )
BLAS_GEMM(f64, dgemm, )
BLAS_GEMM(c64, cgemm, &)
BLAS_GEMM(c128, zgemm, &)

// From so many multiplications on BLAS, which knows the machine at run time, is faster than the small kernels:
// measured.
enum {
  BLAS_FROM_real = DENSE_BYTES > 16 ? 64 * 64 * 64 : 8 * 8 * 8,
  BLAS_FROM_f32 = BLAS_FROM_real,
  BLAS_FROM_f64 = BLAS_FROM_real,
  BLAS_FROM_c64 = 8 * 8 * 8,
  BLAS_FROM_c128 = 8 * 8 * 8
};

enum { is_complex_f32 = 0, is_complex_f64 = 0, is_complex_c64 = 1, is_complex_c128 = 1 };

INLINE f32 root_f32(f32 x) { return sqrtf(x); }
INLINE f64 root_f64(f64 x) { return sqrt(x); }
INLINE f32 root_c64(f32 x) { return sqrtf(x); }
INLINE f64 root_c128(f64 x) { return sqrt(x); }

#define KERNEL_FILE "solvers/direct/dense/dense_kernel.h"
#include "solvers/numbers/instantiate.h"

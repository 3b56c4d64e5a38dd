// SPDX-License-Identifier: Apache-2.0
/// @file dense.h
/// Dense matrices by columns, for the fronts of the direct solvers: BLAS where there is one, loops of our own where not
/// and for what is small. Each function is there for T = f32, f64, c64, c128 as dense_<name>_<T>.
///
/// `threads` share fixed tiles: the bits do not depend on their number. BLAS itself runs on the thread that calls it
/// between lac_blas_enter and lac_blas_leave, which every walk over the tree does once.

#ifndef LACUNA_SOLVERS_DIRECT_DENSE_DENSE_H
#define LACUNA_SOLVERS_DIRECT_DENSE_DENSE_H

#include "core/blas.h"
#include "core/numbers/numbers.h"
#include "lacuna/pattern.h"

typedef enum dense_place { DENSE_LEFT, DENSE_RIGHT } dense_place;
typedef enum dense_shape { DENSE_LOWER, DENSE_LOWER_UNIT, DENSE_UPPER, DENSE_UPPER_UNIT } dense_shape;

#define DENSE_DECLARE(T)                                                                                               \
  /* C = beta C + alpha op(A) op(B), C m x n, k the inner size; C is not read where beta is 0. */                      \
  /* LAC_CONJUGATED is slow. */                                                                                        \
  void dense_gemm_##T(lac_form form_a, lac_form form_b, int m, int n, int k, T alpha, const T *a, int lda, const T *b, \
                      int ldb, T beta, T *c, int ldc, int threads);                                                    \
  /* C = beta C - A op(B) for few rows m: each number is summed in one order whatever m and n are, without BLAS */     \
  void dense_thin_##T(lac_form form_b, int m, int n, int k, const T *a, int lda, const T *b, int ldb, T beta, T *c,    \
                      int ldc);                                                                                        \
  /* the lower triangle of C = beta C - A A^H, C n x n, A n x k; C is not read where beta is 0 */                      \
  void dense_herk_##T(int n, int k, const T *a, int lda, double beta, T *c, int ldc, int threads);                     \
  /* the lower triangle of C = beta C - A op(B), C n x n, A n x k, op(B) k x n: for Hermitian products */              \
  void dense_gemmt_##T(lac_form form_b, int n, int k, const T *a, int lda, const T *b, int ldb, double beta, T *c,     \
                       int ldc, int threads);                                                                          \
  /* B = op(T)^-1 B (left) or B op(T)^-1 (right), B m x n */                                                           \
  void dense_trsm_##T(dense_place place, dense_shape shape, lac_form form, int m, int n, const T *t, int ldt, T *b,    \
                      int ldb, int threads);                                                                           \
  /* The first n columns of L, L L^H = A, in the lower trapezoid of A, m x n: rows below the n-th are solved for. */   \
  /* Returns the first column whose pivot is not positive and finite, with the pivot, or -1. */                        \
  int dense_cholesky_##T(int m, int n, T *a, int lda, double *pivot, int threads);

DENSE_DECLARE(f32)
DENSE_DECLARE(f64)
DENSE_DECLARE(c64)
DENSE_DECLARE(c128)

#endif

// SPDX-License-Identifier: Apache-2.0
/// A BLAS for tests of how one is found: products by plain loops, and threads that are only counted. Built once for
/// each of what libraries are told apart by: STUB_MKL, STUB_BLIS, STUB_SCIPY (OpenBLAS whose names have a prefix, and
/// whose memory is hidden), and with STUB_WIDE integers of 64 bits.

#include <complex.h>
#include <stdint.h>

#if defined(STUB_WIDE)
typedef int64_t integer;
#else
typedef int integer;
#endif

static int stub_team = 4, stub_calls, stub_most;  // threads; products, and the most threads that one had

/// What a test asks: how many threads there are now, how many products there were, and the most threads of one.
int stub_threads(void);
int stub_products(void);
int stub_most_threads(void);
int stub_threads(void) { return stub_team; }
int stub_products(void) { return stub_calls; }
int stub_most_threads(void) { return stub_most; }

#if defined(STUB_MKL)
const char *mkl_get_version_string(void);
int MKL_Get_Max_Threads(void);
void MKL_Set_Num_Threads(int threads);
const char *mkl_get_version_string(void) { return "a stub"; }
int MKL_Get_Max_Threads(void) { return stub_team; }
void MKL_Set_Num_Threads(int threads) { stub_team = threads; }
#elif defined(STUB_BLIS)
const char *bli_info_get_version_str(void);
int64_t bli_thread_get_num_threads(void);
void bli_thread_set_num_threads(int64_t threads);
const char *bli_info_get_version_str(void) { return "a stub"; }
int64_t bli_thread_get_num_threads(void) { return stub_team; }
void bli_thread_set_num_threads(int64_t threads) { stub_team = (int)threads; }
#elif defined(STUB_SCIPY)
const char *scipy_openblas_get_config(void);
int scipy_openblas_get_num_threads(void);
void scipy_openblas_set_num_threads(int threads);
const char *scipy_openblas_get_config(void) { return "OpenBLAS 9.8.7 DYNAMIC_ARCH a stub"; }
int scipy_openblas_get_num_threads(void) { return stub_team; }
void scipy_openblas_set_num_threads(int threads) { stub_team = threads; }
#define cblas_dasum scipy_cblas_dasum
#define cblas_sgemm scipy_cblas_sgemm
#define cblas_dgemm scipy_cblas_dgemm
#define cblas_cgemm scipy_cblas_cgemm
#define cblas_zgemm scipy_cblas_zgemm
#endif

double cblas_dasum(integer n, const double *x, integer stride);
double cblas_dasum(integer n, const double *x, integer stride) {
  double sum = 0;
  for (integer i = 0; i < n && stride > 0; i++) sum += x[i * stride] < 0 ? -x[i * stride] : x[i * stride];
  return sum;
}

// Of the numbers of cblas.h: 101 is by rows, 111 a matrix as it stands; what is by columns is the transpose by rows.
#define STUB_GEMM(name, T, scalar, VALUE)                                                                              \
  void name(int order, int form_a, int form_b, integer m, integer n, integer k, scalar alpha, const T *a, integer lda, \
            const T *b, integer ldb, scalar beta, T *c, integer ldc);                                                  \
  void name(int order, int form_a, int form_b, integer m, integer n, integer k, scalar alpha, const T *a, integer lda, \
            const T *b, integer ldb, scalar beta, T *c, integer ldc) {                                                 \
    int by_rows = order == 101, plain_a = form_a == 111, plain_b = form_b == 111;                                      \
    stub_calls++;                                                                                                      \
    stub_most = stub_team > stub_most ? stub_team : stub_most;                                                         \
    for (integer i = 0; i < m; i++) {                                                                                  \
      for (integer j = 0; j < n; j++) {                                                                                \
        T sum = 0, *to = by_rows ? c + i * ldc + j : c + j * ldc + i;                                                  \
        for (integer l = 0; l < k; l++) {                                                                              \
          sum += (by_rows == plain_a ? a[i * lda + l] : a[l * lda + i]) *                                              \
                 (by_rows == plain_b ? b[l * ldb + j] : b[j * ldb + l]);                                               \
        }                                                                                                              \
        *to = VALUE(alpha) * sum + (VALUE(beta) == 0 ? 0 : VALUE(beta) * *to);                                         \
      }                                                                                                                \
    }                                                                                                                  \
  }
#define STUB_IS(x) (x)
#define STUB_AT(x) (*(x))
STUB_GEMM(cblas_sgemm, float, float, STUB_IS)
STUB_GEMM(cblas_dgemm, double, double, STUB_IS)
STUB_GEMM(cblas_cgemm, float complex, const float complex *, STUB_AT)
STUB_GEMM(cblas_zgemm, double complex, const double complex *, STUB_AT)

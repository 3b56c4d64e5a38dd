// SPDX-License-Identifier: Apache-2.0
/// The dense kernels of the direct solvers: products, substitutions and Cholesky factors of all sizes, forms and dtypes
/// equal the sums that define them, and touch nothing else.

#include <float.h>

#include "solvers/direct/dense/dense.h"
#include "support/check.h"
#include "support/random.h"
#include "support/scratch.h"

static const double rounding_f32 = FLT_EPSILON, rounding_f64 = DBL_EPSILON, rounding_c64 = FLT_EPSILON,
                    rounding_c128 = DBL_EPSILON;

static f32 number_f32(double re, double im) { return (void)im, (f32)re; }
static f64 number_f64(double re, double im) { return (void)im, re; }
static c64 number_c64(double re, double im) { return PAIR((f32)re, (f32)im); }
static c128 number_c128(double re, double im) { return PAIR(re, im); }

// Whether a triangle of this shape has an entry at (i, j); the units of its diagonal are none.
static bool dense_reads(dense_shape shape, int i, int j) {
  return shape == DENSE_LOWER ? i >= j : shape == DENSE_LOWER_UNIT ? i > j : shape == DENSE_UPPER ? i <= j : i < j;
}

#define KERNEL_FILE "solvers/dense_cases.h"
#include "core/numbers/instantiate.h"

static void products_of_all_sides_equal_their_sums(lac_context *ctx) {
  (void)ctx;
  check_products_f32(), check_products_f64(), check_products_c64(), check_products_c128();
}

static void triangles_of_products_leave_the_other_triangle_alone(lac_context *ctx) {
  (void)ctx;
  check_triangles_f32(), check_triangles_f64(), check_triangles_c64(), check_triangles_c128();
}

static void substitutions_of_all_shapes_and_sides_solve(lac_context *ctx) {
  (void)ctx;
  check_substitution_f32(), check_substitution_f64(), check_substitution_c64(), check_substitution_c128();
}

static void cholesky_factors_give_the_matrix_back_or_name_the_pivot(lac_context *ctx) {
  (void)ctx;
  check_factors_f32(), check_factors_f64(), check_factors_c64(), check_factors_c128();
}

static void the_bits_do_not_depend_on_the_number_of_threads(lac_context *ctx) {
  enum { N = 700, K = 300 };
  size_t bytes = sizeof(f64) * N * N;
  f64 *results[2];
  (void)ctx;
  for (int t = 0; t < 2; t++) {
    double pivot;
    f64 *a = random_f64(N, N, 5), *c = random_f64(N, N, 6);
    for (int j = 0; j < N; j++) c[j + j * N] = 2 * N;
    dense_gemm_f64(LAC_PLAIN, LAC_TRANSPOSED, N, N, K, 1e-3, a, N, a, N, 1, c, N, t + 1);
    CHECK_EQ(dense_cholesky_f64(N, K, c, N, &pivot, t + 1), -1);
    dense_herk_f64(N - K, K, c + K, N, 1, c + K + K * N, N, t + 1);
    results[t] = c;
  }
  CHECK(memcmp(results[0], results[1], bytes) == 0);
}

static void blas_may_be_entered_by_many_at_once(lac_context *ctx) {
  (void)ctx;
  CHECK(lac_blas_enter(1));
  CHECK(lac_blas_enter(2));
  lac_blas_leave(2);
  check_gemm_f64(LAC_PLAIN, LAC_TRANSPOSED, 300, 40, 60, 1);
  lac_blas_leave(1);
}

CHECK_MAIN(products_of_all_sides_equal_their_sums, triangles_of_products_leave_the_other_triangle_alone,
           substitutions_of_all_shapes_and_sides_solve, cholesky_factors_give_the_matrix_back_or_name_the_pivot,
           the_bits_do_not_depend_on_the_number_of_threads, blas_may_be_entered_by_many_at_once)

// SPDX-License-Identifier: Apache-2.0
/// Elimination of one front: what the factors multiply to is the front, and what is left is its Schur complement.

#include <math.h>
#include <string.h>

#include "core/number_at.h"
#include "solvers/direct/dense/dense.h"
#include "solvers/direct/dense/eliminate.h"
#include "support/check.h"
#include "support/dense.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const double ROUNDING[] = {1.2e-7, 2.3e-16, 1.2e-7, 2.3e-16};

// A front with the dense matrix that it holds.
typedef struct front_case {
  lac_dtype dtype;
  int is_hermitian;
  dense a;
  lac_front front;
} front_case;

static void *numbers(lac_dtype dtype, int64_t count) { return scratch((size_t)(count + 1) * lac_dtype_size(dtype)); }

static void case_fill(front_case *c) {
  int p = c->front.p, r = c->front.r, m = p + r;
  for (int j = 0; j < m; j++) {
    for (int i = c->is_hermitian ? j : 0; i < m; i++) {
      number value = c->a.x[i * m + j];
      if (j < p) lac_number_put(c->dtype, c->front.l, i + (int64_t)j * m, value);
      if (i < p && j >= p) lac_number_put(c->dtype, c->front.u, j - p + (int64_t)i * r, value);
      if (i >= p && j >= p) lac_number_put(c->dtype, c->front.update, i - p + (int64_t)(j - p) * r, value);
    }
  }
}

static front_case case_of(lac_dtype dtype, int is_hermitian, int p, int r, dense a) {
  front_case c = {dtype, is_hermitian, a, {.p = p, .r = r, .threads = 2, .first = 100, .beta = 1, .small = 1e-4}};
  int64_t m = p + r;
  c.front.l = numbers(dtype, m * p), c.front.u = numbers(dtype, (int64_t)r * p);
  c.front.update = numbers(dtype, (int64_t)r * r), c.front.work = numbers(dtype, m * p);
  c.front.pivots = scratch((size_t)(p + 1) * sizeof(int32_t)), c.front.d_below = numbers(dtype, p);
  case_fill(&c);
  return c;
}

static int is_complex(lac_dtype dtype) { return dtype == LAC_C64 || dtype == LAC_C128; }

// Random numbers, rounded to the dtype; the diagonal is zero where `hollow`.
static dense random_front(lac_dtype dtype, int is_hermitian, int m, int hollow, uint64_t seed) {
  dense a = dense_new(m, m);
  ref values = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {(int64_t)m * m}});
  ref_random(&values, seed, is_complex(dtype));
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < m; j++) {
      number value = (float complex)values.x[i * m + j];
      a.x[i * m + j] = value;
      if (is_hermitian && i > j) a.x[i * m + j] = conj(a.x[j * m + i]);
      if (i == j && is_hermitian) a.x[i * m + i] = creal(value);
      if (i == j && hollow) a.x[i * m + i] = 0;
    }
  }
  return a;
}

// L, D or U of a front as they stand, and the update, in one product: Pi A (Pi^T) is compared with it.
static dense case_product(const front_case *c) {
  int p = c->front.p, r = c->front.r, m = p + r;
  dense l = dense_new(m, m), u = dense_new(m, m);
  for (int i = 0; i < m; i++) l.x[i * m + i] = 1;
  for (int j = 0; j < p; j++) {
    for (int i = j + 1; i < m; i++) l.x[i * m + j] = lac_number_get(c->dtype, c->front.l, i + (int64_t)j * m);
  }
  if (c->is_hermitian) {
    dense d = dense_new(m, m);
    for (int k = 0; k < p; k++) {
      number below = lac_number_get(c->dtype, c->front.d_below, k);
      d.x[k * m + k] = lac_number_get(c->dtype, c->front.l, k + (int64_t)k * m);
      if (below != 0) d.x[(k + 1) * m + k] = below, d.x[k * m + k + 1] = conj(below);
    }
    for (int j = p; j < m; j++) {
      for (int i = j; i < m; i++) {
        d.x[i * m + j] = lac_number_get(c->dtype, c->front.update, i - p + (int64_t)(j - p) * r);
        d.x[j * m + i] = conj(d.x[i * m + j]);
      }
    }
    return dense_mul(dense_mul(l, d), dense_side(l, LAC_ADJOINT));
  }
  for (int i = 0; i < p; i++) {
    for (int j = i; j < p; j++) u.x[i * m + j] = lac_number_get(c->dtype, c->front.l, i + (int64_t)j * m);
    for (int j = p; j < m; j++) u.x[i * m + j] = lac_number_get(c->dtype, c->front.u, j - p + (int64_t)i * r);
  }
  for (int i = p; i < m; i++) {
    for (int j = p; j < m; j++)
      u.x[i * m + j] = lac_number_get(c->dtype, c->front.update, i - p + (int64_t)(j - p) * r);
  }
  return dense_mul(l, u);
}

// The largest difference between Pi A (Pi^T) and the product of the factors, in roundings of the largest number met.
static double case_error(const front_case *c) {
  int p = c->front.p, m = p + c->front.r;
  dense product = case_product(c);
  double worst = 0, largest = c->front.largest > 1 ? c->front.largest : 1;
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < m; j++) {
      int row = i < p ? c->front.pivots[i] - 100 : i, col = j < p && c->is_hermitian ? c->front.pivots[j] - 100 : j;
      double error = cabs(product.x[i * m + j] - c->a.x[row * m + col]);
      if (!(error <= worst)) worst = error;
    }
  }
  return worst / (ROUNDING[c->dtype] * largest * (m + 1));
}

static bool eliminate(front_case *c) {
  return (c->is_hermitian ? lac_eliminate_ldlt : lac_eliminate_lu)[c->dtype](&c->front);
}

static void fronts_of_all_sizes_and_dtypes_factor_to_rounding(lac_context *ctx) {
  static const int SIZES[][2] = {{1, 0}, {1, 7}, {2, 0}, {3, 5}, {8, 4}, {9, 9}, {17, 3}, {33, 20}, {70, 40}, {100, 0}};
  (void)ctx;
  for (int t = 0; t < 4 * 10 * 4; t++) {
    size_t mark = scratch_mark();
    lac_dtype dtype = DTYPES[t % 4];
    int p = SIZES[t / 4 % 10][0], r = SIZES[t / 4 % 10][1], is_hermitian = t / 40 % 2, hollow = t / 80 && p > 1;
    front_case c = case_of(dtype, is_hermitian, p, r, random_front(dtype, is_hermitian, p + r, hollow, (uint64_t)t));
    CHECK(eliminate(&c));
    CHECK(c.front.perturbed == 0);
    CHECK(case_error(&c) < 100);
    scratch_release(mark);
  }
}

static void an_update_may_begin_from_nothing(lac_context *ctx) {
  (void)ctx;
  for (int t = 0; t < 8; t++) {
    size_t mark = scratch_mark();
    int is_hermitian = t / 4;
    dense a = random_front(DTYPES[t % 4], is_hermitian, 14, 0, 5);
    for (int i = 5; i < 14; i++) {
      for (int j = 5; j < 14; j++) a.x[i * 14 + j] = 0;
    }
    front_case c = case_of(DTYPES[t % 4], is_hermitian, 5, 9, a);
    memset(c.front.update, 0xff, 81 * lac_dtype_size(c.dtype));  // NaN
    c.front.beta = 0;
    CHECK(eliminate(&c));
    CHECK(case_error(&c) < 100);
    scratch_release(mark);
  }
}

// The choices of one front, given to another that is near it, are taken; the product is right.
static void choices_can_be_taken_over(lac_context *ctx) {
  (void)ctx;
  for (int t = 0; t < 16; t++) {
    size_t mark = scratch_mark();
    lac_dtype dtype = DTYPES[t % 4];
    int is_hermitian = t / 4 % 2, p = t / 8 ? 40 : 12, m = p + 6;
    dense a = random_front(dtype, is_hermitian, m, 1, 7), b = dense_new(m, m);
    memcpy(b.x, a.x, (size_t)(m * m) * sizeof *b.x);
    for (int i = 0; i < m; i++) b.x[i * m + i] += 0.015625 * (i % 3);
    front_case c = case_of(dtype, is_hermitian, p, 6, a), d = case_of(dtype, is_hermitian, p, 6, b);
    CHECK(eliminate(&c));
    d.front.like_pivots = c.front.pivots, d.front.like_d_below = c.front.d_below;
    CHECK(eliminate(&d));
    CHECK(memcmp(d.front.pivots, c.front.pivots, (size_t)p * sizeof *c.front.pivots) == 0);
    CHECK(d.front.perturbed == 0);
    CHECK(case_error(&d) < 1000);
    for (int k = 0; is_hermitian && k < p; k++) {
      CHECK((lac_number_get(dtype, c.front.d_below, k) != 0) == (lac_number_get(dtype, d.front.d_below, k) != 0));
    }
    scratch_release(mark);
  }
}

// A block of zeros that only the rows below could pivot: each pivot becomes `small` times what it eliminates.
static void pivots_that_are_too_small_are_enlarged_and_counted(lac_context *ctx) {
  (void)ctx;
  for (int t = 0; t < 8; t++) {
    size_t mark = scratch_mark();
    int is_hermitian = t / 4, p = 3, m = 8;
    dense a = random_front(DTYPES[t % 4], is_hermitian, m, 0, 9);
    for (int i = 0; i < p; i++) {
      for (int j = 0; j < p; j++) a.x[i * m + j] = 0;
    }
    front_case c = case_of(DTYPES[t % 4], is_hermitian, p, m - p, a);
    CHECK(eliminate(&c));
    CHECK(c.front.perturbed == p);
    CHECK(c.front.smallest <= 2e-4 && c.front.smallest > 1e-6);
    for (int k = 0; k < p; k++) CHECK(cabs(lac_number_get(c.dtype, c.front.l, k + k * m)) > 0);
    scratch_release(mark);
  }
}

// A small pivot with nothing below it that is larger does no harm and stays.
static void small_pivots_of_small_columns_stay(lac_context *ctx) {
  (void)ctx;
  for (int t = 0; t < 8; t++) {
    size_t mark = scratch_mark();
    int is_hermitian = t / 4, m = 4;
    dense a = random_front(DTYPES[t % 4], is_hermitian, m, 0, 9);
    for (int i = 0; i < m; i++) a.x[i * m] = a.x[i] = i ? 0 : 1e-12;
    front_case c = case_of(DTYPES[t % 4], is_hermitian, m, 0, a);
    CHECK(eliminate(&c));
    CHECK(c.front.perturbed == 0);
    CHECK(c.front.smallest < 1.1e-12);
    CHECK(c.front.where == (is_hermitian ? 100 : 100));
    scratch_release(mark);
  }
}

static void growth_is_seen(lac_context *ctx) {
  (void)ctx;
  for (int is_hermitian = 0; is_hermitian < 2; is_hermitian++) {
    dense a = dense_new(2, 2);
    a.x[0] = 1e-3, a.x[1] = a.x[2] = 1, a.x[3] = 1;
    front_case c = case_of(LAC_F64, is_hermitian, 1, 1, a);
    CHECK(eliminate(&c));
    CHECK(c.front.perturbed == 0);
    CHECK_NEAR(creal(lac_number_get(LAC_F64, c.front.update, 0)), 1 - 1000, 1e-9);
    CHECK_NEAR(c.front.smallest, 1e-3, 1e-15);
  }
}

static void the_bits_do_not_depend_on_the_number_of_threads(lac_context *ctx) {
  int p = 150, r = 170, m = p + r;
  (void)ctx;
  for (int is_hermitian = 0; is_hermitian < 2; is_hermitian++) {
    dense a = random_front(LAC_F64, is_hermitian, m, 1, 3);
    front_case c = case_of(LAC_F64, is_hermitian, p, r, a), d = case_of(LAC_F64, is_hermitian, p, r, a);
    d.front.threads = 1;
    CHECK(lac_blas_enter(2));
    CHECK(eliminate(&c) && eliminate(&d));
    lac_blas_leave(2);
    CHECK(memcmp(c.front.l, d.front.l, (size_t)(m * p) * sizeof(double)) == 0);
    CHECK(memcmp(c.front.update, d.front.update, (size_t)(r * r) * sizeof(double)) == 0);
  }
}

CHECK_MAIN(fronts_of_all_sizes_and_dtypes_factor_to_rounding, an_update_may_begin_from_nothing,
           choices_can_be_taken_over, pivots_that_are_too_small_are_enlarged_and_counted,
           small_pivots_of_small_columns_stay, growth_is_seen, the_bits_do_not_depend_on_the_number_of_threads)

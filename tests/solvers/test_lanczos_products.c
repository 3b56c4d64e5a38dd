// SPDX-License-Identifier: Apache-2.0
/// Lanczos' process by functions: the moments of T are those of A and the start, (T^k)_00 = s^H A^k s / s^H s.

#include <complex.h>
#include <math.h>
#include <string.h>

#include "core/test_hooks.h"
#include "support/check.h"

enum { N = 7, STEPS = 4, ITEMS = 2 };
typedef double complex number;

/// What a function is told: a Hermitian matrix, and what it returns.
typedef struct matrix {
  number a[N][N];
  int calls;
  lac_status fails_with;
} matrix;

static void multiply(const matrix *m, const number *x, number *y) {
  for (int i = 0; i < N; i++) {
    y[i] = 0;
    for (int j = 0; j < N; j++) y[i] += m->a[i][j] * x[j];
  }
}

/// y = A x of arrays (items, n) or (n).
static lac_status product(lac_context *ctx, void *data, const lac_array *x, lac_form op, lac_array *y) {
  matrix *m = data;
  const lac_meta *meta = lac_array_meta(x);
  int64_t items = meta->ndim > 1 ? meta->shape[0] : 1;
  number in[ITEMS * N], out[ITEMS * N];
  double re[ITEMS * N];
  bool is_real = meta->dtype == LAC_F64;

  m->calls++;
  CHECK(op == LAC_PLAIN);
  if (m->fails_with != LAC_OK) return m->fails_with;
  lac_status status = lac_array_read(ctx, x, is_real ? (void *)re : (void *)in);
  if (status != LAC_OK) return status;
  for (int i = 0; is_real && i < items * N; i++) in[i] = re[i];
  for (int64_t i = 0; i < items; i++) multiply(m, in + i * N, out + i * N);
  for (int i = 0; is_real && i < items * N; i++) re[i] = creal(out[i]);
  return lac_array_write(ctx, y, is_real ? (void *)re : (void *)out);
}

/// shift I + R R^H / 4 for an R without order.
static matrix definite(double shift, double imaginary) {
  matrix m = {.calls = 0};
  number r[N][N];
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) r[i][j] = sin(1 + 3 * i + 5 * j * j) + imaginary * I * cos(2 * i * j + j);
  }
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      m.a[i][j] = i == j ? shift : 0;
      for (int k = 0; k < N; k++) m.a[i][j] += r[i][k] * conj(r[j][k]) / 4;
    }
  }
  return m;
}

typedef struct world {
  lac_array *start, *alpha, *beta;
  number s[ITEMS * N];
} world;

static world world_open(lac_context *ctx, lac_dtype dtype, int ndim, int64_t steps) {
  world w = {NULL, NULL, NULL, {0}};
  double re[ITEMS * N];
  int64_t shape[] = {ITEMS, N}, made[] = {ITEMS, steps};
  for (int i = 0; i < ITEMS * N; i++) {
    w.s[i] = 1.5 * cos(i * i) + (dtype == LAC_C128 ? I * sin(i) : 0);
    re[i] = creal(w.s[i]);
  }
  CHECK_OK(lac_array_from(ctx, dtype, ndim, shape + 2 - ndim, dtype == LAC_F64 ? (void *)re : (void *)w.s,
                          LAC_OWNERSHIP_COPY, &w.start));
  CHECK_OK(lac_array_create(ctx, LAC_F64, ndim, made + 2 - ndim, &w.alpha));
  CHECK_OK(lac_array_create(ctx, LAC_F64, ndim, made + 2 - ndim, &w.beta));
  return w;
}

static void world_close(world *w) {
  lac_array_destroy(&w->start), lac_array_destroy(&w->alpha), lac_array_destroy(&w->beta);
}

/// (T^k)_00 for the first `steps` of alpha and beta.
static double moment(const double *alpha, const double *beta, int steps, int k) {
  double x[STEPS] = {1}, y[STEPS];
  for (; k > 0; k--) {
    for (int i = 0; i < steps; i++) {
      y[i] = alpha[i] * x[i] + (i > 0 ? beta[i - 1] * x[i - 1] : 0) + (i + 1 < steps ? beta[i] * x[i + 1] : 0);
    }
    memcpy(x, y, sizeof x);
  }
  return x[0];
}

/// s^H (B A)^k B s / s^H B s, B = I where it is NULL.
static double moment_of(const matrix *a, const matrix *b, const number *s, int k) {
  number x[N], y[N], top = 0, size = 0, z[N];
  memcpy(x, s, sizeof x);
  if (b) multiply(b, s, x);
  memcpy(z, x, sizeof z);
  for (; k > 0; k--) {
    multiply(a, x, y);
    memcpy(x, y, sizeof x);
    if (b) multiply(b, y, x);
  }
  for (int i = 0; i < N; i++) top += conj(s[i]) * x[i], size += conj(s[i]) * z[i];
  return creal(top / size);
}

static void check_moments(lac_context *ctx, lac_dtype dtype, int ndim, bool is_preconditioned) {
  matrix a = definite(0.5, dtype == LAC_C128), b = definite(2, dtype == LAC_C128);
  world w = world_open(ctx, dtype, ndim, STEPS);
  double alpha[ITEMS * STEPS], beta[ITEMS * STEPS];
  CHECK_OK(lac_lanczos_products(ctx, product, &a, is_preconditioned ? product : NULL, &b, w.start, w.alpha, w.beta));
  CHECK_OK(lac_array_read(ctx, w.alpha, alpha));
  CHECK_OK(lac_array_read(ctx, w.beta, beta));
  CHECK(a.calls == STEPS);
  for (int i = 0; i < (ndim > 1 ? ITEMS : 1); i++) {
    for (int k = 0; k < 2 * STEPS; k++) {
      double want = moment_of(&a, is_preconditioned ? &b : NULL, w.s + i * N, k);
      CHECK_NEAR(moment(alpha + i * STEPS, beta + i * STEPS, STEPS, k) / want, 1, 1e-11);
    }
  }
  world_close(&w);
}

static void moments_are_those_of_the_matrix(lac_context *ctx) {
  for (int ndim = 1; ndim <= 2; ndim++) {
    for (int is_preconditioned = 0; is_preconditioned < 2; is_preconditioned++) {
      check_moments(ctx, LAC_F64, ndim, is_preconditioned);
      check_moments(ctx, LAC_C128, ndim, is_preconditioned);
    }
  }
}

/// A multiple of the identity has one step, and a start of zeros none.
static void exhausted_spaces_end_in_ones(lac_context *ctx) {
  matrix a = {.calls = 0};
  world w = world_open(ctx, LAC_F64, 1, N + 2);
  double alpha[N + 2], beta[N + 2], zeros[N] = {0};
  for (int i = 0; i < N; i++) a.a[i][i] = 3;
  for (int is_zero = 0; is_zero < 2; is_zero++) {
    if (is_zero) CHECK_OK(lac_array_write(ctx, w.start, zeros));
    CHECK_OK(lac_lanczos_products(ctx, product, &a, NULL, NULL, w.start, w.alpha, w.beta));
    CHECK_OK(lac_array_read(ctx, w.alpha, alpha));
    CHECK_OK(lac_array_read(ctx, w.beta, beta));
    CHECK_NEAR(alpha[0], is_zero ? 1 : 3, 1e-15);
    for (int j = 0; j < N + 2; j++) CHECK(beta[j] == 0 && (j == 0 || alpha[j] == 1));
  }
  world_close(&w);
}

static void faults_are_named(lac_context *ctx) {
  matrix a = definite(0.5, 0), wrong = definite(-100, 0), failing = {.fails_with = LAC_ERR_UNSUPPORTED};
  world w = world_open(ctx, LAC_F64, 1, STEPS), other = world_open(ctx, LAC_F64, 2, STEPS);
  CHECK_FAILS(lac_lanczos_products(ctx, product, &a, product, &wrong, w.start, w.alpha, w.beta), LAC_ERR_DEFINITE,
              "the preconditioner is not positive definite");
  CHECK_FAILS(lac_lanczos_products(ctx, product, &failing, NULL, NULL, w.start, w.alpha, w.beta), LAC_ERR_UNSUPPORTED,
              "lac_lanczos_products: the product returned");
  CHECK_FAILS(lac_lanczos_products(ctx, product, &a, product, &failing, w.start, w.alpha, w.beta), LAC_ERR_UNSUPPORTED,
              "lac_lanczos_products: the preconditioner returned");
  CHECK_FAILS(lac_lanczos_products(ctx, NULL, &a, NULL, NULL, w.start, w.alpha, w.beta), LAC_ERR_ARG, "is NULL");
  CHECK_FAILS(lac_lanczos_products(ctx, product, &a, NULL, NULL, NULL, w.alpha, w.beta), LAC_ERR_ARG, "start");
  CHECK_FAILS(lac_lanczos_products(ctx, product, &a, NULL, NULL, w.start, NULL, w.beta), LAC_ERR_ARG, "alpha");
  CHECK_FAILS(lac_lanczos_products(ctx, product, &a, NULL, NULL, w.start, w.alpha, NULL), LAC_ERR_ARG, "beta");
  CHECK_FAILS(lac_lanczos_products(ctx, product, &a, NULL, NULL, w.start, w.alpha, w.alpha), LAC_ERR_ARG, "share");
  CHECK_FAILS(lac_lanczos_products(ctx, product, &a, NULL, NULL, w.start, other.alpha, w.beta), LAC_ERR_SHAPE,
              "lac_lanczos_products: alpha is");
  a.a[0][0] = NAN;
  CHECK_FAILS(lac_lanczos_products(ctx, product, &a, NULL, NULL, w.start, w.alpha, w.beta), LAC_ERR_NONFINITE,
              "not finite");
  world_close(&w);
  world_close(&other);
}

static void no_failing_allocation_does_harm(lac_context *ctx) {
  bool is_reached = true;
  for (int64_t n = 1; is_reached; n = check_next_failure(ctx, n)) {
    matrix a = definite(0.5, 0), b = definite(2, 0);
    world w = world_open(ctx, LAC_F64, 2, STEPS);
    lac_memory_fail_at(n);
    lac_status status = lac_lanczos_products(ctx, product, &a, product, &b, w.start, w.alpha, w.beta);
    is_reached = lac_memory_fail_at(0) >= n;
    CHECK_EQ(status, is_reached ? LAC_ERR_MEMORY : LAC_OK);
    world_close(&w);
  }
}

CHECK_MAIN(moments_are_those_of_the_matrix, exhausted_spaces_end_in_ones, faults_are_named,
           no_failing_allocation_does_harm)

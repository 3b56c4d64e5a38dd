// SPDX-License-Identifier: Apache-2.0
/// @file largest.c
/// The largest eigenvalue of D^-1 A, by a few products with it.
///
///     Hermitian, D > 0   Lanczos on W = D^-1/2 A D^-1/2:  the largest Ritz value, and the residual of its vector added
///     always             <= max_i (B x)_i / x_i, B = |D^-1 A|, x = 1, B 1, B^2 1, ...: a bound (Collatz, Wielandt)
///
/// The bound is the first row sum at first and falls to the spectral radius of B, which diagonal scalings of A do not
/// change. It alone serves the other matrices.

#include <float.h>
#include <math.h>

#include "core/numbers/random.h"
#include "core/reals.h"
#include "solvers/eigen/lanczos.h"
#include "solvers/eigen/tridiagonal.h"
#include "solvers/precondition/relax.h"

enum { LARGEST_STEPS = 10, LIMIT_STEPS = 6, LARGEST_SEED = 6 };

typedef struct largest_work {
  const lac_setup *setup;
  int64_t items, n;
  lac_array *diagonal, *inverse;  // [items, n, 1]
  double *d, *x;                  // the same on the host: d, then its root's or its own reciprocal's size; an iterate
  lac_array *scale;               // [items, n, 1]: d^-1/2
  lac_array *t;                   // likewise
} largest_work;

static void largest_close(largest_work *work) {
  lac_array_destroy(&work->diagonal);
  lac_array_destroy(&work->inverse);
  lac_array_destroy(&work->scale);
  lac_array_destroy(&work->t);
  lac_free(work->d);
  lac_free(work->x);
}

static lac_status largest_open(lac_context *ctx, const lac_setup *setup, largest_work *work) {
  lac_status status = LAC_OK;

  work->setup = setup;
  work->items = setup->values->meta.shape[0];
  work->n = setup->pattern->rows;
  LAC_ALLOC(work->d, work->items * work->n);
  LAC_ALLOC(work->x, work->items * work->n);
  LAC_TRY(lac_relax_diagonal(ctx, "chebyshev", setup, &work->diagonal, &work->inverse, NULL));
  LAC_TRY(lac_relax_like(ctx, work->diagonal, &work->t));
done:
  return status;
}

// -- the bound -------------------------------------------------------------------------------------------------------

/// x, positive, becomes inverse y over its largest; returns the largest inverse y / x. A number that is not finite
/// makes it infinite.
static double limit_ratio(int64_t n, const double *inverse, const double *y, double *x) {
  double ratio = 0, most = 0;
  for (int64_t i = 0; i < n; i++) {
    double next = inverse[i] * y[i];
    if (!isfinite(next)) return INFINITY;
    ratio = fmax(ratio, next / x[i]);
    x[i] = next;
    most = fmax(most, next);
  }
  for (int64_t i = 0; i < n; i++) x[i] = fmax(x[i] / most, DBL_MIN);
  return ratio;
}

/// A few steps of x = B x, on the host but for the products; `largest` becomes the bound where that is less.
static lac_status limit_iterate(lac_context *ctx, largest_work *work, const lac_array *sizes, lac_array *from,
                                lac_array *to, double *largest) {
  lac_status status = LAC_OK;
  double *y = NULL;

  LAC_ALLOC(y, from->count);
  for (int64_t i = 0; i < from->count; i++) work->x[i] = 1;
  for (int k = 0; k < LIMIT_STEPS; k++) {
    LAC_TRY(lac_reals_write(ctx, from, work->x));
    LAC_TRY(ctx->kernels->spmm(ctx, work->setup->pattern, LAC_PLAIN, sizes, from, to));
    LAC_TRY(lac_reals_read(ctx, to, y));
    for (int64_t i = 0; i < work->items; i++) {
      int64_t first = i * work->n;
      largest[i] = fmin(largest[i], limit_ratio(work->n, work->d + first, y + first, work->x + first));
    }
  }
done:
  lac_free(y);
  return status;
}

static lac_status largest_limit(lac_context *ctx, largest_work *work, double *largest) {
  lac_status status = LAC_OK;
  const lac_array *values = work->setup->values;
  lac_dtype real = lac_dtype_real(values->meta.dtype);
  lac_array *sizes = NULL, *from = NULL, *to = NULL;

  LAC_CHECK(ctx->kernels->unary, LAC_ERR_UNSUPPORTED, "chebyshev: the backend %s has no absolute values; choose jacobi",
            ctx->backend->name);
  LAC_TRY(lac_array_create(ctx, real, 2, values->meta.shape, &sizes));
  LAC_TRY(lac_relax_array(ctx, real, work->items, work->n, 1, &from));
  LAC_TRY(lac_relax_array(ctx, real, work->items, work->n, 1, &to));
  LAC_TRY(ctx->kernels->unary(ctx, LAC_ABS, values, sizes));
  LAC_TRY(ctx->kernels->unary(ctx, LAC_ABS, work->inverse, from));
  LAC_TRY(lac_reals_read(ctx, from, work->d));
  LAC_TRY(limit_iterate(ctx, work, sizes, from, to, largest));
done:
  lac_array_destroy(&sizes);
  lac_array_destroy(&from);
  lac_array_destroy(&to);
  return status;
}

// -- Lanczos ---------------------------------------------------------------------------------------------------------

/// work->scale = d^-1/2 where the matrix is Hermitian and all d are positive, else NULL.
static lac_status largest_scale(lac_context *ctx, largest_work *work) {
  lac_status status = LAC_OK;

  if (!work->setup->is_hermitian) goto done;
  LAC_TRY(lac_reals_read(ctx, work->diagonal, work->d));
  for (int64_t i = 0; i < work->diagonal->count; i++) {
    if (!(work->d[i] > 0)) goto done;
    work->d[i] = 1 / sqrt(work->d[i]);
  }
  LAC_TRY(lac_relax_like(ctx, work->diagonal, &work->scale));
  LAC_TRY(lac_reals_write(ctx, work->scale, work->d));
done:
  return status;
}

/// y = W x.
static lac_status largest_product(lac_context *ctx, const void *self, const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  const largest_work *work = self;

  LAC_TRY(ctx->kernels->binary(ctx, LAC_MUL, work->scale, x, y));
  LAC_TRY(ctx->kernels->spmm(ctx, work->setup->pattern, LAC_PLAIN, work->setup->values, y, work->t));
  LAC_TRY(ctx->kernels->binary(ctx, LAC_MUL, work->scale, work->t, y));
done:
  return status;
}

/// The largest Ritz value with the size of its vector's residual, beta_last times the vector's last component, on top.
static double largest_ritz(int64_t steps, const double *alpha, const double *beta) {
  double nodes[LARGEST_STEPS], beside[LARGEST_STEPS] = {0}, last[LARGEST_STEPS], most = 0;
  for (int64_t k = 0; k < steps; k++) {  // backwards, so that first components are last ones
    nodes[k] = alpha[steps - 1 - k];
    if (k + 1 < steps) beside[k] = beta[steps - 2 - k];
  }
  if (!lac_tridiagonal_eigen(steps, nodes, beside, last)) return INFINITY;
  for (int64_t k = 0; k < steps; k++) most = fmax(most, nodes[k] + beta[steps - 1] * fabs(last[k]));
  return most;
}

/// A start that is the same for every item. No signs alone: a symmetric grid has vectors that are orthogonal to them.
static lac_status largest_start(lac_context *ctx, largest_work *work, lac_array **out) {
  for (int64_t i = 0; i < work->items * work->n; i++)
    work->x[i] = lac_random_unit(LARGEST_SEED, (uint64_t)(i % work->n));
  lac_status status = lac_relax_like(ctx, work->diagonal, out);
  return status == LAC_OK ? lac_reals_write(ctx, *out, work->x) : status;
}

static lac_status largest_lanczos(lac_context *ctx, largest_work *work, double *largest) {
  lac_status status = LAC_OK;
  lac_lanczos job = {.function = "chebyshev", .product = largest_product, .self = work, .steps = LARGEST_STEPS};
  lac_array *start = NULL;

  LAC_ALLOC(job.alpha, work->items * LARGEST_STEPS);
  LAC_ALLOC(job.beta, work->items * LARGEST_STEPS);
  LAC_ALLOC(job.norm, work->items);
  LAC_ALLOC(job.made, work->items);
  LAC_TRY(largest_start(ctx, work, &start));
  LAC_TRY(lac_lanczos_run(ctx, &job, start));
  for (int64_t i = 0; i < work->items; i++) {
    largest[i] = largest_ritz(job.made[i], job.alpha + i * LARGEST_STEPS, job.beta + i * LARGEST_STEPS);
  }
done:
  lac_array_destroy(&start);
  lac_free(job.alpha);
  lac_free(job.beta);
  lac_free(job.norm);
  lac_free(job.made);
  return status;
}

lac_status lac_relax_largest(lac_context *ctx, const lac_setup *setup, double *largest) {
  lac_status status = LAC_OK;
  largest_work work = {0};

  LAC_TRY(largest_open(ctx, setup, &work));
  for (int64_t i = 0; i < work.items; i++) largest[i] = work.n > 0 ? INFINITY : 1;
  if (work.n == 0 || work.items == 0) goto done;
  LAC_TRY(largest_scale(ctx, &work));
  if (work.scale) LAC_TRY(largest_lanczos(ctx, &work, largest));
  LAC_TRY(largest_limit(ctx, &work, largest));
  for (int64_t i = 0; i < work.items; i++) {
    LAC_CHECK(isfinite(largest[i]), LAC_ERR_NONFINITE,
              "chebyshev: the rows of D^-1 A in matrix %lld overflow; scale the matrix", (long long)i);
  }
done:
  largest_close(&work);
  return status;
}

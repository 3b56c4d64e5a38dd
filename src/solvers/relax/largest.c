// SPDX-License-Identifier: Apache-2.0
/// @file largest.c
/// The largest eigenvalue of D^-1 A, by a few products with it.
///
///     Hermitian, D > 0   Lanczos on W = D^-1/2 A D^-1/2:  the largest Ritz value, and the residual of its vector added
///     always             at most max_i (B x)_i / x_i, B = |D^-1 A|, for x = 1, B 1, B^2 1, ... (Collatz, Wielandt): a true bound
///
/// The bound is the first row sum at first and falls to the spectral radius of B, which diagonal scalings of A do not change. It alone
/// serves the other matrices. Each matrix of a batch has coefficients of its own, which are read and sent once a step.

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/random.h"
#include "solvers/eigen/tridiagonal.h"
#include "solvers/relax/relax.h"

enum { LARGEST_STEPS = 10, LIMIT_STEPS = 6, LARGEST_SEED = 6 };

#define KERNEL_FILE "solvers/relax/largest_kernel.h"
#include "solvers/direct/instantiate.h"

typedef bool largest_root_kernel(int64_t, const void *, void *);
typedef void largest_store_kernel(int64_t, const double *, void *);
typedef void largest_load_kernel(int64_t, const void *, double *);
typedef double largest_ratio_kernel(int64_t, const void *, const double *, double *);
typedef void largest_start_kernel(int64_t, int64_t, void *);
static largest_root_kernel *const largest_root[] = TABLE(largest_root);
static largest_store_kernel *const largest_store[] = TABLE(largest_store);
static largest_load_kernel *const largest_load[] = TABLE(largest_load);
static largest_ratio_kernel *const largest_ratio[] = TABLE(largest_ratio);
static largest_start_kernel *const largest_start[] = TABLE(largest_start);

/// W v = scale (A (scale v)).
typedef struct largest_work {
  const lac_setup *setup;
  lac_dtype dtype;
  int64_t items, n;
  lac_array *scale;               // [items, n, 1]; NULL where the matrix is not Hermitian with a positive diagonal
  lac_array *v, *before, *w, *t;  // likewise
  lac_array *number;              // [items, 1, 1]
  lac_array *dots;                // [items]: the same numbers
  char *host;                     // room for n items numbers
  double *alpha, *beta;           // [items][LARGEST_STEPS]
  double *read, *limit;           // [items]
} largest_work;

static void largest_close(largest_work *work) {
  lac_array **arrays[] = {&work->scale, &work->v, &work->before, &work->w, &work->t, &work->dots, &work->number};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) lac_array_destroy(arrays[i]);
  lac_free(work->host);
  lac_free(work->alpha);
  lac_free(work->beta);
  lac_free(work->read);
  lac_free(work->limit);
}

/// scale = d^-1/2 where the diagonal is positive, else NULL.
static lac_status largest_scales(lac_context *ctx, largest_work *work) {
  lac_status status = LAC_OK;
  lac_array *diagonal = NULL;

  LAC_TRY(lac_relax_diagonal(ctx, "chebyshev", work->setup, &diagonal, NULL, NULL));
  LAC_TRY(lac_array_read(ctx, diagonal, work->host));
  if (!work->setup->is_hermitian || !largest_root[work->dtype](diagonal->count, work->host, work->host)) goto done;
  LAC_TRY(lac_array_write(ctx, diagonal, work->host));
  work->scale = diagonal, diagonal = NULL;
done:
  lac_array_destroy(&diagonal);
  return status;
}

/// One step: x, on the host and positive, becomes B x over its largest of each item, and the bound falls.
static lac_status limit_step(lac_context *ctx, largest_work *work, const lac_array *sizes, const double *inverse,
                             double *x, lac_array *from, lac_array *to) {
  lac_status status = LAC_OK;
  lac_dtype real = lac_dtype_real(work->dtype);

  largest_store[real](from->count, x, work->host);
  LAC_TRY(lac_array_write(ctx, from, work->host));
  LAC_TRY(ctx->kernels->spmm(ctx, work->setup->pattern, LAC_N, sizes, from, to));
  LAC_TRY(lac_array_read(ctx, to, work->host));
  for (int64_t item = 0; item < work->items; item++) {
    const char *y = work->host + (size_t)(item * work->n) * lac_dtype_size(real);
    double *mine = x + item * work->n;
    double bound = largest_ratio[real](work->n, y, inverse + item * work->n, mine);
    work->limit[item] = fmin(work->limit[item], bound);
  }
done:
  return status;
}

/// The bound of each item into work->limit.
static lac_status largest_limit(lac_context *ctx, largest_work *work) {
  lac_status status = LAC_OK;
  lac_dtype real = lac_dtype_real(work->dtype);
  const lac_array *values = work->setup->values;
  lac_array *sizes = NULL, *from = NULL, *to = NULL, *reciprocal = NULL;
  double *inverse = NULL, *x = NULL;

  LAC_CHECK(ctx->kernels->unary, LAC_ERR_UNSUPPORTED, "chebyshev: the backend %s has no absolute values; choose jacobi",
            ctx->kernels->name);
  LAC_TRY(lac_relax_diagonal(ctx, "chebyshev", work->setup, NULL, &reciprocal, NULL));
  LAC_TRY(lac_array_create(ctx, real, 2, values->meta.shape, &sizes));
  LAC_TRY(ctx->kernels->unary(ctx, LAC_ABS, values, sizes));
  LAC_TRY(lac_relax_array(ctx, real, work->items, work->n, 1, &from));
  LAC_TRY(lac_relax_array(ctx, real, work->items, work->n, 1, &to));
  LAC_ALLOC(x, from->count);
  LAC_ALLOC(inverse, from->count);
  LAC_TRY(ctx->kernels->unary(ctx, LAC_ABS, reciprocal, from));
  LAC_TRY(lac_array_read(ctx, from, work->host));
  largest_load[real](from->count, work->host, inverse);
  for (int64_t i = 0; i < from->count; i++) x[i] = 1;
  for (int64_t i = 0; i < work->items; i++) work->limit[i] = INFINITY;
  for (int k = 0; k < LIMIT_STEPS; k++) LAC_TRY(limit_step(ctx, work, sizes, inverse, x, from, to));
done:
  lac_array_destroy(&reciprocal);
  lac_array_destroy(&sizes);
  lac_array_destroy(&from);
  lac_array_destroy(&to);
  lac_free(inverse);
  lac_free(x);
  return status;
}

/// Re x^H y of each item into work->read.
static lac_status largest_dot(lac_context *ctx, largest_work *work, const lac_array *x, const lac_array *y) {
  lac_status status = LAC_OK;
  LAC_TRY(ctx->kernels->dot(ctx, x, y, work->dots));
  LAC_TRY(lac_array_read(ctx, work->dots, work->host));
  largest_load[work->dtype](work->items, work->host, work->read);
done:
  return status;
}

/// y = factor x, a factor for each item.
static lac_status largest_times(lac_context *ctx, largest_work *work, const double *factor, const lac_array *x,
                                lac_array *y) {
  lac_status status = LAC_OK;
  largest_store[work->dtype](work->items, factor, work->host);
  LAC_TRY(lac_array_write(ctx, work->number, work->host));
  LAC_TRY(ctx->kernels->binary(ctx, LAC_MUL, work->number, x, y));
done:
  return status;
}

/// w -= factor x.
static lac_status largest_less(lac_context *ctx, largest_work *work, const double *factor, const lac_array *x) {
  lac_status status = LAC_OK;
  LAC_TRY(largest_times(ctx, work, factor, x, work->t));
  LAC_TRY(ctx->kernels->axpy(ctx, -1, 0, work->t, work->w));
done:
  return status;
}

/// w = W v.
static lac_status largest_product(lac_context *ctx, largest_work *work) {
  lac_status status = LAC_OK;

  LAC_TRY(ctx->kernels->binary(ctx, LAC_MUL, work->scale, work->v, work->w));
  LAC_TRY(ctx->kernels->spmm(ctx, work->setup->pattern, LAC_N, work->setup->values, work->w, work->t));
  LAC_TRY(ctx->kernels->binary(ctx, LAC_MUL, work->scale, work->t, work->w));
done:
  return status;
}

/// v = w / |w|, and |w| into work->read; a w of nothing but rounding, beside 1, gives zero for both.
static lac_status largest_normalise(lac_context *ctx, largest_work *work) {
  lac_status status = LAC_OK;
  double *factor = NULL, nothing = 100 * (lac_dtype_real(work->dtype) == LAC_F32 ? FLT_EPSILON : DBL_EPSILON);

  LAC_ALLOC(factor, work->items);
  LAC_TRY(largest_dot(ctx, work, work->w, work->w));
  for (int64_t i = 0; i < work->items; i++) {
    work->read[i] = sqrt(work->read[i]);
    if (work->read[i] <= nothing) work->read[i] = 0;
    factor[i] = work->read[i] > 0 ? 1 / work->read[i] : 0;
  }
  LAC_TRY(largest_times(ctx, work, factor, work->w, work->v));
done:
  lac_free(factor);
  return status;
}

/// The largest Ritz value with the size of its vector's residual, beta_last times the vector's last component, on top.
static double largest_ritz(int steps, const double *alpha, const double *beta) {
  double nodes[LARGEST_STEPS], beside[LARGEST_STEPS] = {0}, last[LARGEST_STEPS], most = 0;
  for (int k = 0; k < steps; k++) {  // backwards, so that first components are last ones
    nodes[k] = alpha[steps - 1 - k];
    if (k + 1 < steps) beside[k] = beta[steps - 2 - k];
  }
  if (!lac_tridiagonal_eigen(steps, nodes, beside, last)) return INFINITY;
  for (int k = 0; k < steps; k++) most = fmax(most, nodes[k] + beta[steps - 1] * fabs(last[k]));
  return most;
}

static lac_status largest_lanczos(lac_context *ctx, largest_work *work, int steps, double *largest) {
  lac_status status = LAC_OK;
  double *last = NULL;

  LAC_ALLOC(last, work->items);
  LAC_TRY(ctx->kernels->fill(ctx, work->before, 0, 0));
  for (int k = 0; k < steps; k++) {
    LAC_TRY(largest_product(ctx, work));
    LAC_TRY(largest_less(ctx, work, last, work->before));
    LAC_TRY(largest_dot(ctx, work, work->v, work->w));
    for (int64_t i = 0; i < work->items; i++) work->alpha[i * LARGEST_STEPS + k] = work->read[i];
    memcpy(last, work->read, (size_t)work->items * sizeof *last);
    LAC_TRY(largest_less(ctx, work, last, work->v));
    LAC_TRY(ctx->kernels->copy(ctx, work->v, work->before));
    LAC_TRY(largest_normalise(ctx, work));
    bool is_all = k + 1 == work->n;  // then nothing is left but rounding
    for (int64_t i = 0; i < work->items; i++) work->beta[i * LARGEST_STEPS + k] = last[i] = is_all ? 0 : work->read[i];
  }
  for (int64_t i = 0; i < work->items; i++) {
    largest[i] = largest_ritz(steps, work->alpha + i * LARGEST_STEPS, work->beta + i * LARGEST_STEPS);
    LAC_CHECK(isfinite(largest[i]), LAC_ERR_NONFINITE,
              "chebyshev: the eigenvalues of D^-1 A in matrix %lld are not finite", (long long)i);
  }
done:
  lac_free(last);
  return status;
}

static lac_status largest_open(lac_context *ctx, const lac_setup *setup, largest_work *work) {
  lac_status status = LAC_OK;
  const lac_meta *meta = &setup->values->meta;
  lac_array **vectors[] = {&work->v, &work->before, &work->w, &work->t};

  work->setup = setup;
  work->dtype = meta->dtype;
  work->items = meta->shape[0];
  work->n = setup->pattern->rows;
  LAC_ALLOC(work->host, (size_t)(work->items * (work->n + 1)) * lac_dtype_size(meta->dtype));
  LAC_ALLOC(work->alpha, work->items * LARGEST_STEPS);
  LAC_ALLOC(work->beta, work->items * LARGEST_STEPS);
  LAC_ALLOC(work->read, work->items);
  LAC_ALLOC(work->limit, work->items);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    LAC_TRY(lac_relax_array(ctx, meta->dtype, work->items, work->n, 1, vectors[i]));
  }
  LAC_TRY(lac_relax_array(ctx, meta->dtype, work->items, 1, 1, &work->number));
  LAC_TRY(lac_array_create(ctx, meta->dtype, 1, (const int64_t[]){work->items}, &work->dots));
  LAC_TRY(largest_scales(ctx, work));
  LAC_TRY(largest_limit(ctx, work));
  largest_start[meta->dtype](work->items, work->n, work->host);
  LAC_TRY(lac_array_write(ctx, work->w, work->host));
  LAC_TRY(largest_normalise(ctx, work));
done:
  return status;
}

lac_status lac_relax_largest(lac_context *ctx, const lac_setup *setup, double *largest) {
  lac_status status = LAC_OK;
  int64_t n = setup->pattern->rows;
  largest_work work = {0};

  LAC_TRY(largest_open(ctx, setup, &work));
  if (work.items == 0) goto done;
  for (int64_t i = 0; i < work.items; i++) largest[i] = INFINITY;
  if (work.scale) LAC_TRY(largest_lanczos(ctx, &work, n < LARGEST_STEPS ? (int)n : LARGEST_STEPS, largest));
  for (int64_t i = 0; i < work.items; i++) {
    largest[i] = fmin(largest[i], work.limit[i]);
    if (!(largest[i] > 0 && isfinite(largest[i]))) largest[i] = 1;  // no rows
  }
done:
  largest_close(&work);
  return status;
}

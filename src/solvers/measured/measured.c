// SPDX-License-Identifier: Apache-2.0
/// @file measured.c
/// Iterative refinement where the arrays lie: solve, measure, correct.
///
///     r = A x - b,   x -= A^-1 r
///     backward error = max_i |r_i| / (|A| |x| + |b|)_i
///
/// Of all numbers only three for each column are read on the host.

#include "solvers/measured/measured.h"

#include <math.h>
#include <string.h>

#include "core/number_at.h"

enum { REFINED_STEPS = 10 };

/// What a measurement works with, and what it gives for each column, on the host.
typedef struct measured_work {
  const lac_measured_system *a;
  int64_t count, n, k;
  lac_dtype real;
  lac_array *sizes;        // |A|
  lac_array *b;            // |b| [count, n, k]
  double *largest;         // of |b|
  double *error, *growth;  // of x
  double *after, *grown;   // of x after a correction
} measured_work;

static void measured_close(measured_work *w) {
  lac_array_destroy(&w->sizes);
  lac_array_destroy(&w->b);
  lac_free(w->largest);
}

/// The largest number of each column of an array with count n k numbers, on the host.
static lac_status measured_largest(lac_context *ctx, const measured_work *w, lac_array *x, double *out) {
  lac_status status = LAC_OK;
  lac_array *flat = NULL, *most = NULL;
  double *host = NULL;

  LAC_ALLOC(host, w->count * w->k);
  LAC_TRY(lac_array_reshape(ctx, x, 3, (int64_t[]){w->count, w->n, w->k}, &flat));
  LAC_TRY(lac_array_create(ctx, w->real, 2, (int64_t[]){w->count, w->k}, &most));
  LAC_TRY(ctx->kernels->reduce(ctx, LAC_REDUCE_MAX, flat, 1u << 1, most));
  LAC_TRY(lac_array_fetch(ctx, most, host));
  for (int64_t i = 0; i < w->count * w->k; i++) out[i] = creal(lac_number_get(w->real, host, i));
done:
  lac_free(host);
  lac_array_destroy(&flat);
  lac_array_destroy(&most);
  return status;
}

/// |x| in an array of the same shape.
static lac_status measured_sizes(lac_context *ctx, const measured_work *w, const lac_array *x, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *made = NULL;

  LAC_TRY(lac_array_create(ctx, w->real, x->meta.ndim, x->meta.shape, &made));
  LAC_TRY(ctx->kernels->unary(ctx, LAC_ABS, x, made));
  *out = made, made = NULL;
done:
  lac_array_destroy(&made);
  return status;
}

static lac_status measured_open(lac_context *ctx, const lac_measured_system *a, measured_work *w) {
  lac_status status = LAC_OK;
  int64_t columns;

  *w = (measured_work){.a = a,
                       .count = a->b->meta.shape[0],
                       .n = a->b->meta.shape[1],
                       .k = a->b->meta.shape[2],
                       .real = lac_dtype_real(a->b->meta.dtype)};
  columns = w->count * w->k;
  LAC_ALLOC(w->largest, 5 * columns);
  w->error = w->largest + columns, w->growth = w->error + columns;
  w->after = w->growth + columns, w->grown = w->after + columns;
  LAC_TRY(measured_sizes(ctx, w, a->values, &w->sizes));
  LAC_TRY(measured_sizes(ctx, w, a->b, &w->b));
  LAC_TRY(measured_largest(ctx, w, w->b, w->largest));
done:
  return status;
}

/// |A| |x| + |b|, in the shape of x.
static lac_status measured_scale(lac_context *ctx, const measured_work *w, const lac_array *x, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *size = NULL, *scale = NULL, *flat = NULL;

  LAC_TRY(measured_sizes(ctx, w, x, &size));
  LAC_TRY(lac_array_create(ctx, w->real, x->meta.ndim, x->meta.shape, &scale));
  LAC_TRY(ctx->kernels->spmm(ctx, w->a->pattern, w->a->form, w->sizes, size, scale));
  LAC_TRY(lac_array_reshape(ctx, scale, 3, w->b->meta.shape, &flat));
  LAC_TRY(ctx->kernels->axpy(ctx, 1, 0, w->b, flat));
  *out = scale, scale = NULL;
done:
  lac_array_destroy(&size);
  lac_array_destroy(&scale);
  lac_array_destroy(&flat);
  return status;
}

/// r = A x - b, and of each column its error and growth.
static lac_status measured_measure(lac_context *ctx, const measured_work *w, const lac_array *x, lac_array *r,
                                   double *error, double *growth) {
  lac_status status = LAC_OK;
  lac_array *scale = NULL, *size = NULL, *share = NULL, *flat = NULL;

  LAC_TRY(ctx->kernels->spmm(ctx, w->a->pattern, w->a->form, w->a->values, x, r));
  LAC_TRY(lac_array_reshape(ctx, r, 3, w->b->meta.shape, &flat));
  LAC_TRY(ctx->kernels->axpy(ctx, -1, 0, w->a->b, flat));
  LAC_TRY(measured_scale(ctx, w, x, &scale));
  LAC_TRY(measured_sizes(ctx, w, r, &size));
  LAC_TRY(lac_array_create(ctx, w->real, x->meta.ndim, x->meta.shape, &share));
  LAC_TRY(ctx->kernels->binary(ctx, LAC_DIV_OR_ZERO, size, scale, share));
  LAC_TRY(measured_largest(ctx, w, share, error));
  LAC_TRY(measured_largest(ctx, w, scale, growth));
  for (int64_t i = 0; i < w->count * w->k; i++) {
    if (isnan(error[i])) error[i] = INFINITY;
    growth[i] = w->largest[i] > 0 ? growth[i] / w->largest[i] : 1;
  }
done:
  lac_array_destroy(&scale);
  lac_array_destroy(&size);
  lac_array_destroy(&share);
  lac_array_destroy(&flat);
  return status;
}

/// Whether a column can be judged: a b that is not finite passes through.
static bool measured_counts(const measured_work *w, int64_t i) { return isfinite(w->largest[i]); }

static bool measured_is_good(const measured_work *w) {
  for (int64_t i = 0; i < w->count * w->k; i++) {
    if (measured_counts(w, i) && isfinite(w->error[i]) && w->error[i] > LAC_MEASURED_GOOD * lac_dtype_epsilon(w->real))
      return false;
  }
  return true;
}

/// Which columns a correction betters, and whether it is worth another one: by half at least.
static bool measured_choose(measured_work *w, double *takes) {
  bool is_worth = false;
  for (int64_t i = 0; i < w->count * w->k; i++) {
    takes[i] = w->after[i] < w->error[i];
    is_worth |= w->after[i] < w->error[i] / 2;
    if (takes[i] != 0) w->error[i] = w->after[i], w->growth[i] = w->grown[i];
  }
  return is_worth;
}

/// x = y in the columns that take it.
static lac_status measured_take(lac_context *ctx, const measured_work *w, const double *takes, const lac_array *y) {
  lac_status status = LAC_OK;
  lac_dtype dtype = w->a->x->meta.dtype;
  const int64_t shape[] = {w->count, 1, w->k};
  char *host = NULL;
  lac_array *mask = NULL, *x = NULL, *from = NULL, *chosen = NULL;

  LAC_ALLOC(host, w->count * w->k * (int64_t)lac_dtype_size(dtype));
  for (int64_t i = 0; i < w->count * w->k; i++) lac_number_put(dtype, host, i, takes[i]);
  LAC_TRY(lac_array_from(ctx, dtype, 3, shape, host, LAC_OWNERSHIP_COPY, &mask));
  LAC_TRY(lac_array_reshape(ctx, w->a->x, 3, w->b->meta.shape, &x));
  LAC_TRY(lac_array_reshape(ctx, (lac_array *)y, 3, w->b->meta.shape, &from));
  LAC_TRY(lac_array_create(ctx, dtype, 3, w->b->meta.shape, &chosen));
  LAC_TRY(ctx->kernels->where(ctx, mask, from, x, chosen));
  LAC_TRY(ctx->backend->copy(ctx, chosen, x));
done:
  lac_free(host);
  lac_array_destroy(&mask);
  lac_array_destroy(&x);
  lac_array_destroy(&from);
  lac_array_destroy(&chosen);
  return status;
}

/// y = x - A^-1 r, for r as it was measured last; then x takes what is better.
static lac_status measured_step(lac_context *ctx, measured_work *w, lac_array *r, lac_array *y, bool *is_worth) {
  lac_status status = LAC_OK;
  lac_array *flat = NULL, *correction = NULL;
  double *takes = NULL;

  LAC_ALLOC(takes, w->count * w->k);
  LAC_TRY(lac_array_reshape(ctx, r, 3, w->b->meta.shape, &flat));
  LAC_TRY(lac_array_create(ctx, r->meta.dtype, 3, w->b->meta.shape, &correction));
  LAC_TRY(w->a->apply(ctx, w->a->self, flat, correction));
  lac_array_destroy(&flat);
  LAC_TRY(lac_array_reshape(ctx, y, 3, w->b->meta.shape, &flat));
  LAC_TRY(ctx->backend->copy(ctx, w->a->x, y));
  LAC_TRY(ctx->kernels->axpy(ctx, -1, 0, correction, flat));
  LAC_TRY(measured_measure(ctx, w, y, r, w->after, w->grown));
  *is_worth = measured_choose(w, takes);
  LAC_TRY(measured_take(ctx, w, takes, y));
  if (*is_worth) LAC_TRY(measured_measure(ctx, w, w->a->x, r, w->error, w->growth));
done:
  lac_free(takes);
  lac_array_destroy(&flat);
  lac_array_destroy(&correction);
  return status;
}

/// The first solve and as many corrections as it takes.
static lac_status measured_run(lac_context *ctx, measured_work *w) {
  lac_status status = LAC_OK;
  lac_array *x = NULL, *r = NULL, *y = NULL;
  bool is_worth = true;

  LAC_TRY(lac_array_reshape(ctx, w->a->x, 3, w->b->meta.shape, &x));
  LAC_TRY(w->a->apply(ctx, w->a->self, w->a->b, x));
  LAC_TRY(lac_array_make(ctx, &w->a->x->meta, &r));
  LAC_TRY(measured_measure(ctx, w, w->a->x, r, w->error, w->growth));
  for (int step = 0; is_worth && step < REFINED_STEPS && !measured_is_good(w); step++) {
    if (!y) LAC_TRY(lac_array_make(ctx, &w->a->x->meta, &y));
    LAC_TRY(lac_context_look(ctx, "lac_factor_solve"));
    LAC_TRY(measured_step(ctx, w, r, y, &is_worth));
  }
done:
  lac_array_destroy(&x);
  lac_array_destroy(&r);
  lac_array_destroy(&y);
  return status;
}

lac_status lac_measured_solve(lac_context *ctx, const lac_measured_system *a, lac_measured *out) {
  lac_status status = LAC_OK;
  measured_work w = {0};

  *out = (lac_measured){0};
  LAC_TRY(measured_open(ctx, a, &w));
  LAC_TRY(measured_run(ctx, &w));
  for (int64_t i = 0; i < w.count * w.k; i++) {
    if (!measured_counts(&w, i)) continue;
    out->error = fmax(out->error, w.error[i]);
    out->growth = fmax(out->growth, w.growth[i]);
  }
  if (a->errors) memcpy(a->errors, w.error, (size_t)(w.count * w.k) * sizeof *a->errors);
  if (a->growths) memcpy(a->growths, w.growth, (size_t)(w.count * w.k) * sizeof *a->growths);
done:
  measured_close(&w);
  return status;
}

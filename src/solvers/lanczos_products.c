// SPDX-License-Identifier: Apache-2.0
/// @file lanczos_products.c
/// Lanczos' process for a Hermitian matrix that is known by its products alone.

#include <math.h>

#include "core/reals.h"
#include "solvers/eigen/lanczos.h"
#include "solvers/products.h"

/// The functions of the caller, and the shape that they take.
typedef struct lanczos_calls {
  const lac_meta *meta;
  lac_apply product, preconditioner;
  void *product_data, *preconditioner_data;
} lanczos_calls;

/// Call a function with vectors [*batch, n, 1] as arrays (*batch, n).
static lac_status calls_apply(lac_context *ctx, const lac_meta *meta, const char *name, lac_apply apply, void *data,
                              const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  lac_array *from = NULL, *to = NULL;

  LAC_TRY(lac_array_reshape(ctx, (lac_array *)x, meta->ndim, meta->shape, &from));
  LAC_TRY(lac_array_reshape(ctx, y, meta->ndim, meta->shape, &to));
  LAC_TRY(lac_products_call(ctx, "lac_lanczos_products", name, apply, data, LAC_PLAIN, from, to));
done:
  lac_array_destroy(&from);
  lac_array_destroy(&to);
  return status;
}

static lac_status calls_product(lac_context *ctx, const void *self, const lac_array *x, lac_array *y) {
  const lanczos_calls *c = self;
  return calls_apply(ctx, c->meta, "product", c->product, c->product_data, x, y);
}

static lac_status calls_preconditioner(lac_context *ctx, const void *self, const lac_array *x, lac_array *y) {
  const lanczos_calls *c = self;
  return calls_apply(ctx, c->meta, "preconditioner", c->preconditioner, c->preconditioner_data, x, y);
}

static lac_status lanczos_check_result(lac_context *ctx, const char *name, const lac_array *start,
                                       const lac_array *result) {
  lac_status status = LAC_OK;
  const lac_meta *s = &start->meta, *r;
  bool fits;
  char text[LAC_SHAPE_TEXT];

  LAC_TRY(lac_solver_require_here(ctx, "lac_lanczos_products", name, result));
  r = &result->meta;
  fits = s->ndim == r->ndim && r->dtype == lac_dtype_real(s->dtype);
  for (int d = 0; fits && d < s->ndim - 1; d++) fits = s->shape[d] == r->shape[d];
  LAC_CHECK(fits, LAC_ERR_SHAPE,
            "lac_lanczos_products: %s is %s of shape %s; it must be %s, with the number of steps in place of the last "
            "size of the start",
            name, lac_dtype_name(r->dtype), lac_shape_text(r->ndim, r->shape, text),
            lac_dtype_name(lac_dtype_real(s->dtype)));
done:
  return status;
}

static lac_status lanczos_check(lac_context *ctx, lac_apply product, const lac_array *start, const lac_array *alpha,
                                const lac_array *beta) {
  lac_status status = LAC_OK;

  LAC_CHECK(product, LAC_ERR_ARG, "lac_lanczos_products: the product is NULL");
  LAC_TRY(lac_solver_require_here(ctx, "lac_lanczos_products", "start", start));
  LAC_CHECK(start->meta.ndim > 0 && start->meta.ndim < LAC_MAX_DIMS, LAC_ERR_SHAPE,
            "lac_lanczos_products: the start has %d dimensions; it must be (*batch, n), of at most %d dimensions",
            start->meta.ndim, LAC_MAX_DIMS - 1);
  LAC_TRY(lanczos_check_result(ctx, "alpha", start, alpha));
  LAC_TRY(lanczos_check_result(ctx, "beta", start, beta));
  LAC_CHECK(alpha->count == beta->count, LAC_ERR_SHAPE,
            "lac_lanczos_products: alpha and beta have different numbers of steps");
  LAC_CHECK(!lac_array_overlaps(alpha, beta), LAC_ERR_ARG,
            "lac_lanczos_products: alpha and beta share memory; give each its own");
done:
  return status;
}

/// What was made, and 1 and 0 where nothing was: T is then diag(T, I).
static lac_status lanczos_finish(lac_context *ctx, const lac_lanczos *job, int64_t items, lac_array *alpha,
                                 lac_array *beta) {
  lac_status status = LAC_OK;

  for (int64_t i = 0; i < items; i++) {
    for (int64_t j = 0; j < job->steps; j++) {
      int64_t at = i * job->steps + j;
      if (j >= job->made[i]) job->alpha[at] = 1, job->beta[at] = 0;
      LAC_CHECK(isfinite(job->alpha[at]) && isfinite(job->beta[at]), LAC_ERR_NONFINITE,
                "lac_lanczos_products: step %lld gives numbers that are not finite", (long long)j);
    }
  }
  LAC_TRY(lac_reals_write(ctx, alpha, job->alpha));
  LAC_TRY(lac_reals_write(ctx, beta, job->beta));
done:
  return status;
}

lac_status lac_lanczos_products(lac_context *ctx, lac_apply product, void *product_data, lac_apply preconditioner,
                                void *preconditioner_data, const lac_array *start, lac_array *alpha, lac_array *beta) {
  lac_status status = LAC_OK;
  lanczos_calls calls = {NULL, product, preconditioner, product_data, preconditioner_data};
  lac_lanczos job = {.function = "lac_lanczos_products", .product = calls_product, .self = &calls};
  lac_array *column = NULL;
  lac_meta meta;
  int64_t items = 1;

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_context_faults(ctx));
  LAC_TRY(lanczos_check(ctx, product, start, alpha, beta));
  meta = start->meta, calls.meta = &start->meta;
  for (int d = 0; d < meta.ndim - 1; d++) items *= meta.shape[d];
  meta.shape[meta.ndim++] = 1;
  if (preconditioner) job.preconditioner = calls_preconditioner;
  job.steps = alpha->meta.shape[alpha->meta.ndim - 1];
  LAC_ALLOC(job.alpha, items * job.steps);
  LAC_ALLOC(job.beta, items * job.steps);
  LAC_ALLOC(job.norm, items);
  LAC_ALLOC(job.made, items);
  LAC_TRY(lac_array_reshape(ctx, (lac_array *)start, meta.ndim, meta.shape, &column));
  if (start->count > 0) LAC_TRY(lac_lanczos_run(ctx, &job, column));
  LAC_TRY(lanczos_finish(ctx, &job, items, alpha, beta));
done:
  lac_array_destroy(&column);
  lac_free(job.alpha);
  lac_free(job.beta);
  lac_free(job.norm);
  lac_free(job.made);
  return status;
}

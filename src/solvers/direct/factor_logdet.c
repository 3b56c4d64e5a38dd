// SPDX-License-Identifier: Apache-2.0
/// @file factor_logdet.c
/// det A = sign exp(logabs) of every matrix of a batch, read off its factor.

#include "core/number_at.h"
#include "solvers/solver_impl.h"

lac_status lac_factor_check_batch(lac_context *ctx, const char *function, const lac_factor *factor,
                                  const lac_array *array, lac_dtype dtype, const char *name) {
  lac_status status = LAC_OK;
  lac_meta wanted = factor->meta;
  char text[LAC_SHAPE_TEXT], other[LAC_SHAPE_TEXT];

  LAC_TRY(lac_solver_require_cpu(ctx, function, array));
  LAC_CHECK(array->meta.dtype == dtype, LAC_ERR_DTYPE, "%s: the factor is %s, so %s must be %s; it is %s", function,
            lac_dtype_name(factor->meta.dtype), name, lac_dtype_name(dtype), lac_dtype_name(array->meta.dtype));
  wanted.dtype = dtype;
  wanted.ndim--;
  LAC_CHECK(lac_factor_same_shape(&wanted, &array->meta, 0), LAC_ERR_SHAPE,
            "%s: %s must have the batch shape of the factor, %s; it has %s", function, name,
            lac_shape_text(wanted.ndim, wanted.shape, text),
            lac_shape_text(array->meta.ndim, array->meta.shape, other));
done:
  return status;
}

static lac_status logdet_items(lac_context *ctx, const lac_factor *f, void *logabs, void *sign) {
  lac_status status = LAC_OK;
  int threads = lac_threads_worth(ctx->threads, f->items, (double)f->items * (double)f->core->structure->n), failed = 0;

#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1) reduction(| : failed)
  for (int64_t i = 0; i < f->items; i++) {
    lac_polar one = {0};
    failed |= f->table->logdet(f->analysis->part, f->numerics[i], &one) != LAC_OK;
    lac_number_put(lac_dtype_real(f->meta.dtype), logabs, i, one.logabs);
    lac_number_put(f->meta.dtype, sign, i, PAIR(one.sign_re, one.sign_im));
  }
  LAC_CHECK(!failed, LAC_ERR_MEMORY, "lac_factor_logdet: out of memory: permutations of %lld rows",
            (long long)f->core->structure->n);
done:
  return status;
}

lac_status lac_factor_logdet(lac_context *ctx, const lac_factor *factor, lac_array *logabs, lac_array *sign) {
  lac_status status = LAC_OK;
  const lac_factor *f = factor;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(factor, LAC_ERR_ARG, "lac_factor_logdet: the factor is NULL");
  LAC_TRY(lac_factor_check_batch(ctx, __func__, factor, logabs, lac_dtype_real(factor->meta.dtype), "logabs"));
  LAC_TRY(lac_factor_check_batch(ctx, __func__, factor, sign, factor->meta.dtype, "sign"));
  LAC_CHECK(logabs->storage != sign->storage, LAC_ERR_ARG,
            "lac_factor_logdet: logabs and sign share memory; give each its own");
  while (f && (f->iterative || !f->table->logdet || f->finding.perturbed > 0)) LAC_TRY(lac_factor_partner(ctx, f, &f));
  LAC_CHECK(f, LAC_ERR_UNSUPPORTED, "lac_factor_logdet: no method gives the determinant");
  LAC_TRY(logdet_items(ctx, f, lac_array_edit(logabs), lac_array_edit(sign)));
done:
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file given.c
/// Factors and solutions of numbers in the memory of the caller: arrays over them, for as long as a call takes.

#include "solvers/solver_impl.h"

/// An array over memory of the host. Numbers that are only read are copied where they are not aligned.
static lac_status given_array(lac_context *ctx, const char *function, const char *name, const lac_meta *meta,
                              const void *numbers, bool is_read, lac_array **out) {
  lac_status status = LAC_OK;
  bool is_aligned = false;

  LAC_CHECK(lac_context_is_host(ctx), LAC_ERR_DEVICE,
            "%s: %s lies in the memory of the host, the context on %s; use an array", function, name,
            lac_context_backend(ctx));
  LAC_TRY(lac_meta_check(ctx, function, meta));
  LAC_CHECK(numbers || lac_meta_count(meta) == 0, LAC_ERR_ARG, "%s: %s is NULL; %lld numbers are needed", function,
            name, (long long)lac_meta_count(meta));
  is_aligned = (uintptr_t)numbers % lac_dtype_size(meta->dtype) == 0;
  LAC_CHECK(is_aligned || is_read, LAC_ERR_ARG, "%s: %s at %p is not aligned to the %zu bytes of a number of %s",
            function, name, numbers, lac_dtype_size(meta->dtype), lac_dtype_name(meta->dtype));
  LAC_TRY(lac_array_from(ctx, meta->dtype, meta->ndim, meta->shape, (void *)numbers,
                         is_aligned ? LAC_OWNERSHIP_BORROW : LAC_OWNERSHIP_COPY, out));
done:
  return status;
}

lac_status lac_solver_factor_numbers(lac_context *ctx, const lac_solver *solver, lac_dtype dtype, const void *values,
                                     lac_factor **out) {
  lac_status status = LAC_OK;
  lac_array *array = NULL;
  const lac_pattern *p = NULL;
  lac_meta meta = {.dtype = dtype};

  LAC_CHECK_CONTEXT();
  LAC_CHECK(solver, LAC_ERR_ARG, "lac_solver_factor_numbers: the solver is NULL");
  p = lac_core_given(solver->core);
  meta.ndim = solver->core->blocks ? 3 : 1;
  meta.shape[0] = p->nnz, meta.shape[1] = p->br, meta.shape[2] = p->bc;
  LAC_TRY(given_array(ctx, __func__, "values", &meta, values, true, &array));
  LAC_TRY(lac_solver_factor(ctx, solver, array, out));
done:
  lac_array_destroy(&array);
  return status;
}

lac_status lac_factor_refactor_numbers(lac_context *ctx, const lac_factor *like, const void *values, lac_factor **out) {
  lac_status status = LAC_OK;
  lac_array *array = NULL;
  const lac_pattern *p = NULL;
  lac_meta meta;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(like, LAC_ERR_ARG, "lac_factor_refactor_numbers: the factor is NULL");
  p = lac_core_given(like->core);
  meta = like->meta;
  if (like->core->blocks) {
    meta.shape[meta.ndim - 1] = p->nnz, meta.shape[meta.ndim] = p->br, meta.shape[meta.ndim + 1] = p->bc;
    meta.ndim += 2;
  }
  LAC_TRY(given_array(ctx, __func__, "values", &meta, values, true, &array));
  LAC_TRY(lac_factor_refactor(ctx, like, array, out));
done:
  lac_array_destroy(&array);
  return status;
}

lac_status lac_factor_solve_numbers(lac_context *ctx, const lac_factor *factor, int64_t columns, const void *b,
                                    lac_form op, void *x) {
  lac_status status = LAC_OK;
  lac_array *from = NULL, *to = NULL;
  bool transposes = lac_form_transposes(op);
  lac_meta right = {.ndim = 2}, left = {.ndim = 2};

  LAC_CHECK_CONTEXT();
  LAC_CHECK(factor, LAC_ERR_ARG, "lac_factor_solve_numbers: the factor is NULL");
  LAC_CHECK(
      factor->items == 1, LAC_ERR_SHAPE,
      "lac_factor_solve_numbers: the factor is of a batch of %lld matrices; lac_factor_solve takes arrays for them",
      (long long)factor->items);
  LAC_CHECK(columns >= 0, LAC_ERR_SHAPE, "lac_factor_solve_numbers: columns = %lld is negative", (long long)columns);
  right.dtype = left.dtype = factor->meta.dtype;
  right.shape[0] = transposes ? factor->core->cols : factor->core->rows;
  left.shape[0] = transposes ? factor->core->rows : factor->core->cols;
  right.shape[1] = left.shape[1] = columns;
  LAC_TRY(given_array(ctx, __func__, "b", &right, b, true, &from));
  LAC_TRY(given_array(ctx, __func__, "x", &left, x, false, &to));
  LAC_TRY(lac_factor_solve(ctx, factor, from, op, to));
done:
  lac_array_destroy(&from);
  lac_array_destroy(&to);
  return status;
}

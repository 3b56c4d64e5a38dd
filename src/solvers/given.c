// SPDX-License-Identifier: Apache-2.0
/// @file given.c
/// Factors and solutions of numbers in the memory of the caller: arrays over them, for as long as a call takes.

#include "solvers/solver_impl.h"

/// An array over memory of the host. What is only read is copied where it is not aligned.
static lac_status given_array(lac_context *ctx, const char *function, const char *name, lac_dtype dtype, int ndim,
                              const int64_t *shape, const void *numbers, bool is_read, lac_array **out) {
  lac_status status = LAC_OK;
  bool is_aligned = (uintptr_t)numbers % lac_dtype_size(dtype) == 0;

  LAC_CHECK(lac_context_is_host(ctx), LAC_ERR_DEVICE,
            "%s: %s lies in the memory of the host, the context on %s; use an array", function, name,
            lac_context_backend(ctx));
  LAC_TRY(lac_array_from(ctx, dtype, ndim, shape, (void *)numbers,
                         is_read && !is_aligned ? LAC_OWNERSHIP_COPY : LAC_OWNERSHIP_BORROW, out));
done:
  return status;
}

lac_status lac_solver_factor_numbers(lac_context *ctx, const lac_solver *solver, lac_dtype dtype, const void *values,
                                     lac_factor **out) {
  lac_status status = LAC_OK;
  lac_array *array = NULL;
  const lac_pattern *p = NULL;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(solver, LAC_ERR_ARG, "lac_solver_factor_numbers: the solver is NULL");
  p = lac_core_given(solver->core);
  LAC_TRY(given_array(ctx, __func__, "values", dtype, solver->core->blocks ? 3 : 1,
                      (const int64_t[]){p->nnz, p->br, p->bc}, values, true, &array));
  LAC_TRY(lac_solver_factor(ctx, solver, array, out));
done:
  lac_array_destroy(&array);
  return status;
}

lac_status lac_factor_refactor_numbers(lac_context *ctx, const lac_factor *like, const void *values, lac_factor **out) {
  lac_status status = LAC_OK;
  lac_array *array = NULL;
  const lac_pattern *p = NULL;
  int64_t shape[LAC_MAX_DIMS];
  int ndim;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(like, LAC_ERR_ARG, "lac_factor_refactor_numbers: the factor is NULL");
  p = lac_core_given(like->core);
  ndim = like->meta.ndim;
  for (int d = 0; d < ndim; d++) shape[d] = like->meta.shape[d];
  if (like->core->blocks) shape[ndim - 1] = p->nnz, shape[ndim] = p->br, shape[ndim + 1] = p->bc, ndim += 2;
  LAC_TRY(given_array(ctx, __func__, "values", like->meta.dtype, ndim, shape, values, true, &array));
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
  int64_t rows, cols;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(factor, LAC_ERR_ARG, "lac_factor_solve_numbers: the factor is NULL");
  LAC_CHECK(
      factor->items == 1, LAC_ERR_SHAPE,
      "lac_factor_solve_numbers: the factor is of a batch of %lld matrices; lac_factor_solve takes arrays for them",
      (long long)factor->items);
  rows = transposes ? factor->core->cols : factor->core->rows;
  cols = transposes ? factor->core->rows : factor->core->cols;
  LAC_TRY(given_array(ctx, __func__, "b", factor->meta.dtype, 2, (const int64_t[]){rows, columns}, b, true, &from));
  LAC_TRY(given_array(ctx, __func__, "x", factor->meta.dtype, 2, (const int64_t[]){cols, columns}, x, false, &to));
  LAC_TRY(lac_factor_solve(ctx, factor, from, op, to));
done:
  lac_array_destroy(&from);
  lac_array_destroy(&to);
  return status;
}

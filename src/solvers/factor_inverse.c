// SPDX-License-Identifier: Apache-2.0
/// @file factor_inverse.c
/// Z = A^-T on the pattern of A, for every matrix of a batch.
///
/// A method with a slot for it computes all of Z at once; with others every row is a solve. Then every row is checked
/// (inverse_rows.c). Where one fails, a partner of the factor that pivots more carefully has its turn; rows that fail with
/// the last of them are solved for, and refined, and what still fails is an error.

#include <omp.h>
#include <stdio.h>

#include "solvers/direct/inverse_rows.h"

// One matrix of a batch.
typedef struct inverse_item {
  const lac_factor *factor;
  int64_t item;
  void *z;
} inverse_item;

static lac_system inverse_system(const inverse_item *one) {
  const lac_factor *f = one->factor;
  const lac_structure *s = f->core->structure;
  return (lac_system){
      .table = f->table,
      .structure = s,
      .analysis = f->analysis->part,
      .numeric = f->numerics[one->item],
      .values = (const char *)f->values + (size_t)(one->item * s->nnz) * lac_dtype_size(f->meta.dtype),
      .dtype = f->meta.dtype,
      .threads = 1,
      .is_stable = f->table->is_stable(&f->core->options),
  };
}

static lac_status inverse_fault(lac_context *ctx, const inverse_item *one, lac_status status, const char *text) {
  char which[64] = "";
  if (one->factor->items > 1) snprintf(which, sizeof which, " (matrix %lld of the batch)", (long long)one->item);
  return lac_context_fail(
      ctx, status, "lac_factor_selected_inverse", "lac_factor_selected_inverse: %s with %s%s%s", text,
      one->factor->table->name, which,
      status == LAC_ERR_MEMORY ? "" : "; use a wider dtype, or check the report for a singular matrix");
}

// -- by solves -------------------------------------------------------------------------------------------------------

// Blocks of rows do not depend on each other nor on the number of threads.
static lac_status inverse_solve(lac_context *ctx, const inverse_item *one, int64_t count, const int32_t *rows) {
  lac_status status = LAC_OK, result = LAC_OK;
  lac_system system = inverse_system(one);
  int64_t blocks = (count + LAC_BLOCK_WIDTH - 1) / LAC_BLOCK_WIDTH, first = blocks;
  int threads = ctx->threads < blocks ? ctx->threads : (int)blocks;
  size_t share = (size_t)(REFINE_BLOCKS * LAC_BLOCK_WIDTH) * (size_t)system.structure->n * lac_dtype_size(system.dtype);
  char *memory = lac_alloc((size_t)threads * share);
  lac_fault fault = {""};

  LAC_CHECK(memory, LAC_ERR_MEMORY, "lac_factor_selected_inverse: out of memory: %zu bytes to work in",
            (size_t)threads * share);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (int64_t b = 0; b < blocks; b++) {
    int64_t begin = b * LAC_BLOCK_WIDTH, left = count - begin;
    lac_fault own = {""};
    lac_status got = lac_inverse_solve_rows(&system, left < LAC_BLOCK_WIDTH ? (int)left : LAC_BLOCK_WIDTH, rows + begin,
                                            memory + (size_t)omp_get_thread_num() * share, one->z, &own);
    if (got == LAC_OK) continue;
#pragma omp critical(lac_inverse_fault)
    if (b < first) first = b, fault = own, result = got;
  }
  if (result != LAC_OK) LAC_TRY(inverse_fault(ctx, one, result, fault.text));
done:
  lac_free(memory);
  return status;
}

static lac_status inverse_solve_all(lac_context *ctx, const inverse_item *one) {
  lac_status status = LAC_OK;
  int32_t n = one->factor->core->structure->n, *rows = NULL;

  LAC_ALLOC(rows, n);
  for (int32_t i = 0; i < n; i++) rows[i] = i;
  LAC_TRY(inverse_solve(ctx, one, n, rows));
done:
  lac_free(rows);
  return status;
}

// -- rows that fail --------------------------------------------------------------------------------------------------

// Gather the rows of one matrix that fail the check, at most `room` of them; returns how many there are.
static int64_t inverse_failing(const inverse_item *one, int64_t room, int32_t *rows, double *error, double *allowed) {
  lac_system system = inverse_system(one);
  int64_t count = 0;
  for (int32_t i = 0; i < system.structure->n; i++) {
    double own_error, own_allowed;
    if (lac_inverse_row_is_good(system.structure, system.dtype, system.values, one->z, i, &own_error, &own_allowed))
      continue;
    if (count == 0) *error = own_error, *allowed = own_allowed;
    if (count < room) rows[count] = i;
    count++;
  }
  return count;
}

// The last resort for rows that fail: solve for them. What fails even then is said.
static lac_status inverse_mend(lac_context *ctx, const inverse_item *one) {
  lac_status status = LAC_OK;
  int64_t n = one->factor->core->structure->n, count;
  int32_t *rows = NULL;
  double error = 0, allowed = 0;
  char text[160];

  LAC_ALLOC(rows, n);
  count = inverse_failing(one, n, rows, &error, &allowed);
  if (count == 0) goto done;
  LAC_TRY(inverse_solve(ctx, one, count, rows));
  count = inverse_failing(one, n, rows, &error, &allowed);
  if (count == 0) goto done;
  snprintf(text, sizeof text, "row %d of A times its column of the inverse is 1 to %.2e (at most %.2e is accepted)",
           rows[0], error, allowed);
  LAC_TRY(inverse_fault(ctx, one, LAC_ERR_CONVERGENCE, text));
done:
  lac_free(rows);
  return status;
}

// -- all of a batch --------------------------------------------------------------------------------------------------

static void *inverse_at(const lac_factor *f, void *z, int64_t item) {
  return (char *)z + (size_t)(item * f->core->structure->nnz) * lac_dtype_size(f->meta.dtype);
}

static lac_status inverse_by_slot(lac_context *ctx, const lac_factor *f, void *z) {
  lac_status status = LAC_OK, result = LAC_OK;
  int threads = ctx->threads < f->items ? ctx->threads : (int)f->items;
  int64_t first = f->items;
  lac_fault fault = {""};

#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (int64_t i = 0; i < f->items; i++) {
    lac_fault own = {""};
    lac_status got = f->table->selected_inverse(f->core->structure, f->analysis->part, f->numerics[i],
                                                f->items < ctx->threads ? ctx->threads : 1, inverse_at(f, z, i), &own);
    if (got == LAC_OK) continue;
#pragma omp critical(lac_inverse_fault)
    if (i < first) first = i, fault = own, result = got;
  }
  if (result != LAC_OK) LAC_TRY(inverse_fault(ctx, &(inverse_item){f, first, NULL}, result, fault.text));
done:
  return status;
}

static bool inverse_is_good(const lac_context *ctx, const lac_factor *f, void *z) {
  int threads = ctx->threads < f->items ? ctx->threads : (int)f->items, failed = 0;

#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(| : failed)
  for (int64_t i = 0; i < f->items; i++) {
    double error, allowed;
    failed |= inverse_failing(&(inverse_item){f, i, inverse_at(f, z, i)}, 0, NULL, &error, &allowed) > 0;
  }
  return !failed;
}

// Down the chain of partners until one gives what is right.
static lac_status inverse_run(lac_context *ctx, const lac_factor *f, void *z) {
  lac_status status = LAC_OK;
  bool is_tried = false;

  for (const lac_factor *next = f; next;) {
    f = next;
    is_tried = f->table->selected_inverse && f->finding.perturbed == 0;
    if (is_tried) LAC_TRY(inverse_by_slot(ctx, f, z));
    if (is_tried && inverse_is_good(ctx, f, z)) goto done;
    LAC_TRY(lac_factor_partner(ctx, f, &next));
  }
  for (int64_t i = 0; i < f->items; i++) {
    inverse_item one = {f, i, inverse_at(f, z, i)};
    if (!is_tried) LAC_TRY(inverse_solve_all(ctx, &one));
    LAC_TRY(inverse_mend(ctx, &one));
  }
done:
  return status;
}

lac_status lac_factor_selected_inverse(lac_context *ctx, const lac_factor *factor, lac_array *values) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT], other[LAC_SHAPE_TEXT];

  LAC_CHECK_CONTEXT();
  LAC_CHECK(factor, LAC_ERR_ARG, "lac_factor_selected_inverse: the factor is NULL");
  LAC_TRY(lac_solver_require_cpu(ctx, "lac_factor_selected_inverse", values));
  LAC_CHECK(values->meta.dtype == factor->meta.dtype, LAC_ERR_DTYPE,
            "lac_factor_selected_inverse: the factor is %s and values are %s; they must agree",
            lac_dtype_name(factor->meta.dtype), lac_dtype_name(values->meta.dtype));
  LAC_CHECK(lac_factor_same_shape(&factor->meta, &values->meta, 1), LAC_ERR_SHAPE,
            "lac_factor_selected_inverse: values must have the shape of those that were factored, %s; they have %s",
            lac_shape_text(factor->meta.ndim, factor->meta.shape, text),
            lac_shape_text(values->meta.ndim, values->meta.shape, other));
  LAC_TRY(inverse_run(ctx, factor, lac_array_edit(values)));
done:
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file rest.c
/// Items of a batch go to arrays of their own and back.

#include "solvers/batched/rest.h"

#include <string.h>

#include "solvers/vectors.h"

extern const lac_solver_table lac_kind_direct;

void lac_batched_rest_clear(lac_batched_rest *rest) {
  lac_free(rest->place);
  lac_object_release(rest->factor);
  memset(rest, 0, sizeof *rest);
}

/// Their values [count, nnz].
static lac_status rest_gather(lac_context *ctx, const lac_factor *f, const lac_batched_rest *rest, lac_array **out) {
  lac_status status = LAC_OK;
  int64_t nnz = f->core->pattern->nnz;
  lac_array *flat = NULL, *made = NULL;

  LAC_TRY(lac_array_reshape(ctx, f->values, 2, (int64_t[]){f->items, nnz}, &flat));
  LAC_TRY(lac_array_create(ctx, f->meta.dtype, 2, (int64_t[]){rest->count, nnz}, &made));
  for (int64_t i = 0; i < f->items; i++) {
    if (rest->place[i] >= 0) LAC_TRY(lac_batch_move(ctx, flat, i, made, rest->place[i]));
  }
  *out = made, made = NULL;
done:
  lac_array_destroy(&flat);
  lac_array_destroy(&made);
  return status;
}

static lac_status rest_factor(lac_context *ctx, const lac_factor *f, lac_batched_rest *rest) {
  lac_status status = LAC_OK;
  lac_solver_options options = f->core->options;
  lac_solver_core *core = NULL;
  lac_array *values = NULL;
  lac_linear a;

  LAC_TRY(rest_gather(ctx, f, rest, &values));
  a = lac_linear_matrix(f->core->pattern, values);
  LAC_TRY(lac_core_create(ctx, &lac_kind_direct, f->core->pattern, &options, "asked for", &core));
  core->counts = f->core->counts;  // f holds its core and the rest
  LAC_TRY(lac_factor_make(ctx, f->function, core, &a, NULL, false, NULL, &rest->factor));
done:
  lac_object_release(core);
  lac_array_destroy(&values);
  return status;
}

lac_status lac_batched_rest_make(lac_context *ctx, const lac_factor *f, const bool *is_bad, lac_batched_rest *out,
                                 bool *is_made) {
  lac_status status = LAC_OK, made;
  lac_batched_rest rest = {0};

  *is_made = false;
  LAC_ALLOC(rest.place, f->items);
  for (int64_t i = 0; i < f->items; i++) rest.place[i] = is_bad[i] ? (int32_t)rest.count++ : -1;
  if (2 * rest.count > f->items) goto done;
  made = rest_factor(ctx, f, &rest);
  if (made == LAC_ERR_MEMORY || made == LAC_ERR_INTERRUPTED) LAC_TRY(made);
  *is_made = made == LAC_OK;
  if (!*is_made) lac_context_clear_error(ctx);  // whose sentence counts matrices of the rest
  if (*is_made) *out = rest, memset(&rest, 0, sizeof rest);
done:
  lac_batched_rest_clear(&rest);
  return status;
}

/// Where an item of the joint batch goes: the k-th of a matrix that is number `at` of `count` is k * count + at.
static lac_status rest_order(lac_context *ctx, const lac_batched_rest *rest, const lac_batch *batch, int64_t joint,
                             int64_t **out, int64_t *rounds) {
  lac_status status = LAC_OK;
  int64_t *order = NULL, *seen = NULL;

  LAC_ALLOC(order, joint);
  LAC_ALLOC(seen, rest->count);
  for (int64_t i = 0; i < joint; i++) {
    int32_t at = rest->place[batch ? lac_batch_item(batch, 0, i) : i];
    order[i] = at < 0 ? -1 : seen[at]++ * rest->count + at;
  }
  *rounds = seen[0];  // each matrix is in it as often
  *out = order, order = NULL;
done:
  lac_free(order);
  lac_free(seen);
  return status;
}

static lac_status rest_run(lac_context *ctx, const lac_factor *f, const lac_solve_job *job, const lac_array *b,
                           lac_array *x) {
  lac_status status = LAC_OK;
  lac_batch batch;
  lac_solve_job own = {.form = job->form, .judged_from = job->judged_from, .b = b, .x = x};
  lac_solve_report report = {0};

  LAC_TRY(lac_factor_fit(ctx, "lac_factor_solve", f, own.form, b, x, &batch));
  own.batch = &batch;
  LAC_TRY(f->table->solve(ctx, f, &own, &report));
done:
  return status;
}

lac_status lac_batched_rest_solve(lac_context *ctx, const lac_batched_rest *rest, const lac_solve_job *job,
                                  const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  int64_t joint = b->meta.shape[0], n = b->meta.shape[1], k = b->meta.shape[2], rounds = 0, *order = NULL;
  lac_array *right = NULL, *left = NULL, *flat_right = NULL, *flat_left = NULL;

  LAC_TRY(rest_order(ctx, rest, job->batch, joint, &order, &rounds));
  LAC_TRY(lac_array_create(ctx, b->meta.dtype, 4, (int64_t[]){rounds, rest->count, n, k}, &right));
  LAC_TRY(lac_array_create(ctx, b->meta.dtype, 4, (int64_t[]){rounds, rest->count, n, k}, &left));
  LAC_TRY(lac_array_reshape(ctx, right, 3, (int64_t[]){rounds * rest->count, n, k}, &flat_right));
  LAC_TRY(lac_array_reshape(ctx, left, 3, (int64_t[]){rounds * rest->count, n, k}, &flat_left));
  for (int64_t i = 0; i < joint; i++) {
    if (order[i] >= 0) LAC_TRY(lac_batch_move(ctx, b, i, flat_right, order[i]));
  }
  LAC_TRY(rest_run(ctx, rest->factor, job, right, left));
  for (int64_t i = 0; i < joint; i++) {
    if (order[i] >= 0) LAC_TRY(lac_batch_move(ctx, flat_left, order[i], x, i));
  }
done:
  lac_free(order);
  lac_array_destroy(&right), lac_array_destroy(&left);
  lac_array_destroy(&flat_right), lac_array_destroy(&flat_left);
  return status;
}

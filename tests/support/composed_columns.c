// SPDX-License-Identifier: Apache-2.0
/// @file composed_columns.c
/// The kernels columns and column_step composed of binary, conj and sum, with coefficients that travel through the
/// host: what a backend's own are compared with.
///
/// Zero coefficients shut out what they multiply where the backend has `where`; without it, NaN in a column that has
/// diverged goes into its x, and into no other. Works in two vectors, which it gives back.

#include "support/composed_columns.h"

#include "core/number_at.h"
#include "solvers/krylov/steps/column_steps.h"

static lac_pair *slot_data(lac_array *state, int slot) {
  return (lac_pair *)state->storage->data + slot * state->meta.shape[1] * state->meta.shape[2];
}

/// The coefficients of an operation [items, 1, k], and a mask of those that are not zero.
static lac_status coefficients_take(lac_context *ctx, const lac_column_op *op, lac_array *state, lac_array **c,
                                    lac_array **mask) {
  lac_status status = LAC_OK;
  lac_dtype dtype = op->y->meta.dtype;
  int64_t shape[] = {state->meta.shape[1], 1, state->meta.shape[2]}, columns = shape[0] * shape[2];
  size_t bytes = (size_t)columns * sizeof(lac_pair);
  lac_pair *pairs = lac_alloc(bytes);
  void *numbers = lac_alloc(bytes);

  LAC_CHECK(pairs && numbers, LAC_ERR_MEMORY, "out of memory: %lld coefficients", (long long)columns);
  LAC_TRY(ctx->backend->download(ctx, pairs, slot_data(state, op->slot), bytes));
  for (int64_t i = 0; i < columns; ++i)
    lac_number_put(dtype, numbers, i, PAIR(op->sign * pairs[i].re, op->sign * pairs[i].im));
  LAC_TRY(lac_array_from(ctx, dtype, 3, shape, numbers, LAC_OWNERSHIP_COPY, c));
  for (int64_t i = 0; i < columns; ++i) lac_number_put(dtype, numbers, i, lac_pair_is_zero(pairs[i]) ? 0 : 1);
  LAC_TRY(lac_array_from(ctx, dtype, 3, shape, numbers, LAC_OWNERSHIP_COPY, mask));
done:
  lac_free(pairs);
  lac_free(numbers);
  return status;
}

/// product = c x, with zeros where c is, by way of `masked`
static lac_status column_multiply(lac_context *ctx, const lac_column_op *op, lac_array *state, const lac_array *x,
                                  lac_array *masked, lac_array *product) {
  lac_status status = LAC_OK;
  lac_array *c = NULL, *mask = NULL;
  LAC_TRY(coefficients_take(ctx, op, state, &c, &mask));
  if (ctx->kernels->where) LAC_TRY(ctx->kernels->where(ctx, mask, x, NULL, masked));
  LAC_TRY(ctx->kernels->binary(ctx, LAC_MUL, ctx->kernels->where ? masked : x, c, product));
done:
  lac_array_destroy(&c);
  lac_array_destroy(&mask);
  return status;
}

/// y = x where the coefficient is not zero
static lac_status column_choose(lac_context *ctx, const lac_column_op *op, lac_array *state, lac_array *one,
                                lac_array *two) {
  lac_status status = LAC_OK;
  lac_array *c = NULL, *mask = NULL;
  LAC_TRY(coefficients_take(ctx, op, state, &c, &mask));
  if (ctx->kernels->where) {
    LAC_TRY(ctx->kernels->where(ctx, mask, op->x, op->y, one));
    LAC_TRY(ctx->backend->copy(ctx, one, op->y));
    goto done;
  }
  LAC_TRY(ctx->kernels->binary(ctx, LAC_SUB, op->x, op->y, one));
  LAC_TRY(ctx->kernels->binary(ctx, LAC_MUL, one, mask, two));
  LAC_TRY(ctx->kernels->axpy(ctx, 1, 0, two, op->y));
done:
  lac_array_destroy(&c);
  lac_array_destroy(&mask);
  return status;
}

/// The sums of the columns of `product`, into a slot.
static lac_status column_sums(lac_context *ctx, const lac_array *product, int slot, lac_array *state) {
  lac_status status = LAC_OK;
  lac_dtype dtype = product->meta.dtype;
  int64_t shape[] = {state->meta.shape[1], 1, state->meta.shape[2]}, columns = shape[0] * shape[2];
  lac_array *sums = NULL;
  lac_pair *pairs = lac_alloc((size_t)columns * sizeof *pairs);
  void *numbers = lac_alloc((size_t)columns * sizeof *pairs);

  LAC_CHECK(pairs && numbers, LAC_ERR_MEMORY, "out of memory: %lld sums", (long long)columns);
  LAC_TRY(lac_array_create(ctx, dtype, 3, shape, &sums));
  LAC_TRY(ctx->kernels->sum(ctx, product, 1u << 1, sums));
  LAC_TRY(ctx->backend->download(ctx, numbers, sums->storage->data, (size_t)columns * lac_dtype_size(dtype)));
  for (int64_t i = 0; i < columns; ++i) {
    c128 sum = lac_number_get(dtype, numbers, i);
    pairs[i] = lac_pair_of(creal(sum), cimag(sum));
  }
  LAC_TRY(ctx->backend->upload(ctx, slot_data(state, slot), pairs, (size_t)columns * sizeof *pairs));
done:
  lac_array_destroy(&sums);
  lac_free(pairs);
  lac_free(numbers);
  return status;
}

static lac_status column_do(lac_context *ctx, const lac_column_op *op, lac_array *state, lac_array *one,
                            lac_array *two) {
  lac_status status = LAC_OK;
  const lac_kernels *kernels = ctx->kernels;
  switch (op->what) {
    case LAC_COLUMN_ADD:
      LAC_TRY(column_multiply(ctx, op, state, op->x, one, two));
      LAC_TRY(kernels->axpy(ctx, 1, 0, two, op->y));
      break;
    case LAC_COLUMN_TURN:
      LAC_TRY(column_multiply(ctx, op, state, op->y, one, two));
      LAC_TRY(kernels->binary(ctx, LAC_ADD, op->x, two, op->y));
      break;
    case LAC_COLUMN_SCALE:
      LAC_TRY(column_multiply(ctx, op, state, op->x, one, two));
      LAC_TRY(ctx->backend->copy(ctx, two, op->y));
      break;
    case LAC_COLUMN_TAKE:
      LAC_TRY(column_choose(ctx, op, state, one, two));
      break;
    case LAC_COLUMN_DOT:
      LAC_TRY(kernels->conj(ctx, op->x, one));
      LAC_TRY(kernels->binary(ctx, LAC_MUL, one, op->y, two));
      LAC_TRY(column_sums(ctx, two, op->slot, state));
      break;
  }
done:
  return status;
}

lac_status composed_columns(lac_context *ctx, int count, const lac_column_op *ops, lac_array *state) {
  lac_status status = LAC_OK;
  lac_array *one = NULL, *two = NULL;
  if (state->count == 0) goto done;
  LAC_TRY(lac_array_make(ctx, &ops[0].y->meta, &one));
  LAC_TRY(lac_array_make(ctx, &ops[0].y->meta, &two));
  for (int i = 0; i < count; ++i) LAC_TRY(column_do(ctx, ops + i, state, one, two));
done:
  lac_array_destroy(&one);
  lac_array_destroy(&two);
  return status;
}

lac_status composed_column_step(lac_context *ctx, lac_column_step step, const lac_step_numbers *numbers,
                                lac_array *state) {
  lac_status status = LAC_OK;
  int64_t columns = state->meta.shape[1] * state->meta.shape[2];
  size_t bytes = (size_t)state->count * sizeof(lac_pair);
  lac_pair *pairs = lac_alloc(bytes);
  LAC_CHECK(pairs, LAC_ERR_MEMORY, "out of memory: %lld coefficients", (long long)state->count);
  LAC_TRY(ctx->backend->download(ctx, pairs, state->storage->data, bytes));
  for (int64_t i = 0; i < columns; ++i) lac_column_step_run(step, pairs + i, columns, numbers);
  LAC_TRY(ctx->backend->upload(ctx, state->storage->data, pairs, bytes));
done:
  lac_free(pairs);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file iterative_apply.c
/// Products with a batch of matrices and with their preconditioners, for the items of a joint batch.
///
/// Matrices and right-hand sides broadcast, so that a matrix may serve several items. Products know that; a preconditioner wants
/// one item for each of its matrices, in order. It gets them in rounds: each matrix serves equally many items.

#include <string.h>

#include "solvers/krylov/iterative.h"

lac_iterative_view lac_iterative_view_of(const lac_factor *factor, const lac_batch *batch) {
  lac_iterative_view v = {.factor = factor, .batch = batch, .count = batch->count, .is_single = factor->items == 1};
  v.is_plain = factor->items == batch->count;
  for (int64_t i = 0; v.is_plain && i < v.count; i++) v.is_plain = lac_batch_item(batch, 0, i) == i;
  return v;
}

lac_status lac_iterative_items(lac_context *ctx, const lac_array *array, int64_t first, int64_t count,
                               lac_array **out) {
  lac_meta meta = array->meta;
  size_t bytes = array->meta.shape[0] ? (size_t)(array->count / array->meta.shape[0]) * lac_dtype_size(meta.dtype) : 0;
  meta.shape[0] = count;
  return lac_array_wrap(ctx, &meta, (char *)array->storage->data + (size_t)first * bytes, out);
}

/// [count, n, k] as [*lead, n, k] over the same memory.
static lac_status apply_unfold(lac_context *ctx, int ndim, const int64_t *lead, const lac_array *x, lac_array **out) {
  int64_t shape[LAC_MAX_DIMS];

  memcpy(shape, lead, (size_t)ndim * sizeof *shape);
  memcpy(shape + ndim, x->meta.shape + 1, 2 * sizeof *shape);
  return lac_array_reshape(ctx, (lac_array *)x, ndim + 2, shape, out);
}

lac_status lac_iterative_product(lac_context *ctx, const void *self, lac_side side, const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  const lac_iterative_view *v = self;
  const lac_iterative *it = v->factor->iterative;
  const lac_pattern *pattern = v->factor->core->pattern;
  lac_array *wide_x = NULL, *wide_y = NULL;

  if (v->is_single || v->is_plain) {
    LAC_TRY(ctx->kernels->spmm(ctx, pattern, side, it->values, x, y));
    goto done;
  }
  LAC_TRY(apply_unfold(ctx, v->batch->ndim, v->batch->shape, x, &wide_x));
  LAC_TRY(apply_unfold(ctx, v->batch->ndim, v->batch->shape, y, &wide_y));
  LAC_TRY(ctx->kernels->spmm(ctx, pattern, side, it->given, wide_x, wide_y));
done:
  lac_array_destroy(&wide_x);
  lac_array_destroy(&wide_y);
  return status;
}

// -- by another factor -----------------------------------------------------------------------------------------------

lac_status lac_iterative_by_factor(lac_context *ctx, const lac_factor *f, lac_side side, const lac_array *x,
                                   lac_array *y) {
  lac_solve_report report;
  if (f->iterative && f->iterative->krylov) return lac_factor_iterate(ctx, f, side, x, NULL, y, &report);
  return lac_factor_solve(ctx, f, side, x, y);
}

static lac_status apply_inner(lac_context *ctx, const lac_iterative_view *v, lac_side side, const lac_array *x,
                              lac_array *y) {
  lac_status status = LAC_OK;
  const lac_factor *inner = v->factor->iterative->inner;
  int64_t ones[LAC_MAX_DIMS];
  int ndim = inner->items == 1 ? inner->meta.ndim - 1 : v->batch->ndim;
  lac_array *wide_x = NULL, *wide_y = NULL;

  // One matrix serves all: to its batch of ones the items are the last dimension. Else its batch is that of the values.
  if (inner->items == 1 && ndim == 0) ndim = 1;
  for (int d = 0; d < ndim; d++) ones[d] = d + 1 < ndim ? 1 : v->count;
  LAC_TRY(apply_unfold(ctx, ndim, inner->items == 1 ? ones : v->batch->shape, x, &wide_x));
  LAC_TRY(apply_unfold(ctx, ndim, inner->items == 1 ? ones : v->batch->shape, y, &wide_y));
  LAC_TRY(lac_iterative_by_factor(ctx, inner, side, wide_x, wide_y));
done:
  lac_array_destroy(&wide_x);
  lac_array_destroy(&wide_y);
  return status;
}

// -- in rounds -------------------------------------------------------------------------------------------------------

static lac_status apply_some(lac_context *ctx, const lac_iterative_view *v, lac_side side, const lac_array *x,
                             int64_t first, lac_array *y) {
  lac_status status = LAC_OK;
  const lac_iterative *it = v->factor->iterative;
  lac_array *some_x = NULL, *some_y = NULL;

  LAC_TRY(lac_iterative_items(ctx, x, first, v->factor->items, &some_x));
  LAC_TRY(lac_iterative_items(ctx, y, first, v->factor->items, &some_y));
  LAC_TRY(it->table->apply(ctx, it->part, side, some_x, some_y));
done:
  lac_array_destroy(&some_x);
  lac_array_destroy(&some_y);
  return status;
}

static lac_status apply_move(lac_context *ctx, const lac_array *from, int64_t i, const lac_array *to, int64_t j) {
  lac_status status = LAC_OK;
  lac_array *one = NULL, *other = NULL;

  LAC_TRY(lac_iterative_items(ctx, from, i, 1, &one));
  LAC_TRY(lac_iterative_items(ctx, to, j, 1, &other));
  LAC_TRY(ctx->backend->copy(ctx, one, other));
done:
  lac_array_destroy(&one);
  lac_array_destroy(&other);
  return status;
}

/// One round: matrix m serves item served[m].
static lac_status apply_gathered(lac_context *ctx, const lac_iterative_view *v, lac_side side, const lac_array *x,
                                 const int64_t *served, lac_array *y) {
  lac_status status = LAC_OK;
  const lac_iterative *it = v->factor->iterative;
  lac_meta meta = x->meta;
  lac_array *some_x = NULL, *some_y = NULL;

  meta.shape[0] = v->factor->items;
  LAC_TRY(lac_array_make(ctx, &meta, &some_x));
  LAC_TRY(lac_array_make(ctx, &meta, &some_y));
  for (int64_t m = 0; m < v->factor->items; m++) {
    LAC_TRY(apply_move(ctx, x, served[m], some_x, m));
  }
  LAC_TRY(it->table->apply(ctx, it->part, side, some_x, some_y));
  for (int64_t m = 0; m < v->factor->items; m++) {
    LAC_TRY(apply_move(ctx, some_y, m, y, served[m]));
  }
done:
  lac_array_destroy(&some_x);
  lac_array_destroy(&some_y);
  return status;
}

static lac_status apply_rounds(lac_context *ctx, const lac_iterative_view *v, lac_side side, const lac_array *x,
                               lac_array *y) {
  lac_status status = LAC_OK;
  int64_t items = v->factor->items, *served = NULL, *rounds = NULL;  // [rounds, items]; of each matrix, so far

  LAC_ALLOC(served, v->count);
  LAC_ALLOC(rounds, items);
  for (int64_t i = 0; i < v->count; i++) {
    int64_t m = lac_batch_item(v->batch, 0, i);
    served[rounds[m]++ * items + m] = i;
  }
  for (int64_t first = 0; first < v->count; first += items) {
    LAC_TRY(apply_gathered(ctx, v, side, x, served + first, y));
  }
done:
  lac_free(served);
  lac_free(rounds);
  return status;
}

lac_status lac_iterative_precondition(lac_context *ctx, const void *self, lac_side side, const lac_array *x,
                                      lac_array *y) {
  lac_status status = LAC_OK;
  const lac_iterative_view *v = self;
  const lac_iterative *it = v->factor->iterative;
  const lac_precondition *given = &v->factor->core->options.preconditioner;

  if (it->inner) {
    LAC_TRY(apply_inner(ctx, v, side, x, y));
  } else if (!it->table) {
    LAC_TRY(given->apply(ctx, given->apply_data, side, x, y));
  } else if (v->is_plain) {
    LAC_TRY(it->table->apply(ctx, it->part, side, x, y));
  } else if (v->is_single) {
    for (int64_t i = 0; i < v->count; i++) LAC_TRY(apply_some(ctx, v, side, x, i, y));
  } else {
    LAC_TRY(apply_rounds(ctx, v, side, x, y));
  }
done:
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file pairwise.c
/// The table of pairwise aggregation (kernels/pairwise.h): operands of its launchers. Nothing here waits.

#include "backends/cuda/pairwise/pairwise.h"

#include "backends/cuda/backend.h"
#include "backends/cuda/pairwise/tables.h"

/// Bytes of a matrix that stays in the cache, so that its rows may be read in any order.
static const double CACHED_BYTES = 24e6;
enum { FUSED_ROWS = 1 << 17 };  // coarse rows that keep a device busy

static const void *data_of(const lac_array *x) { return x ? x->storage->data : NULL; }
static void *edit_of(lac_array *x) { return x ? x->storage->data : NULL; }

static lac_status level_of(lac_context *ctx, const lac_level_view *view, int64_t k, cuda_level *out) {
  lac_status status = LAC_OK;
  *out = (cuda_level){.rows = {.rows = view->rows.rows, .entries = view->rows.columns->count},
                      .items = view->values->meta.shape[0],
                      .k = k,
                      .conj = view->conjugates,
                      .values = data_of(view->values),
                      .weights = data_of(view->weights),
                      .unit = data_of(view->unit),
                      .scale = data_of(view->scale)};
  LAC_TRY(cuda_index_of(ctx, view->rows.offsets, &out->rows.offsets));
  LAC_TRY(cuda_index_of(ctx, view->rows.columns, &out->rows.columns));
  LAC_TRY(cuda_index_of(ctx, view->rows.slots, &out->rows.slots));
done:
  return status;
}

// -- set-up ----------------------------------------------------------------------------------------------------------

static lac_status cuda_pairwise_evenness(lac_context *ctx, const lac_pattern *pattern, const lac_array *values,
                                         int64_t samples, const double ratio[2], const double sign[2],
                                         lac_array *shares) {
  lac_status status = LAC_OK;
  cuda_rows rows;
  cuda_scope scope;

  LAC_TRY(cuda_rows_of(ctx, pattern, false, &rows));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope,
                   cuda_launch_evenness(ctx->stream, values->meta.dtype, &rows, data_of(values), samples, ratio, sign,
                                        edit_of(shares)),
                   "multigrid"));
done:
  return status;
}

static lac_status cuda_pairwise_weights(lac_context *ctx, const lac_level_view *view, double omega,
                                        lac_array *weights) {
  lac_status status = LAC_OK;
  cuda_level level;
  cuda_scope scope;

  LAC_TRY(level_of(ctx, view, 1, &level));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope,
                   cuda_launch_level_weights(ctx->stream, view->values->meta.dtype, weights->meta.dtype, &level, omega,
                                             edit_of(weights)),
                   "multigrid"));
done:
  return status;
}

static lac_status cuda_pairwise_coarsened(lac_context *ctx, const lac_level_view *view,
                                          const lac_aggregation *aggregation, const lac_pattern *coarse,
                                          lac_array *values) {
  lac_status status = LAC_OK;
  cuda_level level;
  cuda_merge merge;
  cuda_rows rows;
  cuda_scope scope;

  LAC_TRY(level_of(ctx, view, 1, &level));
  LAC_TRY(cuda_pairwise_merge(ctx, aggregation, &level.rows, &merge));
  LAC_TRY(cuda_rows_of(ctx, coarse, false, &rows));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope,
                   cuda_launch_merge_values(ctx->stream, view->values->meta.dtype, &merge, level.items, level.values,
                                            level.unit, &rows, edit_of(values)),
                   "multigrid"));
done:
  return status;
}

// -- the cycle -------------------------------------------------------------------------------------------------------

static cuda_vectors vectors_of(const lac_array *x, const lac_array *weights, bool conjugates) {
  return (cuda_vectors){.items = x->meta.shape[0],
                        .n = x->meta.shape[1],
                        .k = x->meta.shape[2],
                        .conj = conjugates,
                        .weights = data_of(weights)};
}

static lac_status cuda_pairwise_scaled(lac_context *ctx, const lac_array *weights, bool conjugates,
                                       const lac_array *scale, int which, const lac_array *x, lac_array *y) {
  cuda_vectors v = vectors_of(x, weights, conjugates);
  const double *by = data_of(scale);
  cuda_scope scope = cuda_begin(ctx);
  return cuda_end(ctx, scope,
                  cuda_launch_vector_scale(ctx->stream, x->meta.dtype, y->meta.dtype, &v, by ? by + which * v.k : NULL,
                                           data_of(x), edit_of(y)),
                  "multigrid");
}

/// In one pass by aggregates where they are many and their rows lie in order, or in the cache: else memory would be
/// read all over, or a few threads walk the rows of an aggregate while others have nothing to do, and the residual is
/// first.
static bool fuses(const lac_level_view *view, const lac_aggregation *aggregation) {
  double entry = (double)lac_dtype_size(view->values->meta.dtype) + (double)lac_index_size(view->rows.columns->type);
  if (aggregation->coarse < FUSED_ROWS) return false;
  return aggregation->is_regular || entry * (double)view->rows.columns->count < CACHED_BYTES;
}

static lac_status cuda_pairwise_restricted(lac_context *ctx, const lac_level_view *view,
                                           const lac_aggregation *aggregation, const lac_array *weights,
                                           const lac_array *b, const lac_array *x, lac_array *room, lac_array *rc,
                                           lac_array *xc) {
  lac_status status = LAC_OK;
  lac_dtype wide = view->values->meta.dtype, narrow = x->meta.dtype;
  cudaError_t error = cudaSuccess;
  cuda_level level;
  cuda_merge merge;
  cuda_gather to;
  cuda_scope scope;

  LAC_TRY(level_of(ctx, view, b->meta.shape[2], &level));
  LAC_TRY(cuda_pairwise_merge(ctx, aggregation, &level.rows, &merge));
  to = (cuda_gather){aggregation->coarse, merge.starts, merge.members, data_of(weights)};
  scope = cuda_begin(ctx);
  if (fuses(view, aggregation)) {
    error = cuda_launch_level_restrict(ctx->stream, wide, narrow, &level, &to, data_of(b), data_of(x), edit_of(rc),
                                       edit_of(xc));
  } else {
    error = cuda_launch_level_remain(ctx->stream, wide, narrow, &level, data_of(b), data_of(x), edit_of(room));
    if (error == cudaSuccess)
      error =
          cuda_launch_level_collect(ctx->stream, wide, narrow, &level, &to, data_of(room), edit_of(rc), edit_of(xc));
  }
  LAC_TRY(cuda_end(ctx, scope, error, "multigrid"));
done:
  return status;
}

static lac_status cuda_pairwise_prolonged(lac_context *ctx, const lac_aggregation *aggregation, const lac_array *steps,
                                          const lac_array *c, const lac_array *d, lac_array *x) {
  lac_status status = LAC_OK;
  cuda_vectors v = vectors_of(x, NULL, false);
  const void *aggregates = NULL;
  cuda_scope scope;

  LAC_TRY(lac_buffer_on(ctx, aggregation->aggregates, &aggregates));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope,
                   cuda_launch_vector_prolong(ctx->stream, x->meta.dtype, &v, aggregation->coarse, aggregates,
                                              data_of(steps), data_of(c), data_of(d), edit_of(x)),
                   "multigrid"));
done:
  return status;
}

static lac_status cuda_pairwise_relaxed(lac_context *ctx, const lac_level_view *view, const lac_array *b,
                                        const lac_array *x, lac_array *z) {
  lac_status status = LAC_OK;
  cuda_level level;
  cuda_scope scope;

  LAC_TRY(level_of(ctx, view, b->meta.shape[2], &level));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope,
                   cuda_launch_level_relax(ctx->stream, view->values->meta.dtype, x->meta.dtype, &level, data_of(b),
                                           data_of(x), edit_of(z)),
                   "multigrid"));
done:
  return status;
}

static lac_status cuda_pairwise_product(lac_context *ctx, const lac_level_view *view, bool of_image, const lac_array *c,
                                        const lac_array *r, const lac_array *before, lac_array *v, lac_array *sums) {
  lac_status status = LAC_OK;
  cuda_scratch partial = {NULL, 0};
  cuda_product job = {.of_image = of_image,
                      .c = data_of(c),
                      .r = data_of(r),
                      .before = data_of(before),
                      .v = edit_of(v),
                      .sums = edit_of(sums)};
  cuda_level level;
  cuda_scope scope;

  LAC_TRY(level_of(ctx, view, c->meta.shape[2], &level));
  LAC_TRY(
      cuda_scratch_take(ctx, "multigrid", cuda_level_product_scratch(level.items, level.rows.rows, level.k), &partial));
  job.scratch = partial.data;
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope, cuda_launch_level_product(ctx->stream, c->meta.dtype, &level, &job), "multigrid"));
done:
  cuda_scratch_release(ctx, &partial);
  return status;
}

static lac_status cuda_pairwise_steps(lac_context *ctx, bool second, const lac_array *sums, lac_array *steps) {
  cuda_scope scope = cuda_begin(ctx);
  return cuda_end(ctx, scope,
                  cuda_launch_steps(ctx->stream, sums->meta.dtype, sums->meta.shape[0], sums->meta.shape[2], second,
                                    data_of(sums), edit_of(steps)),
                  "multigrid");
}

static lac_status cuda_pairwise_advanced(lac_context *ctx, const lac_level_view *view, const lac_array *steps,
                                         const lac_array *v, lac_array *r, lac_array *x) {
  cuda_vectors vectors = vectors_of(x, view->weights, view->conjugates);
  cuda_scope scope = cuda_begin(ctx);
  return cuda_end(ctx, scope,
                  cuda_launch_vector_advance(ctx->stream, x->meta.dtype, &vectors, data_of(steps), data_of(v),
                                             edit_of(r), edit_of(x)),
                  "multigrid");
}

/// Without shapes and slices: a thread has a row, and reads its columns.
const lac_pairwise_kernels cuda_pairwise_kernels = {
    .evenness = cuda_pairwise_evenness,
    .matched = cuda_pairwise_matched,
    .coarse_pattern = cuda_pairwise_coarse_pattern,
    .weights = cuda_pairwise_weights,
    .coarsened = cuda_pairwise_coarsened,
    .scaled = cuda_pairwise_scaled,
    .restricted = cuda_pairwise_restricted,
    .prolonged = cuda_pairwise_prolonged,
    .relaxed = cuda_pairwise_relaxed,
    .product = cuda_pairwise_product,
    .steps = cuda_pairwise_steps,
    .advanced = cuda_pairwise_advanced,
};

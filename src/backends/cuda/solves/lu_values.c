// SPDX-License-Identifier: Apache-2.0
/// @file lu_values.c
/// Elimination on a pattern, by the levels of its lower triangle, and its adjoint, by those of the transpose's upper
/// triangle: its rows take from the rows below.

#include "backends/cuda/solves/levels.h"
#include "backends/cuda/solves/solves.h"

/// What the host reads, and what kernels need beside it.
typedef struct lu_memory {
  cuda_solve_words words;
  double pivot;
} lu_memory;

/// The structure of a job and its memory; the slots on the diagonal are the groups of `map`, which the caller lets go,
/// like the levels and the memory.
static lac_status lu_open(lac_context *ctx, const char *name, const lac_pattern *p, bool is_adjoint, cuda_lu_job *job,
                          lac_map **map, cuda_levels **levels, cuda_scratch *memory) {
  lac_status status = LAC_OK;
  const lac_buffer *groups = NULL, *slots = NULL;
  lu_memory *parts;

  LAC_TRY(lac_pattern_diagonal(ctx, p, map));
  LAC_TRY(lac_map_groups(ctx, *map, &groups, &slots));
  LAC_TRY(cuda_index_of(ctx, slots, &job->diagonal));
  LAC_TRY(cuda_rows_of(ctx, p, false, &job->rows));
  LAC_TRY(cuda_levels_get(ctx, p, is_adjoint, !is_adjoint, levels));
  LAC_TRY(cuda_index_of(ctx, (*levels)->order, &job->order));
  LAC_TRY(cuda_scratch_take(ctx, name, sizeof *parts + (size_t)(p->rows * job->batch.kept.count) * sizeof *job->ready,
                            memory));
  parts = memory->data;
  job->words = &parts->words;
  job->ready = (int *)(parts + 1);
done:
  return status;
}

/// What was found, in *fault: at once, for callers that go on by it, or noted for later.
static lac_status lu_find(lac_context *ctx, const lac_pattern *p, const lac_array *c, lac_array *lu,
                          const lac_late *late, const lu_memory *parts, lac_pivot_fault *fault) {
  lac_status status = LAC_OK;
  cuda_found later = {&parts->words.fault, p->rows, c->count / p->nnz, &parts->pivot, NULL};
  lu_memory found;

  if (late) {
    LAC_TRY(cuda_watch(ctx, late, &later, lu));
  } else {
    LAC_TRY(ctx->backend->download(ctx, &found, parts, sizeof found));
    if (found.words.fault == UINT64_MAX) goto done;
    *fault = (lac_pivot_fault){(int64_t)found.words.fault / p->rows, (int64_t)found.words.fault % p->rows, found.pivot};
  }
done:
  return status;
}

lac_status cuda_lu_values(lac_context *ctx, const lac_pattern *p, bool positive, const lac_array *c, lac_array *lu,
                          const lac_late *late, lac_pivot_fault *fault) {
  lac_status status = LAC_OK;
  const int core[] = {1, 1, 1};
  cuda_lu_job job = {.dtype = lu->meta.dtype};
  cuda_levels *levels = NULL;
  lac_map *map = NULL;
  cuda_scratch memory = {NULL, 0};
  lu_memory *parts;
  cuda_scope scope;

  *fault = (lac_pivot_fault){.row = -1};
  if (lu->count == 0) return LAC_OK;
  job.batch = cuda_batch_of(c, c, lu, core, p->nnz, p->nnz);
  LAC_TRY(lu_open(ctx, "lu_values", p, false, &job, &map, &levels, &memory));
  parts = memory.data;
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope,
                   cuda_launch_lu(ctx->stream, &job, positive, c->storage->data, lu->storage->data, &parts->pivot),
                   "lu_values"));
  LAC_TRY(lu_find(ctx, p, c, lu, late, parts, fault));
done:
  cuda_scratch_release(ctx, &memory);
  lac_object_release(levels);
  lac_map_destroy(&map);
  return status;
}

lac_status cuda_lu_values_adjoint(lac_context *ctx, const lac_pattern *p, const lac_array *lu, const lac_array *lu_bar,
                                  lac_array *c_bar) {
  lac_status status = LAC_OK;
  const int core[] = {1, 1, 1};
  cuda_lu_job job = {.dtype = c_bar->meta.dtype};
  cuda_levels *levels = NULL;
  lac_map *map = NULL;
  cuda_scratch memory = {NULL, 0};
  cuda_rows columns;
  cuda_scope scope;

  if (c_bar->count == 0) return LAC_OK;
  job.batch = cuda_batch_of(lu, lu_bar, c_bar, core, p->nnz, p->nnz);
  LAC_TRY(lu_open(ctx, "lu_values_adjoint", p, true, &job, &map, &levels, &memory));
  LAC_TRY(cuda_rows_of(ctx, p, true, &columns));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope,
                   cuda_launch_lu_adjoint(ctx->stream, &job, &columns, lu->storage->data, lu_bar->storage->data,
                                          c_bar->storage->data),
                   "lu_values_adjoint"));
done:
  cuda_scratch_release(ctx, &memory);
  lac_object_release(levels);
  lac_map_destroy(&map);
  return status;
}

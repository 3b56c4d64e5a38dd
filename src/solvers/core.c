// SPDX-License-Identifier: Apache-2.0
/// @file core.c
/// Cores: what a solver and its factors share.

#include <stdio.h>

#include "solvers/options.h"

static void core_destroy(lac_object *object) {
  lac_solver_core *core = (lac_solver_core *)object;
  lac_extensions_drop(core);
  core->table->forget(core);
  while (core->inner) {
    lac_solver_core *first = core->inner;
    core->inner = first->next;
    lac_object_release(first);
  }
  lac_object_release(core->host);
  lac_options_let_go(&core->options);
  pthread_mutex_destroy(&core->lock);
  lac_pattern_destroy(&core->pattern);
  lac_pattern_destroy(&core->blocks);
  lac_map_destroy(&core->entries);
  lac_free(core);
}

static const lac_kind core_kind = {"solver core", core_destroy};

static lac_status core_begin(lac_context *ctx, const lac_solver_table *table, const lac_solver_options *options,
                             const char *why, lac_solver_core **out) {
  lac_status status = LAC_OK;
  lac_solver_core *core = NULL;

  LAC_ALLOC(core, 1);
  lac_object_init(&core->object, &core_kind);
  pthread_mutex_init(&core->lock, NULL);
  core->table = table;
  core->counts = &core->own_counts;
  core->options = *options;
  core->options.method = table->name;
  lac_options_hold(&core->options);
  snprintf(core->why, sizeof core->why, "%s", why);
  *out = core;
done:
  return status;
}

lac_status lac_core_create(lac_context *ctx, const lac_solver_table *table, const lac_pattern *pattern,
                           const lac_solver_options *options, const char *why, lac_solver_core **out) {
  lac_status status = LAC_OK;
  double begin = lac_seconds();
  lac_solver_core *core = NULL;

  LAC_TRY(core_begin(ctx, table, options, why, &core));
  core->pattern = lac_pattern_retain(pattern);
  core->rows = pattern->rows, core->cols = pattern->cols;
  if (!(table->flags & LAC_READS_ANYWHERE)) LAC_TRY(lac_pattern_host(ctx, pattern));
  LAC_TRY(table->analyse(ctx, core));
  for (lac_solver_core *inner = core->inner; inner; inner = inner->next) inner->is_counted = true;
  core->seconds = lac_seconds() - begin;
  *out = core, core = NULL;
done:
  lac_object_release(core);
  return status;
}

lac_status lac_core_of_products(lac_context *ctx, const lac_solver_table *table, const lac_linear *a,
                                const lac_solver_options *options, lac_solver_core **out) {
  lac_status status = LAC_OK;
  lac_solver_core *core = NULL;

  LAC_TRY(core_begin(ctx, table, options, "asked for", &core));
  core->rows = a->rows, core->cols = a->cols;
  *out = core, core = NULL;
done:
  lac_object_release(core);
  return status;
}

// -- values ----------------------------------------------------------------------------------------------------------

lac_status lac_core_flatten(lac_context *ctx, const char *function, const lac_solver_core *core,
                            const lac_array *values, lac_array **out) {
  lac_status status = LAC_OK;
  const lac_meta *meta = &values->meta;
  const lac_pattern *p = lac_core_given(core);
  int last = meta->ndim - 1;
  int64_t shape[LAC_MAX_DIMS];
  char text[LAC_SHAPE_TEXT];

  if (!core->blocks) {
    LAC_CHECK(last >= 0 && meta->shape[last] == p->nnz, LAC_ERR_SHAPE,
              "%s: values must have shape (*batch, %lld), one number for each entry of the pattern; they have %s",
              function, (long long)p->nnz, lac_shape_text(meta->ndim, meta->shape, text));
    *out = lac_array_retain(values);
    goto done;
  }
  LAC_CHECK(
      last >= 2 && meta->shape[last - 2] == p->nnz && meta->shape[last - 1] == p->br && meta->shape[last] == p->bc,
      LAC_ERR_SHAPE,
      "%s: values must have shape (*batch, %lld, %lld, %lld), a block for each slot of the pattern; they have %s",
      function, (long long)p->nnz, (long long)p->br, (long long)p->bc, lac_shape_text(meta->ndim, meta->shape, text));
  for (int d = 0; d < last - 2; d++) shape[d] = meta->shape[d];
  shape[last - 2] = p->nnz * p->br * p->bc;
  LAC_TRY(lac_array_reshape(ctx, (lac_array *)values, last - 1, shape, out));
done:
  return status;
}

lac_status lac_core_sort(lac_context *ctx, const lac_solver_core *core, const lac_array *flat, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *made = NULL;

  if (!core->blocks) {
    *out = lac_array_retain(flat);
    goto done;
  }
  LAC_TRY(lac_array_make(ctx, &flat->meta, &made));
  LAC_TRY(ctx->kernels->remap(ctx, core->entries, LAC_PLAIN, 0, flat, made));
  *out = made, made = NULL;
done:
  lac_array_destroy(&made);
  return status;
}

// -- cores of other kinds --------------------------------------------------------------------------------------------

static lac_solver_core *core_find(lac_solver_core *core, const lac_solver_table *table) {
  lac_solver_core *inner = core->inner;
  while (inner && inner->table != table) inner = inner->next;
  return inner;
}

// Made under the lock: an analysis may take long, and two threads need it once.
lac_status lac_core_inner(lac_context *ctx, lac_solver_core *core, const lac_solver_table *table, const char *why,
                          lac_solver_core **out) {
  lac_status status = LAC_OK;
  lac_solver_core *made = NULL;

  pthread_mutex_lock(&core->lock);
  *out = core_find(core, table);
  if (!*out) {
    status = lac_core_create(ctx, table, core->pattern, &core->options, why, &made);
    if (made) made->counts = core->counts, made->next = core->inner, core->inner = *out = made;
  }
  pthread_mutex_unlock(&core->lock);
  return status == LAC_OK ? status : lac_context_pass(ctx, status, __func__);
}

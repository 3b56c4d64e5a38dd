// SPDX-License-Identifier: Apache-2.0
/// @file grouped.c
/// Groups and items of a batch, cut among threads. Items are cut where each has an output of its own and there are
/// enough; else the range is, and every output sees the items in their order.

#include "backends/cpu/products/grouped.h"

enum { GROUPED_GRAIN = 64 };

lac_status cpu_grouping_init(lac_context *ctx, cpu_grouping *g, const lac_map *map, const lac_array *const in[2],
                             lac_array *out, const int core[3]) {
  lac_status status = LAC_OK;
  const lac_buffer *offsets = NULL, *sources = NULL;
  const lac_meta *metas[] = {&in[0]->meta, &in[1]->meta, &out->meta};

  LAC_TRY(lac_map_host(ctx, map));
  LAC_TRY(lac_map_runs(ctx, map, &offsets, &sources));
  lac_batch_init(&g->batch, 3, metas, core);
  for (int o = 0; o < 3; ++o) {
    g->bytes[o] = (size_t)cpu_core_count(metas[o], core[o]) * lac_dtype_size(metas[o]->dtype);
  }
  g->offsets = offsets;
  g->shared.target = map->target->host;
  g->shared.offsets = offsets->host;
  g->shared.sources = sources ? sources->host : NULL;
  g->shared.inputs = map->inputs;
  g->shared.outputs = g->range = map->outputs;
  g->shared.in[0] = cpu_data(in[0]);
  g->shared.in[1] = cpu_data(in[1]);
  g->shared.out = cpu_edit(out);
  g->work = map->inputs + map->outputs;
done:
  return status;
}

static cpu_grouped item_of(const cpu_grouping *g, int64_t i) {
  cpu_grouped item = g->shared;
  for (int o = 0; o < 2; ++o) {
    item.in[o] = (const char *)item.in[o] + (size_t)lac_batch_item(&g->batch, o, i) * g->bytes[o];
  }
  item.out = (char *)item.out + (size_t)lac_batch_item(&g->batch, 2, i) * g->bytes[2];
  item.adds = !cpu_batch_is_first(&g->batch, 2, i);
  return item;
}

static void run_items(const void *job, int64_t begin, int64_t end) {
  const cpu_grouping *g = job;
  for (int64_t i = begin; i < end; ++i) {
    const cpu_grouped item = item_of(g, i);
    g->kernel(&item, 0, g->range);
  }
}

static void run_range(const void *job, int64_t begin, int64_t end) {
  const cpu_grouping *g = job;
  for (int64_t i = 0; i < g->batch.count; ++i) {
    const cpu_grouped item = item_of(g, i);
    g->kernel(&item, begin, end);
  }
}

void cpu_grouping_run(lac_context *ctx, const cpu_grouping *g) {
  int threads = cpu_threads(ctx, g->work * g->batch.count);
  if (g->range == 0) return;
  if (g->batch.count >= 4 * threads && cpu_batch_is_apart(&g->batch)) {
    cpu_split(threads, g->batch.count, 1, run_items, g);
  } else if (g->offsets) {
    cpu_split_rows(threads, g->offsets, g->range, run_range, g);
  } else {
    cpu_split(threads, g->range, g->range / GROUPED_GRAIN > threads ? GROUPED_GRAIN : 1, run_range, g);
  }
}

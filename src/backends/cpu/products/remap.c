// SPDX-License-Identifier: Apache-2.0
/// @file remap.c
/// Values along a map:
///
///     y = M x     y[target[i]] += x[i]      scattered where targets are distinct, else summed by groups of sources
///     y = M^T x   y[i] = x[target[i]]       gathered
///
/// Entries are numbers, or rows of k numbers.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"

enum { REMAP_GRAIN = 1024, REMAP_TILE = 64 };  // numbers of a part; numbers of an entry that are summed at a time

typedef struct remap_job {
  const void *index, *sources;
  const void *x;
  void *y;
  int64_t n, n_x, n_y;  // entries in one item of the batch: of the range that is cut, of x, of y
  int64_t k;            // numbers in an entry
} remap_job;

#define IN(name) PASTE(FN(name), C)
#define KERNEL_FILE "backends/cpu/products/remap_kernel.h"
#define C i32
#include "backends/cpu/base/instantiate.h"
#undef C
#define C i64
#include "backends/cpu/base/instantiate.h"
#undef C

#define TABLE_TYPES(name)                                                \
  {                                                                      \
    {name##_f32_i32, name##_f64_i32, name##_c64_i32, name##_c128_i32}, { \
      name##_f32_i64, name##_f64_i64, name##_c64_i64, name##_c128_i64    \
    }                                                                    \
  }
static const cpu_part gathers[2][4] = TABLE_TYPES(gather);
static const cpu_part scatters[2][4] = TABLE_TYPES(scatter);
static const cpu_part groups[2][4] = TABLE_TYPES(group);

lac_status cpu_remap(lac_context *ctx, const lac_map *map, lac_form form, int rest, const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  const lac_buffer *offsets = NULL, *sources = NULL;
  bool transposed = lac_form_transposes(form);
  remap_job job = {NULL, NULL, cpu_data(x), cpu_edit(y), map->inputs, map->inputs, map->outputs, 1};
  const lac_array *cut = map->is_injective && !transposed ? x : y;
  const cpu_part *part = gathers[map->target->type];

  if (map->is_identity) return cpu_copy(ctx, x, y);
  LAC_TRY(lac_map_host(ctx, map));
  job.index = map->target->host;
  if (transposed) {
    job.n_x = map->outputs, job.n_y = map->inputs;
  } else if (map->is_injective) {
    part = scatters[map->target->type];
    LAC_TRY(cpu_fill(ctx, y, 0, 0));
  } else {
    LAC_TRY(lac_map_runs(ctx, map, &offsets, &sources));
    part = groups[offsets->type];
    job.index = offsets->host, job.sources = sources ? sources->host : NULL, job.n = map->outputs;
  }
  job.k = cpu_core_count(&x->meta, rest);
  if (cut->count == 0) goto done;
  cpu_split(cpu_threads(ctx, cut->count), cut->count / job.k, REMAP_GRAIN / job.k + 1, part[x->meta.dtype], &job);
done:
  return status;
}

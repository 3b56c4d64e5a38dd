// SPDX-License-Identifier: Apache-2.0
/// @file cumsum.c
/// Running sums along an axis, each by one thread from its one end to the other; columns behind the axis go together.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"

enum { CUMSUM_TILE = 64 };

typedef struct cumsum_job {
  const void *x;
  void *y;
  int64_t n, inner, tiles;  // numbers along the axis, behind it, tiles of these
  bool backwards;
} cumsum_job;

#define KERNEL_FILE "backends/cpu/arrays/cumsum_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part cumsums[] = TABLE(cumsum_units);

lac_status cpu_cumsum(lac_context *ctx, int axis, bool backwards, const lac_array *x, lac_array *y) {
  int d = x->meta.ndim - 1 - axis;
  cumsum_job job = {.x = cpu_data(x), .y = cpu_edit(y), .n = x->meta.shape[d], .backwards = backwards};
  if (x->count == 0) return LAC_OK;
  job.inner = cpu_core_count(&x->meta, axis);
  job.tiles = (job.inner + CUMSUM_TILE - 1) / CUMSUM_TILE;
  cpu_split(cpu_threads(ctx, x->count), x->count / (job.n * job.inner) * job.tiles, 1, cumsums[x->meta.dtype], &job);
  return LAC_OK;
}

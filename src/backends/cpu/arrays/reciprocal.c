// SPDX-License-Identifier: Apache-2.0
/// @file reciprocal.c
/// Reciprocals, and the place of the first zero.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"

typedef struct reciprocal_job {
  const void *x;
  void *y;
  _Atomic int64_t *first;
} reciprocal_job;

static void reciprocal_note(_Atomic int64_t *first, int64_t i) {
  int64_t known = atomic_load(first);
  while ((known < 0 || i < known) && !atomic_compare_exchange_weak(first, &known, i)) continue;
}

#define KERNEL_FILE "backends/cpu/arrays/reciprocal_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part reciprocals[] = TABLE(reciprocal_part);

lac_status cpu_reciprocal(lac_context *ctx, const lac_array *x, lac_array *y, int64_t *fault) {
  _Atomic int64_t first = -1;
  reciprocal_job job = {cpu_data(x), cpu_edit(y), &first};
  cpu_split(cpu_threads(ctx, x->count), x->count, 1024, reciprocals[x->meta.dtype], &job);
  *fault = atomic_load(&first);
  return LAC_OK;
}

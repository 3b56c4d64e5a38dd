// SPDX-License-Identifier: Apache-2.0
/// @file where.c
/// A choice between two arrays, number by number.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/functions.h"
#include "backends/cpu/base/types.h"
#include "kernels/loop.h"

typedef struct where_job {
  const void *c, *x, *y;
  void *z;
  lac_loop loop;
} where_job;

#define KERNEL_FILE "backends/cpu/arrays/where_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part where_parts[] = TABLE(where_part);

enum { WHERE_GRAIN = 1024 };

lac_status cpu_where(lac_context *ctx, const lac_array *c, const lac_array *x, const lac_array *y, lac_array *z) {
  static const c128 zero = 0;  // an operand without dimensions, of any dtype
  where_job job = {.c = cpu_data(c), .x = x ? cpu_data(x) : &zero, .y = y ? cpu_data(y) : &zero, .z = cpu_edit(z)};

  lac_loop_spread(&z->meta, &c->meta, job.loop.stride[0]);
  if (x) lac_loop_spread(&z->meta, &x->meta, job.loop.stride[1]);
  if (y) lac_loop_spread(&z->meta, &y->meta, job.loop.stride[2]);
  lac_loop_join(&job.loop, &z->meta);
  cpu_split(cpu_threads(ctx, z->count), z->count, WHERE_GRAIN, where_parts[z->meta.dtype], &job);
  return LAC_OK;
}

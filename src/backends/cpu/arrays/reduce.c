// SPDX-License-Identifier: Apache-2.0
/// @file reduce.c
/// Sums and dot products by a fixed tree.
///
/// What belongs to one output is cut into blocks of at most 4096 numbers, or rows of numbers; the sums of the blocks
/// are added pair by pair. Neither depends on the number of threads, which only share the blocks among them.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/arrays/reduce.h"
#include "backends/cpu/base/types.h"
#include "kernels/loop.h"

typedef struct dot_job {
  const void *x, *y;
  void *partial;
  int64_t count, blocks;  // of each item of the batch
  lac_batch batch;
} dot_job;

/// Memory for sums of blocks: the few of a small reduction need no allocation.
typedef struct partials {
  void *data, *owned;
  c128 few[64];
} partials;

#define KERNEL_FILE "backends/cpu/base/dot_kernel.h"
#include "backends/cpu/base/instantiate.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/arrays/reduce_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part sum_units[] = TABLE(sum_units);
static const cpu_part dot_units[] = TABLE(dot_units);
static void (*const trees[])(void *, int64_t, int64_t, void *) = TABLE(tree);
static void (*const adds[])(void *, const void *) = TABLE(add_to);
static const size_t acc_size[] = {sizeof(acc_f32), sizeof(acc_f64), sizeof(acc_c64), sizeof(acc_c128)};

static int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }

static void axes_add(axes *a, int64_t size, int64_t stride) {
  a->shape[a->ndim] = size;
  a->stride[a->ndim++] = stride;
  a->count *= size;
}

sum_job cpu_sum_plan(const lac_array *x, uint32_t mask) {
  sum_job job = {.x = cpu_data(x), .kept.count = 1, .summed.count = 1, .pieces = 1, .tiles = 1};
  lac_loop loop = {.ndim = 0};  // operands that are not here run on everywhere
  lac_loop_spread(&x->meta, &x->meta, loop.stride[0]);
  lac_loop_masked(&x->meta, mask, loop.stride[1]);
  lac_loop_join(&loop, &x->meta);
  int last = loop.ndim - 1;
  for (int d = 0; d < last; ++d)
    axes_add(loop.stride[1][d] ? &job.kept : &job.summed, loop.shape[d], loop.stride[0][d]);
  job.inner = loop.shape[last];
  job.is_along = loop.stride[1][last] == 0;
  job.runs = REDUCE_BLOCK;
  if (job.is_along) {
    job.pieces = ceiling(job.inner, REDUCE_BLOCK);
    job.runs = job.pieces > 1 ? 1 : REDUCE_BLOCK / job.inner;
  } else {
    job.tiles = ceiling(job.inner, REDUCE_TILE);
  }
  job.blocks = ceiling(job.summed.count, job.runs) * job.pieces;
  return job;
}

static lac_status partials_take(lac_context *ctx, const char *kernel, lac_dtype dtype, int64_t count, partials *p) {
  lac_status status = LAC_OK;
  p->owned = NULL;
  p->data = p->few;
  if (count > (int64_t)(sizeof p->few / sizeof *p->few)) {
    p->data = p->owned = lac_alloc((size_t)count * acc_size[dtype]);
    LAC_CHECK(p->owned, LAC_ERR_MEMORY, "%s: out of memory for %lld partial sums", kernel, (long long)count);
  }
done:
  return status;
}

lac_status cpu_sum(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
  lac_status status = LAC_OK;
  lac_dtype dtype = x->meta.dtype;
  sum_job job;
  partials p = {.owned = NULL};

  if (x->count == 0) return cpu_fill(ctx, y, 0, 0);
  job = cpu_sum_plan(x, mask);
  int64_t width = job.is_along ? 1 : job.inner, rows = job.kept.count;
  LAC_TRY(partials_take(ctx, "sum", dtype, rows * job.blocks * width, &p));
  job.partial = p.data;
  cpu_split(cpu_threads(ctx, x->count), rows * job.blocks * job.tiles, 1, sum_units[dtype], &job);
  if (job.blocks == 1) width *= rows, rows = 1;
  for (int64_t o = 0; o < rows; ++o) {
    trees[dtype]((char *)p.data + (size_t)(o * job.blocks * width) * acc_size[dtype], job.blocks, width,
                 (char *)cpu_edit(y) + (size_t)(o * width) * lac_dtype_size(dtype));
  }
done:
  lac_free(p.owned);
  return status;
}

/// Put the dot product of each item where it belongs; a sum without the batch's dimensions takes them in order.
static void dot_collect(const dot_job *job, lac_dtype dtype, lac_array *s) {
  size_t size = lac_dtype_size(dtype);
  for (int64_t i = 0; i < job->batch.count; ++i) {
    c128 one;
    char *sum = (char *)cpu_edit(s) + (size_t)lac_batch_item(&job->batch, 2, i) * size;
    trees[dtype]((char *)job->partial + (size_t)(i * job->blocks) * acc_size[dtype], job->blocks, 1, &one);
    if (cpu_batch_is_first(&job->batch, 2, i)) {
      memcpy(sum, &one, size);
    } else {
      adds[dtype](sum, &one);
    }
  }
}

lac_status cpu_dot(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array *s) {
  lac_status status = LAC_OK;
  lac_dtype dtype = x->meta.dtype;
  const lac_meta *metas[] = {&x->meta, &y->meta, &s->meta};
  int ndim = x->meta.ndim, core = ndim < 2 ? ndim : 2;
  dot_job job = {.x = cpu_data(x), .y = cpu_data(y), .count = cpu_core_count(&x->meta, core)};
  partials p = {.owned = NULL};

  lac_batch_init(&job.batch, 3, metas, (const int[]){core, core, 0});
  if (job.count == 0 || job.batch.count == 0) return cpu_fill(ctx, s, 0, 0);
  job.blocks = ceiling(job.count, REDUCE_BLOCK);
  LAC_TRY(partials_take(ctx, "dot", dtype, job.batch.count * job.blocks, &p));
  job.partial = p.data;
  cpu_split(cpu_threads(ctx, job.batch.count * job.count), job.batch.count * job.blocks, 1, dot_units[dtype], &job);
  dot_collect(&job, dtype, s);
done:
  lac_free(p.owned);
  return status;
}

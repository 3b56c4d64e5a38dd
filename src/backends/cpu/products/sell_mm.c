// SPDX-License-Identifier: Apache-2.0
/// @file sell_mm.c
/// y = A x with A in sliced ELL
///
/// Slices are cut among threads. One column goes through eight lanes at a time, whose sums are independent; several
/// columns go through one lane at a time.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"

enum { SELL_LANES = 8, SELL_AHEAD = 256 };  // entries before they are needed

typedef struct sell_job {
  const lac_format *f;
  const int64_t *offsets, *full;
  const void *columns;
  lac_batch batch;  // of a, x, y
  const void *a, *x;
  void *y;
  int64_t k;
} sell_job;

/// The row of a lane, -1 for a lane without one.
static inline int64_t sell_row(const sell_job *job, int64_t lane) {
  if (job->f->in_order) return lane < job->f->pattern->rows ? lane : -1;
  return lac_buffer_get(job->f->arrays[LAC_FORMAT_ROWS], lane);
}

#define IN(name) PASTE(FN(name), C)
#define KERNEL_FILE "backends/cpu/products/sell_mm_kernel.h"
#define C i32
#include "backends/cpu/base/instantiate.h"
#undef C
#define C i64
#include "backends/cpu/base/instantiate.h"
#undef C

static const cpu_part sell_slices[2][4] = {
    {sell_slices_f32_i32, sell_slices_f64_i32, sell_slices_c64_i32, sell_slices_c128_i32},
    {sell_slices_f32_i64, sell_slices_f64_i64, sell_slices_c64_i64, sell_slices_c128_i64}};

lac_status cpu_sell_mm(lac_context *ctx, const lac_format *f, const lac_array *a, const lac_array *x, lac_array *y) {
  const lac_buffer *offsets = f->arrays[LAC_FORMAT_OFFSETS], *columns = f->arrays[LAC_FORMAT_COLUMNS];
  sell_job job = {.f = f,
                  .offsets = offsets->host,
                  .full = f->full->host,
                  .columns = columns->host,
                  .a = cpu_data(a),
                  .x = cpu_data(x),
                  .y = cpu_edit(y),
                  .k = x->meta.shape[x->meta.ndim - 1]};
  int64_t slices = offsets->count - 1, work = 0;

  if (y->count == 0) return LAC_OK;
  if (a->count == 0 || x->count == 0) return cpu_fill(ctx, y, 0, 0);
  lac_batch_init(&job.batch, 3, (const lac_meta *const[]){&a->meta, &x->meta, &y->meta}, (const int[]){1, 2, 2});
  work = (f->size + f->pattern->rows) * job.k * job.batch.count;
  cpu_split(cpu_threads(ctx, work), slices, 1, sell_slices[columns->type][y->meta.dtype], &job);
  return LAC_OK;
}

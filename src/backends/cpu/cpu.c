// SPDX-License-Identifier: Apache-2.0
/// @file cpu.c
/// The CPU backend: its door, its bytes, its table.

#include "backends/cpu/base/cpu.h"

#include <omp.h>

#include "backends/cpu/grid/grid.h"
#include "backends/cpu/pairwise/pairwise.h"
#include "backends/cpu/smoothed/smoothed.h"
#include "core/numbers/search.h"

static lac_status cpu_open(lac_context *ctx, int device) {
  lac_status status = LAC_OK;
  LAC_CHECK(device == 0, LAC_ERR_ARG, "the CPU is device 0; device %d was asked for", device);
  ctx->space = &lac_host_space;
  ctx->threads = omp_get_max_threads();
done:
  return status;
}

static void cpu_close(lac_context *ctx) { (void)ctx; }
static lac_status cpu_synchronize(lac_context *ctx) { return (void)ctx, LAC_OK; }

static lac_status cpu_move(lac_context *ctx, void *to, const void *from, size_t bytes) {
  (void)ctx;
  if (bytes) memmove(to, from, bytes);
  return LAC_OK;
}

typedef struct copy_job {
  const char *from;
  char *to;
  bool streams;
} copy_job;

static void copy_part(const void *job, int64_t begin, int64_t end) {
  const copy_job *j = job;
  if (!j->streams) {
    memmove(j->to + begin, j->from + begin, (size_t)(end - begin));
    return;
  }
  cpu_stream_copy(j->to + begin, j->from + begin, (size_t)(end - begin));
  cpu_stream_end();
}

lac_status cpu_copy(lac_context *ctx, const lac_array *from, lac_array *to) {
  copy_job job = {cpu_data(from), cpu_edit(to), cpu_streams(to)};
  int64_t bytes = (int64_t)lac_array_bytes(from);
  if (job.from != job.to) cpu_split(cpu_threads(ctx, bytes / CPU_BYTES_A_PRODUCT), bytes, 4096, copy_part, &job);
  return LAC_OK;
}

static const lac_kernels cpu_kernels = {
#define LAC_KERNEL(slot, need, parameters) .slot = cpu_##slot,
#include "kernels/kernels.def"
#undef LAC_KERNEL
    .pairwise = &cpu_pairwise_kernels,
    .smoothed = &cpu_smoothed_kernels,
    .grid = &cpu_grid_kernels,
};

extern const lac_backend lac_cpu_backend;  // backends.c
const lac_backend lac_cpu_backend = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .synchronize = cpu_synchronize,
    .upload = cpu_move,
    .download = cpu_move,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .kernels = &cpu_kernels,
};

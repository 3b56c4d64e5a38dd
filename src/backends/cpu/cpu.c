// SPDX-License-Identifier: Apache-2.0
/// @file cpu.c
/// The CPU backend: its table, its door, its threads.

#include "backends/cpu/cpu.h"

#include <omp.h>

#include "backends/cpu/smoothed/smoothed.h"
#include "backends/cpu/pairwise/pairwise.h"
#include "core/search.h"

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
  if (job.from != job.to) cpu_split(cpu_threads(ctx, from->count), bytes, 4096, copy_part, &job);
  return LAC_OK;
}

void cpu_stream_copy(void *to, const void *from, size_t bytes) {
  char *t = to;
  const char *f = from;
  size_t head = (size_t)(-(uintptr_t)to & 63);
  if (head > bytes) head = bytes;
  memcpy(t, f, head);
  for (t += head, f += head, bytes -= head; bytes >= 64; t += 64, f += 64, bytes -= 64) cpu_stream(t, f);
  memcpy(t, f, bytes);
}

// -- threads ---------------------------------------------------------------------------------------------------------

void cpu_split(int threads, int64_t count, int64_t grain, cpu_part part, const void *job) {
  int64_t grains = (count + grain - 1) / grain;
  if (threads > grains) threads = (int)grains;
  if (threads <= 1) {
    if (count) part(job, 0, count);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
    int64_t begin = grains * me / all * grain, end = grains * (me + 1) / all * grain;
    if (end > count) end = count;
    if (begin < end) part(job, begin, end);
  }
}

/// The first row with `share` of all entries and rows before it.
static int64_t row_at(const lac_buffer *offsets, int64_t rows, double share) {
  double before = share * (double)(lac_buffer_get(offsets, rows) + rows);
  int64_t low = 0, high = rows;
  LAC_SEARCH(low, high, i, (double)(lac_buffer_get(offsets, i) + i) < before)
  return low;
}

void cpu_split_rows(int threads, const lac_buffer *offsets, int64_t rows, cpu_part part, const void *job) {
  if (threads <= 1 || rows < threads) {
    if (rows) part(job, 0, rows);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    int me = omp_get_thread_num(), all = omp_get_num_threads();
    int64_t begin = row_at(offsets, rows, (double)me / all);
    int64_t end = me + 1 == all ? rows : row_at(offsets, rows, (double)(me + 1) / all);
    if (begin < end) part(job, begin, end);
  }
}

// -- batches ---------------------------------------------------------------------------------------------------------

int64_t cpu_core_count(const lac_meta *meta, int core) {
  int64_t count = 1;
  for (int d = 0; d < core; ++d) count *= meta->shape[meta->ndim - 1 - d];
  return count;
}

bool cpu_batch_is_apart(const lac_batch *batch) {
  for (int d = 0; d < batch->ndim; ++d) {
    if (batch->shape[d] > 1 && batch->stride[2][d] == 0) return false;
  }
  return true;
}

bool cpu_batch_is_first(const lac_batch *batch, int operand, int64_t i) {
  for (int d = batch->ndim - 1; d >= 0; --d) {
    if (batch->stride[operand][d] == 0 && i % batch->shape[d]) return false;
    i /= batch->shape[d];
  }
  return true;
}

static const lac_kernels cpu_kernels = {
#define LAC_KERNEL(slot, need, parameters) .slot = cpu_##slot,
#include "kernels/kernels.def"
#undef LAC_KERNEL
    .pairwise = &cpu_pairwise_kernels,
    .smoothed = &cpu_smoothed_kernels,
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

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

extern const lac_kernels lac_cpu_kernels;  // backends.c
const lac_kernels lac_cpu_kernels = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .synchronize = cpu_synchronize,
    .upload = cpu_move,
    .download = cpu_move,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .binary = cpu_binary,
    .scale = cpu_scale,
    .axpy = cpu_axpy,
    .conj = cpu_conj,
    .unary = cpu_unary,
    .power = cpu_power,
    .clamp = cpu_clamp,
    .cast = cpu_cast,
    .where = cpu_where,
    .sum = cpu_sum,
    .reduce = cpu_reduce,
    .softmax = cpu_softmax,
    .cumsum = cpu_cumsum,
    .broadcast = cpu_broadcast,
    .dot = cpu_dot,
    .matmul = cpu_matmul,
    .place = cpu_place,
    .remap = cpu_remap,
    .segment_scale = cpu_segment_scale,
    .segment_dot = cpu_segment_dot,
    .segment = cpu_segment,
    .gather_mm = cpu_gather_mm,
    .gather_outer = cpu_gather_outer,
    .spmm = cpu_spmm,
    .sddmm = cpu_sddmm,
    .block_spmm = cpu_block_spmm,
    .block_sddmm = cpu_block_sddmm,
    .sell_mm = cpu_sell_mm,
    .sampled_spgemm = cpu_sampled_spgemm,
    .trisolve = cpu_trisolve,
    .lu_values = cpu_lu_values,
    .lu_values_adjoint = cpu_lu_values_adjoint,
    .banded_mm = cpu_banded_mm,
    .banded_outer = cpu_banded_outer,
    .banded_gemm = cpu_banded_gemm,
    .banded_solve = cpu_banded_solve,
    .circulant_mm = cpu_circulant_mm,
    .circulant_outer = cpu_circulant_outer,
    .circulant_solve = cpu_circulant_solve,
    .columns = cpu_columns,
    .column_step = cpu_column_step,
    .adam = cpu_adam,
    .smoothed = &cpu_smoothed_kernels,
    .multigrid = &cpu_multigrid_kernels,
};

// SPDX-License-Identifier: Apache-2.0
/// @file cpu.c
/// Large copies, threads, and batches.

#include "backends/cpu/base/cpu.h"

#include <omp.h>

#include "core/search.h"

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

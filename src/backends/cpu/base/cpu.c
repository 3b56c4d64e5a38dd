// SPDX-License-Identifier: Apache-2.0
/// @file cpu.c
/// Large copies, threads, and batches.

#include "backends/cpu/base/cpu.h"

#include <math.h>
#include <omp.h>

#include "core/numbers/search.h"

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

/// A loop whose parts a function cuts: part `me` of `all`.
typedef void (*split_cut)(const void *split, int me, int all);

/// All parts at once; how long the first to be done waits for the others is noted.
static void split_run(int threads, split_cut cut, const void *split) {
  lac_crowd_loop loop = lac_crowd_begin(threads);
  double first = INFINITY;
  int64_t taken = 0;
#pragma omp parallel num_threads(threads) reduction(min : first) reduction(+ : taken)
  {
    cut(split, omp_get_thread_num(), omp_get_num_threads());
    first = lac_seconds();
    if (loop.is_looked_at) taken = lac_crowd_taken();
  }
  loop.first = first;
  loop.end = lac_seconds();
  loop.taken = taken;
  if (loop.is_looked_at) loop.spent = lac_crowd_spent();
  lac_crowd_end();
  lac_crowd_note(&loop);
}

typedef struct split_evenly {
  int64_t count, grain, grains;
  cpu_part part;
  const void *job;
} split_evenly;

static void cut_evenly(const void *split, int me, int all) {
  const split_evenly *s = split;
  int64_t begin = s->grains * me / all * s->grain, end = s->grains * (me + 1) / all * s->grain;
  if (end > s->count) end = s->count;
  if (begin < end) s->part(s->job, begin, end);
}

void cpu_split(int threads, int64_t count, int64_t grain, cpu_part part, const void *job) {
  split_evenly split = {count, grain, (count + grain - 1) / grain, part, job};
  if (threads > split.grains) threads = (int)split.grains;
  if (threads <= 1) {
    if (count) part(job, 0, count);
    return;
  }
  split_run(threads, cut_evenly, &split);
}

/// The first row with `share` of all entries and rows before it.
static int64_t row_at(const lac_buffer *offsets, int64_t rows, double share) {
  double before = share * (double)(lac_buffer_get(offsets, rows) + rows);
  int64_t low = 0, high = rows;
  LAC_SEARCH(low, high, i, (double)(lac_buffer_get(offsets, i) + i) < before)
  return low;
}

typedef struct split_rows {
  const lac_buffer *offsets;
  int64_t rows;
  cpu_part part;
  const void *job;
} split_rows;

static void cut_rows(const void *split, int me, int all) {
  const split_rows *s = split;
  int64_t begin = row_at(s->offsets, s->rows, (double)me / all);
  int64_t end = me + 1 == all ? s->rows : row_at(s->offsets, s->rows, (double)(me + 1) / all);
  if (begin < end) s->part(s->job, begin, end);
}

void cpu_split_rows(int threads, const lac_buffer *offsets, int64_t rows, cpu_part part, const void *job) {
  split_rows split = {offsets, rows, part, job};
  if (rows < threads || threads <= 1) {
    if (rows) part(job, 0, rows);
    return;
  }
  split_run(threads, cut_rows, &split);
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

// SPDX-License-Identifier: Apache-2.0
/// @file place.c
/// Numbers from some places of one axis to some of another: slice, embed and concat. No arithmetic: bytes of any dtype.

#include "backends/cpu/base/cpu.h"

/// Runs of `run` bytes, `count` for each of the places before the axis.
typedef struct place_job {
  const char *x;
  char *y;
  int64_t count, run;
  int64_t x_step, y_step;    // from run to run
  int64_t x_outer, y_outer;  // from place to place before the axis
  lac_batch batch;           // of these places; x may be broadcast
  bool streams, is_broadcast;
} place_job;

/// Runs that lie behind each other on both sides, in one piece.
static void place_piece(const place_job *job, const char *x, char *y, int64_t n) {
  if (job->streams) {
    cpu_stream_copy(y, x, (size_t)(n * job->run));
  } else {
    memcpy(y, x, (size_t)(n * job->run));
  }
}

/// n runs of a size that is a constant to the compiler.
static inline void place_runs(const place_job *job, const char *x, char *y, int64_t n, const int64_t run) {
  for (int64_t i = 0; i < n; ++i) memcpy(y + i * job->y_step, x + i * job->x_step, (size_t)run);
}

static void place_apart(const place_job *job, const char *x, char *y, int64_t n) {
  switch (job->run) {
    case 4:
      place_runs(job, x, y, n, 4);
      break;
    case 8:
      place_runs(job, x, y, n, 8);
      break;
    case 16:
      place_runs(job, x, y, n, 16);
      break;
    default:
      place_runs(job, x, y, n, job->run);
  }
}

static void place_part(const void *opaque, int64_t begin, int64_t end) {
  const place_job *job = opaque;
  bool is_piece = job->x_step == job->run && job->y_step == job->run;
  for (int64_t n; begin < end; begin += n) {
    int64_t outer = begin / job->count, first = begin % job->count;
    int64_t item = job->is_broadcast ? lac_batch_item(&job->batch, 0, outer) : outer;
    const char *x = job->x + item * job->x_outer + first * job->x_step;
    char *y = job->y + outer * job->y_outer + first * job->y_step;
    n = job->count - first < end - begin ? job->count - first : end - begin;
    (is_piece ? place_piece : place_apart)(job, x, y, n);
  }
  if (job->streams) cpu_stream_end();
}

lac_status cpu_place(lac_context *ctx, int axis, int64_t count, const lac_array *x, lac_along from, lac_array *y,
                     lac_along to) {
  enum { GRAIN = 1024 };
  const lac_meta *metas[] = {&x->meta, &y->meta};
  int64_t size = (int64_t)lac_dtype_size(x->meta.dtype), run = cpu_core_count(&x->meta, axis) * size;
  place_job job = {.x = (const char *)cpu_data(x) + from.begin * run,
                   .y = (char *)cpu_edit(y) + to.begin * run,
                   .count = count,
                   .run = run,
                   .x_step = count > 1 ? from.step * run : run,  // a step beyond the axis may be any number
                   .y_step = count > 1 ? to.step * run : run,
                   .x_outer = x->meta.shape[x->meta.ndim - 1 - axis] * run,
                   .y_outer = y->meta.shape[y->meta.ndim - 1 - axis] * run,
                   .streams = cpu_streams(y)};

  lac_batch_init(&job.batch, 2, metas, (const int[]){axis + 1, axis + 1});
  if (job.batch.count * count * run == 0) return LAC_OK;
  job.is_broadcast = x->count != job.batch.count * job.x_outer / size;
  if (count == 1 || (from.step == 1 && to.step == 1)) {  // one piece, cut anywhere
    job.count = count * run / size;
    job.run = job.x_step = job.y_step = size;
  }
  int64_t numbers = job.batch.count * count * run / size, grain = GRAIN * size / job.run;
  cpu_split(cpu_threads(ctx, numbers), job.batch.count * job.count, grain ? grain : 1, place_part, &job);
  return LAC_OK;
}

// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_places.c
/// Nodes that lack rows, as where rollers take a direction from them: which rows are a node, and which of its unknowns
/// each of them is.
///
///     node       a run of rows with the same columns; a whole one has the length that most rows are in
///     unknown    of row i in a node that lacks some: c with the least sum over whole nodes J of a_i,(J,c) / a_ii
///
/// A translation along another unknown takes the row nearly to 0, and its sum is small; that along its own is what the
/// diagonal makes up for. Unknowns of a node ascend, as its rows do.

#include <float.h>

#include "backends/cpu/smoothed/smoothed.h"

enum { PLACES_SAMPLES = 512 };  // rows that are looked at first

typedef struct places_job {
  const cpu_sparse *a;
  const void *values;
  uint8_t *same;  // whether a row has the columns of the one before it
  int64_t size;   // rows of a whole node
  int64_t nodes;
  void *place;
  int64_t *first;  // row of each node, and one more
} places_job;

typedef struct spread_job {
  const cpu_sparse *a;
  const void *place;
  int64_t count;  // places
  void *offsets, *columns;
} spread_job;

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_places_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static const cpu_part places_same[4][4] = TABLE_INDEXED(places_same);
static const cpu_part places_nodes[4][4] = TABLE_INDEXED(places_nodes);
static const cpu_part spread_offsets[4][4] = TABLE_INDEXED(spread_offsets);
static const cpu_part spread_columns[4][4] = TABLE_INDEXED(spread_columns);

/// Whether runs are to be expected: most matrices of single unknowns have no run in the rows that are looked at.
static bool places_are_likely(const places_job *j, int64_t most) {
  int64_t rows = j->a->rows, step = rows / PLACES_SAMPLES + 1, looked = 0, runs = 0;
  for (int64_t i = 0; i < rows; i += step, ++looked) {
    int64_t end = i + most < rows ? i + most : rows;
    places_same[LAC_F64][j->a->width](j, i, end);
    runs += memchr(j->same + i, 1, (size_t)(end - i)) != NULL;
  }
  return 2 * runs > looked;
}

/// The end of the run that begins with a row.
static int64_t run_end(const places_job *j, int64_t begin) {
  int64_t end = begin + 1;
  while (end < j->a->rows && j->same[end]) ++end;
  return end;
}

/// The length, up to `most`, that most rows are in.
static int64_t places_size(const places_job *j, int64_t most) {
  int64_t rows[LAC_BLOCK_MOST + 1] = {0}, best = 1;
  for (int64_t i = 0, end; i < j->a->rows; i = end) {
    end = run_end(j, i);
    if (end - i <= most) rows[end - i] += end - i;
  }
  for (int64_t size = 2; size <= most; ++size) best = rows[size] > rows[best] ? size : best;
  return best;
}

/// Runs to nodes: longer ones are several, of which the last may lack rows.
static void places_cut(places_job *j) {
  for (int64_t i = 0, end; i < j->a->rows; i = end) {
    for (end = run_end(j, i); i < end; i += j->size) j->first[j->nodes++] = i;
  }
  j->first[j->nodes] = j->a->rows;
}

lac_status cpu_smoothed_places(lac_context *ctx, const lac_rows *rows, const lac_array *values, int64_t most,
                               lac_buffer **places, lac_array *found) {
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows);
  int threads = cpu_threads(ctx, a.nnz);
  places_job job = {.a = &a, .values = cpu_data(values)};
  lac_buffer *made = NULL;
  double *told = cpu_edit(found);

  LAC_ALLOC(job.same, a.rows + 1);
  job.size = 1;
  if (places_are_likely(&job, most)) {
    cpu_split(threads, a.rows, 64, places_same[LAC_F64][a.width], &job);
    job.size = places_size(&job, most);
  }
  if (job.size > 1) {
    LAC_ALLOC(job.first, a.rows + 1);
    places_cut(&job);
    if (rows->columns->type == LAC_I32 && job.nodes > INT32_MAX / job.size) job.size = 1;  // no room for the places
  }
  told[0] = (double)job.size, told[1] = (double)job.nodes;
  if (job.size == 1) goto done;
  LAC_TRY(lac_buffer_create(ctx, rows->columns->type, a.rows, &made));
  job.place = made->host;
  cpu_split(threads, job.nodes, 64, places_nodes[values->meta.dtype][a.width], &job);
  *places = made, made = NULL;
done:
  lac_object_release(made);
  lac_free(job.same);
  lac_free(job.first);
  return status;
}

lac_status cpu_smoothed_spread(lac_context *ctx, const lac_rows *rows, const lac_buffer *places, int64_t count,
                               lac_buffer **offsets, lac_buffer **columns) {
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows);
  int threads = cpu_threads(ctx, a.nnz);
  spread_job job = {.a = &a, .place = places->host, .count = count};
  lac_buffer *starts = NULL, *cols = NULL;

  LAC_TRY(lac_buffer_create(ctx, rows->offsets->type, count + 1, &starts));
  LAC_TRY(lac_buffer_create(ctx, rows->columns->type, a.nnz, &cols));
  job.offsets = starts->host, job.columns = cols->host;
  cpu_split(threads, a.rows, 64, spread_offsets[LAC_F64][a.width], &job);
  cpu_split(threads, a.nnz, 64, spread_columns[LAC_F64][a.width], &job);
  *offsets = starts, starts = NULL;
  *columns = cols, cols = NULL;
done:
  lac_object_release(starts);
  lac_object_release(cols);
  return status;
}

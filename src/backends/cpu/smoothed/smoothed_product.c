// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_product.c
/// R = P^H and the Galerkin product R A P.
///
///     (A P)_i     = sum_k a_ik P_k
///     (R A P)_I   = sum_i r_Ii (A P)_i
///
/// Rows of A P are made when a row of the result asks for them, and kept while a chunk of rows is under way: neighbours
/// ask for the same ones, and a chunk's share stays in the cache. A P as a whole is never there.

#include <omp.h>

#include "backends/cpu/smoothed/smoothed_blocks.h"

// Rows of the result for which rows of A P are kept, and how many entries of these at most; when counting starts anew.
enum { GALERKIN_CHUNK = 1 << 13, GALERKIN_KEPT = 1 << 20, GALERKIN_COUNT = 1 << 30 };

typedef struct galerkin_job {
  const cpu_sparse *a, *p, *r;
  const void *values, *p_values, *r_values;
  const cpu_sparse *c;  // the result's structure, where it is known
  void *out;
  int64_t *lengths;  // of the result's rows, where it is not
} galerkin_job;

/// The workspace of one thread.
typedef struct galerkin_work {
  int64_t begin, end;                   // rows of the result
  void *where;                          // for each row of A: when its row of A P was made, counted from 1
  int64_t made, entries;                // rows of A P made in all, and their entries
  int64_t made_before, entries_before;  // the present chunk
  void *mark, *place;                   // for each column: where it stands in the present row of A P, and of the result
  int64_t *start;                       // of the chunk's rows of A P
  int64_t start_room;
  void *columns, *numbers;  // of the chunk's rows of A P
  int64_t room;
  void *c_columns, *c_numbers;  // the result's rows, where its structure is not known
  int64_t c_count, c_room;
  bool failed;
} galerkin_work;

/// Room for so many items of a size: half as much again as there was, or the size that is needed.
static bool grow(void **block, int64_t *room, int64_t need, size_t size) {
  if (need <= *room) return true;
  int64_t more = need + need / 2 + 256;
  void *larger = lac_realloc(*block, (size_t)more * size);
  if (!larger) return false;
  *block = larger;
  *room = more;
  return true;
}

/// The same for columns and numbers together.
static bool grow_both(void **columns, void **numbers, int64_t *room, int64_t need, size_t column, size_t number) {
  int64_t before = *room, same = *room;
  return grow(columns, &before, need, column) && grow(numbers, &same, need, number) && (*room = same, true);
}

typedef void (*galerkin_walk)(const galerkin_job *job, galerkin_work *work);
typedef void (*gather_walk)(const galerkin_work *work, const void *offsets, void *columns, void *out);

typedef struct transpose_job {
  const cpu_sparse *p;
  const void *p_values;
  int64_t *next;  // of this thread: where the next entry of each column goes
  void *columns, *values;
} transpose_job;

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_product_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static const galerkin_walk galerkin_rows[4][4] = TABLE_INDEXED(galerkin_rows);
static const gather_walk galerkin_gather[4][4] = TABLE_INDEXED(galerkin_gather);
static const cpu_part transpose_count[4][4] = TABLE_INDEXED(transpose_count);
static const cpu_part transpose_columns[4][4] = TABLE_INDEXED(transpose_columns);
static const cpu_part transpose_numbers[4][4] = TABLE_INDEXED(transpose_numbers);

static size_t width_offset(lac_width width) { return width == LAC_WIDTH_32_32 ? 4 : 8; }

// -- transposes ------------------------------------------------------------------------------------------------------

/// Run `part` over each thread's rows of P, with the columns' places of that thread.
static void transpose_run(int threads, const transpose_job *job, cpu_part part) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    transpose_job mine = *job;
    int64_t begin = t ? cpu_smoothed_cut(job->p, (double)t / threads) : 0;
    int64_t end = t + 1 == threads ? job->p->rows : cpu_smoothed_cut(job->p, (double)(t + 1) / threads);
    mine.next = job->next + t * job->p->cols;
    if (begin < end) part(&mine, begin, end);
  }
}

/// From the counts of each thread to where its entries begin; offsets of all where the caller wants them.
static void transpose_scan(int threads, const transpose_job *job, void *offsets) {
  bool narrow = job->p->width == LAC_WIDTH_32_32;
  int64_t sum = 0, cols = job->p->cols;
  for (int64_t c = 0; c <= cols; ++c) {
    if (offsets && narrow) ((i32 *)offsets)[c] = (i32)sum;
    if (offsets && !narrow) ((i64 *)offsets)[c] = sum;
    for (int t = 0; c < cols && t < threads; ++t) {
      int64_t count = job->next[t * cols + c];
      job->next[t * cols + c] = sum, sum += count;
    }
  }
}

static lac_status transpose_by(lac_context *ctx, transpose_job *job, void *offsets, cpu_part part) {
  lac_status status = LAC_OK;
  int threads = cpu_threads(ctx, job->p->nnz);

  LAC_ALLOC(job->next, threads * job->p->cols);
  transpose_run(threads, job, transpose_count[LAC_F64][job->p->width]);
  transpose_scan(threads, job, offsets);
  transpose_run(threads, job, part);
done:
  lac_free(job->next);
  return status;
}

lac_status cpu_smoothed_transpose(lac_context *ctx, const lac_rows *given, lac_buffer **offsets, lac_buffer **columns) {
  lac_status status = LAC_OK;
  cpu_sparse p = cpu_sparse_of(given);
  transpose_job job = {.p = &p};
  lac_buffer *starts = NULL, *cols = NULL;

  LAC_TRY(lac_buffer_create(ctx, given->offsets->type, p.cols + 1, &starts));
  LAC_TRY(lac_buffer_create(ctx, given->columns->type, p.nnz, &cols));
  job.columns = cols->host;
  LAC_TRY(transpose_by(ctx, &job, starts->host, transpose_columns[LAC_F64][p.width]));
  *offsets = starts, starts = NULL;
  *columns = cols, cols = NULL;
done:
  lac_object_release(starts);
  lac_object_release(cols);
  return status;
}

lac_status cpu_smoothed_transpose_values(lac_context *ctx, const lac_rows *given, const lac_array *p_values,
                                         const lac_rows *r, lac_array *r_values) {
  if (cpu_has_blocks(p_values)) return cpu_block_transpose_values(ctx, given, p_values, r, r_values);
  cpu_sparse p = cpu_sparse_of(given);
  transpose_job job = {.p = &p, .p_values = cpu_data(p_values), .values = cpu_edit(r_values)};
  return transpose_by(ctx, &job, NULL, transpose_numbers[p_values->meta.dtype][p.width]);
}

// -- the product -----------------------------------------------------------------------------------------------------

static void work_close(galerkin_work *works, int threads) {
  for (int t = 0; works && t < threads; ++t) {
    galerkin_work *w = &works[t];
    lac_free(w->where), lac_free(w->mark), lac_free(w->place), lac_free(w->start);
    lac_free(w->columns), lac_free(w->numbers), lac_free(w->c_columns), lac_free(w->c_numbers);
  }
  lac_free(works);
}

static lac_status work_open(lac_context *ctx, const galerkin_job *job, int threads, galerkin_work **out) {
  lac_status status = LAC_OK;
  galerkin_work *works = NULL;

  LAC_ALLOC(works, threads);
  *out = works;
  for (int t = 0; t < threads; ++t) {
    galerkin_work *w = &works[t];
    w->begin = t ? cpu_smoothed_cut(job->r, (double)t / threads) : 0;
    w->end = t + 1 == threads ? job->r->rows : cpu_smoothed_cut(job->r, (double)(t + 1) / threads);
    w->where = lac_calloc((size_t)job->a->rows + 1, width_offset(job->a->width));
    w->mark = lac_alloc((size_t)job->p->cols * width_offset(job->a->width));
    w->place = lac_alloc((size_t)job->p->cols * width_offset(job->a->width));
    LAC_CHECK(w->where && w->mark && w->place, LAC_ERR_MEMORY, "out of memory: %lld items", (long long)job->a->rows);
  }
done:
  return status;
}

/// All rows of the result, each thread its range.
static lac_status galerkin_run(lac_context *ctx, lac_dtype dtype, const galerkin_job *job, int threads,
                               galerkin_work **works) {
  lac_status status = LAC_OK;
  bool failed = false;

  LAC_TRY(work_open(ctx, job, threads, works));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) galerkin_rows[dtype][job->a->width](job, &(*works)[t]);
  for (int t = 0; t < threads; ++t) failed |= (*works)[t].failed;
  LAC_CHECK(!failed, LAC_ERR_MEMORY, "out of memory for the product of a coarse level of %lld rows",
            (long long)job->r->rows);
done:
  return status;
}

/// Offsets from lengths.
static lac_status galerkin_offsets(lac_context *ctx, const galerkin_job *job, lac_buffer **offsets) {
  lac_status status = LAC_OK;
  int64_t sum = 0, rows = job->r->rows;
  lac_width width = job->a->width;

  for (int64_t i = 0; i < rows; ++i) sum += job->lengths[i];
  LAC_CHECK(width != LAC_WIDTH_32_32 || sum <= INT32_MAX, LAC_ERR_OVERFLOW,
            "a coarse level has %lld entries; give the pattern LAC_WIDTH_64_32", (long long)sum);
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), rows + 1, offsets));
  sum = 0;
  for (int64_t i = 0; i <= rows; ++i) {
    lac_buffer_set(*offsets, i, sum);
    if (i < rows) sum += job->lengths[i];
  }
done:
  return status;
}

lac_status cpu_smoothed_galerkin(lac_context *ctx, const lac_rows *rows, const lac_array *values,
                                 const lac_rows *p_rows, const lac_array *p_values, const lac_rows *r_rows,
                                 const lac_array *r_values, lac_buffer **offsets, lac_buffer **columns,
                                 lac_array **out) {
  if (cpu_has_blocks(values))
    return cpu_block_galerkin(ctx, rows, values, p_rows, p_values, r_rows, r_values, offsets, columns, out);
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows), p = cpu_sparse_of(p_rows), r = cpu_sparse_of(r_rows);
  galerkin_job job = {&a, &p, &r, cpu_data(values), cpu_data(p_values), cpu_data(r_values), NULL, NULL, NULL};
  int threads = cpu_threads(ctx, a.nnz);
  lac_dtype dtype = values->meta.dtype;
  galerkin_work *works = NULL;
  lac_buffer *starts = NULL, *cols = NULL;
  lac_array *numbers = NULL;
  int64_t nnz = 0;

  LAC_ALLOC(job.lengths, r.rows);
  LAC_TRY(galerkin_run(ctx, dtype, &job, threads, &works));
  LAC_TRY(galerkin_offsets(ctx, &job, &starts));
  nnz = lac_buffer_get(starts, r.rows);
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(a.width), nnz, &cols));
  LAC_TRY(lac_array_create(ctx, dtype, 1, &nnz, &numbers));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    galerkin_gather[dtype][a.width](&works[t], starts->host, cols->host, cpu_edit(numbers));
  *offsets = starts, starts = NULL;
  *columns = cols, cols = NULL;
  *out = numbers, numbers = NULL;
done:
  work_close(works, threads);
  lac_free(job.lengths);
  lac_array_destroy(&numbers);
  lac_object_release(starts);
  lac_object_release(cols);
  return status;
}

lac_status cpu_smoothed_galerkin_values(lac_context *ctx, const lac_rows *rows, const lac_array *values,
                                        const lac_rows *p_rows, const lac_array *p_values, const lac_rows *r_rows,
                                        const lac_array *r_values, const lac_rows *c_rows, lac_array *out) {
  if (cpu_has_blocks(values))
    return cpu_block_galerkin_values(ctx, rows, values, p_rows, p_values, r_rows, r_values, c_rows, out);
  cpu_sparse a = cpu_sparse_of(rows), p = cpu_sparse_of(p_rows), r = cpu_sparse_of(r_rows), c = cpu_sparse_of(c_rows);
  galerkin_job job = {&a, &p, &r, cpu_data(values), cpu_data(p_values), cpu_data(r_values), &c, cpu_edit(out), NULL};
  int threads = cpu_threads(ctx, a.nnz);
  galerkin_work *works = NULL;
  lac_status status = galerkin_run(ctx, values->meta.dtype, &job, threads, &works);
  work_close(works, threads);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_block_product.c
/// R = P^H and the Galerkin product R A P of blocks, on structures that are known.
///
///     (A P)_i     = sum_k A_ik P_k
///     (R A P)_I   = sum_i R_Ii (A P)_i
///
/// As of single numbers (smoothed_product.c), rows of A P are made when a row of the result reads them and kept for
/// a chunk of rows; but a column is looked up once for a block.

#include "backends/cpu/smoothed/smoothed_blocks.h"

// Rows of the result for which rows of A P are kept, and how many numbers of these at most.
enum { BLOCK_CHUNK = 1 << 12, BLOCK_KEPT = 1 << 20 };

typedef struct block_product {
  const cpu_sparse *a, *p, *r, *c;
  const void *values, *p_values, *r_values;
  int size, m;  // rows of a node, and of one of the next level
  void *out;
} block_product;

/// The workspace of one thread: the rows of A P of the present chunk.
typedef struct block_work {
  int64_t begin, end;  // rows of the result
  int64_t *where;      // for each row of A: its place among the chunk's; or -1
  int64_t *made;       // the rows of A that have one, in the order in which they were made
  int64_t *start;      // and where their blocks begin
  int64_t rows, blocks;
  int64_t *mark;  // for each column: its place in the present row of A P, or of the result
  int64_t *columns;
  void *numbers;
  int64_t room;  // blocks
  bool failed;
} block_work;

typedef struct block_transpose_job {
  const cpu_sparse *p, *r;
  const void *p_values;
  int size, m;
  void *r_values;
} block_transpose_job;

typedef void (*block_walk)(const block_product *job, block_work *work);

/// Room for so many blocks.
static bool block_grow(block_work *w, int64_t need, size_t bytes) {
  if (need <= w->room) return true;
  int64_t more = need + need / 2 + 256;
  int64_t *columns = lac_realloc(w->columns, (size_t)more * sizeof *columns);
  if (columns) w->columns = columns;
  void *numbers = columns ? lac_realloc(w->numbers, (size_t)more * bytes) : NULL;
  if (!numbers) return false;
  w->numbers = numbers, w->room = more;
  return true;
}

/// Forget the rows of A P.
static void block_forget(block_work *w) {
  for (int64_t n = 0; n < w->rows; ++n) w->where[w->made[n]] = -1;
  w->rows = w->blocks = 0;
}

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_block_product_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static const block_walk block_product_rows[4][4] = TABLE_INDEXED(block_product_rows);
static const cpu_part block_transpose_rows[4][4] = TABLE_INDEXED(block_transpose_rows);

static void block_close(block_work *works, int threads) {
  for (int t = 0; works && t < threads; ++t) {
    block_work *w = &works[t];
    lac_free(w->where), lac_free(w->made), lac_free(w->start), lac_free(w->mark);
    lac_free(w->columns), lac_free(w->numbers);
  }
  lac_free(works);
}

static lac_status block_open(lac_context *ctx, const block_product *job, int threads, block_work **out) {
  lac_status status = LAC_OK;
  block_work *works = NULL;
  int64_t rows = job->a->rows, cols = job->p->cols;

  LAC_ALLOC(works, threads);
  *out = works;
  for (int t = 0; t < threads; ++t) {
    block_work *w = &works[t];
    w->begin = t ? cpu_smoothed_cut(job->r, (double)t / threads) : 0;
    w->end = t + 1 == threads ? job->r->rows : cpu_smoothed_cut(job->r, (double)(t + 1) / threads);
    LAC_ALLOC(w->where, rows);
    LAC_ALLOC(w->made, rows);
    LAC_ALLOC(w->start, rows + 1);
    LAC_ALLOC(w->mark, cols);
    for (int64_t i = 0; i < rows; ++i) w->where[i] = -1;
    for (int64_t c = 0; c < cols; ++c) w->mark[c] = -1;
  }
done:
  return status;
}

lac_status cpu_block_galerkin_values(lac_context *ctx, const lac_rows *rows, const lac_array *values,
                                     const lac_rows *p_rows, const lac_array *p_values, const lac_rows *r_rows,
                                     const lac_array *r_values, const lac_rows *c_rows, lac_array *out) {
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows), p = cpu_sparse_of(p_rows), r = cpu_sparse_of(r_rows), c = cpu_sparse_of(c_rows);
  block_product job = {&a,
                       &p,
                       &r,
                       &c,
                       cpu_data(values),
                       cpu_data(p_values),
                       cpu_data(r_values),
                       cpu_block_rows(p_values),
                       cpu_block_cols(p_values),
                       cpu_edit(out)};
  int threads = cpu_threads(ctx, a.nnz * job.size * job.size);
  block_work *works = NULL;
  bool failed = false;

  LAC_TRY(block_open(ctx, &job, threads, &works));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) block_product_rows[values->meta.dtype][a.width](&job, &works[t]);
  for (int t = 0; t < threads; ++t) failed |= works[t].failed;
  LAC_CHECK(!failed, LAC_ERR_MEMORY, "out of memory for the product of a coarse level of %lld nodes",
            (long long)r.rows);
done:
  block_close(works, threads);
  return status;
}

/// Ones in the places of blocks.
static lac_status block_ones(lac_context *ctx, const lac_rows *rows, lac_array **out) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_array_create(ctx, LAC_F32, 1, &rows->columns->count, out));
  LAC_TRY(cpu_fill(ctx, *out, 1, 0));
done:
  return status;
}

/// The structure is that of a product of single numbers, and known before the blocks are multiplied.
lac_status cpu_block_galerkin(lac_context *ctx, const lac_rows *a, const lac_array *values, const lac_rows *p,
                              const lac_array *p_values, const lac_rows *r, const lac_array *r_values,
                              lac_buffer **offsets, lac_buffer **columns, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *ones[3] = {NULL, NULL, NULL}, *counts = NULL, *made = NULL;
  lac_buffer *starts = NULL, *cols = NULL;
  int64_t m = cpu_block_cols(p_values);
  lac_rows c;

  LAC_TRY(block_ones(ctx, a, &ones[0]));
  LAC_TRY(block_ones(ctx, p, &ones[1]));
  LAC_TRY(block_ones(ctx, r, &ones[2]));
  LAC_TRY(cpu_smoothed_galerkin(ctx, a, ones[0], p, ones[1], r, ones[2], &starts, &cols, &counts));
  LAC_TRY(lac_array_create(ctx, values->meta.dtype, 3, (const int64_t[]){cols->count, m, m}, &made));
  c = (lac_rows){r->rows, r->rows, starts, cols, NULL};
  LAC_TRY(cpu_block_galerkin_values(ctx, a, values, p, p_values, r, r_values, &c, made));
  *offsets = starts, starts = NULL;
  *columns = cols, cols = NULL;
  *out = made, made = NULL;
done:
  for (int i = 0; i < 3; ++i) lac_array_destroy(&ones[i]);
  lac_array_destroy(&counts);
  lac_array_destroy(&made);
  lac_object_release(starts);
  lac_object_release(cols);
  return status;
}

lac_status cpu_block_transpose_values(lac_context *ctx, const lac_rows *p_rows, const lac_array *p_values,
                                      const lac_rows *r_rows, lac_array *r_values) {
  cpu_sparse p = cpu_sparse_of(p_rows), r = cpu_sparse_of(r_rows);
  block_transpose_job job = {
      &p, &r, cpu_data(p_values), cpu_block_rows(p_values), cpu_block_cols(p_values), cpu_edit(r_values)};
  cpu_smoothed_split(ctx, &r, p_values->count, block_transpose_rows[p_values->meta.dtype][p.width], &job);
  return LAC_OK;
}

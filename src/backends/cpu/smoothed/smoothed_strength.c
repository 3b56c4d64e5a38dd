// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_strength.c
/// What smoothed aggregation reads off a matrix: its strong entries, its diagonal scalings, how large S A is.

#include <math.h>

#include "backends/cpu/smoothed/smoothed_blocks.h"
#include "core/numbers/search.h"

enum { STRENGTH_BLOCK = 2048 };  // rows whose sums and maxima are taken together, whatever the threads

/// Rows of one matrix after the other, with their diagonals. Jobs begin with it.
typedef struct rows_job {
  const cpu_sparse *a;
  const void *values;
  void *root;  // sqrt |a_ii| of the item
  int64_t item;
} rows_job;

typedef struct strength_job {
  rows_job rows;
  double theta;
  uint8_t *kinds;
  int64_t *weak;  // of each block of rows
} strength_job;

typedef struct contrast_job {
  rows_job rows;
  double share;
  double *largest;  // of each block of rows
} contrast_job;

typedef struct diagonals_job {
  const cpu_sparse *a;
  const void *values;
  const uint8_t *kinds;
  lac_smoother smoother;
  void *s, *f;
  double (*bounds)[2];  // of each block of rows
} diagonals_job;

typedef struct power_job {
  const cpu_sparse *a;
  const void *values;
  const uint8_t *kinds;
  const void *s, *x;
  double scale;
  void *y;
  double *squares;  // of each block of rows
} power_job;

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_strength_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static const cpu_part root_blocks[4][4] = TABLE_INDEXED(root_blocks);
static const cpu_part contrast_blocks[4][4] = TABLE_INDEXED(contrast_blocks);
static const cpu_part strength_blocks[4][4] = TABLE_INDEXED(strength_blocks);
static const cpu_part diagonals_blocks[4][4] = TABLE_INDEXED(diagonals_blocks);
static const cpu_part power_blocks[4][4] = TABLE_INDEXED(power_blocks);

static int64_t strength_count(const cpu_sparse *a) { return (a->rows + STRENGTH_BLOCK - 1) / STRENGTH_BLOCK; }

cpu_sparse cpu_sparse_of(const lac_rows *rows) {
  bool is_narrow = rows->offsets->type == LAC_I32, has_wide_columns = rows->columns->type == LAC_I64;
  lac_width width = is_narrow ? LAC_WIDTH_32_32 : has_wide_columns ? LAC_WIDTH_64_64 : LAC_WIDTH_64_32;
  return (cpu_sparse){rows->rows,
                      rows->cols,
                      rows->columns->count,
                      width,
                      rows->offsets->host,
                      rows->columns->host,
                      rows->slots ? rows->slots->host : NULL};
}

int64_t cpu_smoothed_cut(const cpu_sparse *a, double share) {
  bool narrow = a->width == LAC_WIDTH_32_32;
  const i32 *o32 = a->offsets;
  const i64 *o64 = a->offsets;
  double before = share * ((double)a->nnz + (double)a->rows);
  int64_t low = 0, high = a->rows;
  LAC_SEARCH(low, high, i, (double)(narrow ? o32[i] : o64[i]) + (double)i < before)
  return low;
}

typedef struct split_job {
  const cpu_sparse *a;
  cpu_part part;
  const void *job;
  int64_t threads;
} split_job;

static void split_part(const void *job, int64_t begin, int64_t end) {
  const split_job *j = job;
  int64_t from = begin ? cpu_smoothed_cut(j->a, (double)begin / (double)j->threads) : 0;
  int64_t to = end == j->threads ? j->a->rows : cpu_smoothed_cut(j->a, (double)end / (double)j->threads);
  if (from < to) j->part(j->job, from, to);
}

void cpu_smoothed_split(lac_context *ctx, const cpu_sparse *a, int64_t work, cpu_part part, const void *job) {
  int threads = cpu_threads(ctx, work);
  split_job split = {a, part, job, threads};
  cpu_split(threads, threads, 1, split_part, &split);
}

static lac_status rows_open(lac_context *ctx, const cpu_sparse *a, const lac_array *values, rows_job *rows) {
  lac_status status = LAC_OK;
  *rows = (rows_job){.a = a, .values = cpu_data(values), .root = lac_alloc((size_t)a->rows * sizeof(double))};
  LAC_CHECK(rows->root, LAC_ERR_MEMORY, "out of memory: %lld numbers", (long long)a->rows);
done:
  return status;
}

/// Blocks of rows of one matrix after the other, each with its diagonal.
static void rows_run(lac_context *ctx, rows_job *rows, int64_t items, lac_dtype dtype, const cpu_part part[4][4]) {
  int threads = cpu_threads(ctx, rows->a->nnz);
  int64_t blocks = strength_count(rows->a);
  for (rows->item = 0; rows->item < items; ++rows->item) {
    cpu_split(threads, blocks, 1, root_blocks[dtype][rows->a->width], rows);
    cpu_split(threads, blocks, 1, part[dtype][rows->a->width], rows);
  }
}

lac_status cpu_smoothed_strength(lac_context *ctx, const lac_rows *rows, int64_t items, const lac_array *values,
                                 double theta, lac_buffer **out, lac_array *found) {
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows);
  int64_t blocks = strength_count(&a), weak = 0;
  strength_job job = {.theta = theta};
  lac_buffer *kinds = NULL;

  LAC_TRY(lac_buffer_create(ctx, LAC_I32, (a.nnz + 3) / 4, &kinds));  // four bytes in an integer
  job.kinds = kinds->host;
  memset(job.kinds, 0, (size_t)(a.nnz + 3) / 4 * 4);
  LAC_TRY(rows_open(ctx, &a, values, &job.rows));
  LAC_ALLOC(job.weak, blocks);
  rows_run(ctx, &job.rows, items, values->meta.dtype, strength_blocks);
  for (int64_t b = 0; b < blocks; ++b) weak += job.weak[b];
  *(double *)cpu_edit(found) = (double)weak;
  *out = kinds, kinds = NULL;
done:
  lac_object_release(kinds);
  lac_free(job.rows.root);
  lac_free(job.weak);
  return status;
}

lac_status cpu_smoothed_contrast(lac_context *ctx, const lac_rows *rows, int64_t items, const lac_array *values,
                                 double share, lac_array *found) {
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows);
  int64_t blocks = strength_count(&a);
  contrast_job job = {.share = share};
  double largest = 0;

  LAC_TRY(rows_open(ctx, &a, values, &job.rows));
  LAC_ALLOC(job.largest, blocks);
  rows_run(ctx, &job.rows, items, values->meta.dtype, contrast_blocks);
  for (int64_t b = 0; b < blocks; ++b) largest = fmax(largest, job.largest[b]);
  *(double *)cpu_edit(found) = largest;
done:
  lac_free(job.rows.root);
  lac_free(job.largest);
  return status;
}

lac_status cpu_smoothed_diagonals(lac_context *ctx, const lac_rows *rows, const lac_array *values,
                                  const lac_buffer *kinds, lac_smoother smoother, lac_array *s, lac_array *f,
                                  lac_array *found) {
  if (cpu_has_blocks(values)) return cpu_block_diagonals(ctx, rows, values, kinds, smoother, s, f, found);
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows);
  int64_t blocks = strength_count(&a);
  diagonals_job job = {&a, cpu_data(values), kinds->host, smoother, cpu_edit(s), cpu_edit(f), NULL};
  double *bounds = cpu_edit(found);

  LAC_ALLOC(job.bounds, blocks);
  cpu_split(cpu_threads(ctx, a.nnz), blocks, 1, diagonals_blocks[values->meta.dtype][a.width], &job);
  bounds[0] = bounds[1] = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    for (int n = 0; n < 2; ++n) bounds[n] = fmax(bounds[n], job.bounds[b][n]);
  }
done:
  lac_free(job.bounds);
  return status;
}

lac_status cpu_smoothed_power_step(lac_context *ctx, const lac_rows *rows, const lac_array *values,
                                   const lac_buffer *kinds, const lac_array *s, double scale, const lac_array *x,
                                   lac_array *y, lac_array *found) {
  if (cpu_has_blocks(values)) return cpu_block_power_step(ctx, rows, values, kinds, s, scale, x, y, found);
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows);
  int64_t blocks = strength_count(&a);
  power_job job = {&a,  cpu_data(values), kinds ? kinds->host : NULL, cpu_data(s), cpu_data(x), scale, cpu_edit(y),
                   NULL};
  double sum = 0;

  LAC_ALLOC(job.squares, blocks);
  cpu_split(cpu_threads(ctx, a.nnz), blocks, 1, power_blocks[values->meta.dtype][a.width], &job);
  for (int64_t b = 0; b < blocks; ++b) sum += job.squares[b];
  *(double *)cpu_edit(found) = sqrt(sum);
done:
  lac_free(job.squares);
  return status;
}

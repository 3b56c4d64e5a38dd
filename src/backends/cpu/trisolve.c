// SPDX-License-Identifier: Apache-2.0
/// @file trisolve.c
/// op(T) x = b, T lower or upper triangular
///
/// A transposed solve walks the rows of the transpose, so that every solve is a substitution by rows. Items of a batch are
/// shared among threads; within one the rows follow each other.

#include "backends/cpu/cpu.h"
#include "backends/cpu/types.h"

enum { SOLVE_TILE = 64 };

typedef struct solve_job {
  const void *offsets, *columns, *slots;  // slots == NULL: entry p has slot p
  int64_t rows, nnz, k;
  double sign;  // -1 conjugates the values
  bool is_lower, is_unit;
  const void *a, *b;
  void *x;
  lac_batch batch;
} solve_job;

#define KERNEL_FILE "backends/cpu/trisolve_kernel.h"
#include "backends/cpu/instantiate_indexed.h"

static const cpu_part solve_items[4][4] = TABLE_INDEXED(solve_items);
typedef int64_t (*zero_finder)(const solve_job *, const void *, int64_t, int64_t);
static const zero_finder find_zero[4][4] = TABLE_INDEXED(find_zero);

/// Refuse a diagonal that is not everywhere stored and other than zero, before anything is written.
static lac_status diagonal_check(lac_context *ctx, const lac_pattern *p, const lac_array *a, const solve_job *job) {
  lac_status status = LAC_OK;
  size_t bytes = (size_t)p->nnz * lac_dtype_size(a->meta.dtype);
  int64_t items = p->nnz ? a->count / p->nnz : 1;

  for (int64_t item = 0; item < items; ++item) {
    const char *values = (const char *)job->a + (size_t)item * bytes;
    int64_t row = find_zero[a->meta.dtype][p->width](job, values, 0, job->rows);
    if (row < 0) continue;
    int64_t begin = lac_buffer_get(p->offsets, row), end = lac_buffer_get(p->offsets, row + 1);
    bool stored = false;
    for (; begin < end && !stored; ++begin) stored = lac_buffer_get(p->columns, begin) == row;
    LAC_CHECK(stored, LAC_ERR_SINGULAR,
              "trisolve: row %lld has no diagonal entry; store one in every row, or solve with LAC_UNIT for ones",
              (long long)row);
    LAC_CHECK(items == 1, LAC_ERR_SINGULAR,
              "trisolve: the diagonal entry of row %lld is zero in item %lld of the batch", (long long)row,
              (long long)item);
    LAC_CHECK(false, LAC_ERR_SINGULAR, "trisolve: the diagonal entry of row %lld is zero; the matrix is singular",
              (long long)row);
  }
done:
  return status;
}

lac_status cpu_trisolve(lac_context *ctx, const lac_pattern *p, lac_triangle triangle, lac_diagonal diagonal,
                        lac_side side, const lac_array *a, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  bool transposed = lac_side_transposes(side);
  const lac_meta *metas[] = {&a->meta, &b->meta, &x->meta};
  solve_job job = {.rows = p->rows,
                   .nnz = p->nnz,
                   .k = b->meta.shape[b->meta.ndim - 1],
                   .sign = lac_side_conjugates(side) ? -1 : 1,
                   .is_lower = (triangle == LAC_LOWER) != transposed,
                   .is_unit = diagonal == LAC_UNIT,
                   .a = cpu_data(a),
                   .b = cpu_data(b),
                   .x = cpu_edit(x)};
  lac_rows rows;

  if (x->count == 0) return LAC_OK;
  LAC_TRY(lac_pattern_walk(ctx, p, transposed, &rows));
  job.offsets = rows.offsets->host;
  job.columns = rows.columns->host;
  job.slots = rows.slots ? rows.slots->host : NULL;
  if (!job.is_unit) LAC_TRY(diagonal_check(ctx, p, a, &job));
  lac_batch_init(&job.batch, 3, metas, (const int[]){1, 2, 2});
  cpu_split(cpu_threads(ctx, (p->nnz + p->rows) * job.k * job.batch.count), job.batch.count, 1,
            solve_items[x->meta.dtype][p->width], &job);
done:
  return status;
}

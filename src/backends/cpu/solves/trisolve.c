// SPDX-License-Identifier: Apache-2.0
/// @file trisolve.c
/// op(T) x = b, T lower or upper triangular
///
///     one column     a chain needs no indices; other triangles are swept row by row, transposed ones by scattering
///     many columns   SOLVE_TILE bytes of columns at a time stay in registers; transposed triangles by the kept
///                    transpose
///     threads        share items of a batch and tiles of columns; where there are too few, the rows of each level set
///
/// Levels take the rows out of the order in which they lie in memory, and a sweep in that order is fast. Measured on
/// random triangles (a million rows, 8 entries each, 200 levels): 26 ms swept, by levels 15, 9 and 5 on 4, 8 and 16
/// threads; two threads need longer than one. So levels are used from LEVEL_THREADS threads on, where one has
/// LEVEL_WORK entries and rows on average to pay for its barrier. Those of a five-point grid have fewer.

#include "backends/cpu/solves/levels.h"
#include "backends/cpu/base/types.h"
#include "kernels/triangle.h"

#include <omp.h>
#include <stdatomic.h>

enum { SOLVE_TILE = 256, CHAIN_CHUNK = 512, LEVEL_WORK = 16384, LEVEL_THREADS = 4, LEVEL_AHEAD = 12 };

typedef struct solve_job {
  const void *offsets, *columns, *slots;  // slots == NULL: entry p has slot p
  const void *order;                      // rows by level
  int64_t rows, nnz, k, tiles;
  double sign;  // -1 conjugates the values
  bool is_lower, is_unit, scatters;
  const void *a, *b;
  void *x;
  atomic_bool *zero;  // a zero was met on the diagonal
  lac_batch batch;
} solve_job;

static inline void solve_note_zero(const solve_job *job) {
  atomic_store_explicit(job->zero, true, memory_order_relaxed);
}

#define KERNEL_FILE "backends/cpu/solves/trisolve_chain_kernel.h"
#include "backends/cpu/base/instantiate.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/solves/trisolve_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static const cpu_part solve_chains[4] = TABLE(solve_chains);
static const cpu_part solve_units[4][4] = TABLE_INDEXED(solve_units);
typedef void (*solve_rows)(const solve_job *job, int64_t item, int64_t begin, int64_t end);
static const solve_rows solve_level[4][4] = TABLE_INDEXED(solve_level);

// -- the diagonal ----------------------------------------------------------------------------------------------------

/// Name the first zero on the diagonal, which a solve has met.
static lac_status name_zero(lac_context *ctx, const lac_pattern *p, lac_triangle triangle, const lac_array *a) {
  lac_status status = LAC_OK;
  size_t size = lac_dtype_size(a->meta.dtype);
  int64_t items = a->count / p->nnz;

  for (int64_t item = 0; item < items; ++item) {
    const char *values = (const char *)cpu_data(a) + (size_t)(item * p->nnz) * size;
    for (int64_t i = 0; i < p->rows; ++i) {
      int64_t slot =
          lac_buffer_get(p->offsets, triangle == LAC_TRIANGLE_LOWER ? i + 1 : i) - (triangle == LAC_TRIANGLE_LOWER);
      const char *d = values + (size_t)slot * size;
      bool is_zero = a->meta.dtype == LAC_F32   ? *(const float *)(const void *)d == 0
                     : a->meta.dtype == LAC_F64 ? *(const double *)(const void *)d == 0
                     : a->meta.dtype == LAC_C64 ? *(const c64 *)(const void *)d == 0
                                                : *(const c128 *)(const void *)d == 0;
      if (!is_zero) continue;
      LAC_CHECK(items == 1, LAC_ERR_SINGULAR,
                "trisolve: the diagonal entry of row %lld is zero in item %lld of the batch", (long long)i,
                (long long)item);
      LAC_FAIL(LAC_ERR_SINGULAR, "trisolve: the diagonal entry of row %lld is zero; the matrix is singular",
               (long long)i);
    }
  }
done:
  return status;
}

// -- ways ------------------------------------------------------------------------------------------------------------

/// Whether all of a bidiagonal is stored: its entries are counted, and no entry lies elsewhere.
static bool is_chain(const lac_pattern *p, const lac_band *band, lac_triangle triangle, bool is_unit) {
  int64_t away = triangle == LAC_TRIANGLE_LOWER ? band->low : band->high,
          near = triangle == LAC_TRIANGLE_LOWER ? band->high : band->low;
  return p->rows > 1 && away == (triangle == LAC_TRIANGLE_LOWER ? -1 : 1) && near == (is_unit ? away : 0) &&
         p->nnz == (is_unit ? p->rows - 1 : 2 * p->rows - 1);
}

static void run_levels(int threads, const cpu_levels *levels, solve_rows rows, const solve_job *job) {
#pragma omp parallel num_threads(threads)
  {
    int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
    for (int64_t item = 0; item < job->batch.count; ++item) {
      for (int64_t l = 0; l < levels->count; ++l) {
        int64_t first = levels->offsets[l], count = levels->offsets[l + 1] - first;
        rows(job, item, first + count * me / all, first + count * (me + 1) / all);
#pragma omp barrier
      }
    }
  }
}

/// Sweeps on as many threads as there are units for, else levels where they are wide.
static lac_status run_sweeps(lac_context *ctx, const lac_pattern *p, lac_form form, lac_dtype dtype, solve_job *job) {
  lac_status status = LAC_OK;
  bool transposed = lac_form_transposes(form);
  int64_t units = job->batch.count * job->tiles;
  int threads = cpu_threads(ctx, (p->nnz + p->rows) * job->k * job->batch.count);
  cpu_levels *levels = NULL;
  lac_rows rows;

  job->scatters = transposed && job->k == 1;
  LAC_TRY(lac_pattern_walk(ctx, p, transposed && !job->scatters, &rows));
  if (threads >= LEVEL_THREADS && units < threads / 2) {
    lac_rows walk;
    LAC_TRY(lac_pattern_walk(ctx, p, transposed, &walk));
    LAC_TRY(cpu_levels_get(ctx, p, &walk, job->is_lower, LEVEL_WORK, &levels));
    if (levels->count) rows = walk, job->scatters = false, job->order = levels->order->host;
  }
  job->offsets = rows.offsets->host;
  job->columns = rows.columns->host;
  job->slots = rows.slots ? rows.slots->host : NULL;
  if (levels && levels->count) {
    run_levels(threads, levels, solve_level[dtype][p->width], job);
  } else {
    cpu_split(threads, units, 1, solve_units[dtype][p->width], job);
  }
done:
  lac_object_release(levels);
  return status;
}

lac_status cpu_trisolve(lac_context *ctx, const lac_pattern *p, lac_triangle triangle, lac_diagonal diagonal,
                        lac_form form, const lac_array *a, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const lac_meta *metas[] = {&a->meta, &b->meta, &x->meta};
  lac_dtype dtype = x->meta.dtype;
  int64_t k = b->meta.shape[b->meta.ndim - 1], tile = SOLVE_TILE / (int64_t)lac_dtype_size(dtype);
  atomic_bool zero = false;
  solve_job job = {.rows = p->rows,
                   .nnz = p->nnz,
                   .k = k,
                   .tiles = (k + tile - 1) / tile,
                   .sign = lac_form_conjugates(form) ? -1 : 1,
                   .is_lower = (triangle == LAC_TRIANGLE_LOWER) != lac_form_transposes(form),
                   .is_unit = diagonal == LAC_DIAGONAL_UNIT,
                   .a = cpu_data(a),
                   .b = cpu_data(b),
                   .x = cpu_edit(x),
                   .zero = &zero};
  const lac_band *band = NULL;

  if (x->count == 0) return LAC_OK;
  LAC_TRY(lac_pattern_band(ctx, p, &band));
  if (!job.is_unit) LAC_TRY(lac_triangle_require_diagonal(ctx, band, triangle));
  lac_batch_init(&job.batch, 3, metas, (const int[]){1, 2, 2});
  if (k == 1 && is_chain(p, band, triangle, job.is_unit)) {
    cpu_split(cpu_threads(ctx, p->nnz * job.batch.count), job.batch.count, 1, solve_chains[dtype], &job);
  } else {
    LAC_TRY(run_sweeps(ctx, p, form, dtype, &job));
  }
  if (atomic_load(&zero)) LAC_TRY(name_zero(ctx, p, triangle, a));
done:
  return status;
}

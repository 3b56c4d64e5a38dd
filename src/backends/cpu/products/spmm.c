// SPDX-License-Identifier: Apache-2.0
/// @file spmm.c
/// y = op(A) x
///
/// A and conj(A) are walked by rows. A^T and A^H are gathered by the rows of the kept transpose, or scattered by the
/// rows of A where one thread works on one column, or on many columns of a matrix whose entries stand anywhere.

#include "backends/cpu/base/passes.h"
#include "backends/cpu/products/block.h"
#include "backends/cpu/base/types.h"

// How long before they are needed entries, and rows of x, are asked for: far enough for memory to answer, near enough
// to still be in the first cache.
enum { SPMM_AHEAD = 256, SPMM_ROWS_AHEAD = 8 };
enum { SPMM_CACHED_BYTES = 4 << 20 };  // values up to which nothing need be prefetched

static inline void ask_for_row(const void *x, int64_t row, size_t bytes) {
  const char *line = (const char *)x + (size_t)row * bytes;
  for (size_t b = 0; b < bytes && b < CPU_BYTES_AHEAD; b += 64) __builtin_prefetch(line + b, 0, 3);
}

#define KERNEL_FILE "backends/cpu/base/ask_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/products/spmm_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static const cpu_pass_rows spmv[4][4] = TABLE_INDEXED(spmv);
static const cpu_pass_rows spmv_gathered[4][4] = TABLE_INDEXED(spmv_gathered);
static const cpu_pass_rows spmv_scattered[4][4] = TABLE_INDEXED(spmv_scattered);
static const cpu_pass_rows spmm_scattered[4][4] = TABLE_INDEXED(spmm_scattered);
static const cpu_pass_rows spmm_rows[4][4] = TABLE_INDEXED(spmm_rows);

/// Whether every row of y is as long as whole lines, and begins where a part of one can be streamed.
static bool rows_are_lines(const lac_array *y, int64_t k) {
  return (uintptr_t)y->storage->data % 16 == 0 && k * (int64_t)lac_dtype_size(y->meta.dtype) % 64 == 0;
}

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/// Whether A^T x shall be scattered by one thread: for several columns only real numbers in whole blocks and a single
/// item, so that the bits are those of gathering, and only where gathering would ask for values and rows from anywhere.
static bool spmm_scatters(lac_context *ctx, const lac_pattern *p, const lac_array *a, const lac_array *x,
                          const lac_array *y, int64_t k) {
  int64_t bytes = k * (int64_t)lac_dtype_size(y->meta.dtype);
  lac_rows rows;
  if (cpu_threads(ctx, k * most(a->count, p->nnz * most(x->count / k / p->rows, y->count / k / p->cols))) > 1)
    return false;
  if (k == 1) return true;
  if (lac_dtype_is_complex(y->meta.dtype) || bytes % 64 ||
      a->count + x->count + y->count != p->nnz + k * (p->rows + p->cols))
    return false;
  return lac_pattern_walk(ctx, p, false, &rows) == LAC_OK && cpu_rows_ahead(&rows, (size_t)bytes) > 0;
}

lac_status cpu_spmm(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a, const lac_array *x,
                    lac_array *y) {
  lac_status status = LAC_OK;
  bool transposed = lac_form_transposes(form), scatters = false;
  int64_t k = x->meta.shape[x->meta.ndim - 1];
  lac_dtype dtype = y->meta.dtype;
  cpu_passes passes;
  lac_rows rows;

  if (lac_pattern_has_blocks(p)) return cpu_block_spmm(ctx, p, form, a, x, y);
  if (y->count == 0) return LAC_OK;
  if (p->nnz == 0 || a->count == 0 || x->count == 0) return cpu_fill(ctx, y, 0, 0);
  passes.pass = (cpu_pass){.k = k, .sign = lac_form_conjugates(form) ? -1 : 1};
  scatters = transposed && spmm_scatters(ctx, p, a, x, y, k);
  LAC_TRY(lac_pattern_walk(ctx, p, transposed && !scatters, &rows));
  cpu_passes_init(&passes, &rows, (const lac_array *const[]){a, x}, y, (const int[]){1, 2, 2});
  passes.pass.streams = cpu_streams(y) && rows_are_lines(y, k) && y->count == passes.batch.count * rows.rows * k;
  passes.pass.ahead = scatters && k == 1 ? 0 : cpu_rows_ahead(&rows, (size_t)k * lac_dtype_size(dtype));
  passes.pass.is_large = passes.pass.ahead || p->nnz * (int64_t)lac_dtype_size(dtype) > SPMM_CACHED_BYTES;
  passes.kernel = (k > 1        ? scatters ? spmm_scattered : spmm_rows
                   : scatters   ? spmv_scattered
                   : transposed ? spmv_gathered
                                : spmv)[dtype][p->width];
  cpu_passes_run(ctx, &passes, scatters);
done:
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file spmm.c
/// y = op(A) x
///
/// A and conj(A) are walked by rows. A^T and A^H are gathered by the rows of the kept transpose, or scattered by the
/// rows of A where one thread works on one column, or on many columns of a matrix whose entries stand anywhere.
///
/// Where entries stand anywhere and x is beyond the last cache, each would bring its row of x from memory. Some columns
/// of x are then brought together, as many as stay in that cache, and multiplied by all of A, and the next ones
/// afterwards. Each number of y is the same sum in the same order. That takes memory, for these columns and for the
/// values of A^T in its order; where there is none, x is read as it is.

#include "backends/cpu/base/passes.h"
#include "backends/cpu/products/block.h"
#include "backends/cpu/base/types.h"
#include "core/memory_impl.h"

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
static const cpu_pass_rows spmm_values[4][4] = TABLE_INDEXED(spmm_values);

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

// -- some columns at a time ------------------------------------------------------------------------------------------

/// Columns of x that are brought together.
typedef struct spmm_tile {
  const char *x;      // the first column
  char *packed;       // where they are brought
  size_t row, width;  // bytes of a row of x, and of what is taken of it
} spmm_tile;

static void tile_pack(const void *job, int64_t begin, int64_t end) {
  const spmm_tile *t = job;
  for (int64_t i = begin; i < end; ++i) {
    memcpy(t->packed + (size_t)i * t->width, t->x + (size_t)i * t->row, t->width);
  }
}

/// One item, `columns` at a time. `values` has room for its values in the order of the walk, where they are not.
static void spmm_tiles(int threads, const cpu_passes *passes, cpu_pass pass, int64_t columns, size_t number,
                       cpu_pass_rows order, char *packed, void *values) {
  int64_t k = pass.k;
  spmm_tile t = {.packed = packed, .row = (size_t)k * number};
  cpu_passes walk = *passes;
  walk.pass = pass;
  if (pass.slots) {
    walk.kernel = order, walk.pass.out = values;
    cpu_pass_run(threads, &walk);
    walk.kernel = passes->kernel, walk.pass.in[0] = values, walk.pass.slots = NULL;
  }
  walk.pass.in[1] = packed;
  for (int64_t j = 0; j < k; j += columns) {
    walk.pass.k = columns < k - j ? columns : k - j;
    walk.pass.out = (char *)pass.out + (size_t)j * number;
    t.x = (const char *)pass.in[1] + (size_t)j * number;
    t.width = (size_t)walk.pass.k * number;
    cpu_split(threads, pass.cols, 1, tile_pack, &t);
    cpu_pass_run(threads, &walk);
  }
}

/// All items; false: there is no memory.
static bool spmm_by_tiles(lac_context *ctx, const cpu_passes *passes, int64_t columns, size_t number,
                          cpu_pass_rows order) {
  const cpu_pass *pass = &passes->pass;
  int threads = cpu_passes_threads(ctx, passes);
  size_t nnz = (size_t)lac_buffer_get(passes->offsets, pass->rows);
  char *packed = lac_alloc((size_t)(pass->cols * columns) * number);
  void *values = pass->slots ? lac_alloc(nnz * number) : NULL;
  bool has_room = packed && (values || !pass->slots);

  for (int64_t i = 0; has_room && i < passes->batch.count; ++i) {
    spmm_tiles(threads, passes, cpu_pass_of(passes, i), columns, number, order, packed, values);
  }
  lac_free(packed);
  lac_free(values);
  return has_room;
}

// -- the kernel ------------------------------------------------------------------------------------------------------

lac_status cpu_spmm(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a, const lac_array *x,
                    lac_array *y) {
  lac_status status = LAC_OK;
  bool transposed = lac_form_transposes(form), scatters = false;
  int64_t k = x->meta.shape[x->meta.ndim - 1], columns;
  lac_dtype dtype = y->meta.dtype;
  size_t number = lac_dtype_size(dtype);
  cpu_passes passes;
  lac_rows rows;

  if (lac_pattern_has_blocks(p)) return cpu_block_spmm(ctx, p, form, a, x, y);
  if (y->count == 0) return LAC_OK;
  if (p->nnz == 0 || a->count == 0 || x->count == 0) return cpu_fill(ctx, y, 0, 0);
  passes.pass = (cpu_pass){.k = k, .stride = k, .sign = lac_form_conjugates(form) ? -1 : 1};
  scatters = transposed && spmm_scatters(ctx, p, a, x, y, k);
  LAC_TRY(lac_pattern_walk(ctx, p, transposed && !scatters, &rows));
  cpu_passes_init(&passes, &rows, (const lac_array *const[]){a, x}, y, (const int[]){1, 2, 2});
  passes.pass.streams = cpu_streams(y) && rows_are_lines(y, k) && y->count == passes.batch.count * rows.rows * k;
  columns = scatters ? k : cpu_tile_columns(&rows, k, number);
  passes.pass.ahead = scatters && k == 1 ? 0 : cpu_rows_ahead(&rows, (size_t)columns * number);
  passes.pass.is_large = passes.pass.ahead || p->nnz * (int64_t)number > SPMM_CACHED_BYTES;
  passes.kernel = (k > 1        ? scatters ? spmm_scattered : spmm_rows
                   : scatters   ? spmv_scattered
                   : transposed ? spmv_gathered
                                : spmv)[dtype][p->width];
  if (columns == k || !spmm_by_tiles(ctx, &passes, columns, number, spmm_values[dtype][p->width])) {
    cpu_passes_run(ctx, &passes, scatters);
  }
done:
  return status;
}

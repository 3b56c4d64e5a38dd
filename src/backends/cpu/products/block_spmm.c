// SPDX-License-Identifier: Apache-2.0
/// @file block_spmm.c
/// y = op(A) x where A has blocks
///
/// Rows of blocks are cut among threads. A^T and A^H are gathered by the rows of the kept transpose, and the blocks are
/// read turned round.

#include "backends/cpu/base/passes.h"
#include "backends/cpu/products/block.h"
#include "backends/cpu/base/types.h"

enum { BLOCK_AHEAD = 1024 };  // bytes of values before they are needed

#define KERNEL_FILE "backends/cpu/products/block_spmm_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_pass_rows block_spmm[4] = TABLE(block_spmm);

/// Whether y is stored past the caches: it is large, written once, and its rows are whole lines.
static bool block_streams(const lac_array *y, int64_t k, int64_t numbers) {
  bool lines = (uintptr_t)y->storage->data % 64 == 0 && k * (int64_t)lac_dtype_size(y->meta.dtype) % 64 == 0;
  return lines && cpu_streams(y) && y->count == numbers;
}

lac_status cpu_block_spmm(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a, const lac_array *x,
                          lac_array *y) {
  lac_status status = LAC_OK;
  bool transposed = lac_form_transposes(form);
  int64_t k = x->meta.shape[x->meta.ndim - 1];
  cpu_passes passes = {.pass = {.k = k, .sign = lac_form_conjugates(form) ? -1 : 1}};
  lac_rows rows;

  if (y->count == 0) return LAC_OK;
  if (a->count == 0 || x->count == 0) return cpu_fill(ctx, y, 0, 0);
  LAC_TRY(lac_pattern_walk(ctx, p, transposed, &rows));
  cpu_passes_init(&passes, &rows, (const lac_array *const[]){a, x}, y, (const int[]){3, 2, 2});
  passes.pass.br = transposed ? p->bc : p->br;
  passes.pass.bc = transposed ? p->br : p->bc;
  passes.pass.streams = block_streams(y, k, passes.batch.count * rows.rows * passes.pass.br * k);
  passes.kernel = block_spmm[y->meta.dtype];
  cpu_passes_run(ctx, &passes, false);
done:
  return status;
}

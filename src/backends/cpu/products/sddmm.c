// SPDX-License-Identifier: Apache-2.0
/// @file sddmm.c
/// s_z = sum_k u[row z, k] conj(v[col z, k])
///
/// Where s lacks dimensions of the batch, a row's entries are summed over it while they are in cache: no s for each
/// item.

#include "backends/cpu/base/passes.h"
#include "backends/cpu/products/block.h"
#include "backends/cpu/base/types.h"

enum { SDDMM_AHEAD = 512 };  // entries

#define KERNEL_FILE "backends/cpu/base/dot_kernel.h"
#include "backends/cpu/base/instantiate.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/base/ask_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/products/sddmm_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static const cpu_pass_rows outer[4][4] = TABLE_INDEXED(outer);
static const cpu_pass_rows sddmm_rows[4][4] = TABLE_INDEXED(sddmm_rows);

lac_status cpu_sddmm(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v, lac_array *s) {
  lac_status status = LAC_OK;
  int64_t k = u->meta.shape[u->meta.ndim - 1];
  cpu_passes passes;
  lac_rows rows;

  if (lac_pattern_has_blocks(p)) return cpu_block_sddmm(ctx, p, u, v, s);
  if (s->count == 0) return LAC_OK;
  if (u->count == 0 || v->count == 0) return cpu_fill(ctx, s, 0, 0);
  passes.pass = (cpu_pass){.k = k, .sign = 1};
  LAC_TRY(lac_pattern_walk(ctx, p, false, &rows));
  cpu_passes_init(&passes, &rows, (const lac_array *const[]){u, v}, s, (const int[]){2, 2, 1});
  passes.pass.streams = k == 1 && cpu_streams(s) && s->count == passes.batch.count * p->nnz;
  passes.pass.ahead = cpu_rows_ahead(&rows, (size_t)k * lac_dtype_size(s->meta.dtype));
  passes.kernel = (k == 1 ? outer : sddmm_rows)[s->meta.dtype][p->width];
  cpu_passes_run(ctx, &passes, false);
done:
  return status;
}

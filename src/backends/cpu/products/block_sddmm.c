// SPDX-License-Identifier: Apache-2.0
/// @file block_sddmm.c
/// s_z = u[rows z] v[cols z]^H, a block for each block z
///
/// Where s lacks dimensions of the batch, a row's blocks are summed over it while they are in cache.

#include "backends/cpu/base/passes.h"
#include "backends/cpu/products/block.h"
#include "backends/cpu/base/types.h"

#define KERNEL_FILE "backends/cpu/base/dot_kernel.h"
#include "backends/cpu/base/instantiate.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/products/block_sddmm_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_pass_rows block_outer[4] = TABLE(block_outer);
static const cpu_pass_rows block_inner[4] = TABLE(block_inner);

lac_status cpu_block_sddmm(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v,
                           lac_array *s) {
  lac_status status = LAC_OK;
  int64_t k = u->meta.shape[u->meta.ndim - 1];
  cpu_passes passes = {.pass = {.k = k, .sign = 1, .br = p->br, .bc = p->bc}};
  lac_rows rows;

  if (s->count == 0) return LAC_OK;
  if (u->count == 0 || v->count == 0) return cpu_fill(ctx, s, 0, 0);
  LAC_TRY(lac_pattern_walk(ctx, p, false, &rows));
  cpu_passes_init(&passes, &rows, (const lac_array *const[]){u, v}, s, (const int[]){2, 2, 3});
  passes.kernel = (k == 1 ? block_outer : block_inner)[s->meta.dtype];
  cpu_passes_run(ctx, &passes, false);
done:
  return status;
}

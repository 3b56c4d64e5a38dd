// SPDX-License-Identifier: Apache-2.0
/// @file sddmm.c
/// s_z = sum_k u[row z, k] conj(v[col z, k])
///
/// Where s lacks dimensions of the batch, a row's entries are summed over it while they are in cache: no s for each
/// item.
///
/// Where entries stand anywhere and v is beyond the last cache, each would bring its row of v from memory. All entries
/// of the first columns of the pattern are then computed, of as many as have rows of v that stay in that cache, and
/// those of the next ones afterwards.

#include "backends/cpu/base/passes.h"
#include "backends/cpu/products/block.h"
#include "backends/cpu/base/types.h"
#include "core/memory_impl.h"

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
static const cpu_pass_rows sddmm_part[4][4] = TABLE_INDEXED(sddmm_part);

/// All items; false: there is no memory for a number for each row.
static bool sddmm_by_parts(lac_context *ctx, const cpu_passes *passes, cpu_pass_rows kernel, int64_t parts) {
  int threads = cpu_passes_threads(ctx, passes);
  size_t bytes = (size_t)passes->pass.rows * (passes->pass.wide_offsets ? sizeof(int64_t) : sizeof(int32_t));
  void *next = lac_alloc(bytes);
  cpu_passes walk = *passes;
  bool has_room = next != NULL;

  walk.kernel = kernel;
  for (int64_t i = 0; has_room && i < passes->batch.count; ++i) {
    walk.pass = cpu_pass_of(passes, i);
    walk.pass.next = memcpy(next, passes->pass.offsets, bytes);
    for (int64_t part = 1; part <= parts; ++part) {
      walk.pass.limit = walk.pass.cols * part / parts;
      cpu_pass_run(threads, &walk);
    }
  }
  lac_free(next);
  return has_room;
}

lac_status cpu_sddmm(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v, lac_array *s) {
  lac_status status = LAC_OK;
  int64_t k = u->meta.shape[u->meta.ndim - 1], parts;
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
  parts = k == 1 ? 1 : cpu_tile_parts(&rows, k, lac_dtype_size(s->meta.dtype));
  passes.kernel = (k == 1 ? outer : sddmm_rows)[s->meta.dtype][p->width];
  if (parts == 1 || !sddmm_by_parts(ctx, &passes, sddmm_part[s->meta.dtype][p->width], parts)) {
    cpu_passes_run(ctx, &passes, false);
  }
done:
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file rooms.c
/// Counted first, then cut (rooms.h).

#include "solvers/precondition/multigrid/coarse/rooms.h"

#include "solvers/solver_impl.h"

enum { ROOMS_ALIGNED = 256 };  // as the memory of a device is

lac_status lac_rooms_take(lac_context *ctx, lac_rooms *rooms, lac_dtype dtype, const int64_t shape[3],
                          lac_array **out) {
  lac_status status = LAC_OK;
  lac_meta meta = {.dtype = dtype, .ndim = 3, .shape = {shape[0], shape[1], shape[2]}};
  size_t bytes = 0, at = rooms->bytes;

  LAC_TRY(lac_meta_check(ctx, "multigrid", &meta));
  bytes = (size_t)lac_meta_count(&meta) * lac_dtype_size(dtype);
  rooms->bytes += (bytes + ROOMS_ALIGNED - 1) / ROOMS_ALIGNED * ROOMS_ALIGNED;
  if (!rooms->is_open) goto done;
  if (rooms->block) {
    LAC_TRY(lac_array_wrap(ctx, &meta, (char *)rooms->block->storage->data + at, out));
  } else {
    LAC_TRY(lac_array_make(ctx, &meta, out));
  }
done:
  return status;
}

lac_status lac_rooms_open(lac_context *ctx, lac_rooms *rooms) {
  lac_status status = LAC_OK;
  int64_t numbers = (int64_t)(rooms->bytes / lac_dtype_size(LAC_F64));

  if (!lac_context_is_host(ctx)) LAC_TRY(lac_array_create(ctx, LAC_F64, 1, &numbers, &rooms->block));
  rooms->bytes = 0;
  rooms->is_open = true;
done:
  return status;
}

void lac_rooms_close(lac_rooms *rooms) { lac_array_destroy(&rooms->block); }

// SPDX-License-Identifier: Apache-2.0
/// Products of the CPU whose dense operands are beyond the last cache, and are read some columns or rows at a time.

#include "backends/cpu/base/passes.h"
#include "backends/kernel_check.h"

static bool is_cpu(lac_context *ctx) {
  if (strcmp(lac_context_backend(ctx), "cpu") == 0) return true;
  check_skip("products of the CPU alone have such tiles");
  return false;
}

/// Whether products with k columns are computed by tiles and by parts.
static bool are_by_tiles(lac_context *ctx, const lac_pattern *p, lac_dtype dtype, int64_t k) {
  lac_rows rows;
  size_t bytes = lac_dtype_size(dtype);
  CHECK_OK(lac_pattern_walk(ctx, p, false, &rows));
  return cpu_tile_columns(&rows, k, bytes) < k && cpu_tile_parts(&rows, k, bytes) > 1;
}

typedef struct tiled {
  const sketch *s;
  const lac_pattern *p;
  lac_dtype dtype;
  int64_t k;
  const char *batch;
} tiled;

/// Bits of products whose dense operands are read at once, and of those in a cache of so few bytes that they are not.
static void check_tiles(lac_context *ctx, tiled c) {
  enum { CACHE = 1400 << 10 };
  int64_t n = c.s->rows;
  subject a = subject_in(ctx, meta_of(c.dtype, c.batch, 1, c.s->nnz, 0), 51),
          x = subject_in(ctx, meta_of(c.dtype, c.batch, 2, n, c.k), 52),
          u = subject_in(ctx, meta_of(c.dtype, "", 2, n, c.k), 53);
  subject y = subject_out(ctx, x.value.meta), sum = subject_out(ctx, u.value.meta),
          z = subject_out(ctx, meta_of(c.dtype, "", 1, c.s->nnz, 0));
  const lac_array *outs[] = {y.array, sum.array, y.array, z.array};
  const void *bits[4];
  for (int turn = 0; turn < 3; ++turn) {  // at once, by tiles, by tiles and two threads
    cpu_last_cache_set(turn ? CACHE : 0);
    CHECK(are_by_tiles(ctx, c.p, c.dtype, c.k) == (turn > 0));
    CHECK_OK(lac_context_set_threads(ctx, turn == 2 ? 2 : 1));
    for (int product = 0; product < 4; ++product) {
      const lac_kernels *kernels = ctx->kernels;
      if (product == 0) CHECK_OK(kernels->spmm(ctx, c.p, LAC_CONJUGATED, a.array, x.array, y.array));
      if (product == 1) CHECK_OK(kernels->spmm(ctx, c.p, LAC_PLAIN, a.array, x.array, sum.array));
      if (product == 2) CHECK_OK(kernels->spmm(ctx, c.p, LAC_ADJOINT, a.array, u.array, y.array));
      if (product == 3) CHECK_OK(kernels->sddmm(ctx, c.p, x.array, u.array, z.array));
      if (turn == 0) bits[product] = bits_of(ctx, outs[product]);
      CHECK(bits_are(ctx, outs[product], bits[product]));
    }
  }
  cpu_last_cache_set(-1);
  lac_array_destroy(&a.array), lac_array_destroy(&x.array), lac_array_destroy(&u.array);
  lac_array_destroy(&y.array), lac_array_destroy(&sum.array), lac_array_destroy(&z.array);
}

static void tiles_of_dense_operands_change_no_bit(lac_context *ctx) {
  enum { N = 6000, EACH = 20, K = 64, ODD = 61 };
  const sketch *s = sketch_anywhere(N, EACH, 50);
  if (!is_cpu(ctx)) return;
  for (size_t w = 0; w < COUNT_OF(all_widths); ++w) {
    lac_pattern *p = NULL;
    CHECK_OK(sketch_pattern(ctx, s, all_widths[w], &p));
    FOR_DTYPES(dtype) {
      size_t mark = scratch_mark();
      check_tiles(ctx, (tiled){s, p, dtype, K, ""});
      check_tiles(ctx, (tiled){s, p, dtype, ODD, "2"});
      scratch_release(mark);
    }
    lac_pattern_destroy(&p);
  }
}

/// Where a tile has no memory, operands are read as they are.
static void tiles_survive_every_failing_allocation(lac_context *ctx) {
  enum { N = 6000, EACH = 20, K = 64, CACHE = 1400 << 10, MOST = 4 };
  const sketch *s = sketch_anywhere(N, EACH, 54);
  lac_pattern *p = NULL;
  if (!is_cpu(ctx)) return;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  subject a = subject_in(ctx, meta_of(LAC_C64, "", 1, s->nnz, 0), 55),
          x = subject_in(ctx, meta_of(LAC_C64, "", 2, N, K), 56);
  subject y = subject_out(ctx, x.value.meta), z = subject_out(ctx, a.value.meta);
  cpu_last_cache_set(CACHE);
  CHECK(are_by_tiles(ctx, p, LAC_C64, K));
  for (int product = 0; product < 2; ++product) {
    const char *bits = NULL;
    for (int n = 0; n < MOST; ++n) {  // the first with all memory; it makes what the pattern keeps
      (void)lac_memory_fail_at(n);
      lac_status status = product ? ctx->kernels->sddmm(ctx, p, x.array, x.array, z.array)
                                  : ctx->kernels->spmm(ctx, p, LAC_TRANSPOSED, a.array, x.array, y.array);
      (void)lac_memory_fail_at(0);
      CHECK_OK(status);
      if (n == 0) bits = bits_of(ctx, product ? z.array : y.array);
      CHECK(bits_are(ctx, product ? z.array : y.array, bits));
    }
  }
  cpu_last_cache_set(-1);
  lac_array_destroy(&a.array), lac_array_destroy(&x.array), lac_array_destroy(&y.array), lac_array_destroy(&z.array);
  lac_pattern_destroy(&p);
}

CHECK_MAIN(tiles_of_dense_operands_change_no_bit, tiles_survive_every_failing_allocation)

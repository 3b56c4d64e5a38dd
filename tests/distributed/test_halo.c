// SPDX-License-Identifier: Apache-2.0
/// The kernels of a context with a communicator: products with a halo, reductions over ranks, against one process.

#include "kernels/kernels.h"
#include "distributed/spread.h"

enum { BATCH = 2, WIDTH = 3 };

/// Which operands of a product have the batch.
typedef struct batching {
  int a, x, y;
} batching;

static const batching batchings[] = {{0, 0, 0}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}, {1, 1, 0}, {0, 1, 0}};
enum { BATCHINGS = sizeof batchings / sizeof *batchings };

static twin values_random(const spread *s, lac_dtype dtype, int batch, uint64_t seed) {
  const int64_t shape[] = {BATCH, lac_pattern_nnz(s->whole)};

  return twin_random(s, dtype, 1 + batch, shape + 1 - batch, lac_pattern_entries(s->pattern), batch, seed);
}

static twin dense_random(const spread *s, lac_dtype dtype, int batch, const lac_partition *partition, int64_t k,
                         uint64_t seed) {
  const int64_t shape[] = {BATCH, lac_partition_total(partition), k};

  return twin_random(s, dtype, 2 + batch, shape + 1 - batch, partition, batch, seed);
}

static void product_agrees(const spread *s, lac_dtype dtype, lac_form form, batching b, int64_t k) {
  lac_context *ctx = s->ctx, *serial = s->serial;
  const int transposed = form == LAC_TRANSPOSED || form == LAC_ADJOINT;
  twin a = values_random(s, dtype, b.a, 1);
  twin x = dense_random(s, dtype, b.x, transposed ? s->rows : s->cols, k, 2);
  twin y = dense_random(s, dtype, b.y, transposed ? s->cols : s->rows, k, 3);

  CHECK_OK(ctx->kernels->spmm(ctx, s->pattern, form, a.part, x.part, y.part));
  CHECK(serial->kernels->spmm(serial, s->whole, form, a.whole, x.whole, y.whole) == LAC_OK);
  CHECK_SAME(y.part, y.whole);
  twin_destroy(&a);
  twin_destroy(&x);
  twin_destroy(&y);
}

static void sddmm_agrees(const spread *s, lac_dtype dtype, batching b, int64_t k) {
  lac_context *ctx = s->ctx, *serial = s->serial;
  twin u = dense_random(s, dtype, b.a, s->rows, k, 4), v = dense_random(s, dtype, b.x, s->cols, k, 5);
  twin z = values_random(s, dtype, b.y, 6);

  CHECK_OK(ctx->kernels->sddmm(ctx, s->pattern, u.part, v.part, z.part));
  CHECK(serial->kernels->sddmm(serial, s->whole, u.whole, v.whole, z.whole) == LAC_OK);
  CHECK_SAME(z.part, z.whole);
  twin_destroy(&u);
  twin_destroy(&v);
  twin_destroy(&z);
}

static void products_agree(const spread *s) {
  for (lac_dtype dtype = LAC_F32; dtype <= LAC_C128; ++dtype) {
    for (int b = 0; b < BATCHINGS; ++b) {
      for (lac_form form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) product_agrees(s, dtype, form, batchings[b], WIDTH);
      sddmm_agrees(s, dtype, batchings[b], WIDTH);
    }
  }
}

static void products_agree_however_rows_are_dealt(lac_context *ctx) {
  for (deal rows = DEAL_EVEN; rows < DEALS; ++rows) {
    for (deal cols = DEAL_EVEN; cols < DEALS; ++cols) {
      spread s = spread_create(ctx, 23, 17, 0.3, rows, cols, LAC_WIDTH_AUTO);

      products_agree(&s);
      spread_destroy(&s);
    }
  }
}

static void products_agree_on_wide_and_empty_matrices(lac_context *ctx) {
  static const int64_t shapes[][2] = {{7, 40}, {2, 3}, {1, 1}, {0, 5}, {5, 0}, {0, 0}};

  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    spread s = spread_create(ctx, shapes[i][0], shapes[i][1], 0.4, DEAL_EVEN, DEAL_SKEWED, LAC_WIDTH_AUTO);

    products_agree(&s);
    spread_destroy(&s);
  }
}

static void products_agree_without_ghosts_and_without_entries(lac_context *ctx) {
  static const double densities[] = {0, 1};

  for (int i = 0; i < 2; ++i) {
    spread s = spread_create(ctx, 9, 9, densities[i], DEAL_EVEN, DEAL_EVEN, LAC_WIDTH_AUTO);

    products_agree(&s);
    spread_destroy(&s);
  }
}

static void products_agree_in_every_index_width(lac_context *ctx) {
  for (lac_width width = LAC_WIDTH_32_32; width <= LAC_WIDTH_64_64; ++width) {
    spread s = spread_create(ctx, 14, 11, 0.3, DEAL_EVEN, DEAL_EVEN, width);

    CHECK(lac_pattern_width(s.pattern) == width);
    products_agree(&s);
    spread_destroy(&s);
  }
}

static void products_take_no_columns(lac_context *ctx) {
  spread s = spread_create(ctx, 8, 6, 0.4, DEAL_EVEN, DEAL_EVEN, LAC_WIDTH_AUTO);

  for (lac_form form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) product_agrees(&s, LAC_F64, form, batchings[0], 0);
  sddmm_agrees(&s, LAC_F64, batchings[0], 0);
  spread_destroy(&s);
}

// -- reductions ------------------------------------------------------------------------------------------------------

/// Sum over the axes of `mask` of an array that is spread along axis 1 of 3.
static void sum_agrees(const spread *s, lac_dtype dtype, uint32_t mask) {
  lac_context *ctx = s->ctx, *serial = s->serial;
  const int64_t shape[] = {BATCH, s->m, WIDTH};
  twin x = twin_random(s, dtype, 3, shape, s->rows, 1, 7), y = {NULL, NULL};
  const bool keeps = !(mask & 2);
  int64_t left[3];
  int ndim = 0, axis = -1;

  for (int d = 0; d < 3; ++d) {
    if (mask >> (2 - d) & 1) continue;
    if (d == 1) axis = ndim;
    left[ndim++] = shape[d];
  }
  y = twin_random(s, dtype, ndim, left, keeps ? s->rows : NULL, keeps ? axis : -1, 8);
  CHECK_OK(ctx->kernels->sum(ctx, x.part, mask, y.part));
  CHECK(serial->kernels->sum(serial, x.whole, mask, y.whole) == LAC_OK);
  CHECK_SAME(y.part, y.whole);
  twin_destroy(&x);
  twin_destroy(&y);
}

static void sums_agree_over_every_subset_of_axes(lac_context *ctx) {
  for (deal rows = DEAL_EVEN; rows < DEALS; ++rows) {
    spread s = spread_create(ctx, 19, 4, 0.3, rows, DEAL_EVEN, LAC_WIDTH_AUTO);

    for (lac_dtype dtype = LAC_F32; dtype <= LAC_C128; ++dtype) {
      for (uint32_t mask = 0; mask < 8; ++mask) sum_agrees(&s, dtype, mask);
    }
    spread_destroy(&s);
  }
}

/// Spread along `axis` of [BATCH, m, m]: over axis 0 each rank keeps its own inner products.
static void dot_agrees(const spread *s, lac_dtype dtype, int axis) {
  lac_context *ctx = s->ctx, *serial = s->serial;
  const int64_t shape[] = {s->m, s->m, s->m};
  twin x = twin_random(s, dtype, 3, shape, s->rows, axis, 9), y = twin_random(s, dtype, 3, shape, s->rows, axis, 10);
  twin d = twin_random(s, dtype, 1, shape, axis == 0 ? s->rows : NULL, axis == 0 ? 0 : -1, 11);

  CHECK_OK(ctx->kernels->dot(ctx, x.part, y.part, d.part));
  CHECK(serial->kernels->dot(serial, x.whole, y.whole, d.whole) == LAC_OK);
  CHECK_SAME(d.part, d.whole);
  twin_destroy(&x);
  twin_destroy(&y);
  twin_destroy(&d);
}

static void dots_agree_along_every_axis(lac_context *ctx) {
  spread s = spread_create(ctx, 7, 4, 0.3, DEAL_SKEWED, DEAL_EVEN, LAC_WIDTH_AUTO);

  for (lac_dtype dtype = LAC_F32; dtype <= LAC_C128; ++dtype) {
    for (int axis = 0; axis < 3; ++axis) dot_agrees(&s, dtype, axis);
  }
  spread_destroy(&s);
}

/// A plain pattern, samples spread over ranks: what contracts the samples is summed over ranks.
static void products_sum_over_a_batch_that_is_spread(lac_context *ctx) {
  spread s = spread_create(ctx, 9, 6, 0.4, DEAL_EVEN, DEAL_EVEN, LAC_WIDTH_AUTO);
  lac_context *serial = s.serial;
  const int64_t u_shape[] = {s.m, 9, 2}, v_shape[] = {s.m, 6, 2}, nnz = lac_pattern_nnz(s.whole);
  twin u = twin_random(&s, LAC_C128, 3, u_shape, s.rows, 0, 12),
       v = twin_random(&s, LAC_C128, 3, v_shape, s.rows, 0, 13);
  twin z = twin_random(&s, LAC_C128, 1, &nnz, NULL, -1, 14);

  CHECK_OK(ctx->kernels->sddmm(ctx, s.whole, u.part, v.part, z.part));
  CHECK(serial->kernels->sddmm(serial, s.whole, u.whole, v.whole, z.whole) == LAC_OK);
  CHECK_SAME(z.part, z.whole);
  CHECK_OK(ctx->kernels->spmm(ctx, s.whole, LAC_PLAIN, z.part, v.part, u.part));
  CHECK(serial->kernels->spmm(serial, s.whole, LAC_PLAIN, z.whole, v.whole, u.whole) == LAC_OK);
  CHECK_SAME(u.part, u.whole);
  twin_destroy(&u);
  twin_destroy(&v);
  twin_destroy(&z);
  spread_destroy(&s);
}

// -- what the halo is ------------------------------------------------------------------------------------------------

/// <A x, y> = <x, A^H y> with inner products over all ranks.
static void exchange_and_its_reverse_are_adjoint(lac_context *ctx) {
  spread s = spread_create(ctx, 31, 26, 0.2, DEAL_SKEWED, DEAL_EVEN, LAC_WIDTH_AUTO);
  twin a = values_random(&s, LAC_C128, 0, 1);
  twin x = dense_random(&s, LAC_C128, 0, s.cols, 2, 2), y = dense_random(&s, LAC_C128, 0, s.rows, 2, 3);
  twin ax = dense_random(&s, LAC_C128, 0, s.rows, 2, 4), ay = dense_random(&s, LAC_C128, 0, s.cols, 2, 5);
  lac_array *left = NULL, *right = NULL;

  CHECK_OK(lac_array_create(ctx, LAC_C128, 0, NULL, &left));
  CHECK_OK(lac_array_create(ctx, LAC_C128, 0, NULL, &right));
  CHECK_OK(ctx->kernels->spmm(ctx, s.pattern, LAC_PLAIN, a.part, x.part, ax.part));
  CHECK_OK(ctx->kernels->spmm(ctx, s.pattern, LAC_ADJOINT, a.part, y.part, ay.part));
  CHECK_OK(ctx->kernels->dot(ctx, ax.part, y.part, left));
  CHECK_OK(ctx->kernels->dot(ctx, x.part, ay.part, right));
  CHECK_SAME(left, right);
  lac_array_destroy(&left);
  lac_array_destroy(&right);
  twin_destroy(&a);
  twin_destroy(&x);
  twin_destroy(&y);
  twin_destroy(&ax);
  twin_destroy(&ay);
  spread_destroy(&s);
}

/// The bits of `array` are those of rank 0.
static void bits_are_the_same_on_all_ranks(const lac_array *array) {
  const size_t bytes = (size_t)lac_array_count(array) * lac_dtype_size(lac_array_meta(array)->dtype);
  char *first = malloc(bytes);

  memcpy(first, lac_array_data(array), bytes);
  CHECK(world.broadcast(world.self, first, (int64_t)bytes, 0) == 0);
  CHECK(memcmp(first, lac_array_data(array), bytes) == 0);
  free(first);
}

static void results_have_the_same_bits_on_all_ranks_and_again(lac_context *ctx) {
  spread s = spread_create(ctx, 400, 300, 0.05, DEAL_EVEN, DEAL_SKEWED, LAC_WIDTH_AUTO);
  twin a = values_random(&s, LAC_F64, 0, 1), x = dense_random(&s, LAC_F64, 0, s.rows, 2, 2);
  twin y = dense_random(&s, LAC_F64, 0, s.cols, 2, 3), again = dense_random(&s, LAC_F64, 0, s.cols, 2, 4);
  lac_array *dot = NULL;

  CHECK_OK(ctx->kernels->spmm(ctx, s.pattern, LAC_TRANSPOSED, a.part, x.part, y.part));
  CHECK_OK(ctx->kernels->spmm(ctx, s.pattern, LAC_TRANSPOSED, a.part, x.part, again.part));
  CHECK(memcmp(lac_array_data(y.part), lac_array_data(again.part), (size_t)lac_array_count(y.part) * 8) == 0);
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &dot));
  CHECK_OK(ctx->kernels->dot(ctx, y.part, y.part, dot));
  bits_are_the_same_on_all_ranks(dot);
  lac_array_destroy(&dot);
  twin_destroy(&a);
  twin_destroy(&x);
  twin_destroy(&y);
  twin_destroy(&again);
  spread_destroy(&s);
}

/// More numbers than go in one piece.
static void sums_of_many_numbers_are_the_same_on_all_ranks(lac_context *ctx) {
  spread s = spread_create(ctx, 5, 5, 0.5, DEAL_EVEN, DEAL_EVEN, LAC_WIDTH_AUTO);
  const int64_t shape[] = {5, 2500}, sums = 2500;
  twin x = twin_random(&s, LAC_F64, 2, shape, s.rows, 0, 1), y = twin_random(&s, LAC_F64, 1, &sums, NULL, -1, 2);
  lac_context *serial = s.serial;

  CHECK_OK(ctx->kernels->sum(ctx, x.part, 2, y.part));
  CHECK(serial->kernels->sum(serial, x.whole, 2, y.whole) == LAC_OK);
  CHECK_SAME(y.part, y.whole);
  bits_are_the_same_on_all_ranks(y.part);
  twin_destroy(&x);
  twin_destroy(&y);
  spread_destroy(&s);
}

MPI_CHECK_MAIN(products_agree_however_rows_are_dealt, products_agree_on_wide_and_empty_matrices,
               products_agree_without_ghosts_and_without_entries, products_agree_in_every_index_width,
               products_take_no_columns, sums_agree_over_every_subset_of_axes, dots_agree_along_every_axis,
               products_sum_over_a_batch_that_is_spread, exchange_and_its_reverse_are_adjoint,
               results_have_the_same_bits_on_all_ranks_and_again, sums_of_many_numbers_are_the_same_on_all_ranks)

// SPDX-License-Identifier: Apache-2.0
/// The products with blocks, for every size that has a kernel of its own and some that have not: beside the dense
/// formula, in all dtypes, on all forms, with columns in whole lines and beside them.

#include <math.h>

#include "support/check.h"
#include "support/dense.h"
#include "support/scratch.h"

static const int64_t sizes[][2] = {{2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {8, 8}, {1, 3}, {4, 1}, {9, 2}};
static const int64_t columns[] = {1, 3, 8, 19, 33};
enum { SIZES = sizeof sizes / sizeof *sizes, COLUMNS = sizeof columns / sizeof *columns };

static ref draw(lac_dtype dtype, int ndim, const int64_t *shape, uint64_t seed) {
  lac_meta meta = {.dtype = dtype, .ndim = ndim};
  for (int d = 0; d < ndim; ++d) meta.shape[d] = shape[d];
  ref r = ref_new(&meta);
  ref_random(&r, seed, dtype >= LAC_C64);
  return r;
}

static lac_var put(lac_context *ctx, lac_tape *tape, const ref *x) {
  lac_array *array = NULL;
  CHECK_OK(ref_upload(ctx, x, &array));
  lac_var var = lac_tape_constant(tape, array);
  lac_array_destroy(&array);
  return var;
}

static void check_close(lac_context *ctx, const lac_tape *tape, lac_var var, const number *want) {
  ref got;
  CHECK_OK(lac_tape_status(tape));
  CHECK_OK(ref_download(ctx, lac_tape_value(tape, var), &got));
  double unit = got.meta.dtype == LAC_F32 || got.meta.dtype == LAC_C64 ? 0x1p-23 : 0x1p-52;
  for (int64_t i = 0; i < got.count; ++i) CHECK(cabs(got.x[i] - want[i]) <= 64 * unit);
}

static void check_spmm(lac_context *ctx, const lac_pattern *p, dense a, const ref *values, lac_form form, int64_t k) {
  lac_tape *tape = NULL;
  dense op = dense_side(a, form);
  ref x = draw(values->meta.dtype, 2, (int64_t[]){op.cols, k}, 2);
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var y = lac_spmm(tape, p, put(ctx, tape, values), put(ctx, tape, &x), form);
  check_close(ctx, tape, y, dense_mul(op, dense_over(op.cols, k, x.x)).x);
  lac_tape_destroy(&tape);
}

static void check_sddmm(lac_context *ctx, const lac_pattern *p, const sketch *s, const int64_t *size, lac_dtype dtype,
                        int64_t k) {
  lac_tape *tape = NULL;
  int64_t rows = s->rows * size[0], cols = s->cols * size[1], n = 0;
  ref u = draw(dtype, 2, (int64_t[]){rows, k}, 3), v = draw(dtype, 2, (int64_t[]){cols, k}, 4);
  dense product = dense_mul(dense_over(rows, k, u.x), dense_side(dense_over(cols, k, v.x), LAC_ADJOINT));
  number *want = scratch((size_t)(s->nnz * size[0] * size[1]) * sizeof *want);
  for (int64_t z = 0; z < s->nnz; ++z) {
    for (int64_t r = 0; r < size[0]; ++r) {
      for (int64_t c = 0; c < size[1]; ++c)
        want[n++] = product.x[(s->row[z] * size[0] + r) * cols + s->col[z] * size[1] + c];
    }
  }
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  check_close(ctx, tape, lac_sddmm(tape, p, put(ctx, tape, &u), put(ctx, tape, &v)), want);
  lac_tape_destroy(&tape);
}

static void check_size(lac_context *ctx, const int64_t *size, lac_dtype dtype) {
  size_t mark = scratch_mark();
  const sketch *s = sketch_random(4, 5, 0.5, 9);
  lac_pattern *p = NULL;
  ref values = draw(dtype, 3, (int64_t[]){s->nnz, size[0], size[1]}, 1);
  dense a = dense_block_matrix(s, size[0], size[1], values.x);
  CHECK_OK(sketch_block_pattern(ctx, s, size[0], size[1], (lac_width)(1 + size[0] % 3), &p));
  for (int i = 0; i < COLUMNS; ++i) {
    for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) check_spmm(ctx, p, a, &values, (lac_form)form, columns[i]);
    check_sddmm(ctx, p, s, size, dtype, columns[i]);
  }
  lac_pattern_destroy(&p);
  scratch_release(mark);
}

static void blocks_of_every_size_multiply(lac_context *ctx) {
  for (int i = 0; i < SIZES; ++i) {
    for (int dtype = LAC_F32; dtype <= LAC_C128; ++dtype) check_size(ctx, sizes[i], (lac_dtype)dtype);
  }
}

/// y has 16 MiB and more, so it is stored past the caches; columns are whole lines.
static void large_results_are_stored_whole(lac_context *ctx) {
  enum { N = 90000, K = 16 };
  lac_pattern *p = NULL;
  int64_t *offsets = scratch((N + 1) * sizeof *offsets), *cols = scratch(N * sizeof *cols);
  for (int64_t i = 0; i < N; ++i) offsets[i + 1] = i + 1, cols[i] = N - 1 - i;
  CHECK_OK(lac_pattern_from_bsr(ctx, 2 * N, 2 * N, 2, 2, LAC_I64, offsets, cols, LAC_WIDTH_AUTO, &p, NULL));
  lac_array *a = NULL, *x = NULL;
  lac_tape *tape = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 3, (int64_t[]){N, 2, 2}, &a));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){2 * N, K}, &x));
  double *ax = scratch(4 * N * sizeof *ax), *xx = scratch(2 * N * K * sizeof *xx),
         *yy = scratch(2 * N * K * sizeof *yy);
  for (int64_t i = 0; i < 4 * N; ++i) ax[i] = (double)(i % 7);
  for (int64_t i = 0; i < 2 * N * K; ++i) xx[i] = (double)(i % 11);
  CHECK_OK(lac_array_write(ctx, a, ax));
  CHECK_OK(lac_array_write(ctx, x, xx));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var y = lac_spmm(tape, p, lac_tape_constant(tape, a), lac_tape_constant(tape, x), LAC_PLAIN);
  CHECK_OK(lac_tape_status(tape));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, y), yy));
  for (int64_t n = 0; n < 2 * N * K; ++n) {
    int64_t row = n / K, block = row / 2, at = block * 4 + row % 2 * 2, from = 2 * (N - 1 - block) * K + n % K;
    CHECK_EQ(yy[n], ax[at] * xx[from] + ax[at + 1] * xx[from + K]);
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&a), lac_array_destroy(&x);
  lac_pattern_destroy(&p);
}

CHECK_MAIN(blocks_of_every_size_multiply, large_results_are_stored_whole)

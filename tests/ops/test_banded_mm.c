// SPDX-License-Identifier: Apache-2.0
/// The operator banded_mm: its values, its refusals, its derivatives; bands as patterns, and diagonal matrices.

#include <math.h>

#include "support/banded.h"
#include "support/op_case.h"

#define FORM(c) ((lac_form)(c)->i[0])

static void banded_mm_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const op_case *c = setup->c;
  out[0] = lac_banded_mm(tape, c->i[1], c->i[2], in[0], in[1], c->i[3], FORM(c));
}

static void banded_mm_dense(const op_case *c, const ref *in, ref *out) {
  int64_t cols = in[0].meta.shape[in[0].meta.ndim - 1], n = in[1].meta.shape[in[1].meta.ndim - 2],
          k = in[1].meta.shape[in[1].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense a = dense_banded(c->i[3], cols, (bands){c->i[1], c->i[2]}, walk_item(&w, &in[0], 2));
    dense_copy_to(dense_mul(dense_side(a, FORM(c)), dense_over(n, k, walk_item(&w, &in[1], 2))), walk_item(&w, out, 2));
  }
}

/// A rows x cols band (lower, upper) on k columns.
static void check_banded_mm(lac_context *ctx, int64_t rows, int64_t cols, bands b, lac_form form, int64_t k) {
  op_case c = {.op = "banded_mm", .i = {form, b.lower, b.upper, rows}};
  int64_t m = form & LAC_TRANSPOSED ? cols : rows, n = form & LAC_TRANSPOSED ? rows : cols;
  c.shapes[0] = op_text("%lld,%lld", (long long)(b.lower + b.upper + 1), (long long)cols);
  c.shapes[1] = op_text("%lld,%lld", (long long)n, (long long)k);
  c.result[0] = op_text("%lld,%lld", (long long)m, (long long)k);
  c.apply = banded_mm_apply, c.dense = banded_mm_dense;
  c.degree[0] = c.degree[1] = 1;
  c.fixed[0] = form & LAC_TRANSPOSED ? 2 : 3, c.fixed[1] = 2;
  check_op(ctx, &c);
}

static void banded_mm_differentiates_on_every_side(lac_context *ctx) {
  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) {
    check_banded_mm(ctx, 6, 6, (bands){2, 1}, (lac_form)form, 2);
    check_banded_mm(ctx, 6, 6, (bands){1, 2}, (lac_form)form, 1);
  }
}

static void banded_mm_takes_rectangles(lac_context *ctx) {
  check_banded_mm(ctx, 7, 4, (bands){1, 1}, LAC_PLAIN, 2);
  check_banded_mm(ctx, 4, 7, (bands){1, 2}, LAC_ADJOINT, 1);
}

static void banded_mm_takes_bands_of_any_width(lac_context *ctx) {
  check_banded_mm(ctx, 4, 4, (bands){0, 0}, LAC_CONJUGATED, 2);
  check_banded_mm(ctx, 4, 4, (bands){0, 2}, LAC_PLAIN, 1);
  check_banded_mm(ctx, 4, 4, (bands){3, 0}, LAC_TRANSPOSED, 1);
  check_banded_mm(ctx, 3, 3, (bands){5, 4}, LAC_PLAIN, 2);
  check_banded_mm(ctx, 1, 1, (bands){1, 1}, LAC_ADJOINT, 1);
}

static void banded_mm_takes_what_is_empty(lac_context *ctx) {
  check_banded_mm(ctx, 0, 0, (bands){1, 1}, LAC_PLAIN, 2);
  check_banded_mm(ctx, 3, 0, (bands){1, 1}, LAC_PLAIN, 2);
  check_banded_mm(ctx, 3, 3, (bands){1, 1}, LAC_PLAIN, 0);
}

static void banded_mm_broadcasts_batches_both_ways(lac_context *ctx) {
  op_case c = {.op = "banded_mm", .i = {LAC_PLAIN, 1, 1, 4}, .shapes = {"3,4", "2,4,2"}, .result = {"2,4,2"}};
  c.apply = banded_mm_apply, c.dense = banded_mm_dense, c.fixed[0] = 3, c.fixed[1] = 2;
  check_op(ctx, &c);
  c.shapes[0] = "2,1,3,4", c.shapes[1] = "3,4,1", c.result[0] = "2,3,4,1", c.i[0] = LAC_ADJOINT, c.fixed[0] = 2;
  check_op(ctx, &c);
}

static void banded_mm_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {
      .op = "banded_mm", .i = {LAC_PLAIN, 2, 3, 30000}, .shapes = {"6,30000", "30000,1"}, .result = {"30000,1"}};
  c.apply = banded_mm_apply;
  check_op_large(ctx, &c);
  c.i[0] = LAC_TRANSPOSED, c.shapes[0] = "6,9000", c.shapes[1] = "9000,3", c.result[0] = "9000,3", c.i[3] = 9000;
  check_op_large(ctx, &c);
}

static lac_array *array_of(lac_context *ctx, int ndim, const int64_t *shape, double *values) {
  lac_array *array = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, ndim, shape, values, LAC_OWNERSHIP_COPY, &array));
  return array;
}

/// The product by the band's pattern is the product by its storage, and NaN in the corners is read by neither.
static void banded_mm_equals_the_product_by_its_pattern(lac_context *ctx) {
  if (!check_claimed("banded_mm")) return;
  enum { ROWS = 5, COLS = 6, LOWER = 1, UPPER = 2, WIDTH = LOWER + UPPER + 1 };
  double ab[WIDTH * COLS], x[COLS], y[ROWS], z[ROWS];
  lac_pattern *p = NULL;
  lac_map *map = NULL;
  lac_tape *tape = NULL;
  for (int r = 0; r < WIDTH; ++r) {
    for (int j = 0; j < COLS; ++j) {
      int i = j + r - UPPER;
      ab[r * COLS + j] = i < 0 || i >= ROWS ? NAN : 1 + r + 0.25 * j;
    }
  }
  for (int j = 0; j < COLS; ++j) x[j] = 3 - j;
  CHECK_OK(lac_pattern_banded(ctx, ROWS, COLS, LOWER, UPPER, LAC_WIDTH_AUTO, &p, &map));
  CHECK_EQ(lac_map_inputs(map), WIDTH * COLS);
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_array *array = array_of(ctx, 2, (int64_t[]){WIDTH, COLS}, ab), *in = array_of(ctx, 2, (int64_t[]){COLS, 1}, x);
  lac_var band = lac_tape_constant(tape, array), v = lac_tape_constant(tape, in);
  lac_var values = lac_remap(tape, map, lac_reshape(tape, band, 1, (int64_t[]){WIDTH * COLS}), LAC_PLAIN);
  lac_var stored = lac_banded_mm(tape, LOWER, UPPER, band, v, ROWS, LAC_PLAIN);
  lac_var sparse = lac_spmm(tape, p, values, v, LAC_PLAIN);
  CHECK_OK(lac_tape_status(tape));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, stored), y));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, sparse), z));
  for (int i = 0; i < ROWS; ++i) CHECK_NEAR(y[i], z[i], 1e-15);
  lac_array_destroy(&array);
  lac_array_destroy(&in);
  lac_tape_destroy(&tape);
  lac_map_destroy(&map);
  lac_pattern_destroy(&p);
}

static void patterns_of_bands_refuse_what_is_none(lac_context *ctx) {
  lac_pattern *p = NULL;
  CHECK_FAILS(lac_pattern_banded(ctx, 3, 3, -1, 0, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG, "lower = -1");
  CHECK_FAILS(lac_pattern_banded(ctx, 3, INT64_MAX / 64, 9, 9, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_OVERFLOW,
              "addressed");
  CHECK_OK(lac_pattern_banded(ctx, 0, 0, 2, 1, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_EQ(lac_pattern_nnz(p), 0);
  lac_pattern_destroy(&p);
}

static void banded_mm_refuses_a_band_that_is_none(lac_context *ctx) {
  lac_tape *tape = NULL;
  lac_array *ab = array_of(ctx, 2, (int64_t[]){2, 2}, (double[]){1, 2, 3, 4});
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var v = lac_tape_constant(tape, ab);
  (void)lac_banded_mm(tape, -1, 2, v, v, 2, LAC_PLAIN);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "lower = -1");
  lac_tape_clear(tape);
  v = lac_tape_constant(tape, ab);
  (void)lac_banded_mm(tape, 0, 1, v, v, 2, (lac_form)7);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "op is 7");
  lac_tape_clear(tape);
  v = lac_tape_constant(tape, ab);
  (void)lac_banded_mm(tape, INT64_MAX, INT64_MAX, v, v, 2, LAC_PLAIN);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "and a band below");
  lac_tape_destroy(&tape);
  lac_array_destroy(&ab);
}

/// Forward: y. Gradient: y, ab_bar and x_bar.
static void banded_mm_takes_its_results_alone(lac_context *ctx) {
  if (!check_claimed("banded_mm")) return;
  op_case c = {.op = "banded_mm", .i = {LAC_PLAIN, 2, 3, 3000}, .shapes = {"6,3000", "3000,2"}, .result = {"3000,2"}};
  c.apply = banded_mm_apply;
  check_op_peak(ctx, &c, LAC_F64, 8 * 6000, 8 * (6000 + 18000 + 6000));
}

/// The count of entries is a formula: against counting.
static void bands_of_every_shape_have_their_entries(lac_context *ctx) {
  for (int64_t rows = 0; rows < 5; rows++)
    for (int64_t cols = 0; cols < 5; cols++)
      for (int64_t band = 0; band < 36; band++) {
        int64_t lower = band / 6, upper = band % 6, count = 0;
        lac_pattern *p = NULL;
        for (int64_t i = 0; i < rows; i++)
          for (int64_t j = 0; j < cols; j++) count += j - i <= upper && i - j <= lower;
        CHECK_OK(lac_pattern_banded(ctx, rows, cols, lower, upper, LAC_WIDTH_AUTO, &p, NULL));
        CHECK_EQ(lac_pattern_nnz(p), count);
        lac_pattern_destroy(&p);
      }
}

CHECK_MAIN(bands_of_every_shape_have_their_entries, banded_mm_differentiates_on_every_side, banded_mm_takes_rectangles,
           banded_mm_takes_bands_of_any_width, banded_mm_takes_what_is_empty, banded_mm_broadcasts_batches_both_ways,
           banded_mm_does_not_depend_on_threads, banded_mm_equals_the_product_by_its_pattern,
           patterns_of_bands_refuse_what_is_none, banded_mm_refuses_a_band_that_is_none,
           banded_mm_takes_its_results_alone)

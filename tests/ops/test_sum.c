// SPDX-License-Identifier: Apache-2.0
/// The operator sum: its values, its refusals, its derivatives; mean and prod beside it.

#include <math.h>

#include "support/axes_case.h"

static void sum_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_sum_axes(tape, in[0], AXES_OF(setup->c->i[0], 0), setup->c->i[1] != 0);
}

/// Every number of x goes where its other axes say.
static void sum_dense(const op_case *c, const ref *in, ref *out) {
  int ndim = in[0].meta.ndim;
  for (walk w = walk_batch(in, 0); walk_next(&w);) {
    int64_t at = 0;
    for (int d = 0; d < ndim; ++d) {
      if (!(c->i[0] >> (ndim - 1 - d) & 1)) at = at * in[0].meta.shape[d] + w.at[d];
    }
    out[0].x[at] += *walk_item(&w, in, 0);
  }
}

static void check_sum(lac_context *ctx, const char *x, uint32_t mask, bool keepdims, const char *y) {
  check_op(ctx, &(op_case){.op = "sum",
                           .shapes = {x},
                           .result = {y},
                           .i = {mask, keepdims},
                           .apply = sum_apply,
                           .dense = sum_dense,
                           .degree = {1}});
}

static void sum_differentiates_over_any_axes(lac_context *ctx) {
  check_sum(ctx, "2,3,4", 1, false, "2,3");
  check_sum(ctx, "2,3,4", 2, false, "2,4");
  check_sum(ctx, "2,3,4", 4, false, "3,4");
  check_sum(ctx, "2,3,4", 5, false, "3");
  check_sum(ctx, "2,3,4", 7, false, "");
  check_sum(ctx, "2,3,4", 0, false, "2,3,4");
}

static void sum_keeps_axes_when_asked(lac_context *ctx) {
  check_sum(ctx, "2,3,4", 5, true, "1,3,1");
  check_sum(ctx, "2,3", 3, true, "1,1");
}

static void sum_over_nothing_is_zero(lac_context *ctx) {
  check_sum(ctx, "3,0", 1, false, "3");
  check_sum(ctx, "3,0", 2, false, "0");
  check_sum(ctx, "0", 1, false, "");
}

static void sum_takes_single_numbers(lac_context *ctx) {
  check_sum(ctx, "", 0, false, "");
  check_sum(ctx, "1", 1, false, "");
}

static void sum_refuses_axes_that_are_not_there(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_sum_axes(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), LAC_AXES(-1), false).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "0 dimensions");
  lac_tape_destroy(&tape);
}

static void refuse(lac_context *ctx, int count, const int *axes, lac_status want, const char *sentence) {
  lac_tape *tape = NULL;
  lac_array *x = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){2, 3}, &x));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  CHECK(!lac_sum_axes(tape, lac_tape_constant(tape, x), count, axes, false).id);
  CHECK_FAILS(lac_tape_status(tape), want, sentence);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void sum_counts_axes_as_numpy_does(lac_context *ctx) {
  lac_array *x = NULL, *y = NULL;
  double numbers[3];

  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){2, 3}, (double[]){1, 2, 3, 4, 5, 6}, LAC_OWNERSHIP_COPY, &x));
  CHECK_OK(lac_run_sum_axes(ctx, x, LAC_AXES(0), false, &y));  // of each column
  CHECK_OK(lac_array_read(ctx, y, numbers));
  CHECK(numbers[0] == 5 && numbers[1] == 7 && numbers[2] == 9);
  lac_array_destroy(&y);
  CHECK_OK(lac_run_sum_axes(ctx, x, LAC_AXES(-1), true, &y));  // of each row, (2, 1)
  CHECK_EQ(lac_array_meta(y)->ndim, 2);
  CHECK_OK(lac_array_read(ctx, y, numbers));
  CHECK(numbers[0] == 6 && numbers[1] == 15);
  lac_array_destroy(&y);
  CHECK_OK(lac_run_sum_axes(ctx, x, LAC_ALL_AXES, false, &y));
  CHECK_OK(lac_array_read(ctx, y, numbers));
  CHECK(numbers[0] == 21);
  lac_array_destroy(&y);
  CHECK_OK(lac_run_sum_axes(ctx, x, 0, (int[]){7}, false, &y));  // no axis: x itself
  CHECK_EQ(lac_array_meta(y)->ndim, 2);
  lac_array_destroy(&y);
  lac_array_destroy(&x);
  refuse(ctx, LAC_AXES(2), LAC_ERR_SHAPE, "2 dimensions has no axis 2");
  refuse(ctx, LAC_AXES(-3), LAC_ERR_SHAPE, "2 dimensions has no axis -3");
  refuse(ctx, LAC_AXES(1, -1), LAC_ERR_SHAPE, "axis -1 is named twice");
  refuse(ctx, 1, NULL, LAC_ERR_ARG, "1 axes at NULL");
  refuse(ctx, -1, (int[]){0}, LAC_ERR_ARG, "-1 axes");
}

/// A million times 0.1 in single precision: a plain loop would be off in the third digit.
static void sum_of_many_single_numbers_is_accurate(lac_context *ctx) {
  lac_tape *tape = NULL;
  lac_array *x = NULL;
  float total = 0;
  CHECK_OK(lac_array_create(ctx, LAC_F32, 1, (int64_t[]){1000000}, &x));
  CHECK_OK(lac_array_fill(ctx, x, 0.1, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var sum = lac_sum(tape, lac_tape_constant(tape, x));
  CHECK_OK(lac_tape_status(tape));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, sum), &total));
  CHECK_NEAR(total, 1e6 * (double)0.1f, 1e-6);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void sum_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "sum", .shapes = {"300,500"}, .result = {""}, .i = {3}, .apply = sum_apply};
  check_op_large(ctx, &c);
  c.i[0] = 1, c.result[0] = "300";
  check_op_large(ctx, &c);
  c.i[0] = 2, c.result[0] = "500";
  check_op_large(ctx, &c);
}

/// Forward: a number. Gradient: x_bar.
static void sum_takes_its_results_alone(lac_context *ctx) {
  op_case c = {.op = "sum", .shapes = {"300,500"}, .result = {""}, .i = {3}, .apply = sum_apply};
  check_op_peak(ctx, &c, LAC_F64, 8, 8 + 300 * 500 * 8);
}

static number mean_formula(const number *x, int64_t n) {
  number sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum / (double)n;
}

static number prod_formula(const number *x, int64_t n) {
  number product = 1;
  for (int64_t i = 0; i < n; ++i) product *= x[i];
  return product;
}

static void mean_is_a_scaled_sum(lac_context *ctx) {
  static const axes_subject mean = {lac_mean, mean_formula};
  check_op_axes(ctx, (op_case){.op = "sum", .data = &mean, .degree = {1}}, "2,3");
  CHECK(isnan(axes_probe(ctx, lac_mean, 0, (double[]){0}, NULL)));
}

static void prod_multiplies_pair_by_pair(lac_context *ctx) {
  static const axes_subject prod = {lac_prod, prod_formula};
  op_case c = {.op = "slice", .data = &prod, .apply = axes_apply, .dense = axes_dense, .slack = 4};
  c.shapes[0] = "2,5", c.result[0] = "2", c.i[0] = 1;
  check_op(ctx, &c);
  c.shapes[0] = "3,2", c.result[0] = "1,1", c.i[0] = 3, c.i[1] = true;
  check_op(ctx, &c);
  c.shapes[0] = "7", c.result[0] = "", c.i[0] = 1, c.i[1] = false;
  check_op(ctx, &c);
}

static void prod_is_exact_with_zeros(lac_context *ctx) {
  if (!check_claimed("slice")) return;
  double x_bar[3];
  CHECK(axes_probe(ctx, lac_prod, 3, (double[]){2, 0, 5}, x_bar) == 0);
  CHECK(x_bar[0] == 0 && x_bar[1] == 10 && x_bar[2] == 0);
  CHECK(axes_probe(ctx, lac_prod, 3, (double[]){0, 0, 5}, x_bar) == 0);
  CHECK(x_bar[0] == 0 && x_bar[1] == 0 && x_bar[2] == 0);
  CHECK(axes_probe(ctx, lac_prod, 0, (double[]){0}, NULL) == 1);
  CHECK(axes_probe(ctx, lac_prod, 1, (double[]){7}, x_bar) == 7);
  CHECK(x_bar[0] == 1);
}

CHECK_MAIN(sum_differentiates_over_any_axes, sum_keeps_axes_when_asked, sum_over_nothing_is_zero,
           sum_takes_single_numbers, sum_refuses_axes_that_are_not_there, sum_counts_axes_as_numpy_does,
           sum_of_many_single_numbers_is_accurate, sum_does_not_depend_on_threads, sum_takes_its_results_alone,
           mean_is_a_scaled_sum, prod_multiplies_pair_by_pair, prod_is_exact_with_zeros)

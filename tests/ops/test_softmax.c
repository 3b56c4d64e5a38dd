// SPDX-License-Identifier: Apache-2.0
/// The operator softmax: its values, its derivatives, its range; log_softmax beside it.

#include <math.h>

#include "support/axes_case.h"

static void softmax_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  uint32_t mask = (uint32_t)setup->c->i[0];
  out[0] = setup->c->i[2] ? lac_log_softmax(tape, in[0], AXES_OF(mask, 0)) : lac_softmax(tape, in[0], AXES_OF(mask, 0));
}

/// exp(x) over the sum of all exponentials with the same place outside the mask.
static void softmax_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(in, 0); walk_next(&w);) {
    int64_t place = axes_place(&w, in, c->i[0]);
    double sum = 0;
    for (walk v = walk_batch(in, 0); walk_next(&v);) {
      if (axes_place(&v, in, c->i[0]) == place) sum += exp(creal(*walk_item(&v, in, 0)));
    }
    double share = exp(creal(*walk_item(&w, in, 0))) / sum;
    *walk_item(&w, out, 0) = c->i[2] ? log(share) : share;
  }
}

static void check_softmax(lac_context *ctx, const char *x, uint32_t mask) {
  op_case c = {.op = "softmax", .shapes = {x}, .result = {x}, .i = {mask}, .dtypes = OP_REAL, .slack = 4};
  c.apply = softmax_apply, c.dense = softmax_dense;
  check_op(ctx, &c);
  c.op = "logsumexp", c.i[2] = 1;
  check_op(ctx, &c);
}

static void softmax_takes_any_axes(lac_context *ctx) {
  for (uint32_t mask = 1; mask < 8; mask += 2) check_softmax(ctx, "2,3,2", mask);
  check_softmax(ctx, "2,2,3", 2);
  check_softmax(ctx, "", 0);
  check_softmax(ctx, "0,3", 1);
  check_softmax(ctx, "3,0", 1);
}

/// The softmax of a few numbers.
static void softmax_probe(lac_context *ctx, int n, const double *x, double *y) {
  lac_tape *tape = NULL;
  lac_array *array = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){n}, (void *)x, LAC_OWNERSHIP_COPY, &array));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var out = lac_softmax(tape, lac_tape_constant(tape, array), LAC_AXES(-1));
  CHECK_OK(lac_tape_status(tape));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, out), y));
  lac_tape_destroy(&tape);
  lac_array_destroy(&array);
}

static void softmax_stays_in_range(lac_context *ctx) {
  if (!check_claimed("softmax")) return;
  double y[3];
  softmax_probe(ctx, 2, (double[]){1000, 1000}, y);
  CHECK(y[0] == 0.5 && y[1] == 0.5);
  softmax_probe(ctx, 3, (double[]){-INFINITY, 0, -INFINITY}, y);
  CHECK(y[0] == 0 && y[1] == 1 && y[2] == 0);
  softmax_probe(ctx, 2, (double[]){-INFINITY, -INFINITY}, y);
  CHECK(y[0] == 0 && y[1] == 0);
  softmax_probe(ctx, 3, (double[]){INFINITY, 3, INFINITY}, y);
  CHECK(y[0] == 0.5 && y[1] == 0 && y[2] == 0.5);
  softmax_probe(ctx, 2, (double[]){NAN, 1}, y);
  CHECK(isnan(y[0]) && isnan(y[1]));
}

static void softmax_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {
      .op = "softmax", .shapes = {"300,500"}, .result = {"300,500"}, .dtypes = OP_REAL, .apply = softmax_apply};
  for (c.i[0] = 0; c.i[0] < 4; ++c.i[0]) check_op_large(ctx, &c);
}

CHECK_MAIN(softmax_takes_any_axes, softmax_stays_in_range, softmax_does_not_depend_on_threads)

// SPDX-License-Identifier: Apache-2.0
/// The operator min: its values, its refusals, its derivatives.

#include <math.h>

#include "support/axes_case.h"

static number min_formula(const number *x, int64_t n) {
  number most = x[0];
  for (int64_t i = 1; i < n; ++i) {
    if (creal(x[i]) < creal(most)) most = x[i];
  }
  return most;
}

static const axes_subject subject = {lac_min, min_formula};

static op_case min_case(void) {
  return (op_case){.op = "min", .data = &subject, .dtypes = OP_REAL, .degree = {1}, .fill = axes_apart};
}

static void min_takes_any_axes(lac_context *ctx) {
  for (uint32_t mask = 0; mask < 8; ++mask) {
    op_case c = axes_case(min_case(), "2,3,2", mask);
    check_op(ctx, &c);
  }
  check_op_axes(ctx, min_case(), "1");
  check_op_axes(ctx, min_case(), "");
}

static void min_takes_empty_batches(lac_context *ctx) {
  op_case c = axes_case(min_case(), "0,3", 1);
  check_op(ctx, &c);
}

static void min_shares_its_gradient_among_ties(lac_context *ctx) {
  if (!check_claimed("min")) return;
  double x_bar[4];
  CHECK_NEAR(axes_probe(ctx, lac_min, 4, (double[]){-1, 1, -1, 2}, x_bar), -1, 0);
  CHECK_NEAR(x_bar[0], 0.5, 0), CHECK_NEAR(x_bar[2], 0.5, 0);
  CHECK(x_bar[1] == 0 && x_bar[3] == 0);
}

static void min_takes_infinities_and_hands_on_nan(lac_context *ctx) {
  if (!check_claimed("min")) return;
  double x_bar[3];
  CHECK(isnan(axes_probe(ctx, lac_min, 3, (double[]){1, NAN, 2}, x_bar)));
  CHECK(isnan(x_bar[0]) && isnan(x_bar[1]));
  CHECK(isnan(axes_probe(ctx, lac_min, 2, (double[]){NAN, -INFINITY}, NULL)));
  CHECK(axes_probe(ctx, lac_min, 2, (double[]){-INFINITY, -INFINITY}, x_bar) == -INFINITY);
  CHECK(x_bar[0] == 0.5 && x_bar[1] == 0.5);
  CHECK(axes_probe(ctx, lac_min, 2, (double[]){INFINITY, INFINITY}, NULL) == INFINITY);
}

static void min_refuses_an_axis_of_no_numbers(lac_context *ctx) {
  lac_tape *tape = NULL;
  lac_array *x = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){3, 0}, &x));
  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  CHECK(!lac_min(tape, lac_tape_leaf(tape, x), 1, LAC_DROP_AXES).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "min: axis 1 is empty");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void min_does_not_depend_on_threads(lac_context *ctx) { check_op_axes_large(ctx, min_case()); }

CHECK_MAIN(min_takes_any_axes, min_takes_empty_batches, min_shares_its_gradient_among_ties,
           min_takes_infinities_and_hands_on_nan, min_refuses_an_axis_of_no_numbers, min_does_not_depend_on_threads)

// SPDX-License-Identifier: Apache-2.0
/// @file extreme_case.h
/// What max and min are asked alike, given a case whose data is an axes_subject. The largest of x is the smallest of
/// -x: the sign says which of the two is meant.

#ifndef LACUNA_TESTS_EXTREME_CASE_H
#define LACUNA_TESTS_EXTREME_CASE_H

#include <math.h>

#include "support/axes_case.h"

static inline axes_function *extreme_function(const op_case *c) { return ((const axes_subject *)c->data)->function; }

static inline number extreme_of(const number *x, int64_t n, double sign) {
  number most = x[0];
  for (int64_t i = 1; i < n; ++i) {
    if (sign * creal(x[i]) > sign * creal(most)) most = x[i];
  }
  return most;
}

static inline void check_extreme_axes(lac_context *ctx, op_case base) {
  for (uint32_t mask = 0; mask < 8; ++mask) {
    op_case c = axes_case(base, "2,3,2", mask);
    check_op(ctx, &c);
  }
  check_op_axes(ctx, base, "1");
  check_op_axes(ctx, base, "");
}

static inline void check_extreme_ties(lac_context *ctx, op_case base, double s) {
  double x_bar[4];
  if (!check_claimed(base.op)) return;
  CHECK_NEAR(axes_probe(ctx, extreme_function(&base), 4, (double[]){3 * s, s, 3 * s, 2 * s}, x_bar), 3 * s, 0);
  CHECK_NEAR(x_bar[0], 0.5, 0), CHECK_NEAR(x_bar[2], 0.5, 0);
  CHECK(x_bar[1] == 0 && x_bar[3] == 0);
}

static inline void check_extreme_infinities(lac_context *ctx, op_case base) {
  axes_function *f = extreme_function(&base);
  double x_bar[3];
  if (!check_claimed(base.op)) return;
  CHECK(isnan(axes_probe(ctx, f, 3, (double[]){1, NAN, 2}, x_bar)));
  CHECK(isnan(x_bar[0]) && isnan(x_bar[1]));
  for (int i = 0; i < 2; ++i) {
    double end = i ? (double)INFINITY : -(double)INFINITY;
    CHECK(isnan(axes_probe(ctx, f, 2, (double[]){NAN, end}, NULL)));
    CHECK(axes_probe(ctx, f, 2, (double[]){end, end}, x_bar) == end);
    CHECK(x_bar[0] == 0.5 && x_bar[1] == 0.5);
  }
}

static inline void check_extreme_refuses_nothing(lac_context *ctx, op_case base) {
  lac_tape *tape = NULL;
  lac_array *x = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){3, 0}, &x));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!extreme_function(&base)(tape, lac_tape_leaf(tape, x), LAC_AXES(-1), false).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, op_text("%s: axis 1 is empty", base.op));
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

#endif

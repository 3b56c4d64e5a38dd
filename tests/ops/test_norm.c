// SPDX-License-Identifier: Apache-2.0
/// The operator norm: its values, its derivatives, its range; norm1 and norm_inf beside it.

#include <math.h>

#include "support/axes_case.h"

static number norm_formula(const number *x, int64_t n) {
  long double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += (long double)creal(x[i]) * creal(x[i]) + (long double)cimag(x[i]) * cimag(x[i]);
  }
  return (double)sqrtl(sum);
}

static const axes_subject subject = {lac_norm, norm_formula};

static op_case norm_case(void) {
  return (op_case){.op = "norm", .data = &subject, .degree = {1}, .result_dtype = op_real_dtype, .fill = axes_apart};
}

static void norm_takes_any_axes(lac_context *ctx) {
  for (uint32_t mask = 0; mask < 8; ++mask) {
    op_case c = axes_case(norm_case(), "2,3,2", mask);
    check_op(ctx, &c);
  }
  check_op_axes(ctx, norm_case(), "3");
}

static void norm_of_nothing_is_zero(lac_context *ctx) {
  if (!check_claimed("norm")) return;
  check_op_axes(ctx, norm_case(), "3,0");
  CHECK(axes_probe(ctx, lac_norm, 0, (double[]){0}, NULL) == 0);
}

static void norm_stays_in_range(lac_context *ctx) {
  if (!check_claimed("norm")) return;
  double x_bar[2];
  CHECK_NEAR(axes_probe(ctx, lac_norm, 2, (double[]){3e200, -4e200}, x_bar), 5e200, 1e-15);
  CHECK_NEAR(x_bar[0], 0.6, 1e-15), CHECK_NEAR(x_bar[1], -0.8, 1e-15);
  CHECK_NEAR(axes_probe(ctx, lac_norm, 2, (double[]){3e-200, 4e-200}, x_bar), 5e-200, 1e-15);
  CHECK_NEAR(x_bar[0], 0.6, 1e-15), CHECK_NEAR(x_bar[1], 0.8, 1e-15);
  CHECK_NEAR(axes_probe(ctx, lac_norm, 2, (double[]){3e-320, 4e-320}, NULL), 5e-320, 1e-3);
  CHECK_NEAR(axes_probe(ctx, lac_norm, 2, (double[]){1e308, 1e-300}, NULL), 1e308, 1e-15);
}

static void norm_has_a_gradient_of_zero_at_zero(lac_context *ctx) {
  if (!check_claimed("norm")) return;
  double x_bar[3] = {1, 1, 1};
  CHECK(axes_probe(ctx, lac_norm, 3, (double[]){0, 0, 0}, x_bar) == 0);
  CHECK(x_bar[0] == 0 && x_bar[1] == 0 && x_bar[2] == 0);
}

static void norm_hands_on_what_is_not_finite(lac_context *ctx) {
  if (!check_claimed("norm")) return;
  CHECK(axes_probe(ctx, lac_norm, 2, (double[]){-INFINITY, 1}, NULL) == INFINITY);
  CHECK(isnan(axes_probe(ctx, lac_norm, 3, (double[]){1, NAN, INFINITY}, NULL)));
}

static void norm_does_not_depend_on_threads(lac_context *ctx) { check_op_axes_large(ctx, norm_case()); }

static number norm1_formula(const number *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += cabs(x[i]);
  return sum;
}

static number norm_inf_formula(const number *x, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < n; ++i) most = fmax(most, cabs(x[i]));
  return most;
}

static void norm1_and_norm_inf_are_made_of_sizes(lac_context *ctx) {
  static const axes_subject one = {lac_norm1, norm1_formula}, inf = {lac_norm_inf, norm_inf_formula};
  op_case c = norm_case();
  c.op = "abs", c.data = &one;
  check_op_axes(ctx, c, "2,3");
  c.data = &inf;
  check_op_axes(ctx, c, "2,3");
}

CHECK_MAIN(norm_takes_any_axes, norm_of_nothing_is_zero, norm_stays_in_range, norm_has_a_gradient_of_zero_at_zero,
           norm_hands_on_what_is_not_finite, norm_does_not_depend_on_threads, norm1_and_norm_inf_are_made_of_sizes)

// SPDX-License-Identifier: Apache-2.0
/// The operator logsumexp: its values, its derivatives, its range.

#include <math.h>

#include "support/axes_case.h"

static number logsumexp_formula(const number *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += exp(creal(x[i]));
  return log(sum);
}

static const axes_subject subject = {lac_logsumexp, logsumexp_formula};

static op_case logsumexp_case(void) {
  return (op_case){.op = "logsumexp", .data = &subject, .dtypes = OP_REAL, .slack = 4};
}

static void logsumexp_takes_any_axes(lac_context *ctx) {
  for (uint32_t mask = 0; mask < 8; ++mask) {
    op_case c = axes_case(logsumexp_case(), "2,3,2", mask);
    check_op(ctx, &c);
  }
  op_case none = axes_case(logsumexp_case(), "0,3", 1);
  check_op(ctx, &none);
}

static void logsumexp_stays_in_range(lac_context *ctx) {
  if (!check_claimed("logsumexp")) return;
  double x_bar[2];
  CHECK_NEAR(axes_probe(ctx, lac_logsumexp, 2, (double[]){1000, 1000}, x_bar), 1000 + log(2), 1e-15);
  CHECK_NEAR(x_bar[0], 0.5, 1e-15), CHECK_NEAR(x_bar[1], 0.5, 1e-15);
  CHECK_NEAR(axes_probe(ctx, lac_logsumexp, 2, (double[]){-1000, -1001}, NULL), -1000 + log1p(exp(-1)), 1e-15);
  CHECK_NEAR(axes_probe(ctx, lac_logsumexp, 2, (double[]){-1e300, 1e300}, x_bar), 1e300, 0);
  CHECK(x_bar[0] == 0 && x_bar[1] == 1);
}

static void logsumexp_takes_infinities(lac_context *ctx) {
  if (!check_claimed("logsumexp")) return;
  double x_bar[2] = {1, 1};
  CHECK(axes_probe(ctx, lac_logsumexp, 2, (double[]){-INFINITY, -INFINITY}, x_bar) == -INFINITY);
  CHECK(x_bar[0] == 0 && x_bar[1] == 0);
  CHECK_NEAR(axes_probe(ctx, lac_logsumexp, 2, (double[]){-INFINITY, 2}, x_bar), 2, 0);
  CHECK(x_bar[0] == 0 && x_bar[1] == 1);
  CHECK(axes_probe(ctx, lac_logsumexp, 2, (double[]){INFINITY, 2}, x_bar) == INFINITY);
  CHECK(x_bar[0] == 1 && x_bar[1] == 0);
  CHECK(axes_probe(ctx, lac_logsumexp, 0, (double[]){0}, NULL) == -INFINITY);
  CHECK(isnan(axes_probe(ctx, lac_logsumexp, 2, (double[]){NAN, INFINITY}, x_bar)));
  CHECK(isnan(x_bar[0]));
}

/// One long run, cut into blocks whose largest numbers differ by far.
static void logsumexp_joins_blocks(lac_context *ctx) {
  if (!check_claimed("logsumexp")) return;
  enum { N = 10000 };
  static double x[N];
  for (int i = 0; i < N; ++i) x[i] = i < 5000 ? -800 : i == 7000 ? 900 : 899;
  CHECK_NEAR(axes_probe(ctx, lac_logsumexp, N, x, NULL), 900 + log(1 + 4999 * exp(-1)), 1e-14);
}

static void logsumexp_does_not_depend_on_threads(lac_context *ctx) { check_op_axes_large(ctx, logsumexp_case()); }

CHECK_MAIN(logsumexp_takes_any_axes, logsumexp_stays_in_range, logsumexp_takes_infinities, logsumexp_joins_blocks,
           logsumexp_does_not_depend_on_threads)

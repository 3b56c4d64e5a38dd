// SPDX-License-Identifier: Apache-2.0
/// Options and reports of searches: zero is the default of every field, and structs of other versions are taken.

#include <stddef.h>
#include <string.h>

#include "lacuna/optimise.h"
#include "support/check.h"

/// (x[0] - 1)^2 + 10 (x[1] + 2)^2
static lac_status bowl(lac_context *ctx, void *data, int count, lac_array *const *x, double *value, lac_array **g) {
  double at[2];
  lac_status status = lac_array_read(ctx, x[0], at);
  (void)data, (void)count;
  *value = (at[0] - 1) * (at[0] - 1) + 10 * (at[1] + 2) * (at[1] + 2);
  double slope[2] = {2 * (at[0] - 1), 20 * (at[1] + 2)};
  if (status == LAC_OK) status = lac_array_from(ctx, LAC_F64, 1, (int64_t[]){2}, slope, LAC_OWNERSHIP_COPY, &g[0]);
  return status;
}

static lac_array *start_of(lac_context *ctx) {
  lac_array *at = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){2}, (double[]){-1.2, 1}, LAC_OWNERSHIP_COPY, &at));
  return at;
}

/// Where a search from the same start ends, and how.
static lac_optimise_report search_by(lac_context *ctx, const lac_optimise_options *options, double x[2]) {
  lac_array *at = start_of(ctx);
  lac_optimise_report report = {.size = sizeof report};

  CHECK_OK(lac_minimise(ctx, options, 1, &at, bowl, NULL, &report));
  CHECK_OK(lac_array_read(ctx, at, x));
  lac_array_destroy(&at);
  return report;
}

static void zero_is_the_default_of_every_option(lac_context *ctx) {
  for (lac_optimise_method method = LAC_OPTIMISE_LBFGS; method <= LAC_OPTIMISE_ADAM; method++) {
    lac_optimise_options usual = lac_optimise_options_defaults(), zero = {.method = method};
    double named[2], left[2];

    usual.method = method;
    lac_optimise_report by_name = search_by(ctx, &usual, named), by_zero = search_by(ctx, &zero, left);
    CHECK(memcmp(named, left, sizeof named) == 0);
    CHECK_EQ(by_name.iterations, by_zero.iterations);
    CHECK_TEXT(by_name.reason, by_zero.reason);
    if (method == LAC_OPTIMISE_LBFGS) {
      CHECK_EQ(by_zero.outcome, LAC_OUTCOME_SMALL_GRADIENT);
      CHECK_NEAR(left[0], 1, 1e-6);
      CHECK_NEAR(left[1], -2, 1e-6);
    } else {
      CHECK_EQ(by_zero.iterations, 1000);
      CHECK_NEAR(by_zero.step, 1e-3, 0);
    }
  }
}

/// The first step of Adam is rate g / |g|, whatever its means; of the second, with no mean of gradients, too.
static void below_zero_is_zero(lac_context *ctx) {
  lac_optimise_options plain = {.method = LAC_OPTIMISE_ADAM, .rate = 0.5, .beta1 = -1, .beta2 = -1, .epsilon = -1};
  double x[2];

  plain.max_iterations = 2;
  CHECK_EQ(search_by(ctx, &plain, x).iterations, 2);
  CHECK_NEAR(x[0], -0.2, 1e-12);
  CHECK_NEAR(x[1], 0, 1e-12);
  CHECK_EQ(search_by(ctx, &(lac_optimise_options){.max_iterations = -1}, x).iterations, 0);
}

static void structs_of_other_versions_are_taken_or_refused(lac_context *ctx) {
  struct {
    lac_optimise_options known;
    int64_t later;
  } options = {.known = {.size = sizeof options, .gradient_absolute = 1e300}};
  lac_array *at = start_of(ctx);
  lac_optimise_report report = {.size = sizeof report};
  double x[2];

  CHECK_EQ(search_by(ctx, &options.known, x).iterations, 0);
  options.known.size = offsetof(lac_optimise_options, gradient_absolute);
  CHECK_FAILS(lac_minimise(ctx, &options.known, 1, &at, bowl, NULL, &report), LAC_ERR_ARG, "lac_optimise_options)");
  options.known.size = sizeof options, options.later = 1;
  CHECK_FAILS(lac_minimise(ctx, &options.known, 1, &at, bowl, NULL, &report), LAC_ERR_ARG, "later version");
  CHECK_EQ(report.outcome, LAC_OUTCOME_OBJECTIVE_FAILED);
  report.size = 3;
  CHECK_FAILS(lac_minimise(ctx, NULL, 1, &at, bowl, NULL, &report), LAC_ERR_ARG, "sizeof(lac_optimise_report)");
  lac_array_destroy(&at);
}

CHECK_MAIN(zero_is_the_default_of_every_option, below_zero_is_zero, structs_of_other_versions_are_taken_or_refused)

// SPDX-License-Identifier: Apache-2.0
/// Prices: what an entry costs by how rows lie, and what is dearer than what.

#include "solvers/price.h"
#include "support/check.h"
#include "support/random.h"

/// Rows of a band, whose nodes have `block` unknowns and are numbered line by line or anyhow.
static lac_pattern *band_of(lac_context *ctx, int32_t nodes, int32_t block, bool is_shuffled) {
  enum { BESIDE = 3 };
  random_state random = random_start(4);
  int64_t count = 0, most = (int64_t)nodes * (2 * BESIDE + 1) * block * block;
  lac_pattern *pattern = NULL;
  int32_t *at = lac_alloc((size_t)nodes * sizeof *at);
  int32_t *row = lac_alloc((size_t)most * sizeof *row), *column = lac_alloc((size_t)most * sizeof *column);
  for (int32_t i = 0; i < nodes; i++) at[i] = i;
  for (int32_t i = nodes - 1; is_shuffled && i > 0; i--) {
    int32_t j = (int32_t)(random_bits(&random) % (uint64_t)(i + 1)), kept = at[i];
    at[i] = at[j], at[j] = kept;
  }
  for (int32_t i = 0; i < nodes; i++) {
    for (int32_t j = i < BESIDE ? 0 : i - BESIDE; j <= i + BESIDE && j < nodes; j++) {
      for (int32_t e = 0; e < block * block; e++, count++) {
        row[count] = at[i] * block + e / block, column[count] = at[j] * block + e % block;
      }
    }
  }
  CHECK_OK(lac_pattern_from_coo(ctx, (int64_t)nodes * block, (int64_t)nodes * block, count, LAC_I32, row, column,
                                LAC_WIDTH_AUTO, &pattern, NULL));
  lac_free(at);
  lac_free(row);
  lac_free(column);
  return pattern;
}

static double per_entry(const lac_pattern *pattern) {
  lac_price_of of = {"multigrid", 1.3, true, false};
  return lac_price_iteration(pattern, &of) / (double)pattern->nnz;
}

static void an_entry_costs_less_in_blocks_and_more_anywhere(lac_context *ctx) {
  lac_pattern *line = band_of(ctx, 6000, 1, false), *anyhow = band_of(ctx, 6000, 1, true);
  CHECK(per_entry(anyhow) > 1.5 * per_entry(line));
  for (int32_t block = 2; block <= 6; block++) {
    lac_pattern *blocks = band_of(ctx, 3000, block, false);
    CHECK(per_entry(blocks) < 0.7 * per_entry(line));
    lac_pattern_destroy(&blocks);
  }
  lac_pattern_destroy(&line);
  lac_pattern_destroy(&anyhow);
}

static void an_iteration_costs_more_by_what_it_does(lac_context *ctx) {
  lac_pattern *line = band_of(ctx, 6000, 1, false);
  const lac_price_of rising[] = {{"jacobi", 0, true, false},    {"ic0", 0, true, false},
                                 {"ilu0", 0, false, false},     {"multigrid", 3, true, false},
                                 {"multigrid", 4, true, false}, {"multigrid", 4, false, false}};
  for (int i = 0; i + 1 < (int)(sizeof rising / sizeof *rising); i++) {
    CHECK(lac_price_iteration(line, &rising[i]) < lac_price_iteration(line, &rising[i + 1]));
    CHECK(lac_price_setup(line, &rising[i]) <= lac_price_setup(line, &rising[i + 1]));
  }
  lac_pattern_destroy(&line);
}

/// Neither rows nor entries: nothing to pay, and nothing to divide by.
static void nothing_costs_nothing(lac_context *ctx) {
  lac_pattern *empty = NULL;
  lac_price_of of = {"jacobi", 0, true, false};
  CHECK_OK(lac_pattern_from_coo(ctx, 0, 0, 0, LAC_I32, NULL, NULL, LAC_WIDTH_AUTO, &empty, NULL));
  CHECK(lac_price_iteration(empty, &of) == 0 && lac_price_setup(empty, &of) == 0);
  CHECK(lac_price_factor(empty, 0, 0) == 0 && lac_price_analysis(empty, 1, 0) == 0);
  lac_pattern_destroy(&empty);
}

CHECK_MAIN(an_entry_costs_less_in_blocks_and_more_anywhere, an_iteration_costs_more_by_what_it_does,
           nothing_costs_nothing)

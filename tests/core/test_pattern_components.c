// SPDX-License-Identifier: Apache-2.0
/// The connected components of a pattern against the closure of its graph.

#include "core/test_hooks.h"
#include "support/check.h"
#include "support/mask.h"
#include "support/random.h"
#include "support/scratch.h"

enum { TRIALS = 300, MOST = 9 };

static const lac_width widths[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};

/// Which nodes of a square mask reach each other, whichever way entries point, by closure.
static mask mask_closed(const mask *m) {
  mask c = mask_empty(m->rows, m->rows);
  for (int64_t i = 0; i < m->rows; ++i) {
    for (int64_t j = 0; j < m->rows; ++j) {
      *mask_at(&c, i, j) = i == j || *mask_at(m, i, j) >= 0 || *mask_at(m, j, i) >= 0 ? 0 : -1;
    }
  }
  for (int64_t k = 0; k < m->rows; ++k) {
    for (int64_t i = 0; i < m->rows; ++i) {
      for (int64_t j = 0; j < m->rows; ++j) {
        if (*mask_at(&c, i, k) >= 0 && *mask_at(&c, k, j) >= 0) *mask_at(&c, i, j) = 0;
      }
    }
  }
  return c;
}

/// Labels agree just where nodes reach each other, and the first row of each component comes in turn.
static void check_components(lac_context *ctx, const lac_pattern *p) {
  mask m = mask_read(p), c = mask_closed(&m);
  int64_t *label = scratch((size_t)(m.rows + 1) * sizeof *label), count = 0;
  lac_map *map = NULL;
  CHECK_OK(lac_pattern_components(ctx, p, &map));
  CHECK_EQ(lac_map_inputs(map), m.rows);
  CHECK_OK(lac_map_read(map, label));
  for (int64_t i = 0; i < m.rows; ++i) {
    if (label[i] == count) ++count;
    CHECK(label[i] >= 0 && label[i] < count);
    for (int64_t j = 0; j < m.rows; ++j) CHECK_EQ(label[i] == label[j], *mask_at(&c, i, j) >= 0);
  }
  CHECK_EQ(lac_map_outputs(map), count);
  lac_map_destroy(&map);
}

static void components_match_the_closure(lac_context *ctx) {
  random_state r = random_start(41);
  for (int trial = 0; trial < TRIALS; ++trial) {
    size_t mark = scratch_mark();
    int64_t n = trial < MOST ? trial : random_below(&r, MOST);
    const sketch *s = sketch_random(n, n, (double)random_below(&r, 5) / 10, random_bits(&r));
    lac_pattern *p = NULL;
    CHECK_OK(sketch_pattern(ctx, s, widths[trial % 3], &p));
    check_components(ctx, p);
    lac_pattern_destroy(&p);
    scratch_release(mark);
  }
}

static void what_has_no_components_is_refused(lac_context *ctx) {
  lac_pattern *p = NULL;
  lac_map *map = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(2, 3, 0.5, 1), LAC_WIDTH_AUTO, &p));
  CHECK_FAILS(lac_pattern_components(ctx, p, &map), LAC_ERR_SHAPE, "square");
  CHECK_FAILS(lac_pattern_components(ctx, p, NULL), LAC_ERR_ARG, "NULL");
  CHECK_FAILS(lac_pattern_components(ctx, NULL, &map), LAC_ERR_ARG, "lac_pattern_components");
  CHECK(!map);
  lac_pattern_destroy(&p);
}

static void failing_allocations_lose_nothing(lac_context *ctx) {
  lac_pattern *p = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(5, 5, 0.3, 31), LAC_WIDTH_64_32, &p));
  for (int64_t n = 1;; ++n) {
    lac_map *map = NULL;
    long long before = memory_now("cpu").live_blocks;
    lac_memory_fail_at(n);
    lac_status status = lac_pattern_components(ctx, p, &map);
    int64_t asked = lac_memory_fail_at(0);
    if (status != LAC_OK) CHECK(!map);
    lac_map_destroy(&map);
    CHECK_EQ(memory_now("cpu").live_blocks, before);
    if (asked < n) break;
    CHECK_FAILS(status, LAC_ERR_MEMORY, "out of memory");
  }
  lac_pattern_destroy(&p);
}

CHECK_MAIN(components_match_the_closure, what_has_no_components_is_refused, failing_allocations_lose_nothing)

// SPDX-License-Identifier: Apache-2.0
/// Maps: what they say of themselves, their groups, their refusals.

#include "core/pattern/pattern_impl.h"
#include "support/check.h"
#include "support/random.h"
#include "support/scratch.h"

static lac_map *map_from(lac_context *ctx, int64_t inputs, int64_t outputs, const int64_t *target) {
  lac_map *map = NULL;
  CHECK_OK(lac_map_create(ctx, inputs, outputs, target, &map));
  CHECK_EQ(lac_map_inputs(map), inputs);
  CHECK_EQ(lac_map_outputs(map), outputs);
  int64_t *read = scratch((size_t)inputs * sizeof *read);
  lac_map_read(map, read);
  for (int64_t i = 0; i < inputs; ++i) CHECK_EQ(read[i], target[i]);
  return map;
}

static void identity_and_injectivity_are_found(lac_context *ctx) {
  static const struct {
    int64_t inputs, outputs, target[4];
    int identity, injective;
  } cases[] = {
      {0, 0, {0}, 1, 1},
      {0, 3, {0}, 0, 1},
      {1, 1, {0}, 1, 1},
      {1, 1, {-1}, 0, 1},
      {3, 3, {0, 1, 2}, 1, 1},
      {3, 4, {0, 1, 2}, 0, 1},
      {3, 3, {0, 2, 1}, 0, 1},
      {3, 3, {0, 1, 1}, 0, 0},
      {3, 3, {0, -1, 2}, 0, 1},
      {4, 3, {2, -1, 0, 2}, 0, 0},
      {4, 4, {3, 2, 1, 0}, 0, 1},
      {4, 2, {-1, -1, -1, -1}, 0, 1},
      {4, 200, {199, 64, 63, 64}, 0, 0},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    lac_map *map = map_from(ctx, cases[c].inputs, cases[c].outputs, cases[c].target);
    CHECK_EQ(lac_map_is_identity(map), cases[c].identity);
    CHECK_EQ(map->is_injective, cases[c].injective);
    lac_map_destroy(&map);
    CHECK(!map);
  }
}

static void targets_out_of_range_are_named(lac_context *ctx) {
  lac_map *map = NULL;
  CHECK_FAILS(lac_map_create(ctx, 3, 2, (int64_t[]){0, 1, 2}, &map), LAC_ERR_ARG, "target[2] = 2 is outside -1..1");
  CHECK_FAILS(lac_map_create(ctx, 3, 2, (int64_t[]){0, -2, 9}, &map), LAC_ERR_ARG, "target[1] = -2 is outside -1..1");
  CHECK_FAILS(lac_map_create(ctx, 1, 0, (int64_t[]){0}, &map), LAC_ERR_ARG, "target[0] = 0 is outside -1..-1");
  CHECK_FAILS(lac_map_create(ctx, -1, 2, NULL, &map), LAC_ERR_ARG, "inputs = -1");
  CHECK_FAILS(lac_map_create(ctx, 1, -2, (int64_t[]){0}, &map), LAC_ERR_ARG, "outputs = -2");
  CHECK_FAILS(lac_map_create(ctx, 3, 2, NULL, &map), LAC_ERR_ARG, "target is NULL");
  CHECK_FAILS(lac_map_create(ctx, 3, 2, (int64_t[]){0, 1, 1}, NULL), LAC_ERR_ARG, "out is NULL");
  CHECK_FAILS(lac_map_create(ctx, 0, INT64_MAX, NULL, &map), LAC_ERR_OVERFLOW, "outputs = 9223372036854775807");
  CHECK(!map);
}

/// Each output's sources, ascending, and nothing else.
static void check_groups(lac_context *ctx, const lac_map *map, const int64_t *target) {
  const lac_buffer *offsets = NULL, *sources = NULL, *again = NULL;
  CHECK_OK(lac_map_groups(ctx, map, &offsets, &sources));
  int64_t place = 0;
  for (int64_t j = 0; j < map->outputs; ++j) {
    CHECK_EQ(lac_buffer_get(offsets, j), place);
    for (int64_t i = 0; i < map->inputs; ++i) {
      if (target[i] == j) CHECK_EQ(lac_buffer_get(sources, place++), i);
    }
  }
  CHECK_EQ(lac_buffer_get(offsets, map->outputs), place);
  CHECK_EQ(sources->count, place);
  CHECK_EQ(offsets->type, map->target->type);
  CHECK_OK(lac_map_groups(ctx, map, &again, &sources));
  CHECK(again == offsets);
}

static void groups_list_the_sources_of_each_output(lac_context *ctx) {
  random_state r = random_start(11);
  for (int trial = 0; trial < 500; ++trial) {
    size_t mark = scratch_mark();
    int64_t inputs = random_below(&r, 30), outputs = random_below(&r, 12);
    int64_t *target = scratch((size_t)inputs * sizeof *target);
    for (int64_t i = 0; i < inputs; ++i) target[i] = random_below(&r, outputs + 1) - 1;
    lac_map *map = map_from(ctx, inputs, outputs, target);
    check_groups(ctx, map, target);
    lac_map_destroy(&map);
    scratch_release(mark);
  }
}

static void wide_maps_use_wide_integers(lac_context *ctx) {
  int64_t far = (int64_t)INT32_MAX + 5, target[] = {3, far, -1};
  lac_map *map = map_from(ctx, 3, far + 1, target);
  CHECK_EQ(map->target->type, LAC_I64);
  CHECK(map->is_injective);
  lac_map_destroy(&map);
  map = map_from(ctx, 3, 4, (int64_t[]){3, 3, 3});
  CHECK_EQ(map->target->type, LAC_I32);
  lac_map_destroy(&map);
}

static void a_map_lives_as_long_as_its_last_holder(lac_context *ctx) {
  lac_map *map = map_from(ctx, 2, 2, (int64_t[]){1, 0});
  lac_map *other = lac_map_retain(map);
  CHECK(other == map);
  int64_t id = lac_map_id(map);
  lac_map_destroy(&map);
  CHECK_EQ(lac_map_id(other), id);
  lac_map_destroy(&other);
  lac_map_destroy(&other);
  lac_map_destroy(NULL);
}

static void failing_allocations_lose_nothing(lac_context *ctx) {
  int64_t target[] = {4, 2, 2, -1, 0};
  lac_memory_stats before = memory_now("cpu");
  for (int64_t n = 1;; ++n) {
    lac_map *map = NULL;
    const lac_buffer *offsets = NULL, *sources = NULL;
    lac_memory_fail_at(n);
    lac_status status = lac_map_create(ctx, 5, 5, target, &map);
    if (status == LAC_OK) status = lac_map_groups(ctx, map, &offsets, &sources);
    int64_t asked = lac_memory_fail_at(0);
    lac_map_destroy(&map);
    CHECK_EQ(memory_now("cpu").live_blocks, before.live_blocks);
    if (asked < n) break;
    CHECK_FAILS(status, LAC_ERR_MEMORY, "out of memory");
  }
}

CHECK_MAIN(identity_and_injectivity_are_found, targets_out_of_range_are_named, groups_list_the_sources_of_each_output,
           wide_maps_use_wide_integers, a_map_lives_as_long_as_its_last_holder, failing_allocations_lose_nothing)

// SPDX-License-Identifier: Apache-2.0
/// Patterns made of one pattern for an operator's sake: the augmented one of least squares, the doubled one of dual
/// numbers.

#include "core/memory_impl.h"
#include "core/pattern/pattern_impl.h"
#include "support/check.h"
#include "support/dense.h"
#include "support/scratch.h"

static const lac_width widths[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};

/// The sketch of a pattern.
static sketch sketch_of(const lac_pattern *p) {
  size_t bytes = 8 * (size_t)(lac_pattern_nnz(p) + 1);
  sketch s = {lac_pattern_rows(p), lac_pattern_cols(p), lac_pattern_nnz(p), scratch(bytes), scratch(bytes)};
  lac_pattern_read(p, NULL, s.col, s.row);
  return s;
}

/// Slot z of the augmented pattern is that of (row, col).
static void expect_slot(const sketch *s, int64_t z, int64_t row, int64_t col) {
  CHECK_EQ(s->row[z], row);
  CHECK_EQ(s->col[z], col);
}

static void check_augmented(lac_context *ctx, const sketch *s, lac_width width) {
  lac_pattern *p = NULL, *made = NULL, *again = NULL;
  lac_map *map = NULL;
  int64_t m = s->rows, n = s->cols, nnz = s->nnz, *target = scratch(8 * (size_t)(m + n + 2 * nnz + 1));
  CHECK_OK(sketch_pattern(ctx, s, width, &p));
  CHECK_OK(lac_pattern_augmented(ctx, p, &made, &map));
  CHECK_OK(lac_pattern_augmented(ctx, p, &again, NULL));
  CHECK(again == made && lac_pattern_width(made) == width);
  sketch got = sketch_of(made);
  CHECK_EQ(got.nnz, m + n + 2 * nnz);
  CHECK_EQ(lac_map_outputs(map), got.nnz);
  lac_map_read(map, target);
  for (int64_t i = 0; i < m; ++i) expect_slot(&got, target[i], i, i);
  for (int64_t z = 0; z < nnz; ++z) {
    expect_slot(&got, target[m + z], s->row[z], m + s->col[z]);
    expect_slot(&got, target[m + nnz + z], m + s->col[z], s->row[z]);
  }
  for (int64_t j = 0; j < n; ++j) expect_slot(&got, target[m + 2 * nnz + j], m + j, m + j);
  lac_map_destroy(&map);
  lac_pattern_destroy(&made);
  lac_pattern_destroy(&again);
  lac_pattern_destroy(&p);
}

static void the_augmented_pattern_has_both_diagonals_and_both_halves(lac_context *ctx) {
  for (int w = 0; w < 3; ++w) {
    check_augmented(ctx, sketch_random(5, 3, 0.5, 1), widths[w]);
    check_augmented(ctx, sketch_random(3, 6, 0.4, 2), widths[w]);
    check_augmented(ctx, sketch_empty(2, 0), widths[w]);
    check_augmented(ctx, sketch_empty(0, 0), widths[w]);
  }
}

static void check_doubled(lac_context *ctx, const sketch *s, lac_width width) {
  lac_pattern *p = NULL;
  lac_doubled *d = NULL, *again = NULL;
  CHECK_OK(sketch_pattern(ctx, s, width, &p));
  CHECK_OK(lac_pattern_doubled(ctx, p, &d));
  CHECK_OK(lac_pattern_doubled(ctx, p, &again));
  CHECK(again == d);
  sketch got = sketch_of(d->pattern);
  CHECK(got.rows == 2 * s->rows && got.cols == 2 * s->cols && got.nnz == 3 * s->nnz);
  for (int64_t z = 0; z < got.nnz; ++z) {
    int64_t slot = sketch_find(s, got.row[z] / 2, got.col[z] / 2), beside = got.row[z] % 2 != got.col[z] % 2;
    CHECK(slot >= 0 && !(got.row[z] % 2 && beside));
    CHECK_EQ(lac_buffer_get(d->pair->target, z), beside ? s->nnz + slot : slot);
    CHECK_EQ(lac_buffer_get(d->twice->target, z), beside ? -1 : slot);
    CHECK_EQ(lac_buffer_get(d->once->target, z), beside ? slot : -1);
  }
  lac_object_release(d);
  lac_object_release(again);
  lac_pattern_destroy(&p);
}

static void the_doubled_pattern_has_a_block_for_each_entry(lac_context *ctx) {
  for (int w = 0; w < 3; ++w) {
    check_doubled(ctx, sketch_random(5, 3, 0.5, 1), widths[w]);
    check_doubled(ctx, sketch_square(4, 0.5, 2), widths[w]);
    check_doubled(ctx, sketch_empty(2, 0), widths[w]);
  }
}

static lac_status make_both(lac_context *ctx, const sketch *s) {
  lac_pattern *p = NULL, *made = NULL;
  lac_map *map = NULL;
  lac_doubled *d = NULL;
  lac_status status = sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p);
  if (status == LAC_OK) status = lac_pattern_augmented(ctx, p, &made, &map);
  if (status == LAC_OK) status = lac_pattern_doubled(ctx, p, &d);
  lac_object_release(d);
  lac_map_destroy(&map);
  lac_pattern_destroy(&made);
  lac_pattern_destroy(&p);
  return status;
}

static void a_failing_allocation_leaves_nothing_behind(lac_context *ctx) {
  const sketch *s = sketch_random(4, 3, 0.5, 1);
  long long before = check_live_blocks();
  int is_reached = 1;
  for (int64_t n = 1; is_reached; ++n) {
    lac_memory_fail_at(n);
    lac_status status = make_both(ctx, s);
    is_reached = lac_memory_fail_at(0) >= n;
    if (is_reached) CHECK_FAILS(status, LAC_ERR_MEMORY, "");
    CHECK_EQ(check_live_blocks(), before);
  }
}

static void blocks_are_refused(lac_context *ctx) {
  lac_pattern *p = NULL, *made = NULL;
  CHECK_OK(sketch_block_pattern(ctx, sketch_random(2, 2, 0.9, 1), 2, 2, LAC_WIDTH_AUTO, &p));
  CHECK_FAILS(lac_pattern_augmented(ctx, p, &made, NULL), LAC_ERR_UNSUPPORTED, "lac_pattern_scalar");
  CHECK_FAILS(lac_pattern_augmented(ctx, p, NULL, NULL), LAC_ERR_ARG, "out is NULL");
  lac_pattern_destroy(&p);
}

CHECK_MAIN(the_augmented_pattern_has_both_diagonals_and_both_halves, the_doubled_pattern_has_a_block_for_each_entry,
           a_failing_allocation_leaves_nothing_behind, blocks_are_refused)

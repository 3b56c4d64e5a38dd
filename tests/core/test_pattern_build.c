// SPDX-License-Identifier: Apache-2.0
/// Patterns of many entries, of odd shapes and of wide indices, beside a plain sort; the same on any number of threads;
/// and what building them costs in memory.

#include <stdlib.h>
#include <string.h>

#include "core/pattern/pattern_impl.h"
#include "support/check.h"
#include "support/random.h"
#include "support/scratch.h"

typedef struct entry {
  int64_t row, col, place;
} entry;

/// Entries as they are handed in.
typedef struct entries {
  int64_t rows, cols, count;
  int64_t *row, *col;
} entries;

static entries entries_new(int64_t rows, int64_t cols, int64_t count) {
  size_t bytes = (size_t)count * sizeof(int64_t);
  return (entries){rows, cols, count, scratch(bytes), scratch(bytes)};
}

static entries entries_random(int64_t rows, int64_t cols, int64_t count, uint64_t seed) {
  random_state r = random_start(seed);
  entries e = entries_new(rows, cols, count);
  for (int64_t i = 0; i < count; ++i) e.row[i] = random_below(&r, rows), e.col[i] = random_below(&r, cols);
  return e;
}

static int entry_order(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  if (x->col != y->col) return x->col < y->col ? -1 : 1;
  return 0;
}

/// A row or a column of -1 drops its entry.
static int is_kept(const entries *e, int64_t i) { return e->row[i] >= 0 && e->col[i] >= 0; }

/// The entries that are kept, and how many they are.
static entry *sorted(const entries *e, int64_t *kept) {
  entry *s = scratch((size_t)e->count * sizeof *s);
  *kept = 0;
  for (int64_t i = 0; i < e->count; ++i) {
    if (is_kept(e, i)) s[(*kept)++] = (entry){e->row[i], e->col[i], i};
  }
  if (*kept) qsort(s, (size_t)*kept, sizeof *s, entry_order);
  return s;
}

static int map_counts_up(int64_t count, const int64_t *target) {
  for (int64_t i = 0; i < count; ++i) {
    if (target[i] != i) return 0;
  }
  return 1;
}

/// The pattern and its map are what the sort says.
static void check_built(const entries *e, const lac_pattern *p, const lac_map *map) {
  int64_t kept = 0, slot = -1;
  const entry *s = sorted(e, &kept);
  int64_t *target = scratch((size_t)e->count * sizeof *target), *offsets = scratch((size_t)(e->rows + 1) * 8);
  int64_t *columns = scratch((size_t)p->nnz * sizeof *columns);
  lac_map_read(map, target);
  lac_pattern_read(p, offsets, columns, NULL);
  CHECK_EQ(lac_map_inputs(map), e->count);
  CHECK_EQ(lac_map_outputs(map), p->nnz);
  for (int64_t i = 0; i < e->count; ++i) CHECK(is_kept(e, i) || target[i] == -1);
  for (int64_t i = 0; i < kept; ++i) {
    slot += i == 0 || entry_order(&s[i - 1], &s[i]) != 0;
    if (target[s[i].place] != slot || slot >= p->nnz || columns[slot] != s[i].col || offsets[s[i].row] > slot ||
        offsets[s[i].row + 1] <= slot)
      check_fail(__FILE__, __LINE__, "entry %lld is not in slot %lld", (long long)s[i].place, (long long)slot);
  }
  CHECK_EQ(slot + 1, p->nnz);
  CHECK_EQ(offsets[0], 0);
  CHECK_EQ(map->is_injective, p->nnz == kept);
  CHECK_EQ(map->is_identity, p->nnz == e->count && kept == e->count && map_counts_up(e->count, target));
}

static void *narrow(int64_t count, const int64_t *x) {
  int32_t *made = scratch((size_t)count * sizeof *made);
  for (int64_t i = 0; i < count; ++i) made[i] = (int32_t)x[i];
  return made;
}

static int same_buffer(lac_context *ctx, const lac_buffer *a, const lac_buffer *b) {
  CHECK_OK(lac_buffer_host(ctx, a));
  CHECK_OK(lac_buffer_host(ctx, b));
  return a->type == b->type && a->count == b->count &&
         memcmp(a->host, b->host, (size_t)a->count * (a->type == LAC_I32 ? 4 : 8)) == 0;
}

/// Build on 1, 2 and 5 threads, from both types of integers where they fit: right, and the same to the bit.
static void check_entries(lac_context *ctx, const entries *e) {
  static const int threads[] = {1, 2, 5};
  size_t mark = scratch_mark();
  int types = e->rows <= INT32_MAX && e->cols <= INT32_MAX ? 2 : 1;
  lac_pattern *first = NULL;
  lac_map *first_map = NULL;
  for (int v = 0; v < 3 * types; ++v) {
    lac_pattern *p = NULL;
    lac_map *map = NULL;
    const void *row = v < 3 ? e->row : narrow(e->count, e->row), *col = v < 3 ? e->col : narrow(e->count, e->col);
    CHECK_OK(lac_context_set_threads(ctx, threads[v % 3]));
    CHECK_OK(lac_pattern_from_coo(ctx, e->rows, e->cols, e->count, v < 3 ? LAC_I64 : LAC_I32, row, col, LAC_WIDTH_AUTO,
                                  &p, &map));
    if (v == 0) {
      check_built(e, p, map);
      first = p, first_map = map;
      continue;
    }
    CHECK(same_buffer(ctx, p->offsets, first->offsets) && same_buffer(ctx, p->columns, first->columns));
    CHECK(same_buffer(ctx, map->target, first_map->target) && p->fingerprint == first->fingerprint);
    lac_pattern_destroy(&p);
    lac_map_destroy(&map);
  }
  lac_pattern_destroy(&first);
  lac_map_destroy(&first_map);
  scratch_release(mark);
}

static void many_entries_of_all_shapes_match_a_plain_sort(lac_context *ctx) {
  static const int64_t sizes[][3] = {
      {40000, 40000, 200000}, {1, 1000000, 100000}, {100000, 1, 100000}, {3, 7, 100000},
      {1, 1, 70000},          {200000, 5, 20000},   {17, 3, 0},          {90000, 90000, 1}};
  for (size_t c = 0; c < sizeof sizes / sizeof *sizes; ++c) {
    entries e = entries_random(sizes[c][0], sizes[c][1], sizes[c][2], c + 1);
    check_entries(ctx, &e);
  }
}

static void one_long_row_among_short_ones_is_sorted(lac_context *ctx) {
  entries e = entries_random(50000, 50000, 120000, 11);
  for (int64_t i = 0; i < e.count; i += 2) e.row[i] = 31234;
  check_entries(ctx, &e);
}

static void entries_that_come_in_order_are_taken_as_they_come(lac_context *ctx) {
  entries e = entries_random(30000, 30000, 100000, 12), in_order = entries_new(e.rows, e.cols, e.count);
  int64_t kept = 0;
  const entry *s = sorted(&e, &kept);
  for (int64_t i = 0; i < e.count; ++i) in_order.row[i] = s[i].row, in_order.col[i] = s[i].col;
  check_entries(ctx, &in_order);  // some twice: by row, not canonical
  for (int64_t i = 0; i < e.count; ++i) in_order.row[i] = i / 5, in_order.col[i] = i % 5;
  check_entries(ctx, &in_order);  // canonical
  for (int64_t i = 0; i < e.count; ++i) in_order.col[i] = 4 - i % 5;
  check_entries(ctx, &in_order);  // by row, backwards
  for (int64_t i = 0; i < e.count; ++i) in_order.row[i] = 19999 - i / 5;
  check_entries(ctx, &in_order);
}

static void all_entries_may_be_the_same_one(lac_context *ctx) {
  entries e = entries_new(100000, 100000, 90000);
  for (int64_t i = 0; i < e.count; ++i) e.row[i] = 77777, e.col[i] = 99999;
  check_entries(ctx, &e);
}

/// Some rows, some columns, some of both; then all, of matrices that may have no row or no column.
static void entries_of_fixed_rows_and_columns_are_dropped(lac_context *ctx) {
  static const int64_t sizes[][3] = {{40000, 30000, 200000}, {5, 4, 60}, {1, 1, 3}, {1, 70000, 90000}};
  for (size_t c = 0; c < sizeof sizes / sizeof *sizes; ++c) {
    entries e = entries_random(sizes[c][0], sizes[c][1], sizes[c][2], 20 + c);
    for (int64_t i = 0; i < e.count; i += 3) e.row[i] = -1;
    for (int64_t i = 1; i < e.count; i += 4) e.col[i] = -1;
    check_entries(ctx, &e);
    for (int64_t i = 0; i < e.count; ++i) e.col[i] = -1;
    check_entries(ctx, &e);
    e.cols = 0;
    check_entries(ctx, &e);
    for (int64_t i = 0; i < e.count; ++i) e.row[i] = -1;
    e.rows = 0;
    check_entries(ctx, &e);
  }
}

/// In canonical order but for one that is dropped: first, in the middle, last; by its row, and by its column.
static void one_dropped_entry_does_not_pass_for_an_index(lac_context *ctx) {
  enum { COUNT = 12 };
  for (int at = 0; at < COUNT; ++at) {
    for (int by_col = 0; by_col < 2; ++by_col) {
      entries e = entries_new(4, 3, COUNT);
      for (int64_t i = 0; i < COUNT; ++i) e.row[i] = i / 3, e.col[i] = i % 3;
      (by_col ? e.col : e.row)[at] = -1;
      check_entries(ctx, &e);
    }
  }
}

/// Columns beyond 32 bits; as many rows would need the memory of their offsets.
static void indices_of_64_bits_are_kept(lac_context *ctx) {
  const int64_t far = (int64_t)1 << 40;
  entries e = entries_random(200, 1000, 90000, 13);
  e.cols = far + 1000;
  for (int64_t i = 0; i < e.count; ++i) e.col[i] += i % 3 ? far : (int64_t)INT32_MAX - 500;
  check_entries(ctx, &e);
  for (int64_t i = 0; i < e.count; i += 5) (i % 2 ? e.row : e.col)[i] = -1;
  check_entries(ctx, &e);
}

/// The same entries by rows and by columns.
static void compressed_rows_and_columns_give_the_same_pattern(lac_context *ctx) {
  entries e = entries_random(70000, 80000, 150000, 14);
  for (int by_col = 0; by_col < 2; ++by_col) {
    int64_t lines = by_col ? e.cols : e.rows, *line = by_col ? e.col : e.row, *other = by_col ? e.row : e.col;
    int64_t *offsets = scratch((size_t)(lines + 2) * sizeof *offsets),
            *index = scratch((size_t)e.count * sizeof *index);
    for (int64_t i = 0; i < e.count; ++i) ++offsets[line[i] + 2];
    for (int64_t i = 1; i <= lines; ++i) offsets[i + 1] += offsets[i];
    for (int64_t i = 0; i < e.count; ++i) index[offsets[line[i] + 1]++] = other[i];
    lac_pattern *p = NULL, *q = NULL;
    CHECK_OK(lac_context_set_threads(ctx, 2));
    CHECK_OK(lac_pattern_from_coo(ctx, e.rows, e.cols, e.count, LAC_I64, e.row, e.col, LAC_WIDTH_64_64, &p, NULL));
    CHECK_OK((by_col ? lac_pattern_from_csc : lac_pattern_from_csr)(ctx, e.rows, e.cols, LAC_I64, offsets, index,
                                                                    LAC_WIDTH_AUTO, &q, NULL));
    CHECK(lac_pattern_same(p, q));
    lac_pattern_destroy(&q);
    offsets[90] = -1, offsets[60000] = -7;
    CHECK_FAILS((by_col ? lac_pattern_from_csc : lac_pattern_from_csr)(ctx, e.rows, e.cols, LAC_I64, offsets, index,
                                                                       LAC_WIDTH_AUTO, &q, NULL),
                LAC_ERR_PATTERN, "offsets[90] = -1 is less than offsets[89]");
    lac_pattern_destroy(&p);
  }
}

/// Ten shuffled entries a row, 8 bytes each: the results, and all that is live on the way, are at most three times
/// that.
static void building_takes_at_most_three_times_its_input(lac_context *ctx) {
  enum { COUNT = 400000 };
  random_state r = random_start(15);
  int32_t *row = scratch(COUNT * sizeof *row), *col = scratch(COUNT * sizeof *col);
  for (int i = 0; i < COUNT; ++i) row[i] = i / 10, col[i] = (int32_t)random_below(&r, COUNT / 10);
  for (int i = COUNT - 1; i > 0; --i) {
    int64_t j = random_below(&r, i + 1);
    int32_t swap = row[i];
    row[i] = row[j], row[j] = swap;
  }
  for (int threads = 1; threads <= 2; ++threads) {
    lac_pattern *p = NULL;
    lac_map *map = NULL;
    CHECK_OK(lac_context_set_threads(ctx, threads));
    lac_memory_reset_peak("cpu");
    int64_t before = memory_now("cpu").live_bytes;
    CHECK_OK(lac_pattern_from_coo(ctx, COUNT / 10, COUNT / 10, COUNT, LAC_I32, row, col, LAC_WIDTH_AUTO, &p, &map));
    CHECK(memory_now("cpu").peak_bytes - before <= 3 * 8 * (int64_t)COUNT);
    lac_pattern_destroy(&p);
    lac_map_destroy(&map);
  }
}

CHECK_MAIN(many_entries_of_all_shapes_match_a_plain_sort, one_long_row_among_short_ones_is_sorted,
           entries_that_come_in_order_are_taken_as_they_come, all_entries_may_be_the_same_one,
           entries_of_fixed_rows_and_columns_are_dropped, one_dropped_entry_does_not_pass_for_an_index,
           indices_of_64_bits_are_kept, compressed_rows_and_columns_give_the_same_pattern,
           building_takes_at_most_three_times_its_input)

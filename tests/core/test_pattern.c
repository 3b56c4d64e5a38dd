// SPDX-License-Identifier: Apache-2.0
/// Patterns: how they are built, what they refuse, what makes two of them the same.

#include <pthread.h>
#include <string.h>

#include "core/pattern/pattern_impl.h"
#include "support/check.h"
#include "support/mask.h"
#include "support/random.h"
#include "support/scratch.h"

static const lac_width widths[] = {LAC_WIDTH_AUTO, LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
enum { WIDTHS = 4 };

/// Integers in the type in which they are handed in.
static const void *as_type(lac_index_type type, int64_t count, const int64_t *x) {
  if (type == LAC_I64) return x;
  int32_t *narrow = scratch((size_t)count * sizeof *narrow);
  for (int64_t i = 0; i < count; ++i) narrow[i] = (int32_t)x[i];
  return narrow;
}

/// Offsets of lines 0..lines-1 for entries that come line by line.
static int64_t *offsets_of(int64_t lines, int64_t count, const int64_t *line) {
  int64_t *offsets = scratch((size_t)(lines + 1) * sizeof *offsets);
  for (int64_t i = 0; i < count; ++i) ++offsets[line[i] + 1];
  for (int64_t i = 0; i < lines; ++i) offsets[i + 1] += offsets[i];
  return offsets;
}

/// The pattern and the entry map of these entries are what the mask says; both are destroyed.
static void check_built(const mask *m, int64_t count, const int64_t *row, const int64_t *col, lac_width width,
                        lac_pattern *pattern, lac_map *map) {
  int64_t *target = scratch((size_t)count * sizeof *target);
  int is_identity = m->nnz == count;
  mask_check(m, pattern);
  CHECK_EQ(lac_pattern_width(pattern), width == LAC_WIDTH_AUTO ? LAC_WIDTH_32_32 : width);
  CHECK_EQ(pattern->offsets->type, lac_width_offsets(pattern->width));
  CHECK_EQ(pattern->columns->type, lac_width_columns(pattern->width));
  CHECK_EQ(map->target->type, lac_width_offsets(pattern->width));
  CHECK_EQ(lac_map_inputs(map), count);
  CHECK_EQ(lac_map_outputs(map), m->nnz);
  CHECK_EQ(map->is_injective, m->nnz == count);
  lac_map_read(map, target);
  for (int64_t i = 0; i < count; ++i) {
    CHECK_EQ(target[i], *mask_at(m, row[i], col[i]));
    is_identity &= target[i] == i;
  }
  CHECK_EQ(lac_map_is_identity(map), is_identity);
  lac_pattern_destroy(&pattern);
  lac_map_destroy(&map);
}

/// Build from coordinates and, where the entries come line by line, from compressed rows or columns; all types and
/// widths.
static void check_entries(lac_context *ctx, int64_t rows, int64_t cols, int64_t count, const int64_t *row,
                          const int64_t *col) {
  size_t mark = scratch_mark();
  mask m = mask_of(rows, cols, count, row, col);
  int by_row = 1, by_col = 1;
  for (int64_t i = 1; i < count; ++i) by_row &= row[i - 1] <= row[i], by_col &= col[i - 1] <= col[i];

  for (int v = 0; v < 2 * WIDTHS; ++v) {
    lac_index_type type = v % 2 ? LAC_I64 : LAC_I32;
    lac_width width = widths[v / 2];
    const void *r = as_type(type, count, row), *c = as_type(type, count, col);
    lac_pattern *pattern = NULL;
    lac_map *map = NULL;
    CHECK_OK(lac_pattern_from_coo(ctx, rows, cols, count, type, r, c, width, &pattern, &map));
    check_built(&m, count, row, col, width, pattern, map);
    if (by_row) {
      const void *offsets = as_type(type, rows + 1, offsets_of(rows, count, row));
      CHECK_OK(lac_pattern_from_csr(ctx, rows, cols, type, offsets, c, width, &pattern, &map));
      check_built(&m, count, row, col, width, pattern, map);
    }
    if (by_col) {
      const void *offsets = as_type(type, cols + 1, offsets_of(cols, count, col));
      CHECK_OK(lac_pattern_from_csc(ctx, rows, cols, type, offsets, r, width, &pattern, &map));
      check_built(&m, count, row, col, width, pattern, map);
    }
  }
  scratch_release(mark);
}

static void entries_in_any_order_are_taken(lac_context *ctx) {
  int64_t row[] = {3, 0, 3, 1, 3, 0, 3}, col[] = {2, 4, 0, 1, 2, 0, 2};  // row 2 is empty, (3, 2) comes thrice
  check_entries(ctx, 4, 5, 7, row, col);
  check_entries(ctx, 9, 5, 7, row, col);
  check_entries(ctx, 4, 5, 0, NULL, NULL);
  check_entries(ctx, 0, 0, 0, NULL, NULL);
  check_entries(ctx, 0, 3, 0, NULL, NULL);
  check_entries(ctx, 3, 0, 0, NULL, NULL);
  check_entries(ctx, 1, 1, 1, (int64_t[]){0}, (int64_t[]){0});
  check_entries(ctx, 1, 1, 3, (int64_t[]){0, 0, 0}, (int64_t[]){0, 0, 0});
  check_entries(ctx, 1, 4, 4, (int64_t[]){0, 0, 0, 0}, (int64_t[]){3, 2, 1, 0});
  check_entries(ctx, 4, 1, 4, (int64_t[]){3, 2, 1, 0}, (int64_t[]){0, 0, 0, 0});
}

static void sorted_rows_and_sorted_columns_are_taken(lac_context *ctx) {
  check_entries(ctx, 3, 4, 4, (int64_t[]){0, 0, 2, 2}, (int64_t[]){1, 3, 0, 2});        // canonical
  check_entries(ctx, 3, 4, 5, (int64_t[]){0, 0, 0, 2, 2}, (int64_t[]){3, 1, 3, 2, 0});  // by row
  check_entries(ctx, 3, 4, 5, (int64_t[]){2, 0, 2, 1, 1}, (int64_t[]){0, 1, 1, 2, 2});  // by column
  check_entries(ctx, 3, 4, 4, (int64_t[]){0, 0, 0, 2}, (int64_t[]){0, 0, 1, 1});        // by both, with a duplicate
}

/// Random entries of a matrix, some of them repeated, sorted by nothing (0), by row (1) or by column (2).
static void random_entries(random_state *r, int64_t rows, int64_t cols, int64_t count, int sorted, int64_t *row,
                           int64_t *col) {
  for (int64_t i = 0; i < count; ++i) row[i] = random_below(r, rows), col[i] = random_below(r, cols);
  for (int64_t i = 1; sorted && i < count; ++i) {
    for (int64_t j = i; j > 0 && (sorted == 1 ? row[j - 1] > row[j] : col[j - 1] > col[j]); --j) {
      int64_t x = row[j], y = col[j];
      row[j] = row[j - 1], col[j] = col[j - 1];
      row[j - 1] = x, col[j - 1] = y;
    }
  }
}

static void random_entries_match_brute_force(lac_context *ctx) {
  random_state r = random_start(1);
  for (int trial = 0; trial < 600; ++trial) {
    size_t mark = scratch_mark();
    int64_t rows = random_below(&r, 10), cols = random_below(&r, 10);
    int64_t count = rows && cols ? random_below(&r, 50) : 0;
    int64_t *row = scratch((size_t)count * sizeof *row), *col = scratch((size_t)count * sizeof *col);
    random_entries(&r, rows, cols, count, trial % 3, row, col);
    CHECK_OK(lac_context_set_threads(ctx, 1 + trial % 4));
    check_entries(ctx, rows, cols, count, row, col);
    scratch_release(mark);
  }
}

/// Long rows (sorted by digits), many blocks, several threads.
static void large_inputs_match_brute_force(lac_context *ctx) {
  static const struct {
    int64_t rows, cols, count;
  } cases[] = {{1, 70000, 5000}, {3, 300, 40000}, {1500, 40, 120000}, {40, 1500, 60000}, {2, 2, 70000}};
  random_state r = random_start(2);
  for (size_t c = 0; c < 2 * sizeof cases / sizeof *cases; ++c) {
    size_t mark = scratch_mark();
    int64_t rows = cases[c / 2].rows, cols = cases[c / 2].cols, count = cases[c / 2].count;
    int64_t *row = scratch((size_t)count * sizeof *row), *col = scratch((size_t)count * sizeof *col);
    random_entries(&r, rows, cols, count, 0, row, col);
    CHECK_OK(lac_context_set_threads(ctx, c % 2 ? 3 : 1));
    mask m = mask_of(rows, cols, count, row, col);
    lac_pattern *pattern = NULL, *again = NULL;
    lac_map *map = NULL;
    CHECK_OK(lac_pattern_from_coo(ctx, rows, cols, count, LAC_I64, row, col, LAC_WIDTH_64_64, &pattern, &map));
    int64_t *columns = scratch((size_t)m.nnz * sizeof *columns),
            *offsets = scratch((size_t)(rows + 1) * sizeof *offsets);
    lac_pattern_read(pattern, offsets, columns, NULL);
    CHECK_OK(lac_pattern_from_csr(ctx, rows, cols, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &again, NULL));
    CHECK(lac_pattern_same(pattern, again));
    lac_pattern_destroy(&again);
    check_built(&m, count, row, col, LAC_WIDTH_64_64, pattern, map);
    scratch_release(mark);
  }
}

static void entry_maps_are_optional(lac_context *ctx) {
  int64_t offsets[] = {0, 2, 4}, index[] = {1, 0, 1, 1};
  mask m = mask_of(2, 2, 4, (int64_t[]){0, 0, 1, 1}, index), n = mask_of(2, 2, 4, index, (int64_t[]){0, 0, 1, 1});
  lac_pattern *pattern = NULL;
  CHECK_OK(lac_pattern_from_csr(ctx, 2, 2, LAC_I64, offsets, index, LAC_WIDTH_AUTO, &pattern, NULL));
  mask_check(&m, pattern);
  lac_pattern_destroy(&pattern);
  CHECK_OK(lac_pattern_from_csc(ctx, 2, 2, LAC_I64, offsets, index, LAC_WIDTH_AUTO, &pattern, NULL));
  mask_check(&n, pattern);
  lac_pattern_destroy(&pattern);
}

static void indices_out_of_range_are_named(lac_context *ctx) {
  lac_pattern *p = NULL;
  int64_t zero[] = {0, 0, 0}, high[] = {0, 4, 9}, low[] = {0, 1, -3}, offsets[] = {0, 3};
  CHECK_FAILS(lac_pattern_from_coo(ctx, 4, 5, 3, LAC_I64, high, zero, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "lac_pattern_from_coo: row[1] = 4 is outside 0..3 (4 rows, counted from 0; -1 drops an entry)");
  CHECK_FAILS(lac_pattern_from_coo(ctx, 4, 5, 3, LAC_I64, zero, low, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "lac_pattern_from_coo: col[2] = -3 is outside 0..4 (5 columns, counted from 0; -1 drops an entry)");
  CHECK_FAILS(lac_pattern_from_coo(ctx, 4, 2, 3, LAC_I64, low, high, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "col[1] = 4 is outside 0..1");
  CHECK_FAILS(lac_pattern_from_coo(ctx, 0, 2, 3, LAC_I64, zero, zero, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "row[0] = 0, but the matrix has no rows");
  CHECK_FAILS(lac_pattern_from_csr(ctx, 1, 5, LAC_I64, offsets, high, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "lac_pattern_from_csr: columns[2] = 9 is outside 0..4");
  CHECK_FAILS(lac_pattern_from_csr(ctx, 1, 0, LAC_I64, offsets, high, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "columns[0] = 0, but the matrix has no columns");
  low[2] = -1;  // drops an entry of coordinates alone
  CHECK_FAILS(lac_pattern_from_csr(ctx, 1, 5, LAC_I64, offsets, low, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "columns[2] = -1 is outside 0..4 (5 columns, counted from 0)");
  CHECK_FAILS(lac_pattern_from_coo(ctx, 4, 5, 3, LAC_I64, low, high, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "col[2] = 9 is outside");  // of a dropped entry, and yet wrong
  CHECK_FAILS(lac_pattern_from_csc(ctx, 9, 1, LAC_I64, offsets, high, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "lac_pattern_from_csc: rows_of[2] = 9 is outside 0..8");
  CHECK(!p);
}

static void the_first_of_many_bad_indices_is_named(lac_context *ctx) {
  enum { COUNT = 200000 };
  int32_t *row = scratch(COUNT * sizeof *row), *col = scratch(COUNT * sizeof *col);
  lac_pattern *p = NULL;
  CHECK_OK(lac_context_set_threads(ctx, 3));
  row[COUNT - 1] = row[150000] = 7;
  CHECK_FAILS(lac_pattern_from_coo(ctx, 7, 1, COUNT, LAC_I32, row, col, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "row[150000] = 7 ");
  col[149999] = col[150000] = -2;
  CHECK_FAILS(lac_pattern_from_coo(ctx, 7, 1, COUNT, LAC_I32, row, col, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "col[149999] = -2 ");
}

static void offsets_that_do_not_fit_are_named(lac_context *ctx) {
  lac_pattern *p = NULL;
  int32_t columns[] = {0, 1, 0, 1, 0};
  CHECK_FAILS(lac_pattern_from_csr(ctx, 3, 2, LAC_I32, (int32_t[]){0, 3, 2, 5}, columns, LAC_WIDTH_AUTO, &p, NULL),
              LAC_ERR_PATTERN, "lac_pattern_from_csr: offsets[2] = 2 is less than offsets[1] = 3");
  CHECK_FAILS(lac_pattern_from_csc(ctx, 2, 2, LAC_I32, (int32_t[]){0, -1, 2}, columns, LAC_WIDTH_AUTO, &p, NULL),
              LAC_ERR_PATTERN, "lac_pattern_from_csc: offsets[1] = -1 is less than offsets[0] = 0");
  CHECK_FAILS(lac_pattern_from_csr(ctx, 1, 2, LAC_I32, (int32_t[]){1, 2}, columns, LAC_WIDTH_AUTO, &p, NULL),
              LAC_ERR_PATTERN, "offsets[0] = 1; offsets begin with 0");
  CHECK_FAILS(lac_pattern_from_csr(ctx, 1, 2, LAC_I64, (int64_t[]){0, INT64_MAX}, columns, LAC_WIDTH_AUTO, &p, NULL),
              LAC_ERR_OVERFLOW, "offsets[1] = 9223372036854775807 is beyond");
  CHECK(!p);
}

static void missing_pointers_and_odd_arguments_are_named(lac_context *ctx) {
  lac_pattern *p = NULL;
  int64_t x[] = {0, 0};
  CHECK_FAILS(lac_pattern_from_coo(ctx, 1, 1, 2, LAC_I64, NULL, x, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG,
              "row is NULL");
  CHECK_FAILS(lac_pattern_from_coo(ctx, 1, 1, 2, LAC_I64, x, NULL, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG,
              "col is NULL");
  CHECK_FAILS(lac_pattern_from_coo(ctx, 1, 1, 2, LAC_I64, x, x, LAC_WIDTH_AUTO, NULL, NULL), LAC_ERR_ARG,
              "out is NULL");
  CHECK_FAILS(lac_pattern_from_csr(ctx, 1, 1, LAC_I64, NULL, x, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG,
              "offsets is NULL");
  CHECK_FAILS(lac_pattern_from_csr(ctx, 1, 1, LAC_I64, (int64_t[]){0, 1}, NULL, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG,
              "columns is NULL, and there are 1 entries");
  CHECK_FAILS(lac_pattern_from_csc(ctx, 1, 1, LAC_I64, (int64_t[]){0, 1}, NULL, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG,
              "rows_of is NULL");
  CHECK_FAILS(lac_pattern_from_coo(ctx, -1, 1, 0, LAC_I64, x, x, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG, "rows = -1");
  CHECK_FAILS(lac_pattern_from_coo(ctx, 1, -2, 0, LAC_I64, x, x, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG, "cols = -2");
  CHECK_FAILS(lac_pattern_from_coo(ctx, 1, 1, -3, LAC_I64, x, x, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG, "count = -3");
  CHECK_FAILS(lac_pattern_from_coo(ctx, 1, 1, 2, (lac_index_type)7, x, x, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG,
              "type = 7; give LAC_I32 or LAC_I64");
  CHECK_FAILS(lac_pattern_from_coo(ctx, 1, 1, 2, LAC_I64, x, x, (lac_width)9, &p, NULL), LAC_ERR_ARG, "width = 9");
  CHECK_FAILS(lac_pattern_from_coo(ctx, INT64_MAX, 1, 0, LAC_I64, x, x, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_OVERFLOW,
              "rows = 9223372036854775807 is beyond");
  CHECK(!p);
}

static void widths_hold_what_they_must(lac_context *ctx) {
  int64_t far = (int64_t)INT32_MAX + 1, row[] = {1, 0}, col[] = {far - 1, 5};
  lac_pattern *p = NULL;
  lac_width width = LAC_WIDTH_AUTO;
  CHECK_OK(lac_pattern_from_coo(ctx, 2, far, 2, LAC_I64, row, col, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_EQ(lac_pattern_width(p), LAC_WIDTH_64_64);
  lac_pattern_destroy(&p);
  CHECK_OK(lac_pattern_from_coo(ctx, 2, far - 1, 1, LAC_I64, row, col + 1, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_EQ(lac_pattern_width(p), LAC_WIDTH_32_32);
  lac_pattern_destroy(&p);
  CHECK_FAILS(
      lac_pattern_from_coo(ctx, 2, far, 2, LAC_I64, row, col, LAC_WIDTH_32_32, &p, NULL), LAC_ERR_OVERFLOW,
      "LAC_WIDTH_32_32 holds counts up to 2147483647, and the matrix has cols = 2147483648; use LAC_WIDTH_64_64");
  CHECK_FAILS(lac_pattern_from_coo(ctx, far, 2, 0, LAC_I64, row, col, LAC_WIDTH_64_32, &p, NULL), LAC_ERR_OVERFLOW,
              "rows = 2147483648");
  CHECK_OK(lac_width_choose(ctx, "f", LAC_WIDTH_AUTO, 5, 5, far, &width));
  CHECK_EQ(width, LAC_WIDTH_64_32);
  CHECK_FAILS(lac_width_choose(ctx, "f", LAC_WIDTH_32_32, 5, 5, far, &width), LAC_ERR_OVERFLOW,
              "nnz = 2147483648; use LAC_WIDTH_64_32");
}

static lac_pattern *pattern_of(lac_context *ctx, int64_t rows, int64_t cols, int64_t count, const int64_t *row,
                               const int64_t *col, lac_width width) {
  lac_pattern *p = NULL;
  CHECK_OK(lac_pattern_from_coo(ctx, rows, cols, count, LAC_I64, row, col, width, &p, NULL));
  return p;
}

static void sameness_is_structure_and_not_width(lac_context *ctx) {
  int64_t row[] = {0, 1, 2}, col[] = {0, 1, 2}, other[] = {0, 2, 1};
  lac_pattern *all[] = {
      pattern_of(ctx, 3, 3, 3, row, col, LAC_WIDTH_32_32),   pattern_of(ctx, 3, 3, 3, row, col, LAC_WIDTH_64_32),
      pattern_of(ctx, 3, 3, 3, row, col, LAC_WIDTH_64_64),   pattern_of(ctx, 4, 3, 3, row, col, LAC_WIDTH_32_32),
      pattern_of(ctx, 3, 4, 3, row, col, LAC_WIDTH_32_32),   pattern_of(ctx, 3, 3, 2, row, col, LAC_WIDTH_32_32),
      pattern_of(ctx, 3, 3, 3, row, other, LAC_WIDTH_32_32), pattern_of(ctx, 3, 3, 3, other, col, LAC_WIDTH_64_64)};
  enum { COUNT = 8 };
  for (int i = 0; i < COUNT; ++i) {
    for (int j = 0; j < COUNT; ++j) {
      int same = i == j || (i < 3 && j < 3) || (i > 5 && j > 5);
      CHECK_EQ(lac_pattern_same(all[i], all[j]), same);
      CHECK_EQ(all[i]->fingerprint == all[j]->fingerprint, same);
      if (i != j) CHECK(lac_pattern_id(all[i]) != lac_pattern_id(all[j]));
    }
  }
  CHECK(!lac_pattern_same(all[0], NULL));
  for (int i = 0; i < COUNT; ++i) lac_pattern_destroy(&all[i]);
}

/// The rows [0, 2], [], [1] in all widths of patterns and of what they are compared with.
static void compressed_rows_are_known_again(lac_context *ctx) {
  int64_t row[] = {0, 0, 2}, col[] = {0, 2, 1}, offsets[] = {0, 2, 2, 3}, others[] = {0, 2, 3, 3}, turned[] = {2, 0, 1};
  int32_t offsets32[] = {0, 2, 2, 3}, col32[] = {0, 2, 1}, turned32[] = {2, 0, 1};
  lac_width all[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
  for (int i = 0; i < 3; ++i) {
    lac_pattern *p = pattern_of(ctx, 3, 3, 3, row, col, all[i]);
    CHECK_EQ(lac_pattern_same_csr(p, 3, LAC_I64, offsets, col), 1);
    CHECK_EQ(lac_pattern_same_csr(p, 3, LAC_I32, offsets32, col32), 1);
    CHECK_EQ(lac_pattern_same_csr(p, 3, LAC_I64, others, col), 0);
    CHECK_EQ(lac_pattern_same_csr(p, 3, LAC_I64, offsets, turned), 0);
    CHECK_EQ(lac_pattern_same_csr(p, 3, LAC_I32, offsets32, turned32), 0);
    CHECK_EQ(lac_pattern_same_csr(p, 2, LAC_I64, offsets, col), 0);
    CHECK_EQ(lac_pattern_same_csr(p, 3, (lac_index_type)9, offsets, col), 0);
    CHECK_EQ(lac_pattern_same_csr(p, 3, LAC_I64, NULL, col), 0);
    CHECK_EQ(lac_pattern_same_csr(p, 3, LAC_I64, offsets, NULL), 0);
    lac_pattern_destroy(&p);
  }
  CHECK_EQ(lac_pattern_same_csr(NULL, 3, LAC_I64, offsets, col), 0);
}

/// Longer than a run of what is compared at once, and different in the last place alone.
static void the_last_column_counts(lac_context *ctx) {
  enum { COUNT = 5000 };
  static int64_t offsets[COUNT + 1], columns[COUNT];
  static int32_t narrow_offsets[COUNT + 1], narrow[COUNT];
  lac_pattern *p = NULL;
  for (int i = 0; i < COUNT; ++i) narrow[i] = (int32_t)(columns[i] = i / 2);
  for (int i = 0; i <= COUNT; ++i) narrow_offsets[i] = (int32_t)(offsets[i] = i);
  CHECK_OK(lac_pattern_from_csr(ctx, COUNT, COUNT, LAC_I32, narrow_offsets, narrow, LAC_WIDTH_32_32, &p, NULL));
  CHECK_EQ(lac_pattern_same_csr(p, COUNT, LAC_I64, offsets, columns), 1);
  columns[COUNT - 1] += (int64_t)1 << 32;
  CHECK_EQ(lac_pattern_same_csr(p, COUNT, LAC_I64, offsets, columns), 0);
  narrow[COUNT - 1]++;
  CHECK_EQ(lac_pattern_same_csr(p, COUNT, LAC_I32, narrow_offsets, narrow), 0);
  lac_pattern_destroy(&p);
}

/// An identity takes memory for its targets when somebody reads them.
static void an_identity_is_made_when_read(lac_context *ctx) {
  int64_t row[] = {0, 1, 2}, col[] = {0, 1, 2}, target[3] = {-1, -1, -1};
  lac_pattern *p = NULL;
  lac_map *maps[2] = {NULL};
  CHECK_OK(lac_pattern_from_coo(ctx, 3, 3, 3, LAC_I64, row, col, LAC_WIDTH_AUTO, &p, &maps[0]));
  CHECK_OK(lac_pattern_identity(ctx, p, &maps[1]));
  int64_t before = lac_pattern_bytes(p);
  for (int i = 0; i < 2; ++i) {
    CHECK(lac_map_is_identity(maps[i]) && !lac_buffer_is_host(maps[i]->target));
    CHECK_OK(lac_map_read(maps[i], target));
    for (int k = 0; k < 3; ++k) CHECK_EQ(target[k], k);
    lac_map_destroy(&maps[i]);
  }
  CHECK(lac_pattern_bytes(p) > before);
  lac_pattern_destroy(&p);
}

static void a_pattern_lives_as_long_as_its_last_holder(lac_context *ctx) {
  lac_pattern *p = pattern_of(ctx, 1, 1, 0, NULL, NULL, LAC_WIDTH_AUTO), *q = lac_pattern_retain(p);
  CHECK(p == q);
  lac_pattern_destroy(&p);
  CHECK(!p);
  CHECK_EQ(lac_pattern_rows(q), 1);
  lac_pattern_destroy(&q);
  lac_pattern_destroy(&q);
  lac_pattern_destroy(NULL);
}

static void patterns_need_no_context(lac_context *ctx) {
  lac_pattern *p = NULL, *t = NULL;
  CHECK_OK(
      lac_pattern_from_coo(NULL, 2, 3, 2, LAC_I64, (int64_t[]){1, 0}, (int64_t[]){2, 0}, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_OK(lac_pattern_transpose(NULL, p, &t, NULL));
  CHECK_EQ(lac_pattern_nnz(t), 2);
  lac_pattern_destroy(&p);
  lac_pattern_destroy(&t);
}

static void failing_allocations_lose_nothing(lac_context *ctx) {
  int64_t row[] = {3, 0, 3, 1, 3}, col[] = {2, 1, 0, 1, 2}, offsets[] = {0, 2, 3, 5, 5}, index[] = {2, 0, 1, 3, 3};
  lac_memory_stats before = memory_now("cpu");
  for (int form = 0; form < 3; ++form) {
    for (int64_t n = 1;; ++n) {
      lac_pattern *p = NULL;
      lac_map *map = NULL;
      lac_status status = LAC_OK;
      lac_memory_fail_at(n);
      if (form == 0) status = lac_pattern_from_coo(ctx, 4, 4, 5, LAC_I64, row, col, LAC_WIDTH_64_64, &p, &map);
      if (form == 1) status = lac_pattern_from_csr(ctx, 4, 4, LAC_I64, offsets, index, LAC_WIDTH_64_64, &p, &map);
      if (form == 2) status = lac_pattern_from_csc(ctx, 4, 4, LAC_I64, offsets, index, LAC_WIDTH_64_64, &p, &map);
      int64_t asked = lac_memory_fail_at(0);
      if (status != LAC_OK) CHECK(!p && !map);
      lac_pattern_destroy(&p);
      lac_map_destroy(&map);
      CHECK_EQ(memory_now("cpu").live_blocks, before.live_blocks);
      if (asked < n) break;
      CHECK_FAILS(status, LAC_ERR_MEMORY, "out of memory");
    }
  }
}

static void failing_allocations_of_many_blocks_lose_nothing(lac_context *ctx) {
  enum { COUNT = 50000 };
  int64_t *row = scratch(COUNT * sizeof *row), *col = scratch(COUNT * sizeof *col);
  random_state r = random_start(4);
  random_entries(&r, 900, 30, COUNT, 0, row, col);
  CHECK_OK(lac_context_set_threads(ctx, 3));
  lac_memory_stats before = memory_now("cpu");
  for (int64_t n = 1;; ++n) {
    lac_pattern *p = NULL;
    lac_map *map = NULL;
    lac_memory_fail_at(n);
    lac_status status = lac_pattern_from_coo(ctx, 900, 30, COUNT, LAC_I64, row, col, LAC_WIDTH_AUTO, &p, &map);
    int64_t asked = lac_memory_fail_at(0);
    lac_pattern_destroy(&p);
    lac_map_destroy(&map);
    CHECK_EQ(memory_now("cpu").live_blocks, before.live_blocks);
    if (asked < n) break;
    CHECK_FAILS(status, LAC_ERR_MEMORY, "out of memory");
  }
}

// What others keep with a pattern.

typedef struct trinket {
  lac_object object;
  int value, *gone;
} trinket;

static void trinket_free(lac_object *object) {
  ++*((trinket *)object)->gone;
  lac_free(object);
}
static const lac_kind trinket_kind = {"trinket", trinket_free}, other_kind = {"other", trinket_free};

static int trinket_matches(const lac_object *object, const void *key) {
  return ((const trinket *)object)->value == *(const int *)key;
}

static void objects_are_kept_with_a_pattern(lac_context *ctx) {
  lac_pattern *p = pattern_of(ctx, 1, 1, 0, NULL, NULL, LAC_WIDTH_AUTO);
  int64_t bytes = lac_pattern_bytes(p);
  int gone = 0, one = 1, two = 2, three = 3;
  for (int value = 1; value <= 2; ++value) {
    trinket *t = lac_calloc(1, sizeof *t);
    lac_object_init(&t->object, &trinket_kind);
    t->value = value;
    t->gone = &gone;
    CHECK_OK(lac_pattern_add_cached(ctx, p, &t->object, 1000));
    lac_object_release(t);
  }
  CHECK(lac_pattern_bytes(p) >= bytes + 2000);
  trinket *found = (trinket *)lac_pattern_find_cached(p, &trinket_kind, trinket_matches, &one);
  CHECK(found && found->value == 1);
  CHECK(!lac_pattern_find_cached(p, &trinket_kind, trinket_matches, &three));
  CHECK(!lac_pattern_find_cached(p, &other_kind, trinket_matches, &two));
  lac_pattern_destroy(&p);
  CHECK_EQ(gone, 1);
  lac_object_release(found);
  CHECK_EQ(gone, 2);
}

// Two threads ask for what is made when first asked.

typedef struct asker {
  pthread_t thread;
  const lac_pattern *pattern;
  const lac_map *map;
  lac_rows rows;
  const lac_buffer *rows_of, *offsets, *sources;
  lac_map *identity;
  lac_pattern *transposed;
  int64_t bytes;
  lac_status status;
} asker;

static void *ask(void *argument) {
  asker *a = argument;
  lac_status *s = &a->status;
  *s = lac_pattern_walk(NULL, a->pattern, true, &a->rows);
  if (*s == LAC_OK) *s = lac_pattern_rows_of(NULL, a->pattern, &a->rows_of);
  if (*s == LAC_OK) *s = lac_map_groups(NULL, a->map, &a->offsets, &a->sources);
  if (*s == LAC_OK) *s = lac_pattern_identity(NULL, a->pattern, &a->identity);
  if (*s == LAC_OK) *s = lac_pattern_transpose(NULL, a->pattern, &a->transposed, NULL);
  a->bytes = lac_pattern_bytes(a->pattern);
  return NULL;
}

static void threads_share_what_is_made_when_first_asked(lac_context *ctx) {
  random_state r = random_start(3);
  for (int trial = 0; trial < 20; ++trial) {
    int64_t row[500], col[500];
    random_entries(&r, 40, 30, 500, 0, row, col);
    lac_pattern *p = NULL;
    lac_map *map = NULL;
    CHECK_OK(lac_pattern_from_coo(ctx, 40, 30, 500, LAC_I64, row, col, LAC_WIDTH_AUTO, &p, &map));
    asker askers[2] = {{.pattern = p, .map = map}, {.pattern = p, .map = map}};
    for (int i = 0; i < 2; ++i) CHECK_EQ(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    for (int i = 0; i < 2; ++i) CHECK_EQ(pthread_join(askers[i].thread, NULL), 0);
    for (int i = 0; i < 2; ++i) {
      CHECK_EQ(askers[i].status, LAC_OK);
      CHECK(askers[i].rows.slots == askers[0].rows.slots);
      CHECK(askers[i].rows_of == askers[0].rows_of);
      CHECK(askers[i].offsets == askers[0].offsets && askers[i].sources == askers[0].sources);
      CHECK(askers[i].identity == askers[0].identity);
      CHECK(askers[i].transposed->columns == askers[0].transposed->columns);
    }
    for (int i = 0; i < 2; ++i) lac_map_destroy(&askers[i].identity), lac_pattern_destroy(&askers[i].transposed);
    lac_pattern_destroy(&p);
    lac_map_destroy(&map);
  }
}

CHECK_MAIN(entries_in_any_order_are_taken, sorted_rows_and_sorted_columns_are_taken, random_entries_match_brute_force,
           large_inputs_match_brute_force, entry_maps_are_optional, indices_out_of_range_are_named,
           the_first_of_many_bad_indices_is_named, offsets_that_do_not_fit_are_named,
           missing_pointers_and_odd_arguments_are_named, widths_hold_what_they_must,
           sameness_is_structure_and_not_width, compressed_rows_are_known_again, the_last_column_counts,
           an_identity_is_made_when_read, a_pattern_lives_as_long_as_its_last_holder, patterns_need_no_context,
           failing_allocations_lose_nothing, failing_allocations_of_many_blocks_lose_nothing,
           objects_are_kept_with_a_pattern, threads_share_what_is_made_when_first_asked)

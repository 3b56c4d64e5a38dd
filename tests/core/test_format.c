// SPDX-License-Identifier: Apache-2.0
/// Formats: where values stand in ELL, sliced ELL, ELL + COO and diagonals, out and back in; what is refused.

#include "core/memory_impl.h"
#include "support/check.h"
#include "support/random.h"
#include "support/scratch.h"

enum { TRIALS = 150 };

static int64_t *read_array(const lac_format *f, lac_format_array array) {
  int64_t *out = scratch((size_t)lac_format_count(f, array) * sizeof *out);
  lac_format_read(f, array, out);
  return out;
}

static int64_t *read_map(const lac_map *map) {
  int64_t *out = scratch((size_t)lac_map_inputs(map) * sizeof *out);
  lac_map_read(map, out);
  return out;
}

/// Where the value of each slot stands, and the column that stands there too; everything else is padding.
static void check_columns(const lac_format *f, const sketch *s) {
  int64_t *columns = read_array(f, LAC_FORMAT_COLUMNS), *at = read_map(lac_format_map(f)), padding = 0;
  CHECK_EQ(lac_map_outputs(lac_format_map(f)), lac_format_size(f));
  CHECK_EQ(lac_format_count(f, LAC_FORMAT_COLUMNS), lac_format_size(f));
  for (int64_t z = 0; z < s->nnz; ++z) CHECK_EQ(columns[at[z]], s->col[z]);
  for (int64_t p = 0; p < lac_format_size(f); ++p) padding += columns[p] == -1;
  CHECK_EQ(padding, lac_format_size(f) - s->nnz);
}

/// Back in: the same pattern, and the entry map undoes the format's map.
static void check_back(const lac_format *f, lac_pattern **back, lac_map **entries) {
  int64_t *out = read_map(lac_format_map(f)), *in = read_map(*entries), dropped = 0;
  CHECK(lac_pattern_same(*back, lac_format_pattern(f)));
  CHECK_EQ(lac_map_inputs(*entries), lac_format_size(f));
  for (int64_t z = 0; z < lac_map_inputs(lac_format_map(f)); ++z) CHECK_EQ(in[out[z]], z);
  for (int64_t p = 0; p < lac_format_size(f); ++p) dropped += in[p] == -1;
  CHECK_EQ(dropped, lac_format_size(f) - lac_pattern_nnz(*back));
  lac_pattern_destroy(back);
  lac_map_destroy(entries);
}

static void check_ell(lac_context *ctx, const lac_pattern *p, const sketch *s) {
  lac_format *f = NULL;
  lac_pattern *back = NULL;
  lac_map *entries = NULL;
  CHECK_OK(lac_format_ell(ctx, p, &f));
  CHECK_EQ(lac_format_kind_of(f), LAC_FORMAT_ELL);
  check_columns(f, s);
  int64_t *at = read_map(lac_format_map(f)), width = lac_format_width(f);
  for (int64_t z = 0; z < s->nnz; ++z) CHECK_EQ(at[z] / width, s->row[z]);
  CHECK_OK(lac_pattern_from_ell(ctx, s->rows, s->cols, width, LAC_I64, read_array(f, LAC_FORMAT_COLUMNS),
                                LAC_WIDTH_AUTO, &back, &entries));
  check_back(f, &back, &entries);
  lac_format_destroy(&f);
}

static void check_hyb(lac_context *ctx, const lac_pattern *p, const sketch *s, int64_t width) {
  lac_format *f = NULL;
  lac_pattern *back = NULL;
  lac_map *entries = NULL;
  CHECK_OK(lac_format_hyb(ctx, p, width, &f));
  check_columns(f, s);
  int64_t *at = read_map(lac_format_map(f)), *rows = read_array(f, LAC_FORMAT_ROWS);
  int64_t tail = lac_format_count(f, LAC_FORMAT_ROWS), head = lac_format_size(f) - tail;
  if (width >= 0) CHECK_EQ(lac_format_width(f), width);
  CHECK_EQ(head, s->rows * lac_format_width(f));
  for (int64_t z = 0; z < s->nnz; ++z) {
    CHECK_EQ(at[z] < head ? at[z] / lac_format_width(f) : rows[at[z] - head], s->row[z]);
  }
  CHECK_OK(lac_pattern_from_hyb(ctx, s->rows, s->cols, lac_format_width(f), tail, LAC_I64,
                                read_array(f, LAC_FORMAT_COLUMNS), rows, LAC_WIDTH_AUTO, &back, &entries));
  check_back(f, &back, &entries);
  lac_format_destroy(&f);
}

/// Every slice holds the rows of its lanes, no wider than the longest; within a window lengths do not grow.
static void check_sell(lac_context *ctx, const lac_pattern *p, const sketch *s, int64_t slice, int64_t window) {
  lac_format *f = NULL;
  lac_pattern *back = NULL;
  lac_map *entries = NULL;
  CHECK_OK(lac_format_sell(ctx, p, slice, window, &f));
  check_columns(f, s);
  int64_t *at = read_map(lac_format_map(f)), *rows = read_array(f, LAC_FORMAT_ROWS);
  int64_t *offsets = read_array(f, LAC_FORMAT_OFFSETS), slices = lac_format_count(f, LAC_FORMAT_OFFSETS) - 1;
  int64_t *length = scratch((size_t)(s->rows + 1) * 8);
  CHECK_EQ(slices, (s->rows + slice - 1) / slice);
  CHECK_EQ(lac_format_count(f, LAC_FORMAT_ROWS), slices * slice);
  CHECK_EQ(offsets[slices], lac_format_size(f));
  for (int64_t z = 0; z < s->nnz; ++z) {
    int64_t n = 0;
    while (offsets[n + 1] <= at[z]) ++n;
    CHECK_EQ(rows[n * slice + (at[z] - offsets[n]) % slice], s->row[z]);
    CHECK_EQ((at[z] - offsets[n]) / slice, length[s->row[z]]);
    ++length[s->row[z]];
  }
  for (int64_t n = 0; n < slices; ++n) {
    int64_t longest = 0;
    for (int64_t l = n * slice; l < (n + 1) * slice; ++l) {
      CHECK_EQ(rows[l] >= 0, l < s->rows);
      if (l < s->rows && length[rows[l]] > longest) longest = length[rows[l]];
      if (l < s->rows) CHECK_EQ(rows[l] / window, l / window);
      if (l < s->rows && l % window) CHECK(length[rows[l]] <= length[rows[l - 1]]);
    }
    CHECK_EQ(offsets[n + 1] - offsets[n], longest * slice);
  }
  CHECK_OK(lac_pattern_from_sell(ctx, s->rows, s->cols, slice, LAC_I64, offsets, read_array(f, LAC_FORMAT_COLUMNS),
                                 rows, LAC_WIDTH_AUTO, &back, &entries));
  check_back(f, &back, &entries);
  lac_format_destroy(&f);
}

/// Diagonals come in whole, so back in there are more entries than went out; ours stand where they stood.
static void check_dia(lac_context *ctx, const lac_pattern *p, const sketch *s) {
  lac_format *f = NULL;
  lac_pattern *back = NULL;
  lac_map *entries = NULL;
  CHECK_OK(lac_format_dia(ctx, p, &f));
  int64_t *at = read_map(lac_format_map(f)), *offsets = read_array(f, LAC_FORMAT_OFFSETS);
  int64_t diagonals = lac_format_count(f, LAC_FORMAT_OFFSETS);
  CHECK_EQ(lac_format_width(f), s->cols);
  CHECK_EQ(lac_format_size(f), diagonals * s->cols);
  for (int64_t z = 0; z < s->nnz; ++z) {
    CHECK_EQ(offsets[at[z] / s->cols], s->col[z] - s->row[z]);
    CHECK_EQ(at[z] % s->cols, s->col[z]);
  }
  for (int64_t d = 1; d < diagonals; ++d) CHECK(offsets[d - 1] < offsets[d]);
  CHECK_OK(lac_pattern_from_dia(ctx, s->rows, s->cols, diagonals, s->cols, LAC_I64, offsets, LAC_WIDTH_AUTO, &back,
                                &entries));
  int64_t *in = read_map(entries), nnz = lac_pattern_nnz(back);
  int64_t *row = scratch((size_t)nnz * 8), *col = scratch((size_t)nnz * 8);
  lac_pattern_read(back, NULL, col, row);
  for (int64_t z = 0; z < s->nnz; ++z) CHECK(row[in[at[z]]] == s->row[z] && col[in[at[z]]] == s->col[z]);
  lac_pattern_destroy(&back);
  lac_map_destroy(&entries);
  lac_format_destroy(&f);
}

static void formats_go_out_and_come_back(lac_context *ctx) {
  random_state r = random_start(3);
  for (int trial = 0; trial < TRIALS; ++trial) {
    size_t mark = scratch_mark();
    int64_t rows = random_below(&r, 12), cols = random_below(&r, 9);
    const sketch *s = sketch_random(rows, cols, (double)random_below(&r, 10) / 10, random_bits(&r));
    lac_pattern *p = NULL;
    CHECK_OK(sketch_pattern(ctx, s, (lac_width)(LAC_WIDTH_32_32 + trial % 3), &p));
    check_ell(ctx, p, s);
    check_hyb(ctx, p, s, random_below(&r, cols + 1));
    check_hyb(ctx, p, s, -1);
    check_sell(ctx, p, s, 1 + random_below(&r, 5), 1 + random_below(&r, 13));
    check_sell(ctx, p, s, 1 + random_below(&r, 40), INT64_MAX - random_below(&r, 2));
    check_dia(ctx, p, s);
    lac_pattern_destroy(&p);
    scratch_release(mark);
  }
}

/// Rows of 1, 1, 1, 1, 1 and 6: a third of the rows reach 1 and no more.
static void the_width_of_a_hybrid_follows_the_rows(lac_context *ctx) {
  const int32_t offsets[] = {0, 1, 2, 3, 4, 5, 11}, columns[] = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5};
  lac_pattern *p = NULL;
  lac_format *f = NULL;
  CHECK_OK(lac_pattern_from_csr(ctx, 6, 6, LAC_I32, offsets, columns, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_OK(lac_format_hyb(ctx, p, -1, &f));
  CHECK_EQ(lac_format_width(f), 1);
  CHECK_EQ(lac_format_count(f, LAC_FORMAT_ROWS), 5);
  lac_format_destroy(&f);
  lac_pattern_destroy(&p);
}

/// By hand: rows (0, 2), (), (1), slices of 2 without sorting.
static void sliced_ell_is_laid_out_as_drawn(lac_context *ctx) {
  const int64_t offsets[] = {0, 2, 2, 3}, columns[] = {0, 2, 1};
  const int64_t want_columns[] = {0, -1, 2, -1, 1, -1}, want_offsets[] = {0, 4, 6}, want_at[] = {0, 2, 4};
  lac_pattern *p = NULL;
  lac_format *f = NULL;
  CHECK_OK(lac_pattern_from_csr(ctx, 3, 3, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_OK(lac_format_sell(ctx, p, 2, 1, &f));
  CHECK_EQ(lac_format_size(f), 6);
  for (int i = 0; i < 6; ++i) CHECK_EQ(read_array(f, LAC_FORMAT_COLUMNS)[i], want_columns[i]);
  for (int i = 0; i < 3; ++i) CHECK_EQ(read_array(f, LAC_FORMAT_OFFSETS)[i], want_offsets[i]);
  for (int i = 0; i < 3; ++i) CHECK_EQ(read_map(lac_format_map(f))[i], want_at[i]);
  lac_format_destroy(&f);
  lac_pattern_destroy(&p);
}

/// Numbers that are shorter than the matrix, longer than it, and outside it.
static void diagonals_may_be_of_any_length(lac_context *ctx) {
  const int32_t offsets[] = {-1, 1, 9};
  lac_pattern *p = NULL;
  lac_map *entries = NULL;
  CHECK_OK(lac_pattern_from_dia(ctx, 3, 4, 3, 2, LAC_I32, offsets, LAC_WIDTH_AUTO, &p, &entries));
  const int64_t short_ones[] = {1, 2, -1, 0, -1, -1};  // A[1,0] A[2,1] - A[0,1] - -
  for (int i = 0; i < 6; ++i) CHECK_EQ(read_map(entries)[i], short_ones[i]);
  lac_pattern_destroy(&p), lac_map_destroy(&entries);
  CHECK_OK(lac_pattern_from_dia(ctx, 3, 4, 2, 6, LAC_I32, offsets, LAC_WIDTH_AUTO, &p, &entries));
  CHECK_EQ(lac_pattern_nnz(p), 5);
  lac_pattern_destroy(&p), lac_map_destroy(&entries);
}

static void entries_that_come_twice_sum(lac_context *ctx) {
  const int64_t columns[] = {1, 1, -1, 0, -7, 1};
  lac_pattern *p = NULL;
  lac_map *entries = NULL;
  CHECK_OK(lac_pattern_from_ell(ctx, 2, 2, 3, LAC_I64, columns, LAC_WIDTH_AUTO, &p, &entries));
  CHECK_EQ(lac_pattern_nnz(p), 3);
  const int64_t want[] = {0, 0, -1, 1, -1, 2};
  for (int i = 0; i < 6; ++i) CHECK_EQ(read_map(entries)[i], want[i]);
  lac_pattern_destroy(&p), lac_map_destroy(&entries);
}

static void wrong_layouts_are_refused_by_name(lac_context *ctx) {
  const int64_t columns[] = {0, 1, 2, 5}, offsets[] = {0, 3, 4}, fine[] = {0, 2, 4}, twice[] = {0, 1, 1, -1};
  const int64_t small[] = {0, 1, 0, 0}, far[] = {0, 1, 9, 2};
  lac_pattern *p = NULL;
  CHECK_FAILS(lac_pattern_from_ell(ctx, 2, 3, 2, LAC_I64, columns, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "lac_pattern_from_ell: columns[3] = 5 (row 1)");
  CHECK_FAILS(lac_pattern_from_ell(ctx, 2, 3, -2, LAC_I64, columns, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG, "negative");
  CHECK_FAILS(lac_pattern_from_ell(ctx, 2, 3, 2, LAC_I64, NULL, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG, "NULL");
  CHECK_FAILS(lac_pattern_from_ell(ctx, INT64_MAX / 64, 3, INT64_MAX / 64, LAC_I64, columns, LAC_WIDTH_AUTO, &p, NULL),
              LAC_ERR_OVERFLOW, "beyond");
  CHECK_FAILS(lac_pattern_from_sell(ctx, 3, 3, 2, LAC_I64, offsets, small, NULL, LAC_WIDTH_AUTO, &p, NULL),
              LAC_ERR_PATTERN, "offsets[1] = 3 does not follow 0 by a multiple of 2");
  CHECK_FAILS(lac_pattern_from_sell(ctx, 3, 3, 2, LAC_I64, fine, small, NULL, LAC_WIDTH_AUTO, &p, NULL),
              LAC_ERR_PATTERN, "columns[3] = 0 stands in lane 3, which has no row");
  CHECK_FAILS(lac_pattern_from_sell(ctx, 3, 3, 2, LAC_I64, fine, small, twice, LAC_WIDTH_AUTO, &p, NULL),
              LAC_ERR_PATTERN, "lanes[2] = 1 comes a second time");
  CHECK_FAILS(lac_pattern_from_sell(ctx, 3, 3, 2, LAC_I64, fine, small, far, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "lanes[2] = 9");
  CHECK_FAILS(lac_pattern_from_sell(ctx, 3, 3, 0, LAC_I64, fine, small, NULL, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_ARG,
              "1 or more");
  CHECK_FAILS(lac_pattern_from_hyb(ctx, 2, 3, 1, 2, LAC_I64, small, far + 1, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "tail_rows[1] = 9");
  CHECK_FAILS(lac_pattern_from_dia(ctx, 3, 3, 2, 3, LAC_I64, twice + 1, LAC_WIDTH_AUTO, &p, NULL), LAC_ERR_PATTERN,
              "offsets[1] = 1 comes a second time");
  CHECK(!p);
}

static void formats_refuse_what_they_cannot_lay_out(lac_context *ctx) {
  const int64_t offsets[] = {0, 1}, columns[] = {0};
  lac_pattern *p = NULL, *blocks = NULL;
  lac_format *f = NULL;
  CHECK_OK(lac_pattern_from_csr(ctx, 1, 1, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_OK(lac_pattern_from_bsr(ctx, 2, 2, 2, 2, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &blocks, NULL));
  CHECK_FAILS(lac_format_sell(ctx, p, 0, 1, &f), LAC_ERR_ARG, "slice = 0");
  CHECK_FAILS(lac_format_hyb(ctx, p, -2, &f), LAC_ERR_ARG, "width = -2");
  CHECK_FAILS(lac_format_ell(ctx, NULL, &f), LAC_ERR_ARG, "NULL");
  CHECK_FAILS(lac_format_ell(ctx, blocks, &f), LAC_ERR_UNSUPPORTED, "lac_pattern_scalar");
  CHECK_FAILS(lac_format_dia(ctx, blocks, &f), LAC_ERR_UNSUPPORTED, "lac_pattern_scalar");
  CHECK_FAILS(lac_format_sell(ctx, blocks, 2, 1, &f), LAC_ERR_UNSUPPORTED, "lac_pattern_scalar");
  CHECK(!f);
  lac_pattern_destroy(&p), lac_pattern_destroy(&blocks);
}

/// Sizes whose storage no machine has, or that would be padding: refused at once, before memory is taken.
static void sizes_beyond_the_matrix_are_refused(lac_context *ctx) {
  enum { ROWS = 1 << 20 };
  int64_t *offsets = scratch((ROWS + 1) * sizeof *offsets), *columns = scratch(ROWS * sizeof *columns);
  lac_pattern *p = NULL;
  lac_format *f = NULL;
  for (int64_t i = 0; i < ROWS; ++i) offsets[i] = 0, columns[i] = i;
  offsets[ROWS] = ROWS;  // the last row is full, the others are empty
  CHECK_OK(lac_pattern_from_csr(ctx, ROWS, ROWS, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_FAILS(lac_format_sell(ctx, p, ROWS + 1, 1, &f), LAC_ERR_ARG, "slice = 1048577, and the pattern has 1048576");
  CHECK_FAILS(lac_format_sell(ctx, p, INT64_MAX, 1, &f), LAC_ERR_ARG, "padding");
  CHECK_FAILS(lac_format_hyb(ctx, p, ROWS + 1, &f), LAC_ERR_ARG, "at most 1048576 entries");
  CHECK_FAILS(lac_format_hyb(ctx, p, INT64_MAX, &f), LAC_ERR_ARG, "-1 to have it chosen");
  CHECK_FAILS(lac_format_hyb(ctx, p, ROWS, &f), LAC_ERR_MEMORY, "padding");
  CHECK_FAILS(lac_format_sell(ctx, p, ROWS, 1, &f), LAC_ERR_MEMORY, "padding");
  CHECK_FAILS(lac_format_ell(ctx, p, &f), LAC_ERR_MEMORY, "1099511627776 numbers for 1048576 entries");
  CHECK(!f);
  CHECK_OK(lac_format_sell(ctx, p, 8, INT64_MAX, &f));
  CHECK_EQ(lac_format_size(f), 8 * (int64_t)ROWS);
  lac_format_destroy(&f);
  lac_pattern_destroy(&p);
}

static lac_status make_all(lac_context *ctx, const lac_pattern *p) {
  const int64_t columns[] = {0, 1, -1, 0}, offsets[] = {0, 4}, rows[] = {1, 0};
  lac_format *f[4] = {NULL};
  lac_pattern *q[4] = {NULL};
  lac_map *m[4] = {NULL};
  lac_width width = LAC_WIDTH_AUTO;
  lac_status status = lac_format_ell(ctx, p, &f[0]);
  if (status == LAC_OK) status = lac_format_sell(ctx, p, 2, 3, &f[1]);
  if (status == LAC_OK) status = lac_format_hyb(ctx, p, -1, &f[2]);
  if (status == LAC_OK) status = lac_format_dia(ctx, p, &f[3]);
  if (status == LAC_OK) status = lac_pattern_from_ell(ctx, 2, 2, 2, LAC_I64, columns, width, &q[0], &m[0]);
  if (status == LAC_OK)
    status = lac_pattern_from_sell(ctx, 2, 2, 2, LAC_I64, offsets, columns, rows, width, &q[1], &m[1]);
  if (status == LAC_OK) status = lac_pattern_from_hyb(ctx, 2, 2, 1, 2, LAC_I64, columns, rows, width, &q[2], &m[2]);
  if (status == LAC_OK) status = lac_pattern_from_dia(ctx, 2, 2, 2, 2, LAC_I64, rows, width, &q[3], &m[3]);
  for (int i = 0; i < 4; ++i) lac_format_destroy(&f[i]), lac_pattern_destroy(&q[i]), lac_map_destroy(&m[i]);
  return status;
}

static void failing_allocations_leave_nothing(lac_context *ctx) {
  lac_pattern *p = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(5, 4, 0.5, 1), LAC_WIDTH_AUTO, &p));
  long long before = check_live_blocks();
  for (int64_t n = 1;; ++n) {
    lac_memory_fail_at(n);
    lac_status status = make_all(ctx, p);
    if (lac_memory_fail_at(0) < n) {
      CHECK_OK(status);
      break;
    }
    CHECK_EQ(status, LAC_ERR_MEMORY);
    CHECK_EQ(check_live_blocks(), before);
  }
  lac_pattern_destroy(&p);
}

static void formats_are_shared_and_have_numbers_of_their_own(lac_context *ctx) {
  lac_pattern *p = NULL;
  lac_format *f = NULL, *other = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(4, 5, 0.5, 1), LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_format_ell(ctx, p, &f));
  CHECK_OK(lac_format_ell(ctx, p, &other));
  CHECK(lac_format_id(f) != lac_format_id(other));
  lac_format *held = lac_format_retain(f);
  int64_t id = lac_format_id(f), size = lac_format_size(f);
  CHECK(held == f);
  lac_format_destroy(&f);
  CHECK(!f && lac_format_id(held) == id && lac_format_size(held) == size);
  lac_format_destroy(&held);
  lac_format_destroy(&other);
  CHECK(!lac_format_retain(NULL));
  lac_pattern_destroy(&p);
}

CHECK_MAIN(formats_are_shared_and_have_numbers_of_their_own, formats_go_out_and_come_back,
           the_width_of_a_hybrid_follows_the_rows, sliced_ell_is_laid_out_as_drawn, diagonals_may_be_of_any_length,
           entries_that_come_twice_sum, wrong_layouts_are_refused_by_name, formats_refuse_what_they_cannot_lay_out,
           sizes_beyond_the_matrix_are_refused, failing_allocations_leave_nothing)

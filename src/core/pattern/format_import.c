// SPDX-License-Identifier: Apache-2.0
/// @file format_import.c
/// Patterns from ELL, sliced ELL, ELL + COO and diagonals: what is padding is dropped, the rest are coordinates.

#include <inttypes.h>

#include "core/pattern/format_impl.h"
#include "core/pattern/pattern_sort.h"

/// Coordinates of what is kept of a storage.
typedef struct import_work {
  const char *function;
  int64_t rows, cols, size;  // size: storage positions
  int64_t kept;
  int64_t *row, *col, *position;
} import_work;

static lac_status import_open(lac_context *ctx, import_work *w, int64_t lines, int64_t width, int64_t more,
                              lac_index_type type, const void *out) {
  lac_status status = LAC_OK;

  LAC_CHECK(out, LAC_ERR_ARG, "%s: out is NULL", w->function);
  LAC_CHECK(type == LAC_I32 || type == LAC_I64, LAC_ERR_ARG, "%s: type = %d; give LAC_I32 or LAC_I64", w->function,
            (int)type);
  LAC_CHECK(w->rows >= 0 && w->cols >= 0 && lines >= 0 && width >= 0 && more >= 0, LAC_ERR_ARG,
            "%s: a size is negative (%" PRId64 " x %" PRId64 " matrix, %" PRId64 " x %" PRId64 " + %" PRId64
            " numbers)",
            w->function, w->rows, w->cols, lines, width, more);
  LAC_CHECK(!__builtin_mul_overflow(lines, width, &w->size) && !__builtin_add_overflow(w->size, more, &w->size) &&
                w->size <= LAC_MAX_COUNT && w->rows <= LAC_MAX_COUNT && w->cols <= LAC_MAX_COUNT,
            LAC_ERR_OVERFLOW, "%s: %" PRId64 " x %" PRId64 " + %" PRId64 " numbers are beyond what can be addressed",
            w->function, lines, width, more);
  LAC_ALLOC(w->row, w->size);
  LAC_ALLOC(w->col, w->size);
  LAC_ALLOC(w->position, w->size);
done:
  return status;
}

static void import_close(import_work *w) {
  lac_free(w->row);
  lac_free(w->col);
  lac_free(w->position);
}

/// Keep what stands at a position; the caller has checked it.
static void import_put(import_work *w, int64_t position, int64_t row, int64_t col) {
  w->row[w->kept] = row;
  w->col[w->kept] = col;
  w->position[w->kept++] = position;
}

/// The column at a position: kept, dropped as padding, or refused.
static lac_status import_take(lac_context *ctx, import_work *w, lac_indices columns, int64_t position, int64_t row) {
  lac_status status = LAC_OK;
  int64_t col = lac_indices_get(columns, position);

  LAC_CHECK(col < w->cols, LAC_ERR_PATTERN,
            "%s: columns[%" PRId64 "] = %" PRId64 " (row %" PRId64 ") is outside a matrix with %" PRId64
            " columns, counted from 0; padding is negative",
            w->function, position, col, row, w->cols);
  if (col >= 0) import_put(w, position, row, col);
done:
  return status;
}

/// The entry map of the coordinates as a map of all positions.
static lac_status import_spread(lac_context *ctx, const import_work *w, const lac_map *kept, lac_map **out) {
  lac_status status = LAC_OK;
  lac_buffer *target = NULL;

  LAC_TRY(lac_map_host(ctx, kept));
  LAC_TRY(lac_buffer_create(ctx, lac_map_type(w->size, kept->outputs), w->size, &target));
  for (int64_t i = 0; i < w->size; ++i) lac_buffer_set(target, i, -1);
  for (int64_t k = 0; k < w->kept; ++k) lac_buffer_set(target, w->position[k], lac_buffer_get(kept->target, k));
  LAC_TRY(lac_map_adopt(ctx, kept->outputs, &target, out));
done:
  lac_object_release(target);
  return status;
}

static lac_status import_finish(lac_context *ctx, const import_work *w, lac_width width, lac_pattern **out,
                                lac_map **entries) {
  lac_status status = LAC_OK;
  lac_pattern *made = NULL;
  lac_map *kept = NULL;

  LAC_TRY(lac_pattern_from_coo(ctx, w->rows, w->cols, w->kept, LAC_I64, w->row, w->col, width, &made,
                               entries ? &kept : NULL));
  if (entries) LAC_TRY(import_spread(ctx, w, kept, entries));
  *out = made, made = NULL;
done:
  lac_map_destroy(&kept);
  lac_pattern_destroy(&made);
  return status;
}

// -- ELL, and ELL with the rest as COO -------------------------------------------------------------------------------

static lac_status import_ell(lac_context *ctx, import_work *w, int64_t width, lac_indices columns) {
  lac_status status = LAC_OK;

  LAC_CHECK(columns.data || w->size == 0, LAC_ERR_ARG, "%s: columns is NULL, and there are %" PRId64 " positions",
            w->function, w->size);
  for (int64_t i = 0; i < w->rows * width; ++i) LAC_TRY(import_take(ctx, w, columns, i, i / width));
done:
  return status;
}

lac_status lac_pattern_from_ell(lac_context *ctx, int64_t rows, int64_t cols, int64_t entries_a_row,
                                lac_index_type type, const void *columns, lac_width width, lac_pattern **out,
                                lac_map **entries) {
  lac_status status = LAC_OK;
  import_work w = {.function = "lac_pattern_from_ell", .rows = rows, .cols = cols};

  LAC_TRY(import_open(ctx, &w, rows, entries_a_row, 0, type, out));
  LAC_TRY(import_ell(ctx, &w, entries_a_row, (lac_indices){columns, type}));
  LAC_TRY(import_finish(ctx, &w, width, out, entries));
done:
  import_close(&w);
  return status;
}

lac_status lac_pattern_from_hyb(lac_context *ctx, int64_t rows, int64_t cols, int64_t entries_a_row, int64_t tail,
                                lac_index_type type, const void *columns, const void *tail_rows, lac_width width,
                                lac_pattern **out, lac_map **entries) {
  lac_status status = LAC_OK;
  import_work w = {.function = "lac_pattern_from_hyb", .rows = rows, .cols = cols};
  lac_indices all = {columns, type}, row_of = {tail_rows, type};

  LAC_TRY(import_open(ctx, &w, rows, entries_a_row, tail, type, out));
  LAC_TRY(import_ell(ctx, &w, entries_a_row, all));
  LAC_CHECK(tail_rows || tail == 0, LAC_ERR_ARG, "%s: tail_rows is NULL, and tail is %" PRId64, w.function, tail);
  for (int64_t t = 0; t < tail; ++t) {
    int64_t row = lac_indices_get(row_of, t);
    LAC_CHECK(row >= 0 && row < rows, LAC_ERR_PATTERN,
              "%s: tail_rows[%" PRId64 "] = %" PRId64 " is outside a matrix with %" PRId64 " rows, counted from 0",
              w.function, t, row, rows);
    LAC_TRY(import_take(ctx, &w, all, rows * entries_a_row + t, row));
  }
  LAC_TRY(import_finish(ctx, &w, width, out, entries));
done:
  import_close(&w);
  return status;
}

// -- sliced ELL ------------------------------------------------------------------------------------------------------

/// What the slices of a sliced ELL are made of.
typedef struct import_slices {
  int64_t slice, slices;
  lac_indices offsets, columns, lanes;
} import_slices;

static lac_status slices_check(lac_context *ctx, const char *function, const import_slices *s) {
  lac_status status = LAC_OK;
  int64_t last = 0;

  LAC_CHECK(s->offsets.data, LAC_ERR_ARG, "%s: offsets is NULL; %" PRId64 " are needed", function, s->slices + 1);
  for (int64_t i = 0; i <= s->slices; ++i) {
    int64_t next = lac_indices_get(s->offsets, i);
    LAC_CHECK(i > 0 || next == 0, LAC_ERR_PATTERN, "%s: offsets[0] = %" PRId64 "; offsets begin with 0", function,
              next);
    LAC_CHECK(next >= last && (next - last) % s->slice == 0, LAC_ERR_PATTERN,
              "%s: offsets[%" PRId64 "] = %" PRId64 " does not follow %" PRId64 " by a multiple of %" PRId64
              ", the rows of a slice",
              function, i, next, last, s->slice);
    last = next;
  }
  LAC_CHECK(s->columns.data || last == 0, LAC_ERR_ARG, "%s: columns is NULL, and there are %" PRId64 " positions",
            function, last);
done:
  return status;
}

/// The row of a lane, -1 for none: in range, and no row twice.
static lac_status slices_row(lac_context *ctx, const import_work *w, const import_slices *s, int64_t lane, bool *seen,
                             int64_t *out) {
  lac_status status = LAC_OK;
  int64_t row = s->lanes.data ? lac_indices_get(s->lanes, lane) : lane < w->rows ? lane : -1;

  LAC_CHECK(row < w->rows, LAC_ERR_PATTERN,
            "%s: lanes[%" PRId64 "] = %" PRId64 " is outside a matrix with %" PRId64 " rows, counted from 0",
            w->function, lane, row, w->rows);
  LAC_CHECK(row < 0 || !seen[row], LAC_ERR_PATTERN, "%s: lanes[%" PRId64 "] = %" PRId64 " comes a second time",
            w->function, lane, row);
  if (row >= 0) seen[row] = true;
  *out = row;
done:
  return status;
}

static lac_status slices_take(lac_context *ctx, import_work *w, const import_slices *s, bool *seen) {
  lac_status status = LAC_OK;

  for (int64_t lane = 0; lane < s->slices * s->slice; ++lane) {
    int64_t row = -1, end = lac_indices_get(s->offsets, lane / s->slice + 1);
    LAC_TRY(slices_row(ctx, w, s, lane, seen, &row));
    for (int64_t p = lac_indices_get(s->offsets, lane / s->slice) + lane % s->slice; p < end; p += s->slice) {
      LAC_CHECK(row >= 0 || lac_indices_get(s->columns, p) < 0, LAC_ERR_PATTERN,
                "%s: columns[%" PRId64 "] = %" PRId64 " stands in lane %" PRId64 ", which has no row", w->function, p,
                lac_indices_get(s->columns, p), lane);
      LAC_TRY(import_take(ctx, w, s->columns, p, row));
    }
  }
done:
  return status;
}

lac_status lac_pattern_from_sell(lac_context *ctx, int64_t rows, int64_t cols, int64_t slice, lac_index_type type,
                                 const void *offsets, const void *columns, const void *lanes, lac_width width,
                                 lac_pattern **out, lac_map **entries) {
  lac_status status = LAC_OK;
  import_work w = {.function = "lac_pattern_from_sell", .rows = rows, .cols = cols};
  import_slices s = {.slice = slice, .offsets = {offsets, type}, .columns = {columns, type}, .lanes = {lanes, type}};
  bool *seen = NULL;

  LAC_CHECK(slice >= 1 && slice <= INT32_MAX && rows >= 0 && rows <= LAC_MAX_COUNT, LAC_ERR_ARG,
            "%s: slices of %" PRId64 " rows in %" PRId64 " rows; give 1 or more a slice", w.function, slice, rows);
  LAC_CHECK(type == LAC_I32 || type == LAC_I64, LAC_ERR_ARG, "%s: type = %d; give LAC_I32 or LAC_I64", w.function,
            (int)type);
  s.slices = rows / slice + (rows % slice > 0);
  LAC_TRY(slices_check(ctx, w.function, &s));
  LAC_TRY(import_open(ctx, &w, 0, 0, lac_indices_get(s.offsets, s.slices), type, out));
  LAC_ALLOC(seen, rows);
  LAC_TRY(slices_take(ctx, &w, &s, seen));
  LAC_TRY(import_finish(ctx, &w, width, out, entries));
done:
  lac_free(seen);
  import_close(&w);
  return status;
}

// -- diagonals -------------------------------------------------------------------------------------------------------

/// No diagonal of the matrix comes twice.
static lac_status dia_check(lac_context *ctx, const import_work *w, lac_indices offsets, int64_t diagonals) {
  lac_status status = LAC_OK;
  bool *seen = NULL;

  LAC_CHECK(offsets.data || diagonals == 0, LAC_ERR_ARG, "%s: offsets is NULL, and there are %" PRId64 " diagonals",
            w->function, diagonals);
  LAC_ALLOC(seen, w->rows + w->cols);
  for (int64_t d = 0; d < diagonals; ++d) {
    int64_t o = lac_indices_get(offsets, d);
    if (o <= -w->rows || o >= w->cols) continue;
    LAC_CHECK(!seen[o + w->rows], LAC_ERR_PATTERN,
              "%s: offsets[%" PRId64 "] = %" PRId64 " comes a second time; each diagonal comes once", w->function, d,
              o);
    seen[o + w->rows] = true;
  }
done:
  lac_free(seen);
  return status;
}

lac_status lac_pattern_from_dia(lac_context *ctx, int64_t rows, int64_t cols, int64_t diagonals, int64_t length,
                                lac_index_type type, const void *offsets, lac_width width, lac_pattern **out,
                                lac_map **entries) {
  lac_status status = LAC_OK;
  import_work w = {.function = "lac_pattern_from_dia", .rows = rows, .cols = cols};
  lac_indices offset = {offsets, type};

  LAC_TRY(import_open(ctx, &w, diagonals, length, 0, type, out));
  LAC_TRY(dia_check(ctx, &w, offset, diagonals));
  for (int64_t d = 0; d < diagonals; ++d) {
    int64_t o = lac_indices_get(offset, d), last = length < cols ? length : cols;
    if (o >= cols || o <= -rows) continue;  // beyond the corners
    if (o + rows < last) last = o + rows;
    for (int64_t j = o > 0 ? o : 0; j < last; ++j) import_put(&w, d * length + j, j - o, j);
  }
  LAC_TRY(import_finish(ctx, &w, width, out, entries));
done:
  import_close(&w);
  return status;
}

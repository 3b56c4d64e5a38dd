// SPDX-License-Identifier: Apache-2.0
/// @file format.c
/// Layouts for the values of a pattern: ELL, ELL + COO, diagonals; and the life of all formats. Sliced ELL is in
/// format_sell.c.

#include "core/pattern/format_impl.h"

#include <inttypes.h>

static void format_free(lac_object *object) {
  lac_format *f = (lac_format *)object;
  lac_pattern_destroy(&f->pattern);
  lac_map_destroy(&f->map);
  for (int i = 0; i < 3; ++i) lac_object_release(f->arrays[i]);
  lac_object_release(f->full);
  lac_free(f);
}

const lac_kind lac_format_object_kind = {"format", format_free};

lac_format *lac_format_retain(const lac_format *format) { return lac_object_retain(format); }

void lac_format_destroy(lac_format **format) {
  if (!format) return;
  lac_object_release(*format);
  *format = NULL;
}

int64_t lac_format_id(const lac_format *format) { return format ? format->object.id : 0; }
lac_format_kind lac_format_kind_of(const lac_format *format) { return format ? format->kind : (lac_format_kind)0; }
const lac_pattern *lac_format_pattern(const lac_format *format) { return format ? format->pattern : NULL; }
const lac_map *lac_format_map(const lac_format *format) { return format ? format->map : NULL; }
int64_t lac_format_size(const lac_format *format) { return format ? format->size : 0; }
int64_t lac_format_width(const lac_format *format) { return format ? format->width : 0; }

static const lac_buffer *format_array(const lac_format *format, lac_format_array array) {
  return format && array >= LAC_FORMAT_COLUMNS && array <= LAC_FORMAT_ROWS ? format->arrays[array] : NULL;
}

int64_t lac_format_count(const lac_format *format, lac_format_array array) {
  const lac_buffer *buffer = format ? format_array(format, array) : NULL;
  return buffer ? buffer->count : 0;
}

void lac_format_read(const lac_format *format, lac_format_array array, int64_t *out) {
  const lac_buffer *buffer = format ? format_array(format, array) : NULL;
  for (int64_t i = 0; buffer && out && i < buffer->count; ++i) out[i] = lac_buffer_get(buffer, i);
}

// Padding is looked at in storages of more numbers than this, which have more than so many times the entries.
enum { FORMAT_SMALL = 1 << 20, FORMAT_PADDED = 4 };

// -- what all of them need -------------------------------------------------------------------------------------------

lac_status lac_format_begin(lac_context *ctx, const char *function, lac_format_kind kind, const lac_pattern *pattern,
                            lac_format **out) {
  lac_status status = LAC_OK;
  lac_format *f = NULL;

  LAC_TRY(lac_pattern_require_host(ctx, pattern, function));
  LAC_ALLOC(f, 1);
  lac_object_init(&f->object, &lac_format_object_kind);
  f->kind = kind;
  f->pattern = lac_pattern_retain(pattern);
  *out = f;
done:
  return status;
}

/// Refuse a storage that is nearly all padding before its memory is taken, which may lock up the machine.
static lac_status format_check_room(lac_context *ctx, const char *function, const lac_format *f) {
  lac_status status = LAC_OK;
  int64_t number = (int64_t)sizeof(int64_t), there = 0;

  if (f->size <= FORMAT_SMALL || f->size / FORMAT_PADDED <= f->pattern->nnz) goto done;
  there = lac_memory_available() / number;
  LAC_CHECK(f->size <= there, LAC_ERR_MEMORY,
            "%s: the layout has %" PRId64 " numbers for %" PRId64
            " entries, the rest is padding, and there is room for %" PRId64
            "; use a layout that pads less: sliced ELL with small slices, ELL + COO with a small width, or the pattern",
            function, f->size, f->pattern->nnz, there);
done:
  return status;
}

lac_status lac_format_make_room(lac_context *ctx, const char *function, lac_format *format, int64_t count,
                                int64_t width, int64_t more, bool columns, lac_buffer **target) {
  lac_status status = LAC_OK;
  const lac_pattern *p = format->pattern;

  LAC_CHECK(!__builtin_mul_overflow(count, width, &format->size) && format->size <= LAC_MAX_COUNT - more,
            LAC_ERR_OVERFLOW, "%s: %" PRId64 " x %" PRId64 " numbers are beyond what can be addressed", function, count,
            width);
  format->size += more;
  LAC_TRY(format_check_room(ctx, function, format));
  LAC_TRY(lac_buffer_create(ctx, lac_map_type(p->nnz, format->size), p->nnz, target));
  if (columns) {
    LAC_TRY(lac_buffer_create(ctx, p->columns->type, format->size, &format->arrays[LAC_FORMAT_COLUMNS]));
    for (int64_t i = 0; i < format->size; ++i) lac_buffer_set(format->arrays[LAC_FORMAT_COLUMNS], i, -1);
  }
done:
  return status;
}

int64_t lac_format_longest(const lac_pattern *p) {
  int64_t longest = 0;
  for (int64_t i = 0; i < p->rows; ++i) {
    int64_t length = lac_format_row_length(p, i);
    if (length > longest) longest = length;
  }
  return longest;
}

// -- ELL, and ELL with the rest as COO -------------------------------------------------------------------------------

/// The largest width that at least a third of the rows fill: where rows differ little, hardly any padding and hardly
/// any rest.
static lac_status hyb_choose(lac_context *ctx, const lac_pattern *p, int64_t *width) {
  lac_status status = LAC_OK;
  int64_t longest = lac_format_longest(p), *reach = NULL, rows = 0;

  LAC_ALLOC(reach, longest + 1);
  for (int64_t i = 0; i < p->rows; ++i) ++reach[lac_format_row_length(p, i)];
  *width = longest;
  for (rows = reach[longest]; *width > 0 && 3 * rows < p->rows; rows += reach[*width]) --*width;
done:
  lac_free(reach);
  return status;
}

static int64_t hyb_count_tail(const lac_pattern *p, int64_t width) {
  int64_t tail = 0;
  for (int64_t i = 0; i < p->rows; ++i) {
    int64_t length = lac_format_row_length(p, i);
    if (length > width) tail += length - width;
  }
  return tail;
}

/// Entry j of row i goes to (i, j), or behind everything when the row is full.
static void hyb_fill(lac_format *f, lac_buffer *target) {
  const lac_pattern *p = f->pattern;
  int64_t tail = p->rows * f->width;
  for (int64_t i = 0; i < p->rows; ++i) {
    int64_t begin = lac_buffer_get(p->offsets, i), end = lac_buffer_get(p->offsets, i + 1);
    for (int64_t z = begin; z < end; ++z) {
      bool fits = z - begin < f->width;
      int64_t at = fits ? i * f->width + z - begin : tail++;
      if (!fits) lac_buffer_set(f->arrays[LAC_FORMAT_ROWS], at - p->rows * f->width, i);
      lac_buffer_set(f->arrays[LAC_FORMAT_COLUMNS], at, lac_buffer_get(p->columns, z));
      lac_buffer_set(target, z, at);
    }
  }
}

static lac_status hyb_make(lac_context *ctx, const char *function, lac_format *f) {
  lac_status status = LAC_OK;
  const lac_pattern *p = f->pattern;
  lac_buffer *target = NULL;
  int64_t tail = hyb_count_tail(p, f->width);

  LAC_TRY(lac_format_make_room(ctx, function, f, p->rows, f->width, tail, true, &target));
  if (f->kind == LAC_FORMAT_HYB) LAC_TRY(lac_buffer_create(ctx, p->columns->type, tail, &f->arrays[LAC_FORMAT_ROWS]));
  hyb_fill(f, target);
  LAC_TRY(lac_map_adopt_injective(ctx, f->size, &target, &f->map));
done:
  lac_object_release(target);
  return status;
}

lac_status lac_format_ell(lac_context *ctx, const lac_pattern *pattern, lac_format **out) {
  lac_status status = LAC_OK;
  lac_format *f = NULL;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_format_ell: out is NULL");
  LAC_TRY(lac_format_begin(ctx, "lac_format_ell", LAC_FORMAT_ELL, pattern, &f));
  f->width = lac_format_longest(pattern);
  LAC_TRY(hyb_make(ctx, "lac_format_ell", f));
  *out = f, f = NULL;
done:
  lac_format_destroy(&f);
  return status;
}

lac_status lac_format_hyb(lac_context *ctx, const lac_pattern *pattern, int64_t width, lac_format **out) {
  lac_status status = LAC_OK;
  lac_format *f = NULL;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_format_hyb: out is NULL");
  LAC_CHECK(width >= -1, LAC_ERR_ARG,
            "lac_format_hyb: width = %" PRId64 "; give 0 or more, or -1 to have it chosen by the lengths of the rows",
            width);
  LAC_TRY(lac_format_begin(ctx, "lac_format_hyb", LAC_FORMAT_HYB, pattern, &f));
  LAC_CHECK(width <= pattern->cols, LAC_ERR_ARG,
            "lac_format_hyb: width = %" PRId64 ", and a row has at most %" PRId64
            " entries, one for each column; give no more, or -1 to have it chosen by the lengths of the rows",
            width, pattern->cols);
  f->width = width;
  if (width < 0) LAC_TRY(hyb_choose(ctx, pattern, &f->width));
  LAC_TRY(hyb_make(ctx, "lac_format_hyb", f));
  *out = f, f = NULL;
done:
  lac_format_destroy(&f);
  return status;
}

// -- diagonals -------------------------------------------------------------------------------------------------------

/// place[col - row + rows - 1]: whether the diagonal holds an entry, then its number.
static lac_status dia_find(lac_context *ctx, const lac_pattern *p, int64_t *place, lac_buffer **offsets) {
  lac_status status = LAC_OK;
  int64_t diagonals = 0, all = p->rows + p->cols;

  for (int64_t i = 0; i < p->rows; ++i) {
    int64_t end = lac_buffer_get(p->offsets, i + 1);
    for (int64_t z = lac_buffer_get(p->offsets, i); z < end; ++z)
      place[lac_buffer_get(p->columns, z) - i + p->rows - 1] = 1;
  }
  for (int64_t d = 0; d < all; ++d) diagonals += place[d];
  LAC_TRY(lac_buffer_create(ctx, LAC_I64, diagonals, offsets));
  for (int64_t d = 0, n = 0; d < all; ++d) {
    if (!place[d]) continue;
    lac_buffer_set(*offsets, n, d - (p->rows - 1));
    place[d] = n++;
  }
done:
  return status;
}

lac_status lac_format_dia(lac_context *ctx, const lac_pattern *pattern, lac_format **out) {
  lac_status status = LAC_OK;
  const char *function = "lac_format_dia";
  lac_format *f = NULL;
  lac_buffer *target = NULL;
  int64_t *place = NULL;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_format_dia: out is NULL");
  LAC_TRY(lac_format_begin(ctx, function, LAC_FORMAT_DIA, pattern, &f));
  LAC_ALLOC(place, pattern->rows + pattern->cols);
  LAC_TRY(dia_find(ctx, pattern, place, &f->arrays[LAC_FORMAT_OFFSETS]));
  f->width = pattern->cols;
  LAC_TRY(lac_format_make_room(ctx, function, f, f->arrays[LAC_FORMAT_OFFSETS]->count, f->width, 0, false, &target));
  for (int64_t i = 0; i < pattern->rows; ++i) {
    int64_t end = lac_buffer_get(pattern->offsets, i + 1);
    for (int64_t z = lac_buffer_get(pattern->offsets, i); z < end; ++z) {
      int64_t col = lac_buffer_get(pattern->columns, z);
      lac_buffer_set(target, z, place[col - i + pattern->rows - 1] * f->width + col);
    }
  }
  LAC_TRY(lac_map_adopt_injective(ctx, f->size, &target, &f->map));
  *out = f, f = NULL;
done:
  lac_free(place);
  lac_object_release(target);
  lac_format_destroy(&f);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file format_sell.c
/// Sliced ELL: rows in slices of C lanes, entry by entry across the lanes, each slice as wide as its longest row.
///
///     position of entry j in lane l of slice s     offsets[s] + j C + l
///
/// Within windows of sigma rows the longest come first (rows of one length stay in order), so that slices hold rows of
/// about one length and padding is little.

#include <inttypes.h>

#include "core/pattern/format_impl.h"

/// Merge runs [begin, middle) and [middle, end) of rows, longer rows first; equal ones keep their order.
static void sell_merge(const lac_pattern *p, const int64_t *from, int64_t *to, int64_t begin, int64_t middle,
                       int64_t end) {
  int64_t left = begin, right = middle;
  for (int64_t i = begin; i < end; ++i) {
    bool takes_left = right == end ||
                      (left < middle && lac_format_row_length(p, from[left]) >= lac_format_row_length(p, from[right]));
    to[i] = takes_left ? from[left++] : from[right++];
  }
}

// A slice of more rows than this and than the matrix has is padding, and no machine works on so many lanes at once.
enum { SELL_SLICE_MOST = 4096 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// Sort each window of `window` rows; `order` has the rows in order and `spare` as much room.
static void sell_sort(const lac_pattern *p, int64_t window, int64_t *order, int64_t *spare) {
  for (int64_t first = 0; first < p->rows; first += window) {
    int64_t last = least(first + window, p->rows);
    for (int64_t run = 1; run < last - first; run *= 2) {
      for (int64_t b = first; b < last; b += 2 * run)
        sell_merge(p, order, spare, b, least(b + run, last), least(b + 2 * run, last));
      for (int64_t i = first; i < last; ++i) order[i] = spare[i];
    }
  }
}

static lac_status sell_order(lac_context *ctx, lac_format *f, int64_t slices, int64_t window) {
  lac_status status = LAC_OK;
  const lac_pattern *p = f->pattern;
  int64_t *order = NULL, *spare = NULL;

  LAC_ALLOC(order, p->rows);
  for (int64_t i = 0; i < p->rows; ++i) order[i] = i;
  if (window > 1) {
    LAC_ALLOC(spare, p->rows);
    sell_sort(p, window, order, spare);
  }
  LAC_TRY(lac_buffer_create(ctx, p->columns->type, slices * f->width, &f->arrays[LAC_FORMAT_ROWS]));
  f->in_order = true;
  for (int64_t i = 0; i < slices * f->width; ++i) {
    lac_buffer_set(f->arrays[LAC_FORMAT_ROWS], i, i < p->rows ? order[i] : -1);
    if (i < p->rows) f->in_order &= order[i] == i;
  }
done:
  lac_free(order);
  lac_free(spare);
  return status;
}

/// Where slices begin, and how many entries all lanes of each have. Returns the longest rows of all slices, added up.
static int64_t sell_measure(lac_format *f, int64_t slices) {
  const lac_buffer *rows = f->arrays[LAC_FORMAT_ROWS];
  int64_t sum = 0;
  for (int64_t s = 0; s < slices; ++s) {
    int64_t longest = 0, shortest = INT64_MAX;
    for (int64_t l = 0; l < f->width; ++l) {
      int64_t row = lac_buffer_get(rows, s * f->width + l),
              length = row < 0 ? 0 : lac_format_row_length(f->pattern, row);
      if (length > longest) longest = length;
      if (length < shortest) shortest = length;
    }
    lac_buffer_set(f->arrays[LAC_FORMAT_OFFSETS], s, sum * f->width);
    lac_buffer_set(f->full, s, shortest);
    sum += longest;
  }
  lac_buffer_set(f->arrays[LAC_FORMAT_OFFSETS], slices, sum * f->width);
  return sum;
}

static void sell_fill(lac_format *f, lac_buffer *target, int threads) {
  const lac_pattern *p = f->pattern;
  const lac_buffer *rows = f->arrays[LAC_FORMAT_ROWS];
#pragma omp parallel for num_threads(threads) schedule(static) if (p->nnz > 1 << 16)
  for (int64_t lane = 0; lane < rows->count; ++lane) {
    int64_t row = lac_buffer_get(rows, lane);
    if (row < 0) continue;
    int64_t at = lac_buffer_get(f->arrays[LAC_FORMAT_OFFSETS], lane / f->width) + lane % f->width;
    int64_t end = lac_buffer_get(p->offsets, row + 1);
    for (int64_t z = lac_buffer_get(p->offsets, row); z < end; ++z, at += f->width) {
      lac_buffer_set(f->arrays[LAC_FORMAT_COLUMNS], at, lac_buffer_get(p->columns, z));
      lac_buffer_set(target, z, at);
    }
  }
}

static lac_status sell_make(lac_context *ctx, lac_format *f, int64_t window) {
  lac_status status = LAC_OK;
  const char *function = "lac_format_sell";
  lac_buffer *target = NULL;
  int64_t slices = f->pattern->rows / f->width + (f->pattern->rows % f->width > 0), most = 0;

  LAC_CHECK(!__builtin_mul_overflow(lac_format_longest(f->pattern), slices, &most) && most <= LAC_MAX_COUNT / f->width,
            LAC_ERR_OVERFLOW, "%s: slices of %" PRId64 " rows are beyond what can be addressed", function, f->width);
  LAC_TRY(sell_order(ctx, f, slices, window));
  LAC_TRY(lac_buffer_create(ctx, LAC_I64, slices + 1, &f->arrays[LAC_FORMAT_OFFSETS]));
  LAC_TRY(lac_buffer_create(ctx, LAC_I64, slices, &f->full));
  most = sell_measure(f, slices);
  LAC_TRY(lac_format_make_room(ctx, function, f, most, f->width, 0, true, &target));
  sell_fill(f, target, lac_structure_threads(ctx));
  LAC_TRY(lac_map_adopt_injective(ctx, f->size, &target, &f->map));
done:
  lac_object_release(target);
  return status;
}

static lac_status sell_check(lac_context *ctx, const lac_pattern *p, int64_t slice, int64_t window) {
  lac_status status = LAC_OK;

  LAC_CHECK(slice >= 1 && window >= 1, LAC_ERR_ARG,
            "lac_format_sell: slice = %" PRId64 ", window = %" PRId64
            "; give at least 1 row a slice (8 suits most machines) and windows of at least 1 row (1 keeps the order)",
            slice, window);
  LAC_CHECK(slice <= p->rows || slice <= SELL_SLICE_MOST, LAC_ERR_ARG,
            "lac_format_sell: slice = %" PRId64 ", and the pattern has %" PRId64
            " rows: the rest of the slice would be padding; give at most the rows of the pattern, or %d (8 suits most "
            "machines)",
            slice, p->rows, (int)SELL_SLICE_MOST);
done:
  return status;
}

lac_status lac_format_sell(lac_context *ctx, const lac_pattern *pattern, int64_t slice, int64_t window,
                           lac_format **out) {
  lac_status status = LAC_OK;
  lac_format *f = NULL;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_format_sell: out is NULL");
  LAC_TRY(lac_format_begin(ctx, "lac_format_sell", LAC_FORMAT_SELL, pattern, &f));
  LAC_TRY(sell_check(ctx, pattern, slice, window));
  f->width = slice;
  LAC_TRY(sell_make(ctx, f, least(window, pattern->rows)));
  *out = f, f = NULL;
done:
  lac_format_destroy(&f);
  return status;
}

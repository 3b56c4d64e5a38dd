// SPDX-License-Identifier: Apache-2.0
/// @file format_impl.h
/// The inside of formats.

#ifndef LACUNA_CORE_PATTERN_FORMAT_IMPL_H
#define LACUNA_CORE_PATTERN_FORMAT_IMPL_H

#include "core/pattern/pattern_impl.h"
#include "lacuna/format.h"

struct lac_format {
  lac_object object;
  lac_format_kind kind;
  lac_pattern *pattern;
  lac_map *map;  // slots to storage
  int64_t size, width;
  lac_buffer *arrays[3];  // by lac_format_array; NULL where the format has none
  lac_buffer *full;       // SELL: how many entries every lane of a slice has, so that none of these is padding
  bool in_order;          // SELL: lane l of slice s is row s slice + l
};

/// The kind of formats, by which an operator tells its object.
extern const lac_kind lac_format_object_kind;

/// A format that holds its pattern and has nothing else yet.
lac_status lac_format_begin(lac_context *ctx, const char *function, lac_format_kind kind, const lac_pattern *pattern,
                            lac_format **out);

/// Room for the storage: `count` lines of `width` numbers and `more`, columns all padding unless `columns` is false,
/// and targets to be filled.
lac_status lac_format_make_room(lac_context *ctx, const char *function, lac_format *format, int64_t count,
                                int64_t width, int64_t more, bool columns, lac_buffer **target);

/// The number of entries of a row.
static inline int64_t lac_format_row_length(const lac_pattern *p, int64_t row) {
  return lac_buffer_get(p->offsets, row + 1) - lac_buffer_get(p->offsets, row);
}

/// Of the longest row.
int64_t lac_format_longest(const lac_pattern *p);

#endif

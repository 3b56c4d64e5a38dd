// SPDX-License-Identifier: Apache-2.0
/// @file pattern_sort.h
/// Entries as they are handed in, and how they are brought into canonical order.

#ifndef LACUNA_CORE_PATTERN_PATTERN_SORT_H
#define LACUNA_CORE_PATTERN_PATTERN_SORT_H

#include "core/pattern/pattern_impl.h"

/// Integers as a user hands them in.
typedef struct lac_indices {
  const void *data;
  lac_index_type type;
} lac_indices;

static inline int64_t lac_indices_get(lac_indices indices, int64_t i) {
  return indices.type == LAC_I32 ? ((const int32_t *)indices.data)[i] : ((const int64_t *)indices.data)[i];
}

/// Entries that were checked: every index is in range, or -1 where that drops an entry.
typedef struct lac_entries {
  int64_t rows, cols, count;
  bool may_drop;        // a row or a column of -1 drops its entry; else it is out of range
  int64_t dropped;      // how many are; entries with such are neither by_row nor canonical
  lac_indices row;      // of each entry, or
  lac_indices offsets;  // where each row begins (row.data is NULL)
  lac_indices col;
  bool by_row;     // rows do not decrease
  bool canonical;  // moreover, columns ascend within each row
} lac_entries;

static inline bool lac_entries_drops(const lac_entries *e, int64_t i) {
  return e->dropped && (lac_indices_get(e->row, i) < 0 || lac_indices_get(e->col, i) < 0);
}

/// Bring entries into order: by row, by column, by place of input. Those that are dropped are left out.
///
///     bounds   rows + 1: where each row begins among the sorted entries; given for entries that come by row, else
///              found
///     offsets  rows + 1: where each row begins among the slots, which duplicates share
///     sorted   the entries themselves, for lac_entries_emit; to be freed by lac_free
lac_status lac_entries_sort(lac_context *ctx, const lac_entries *e, lac_buffer *bounds, lac_buffer *offsets,
                            void **sorted);

/// The column of each slot, and (unless NULL) the slot of each entry that has one.
void lac_entries_emit(lac_context *ctx, const lac_entries *e, const void *sorted, const lac_buffer *bounds,
                      const lac_buffer *offsets, lac_buffer *columns, lac_buffer *target);

/// The integers that hold any count or index of these entries.
lac_index_type lac_entries_type(const lac_entries *e);

#endif

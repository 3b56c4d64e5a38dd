// SPDX-License-Identifier: Apache-2.0
/// @file format.h
/// Other layouts of a sparse matrix: ELL, sliced ELL, ELL + COO, diagonals. They come in as patterns and go out as
/// formats.
///
/// A format says where the values of a pattern stand in another layout's storage: the index arrays of that layout, and
/// a map from slots to storage positions. `remap` by that map fills the storage, with zeros in the padding, and `remap`
/// by its transpose brings gradients back; so values pass from one layout to any other under differentiation. Of a
/// layout that comes in, padding is dropped: an entry map takes storage positions to slots.
///
///     ELL    width entries a row            position of entry j in row i: i width + j
///     SELL   slices of `slice` rows, each as wide as its longest row; rows are sorted by length, longest first, within
///            windows of `window` rows       position of entry j in lane l of slice s: offsets[s] + j slice + l
///     HYB    ELL of a given width, then what is beyond it as COO, by rows
///     DIA    cols numbers a diagonal        position of A[i, i + offsets[d]]: d cols + i + offsets[d], as in SciPy
///
/// Formats are immutable, reference counted, shareable between threads, and hold their pattern.
///
/// Ownership: the caller destroys a format that a function makes.
/// Cost: a pass over the entries and over the storage.
/// Errors: LAC_ERR_UNSUPPORTED for patterns with blocks and distributed patterns; LAC_ERR_MEMORY for a storage whose
/// padding the machine has no memory for, before the memory is taken.

#ifndef LACUNA_FORMAT_H
#define LACUNA_FORMAT_H

#include "lacuna/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_format lac_format;

/// The layout of a format.
typedef enum lac_format_kind { LAC_FORMAT_ELL, LAC_FORMAT_SELL, LAC_FORMAT_HYB, LAC_FORMAT_DIA } lac_format_kind;

/// The index arrays of a format.
typedef enum lac_format_array {
  LAC_FORMAT_COLUMNS,  ///< the column of each storage position, -1 in padding; DIA has no such array
  LAC_FORMAT_OFFSETS,  ///< SELL: where slices begin, and the end; DIA: col - row of each diagonal, ascending
  LAC_FORMAT_ROWS      ///< SELL: the row of each lane, -1 beyond the last row; HYB: the row of each COO entry
} lac_format_array;

/// Make an ELL layout, as wide as the longest row.
LAC_API lac_status lac_format_ell(lac_context *ctx, const lac_pattern *pattern, lac_format **out);

/// Make a sliced ELL layout: slices of `slice` rows, sorted by length within windows of `window` rows. A window of 1
/// keeps the order, a window of all rows or more sorts all.
/// Errors: LAC_ERR_ARG for sizes below 1, and for slices of more rows than the pattern has, unless 4096 or fewer.
LAC_API lac_status lac_format_sell(lac_context *ctx, const lac_pattern *pattern, int64_t slice, int64_t window,
                                   lac_format **out);

/// Make ELL of a width, and COO for the rest; -1 takes the largest width that a third of the rows fill.
/// Errors: LAC_ERR_ARG for a width below -1, and for one of more entries than there are columns.
LAC_API lac_status lac_format_hyb(lac_context *ctx, const lac_pattern *pattern, int64_t width, lac_format **out);

/// Make a layout of all diagonals that hold an entry.
LAC_API lac_status lac_format_dia(lac_context *ctx, const lac_pattern *pattern, lac_format **out);

/// Add a holder, and remove one; both accept NULL. The last one that goes ends the format; *format is NULL afterwards.
LAC_API lac_format *lac_format_retain(const lac_format *format);
LAC_API void lac_format_destroy(lac_format **format);

/// The number of a format, which no other object of the process has; its layout; its pattern, borrowed; the map from
/// slots to storage positions, borrowed; the count of numbers of the storage. Of NULL: 0, LAC_FORMAT_ELL and NULL.
LAC_API int64_t lac_format_id(const lac_format *format);
LAC_API lac_format_kind lac_format_kind_of(const lac_format *format);
LAC_API const lac_pattern *lac_format_pattern(const lac_format *format);
LAC_API const lac_map *lac_format_map(const lac_format *format);
LAC_API int64_t lac_format_size(const lac_format *format);

/// The width of a layout: entries of a row in ELL and HYB, rows of a slice in SELL, numbers of a diagonal in DIA. Of
/// NULL: 0.
LAC_API int64_t lac_format_width(const lac_format *format);

/// The count of integers of an index array, 0 where the format has no such array; and a copy of it in host memory.
LAC_API int64_t lac_format_count(const lac_format *format, lac_format_array array);
LAC_API void lac_format_read(const lac_format *format, lac_format_array array, int64_t *out);

// Patterns from these layouts. Negative columns are padding and are dropped; entries that come twice share a slot and
// sum. `entries` (optional) receives the map from storage positions to slots.
// Ownership: the caller destroys the pattern and the map.
// Errors: LAC_ERR_PATTERN names the first position that is wrong.

/// Make a pattern from ELL: `columns` is rows x entries, row-major.
LAC_API lac_status lac_pattern_from_ell(lac_context *ctx, int64_t rows, int64_t cols, int64_t entries_a_row,
                                        lac_index_type type, const void *columns, lac_width width, lac_pattern **out,
                                        lac_map **entries);

/// Make a pattern from sliced ELL: `offsets` has one more than there are slices of `slice` rows; `lanes` is the row of
/// each lane (NULL: in order), with each row once.
LAC_API lac_status lac_pattern_from_sell(lac_context *ctx, int64_t rows, int64_t cols, int64_t slice,
                                         lac_index_type type, const void *offsets, const void *columns,
                                         const void *lanes, lac_width width, lac_pattern **out, lac_map **entries);

/// Make a pattern from ELL + COO: `columns` is rows x entries, row-major, then the columns of the `tail` COO entries,
/// whose rows are `tail_rows`.
LAC_API lac_status lac_pattern_from_hyb(lac_context *ctx, int64_t rows, int64_t cols, int64_t entries_a_row,
                                        int64_t tail, lac_index_type type, const void *columns, const void *tail_rows,
                                        lac_width width, lac_pattern **out, lac_map **entries);

/// Make a pattern from diagonals: `length` numbers for each of `diagonals` distinct offsets, number j in column j. What
/// lies outside the matrix is dropped; everything else is an entry, zeros too.
LAC_API lac_status lac_pattern_from_dia(lac_context *ctx, int64_t rows, int64_t cols, int64_t diagonals, int64_t length,
                                        lac_index_type type, const void *offsets, lac_width width, lac_pattern **out,
                                        lac_map **entries);

#ifdef __cplusplus
}
#endif
#endif

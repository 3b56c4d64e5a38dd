// SPDX-License-Identifier: Apache-2.0
/// @file format.h
/// Other layouts of a sparse matrix: ELL, sliced ELL, ELL + COO, diagonals. They come in as patterns and go out as formats.
///
/// A format says where the values of a pattern stand in another layout's storage: the index arrays of that layout, and a map from
/// slots to storage positions. `remap` by that map fills the storage, zeros where there is padding, and `remap` by its
/// transpose brings gradients back; so values pass from one layout to any other under differentiation. Coming in, padding is
/// dropped: an entry map takes storage positions to slots.
///
///     ELL    width entries a row            position of entry j in row i: i width + j
///     SELL   slices of `slice` rows, each as wide as its longest row; rows are sorted by length, longest first, within
///            windows of `window` rows       position of entry j in lane l of slice s: offsets[s] + j slice + l
///     HYB    ELL of a given width, then what is beyond it as COO, by rows
///     DIA    cols numbers a diagonal        position of A[i, i + offsets[d]]: d cols + i + offsets[d], as in SciPy
///
/// Formats are immutable, reference counted and hold their pattern. Patterns with blocks, and distributed ones:
/// LAC_ERR_UNSUPPORTED.

#ifndef LACUNA_FORMAT_H
#define LACUNA_FORMAT_H

#include "lacuna/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_format lac_format;

typedef enum lac_format_kind { LAC_ELL, LAC_SELL, LAC_HYB, LAC_DIA } lac_format_kind;

/// The index arrays of a format.
typedef enum lac_format_array {
  LAC_FORMAT_COLUMNS,  ///< of each storage position, -1 in padding (none for DIA)
  LAC_FORMAT_OFFSETS,  ///< SELL: where slices begin, one more than there are; DIA: col - row of each diagonal, ascending
  LAC_FORMAT_ROWS  ///< SELL: the row of each lane, slices x slice, -1 beyond the last row; HYB: the row of each COO entry
} lac_format_array;

/// As wide as the longest row.
LAC_API lac_status lac_format_ell(lac_context *ctx, const lac_pattern *pattern, lac_format **out);

/// Slices of `slice` rows, sorted within windows of `window` rows: 1 keeps the order, the number of rows sorts all.
LAC_API lac_status lac_format_sell(lac_context *ctx, const lac_pattern *pattern, int64_t slice, int64_t window,
                                   lac_format **out);

/// ELL of this width and COO for the rest; -1 takes the largest width that a third of the rows fill.
LAC_API lac_status lac_format_hyb(lac_context *ctx, const lac_pattern *pattern, int64_t width, lac_format **out);

/// All diagonals that hold an entry.
LAC_API lac_status lac_format_dia(lac_context *ctx, const lac_pattern *pattern, lac_format **out);

LAC_API lac_format *lac_format_retain(const lac_format *format);
LAC_API void lac_format_destroy(lac_format **format);
LAC_API int64_t lac_format_id(const lac_format *format);

LAC_API lac_format_kind lac_format_kind_of(const lac_format *format);
LAC_API const lac_pattern *lac_format_pattern(const lac_format *format);  ///< borrowed
LAC_API const lac_map *lac_format_map(const lac_format *format);          ///< from slots to storage; borrowed
LAC_API int64_t lac_format_size(const lac_format *format);                ///< numbers of the storage
/// Entries a row in ELL and HYB, rows a slice in SELL, numbers a diagonal in DIA.
LAC_API int64_t lac_format_width(const lac_format *format);

/// How many integers an index array has (0: the format has none), and a host copy of it.
LAC_API int64_t lac_format_count(const lac_format *format, lac_format_array array);
LAC_API void lac_format_read(const lac_format *format, lac_format_array array, int64_t *out);

// Patterns from these layouts. Negative columns are padding and are dropped; what comes twice shares a slot and sums. `entries`
// (optional) receives the map from storage positions to slots. Errors name the first offending position.

/// `columns` is rows x entries, row-major.
LAC_API lac_status lac_pattern_from_ell(lac_context *ctx, int64_t rows, int64_t cols, int64_t entries_a_row,
                                        lac_index_type type, const void *columns, lac_width width, lac_pattern **out,
                                        lac_map **entries);

/// `offsets` has one more than there are slices of `slice` rows; `lanes` is the row of each lane (NULL: in order), each row once.
LAC_API lac_status lac_pattern_from_sell(lac_context *ctx, int64_t rows, int64_t cols, int64_t slice,
                                         lac_index_type type, const void *offsets, const void *columns,
                                         const void *lanes, lac_width width, lac_pattern **out, lac_map **entries);

/// `columns` is rows x entries, row-major, then the columns of the `tail` COO entries, whose rows are `tail_rows`.
LAC_API lac_status lac_pattern_from_hyb(lac_context *ctx, int64_t rows, int64_t cols, int64_t entries_a_row,
                                        int64_t tail, lac_index_type type, const void *columns, const void *tail_rows,
                                        lac_width width, lac_pattern **out, lac_map **entries);

/// `length` numbers for each of `diagonals` distinct offsets, number j in column j. What lies outside the matrix is dropped;
/// everything else is an entry, zeros too.
LAC_API lac_status lac_pattern_from_dia(lac_context *ctx, int64_t rows, int64_t cols, int64_t diagonals, int64_t length,
                                        lac_index_type type, const void *offsets, lac_width width, lac_pattern **out,
                                        lac_map **entries);

#ifdef __cplusplus
}
#endif
#endif

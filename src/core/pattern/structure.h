// SPDX-License-Identifier: Apache-2.0
/// @file structure.h
/// Structure that is made where its indices lie: the loops over integers that a backend has on its device.
///
/// Patterns, transposes, unions, products and the groups of maps are composed of these in core/pattern, which keeps the
/// sentences and the policy. A backend without a table (lac_backend.structure is NULL) works on the host, where
/// core/pattern has the same loops for threads. Results are complete, for every stream, when a function returns; what
/// steers (counts, the first fault) is read there and nowhere else.

#ifndef LACUNA_CORE_PATTERN_STRUCTURE_H
#define LACUNA_CORE_PATTERN_STRUCTURE_H

#include "core/backend.h"
#include "core/pattern/pattern_sort.h"
#include "core/pattern/fingerprint.h"

/// What is wrong with entries, and their order. Positions are the first of their kind, or the number of entries.
typedef struct lac_entries_look {
  int64_t row, col;  // outside the matrix
  int64_t dropped;   // how many are, where the entries may be
  bool canonical;    // by rows, and columns ascend within each
} lac_entries_look;

/// The same for offsets: `descent` is the first that is less than the one before it, or lines + 1.
typedef struct lac_offsets_look {
  int64_t first, last, descent;
} lac_offsets_look;

struct lac_structure_kernels {
  /// Entries by coordinates, where every index may be anything.
  lac_status (*look_at_entries)(lac_context *ctx, const lac_entries *e, lac_entries_look *out);
  lac_status (*look_at_offsets)(lac_context *ctx, lac_indices offsets, int64_t lines, lac_offsets_look *out);
  /// Compressed rows, whose offsets are known to be right: e->row is not read. Where they are canonical, `copy` makes
  /// offsets or columns of them without another look.
  lac_status (*look_at_rows)(lac_context *ctx, const lac_entries *e, lac_entries_look *out);
  lac_status (*copy)(lac_context *ctx, lac_indices from, int64_t count, lac_index_type type, lac_buffer **out);

  /// The line of each of `count` entries of compressed lines, in integers of this type. The offsets are known to be
  /// right.
  lac_status (*lines_of)(lac_context *ctx, lac_indices offsets, int64_t lines, int64_t count, lac_index_type type,
                         lac_buffer **out);

  /// Entries that were checked, in canonical order: offsets and columns of their pattern and (unless target is NULL)
  /// the slot of each entry, -1 for what is dropped. *width is what was asked for and becomes what it is; a width that
  /// is too narrow is refused for `function`.
  lac_status (*build)(lac_context *ctx, const char *function, const lac_entries *e, lac_width *width,
                      lac_buffer **offsets, lac_buffer **columns, lac_buffer **target);

  /// 0, 1, ... by key: `order` has those of key 0, of key 1, ..., each ascending, and those of key j begin at
  /// offsets[j]. Negative keys are left out. Both are integers of the type.
  lac_status (*group)(lac_context *ctx, const lac_buffer *keys, int64_t outputs, lac_index_type type,
                      lac_buffer **offsets, lac_buffer **order);

  /// The row and the column of each product of numbers in A B: those of row 0 of A first, each in integers that hold
  /// it.
  lac_status (*products)(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_buffer **row,
                         lac_buffer **col);

  /// Integers [begin, begin + count) of a buffer; those of a and then those of b. In integers of the type, which hold
  /// them.
  lac_status (*part)(lac_context *ctx, const lac_buffer *from, int64_t begin, int64_t count, lac_index_type type,
                     lac_buffer **out);
  lac_status (*join)(lac_context *ctx, const lac_buffer *a, const lac_buffer *b, lac_index_type type, lac_buffer **out);

  /// out[i] = from[at[i]]; out[at[i]] = i, where `at` is a permutation.
  lac_status (*gather)(lac_context *ctx, const lac_buffer *from, const lac_buffer *at, lac_buffer **out);
  lac_status (*invert)(lac_context *ctx, const lac_buffer *at, lac_buffer **out);

  /// Whether integer i is i; whether integers never descend, from 0 on; whether two buffers have the same integers.
  lac_status (*ascends)(lac_context *ctx, const lac_buffer *buffer, bool *is_identity, bool *is_sorted);
  lac_status (*same)(lac_context *ctx, const lac_buffer *a, const lac_buffer *b, bool *out);

  /// The longest of the lines between offsets (lac_buffer_longest).
  lac_status (*longest)(lac_context *ctx, const lac_buffer *offsets, lac_longest *out);

  /// The band of a pattern (lac_pattern_band).
  lac_status (*band)(lac_context *ctx, const lac_pattern *pattern, lac_band *out);

  /// The sum of lac_fingerprint_image over a buffer.
  lac_status (*print)(lac_context *ctx, const lac_buffer *buffer, uint64_t seed, uint64_t *sum);
};

/// The table of the context's backend, or NULL: work on the host.
static inline const lac_structure_kernels *lac_structure_of(const lac_context *ctx) {
  return ctx ? ctx->backend->structure : NULL;
}

#endif

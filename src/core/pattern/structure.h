// SPDX-License-Identifier: Apache-2.0
/// @file structure.h
/// Structure that is made where its indices lie: the loops over integers that a backend has on its device.
///
/// Patterns, transposes, parts, pairs, stacks, products and the groups of maps are composed of these in core/pattern,
/// which keeps the sentences and the policy. A backend without a table (lac_backend.structure is NULL) works on the
/// host, where core/pattern has the same loops for threads. Results are complete, for every stream, when a function
/// returns; what steers (counts, the first fault) is read there and nowhere else.

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

/// What stays of a pattern: rows [row0, row1) and columns [col0, col1), which are counted from row0 and col0 on; of
/// these the entries with col - row <= k where it cuts above, >= k where it cuts below, and those that `other` has too.
typedef struct lac_window {
  int64_t row0, row1, col0, col1;
  bool cuts_above, cuts_below;
  int64_t k;
  const lac_pattern *other;  // NULL: all of them
} lac_window;

/// Patterns in one: block b begins at a row and a column that grow by the sizes of the blocks before it.
typedef struct lac_stacking {
  int64_t count;
  const lac_pattern *const *blocks;
  bool down, right;  // what grows: row, column
  int64_t rows, nnz;
  lac_width width;
} lac_stacking;

struct lac_structure_kernels {
  /// Entries by coordinates, where every index may be anything.
  lac_status (*look_at_entries)(lac_context *ctx, const lac_entries *e, lac_entries_look *out);
  lac_status (*look_at_offsets)(lac_context *ctx, lac_indices offsets, int64_t lines, lac_offsets_look *out);

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

  /// What a window leaves of a pattern: offsets and columns in a width that holds them (NULL: not asked for), and the
  /// slot of each entry, -1 for what goes, in the offsets' type.
  lac_status (*select)(lac_context *ctx, const lac_pattern *a, const lac_window *w, lac_width width,
                       lac_buffer **offsets, lac_buffer **columns, lac_buffer **target);

  /// The Kronecker product of a and b, and the slot of entry (p, q) at p nnz_b + q.
  lac_status (*kron)(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_width width,
                     lac_buffer **offsets, lac_buffer **columns, lac_buffer **target);

  /// Patterns in one, and for each of them (targets is NULL: not asked for) the slots of its entries.
  lac_status (*stack)(lac_context *ctx, const lac_stacking *s, lac_buffer **offsets, lac_buffer **columns,
                      lac_buffer **targets);

  /// For each entry row * stride + col, or where the stride is 0 its row if it is on the diagonal, else -1.
  lac_status (*places)(lac_context *ctx, const lac_pattern *a, int64_t stride, lac_index_type type, lac_buffer **out);

  /// out[i] = from[at[i]]; out[at[i]] = i, of `outputs` integers and -1 where nothing leads. A negative at[i] leads
  /// nowhere, and no two of the others to one place.
  lac_status (*gather)(lac_context *ctx, const lac_buffer *from, const lac_buffer *at, lac_buffer **out);
  lac_status (*invert)(lac_context *ctx, const lac_buffer *at, int64_t outputs, lac_index_type type, lac_buffer **out);

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

/// The same for what is made of a pattern whose indices the host does not have, or of two of which one is such.
static inline const lac_structure_kernels *lac_structure_there(const lac_context *ctx, const lac_pattern *a) {
  bool is_here = lac_buffer_is_host(a->offsets) && lac_buffer_is_host(a->columns);
  return is_here ? NULL : lac_structure_of(ctx);
}
static inline const lac_structure_kernels *lac_structure_of_pair(const lac_context *ctx, const lac_pattern *a,
                                                                 const lac_pattern *b) {
  const lac_structure_kernels *of_a = lac_structure_there(ctx, a);
  return of_a ? of_a : lac_structure_there(ctx, b);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file structure.h
/// The structure of a square matrix as the direct solvers read it: by rows and by columns, in one pair of integer
/// types.
///
/// Rows and columns are 32-bit, positions and slots 64-bit: a matrix with 2^30 rows has no factor that any machine
/// holds.

#ifndef LACUNA_SOLVERS_DIRECT_ORDER_STRUCTURE_H
#define LACUNA_SOLVERS_DIRECT_ORDER_STRUCTURE_H

#include "core/pattern/pattern_impl.h"
#include "lacuna/solver.h"

enum { LAC_DIRECT_MAX_ROWS = 1 << 30 };

/// LAC_ALLOC of memory that is written before it is read, and not zero.
#define LAC_ROOM(pointer, count)                                                                       \
  do {                                                                                                 \
    (pointer) = lac_alloc((size_t)(count) * sizeof *(pointer));                                        \
    LAC_CHECK((pointer), LAC_ERR_MEMORY, "out of memory: %lld items of %zu bytes", (long long)(count), \
              sizeof *(pointer));                                                                      \
  } while (0)

typedef struct lac_structure {
  lac_object object;
  int32_t n;
  int64_t nnz;
  int64_t *offsets;        // by rows, as the pattern: n + 1
  const int32_t *columns;  // ascending in each row; entry p has slot p
  int64_t *t_offsets;      // by columns; in a symmetric structure, the same memory
  const int32_t *t_rows;   // ascending in each column
  int64_t *t_slots;  // the slot of each entry by columns; in a symmetric structure, the slot of the mirrored entry
  const lac_buffer *held[2];  // of the pattern, whose memory columns and t_rows are; NULL: they have their own
  int32_t *own_columns, *own_t_rows;
  bool is_symmetric;  // an entry (i, j) has its (j, i)
  int64_t unmatched;  // slot of the first entry without; -1: none
  int32_t diagonals;  // entries on the diagonal
  int32_t lower;      // bandwidths: the largest i - j and j - i of an entry, 0 at least
  int32_t upper;
  _Atomic(struct lac_block_form *) form;                          // NULL until it is asked for (block_form.h)
  _Atomic(struct lac_outline *) outlines[LAC_ORDER_NATURAL + 1];  // likewise, one for each ordering (outline.h)
} lac_structure;

/// The structure of a square pattern, which keeps it; retained for the caller (lac_object_release).
lac_status lac_structure_get(lac_context *ctx, const lac_pattern *pattern, lac_structure **out);

/// A square part of a structure: row i of it is rows[i], and column j of A is its column place[j] - first, where that
/// is in 0 .. n - 1; `place` keeps the order of columns. Held by the caller, as are the slots of A of its entries.
lac_status lac_structure_part(lac_context *ctx, const lac_structure *structure, int32_t n, const int32_t *rows,
                              const int32_t *place, int32_t first, lac_structure **out, int64_t **slots);

/// How many entries off the diagonal have a mirror.
int64_t lac_structure_matched(const lac_structure *structure);

/// The row of a slot, for sentences.
int64_t lac_structure_row(const lac_structure *structure, int64_t slot);

/// "the matrix is structurally singular: row 3 is empty"; a row or column without entries is named before the column
/// that could not be matched.
void lac_structure_singular_text(const lac_structure *structure, int64_t column, char *text, size_t size);

/// The root of a node of a forest, which is its own parent; paths are halved on the way.
static inline int32_t lac_forest_root(int32_t *parent, int32_t node) {
  for (; parent[node] != node; node = parent[node]) parent[node] = parent[parent[node]];
  return node;
}

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file supernodes.h
/// The symbolic factorisation that all numeric ones share.
///
/// B = A with its rows moved so that a chosen entry of each stands on the diagonal (a matching; none for symmetric
/// methods). The structure of B + B^T is ordered, its elimination tree postordered, and columns whose structures below
/// the diagonal agree, or nearly so, form a *supernode*: a dense trapezoid of the factor. Step k is the k-th
/// elimination.
///
///     supernode s   columns  P = first[s] .. first[s + 1] - 1          p of them
///                   rows     R = rows[row_offsets[s] ..]               r of them, ascending, all after P
///     front of s    the dense matrix on P + R; local index 0 .. p - 1 is P, p .. p + r - 1 is R
///
/// R lies inside the front of the parent: `relative` says where. Every entry of B belongs to the front of the supernode
/// that eliminates the earlier one of its row and column.

#ifndef LACUNA_SOLVERS_DIRECT_SYMBOLIC_SUPERNODES_H
#define LACUNA_SOLVERS_DIRECT_SYMBOLIC_SUPERNODES_H

#include "solvers/direct/order/outline.h"

/// Supernodes begin .. end - 1.
typedef struct lac_range {
  int32_t begin, end;
} lac_range;

typedef struct lac_supernodes {
  lac_object object;
  const char *ordering;    // "amd", "metis", "natural"
  int32_t n, count;        // columns, supernodes
  int32_t *row_step;       // n: the step that eliminates row i of A
  int32_t *col_step;       // n: and column j; both are the same permutation unless rows were matched
  int32_t *row_at;         // n: the row of A eliminated at step k
  int32_t *col_at;         // n: and the column
  int32_t *first;          // count + 1
  int32_t *owner;          // n: the supernode of a step
  int32_t *parent;         // count: -1 for roots; children come before parents, each subtree is one range
  int32_t *leftmost;       // count: the subtree of s is leftmost[s] .. s
  int64_t *row_offsets;    // count + 1
  int32_t *rows;           // steps
  int32_t *relative;       // like rows: the local index of each in the parent's front
  int64_t *panels;         // count + 1: numbers of panels of (p + r) x p before that of s
  int64_t *entry_offsets;  // count + 1: entries of A in the front of s;
  int64_t *upper_offsets;  // count: those from here on stand above the diagonal (row step < column step)
  int64_t *entry_slots;    // nnz: their slots
  int32_t *entry_rows;     // nnz: their local rows
  int32_t *entry_cols;     // nnz: and columns
  double *flops;           // count: of the subtree of s, real symmetric factorisation; unsymmetric: twice
  lac_range *ranges;       // by lac_tree_cut: whole subtrees, those with most work first; then the supernodes above
  int32_t range_count;     // them, ascending, one in each range
  int32_t subtree_count;   // ranges of whole subtrees
  int64_t *update_at;   // count: where the update matrix of s stands in its thread's memory; -1: in a block of its own
  int64_t update_work;  // numbers of that memory
  int64_t update_blocks;  // numbers of blocks of their own alive at once, at most
  int64_t stack;          // numbers of r x r update matrices alive at once, at most, in postorder
  int64_t nnz;            // of L with its diagonal, the zeros inside supernodes included
} lac_supernodes;

/// `match` gives the column whose diagonal place row i takes; NULL: its own. Retained for the caller.
lac_status lac_supernodes_create(lac_context *ctx, const lac_structure *structure, const int32_t *match,
                                 lac_ordering ordering, lac_supernodes **out);
/// Of a matrix as it stands, whose order is known.
lac_status lac_supernodes_create_outlined(lac_context *ctx, const lac_structure *structure, const lac_outline *outline,
                                          lac_supernodes **out);
/// Of a symmetric structure whose rows are paired (pairs.h): both of a pair are in one supernode.
lac_status lac_supernodes_create_paired(lac_context *ctx, const lac_structure *structure, const int32_t *mate,
                                        lac_ordering ordering, lac_supernodes **out);

int64_t lac_supernodes_bytes(const lac_supernodes *s);

static inline int32_t lac_front_cols(const lac_supernodes *s, int32_t i) { return s->first[i + 1] - s->first[i]; }
static inline int32_t lac_front_rows(const lac_supernodes *s, int32_t i) {
  return (int32_t)(s->row_offsets[i + 1] - s->row_offsets[i]);
}

#endif

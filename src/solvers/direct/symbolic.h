// SPDX-License-Identifier: Apache-2.0
/// @file symbolic.h
/// The symbolic factorisation P A P^T = L D L^H of a symmetric structure: all of L but its numbers.

#ifndef LACUNA_SOLVERS_DIRECT_SYMBOLIC_H
#define LACUNA_SOLVERS_DIRECT_SYMBOLIC_H

#include "lacuna/solver.h"
#include "solvers/direct/structure.h"

typedef struct lac_symbolic {
  int32_t n;
  int32_t *order;       // the row of A that is eliminated k-th
  int32_t *parent;      // elimination tree: the first row below the diagonal in column k of L, or -1
  int64_t *c_offsets;   // C = P A P^T by rows, left of the diagonal
  int32_t *c_columns;   // (not ascending)
  int64_t *c_slots;     // where the values of C stand in A's
  int64_t *c_diagonal;  // slots of the diagonal; -1 where A stores none
  int64_t *l_offsets;   // L by columns, below the diagonal
  int32_t *l_rows;      // ascending
  double flops;         // of a real factorisation: multiplications and additions
} lac_symbolic;

/// Order, elimination tree and structure of L. The structure must be symmetric. Cost: the ordering, and one step for
/// each entry of L.
lac_status lac_symbolic_create(lac_context *ctx, const lac_structure *structure, lac_ordering ordering,
                               lac_symbolic **out);
int64_t lac_symbolic_bytes(const lac_symbolic *symbolic);
void lac_symbolic_destroy(lac_symbolic *symbolic);

/// The columns of row k of L, in an order in which each comes before its ancestors, at path[return value .. n - 1].
/// mark[i] == k says "seen": marks start at -1. Walks from each entry of C towards the root until something seen.
static inline int32_t lac_symbolic_reach(const lac_symbolic *s, int32_t k, int32_t *mark, int32_t *path) {
  int32_t top = s->n;
  mark[k] = k;
  for (int64_t p = s->c_offsets[k]; p < s->c_offsets[k + 1]; p++) {
    int32_t length = 0;
    for (int32_t i = s->c_columns[p]; mark[i] != k; i = s->parent[i]) {
      path[length++] = i;
      mark[i] = k;
    }
    while (length > 0) path[--top] = path[--length];
  }
  return top;
}

#endif

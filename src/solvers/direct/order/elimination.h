// SPDX-License-Identifier: Apache-2.0
/// @file elimination.h
/// What eliminating the nodes of a graph in a given order makes: the tree and the counts, not the entries.
///
///     parent(j) = min { i > j : L_ij may be nonzero }
///     count(j)  = entries of column j of L, its diagonal included

#ifndef LACUNA_SOLVERS_DIRECT_ORDER_ELIMINATION_H
#define LACUNA_SOLVERS_DIRECT_ORDER_ELIMINATION_H

#include "solvers/direct/order/graph.h"

/// What a factor comes to.
typedef struct lac_cost {
  int64_t nnz;   // of L
  double flops;  // of a real Cholesky factorisation
} lac_cost;

typedef struct lac_elimination {
  int32_t n;
  int32_t *order;   // the node that is eliminated k-th
  int32_t *place;   // and the step of each node
  int32_t *parent;  // steps; -1 for roots
  int32_t *count;
  lac_cost cost;
} lac_elimination;

/// Takes `order` into a postorder of its tree, which changes neither fill nor tree. `elimination` is zeroed before and
/// cleared after, also where this fails. Time: nearly proportional to the entries of the graph (Gilbert, Ng and Peyton,
/// SIAM J. Matrix Anal. Appl. 15, 1994).
lac_status lac_elimination_init(lac_context *ctx, const lac_graph *graph, const int32_t *order,
                                lac_elimination *elimination);
void lac_elimination_clear(lac_elimination *elimination);

#endif

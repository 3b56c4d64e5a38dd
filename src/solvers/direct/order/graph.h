// SPDX-License-Identifier: Apache-2.0
/// @file graph.h
/// The graph of B + B^T, where B is A with its rows moved: what orderings and elimination trees read.
///
/// Row i of A becomes row match[i] of B, so that nodes are columns of A. Each neighbour stands once, a node is not its
/// own.

#ifndef LACUNA_SOLVERS_DIRECT_ORDER_GRAPH_H
#define LACUNA_SOLVERS_DIRECT_ORDER_GRAPH_H

#include "solvers/direct/order/structure.h"

typedef struct lac_graph {
  int32_t n;
  int64_t *offsets;  // n + 1
  int32_t *columns;
  int64_t inside;  // entries of the matrix whose nodes are of one part
} lac_graph;

/// `match` may be NULL: rows stay. `graph` is zeroed before and cleared after, also where this fails.
lac_status lac_graph_init(lac_context *ctx, const lac_structure *structure, const int32_t *match, lac_graph *graph);

/// The same with entries between nodes of the same part alone, of which `first` says how many nodes come before each.
lac_status lac_graph_init_parts(lac_context *ctx, const lac_structure *structure, const int32_t *match,
                                const int32_t *part, const int32_t *first, lac_graph *graph);
void lac_graph_clear(lac_graph *graph);

#endif

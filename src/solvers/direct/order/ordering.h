// SPDX-License-Identifier: Apache-2.0
/// @file ordering.h
/// Orders of elimination that keep factors sparse: order[k] is the row or column that is eliminated k-th.
/// LAC_ORDER_NATURAL gives 0, 1, 2, ...

#ifndef LACUNA_SOLVERS_DIRECT_ORDER_ORDERING_H
#define LACUNA_SOLVERS_DIRECT_ORDER_ORDERING_H

#include "core/test_hooks.h"
#include "lacuna/solver.h"
#include "solvers/direct/order/elimination.h"

/// Order a graph, and say what that costs. LAC_ORDER_AUTO takes the better of what it tries; `name` is what was taken:
/// "amd", "metis", "natural".
lac_status lac_order_find(lac_context *ctx, const lac_graph *graph, lac_ordering ordering, int32_t *order,
                          lac_cost *cost, const char **name);

/// The same, and what eliminating it so makes.
lac_status lac_order_graph(lac_context *ctx, const lac_graph *graph, lac_ordering ordering, lac_elimination *out,
                           const char **name);

/// The same where each node has a mate, or is its own: mates are eliminated one after the other. `joined`, zeroed
/// before, is the graph of that elimination: both rows of a pair are adjacent to all neighbours of either.
lac_status lac_order_pairs(lac_context *ctx, const lac_graph *graph, const int32_t *mate, lac_ordering ordering,
                           lac_graph *joined, lac_elimination *out, const char **name);

/// Approximate minimum degree, whose cost is known on the way, but for nodes that were set aside: of a few it is
/// counted, at most a little too high, of more its nnz is -1.
/// Nested dissection by METIS, LAC_ERR_UNSUPPORTED where it is not found.
lac_status lac_order_amd(lac_context *ctx, const lac_graph *graph, int32_t *order, lac_cost *cost);
lac_status lac_order_metis(lac_context *ctx, const lac_graph *graph, int32_t *order);

/// Whether METIS can be loaded: what LACUNA_METIS in the environment names, else libmetis.so in the folder of this
/// library, as in a wheel, else where the system looks.
bool lac_metis_find(void);

/// The order of the graph of A + A^T.
lac_status lac_order_symmetric(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, int32_t *order);

/// Approximate minimum degree on the graph of A^T A, which is never formed: its rows are the first elements of the
/// quotient graph. It bounds the fill of LU whatever rows are chosen as pivots. Column singletons come first. METIS is
/// given the graph of A + A^T, which suits pivots near the diagonal.
lac_status lac_order_columns(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, int32_t *order);

#endif

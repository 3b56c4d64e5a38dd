// SPDX-License-Identifier: Apache-2.0
/// @file amd.h
/// The quotient graph of approximate minimum degree (ordering_amd.c), for files that load graphs into it.

#ifndef LACUNA_SOLVERS_DIRECT_ORDER_AMD_H
#define LACUNA_SOLVERS_DIRECT_ORDER_AMD_H

#include "solvers/direct/order/elimination.h"

enum { LAC_AMD_NONE = -1 };  // no vertex

/// What one visit of a variable or element reads, side by side.
typedef struct amd_node {
  int64_t start;     // of its list
  int32_t length;    // of the list: first elements, then variables
  int32_t elements;  // how many of them are elements
  int32_t degree;    // variables: the bound on their degree; elements: |L_e|
  int32_t next;      // variables: by degree, or by hash while in the new element; elements: the one that absorbed them
  union {
    int32_t previous;  // by degree
    int32_t hash;      // while in the new element
  };
  int32_t member;  // variables merged into one: a circle through each that is alive
} amd_node;

typedef struct amd {
  int32_t n, nodes;        // variables 0..n-1; the elements that the graph starts with follow, up to nodes
  int32_t *list;           // all lists, one after another with gaps
  int64_t used, capacity;  // of list
  amd_node *node;
  int32_t *weight;  // variables: how many they stand for; 0: merged or gone; negative while in the new element
  int64_t *stamp;   // elements: tag + |L_e \ L_v|, when at least tag, and 0 when absorbed;
                    // variables: marks of a comparison, and 0 when merged; in the end, when each was eliminated
  int64_t tag;
  int32_t *head;    // the first variable of a degree
  int32_t *bucket;  // and of a hash
  uint32_t mask;    // hashes are up to this, one less than a power of two
  int32_t lowest;   // no variable has a smaller degree
  int32_t left;     // variables that are not eliminated yet, by weight
  lac_cost cost;    // of what is eliminated
  int32_t series;   // variables that were eliminated before (lac_amd_series)
  int32_t *ends;    // and the neighbours, two at most, that each had left; -1: none
} amd;

/// n variables of weight 1 without neighbours, and room for `entries` in their lists. Cleared by the caller, also where
/// this fails.
lac_status lac_amd_init(lac_context *ctx, amd *graph, int32_t n, int32_t first_elements, int64_t entries);
void lac_amd_clear(amd *graph);

/// Eliminate variables of at most two neighbours, and those that become so, where it is many: they begin the order,
/// with a degree of -1 (ordering_series.c).
lac_status lac_amd_series(lac_context *ctx, amd *graph, bool has_aside, int32_t *order);

/// Places of all pivots, which come in the order of their elimination, and of what went with them. The pivots stay in
/// `bucket`, and the tree in `list`: which pivot absorbed each, by numbers.
void lac_amd_postorder(amd *graph, const int32_t *pivots, int32_t count, int32_t *order);

/// The cost of variables that were set aside, after that.
void lac_amd_count_aside(amd *g, const lac_graph *graph, const int32_t *aside, int32_t count);

/// Count columns of L for `together` variables that are eliminated together: each has those after it, and `others`.
void lac_amd_count(amd *graph, int32_t together, int32_t others);
static inline void lac_amd_count_one(amd *graph, int32_t others) {
  double count = (double)others + 1;
  graph->cost.flops += count * count;
  graph->cost.nnz += others + 1;
}

/// Eliminate all variables, then those that were set aside, which a weight of 0 says. The first `done_with` of the
/// order are given, with a degree of -1.
lac_status lac_amd_run(lac_context *ctx, amd *graph, int32_t done_with, int32_t *order);

/// Variables with more neighbours would be visited at every step, and come last in any good order: they are set aside.
/// Likewise a row with more entries would join all columns, and is left out.
int32_t lac_amd_dense(int32_t n);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file ordering_amd_tree.c
/// The tree of elements, once all variables are eliminated: places in postorder, and what variables set aside cost.

#include "solvers/direct/order/amd.h"

enum { NONE = LAC_AMD_NONE };

// When each pivot was taken, with the variables that went with it, and how many these are.
static void amd_date(amd *g, const int32_t *pivots, int32_t count, int32_t *together) {
  for (int32_t k = 0; k < g->series; k++) g->stamp[pivots[k]] = k, together[k] = 1;
  for (int32_t k = g->series; k < count; k++) {
    int32_t v = pivots[k];
    g->stamp[v] = k;
    together[k] = 1;
    for (int32_t i = g->node[v].member; i != v; i = g->node[i].member) g->stamp[i] = k, together[k]++;
  }
}

// Which pivot absorbed each: of those that went before the others, the first one of what they had left.
static void amd_hang(amd *g, const int32_t *pivots, int32_t count, int32_t *up) {
  for (int32_t k = 0; k < g->series; k++) {
    const int32_t *ends = g->ends + 2 * (int64_t)k;
    int32_t a = ends[0] == NONE ? NONE : (int32_t)g->stamp[ends[0]];
    int32_t b = ends[1] == NONE ? a : (int32_t)g->stamp[ends[1]];
    up[k] = a < b ? a : b;
  }
  for (int32_t k = g->series; k < count; k++) {
    int32_t above = g->node[pivots[k]].next;
    up[k] = above == NONE ? NONE : (int32_t)g->stamp[above];
  }
}

// Elements are numbered anew, each right after those that it absorbed: that gives the same fill, and neighbours in the
// tree are neighbours in memory for every walk along it. pivots[0 .. count - 1] are in the order of their elimination:
// what absorbs comes later, so that sizes of subtrees sum up in one pass, and a second one shares out places from the
// last to the first.
void lac_amd_postorder(amd *g, const int32_t *pivots, int32_t count, int32_t *order) {
  int32_t *size = g->head, *end = g->weight, *up = g->list, last = 0;

  amd_date(g, pivots, count, size);
  amd_hang(g, pivots, count, up);
  for (int32_t k = 0; k < count; k++) end[k] = size[k];
  for (int32_t k = 0; k < count; k++) *(up[k] == NONE ? &last : &size[up[k]]) += size[k];
  for (int32_t k = count - 1; k >= 0; k--) {
    int32_t *room = up[k] == NONE ? &last : &end[up[k]], to = *room - end[k];
    *room -= size[k];
    end[k] = to;
    order[to++] = pivots[k];
    if (k < g->series) continue;
    for (int32_t i = g->node[pivots[k]].member; i != pivots[k]; i = g->node[i].member) order[to++] = i;
  }
}

// |L_v| of the k-th pivot v, for each of the variables that went with it.
static int32_t amd_others(const amd *g, int32_t k) {
  if (k >= g->series) return g->node[g->bucket[k]].degree;
  return (g->ends[2 * (int64_t)k] != NONE) + (g->ends[2 * (int64_t)k + 1] != NONE);
}

// Row i of L, i set aside, is the paths from its neighbours to the root of the tree of elements: all columns that were
// eliminated with one of these get an entry more. The tree is as amd_postorder left it.
static void amd_count_row(amd *g, const lac_graph *graph, int32_t i, int32_t *seen, int32_t *more) {
  const int32_t *pivots = g->bucket, *up = g->list;
  for (int64_t p = graph->offsets[i]; p < graph->offsets[i + 1]; p++) {
    for (int32_t k = (int32_t)g->stamp[graph->columns[p]]; k != NONE && seen[k] != i; k = up[k]) {
      int32_t member = pivots[k];
      double count = (double)amd_others(g, k) + more[k]++;
      seen[k] = i;
      do {
        g->cost.nnz++;
        g->cost.flops += 2 * ++count + 1;  // (count + 1)^2 - count^2
        member = g->node[member].member;
      } while (member != pivots[k]);
    }
  }
}

// The cost of those set aside, once the others are ordered.
void lac_amd_count_aside(amd *g, const lac_graph *graph, const int32_t *aside, int32_t count) {
  int32_t *seen = g->weight, *more = g->head;
  for (int32_t k = 0; k < g->n; k++) seen[k] = NONE, more[k] = 0;
  for (int32_t k = 0; k < count; k++) g->stamp[aside[k]] = NONE;
  for (int32_t k = 0; k < count; k++) amd_count_row(g, graph, aside[k], seen, more);
  lac_amd_count(g, count, 0);
}

// SPDX-License-Identifier: Apache-2.0
/// @file ordering_pairs.c
/// An order in which pairs of nodes are eliminated together: the graph of pairs and single nodes is ordered, and each
/// pair takes the place of its node. Both of a pair get the neighbours of both, so that they always share a supernode.

#include "solvers/direct/order/ordering.h"

// The nodes of the quotient graph: two of the graph, or one.
typedef struct pairs_nodes {
  int32_t *name;     // of a node of the graph
  int32_t *members;  // two for each: the second is -1 for a single one
  int32_t *seen, *order;
} pairs_nodes;

static void pairs_clear(pairs_nodes *w) {
  lac_free(w->name);
  lac_free(w->members);
  lac_free(w->seen);
  lac_free(w->order);
}

static int32_t pairs_name(int32_t n, const int32_t *mate, pairs_nodes *w) {
  int32_t count = 0;
  for (int32_t v = 0; v < n; v++) {
    if (mate[v] < v) continue;
    w->members[2 * count] = v, w->members[2 * count + 1] = mate[v] == v ? -1 : mate[v];
    w->name[v] = w->name[mate[v]] = count++;
  }
  return count;
}

static void pairs_quotient(const lac_graph *graph, const pairs_nodes *w, lac_graph *quotient) {
  int64_t count = 0;
  for (int32_t q = 0; q < quotient->n; q++) w->seen[q] = -1;
  for (int32_t q = 0; q < quotient->n; q++) {
    quotient->offsets[q] = count;
    w->seen[q] = q;
    for (int m = 0; m < 2; m++) {
      int32_t v = w->members[2 * q + m];
      for (int64_t p = v < 0 ? 0 : graph->offsets[v]; p < (v < 0 ? 0 : graph->offsets[v + 1]); p++) {
        int32_t other = w->name[graph->columns[p]];
        if (w->seen[other] == q) continue;
        w->seen[other] = q;
        quotient->columns[count++] = other;
      }
    }
  }
  quotient->offsets[quotient->n] = count;
}

// Each row is adjacent to all members of its node's neighbours, and to its mate. Without `joined->columns`: counts.
static void pairs_join(const lac_graph *quotient, const int32_t *mate, const pairs_nodes *w, lac_graph *joined) {
  int64_t count = 0;
  for (int32_t v = 0; v < joined->n; v++) {
    int32_t q = w->name[v];
    joined->offsets[v] = count;
    if (mate[v] != v && joined->columns) joined->columns[count] = mate[v];
    count += mate[v] != v;
    for (int64_t p = quotient->offsets[q]; p < quotient->offsets[q + 1]; p++) {
      for (int m = 0; m < 2; m++) {
        int32_t u = w->members[2 * quotient->columns[p] + m];
        if (u >= 0 && joined->columns) joined->columns[count] = u;
        count += u >= 0;
      }
    }
  }
  joined->offsets[joined->n] = count;
}

static void pairs_expand(int32_t n, const int32_t *order, const pairs_nodes *w) {
  int32_t count = 0;
  for (int32_t k = 0; k < n; k++) {
    w->order[count++] = w->members[2 * order[k]];
    if (w->members[2 * order[k] + 1] >= 0) w->order[count++] = w->members[2 * order[k] + 1];
  }
}

lac_status lac_order_pairs(lac_context *ctx, const lac_graph *graph, const int32_t *mate, lac_ordering ordering,
                           lac_graph *joined, lac_elimination *out, const char **name) {
  lac_status status = LAC_OK;
  lac_graph quotient = {0};
  int32_t *order = NULL;
  lac_cost cost;
  pairs_nodes w = {0};

  LAC_ALLOC(w.name, graph->n);
  LAC_ALLOC(w.members, 2 * (int64_t)graph->n);
  LAC_ALLOC(w.seen, graph->n);
  LAC_ALLOC(w.order, graph->n);
  quotient.n = pairs_name(graph->n, mate, &w);
  LAC_ALLOC(quotient.offsets, quotient.n + 1);
  LAC_ALLOC(quotient.columns, graph->offsets[graph->n]);
  pairs_quotient(graph, &w, &quotient);
  LAC_ALLOC(order, quotient.n);
  LAC_TRY(lac_order_find(ctx, &quotient, ordering, order, &cost, name));
  pairs_expand(quotient.n, order, &w);
  joined->n = graph->n;
  LAC_ALLOC(joined->offsets, joined->n + 1);
  pairs_join(&quotient, mate, &w, joined);
  LAC_ALLOC(joined->columns, joined->offsets[joined->n]);
  pairs_join(&quotient, mate, &w, joined);
  LAC_TRY(lac_elimination_init(ctx, joined, w.order, out));
done:
  lac_free(order);
  lac_graph_clear(&quotient);
  pairs_clear(&w);
  return status;
}

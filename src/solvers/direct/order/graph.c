// SPDX-License-Identifier: Apache-2.0
/// @file graph.c
/// Graphs of B + B^T: row v of B and column v of B, joined.

#include "solvers/direct/order/graph.h"

typedef struct graph_source {
  const lac_structure *a;
  const int32_t *match;  // row of A -> row of B
  const int32_t *part;   // of nodes; NULL: there is one
  const int32_t *first;  // nodes before each part
  int64_t inside;        // entries of A so far whose nodes are of one part
  int32_t *row_of;       // row of B -> row of A
  int32_t *seen;         // nodes that a list has already: those with the number of its owner
} graph_source;

// Whether a node is new has no order that a processor could guess, so no branch depends on it: what is not is written
// over.
static inline int64_t graph_put(graph_source *from, int32_t v, int32_t u, int32_t *columns, int64_t count) {
  bool is_new = from->seen[u] != v, is_inside = !from->part || from->part[u] == from->part[v];
  from->seen[u] = v;
  columns[count] = u;
  return count + (is_new & is_inside);
}

// Whether nothing else is in the part of a node.
static inline bool graph_is_single(const graph_source *from, int32_t v) {
  return from->part && from->first[from->part[v] + 1] - from->first[from->part[v]] == 1;
}

static int64_t graph_list(graph_source *from, int32_t v, int32_t *columns, int64_t count) {
  const lac_structure *a = from->a;
  int32_t i = from->row_of[v];
  int64_t inside = 0;
  if (graph_is_single(from, v)) {
    from->inside++;  // its own
    return count;
  }
  from->seen[v] = v;
  for (int64_t p = a->offsets[i]; p < a->offsets[i + 1]; p++) {
    inside += !from->part || from->part[a->columns[p]] == from->part[v];
    count = graph_put(from, v, a->columns[p], columns, count);
  }
  from->inside += inside;
  for (int64_t q = a->t_offsets[v]; q < a->t_offsets[v + 1]; q++) {
    count = graph_put(from, v, from->match[a->t_rows[q]], columns, count);
  }
  return count;
}

// A symmetric structure is its own graph, but for the diagonal.
static void graph_copy(const lac_structure *a, lac_graph *graph) {
  int64_t count = 0;
  for (int32_t v = 0; v < a->n; v++) {
    graph->offsets[v] = count;
    for (int64_t p = a->offsets[v]; p < a->offsets[v + 1]; p++) {
      if (a->columns[p] != v) graph->columns[count++] = a->columns[p];
    }
  }
  graph->offsets[a->n] = count;
}

static lac_status graph_join(lac_context *ctx, const lac_structure *a, const int32_t *match, const int32_t *part,
                             const int32_t *first, lac_graph *graph) {
  lac_status status = LAC_OK;
  graph_source from = {.a = a, .match = match, .part = part, .first = first};
  int32_t *identity = NULL;

  LAC_ROOM(from.row_of, a->n);
  LAC_ROOM(from.seen, a->n);
  LAC_ROOM(identity, match ? 0 : a->n);
  if (!match) from.match = identity;
  for (int32_t i = 0; i < a->n; i++) {
    if (!match) identity[i] = i;
    from.row_of[from.match[i]] = i;
    from.seen[i] = -1;
  }
  for (int32_t v = 0; v < a->n; v++) {
    graph->offsets[v + 1] = graph_list(&from, v, graph->columns, graph->offsets[v]);
  }
  graph->inside = from.inside;
done:
  lac_free(identity);
  lac_free(from.row_of);
  lac_free(from.seen);
  return status;
}

lac_status lac_graph_init_parts(lac_context *ctx, const lac_structure *structure, const int32_t *match,
                                const int32_t *part, const int32_t *first, lac_graph *graph) {
  lac_status status = LAC_OK;
  bool is_copy = structure->is_symmetric && !match && !part;

  graph->n = structure->n;
  graph->inside = structure->nnz;
  LAC_ROOM(graph->offsets, graph->n + 1);
  graph->offsets[0] = 0;
  LAC_ROOM(graph->columns, is_copy ? structure->nnz - structure->diagonals : 2 * structure->nnz);
  if (is_copy) {
    graph_copy(structure, graph);
  } else {
    LAC_TRY(graph_join(ctx, structure, match, part, first, graph));
  }
done:
  return status;
}

lac_status lac_graph_init(lac_context *ctx, const lac_structure *structure, const int32_t *match, lac_graph *graph) {
  return lac_graph_init_parts(ctx, structure, match, NULL, NULL, graph);
}

void lac_graph_clear(lac_graph *graph) {
  lac_free(graph->offsets);
  lac_free(graph->columns);
  *graph = (lac_graph){0};
}

// SPDX-License-Identifier: Apache-2.0
/// @file ordering.c
/// Which order of elimination a graph gets.

#include "solvers/direct/ordering.h"

#include <string.h>

lac_status lac_order_graph(lac_context *ctx, const lac_graph *graph, lac_ordering ordering, lac_elimination *out,
                           const char **name) {
  lac_status status = LAC_OK;
  int32_t *order = NULL;

  LAC_ALLOC(order, graph->n);
  *name = ordering == LAC_ORDER_NATURAL ? "natural" : "amd";
  if (ordering == LAC_ORDER_NATURAL) {
    for (int32_t k = 0; k < graph->n; k++) order[k] = k;
  } else {
    LAC_TRY(lac_order_amd(ctx, graph, order));
  }
  LAC_TRY(lac_elimination_init(ctx, graph, order, out));
done:
  lac_free(order);
  return status;
}

lac_status lac_order_symmetric(lac_context *ctx, const lac_structure *structure, lac_ordering ordering,
                               int32_t *order) {
  lac_status status = LAC_OK;
  lac_graph graph = {0};
  lac_elimination e = {0};
  const char *name;

  LAC_TRY(lac_graph_init(ctx, structure, NULL, &graph));
  LAC_TRY(lac_order_graph(ctx, &graph, ordering, &e, &name));
  memcpy(order, e.order, (size_t)e.n * sizeof *order);
done:
  lac_elimination_clear(&e);
  lac_graph_clear(&graph);
  return status;
}

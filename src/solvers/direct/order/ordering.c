// SPDX-License-Identifier: Apache-2.0
/// @file ordering.c
/// Which order of elimination a graph gets.

#include "solvers/direct/order/ordering.h"

#include <string.h>

lac_status lac_ordering_find(lac_context *ctx, lac_ordering ordering) {
  lac_status status = LAC_OK;

  LAC_CHECK(ordering >= LAC_ORDER_AUTO && ordering <= LAC_ORDER_NATURAL, LAC_ERR_ARG,
            "lac_ordering_find: unknown ordering %d; use one of lac_ordering", (int)ordering);
  LAC_CHECK(
      ordering != LAC_ORDER_METIS || lac_metis_find(), LAC_ERR_UNSUPPORTED,
      "LAC_ORDER_METIS cannot be used: libmetis.so of METIS 5 could not be loaded; install it (Debian: libmetis5), "
      "name it in the environment (LACUNA_METIS), or use LAC_ORDER_AMD");
done:
  return status;
}

// -- one ordering ----------------------------------------------------------------------------------------------------

// What an order costs.
static lac_status order_count(lac_context *ctx, const lac_graph *graph, const int32_t *order, lac_cost *cost) {
  lac_status status = LAC_OK;
  lac_elimination e = {0};

  LAC_TRY(lac_elimination_init(ctx, graph, order, &e));
  *cost = e.cost;
done:
  lac_elimination_clear(&e);
  return status;
}

static lac_status order_by(lac_context *ctx, const lac_graph *graph, lac_ordering ordering, int32_t *order,
                           lac_cost *cost) {
  lac_status status = LAC_OK;

  cost->nnz = -1;
  if (ordering == LAC_ORDER_NATURAL) {
    for (int32_t k = 0; k < graph->n; k++) order[k] = k;
  } else if (ordering == LAC_ORDER_METIS) {
    LAC_TRY(lac_order_metis(ctx, graph, order));
  } else {
    LAC_TRY(lac_order_amd(ctx, graph, order, cost));
  }
  if (cost->nnz < 0) LAC_TRY(order_count(ctx, graph, order, cost));
done:
  return status;
}

static const char ORDER_WORK[] = "the ordering of a matrix";

// -- the better of two -----------------------------------------------------------------------------------------------

// METIS takes about a microsecond for an entry of the graph. Where the factorisation takes as long, as on grids in
// three dimensions, it saves half of that and more, each time.
enum { ORDER_FLOPS_AN_ENTRY = 20000 };

static bool order_is_costly(const lac_graph *graph, const lac_cost *cost) {
  return cost->flops > ORDER_FLOPS_AN_ENTRY * (double)graph->offsets[graph->n];
}

// A METIS that fails is no worse than one that is not there: the order at hand remains.
static void order_try_metis(lac_context *ctx, const lac_graph *graph, int32_t *best, lac_cost *cost,
                            const char **name) {
  lac_cost other;
  int32_t *order = lac_alloc((size_t)graph->n * sizeof *order);
  if (order && order_by(ctx, graph, LAC_ORDER_METIS, order, &other) == LAC_OK && other.flops < cost->flops) {
    memcpy(best, order, (size_t)graph->n * sizeof *order);
    *cost = other;
    *name = "metis";
  }
  lac_free(order);
}

lac_status lac_order_find(lac_context *ctx, const lac_graph *graph, lac_ordering ordering, int32_t *order,
                          lac_cost *cost, const char **name) {
  static const char *const names[] = {"amd", "amd", "metis", "natural"};
  lac_status status = LAC_OK;

  LAC_TRY(order_by(ctx, graph, ordering, order, cost));
  *name = names[ordering];
  LAC_TRY(lac_context_look(ctx, ORDER_WORK));
  if (ordering == LAC_ORDER_AUTO && order_is_costly(graph, cost) && lac_metis_find()) {
    order_try_metis(ctx, graph, order, cost, name);
    LAC_TRY(lac_context_look(ctx, ORDER_WORK));
  }
done:
  return status;
}

lac_status lac_order_graph(lac_context *ctx, const lac_graph *graph, lac_ordering ordering, lac_elimination *out,
                           const char **name) {
  lac_status status = LAC_OK;
  int32_t *order = NULL;
  lac_cost cost;

  LAC_ALLOC(order, graph->n);
  LAC_TRY(lac_order_find(ctx, graph, ordering, order, &cost, name));
  LAC_TRY(lac_elimination_init(ctx, graph, order, out));
done:
  lac_free(order);
  return status;
}

lac_status lac_order_symmetric(lac_context *ctx, const lac_structure *structure, lac_ordering ordering,
                               int32_t *order) {
  lac_status status = LAC_OK;
  lac_graph graph = {0};
  lac_cost cost;
  const char *name;

  LAC_TRY(lac_graph_init(ctx, structure, NULL, &graph));
  LAC_TRY(lac_order_find(ctx, &graph, ordering, order, &cost, &name));
done:
  lac_graph_clear(&graph);
  return status;
}

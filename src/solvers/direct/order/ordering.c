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

static lac_status order_by(lac_context *ctx, const lac_graph *graph, lac_ordering ordering, lac_elimination *out) {
  lac_status status = LAC_OK;
  int32_t *order = NULL;

  LAC_ALLOC(order, graph->n);
  if (ordering == LAC_ORDER_NATURAL) {
    for (int32_t k = 0; k < graph->n; k++) order[k] = k;
  } else if (ordering == LAC_ORDER_METIS) {
    LAC_TRY(lac_order_metis(ctx, graph, order));
  } else {
    LAC_TRY(lac_order_amd(ctx, graph, order));
  }
  LAC_TRY(lac_elimination_init(ctx, graph, order, out));
done:
  lac_free(order);
  return status;
}

static const char ORDER_WORK[] = "the ordering of a matrix";

// -- the better of two -----------------------------------------------------------------------------------------------

// METIS takes about a microsecond for an entry of the graph. Where the factorisation takes as long, as on grids in three
// dimensions, it saves half of that and more, each time.
enum { ORDER_FLOPS_AN_ENTRY = 20000 };

static bool order_is_costly(const lac_graph *graph, const lac_elimination *e) {
  return e->flops > ORDER_FLOPS_AN_ENTRY * (double)graph->offsets[graph->n];
}

// A METIS that fails is no worse than one that is not there: the order at hand remains.
static void order_try_metis(lac_context *ctx, const lac_graph *graph, lac_elimination *best, const char **name) {
  lac_elimination other = {0};
  if (order_by(ctx, graph, LAC_ORDER_METIS, &other) == LAC_OK && other.flops < best->flops) {
    lac_elimination held = *best;
    *best = other;
    other = held;
    *name = "metis";
  }
  lac_elimination_clear(&other);
}

lac_status lac_order_graph(lac_context *ctx, const lac_graph *graph, lac_ordering ordering, lac_elimination *out,
                           const char **name) {
  static const char *const names[] = {"amd", "amd", "metis", "natural"};
  lac_status status = LAC_OK;

  LAC_TRY(order_by(ctx, graph, ordering, out));
  *name = names[ordering];
  LAC_TRY(lac_context_look(ctx, ORDER_WORK));
  if (ordering == LAC_ORDER_AUTO && order_is_costly(graph, out) && lac_metis_find()) {
    order_try_metis(ctx, graph, out, name);
    LAC_TRY(lac_context_look(ctx, ORDER_WORK));
  }
done:
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

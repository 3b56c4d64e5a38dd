// SPDX-License-Identifier: Apache-2.0
/// @file ordering_metis.c
/// Nested dissection by METIS 5, which is loaded where it is found and never linked: separators of the graph are
/// eliminated last. Half the flops of minimum degree on three-dimensional grids, at ten times its time.
///
/// METIS draws its random numbers from the C library's rand. The caller's stream is put aside meanwhile, and METIS
/// starts from its own seed: so neither disturbs the other, and the order is the same each time.

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/beside.h"
#include "solvers/direct/order/ordering.h"

enum { METIS_OK = 1, METIS_ERROR_MEMORY = -3, METIS_OPTIONS = 40 };

typedef int metis_defaults(void *options);
typedef int metis_node_nd(void *nodes, void *offsets, void *columns, void *weights, void *options, void *order,
                          void *place);

static pthread_mutex_t metis_lock = PTHREAD_MUTEX_INITIALIZER;  // of what follows, and of rand's stream
static metis_node_nd *metis_order;                              // NULL: not found
static size_t metis_width;                                      // bytes of its integers; 0: not looked for yet
static atomic_bool metis_is_hidden;

void lac_metis_hide(bool is_hidden) { atomic_store(&metis_is_hidden, is_hidden); }

// -- finding ---------------------------------------------------------------------------------------------------------

// The integers of a build are 4 or 8 bytes wide, which nothing says; but how far the defaults of its options reach
// does.
static size_t metis_measure(metis_defaults *defaults) {
  int32_t options[4 * METIS_OPTIONS] = {0};
  size_t reach = sizeof options / sizeof *options;

  defaults(options);
  while (reach > 0 && options[reach - 1] == 0) reach--;
  return reach == METIS_OPTIONS ? sizeof(int32_t) : reach == 2 * METIS_OPTIONS ? sizeof(int64_t) : 0;
}

// The lock is held. METIS 4 has no METIS_SetDefaultOptions, and another way of being called.
static void metis_load(void) {
  const char *named = getenv("LACUNA_METIS");
  char beside[LAC_PATH_SIZE];
  const char *names[] = {beside, "libmetis.so.5", "libmetis.so"};
  bool is_named = named && *named;
  int count = is_named ? 1 : sizeof names / sizeof *names;
  void *library = NULL;
  metis_defaults *defaults = NULL;

  lac_path_beside("libmetis.so", beside);
  if (is_named) names[0] = named;
  for (int i = 0; i < count && !library; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  metis_width = sizeof(int32_t);
  if (!library) return;
  *(void **)&defaults = dlsym(library, "METIS_SetDefaultOptions");
  if (defaults) metis_width = metis_measure(defaults);
  if (defaults && metis_width > 0) *(void **)&metis_order = dlsym(library, "METIS_NodeND");
  if (metis_width == 0) metis_width = sizeof(int32_t);
  if (!metis_order) dlclose(library);
}

bool lac_metis_find(void) {
  if (atomic_load(&metis_is_hidden)) return false;
  pthread_mutex_lock(&metis_lock);
  if (metis_width == 0) metis_load();
  pthread_mutex_unlock(&metis_lock);
  return metis_order != NULL;
}

// -- ordering --------------------------------------------------------------------------------------------------------

typedef struct metis_graph {
  void *offsets, *columns, *order, *place;  // in integers of METIS's width
} metis_graph;

static inline void metis_put(void *to, int64_t i, int64_t value) {
  if (metis_width == sizeof(int32_t)) {
    ((int32_t *)to)[i] = (int32_t)value;
  } else {
    ((int64_t *)to)[i] = value;
  }
}

static inline int64_t metis_get(const void *from, int64_t i) {
  return metis_width == sizeof(int32_t) ? ((const int32_t *)from)[i] : ((const int64_t *)from)[i];
}

static void metis_fill(const lac_graph *graph, metis_graph *to) {
  for (int32_t i = 0; i <= graph->n; i++) metis_put(to->offsets, i, graph->offsets[i]);
  for (int64_t p = 0; p < graph->offsets[graph->n]; p++) metis_put(to->columns, p, graph->columns[p]);
}

static int metis_run(const lac_graph *graph, metis_graph *g) {
  static char stream[128];
  int64_t nodes = 0;
  int answer;

  metis_put(&nodes, 0, graph->n);
  pthread_mutex_lock(&metis_lock);
  char *callers = initstate(1, stream, sizeof stream);
  answer = metis_order(&nodes, g->offsets, g->columns, NULL, NULL, g->order, g->place);
  setstate(callers);
  pthread_mutex_unlock(&metis_lock);
  return answer;
}

// METIS takes no graph without edges.
static bool metis_is_edgeless(const lac_graph *graph, int32_t *order) {
  if (graph->offsets[graph->n] > 0) return false;
  for (int32_t k = 0; k < graph->n; k++) order[k] = k;
  return true;
}

lac_status lac_order_metis(lac_context *ctx, const lac_graph *graph, int32_t *order) {
  lac_status status = LAC_OK;
  metis_graph g = {0};
  size_t n = (size_t)graph->n, entries = (size_t)graph->offsets[graph->n];
  int answer;

  LAC_TRY(lac_ordering_find(ctx, LAC_ORDER_METIS));
  if (metis_is_edgeless(graph, order)) goto done;
  LAC_CHECK(metis_width == sizeof(int64_t) || entries <= INT32_MAX, LAC_ERR_OVERFLOW,
            "LAC_ORDER_METIS: this METIS has 32-bit integers, the graph has %lld entries; use LAC_ORDER_AMD",
            (long long)entries);
  g.offsets = lac_alloc((n + 1) * metis_width);
  g.columns = lac_alloc(entries * metis_width);
  g.order = lac_alloc(n * metis_width);
  g.place = lac_alloc(n * metis_width);
  LAC_CHECK(g.offsets && g.columns && g.order && g.place, LAC_ERR_MEMORY, "out of memory: a graph of %lld entries",
            (long long)entries);
  metis_fill(graph, &g);
  answer = metis_run(graph, &g);
  LAC_CHECK(answer != METIS_ERROR_MEMORY, LAC_ERR_MEMORY, "out of memory: METIS on a graph of %lld entries",
            (long long)entries);
  LAC_CHECK(answer == METIS_OK, LAC_ERR_UNSUPPORTED, "LAC_ORDER_METIS: METIS gives error %d; use LAC_ORDER_AMD",
            answer);
  for (int32_t k = 0; k < graph->n; k++) order[k] = (int32_t)metis_get(g.order, k);
done:
  lac_free(g.offsets);
  lac_free(g.columns);
  lac_free(g.order);
  lac_free(g.place);
  return status;
}

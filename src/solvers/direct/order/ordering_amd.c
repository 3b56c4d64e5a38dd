// SPDX-License-Identifier: Apache-2.0
/// @file ordering_amd.c
/// Approximate minimum degree order (Amestoy, Davis and Duff, SIAM J. Matrix Anal. Appl. 17, 1996).
///
/// Eliminating variable v joins its neighbours into a clique. The quotient graph keeps such a clique as one *element*:
/// a list L_e of variables. A variable i has neighbours A_i (variables) and E_i (elements), and
///
///     eliminate v:   L_v = A_v + union of L_e over E_v, less v;   the elements of E_v are absorbed into v
///     degree of i:   the least of   n - eliminated,
///                                   degree before + |L_v \ i|,
///                                   |A_i \ i| + |L_v \ i| + sum over e in E_i of |L_e \ L_v|
///
/// The lists never outgrow what the matrix had. Besides: variables that have become the same (equal A_i and E_i) are
/// merged and counted once with a weight; one whose neighbours are L_v alone is eliminated with v; an element inside
/// L_v is absorbed even where v did not touch it. Sizes |.| count weights.

#include "solvers/direct/order/amd.h"

#include <math.h>
#include <string.h>

#include "solvers/direct/order/ordering.h"

enum { NONE = LAC_AMD_NONE, AMD_LOOK = 1024 };  // pivots after which it looks whether it shall end
enum { AMD_FEW = 8 };                           // variables set aside whose rows of L are counted one by one
enum { AMD_BUCKETS = 1024 };                    // of hashes: few enough to stay in the cache

void lac_amd_clear(amd *g) {
  lac_free(g->list);
  lac_free(g->node);
  lac_free(g->weight);
  lac_free(g->stamp);
  lac_free(g->head);
  lac_free(g->bucket);
  lac_free(g->ends);
}

lac_status lac_amd_init(lac_context *ctx, amd *g, int32_t n, int32_t first_elements, int64_t entries) {
  lac_status status = LAC_OK;

  g->n = n;
  g->nodes = n + first_elements;
  g->capacity = entries + entries / 5 + n;
  g->tag = 2;
  g->lowest = n;
  while (g->mask + 1 <= AMD_BUCKETS / 2 && 2 * (g->mask + 1) <= (uint32_t)n) g->mask = 2 * g->mask + 1;
  g->list = lac_alloc((size_t)g->capacity * sizeof *g->list);
  LAC_CHECK(g->list, LAC_ERR_MEMORY, "out of memory: an ordering's graph of %lld entries", (long long)g->capacity);
  LAC_ALLOC(g->node, g->nodes);
  LAC_ALLOC(g->weight, g->nodes);
  LAC_ALLOC(g->stamp, g->nodes);
  LAC_ROOM(g->head, n);
  LAC_ROOM(g->bucket, n);
  for (int32_t i = 0; i < n; i++) {
    g->weight[i] = 1;
    g->head[i] = g->bucket[i] = NONE;
    g->node[i].member = i;
  }
done:
  return status;
}

// -- variables by degree ---------------------------------------------------------------------------------------------

static void amd_enlist(amd *g, int32_t i) {
  int32_t d = g->node[i].degree, first = g->head[d];
  g->node[i].next = first;
  g->node[i].previous = NONE;
  if (first != NONE) g->node[first].previous = i;
  g->head[d] = i;
  if (d < g->lowest) g->lowest = d;
}

static void amd_delist(amd *g, int32_t i) {
  int32_t before = g->node[i].previous, after = g->node[i].next;
  if (after != NONE) g->node[after].previous = before;
  if (before != NONE) {
    g->node[before].next = after;
  } else {
    g->head[g->node[i].degree] = after;
  }
}

static int32_t amd_take_lowest(amd *g) {
  while (g->head[g->lowest] == NONE) g->lowest++;
  int32_t v = g->head[g->lowest];
  amd_delist(g, v);
  return v;
}

// -- memory of the lists ---------------------------------------------------------------------------------------------

static bool amd_is_live(const amd *g, int32_t node) { return g->weight[node] != 0 || g->stamp[node] != 0; }

// Close the gaps. The first entry of each live list moves aside and leaves its owner's name, so that one sweep from
// left to right finds the lists in the order in which they lie.
static void amd_compact(amd *g) {
  for (int32_t i = 0; i < g->nodes; i++) {
    if (!amd_is_live(g, i) || g->node[i].length == 0) continue;
    int32_t first = g->list[g->node[i].start];
    g->list[g->node[i].start] = -i - 1;
    g->node[i].start = first;
  }
  int64_t to = 0;
  for (int64_t from = 0; from < g->used;) {
    if (g->list[from] >= 0) {
      from++;
      continue;
    }
    int32_t i = -g->list[from] - 1;
    g->list[to] = (int32_t)g->node[i].start;
    memmove(g->list + to + 1, g->list + from + 1, (size_t)(g->node[i].length - 1) * sizeof *g->list);
    g->node[i].start = to;
    to += g->node[i].length;
    from += g->node[i].length;
  }
  g->used = to;
}

// Room for `count` more entries at the end.
static lac_status amd_reserve(lac_context *ctx, amd *g, int64_t count) {
  lac_status status = LAC_OK;
  int32_t *larger = NULL;
  int64_t capacity;

  if (count <= g->capacity - g->used) goto done;
  amd_compact(g);
  if (count <= g->capacity - g->used) goto done;
  capacity = g->used + count + g->capacity / 4;
  larger = lac_realloc(g->list, (size_t)capacity * sizeof *larger);
  LAC_CHECK(larger, LAC_ERR_MEMORY, "out of memory: an ordering's graph of %lld entries", (long long)capacity);
  g->list = larger;
  g->capacity = capacity;
done:
  return status;
}

// -- one elimination -------------------------------------------------------------------------------------------------

// Move those of a list that are not there yet into the new element, which is written from `to` on; returns its new end.
static int64_t amd_join(amd *g, int32_t v, int64_t from, int32_t count, int64_t to) {
  for (int64_t end = from + count; from < end; from++) {
    int32_t i = g->list[from];
    if (g->weight[i] <= 0) continue;
    g->node[v].degree += g->weight[i];
    g->weight[i] = -g->weight[i];
    amd_delist(g, i);
    g->list[to++] = i;
  }
  return to;
}

// Elements that the graph starts with have no place in the order.
static void amd_absorb(amd *g, int32_t e, int32_t v) {
  if (g->stamp[e] != 0 && e < g->n) g->node[e].next = v;
  g->stamp[e] = 0;
}

// L_v = A_v + union of L_e; the e are absorbed. L_v takes the place of A_v or, where there are elements, lies at the
// end.
static lac_status amd_make_element(lac_context *ctx, amd *g, int32_t v) {
  lac_status status = LAC_OK;
  int32_t elements = g->node[v].elements, variables = g->node[v].length - elements;
  int64_t count = variables, start, to;

  for (int32_t k = 0; k < elements; k++) {
    int32_t e = g->list[g->node[v].start + k];
    if (g->stamp[e] != 0) count += g->node[e].length;
  }
  if (elements > 0) LAC_TRY(amd_reserve(ctx, g, count));
  start = to = elements > 0 ? g->used : g->node[v].start;
  g->weight[v] = -g->weight[v];
  g->node[v].degree = 0;
  for (int32_t k = 0; k < elements; k++) {
    int32_t e = g->list[g->node[v].start + k];
    if (g->stamp[e] != 0) to = amd_join(g, v, g->node[e].start, g->node[e].length, to);
    amd_absorb(g, e, v);
  }
  to = amd_join(g, v, g->node[v].start + elements, variables, to);
  g->node[v].start = start;
  g->node[v].length = (int32_t)(to - start);
  g->node[v].elements = 0;
  g->stamp[v] = 1;
  g->node[v].next = NONE;
  if (to > g->used) g->used = to;
done:
  return status;
}

// stamp[e] = tag + |L_e \ L_v| for every element that meets L_v.
static void amd_measure(amd *g, int32_t v) {
  for (int32_t k = 0; k < g->node[v].length; k++) {
    int32_t i = g->list[g->node[v].start + k], weight = -g->weight[i];
    for (int32_t q = 0; q < g->node[i].elements; q++) {
      int32_t e = g->list[g->node[i].start + q];
      if (g->stamp[e] == 0) continue;
      if (g->stamp[e] < g->tag) g->stamp[e] = g->tag + g->node[e].degree;
      g->stamp[e] -= weight;
    }
  }
}

// Join j to i: they are eliminated together.
static void amd_merge(amd *g, int32_t i, int32_t j) {
  int32_t after = g->node[i].member;
  g->node[i].member = g->node[j].member;
  g->node[j].member = after;
  g->weight[j] = 0;
  g->stamp[j] = 0;
}

// What is left of a list that is rewritten.
typedef struct amd_rest {
  int32_t count, outside;  // entries, and the degree by them outside L_v
  uint32_t hash;
} amd_rest;

// Elements of i that reach beyond L_v; those that do not are absorbed.
static inline void amd_prune_elements(amd *g, int32_t v, int32_t *list, int32_t count, amd_rest *rest) {
  for (int32_t q = 0; q < count; q++) {
    int32_t e = list[q];
    if (g->stamp[e] == 0) continue;
    int32_t beyond = (int32_t)(g->stamp[e] - g->tag);
    if (beyond == 0) {
      amd_absorb(g, e, v);  // L_e lies inside L_v
      continue;
    }
    rest->outside += beyond;
    if (rest->outside > g->n) rest->outside = g->n;
    rest->hash += (uint32_t)e;
    list[rest->count++] = e;
  }
}

// Variables of i outside L_v. Which ones are has no order that a processor could guess, so none is asked for: all are
// written, and those that are gone written over.
static inline void amd_prune_variables(const int32_t *weight, const int32_t *from, int32_t count, int32_t *list,
                                       amd_rest *rest) {
  amd_rest left = *rest;
  for (int32_t q = 0; q < count; q++) {
    int32_t j = from[q], w = weight[j], is_there = w > 0;
    list[left.count] = j;
    left.outside += is_there ? w : 0;
    left.hash += is_there ? (uint32_t)j : 0;
    left.count += is_there;
  }
  *rest = left;
}

// Rewrite the lists of i without what is gone or covered by v, put v among its elements, and add up its degree outside
// L_v.
static void amd_prune(amd *g, int32_t v, int32_t i) {
  amd_node *node = &g->node[i];
  int32_t *list = g->list + node->start, before = node->elements;
  amd_rest rest = {.hash = (uint32_t)v};

  amd_prune_elements(g, v, list, before, &rest);
  int32_t elements = rest.count;
  amd_prune_variables(g->weight, list + before, node->length - before, list, &rest);
  // i met v through an entry that has just been dropped, so there is room: the first variable makes way for v.
  list[rest.count] = list[elements];
  list[elements] = v;
  node->elements = elements + 1;
  node->length = rest.count + 1;
  node->hash = (int32_t)(rest.hash & g->mask);
  if (rest.outside < node->degree) node->degree = rest.outside;
}

// Prune all of L_v; those with no neighbour outside are eliminated with v, the others go into buckets by hash.
static void amd_update(amd *g, int32_t v) {
  int32_t size = g->node[v].degree;
  for (int32_t k = 0; k < g->node[v].length; k++) {
    int32_t i = g->list[g->node[v].start + k];
    amd_prune(g, v, i);
    if (g->node[i].length == 1) {
      size += g->weight[i];
      g->weight[v] += g->weight[i];
      amd_merge(g, v, i);
      continue;
    }
    g->node[i].next = g->bucket[g->node[i].hash];
    g->bucket[g->node[i].hash] = i;
  }
  g->node[v].degree = size;
  g->tag += g->n + 1;
}

static bool amd_equal(const amd *g, int32_t i, int32_t j) {
  if (g->node[i].length != g->node[j].length || g->node[i].elements != g->node[j].elements) return false;
  for (int32_t q = 0; q < g->node[j].length; q++) {
    if (g->stamp[g->list[g->node[j].start + q]] != g->tag) return false;
  }
  return true;
}

// Merge the variables of one bucket that have the same lists.
static void amd_merge_bucket(amd *g, int32_t first) {
  for (int32_t i = first; i != NONE && g->node[i].next != NONE; i = g->node[i].next) {
    for (int32_t q = 0; q < g->node[i].length; q++) g->stamp[g->list[g->node[i].start + q]] = g->tag;
    for (int32_t before = i, j = g->node[i].next; j != NONE; j = g->node[j].next) {
      if (amd_equal(g, i, j)) {
        g->weight[i] += g->weight[j];
        amd_merge(g, i, j);
        g->node[before].next = g->node[j].next;
      } else {
        before = j;
      }
    }
    g->tag++;
  }
}

static void amd_merge_equal(amd *g, int32_t v) {
  for (int32_t k = 0; k < g->node[v].length; k++) {
    int32_t i = g->list[g->node[v].start + k];
    if (g->weight[i] == 0) continue;
    int32_t first = g->bucket[g->node[i].hash];
    g->bucket[g->node[i].hash] = NONE;
    amd_merge_bucket(g, first);
  }
}

static void amd_reverse(int32_t *list, int32_t count) {
  for (int32_t i = 0, k = count - 1; i < k; i++, k--) {
    int32_t held = list[i];
    list[i] = list[k];
    list[k] = held;
  }
}

void lac_amd_count(amd *g, int32_t together, int32_t others) {
  double count = (double)others + together;
  for (int32_t k = 0; k < together; k++, count--) g->cost.flops += count * count;
  g->cost.nnz += (int64_t)together * others + (int64_t)together * (together + 1) / 2;
}

// Give the variables of L_v their weights and degrees back, and drop from it what was merged or eliminated. Among equal
// degrees the last of L_v is taken next and the list is turned round: on regular grids, other ways with ties give up to
// twice the fill.
static void amd_finish(amd *g, int32_t v) {
  int32_t *list = g->list + g->node[v].start;
  int32_t count = 0;

  lac_amd_count(g, -g->weight[v], g->node[v].degree);
  g->left += g->weight[v];
  g->weight[v] = 0;
  for (int32_t k = 0; k < g->node[v].length; k++) {
    int32_t i = list[k];
    if (g->weight[i] == 0) continue;
    int32_t weight = g->weight[i] = -g->weight[i];
    int64_t bound = (int64_t)g->node[i].degree + g->node[v].degree - weight;
    g->node[i].degree = bound < g->left - weight ? (int32_t)bound : g->left - weight;
    amd_enlist(g, i);
    list[count++] = i;
  }
  amd_reverse(list, count);
  if (g->node[v].start + g->node[v].length == g->used) g->used = g->node[v].start + count;
  g->node[v].length = count;
  g->stamp[v] = count > 0;
}

static lac_status amd_eliminate(lac_context *ctx, amd *g, int32_t v) {
  lac_status status = LAC_OK;

  LAC_TRY(amd_make_element(ctx, g, v));
  amd_measure(g, v);
  amd_update(g, v);
  amd_merge_equal(g, v);
  amd_finish(g, v);
done:
  return status;
}

lac_status lac_amd_run(lac_context *ctx, amd *g, int32_t done_with, int32_t *order) {
  lac_status status = LAC_OK;
  int32_t behind = g->n, count = g->series;
  int32_t *pivots = g->bucket;

  for (int32_t i = 0; i < g->n; i++) {
    if (g->weight[i] > 0) {
      amd_enlist(g, i);
    } else if (g->node[i].degree >= 0) {
      order[--behind] = i;
    }
  }
  g->left = behind - done_with - count;
  while (g->left > 0) {
    int32_t v = amd_take_lowest(g);
    LAC_TRY(amd_eliminate(ctx, g, v));
    if (count % AMD_LOOK == 0) LAC_TRY(lac_context_look(ctx, "the ordering of a matrix"));
    order[done_with + count++] = v;
  }
  memcpy(pivots, order + done_with, (size_t)count * sizeof *pivots);
  lac_amd_postorder(g, pivots, count, order + done_with);
done:
  return status;
}

// -- graphs ----------------------------------------------------------------------------------------------------------

int32_t lac_amd_dense(int32_t n) {
  double limit = 10 * sqrt((double)n);
  return limit > 16 ? (int32_t)limit : 16;
}

lac_status lac_order_amd(lac_context *ctx, const lac_graph *graph, int32_t *order, lac_cost *cost) {
  lac_status status = LAC_OK;
  amd g = {0};
  int32_t dense = lac_amd_dense(graph->n), aside = 0;

  LAC_TRY(lac_amd_init(ctx, &g, graph->n, 0, graph->offsets[graph->n]));
  g.used = graph->offsets[g.n];
  memcpy(g.list, graph->columns, (size_t)g.used * sizeof *g.list);
  for (int32_t i = 0; i < g.n; i++) {
    g.node[i].start = graph->offsets[i];
    g.node[i].length = g.node[i].degree = (int32_t)(graph->offsets[i + 1] - graph->offsets[i]);
    if (g.node[i].length > dense) g.weight[i] = 0, aside++;
  }
  LAC_TRY(lac_amd_series(ctx, &g, aside > 0, order));
  LAC_TRY(lac_amd_run(ctx, &g, 0, order));
  if (aside > 0 && aside <= AMD_FEW) lac_amd_count_aside(&g, graph, order + g.n - aside, aside);
  *cost = g.cost;
  if (aside > AMD_FEW) cost->nnz = -1;
done:
  lac_amd_clear(&g);
  return status;
}

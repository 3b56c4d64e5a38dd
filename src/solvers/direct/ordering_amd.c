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

#include "solvers/direct/ordering.h"

#include <math.h>
#include <string.h>

enum { NONE = -1 };

typedef struct amd {
  int32_t n, nodes;        // variables 0..n-1; the elements that the graph starts with follow, up to nodes
  int32_t *list;           // all lists, one after another with gaps
  int64_t used, capacity;  // of list
  int64_t *start;          // of each node's list
  int32_t *length;         // of the list: first elements, then variables
  int32_t *elements;       // how many of them are elements
  int32_t *weight;         // variables: how many they stand for; 0: merged or gone; negative while in the new element
  int32_t *degree;         // variables: the bound above; elements: |L_e|
  int64_t *stamp;          // elements: tag + |L_e \ L_v|, when at least tag, and 0 when absorbed;
                           // variables: marks of a comparison, and 0 when merged
  int64_t tag;
  int32_t *head, *next, *previous;  // variables by degree; next of an element: the one that absorbed it
  int32_t *bucket;                  // variables of the new element by hash, chained by `next`
  int32_t *hash;                    // which is `previous`: those variables stand in no list by degree
  int32_t *member;                  // variables merged into one: a circle through each that is alive
  int32_t lowest;                   // no variable has a smaller degree
  int32_t left;                     // variables that are not eliminated yet, by weight
} amd;

static void amd_clear(amd *g) {
  void *blocks[] = {g->list,  g->start, g->length, g->elements, g->weight, g->degree,
                    g->stamp, g->head,  g->next,   g->previous, g->bucket, g->member};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lac_free(blocks[i]);
}

static lac_status amd_init(lac_context *ctx, amd *g, int32_t n, int32_t first_elements, int64_t entries) {
  lac_status status = LAC_OK;

  g->n = n;
  g->nodes = n + first_elements;
  g->capacity = entries + entries / 5 + n;
  g->tag = 2;
  g->lowest = n;
  LAC_ALLOC(g->list, g->capacity);
  LAC_ALLOC(g->start, g->nodes);
  LAC_ALLOC(g->length, g->nodes);
  LAC_ALLOC(g->elements, g->nodes);
  LAC_ALLOC(g->weight, g->nodes);
  LAC_ALLOC(g->degree, g->nodes);
  LAC_ALLOC(g->stamp, g->nodes);
  LAC_ALLOC(g->head, n);
  LAC_ALLOC(g->next, n);
  LAC_ALLOC(g->previous, n);
  LAC_ALLOC(g->bucket, n);
  LAC_ALLOC(g->member, n);
  g->hash = g->previous;
  for (int32_t i = 0; i < n; i++) {
    g->weight[i] = 1;
    g->head[i] = g->bucket[i] = NONE;
    g->member[i] = i;
  }
done:
  return status;
}

// -- variables by degree ---------------------------------------------------------------------------------------------

static void amd_enlist(amd *g, int32_t i) {
  int32_t d = g->degree[i], first = g->head[d];
  g->next[i] = first;
  g->previous[i] = NONE;
  if (first != NONE) g->previous[first] = i;
  g->head[d] = i;
  if (d < g->lowest) g->lowest = d;
}

static void amd_delist(amd *g, int32_t i) {
  int32_t before = g->previous[i], after = g->next[i];
  if (after != NONE) g->previous[after] = before;
  if (before != NONE) {
    g->next[before] = after;
  } else {
    g->head[g->degree[i]] = after;
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
    if (!amd_is_live(g, i) || g->length[i] == 0) continue;
    int32_t first = g->list[g->start[i]];
    g->list[g->start[i]] = -i - 1;
    g->start[i] = first;
  }
  int64_t to = 0;
  for (int64_t from = 0; from < g->used;) {
    if (g->list[from] >= 0) {
      from++;
      continue;
    }
    int32_t i = -g->list[from] - 1;
    g->list[to] = (int32_t)g->start[i];
    memmove(g->list + to + 1, g->list + from + 1, (size_t)(g->length[i] - 1) * sizeof *g->list);
    g->start[i] = to;
    to += g->length[i];
    from += g->length[i];
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
    g->degree[v] += g->weight[i];
    g->weight[i] = -g->weight[i];
    amd_delist(g, i);
    g->list[to++] = i;
  }
  return to;
}

// Elements that the graph starts with have no place in the order.
static void amd_absorb(amd *g, int32_t e, int32_t v) {
  if (g->stamp[e] != 0 && e < g->n) g->next[e] = v;
  g->stamp[e] = 0;
}

// L_v = A_v + union of L_e; the e are absorbed. L_v takes the place of A_v or, where there are elements, lies at the
// end.
static lac_status amd_make_element(lac_context *ctx, amd *g, int32_t v) {
  lac_status status = LAC_OK;
  int32_t elements = g->elements[v], variables = g->length[v] - elements;
  int64_t count = variables, start, to;

  for (int32_t k = 0; k < elements; k++) {
    int32_t e = g->list[g->start[v] + k];
    if (g->stamp[e] != 0) count += g->length[e];
  }
  if (elements > 0) LAC_TRY(amd_reserve(ctx, g, count));
  start = to = elements > 0 ? g->used : g->start[v];
  g->weight[v] = -g->weight[v];
  g->degree[v] = 0;
  for (int32_t k = 0; k < elements; k++) {
    int32_t e = g->list[g->start[v] + k];
    if (g->stamp[e] != 0) to = amd_join(g, v, g->start[e], g->length[e], to);
    amd_absorb(g, e, v);
  }
  to = amd_join(g, v, g->start[v] + elements, variables, to);
  g->start[v] = start;
  g->length[v] = (int32_t)(to - start);
  g->elements[v] = 0;
  g->stamp[v] = 1;
  g->next[v] = NONE;
  if (to > g->used) g->used = to;
done:
  return status;
}

// stamp[e] = tag + |L_e \ L_v| for every element that meets L_v.
static void amd_measure(amd *g, int32_t v) {
  for (int32_t k = 0; k < g->length[v]; k++) {
    int32_t i = g->list[g->start[v] + k], weight = -g->weight[i];
    for (int32_t q = 0; q < g->elements[i]; q++) {
      int32_t e = g->list[g->start[i] + q];
      if (g->stamp[e] == 0) continue;
      if (g->stamp[e] < g->tag) g->stamp[e] = g->tag + g->degree[e];
      g->stamp[e] -= weight;
    }
  }
}

// Join j to i: they are eliminated together.
static void amd_merge(amd *g, int32_t i, int32_t j) {
  int32_t after = g->member[i];
  g->member[i] = g->member[j];
  g->member[j] = after;
  g->weight[j] = 0;
  g->stamp[j] = 0;
}

// Rewrite the lists of i without what is gone or covered by v, put v among its elements, and add up its degree outside
// L_v.
static void amd_prune(amd *g, int32_t v, int32_t i) {
  int32_t *list = g->list + g->start[i];
  int32_t count = 0, outside = 0;
  uint32_t hash = (uint32_t)v;

  for (int32_t q = 0; q < g->elements[i]; q++) {
    int32_t e = list[q];
    if (g->stamp[e] == 0) continue;
    int32_t beyond = (int32_t)(g->stamp[e] - g->tag);
    if (beyond == 0) {
      amd_absorb(g, e, v);  // L_e lies inside L_v
      continue;
    }
    outside += beyond;
    if (outside > g->n) outside = g->n;
    hash += (uint32_t)e;
    list[count++] = e;
  }
  int32_t elements = count;
  for (int32_t q = g->elements[i]; q < g->length[i]; q++) {
    int32_t j = list[q];
    if (g->weight[j] <= 0) continue;
    outside += g->weight[j];
    hash += (uint32_t)j;
    list[count++] = j;
  }
  // i met v through an entry that has just been dropped, so there is room: the first variable makes way for v.
  list[count] = list[elements];
  list[elements] = v;
  g->elements[i] = elements + 1;
  g->length[i] = count + 1;
  g->hash[i] = (int32_t)(hash % (uint32_t)g->n);
  if (outside < g->degree[i]) g->degree[i] = outside;
}

// Prune all of L_v; those with no neighbour outside are eliminated with v, the others go into buckets by hash.
static void amd_update(amd *g, int32_t v) {
  int32_t size = g->degree[v];
  for (int32_t k = 0; k < g->length[v]; k++) {
    int32_t i = g->list[g->start[v] + k];
    amd_prune(g, v, i);
    if (g->length[i] == 1) {
      size += g->weight[i];
      g->weight[v] += g->weight[i];
      amd_merge(g, v, i);
      continue;
    }
    g->next[i] = g->bucket[g->hash[i]];
    g->bucket[g->hash[i]] = i;
  }
  g->degree[v] = size;
  g->tag += g->n + 1;
}

static bool amd_equal(const amd *g, int32_t i, int32_t j) {
  if (g->length[i] != g->length[j] || g->elements[i] != g->elements[j]) return false;
  for (int32_t q = 0; q < g->length[j]; q++) {
    if (g->stamp[g->list[g->start[j] + q]] != g->tag) return false;
  }
  return true;
}

// Merge the variables of one bucket that have the same lists.
static void amd_merge_bucket(amd *g, int32_t first) {
  for (int32_t i = first; i != NONE && g->next[i] != NONE; i = g->next[i]) {
    for (int32_t q = 0; q < g->length[i]; q++) g->stamp[g->list[g->start[i] + q]] = g->tag;
    for (int32_t before = i, j = g->next[i]; j != NONE; j = g->next[j]) {
      if (amd_equal(g, i, j)) {
        g->weight[i] += g->weight[j];
        amd_merge(g, i, j);
        g->next[before] = g->next[j];
      } else {
        before = j;
      }
    }
    g->tag++;
  }
}

static void amd_merge_equal(amd *g, int32_t v) {
  for (int32_t k = 0; k < g->length[v]; k++) {
    int32_t i = g->list[g->start[v] + k];
    if (g->weight[i] == 0) continue;
    int32_t first = g->bucket[g->hash[i]];
    g->bucket[g->hash[i]] = NONE;
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

// Give the variables of L_v their weights and degrees back, and drop from it what was merged or eliminated. Among equal
// degrees the last of L_v is taken next and the list is turned round: on regular grids, other ways with ties give up to
// twice the fill.
static void amd_finish(amd *g, int32_t v) {
  int32_t *list = g->list + g->start[v];
  int32_t count = 0;

  g->left += g->weight[v];
  g->weight[v] = 0;
  for (int32_t k = 0; k < g->length[v]; k++) {
    int32_t i = list[k];
    if (g->weight[i] == 0) continue;
    int32_t weight = g->weight[i] = -g->weight[i];
    int64_t bound = (int64_t)g->degree[i] + g->degree[v] - weight;
    g->degree[i] = bound < g->left - weight ? (int32_t)bound : g->left - weight;
    amd_enlist(g, i);
    list[count++] = i;
  }
  amd_reverse(list, count);
  if (g->start[v] + g->length[v] == g->used) g->used = g->start[v] + count;
  g->length[v] = count;
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

// Elements are numbered anew, each right after those that it absorbed: that gives the same fill, and neighbours in the
// tree stand side by side for all who walk along it. pivots[0 .. count - 1] are in the order of their elimination.
static void amd_postorder(amd *g, const int32_t *pivots, int32_t count, int32_t *order) {
  int32_t *child = g->head, *sibling = g->previous;
  for (int32_t k = 0; k < count; k++) child[pivots[k]] = NONE;
  for (int32_t k = count - 1; k >= 0; k--) {
    int32_t v = pivots[k], up = g->next[v];
    if (up == NONE) continue;
    sibling[v] = child[up];
    child[up] = v;
  }
  for (int32_t k = 0; k < count; k++) {
    if (g->next[pivots[k]] != NONE) continue;
    for (int32_t v = pivots[k]; v != NONE;) {
      int32_t down = child[v];
      if (down != NONE) {
        child[v] = sibling[down];
        v = down;
        continue;
      }
      *order++ = v;
      for (int32_t i = g->member[v]; i != v; i = g->member[i]) *order++ = i;
      v = g->next[v];
    }
  }
}

// Eliminate all variables, then those that were set aside. The first `done_with` of the order are given, with a degree
// of -1.
static lac_status amd_run(lac_context *ctx, amd *g, int32_t done_with, int32_t *order) {
  lac_status status = LAC_OK;
  int32_t behind = g->n, count = 0;
  int32_t *pivots = g->bucket;

  for (int32_t i = 0; i < g->n; i++) {
    if (g->weight[i] > 0) {
      amd_enlist(g, i);
    } else if (g->degree[i] >= 0) {
      order[--behind] = i;
    }
  }
  g->left = behind - done_with;
  while (g->left > 0) {
    int32_t v = amd_take_lowest(g);
    LAC_TRY(amd_eliminate(ctx, g, v));
    order[done_with + count++] = v;
  }
  memcpy(pivots, order + done_with, (size_t)count * sizeof *pivots);
  amd_postorder(g, pivots, count, order + done_with);
done:
  return status;
}

// -- graphs ----------------------------------------------------------------------------------------------------------

// Variables with very many neighbours would be visited at every step, and come last in any good order: they are set
// aside, which a weight of 0 says. Likewise a row that is nearly full would join all columns, and is left out.
static int32_t amd_dense(int32_t n) {
  double limit = 10 * sqrt((double)n);
  return limit > 16 ? (int32_t)limit : 16;
}

lac_status lac_order_amd(lac_context *ctx, const lac_graph *graph, int32_t *order) {
  lac_status status = LAC_OK;
  amd g = {0};
  int32_t dense = amd_dense(graph->n);

  LAC_TRY(amd_init(ctx, &g, graph->n, 0, graph->offsets[graph->n]));
  g.used = graph->offsets[g.n];
  memcpy(g.list, graph->columns, (size_t)g.used * sizeof *g.list);
  for (int32_t i = 0; i < g.n; i++) {
    g.start[i] = graph->offsets[i];
    g.length[i] = g.degree[i] = (int32_t)(graph->offsets[i + 1] - graph->offsets[i]);
    if (g.length[i] > dense) g.weight[i] = 0;
  }
  LAC_TRY(amd_run(ctx, &g, 0, order));
done:
  amd_clear(&g);
  return status;
}

// Node n + i is row i of A: the clique of its columns. Rows of singletons are no longer there.
static void amd_load_elements(amd *g, const lac_structure *s, const bool *is_gone) {
  int32_t dense = amd_dense(g->n);
  for (int32_t j = 0; j < g->n; j++) {
    if (g->degree[j] < 0 || s->t_offsets[j + 1] - s->t_offsets[j] > dense) g->weight[j] = 0;
  }
  for (int32_t i = 0; i < g->n; i++) {
    int32_t e = g->n + i;
    g->start[e] = g->used;
    if (is_gone[i] || s->offsets[i + 1] - s->offsets[i] > dense) continue;
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      if (g->weight[s->columns[p]] > 0) g->list[g->used++] = s->columns[p];
    }
    g->length[e] = g->degree[e] = (int32_t)(g->used - g->start[e]);
    g->stamp[e] = g->length[e] > 1;
  }
}

static void amd_load_columns(amd *g, const lac_structure *s) {
  for (int32_t j = 0; j < g->n; j++) {
    int64_t degree = 0;
    g->start[j] = g->used;
    if (g->weight[j] == 0) continue;
    for (int64_t q = s->t_offsets[j]; q < s->t_offsets[j + 1]; q++) {
      int32_t e = g->n + s->t_rows[q];
      if (g->stamp[e] == 0) continue;
      g->list[g->used++] = e;
      degree += g->degree[e] - 1;
    }
    g->length[j] = g->elements[j] = (int32_t)(g->used - g->start[j]);
    g->degree[j] = degree < g->n - 1 ? (int32_t)degree : g->n - 1;
  }
}

lac_status lac_order_columns(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, int32_t *order) {
  lac_status status = LAC_OK;
  amd g = {0};
  bool *is_gone = NULL;
  int32_t singletons;

  if (ordering == LAC_ORDER_METIS) return lac_order_symmetric(ctx, structure, ordering, order);
  if (ordering == LAC_ORDER_NATURAL) {
    for (int32_t k = 0; k < structure->n; k++) order[k] = k;
    return LAC_OK;
  }
  LAC_TRY(amd_init(ctx, &g, structure->n, structure->n, 2 * structure->nnz));
  LAC_ALLOC(is_gone, structure->n);
  singletons = lac_order_singletons(structure, g.degree, is_gone, order);
  amd_load_elements(&g, structure, is_gone);
  amd_load_columns(&g, structure);
  LAC_TRY(amd_run(ctx, &g, singletons, order));
done:
  lac_free(is_gone);
  amd_clear(&g);
  return status;
}

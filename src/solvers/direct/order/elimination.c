// SPDX-License-Identifier: Apache-2.0
/// @file elimination.c
/// Elimination tree, postorder and column counts.
///
/// Row i of L is the union of the paths from the entries of row i towards i: a subtree. Column j of L counts the row
/// subtrees that hold j. Each is the paths from its leaves, which are found as they come in postorder; two leaves that
/// follow one another share what is above their lowest common ancestor, so +1 at every leaf and -1 at every such
/// ancestor sum up, over the subtree of j, to the number of row subtrees that pass j.

#include "solvers/direct/order/elimination.h"

#include <string.h>

void lac_elimination_clear(lac_elimination *e) {
  lac_free(e->order);
  lac_free(e->place);
  lac_free(e->parent);
  lac_free(e->count);
  *e = (lac_elimination){0};
}

// post[k] is the node that comes k-th when each subtree is left before its root; children in the order of their
// numbers. `first` and `next` are work of n.
static void elimination_walk(int32_t n, const int32_t *parent, int32_t *first, int32_t *next, int32_t *post) {
  for (int32_t j = 0; j < n; j++) first[j] = -1;
  for (int32_t j = n - 1; j >= 0; j--) {
    if (parent[j] == -1) continue;
    next[j] = first[parent[j]];
    first[parent[j]] = j;
  }
  int32_t count = 0;
  for (int32_t root = 0; root < n; root++) {
    if (parent[root] != -1) continue;
    for (int32_t j = root; j != -1;) {
      if (first[j] != -1) {
        int32_t child = first[j];
        first[j] = next[child];
        j = child;
      } else {
        post[count++] = j;
        j = j == root ? -1 : parent[j];
      }
    }
  }
}

// Each entry (k, i) climbs from i, by shortcuts that earlier climbs left, and hangs its root on k.
static void elimination_tree(const lac_graph *graph, lac_elimination *e, int32_t *shortcut) {
  for (int32_t k = 0; k < e->n; k++) {
    int32_t v = e->order[k];
    e->parent[k] = shortcut[k] = -1;
    for (int64_t p = graph->offsets[v]; p < graph->offsets[v + 1]; p++) {
      int32_t i = e->place[graph->columns[p]];
      while (i < k) {
        int32_t above = shortcut[i];
        shortcut[i] = k;
        if (above == -1) e->parent[i] = k;
        i = above == -1 ? k : above;
      }
    }
  }
}

// Number steps in postorder.
static void elimination_postorder(lac_elimination *e, int32_t *work[3]) {
  int32_t *post = work[2], *order = work[0], *parent = work[1];

  elimination_walk(e->n, e->parent, work[0], work[1], post);
  for (int32_t k = 0; k < e->n; k++) order[k] = e->order[post[k]];
  for (int32_t k = 0; k < e->n; k++) e->count[post[k]] = k;
  for (int32_t k = 0; k < e->n; k++) parent[k] = e->parent[post[k]] == -1 ? -1 : e->count[e->parent[post[k]]];
  memcpy(e->order, order, (size_t)e->n * sizeof *order);
  memcpy(e->parent, parent, (size_t)e->n * sizeof *parent);
  for (int32_t k = 0; k < e->n; k++) e->place[e->order[k]] = k;
}

// The root of the tree that holds `i` among the steps done so far; what it climbs becomes short.
static inline int32_t elimination_root(int32_t *above, int32_t i) {
  int32_t root = i;
  while (above[root] != root) root = above[root];
  while (i != root) {
    int32_t next = above[i];
    above[i] = root;
    i = next;
  }
  return root;
}

// Steps of an entry (i, j), i > j: where j is a leaf of the subtree of row i, count it.
typedef struct elimination_leaves {
  int32_t *first;   // the first step of the subtree of j
  int32_t *latest;  // of row i: `first` of the latest leaf, -1 before there is one
  int32_t *leaf;    // and that leaf
  int32_t *above;   // trees of the steps done
} elimination_leaves;

static inline void elimination_entry(lac_elimination *e, elimination_leaves *l, int32_t i, int32_t j) {
  if (l->first[j] <= l->latest[i]) return;
  if (l->latest[i] != -1) e->count[elimination_root(l->above, l->leaf[i])]--;
  l->latest[i] = l->first[j];
  l->leaf[i] = j;
  e->count[j]++;
}

static void elimination_begin(lac_elimination *e, elimination_leaves *l) {
  for (int32_t j = 0; j < e->n; j++) l->first[j] = j, l->latest[j] = -1, l->above[j] = j;
  for (int32_t j = 0; j < e->n; j++) {
    int32_t up = e->parent[j];
    e->count[j] = l->first[j] == j;  // without a child, the row subtree of j is j alone
    if (up != -1 && l->first[j] < l->first[up]) l->first[up] = l->first[j];
  }
}

static void elimination_count(const lac_graph *graph, lac_elimination *e, elimination_leaves *l) {
  elimination_begin(e, l);
  for (int32_t j = 0; j < e->n; j++) {
    int32_t v = e->order[j], up = e->parent[j];
    for (int64_t p = graph->offsets[v]; p < graph->offsets[v + 1]; p++) {
      int32_t i = e->place[graph->columns[p]];
      if (i > j) elimination_entry(e, l, i, j);
    }
    if (up == -1) continue;
    e->count[up]--;  // row j ends at j
    l->above[j] = up;
  }
  for (int32_t j = 0; j < e->n; j++) {
    if (e->parent[j] != -1) e->count[e->parent[j]] += e->count[j];
    e->cost.nnz += e->count[j];
    e->cost.flops += (double)e->count[j] * e->count[j];
  }
}

lac_status lac_elimination_init(lac_context *ctx, const lac_graph *graph, const int32_t *order, lac_elimination *e) {
  lac_status status = LAC_OK;
  int32_t *work[4] = {NULL, NULL, NULL, NULL};

  e->n = graph->n;
  LAC_ALLOC(e->order, e->n);
  LAC_ALLOC(e->place, e->n);
  LAC_ALLOC(e->parent, e->n);
  LAC_ALLOC(e->count, e->n);
  for (int i = 0; i < 4; i++) LAC_ALLOC(work[i], e->n);
  for (int32_t k = 0; k < e->n; k++) e->order[k] = order[k], e->place[order[k]] = k;
  elimination_tree(graph, e, work[0]);
  elimination_postorder(e, work);
  elimination_count(graph, e, &(elimination_leaves){work[0], work[1], work[2], work[3]});
done:
  for (int i = 0; i < 4; i++) lac_free(work[i]);
  return status;
}

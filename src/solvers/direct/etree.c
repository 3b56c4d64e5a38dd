// SPDX-License-Identifier: Apache-2.0
/// @file etree.c
/// Elimination tree, postorder and structure of L for P A P^T = L D L^H.
///
///     parent(j) = min { i > j : L_ij may be nonzero }
///
/// Row k of L is the union of the paths from the entries of row k of C towards k (Liu 1990): structure follows from the
/// tree.

#include "solvers/direct/symbolic.h"

#include <string.h>

#include "solvers/direct/ordering.h"

// parent[] from the rows of C: each entry (k, i) climbs from i, by shortcuts that earlier climbs left, and hangs its
// root on k.
static void etree_build(const lac_symbolic *s, int32_t *parent, int32_t *shortcut) {
  for (int32_t k = 0; k < s->n; k++) {
    parent[k] = shortcut[k] = -1;
    for (int64_t p = s->c_offsets[k]; p < s->c_offsets[k + 1]; p++) {
      int32_t i = s->c_columns[p];
      while (i != k) {
        int32_t above = shortcut[i];
        shortcut[i] = k;
        if (above == -1) parent[i] = k;
        i = above == -1 ? k : above;
      }
    }
  }
}

// post[k] is the node that comes k-th when each subtree is left before its root. `first` and `next` are lists of
// children.
static void etree_postorder(int32_t n, const int32_t *parent, int32_t *first, int32_t *next, int32_t *post) {
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

// The rows of C for an order; `place` is its inverse.
static void etree_permute(const lac_structure *a, lac_symbolic *s, int32_t *place) {
  for (int32_t k = 0; k < s->n; k++) place[s->order[k]] = k;
  int64_t count = 0;
  for (int32_t k = 0; k < s->n; k++) {
    int32_t row = s->order[k];
    s->c_offsets[k] = count;
    s->c_diagonal[k] = -1;
    for (int64_t p = a->offsets[row]; p < a->offsets[row + 1]; p++) {
      int32_t i = place[a->columns[p]];
      if (i == k) s->c_diagonal[k] = p;
      if (i >= k) continue;
      s->c_columns[count] = i;
      s->c_slots[count++] = p;
    }
  }
  s->c_offsets[s->n] = count;
}

// l_offsets by counting, in each column, the rows whose paths pass it. Leaves `mark` at -1.
static void etree_count(lac_symbolic *s, int32_t *mark, int32_t *path) {
  memset(s->l_offsets, 0, (size_t)(s->n + 1) * sizeof *s->l_offsets);
  for (int32_t i = 0; i < s->n; i++) mark[i] = -1;
  for (int32_t k = 0; k < s->n; k++) {
    for (int32_t t = lac_symbolic_reach(s, k, mark, path); t < s->n; t++) s->l_offsets[path[t] + 1]++;
  }
  s->flops = 0;
  for (int32_t j = 0; j < s->n; j++) {
    double below = (double)s->l_offsets[j + 1];
    s->flops += below * (below + 2);
    s->l_offsets[j + 1] += s->l_offsets[j];
    mark[j] = -1;
  }
}

// l_rows: the same walk, now writing. Rows come in ascending order, so each column is ascending.
static void etree_fill(lac_symbolic *s, int32_t *mark, int32_t *path, int64_t *cursor) {
  memcpy(cursor, s->l_offsets, (size_t)s->n * sizeof *cursor);
  for (int32_t k = 0; k < s->n; k++) {
    for (int32_t t = lac_symbolic_reach(s, k, mark, path); t < s->n; t++) s->l_rows[cursor[path[t]]++] = k;
  }
}

// Postorder leaves the fill as it is, whatever the order was, and puts columns that are used together side by side.
static void etree_order(const lac_structure *a, lac_symbolic *s, int32_t *work[3]) {
  etree_permute(a, s, work[0]);
  etree_build(s, s->parent, work[0]);
  etree_postorder(s->n, s->parent, work[0], work[1], work[2]);
  for (int32_t k = 0; k < s->n; k++) work[0][k] = s->order[work[2][k]];
  memcpy(s->order, work[0], (size_t)s->n * sizeof *s->order);
  etree_permute(a, s, work[0]);
  etree_build(s, s->parent, work[0]);
}

lac_status lac_symbolic_create(lac_context *ctx, const lac_structure *structure, lac_ordering ordering,
                               lac_symbolic **out) {
  lac_status status = LAC_OK;
  lac_symbolic *s = NULL;
  int32_t *work[3] = {NULL, NULL, NULL};
  int64_t *cursor = NULL;

  LAC_ALLOC(s, 1);
  s->n = structure->n;
  LAC_ALLOC(s->order, s->n);
  LAC_ALLOC(s->parent, s->n);
  LAC_ALLOC(s->c_offsets, s->n + 1);
  LAC_ALLOC(s->c_columns, structure->matched / 2);
  LAC_ALLOC(s->c_slots, structure->matched / 2);
  LAC_ALLOC(s->c_diagonal, s->n);
  LAC_ALLOC(s->l_offsets, s->n + 1);
  for (int i = 0; i < 3; i++) LAC_ALLOC(work[i], s->n);
  LAC_ALLOC(cursor, s->n);
  LAC_TRY(lac_order_symmetric(ctx, structure, ordering, s->order));
  etree_order(structure, s, work);
  etree_count(s, work[0], work[1]);
  LAC_ALLOC(s->l_rows, s->l_offsets[s->n]);
  etree_fill(s, work[0], work[1], cursor);
  *out = s, s = NULL;
done:
  lac_symbolic_destroy(s);
  for (int i = 0; i < 3; i++) lac_free(work[i]);
  lac_free(cursor);
  return status;
}

int64_t lac_symbolic_bytes(const lac_symbolic *s) {
  return (int64_t)sizeof *s + 32 * (int64_t)s->n + 12 * s->c_offsets[s->n] + 4 * s->l_offsets[s->n];
}

void lac_symbolic_destroy(lac_symbolic *s) {
  if (!s) return;
  lac_free(s->order);
  lac_free(s->parent);
  lac_free(s->c_offsets);
  lac_free(s->c_columns);
  lac_free(s->c_slots);
  lac_free(s->c_diagonal);
  lac_free(s->l_offsets);
  lac_free(s->l_rows);
  lac_free(s);
}

// SPDX-License-Identifier: Apache-2.0
/// @file amalgamation.c
/// Fundamental supernodes, and mergers of children into parents where that costs few zeros.
///
/// A supernode of p columns and r rows below is a trapezoid of p (p + 1) / 2 + p r numbers. Child c merged into its
/// parent stands as high as the parent's front, p + r, plus its own columns:
///
///     zeros added = p_c (p + r - r_c)
///
/// Children with many rows are tried first: they add least. Small trapezoids may hold many zeros, since what they cost
/// is overhead; large ones few.

#include "solvers/direct/symbolic/amalgamation.h"

#include <stdlib.h>

typedef struct merge_node {
  int32_t first, end;      // columns of the fundamental supernode, as steps of the elimination
  int32_t cols, rows;      // of the merged one, and rows below
  int32_t parent;          // -1: root
  int32_t child, sibling;  // children that are alive
  int32_t into;            // the node it was merged into; -1: alive
  int32_t head, tail;      // chain of fundamental supernodes in the order of their columns
  int32_t next;            // in the chain
  int64_t filled;          // entries that are not zero by structure
  int64_t peak;            // of update matrices in its subtree
} merge_node;

typedef struct merge_rank {
  int64_t key;
  int32_t node;
} merge_rank;

typedef struct merge {
  int32_t count;
  merge_node *nodes;
  merge_rank *ranks;  // of one node's children
} merge;

void lac_partition_clear(lac_partition *part) {
  lac_free(part->first);
  lac_free(part->rows);
  lac_free(part->parent);
  lac_free(part->step);
  *part = (lac_partition){0};
}

// -- fundamental supernodes ------------------------------------------------------------------------------------------

// Step j continues the supernode of j - 1: its only child, with one row more.
static bool merge_continues(const lac_elimination *e, const int32_t *children, int32_t j) {
  return j > 0 && e->parent[j - 1] == j && e->count[j - 1] == e->count[j] + 1 && children[j] == 1;
}

// owner[j] becomes the supernode of step j; returns how many there are.
static int32_t merge_find_fundamental(const lac_elimination *e, int32_t *owner) {
  int32_t *children = owner;  // a step's children are counted until its owner is known
  int32_t count = 0;
  for (int32_t j = 0; j < e->n; j++) children[j] = 0;
  for (int32_t j = 0; j < e->n; j++) {
    if (e->parent[j] != -1) children[e->parent[j]]++;
  }
  for (int32_t j = 0; j < e->n; j++) owner[j] = merge_continues(e, children, j) ? count - 1 : count++;
  return count;
}

static void merge_fill(const lac_elimination *e, const int32_t *owner, merge *m) {
  for (int32_t j = 0; j < e->n; j++) {
    int32_t s = owner[j];
    merge_node *node = &m->nodes[s];
    if (j == 0 || owner[j - 1] != s) {
      *node = (merge_node){.first = j, .child = -1, .sibling = -1, .into = -1, .next = -1, .head = s, .tail = s};
    }
    node->end = j + 1;
    node->cols++;
    node->rows = e->count[j] - 1;
    node->filled += e->count[j];
  }
  for (int32_t s = m->count - 1; s >= 0; s--) {
    merge_node *node = &m->nodes[s];
    int32_t up = e->parent[node->end - 1];
    node->parent = up == -1 ? -1 : owner[up];
    if (up == -1) continue;
    node->sibling = m->nodes[node->parent].child;
    m->nodes[node->parent].child = s;
  }
}

// -- mergers ---------------------------------------------------------------------------------------------------------

static bool merge_pays(const merge_node *child, const merge_node *parent) {
  double cols = (double)child->cols + parent->cols, rows = parent->rows;
  double size = cols * (cols + 1) / 2 + cols * rows;
  double zeros = size - (double)child->filled - (double)parent->filled;
  double share = cols <= 4 ? 0.9 : cols <= 16 ? 0.3 : cols <= 48 ? 0.1 : 0.05;
  return zeros <= share * size;
}

static int merge_compare(const void *a, const void *b) {
  const merge_rank *x = a, *y = b;
  if (x->key != y->key) return x->key > y->key ? -1 : 1;
  return x->node < y->node ? 1 : -1;
}

// The children of a node, those with the largest keys first: few as a rule.
static void merge_sort(merge_rank *ranks, int32_t count) {
  if (count > 16) {
    qsort(ranks, (size_t)count, sizeof *ranks, merge_compare);
    return;
  }
  for (int32_t i = 1; i < count; i++) {
    merge_rank one = ranks[i];
    int32_t k = i;
    for (; k > 0 && merge_compare(&ranks[k - 1], &one) > 0; k--) ranks[k] = ranks[k - 1];
    ranks[k] = one;
  }
}

// The child's columns come right before the parent's.
static void merge_join(merge *m, int32_t c, int32_t p) {
  merge_node *child = &m->nodes[c], *parent = &m->nodes[p];
  m->nodes[child->tail].next = parent->head;
  parent->head = child->head;
  parent->cols += child->cols;
  parent->filled += child->filled;
  child->into = p;
}

static void merge_children(merge *m, int32_t p) {
  int32_t count = 0;
  for (int32_t c = m->nodes[p].child; c != -1; c = m->nodes[c].sibling) {
    m->ranks[count++] = (merge_rank){m->nodes[c].rows, c};
  }
  merge_sort(m->ranks, count);
  for (int32_t k = 0; k < count; k++) {
    int32_t c = m->ranks[k].node;
    if (merge_pays(&m->nodes[c], &m->nodes[p])) merge_join(m, c, p);
  }
}

// Hang what is alive on what is alive. Parents come after their children, so they are known from above.
static void merge_lift(merge *m) {
  for (int32_t s = 0; s < m->count; s++) m->nodes[s].child = -1;
  for (int32_t s = m->count - 1; s >= 0; s--) {
    merge_node *node = &m->nodes[s];
    int32_t up = node->parent;
    if (up != -1 && m->nodes[up].into != -1) up = m->nodes[up].into;
    if (node->into != -1) {
      if (m->nodes[node->into].into != -1) node->into = m->nodes[node->into].into;
      continue;
    }
    node->parent = up;
    if (up == -1) continue;
    node->sibling = m->nodes[up].child;
    m->nodes[up].child = s;
  }
}

// -- order of children -----------------------------------------------------------------------------------------------

// Children whose subtrees need much and leave little come first (Liu 1986): the least memory for update matrices.
static int64_t merge_arrange(merge *m, int32_t s) {
  merge_node *node = &m->nodes[s];
  int32_t count = 0;
  int64_t waiting = 0, peak = 0;

  for (int32_t c = node->child; c != -1; c = m->nodes[c].sibling) {
    int64_t rows = m->nodes[c].rows;
    m->ranks[count++] = (merge_rank){m->nodes[c].peak - rows * rows, c};
  }
  merge_sort(m->ranks, count);
  for (int32_t k = 0; k < count; k++) {
    int32_t c = m->ranks[k].node;
    if (waiting + m->nodes[c].peak > peak) peak = waiting + m->nodes[c].peak;
    waiting += (int64_t)m->nodes[c].rows * m->nodes[c].rows;
    m->nodes[c].sibling = k + 1 < count ? m->ranks[k + 1].node : -1;
  }
  if (count > 0) node->child = m->ranks[0].node;
  waiting += (int64_t)node->rows * node->rows;
  node->peak = waiting > peak ? waiting : peak;
  return node->peak;
}

// -- new numbers -----------------------------------------------------------------------------------------------------

static void merge_number(const merge *m, int32_t s, lac_partition *part) {
  int32_t k = part->first[part->count];
  for (int32_t f = m->nodes[s].head; f != -1; f = m->nodes[f].next) {
    for (int32_t j = m->nodes[f].first; j < m->nodes[f].end; j++) part->step[k++] = j;
  }
  part->rows[part->count++] = m->nodes[s].rows;
  part->first[part->count] = k;
}

// Each subtree before its root. `into` of what is alive becomes its number.
static void merge_postorder(merge *m, lac_partition *part) {
  for (int32_t root = 0; root < m->count; root++) {
    if (m->nodes[root].into != -1 || m->nodes[root].parent != -1) continue;
    for (int32_t s = root; s != -1;) {
      int32_t child = m->nodes[s].child;
      if (child != -1) {
        m->nodes[s].child = m->nodes[child].sibling;
        s = child;
        continue;
      }
      m->ranks[part->count].node = s;
      m->nodes[s].into = part->count;
      merge_number(m, s, part);
      s = s == root ? -1 : m->nodes[s].parent;
    }
  }
  for (int32_t q = 0; q < part->count; q++) {
    int32_t up = m->nodes[m->ranks[q].node].parent;
    part->parent[q] = up == -1 ? -1 : m->nodes[up].into;
  }
}

lac_status lac_partition_init(lac_context *ctx, const lac_elimination *e, lac_partition *part) {
  lac_status status = LAC_OK;
  merge m = {0};
  int32_t *owner = NULL;

  LAC_ALLOC(owner, e->n);
  m.count = merge_find_fundamental(e, owner);
  LAC_ALLOC(m.nodes, m.count);
  LAC_ALLOC(m.ranks, m.count);
  merge_fill(e, owner, &m);
  LAC_ALLOC(part->first, m.count + 1);
  LAC_ALLOC(part->rows, m.count);
  LAC_ALLOC(part->parent, m.count);
  LAC_ALLOC(part->step, e->n);
  for (int32_t s = 0; s < m.count; s++) merge_children(&m, s);
  merge_lift(&m);
  for (int32_t s = 0; s < m.count; s++) {
    if (m.nodes[s].into != -1) continue;
    int64_t peak = merge_arrange(&m, s);
    if (m.nodes[s].parent == -1 && peak > part->stack) part->stack = peak;
  }
  merge_postorder(&m, part);
done:
  lac_free(m.nodes);
  lac_free(m.ranks);
  lac_free(owner);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file supernodes.c
/// Supernodes: from a structure to panels, rows and the places of all entries.

#include "solvers/direct/symbolic/supernodes.h"

#include <string.h>

#include "solvers/direct/symbolic/amalgamation.h"
#include "solvers/direct/order/ordering.h"
#include "solvers/direct/symbolic/tree.h"

static void supernodes_destroy(lac_object *object) {
  lac_supernodes *s = (lac_supernodes *)object;
  void *blocks[] = {s->row_step,   s->col_step,   s->row_at,        s->col_at,        s->first,
                    s->owner,      s->parent,     s->leftmost,      s->row_offsets,   s->rows,
                    s->relative,   s->panels,     s->entry_offsets, s->upper_offsets, s->entry_slots,
                    s->entry_rows, s->entry_cols, s->flops,         s->ranges,        s->update_at};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lac_free(blocks[i]);
  lac_free(s);
}

static const lac_kind supernodes_kind = {"supernodes", supernodes_destroy};

int64_t lac_supernodes_bytes(const lac_supernodes *s) {
  int64_t rows = s->row_offsets[s->count], entries = s->entry_offsets[s->count];
  return (int64_t)sizeof *s + 20 * (int64_t)s->n + 60 * (int64_t)s->count + 8 * (rows + s->range_count) + 16 * entries;
}

static lac_status supernodes_allocate(lac_context *ctx, const lac_structure *a, lac_supernodes *s) {
  lac_status status = LAC_OK;

  LAC_ALLOC(s->row_step, s->n);
  LAC_ALLOC(s->col_step, s->n);
  LAC_ALLOC(s->row_at, s->n);
  LAC_ALLOC(s->col_at, s->n);
  LAC_ALLOC(s->owner, s->n);
  LAC_ALLOC(s->first, s->count + 1);
  LAC_ALLOC(s->parent, s->count);
  LAC_ALLOC(s->leftmost, s->count);
  LAC_ALLOC(s->row_offsets, s->count + 1);
  LAC_ALLOC(s->panels, s->count + 1);
  LAC_ALLOC(s->entry_offsets, s->count + 1);
  LAC_ALLOC(s->upper_offsets, s->count);
  LAC_ALLOC(s->flops, s->count);
  s->entry_slots = lac_alloc((size_t)a->nnz * sizeof *s->entry_slots);  // the large ones, not zeroed
  s->entry_rows = lac_alloc((size_t)a->nnz * sizeof *s->entry_rows);
  s->entry_cols = lac_alloc((size_t)a->nnz * sizeof *s->entry_cols);
  LAC_CHECK(s->entry_slots && s->entry_rows && s->entry_cols, LAC_ERR_MEMORY,
            "out of memory: the places of %lld entries", (long long)a->nnz);
done:
  return status;
}

// -- steps and sizes -------------------------------------------------------------------------------------------------

static void supernodes_number(const lac_elimination *e, const lac_partition *part, const int32_t *match,
                              lac_supernodes *s) {
  for (int32_t k = 0; k < s->n; k++) {
    s->col_at[k] = e->order[part->step[k]];
    s->col_step[s->col_at[k]] = k;
  }
  for (int32_t i = 0; i < s->n; i++) {
    s->row_step[i] = s->col_step[match ? match[i] : i];
    s->row_at[s->row_step[i]] = i;
  }
}

// (d + 1)^2 for each column with d entries below the diagonal: a root, d divisions, d (d + 1) / 2 products and as many
// differences.
static double supernodes_flops(double cols, double rows) {
  double m = rows + cols;
  return (m * (m + 1) * (2 * m + 1) - rows * (rows + 1) * (2 * rows + 1)) / 6;
}

static void supernodes_measure(const lac_partition *part, lac_supernodes *s) {
  memcpy(s->first, part->first, (size_t)(s->count + 1) * sizeof *s->first);
  memcpy(s->parent, part->parent, (size_t)s->count * sizeof *s->parent);
  s->stack = part->stack;
  for (int32_t i = 0; i < s->count; i++) s->leftmost[i] = i;
  for (int32_t i = 0; i < s->count; i++) {
    int64_t cols = lac_front_cols(s, i), rows = part->rows[i];
    int32_t up = s->parent[i];
    for (int32_t k = s->first[i]; k < s->first[i + 1]; k++) s->owner[k] = i;
    s->row_offsets[i + 1] = s->row_offsets[i] + rows;
    s->panels[i + 1] = s->panels[i] + (cols + rows) * cols;
    s->nnz += cols * (cols + 1) / 2 + cols * rows;
    s->flops[i] += supernodes_flops((double)cols, (double)rows);
    if (up == -1) continue;
    s->flops[up] += s->flops[i];
    if (s->leftmost[i] < s->leftmost[up]) s->leftmost[up] = s->leftmost[i];
  }
}

// -- rows ------------------------------------------------------------------------------------------------------------

// Row k stands below every supernode on the paths from its entries up to its own: k ascends, so rows do.
static void supernodes_fill_rows(const lac_graph *graph, lac_supernodes *s, int64_t *cursor, int32_t *mark) {
  memcpy(cursor, s->row_offsets, (size_t)s->count * sizeof *cursor);
  for (int32_t i = 0; i < s->count; i++) mark[i] = -1;
  for (int32_t k = 0; k < s->n; k++) {
    int32_t v = s->col_at[k];
    mark[s->owner[k]] = k;
    for (int64_t p = graph->offsets[v]; p < graph->offsets[v + 1]; p++) {
      int32_t step = s->col_step[graph->columns[p]];
      if (step >= k) continue;
      for (int32_t i = s->owner[step]; mark[i] != k; i = s->parent[i]) {
        mark[i] = k;
        s->rows[cursor[i]++] = k;
      }
    }
  }
}

// local[step] is the place of a step in the front of i.
static void supernodes_locate(const lac_supernodes *s, int32_t i, int32_t *local) {
  int32_t cols = lac_front_cols(s, i), rows = lac_front_rows(s, i);
  const int32_t *row = s->rows + s->row_offsets[i];
  for (int32_t k = 0; k < cols; k++) local[s->first[i] + k] = k;
  for (int32_t k = 0; k < rows; k++) local[row[k]] = cols + k;
}

// The children of i are the roots of the subtrees that lie, one after another, before it.
static void supernodes_relate(lac_supernodes *s, int32_t i, const int32_t *local) {
  for (int32_t c = i - 1; c >= s->leftmost[i]; c = s->leftmost[c] - 1) {
    for (int64_t p = s->row_offsets[c]; p < s->row_offsets[c + 1]; p++) s->relative[p] = local[s->rows[p]];
  }
}

// -- entries ---------------------------------------------------------------------------------------------------------

// Below and on the diagonal by columns, then above it by rows.
static void supernodes_place(const lac_structure *a, lac_supernodes *s, int32_t i, const int32_t *local) {
  int64_t at = s->entry_offsets[i];
  for (int32_t k = s->first[i]; k < s->first[i + 1]; k++) {
    int32_t j = s->col_at[k];
    for (int64_t q = a->t_offsets[j]; q < a->t_offsets[j + 1]; q++) {
      int32_t step = s->row_step[a->t_rows[q]];
      if (step < k) continue;
      s->entry_slots[at] = a->t_slots[q];
      s->entry_rows[at] = local[step];
      s->entry_cols[at++] = k - s->first[i];
    }
  }
  s->upper_offsets[i] = at;
  for (int32_t k = s->first[i]; k < s->first[i + 1]; k++) {
    int32_t row = s->row_at[k];
    for (int64_t p = a->offsets[row]; p < a->offsets[row + 1]; p++) {
      int32_t step = s->col_step[a->columns[p]];
      if (step <= k) continue;
      s->entry_slots[at] = p;
      s->entry_rows[at] = k - s->first[i];
      s->entry_cols[at++] = local[step];
    }
  }
  s->entry_offsets[i + 1] = at;
}

// -- all of it -------------------------------------------------------------------------------------------------------

static lac_status supernodes_fill(lac_context *ctx, const lac_structure *a, const lac_graph *graph, lac_supernodes *s) {
  lac_status status = LAC_OK;
  int64_t *cursor = NULL;
  int32_t *local = NULL;

  LAC_ALLOC(s->rows, s->row_offsets[s->count]);
  LAC_ALLOC(s->relative, s->row_offsets[s->count]);
  LAC_ALLOC(cursor, s->count);
  LAC_ALLOC(local, s->n);
  supernodes_fill_rows(graph, s, cursor, local);
  for (int32_t i = 0; i < s->count; i++) {
    supernodes_locate(s, i, local);
    supernodes_relate(s, i, local);
    supernodes_place(a, s, i, local);
  }
done:
  lac_free(cursor);
  lac_free(local);
  return status;
}

static lac_status supernodes_build(lac_context *ctx, const lac_structure *a, const int32_t *match,
                                   const lac_graph *graph, const lac_elimination *e, lac_supernodes *s) {
  lac_status status = LAC_OK;
  lac_partition part = {0};

  LAC_TRY(lac_partition_init(ctx, e, &part));
  s->n = a->n;
  s->count = part.count;
  LAC_TRY(supernodes_allocate(ctx, a, s));
  supernodes_number(e, &part, match, s);
  supernodes_measure(&part, s);
  LAC_TRY(lac_context_look(ctx, "the analysis of a matrix"));
  LAC_TRY(supernodes_fill(ctx, a, graph, s));
  LAC_CHECK(lac_tree_cut(s), LAC_ERR_MEMORY, "out of memory: the subtrees of %d supernodes", s->count);
done:
  lac_partition_clear(&part);
  return status;
}

/// Of a graph whose order, by an ordering of this name, is known.
static lac_status supernodes_make(lac_context *ctx, const lac_structure *structure, const int32_t *match,
                                  const lac_graph *graph, const lac_elimination *e, const char *ordering,
                                  lac_supernodes **out) {
  lac_status status = LAC_OK;
  lac_supernodes *s = NULL;

  LAC_ALLOC(s, 1);
  lac_object_init(&s->object, &supernodes_kind);
  s->ordering = ordering;
  LAC_TRY(supernodes_build(ctx, structure, match, graph, e, s));
  *out = s, s = NULL;
done:
  lac_object_release(s);
  return status;
}

lac_status lac_supernodes_create(lac_context *ctx, const lac_structure *structure, const int32_t *match,
                                 lac_ordering ordering, lac_supernodes **out) {
  lac_status status = LAC_OK;
  lac_graph graph = {0};
  lac_elimination e = {0};
  const char *taken = NULL;

  LAC_TRY(lac_graph_init(ctx, structure, match, &graph));
  LAC_TRY(lac_order_graph(ctx, &graph, ordering, &e, &taken));
  LAC_TRY(supernodes_make(ctx, structure, match, &graph, &e, taken, out));
done:
  lac_elimination_clear(&e);
  lac_graph_clear(&graph);
  return status;
}

lac_status lac_supernodes_create_outlined(lac_context *ctx, const lac_structure *structure, const lac_outline *outline,
                                          lac_supernodes **out) {
  lac_status status = LAC_OK;
  lac_graph graph = {0};
  lac_elimination e = {0};

  LAC_TRY(lac_graph_init(ctx, structure, NULL, &graph));
  LAC_TRY(lac_elimination_init(ctx, &graph, outline->order, &e));
  LAC_TRY(supernodes_make(ctx, structure, NULL, &graph, &e, outline->ordering, out));
done:
  lac_elimination_clear(&e);
  lac_graph_clear(&graph);
  return status;
}

lac_status lac_supernodes_create_paired(lac_context *ctx, const lac_structure *structure, const int32_t *mate,
                                        lac_ordering ordering, lac_supernodes **out) {
  lac_status status = LAC_OK;
  lac_graph graph = {0}, joined = {0};
  lac_elimination e = {0};
  const char *taken = NULL;

  LAC_TRY(lac_graph_init(ctx, structure, NULL, &graph));
  LAC_TRY(lac_order_pairs(ctx, &graph, mate, ordering, &joined, &e, &taken));
  LAC_TRY(supernodes_make(ctx, structure, NULL, &joined, &e, taken, out));
done:
  lac_elimination_clear(&e);
  lac_graph_clear(&joined);
  lac_graph_clear(&graph);
  return status;
}

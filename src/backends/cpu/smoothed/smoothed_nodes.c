// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_nodes.c
/// Aggregates of nodes: runs of rows that stay together because they share near-null vectors.
///
///     nodes I, J are strong neighbours where |A_IJ| > theta sqrt(|A_II| |A_JJ|), |.| the sum of the moduli of a block

#include <math.h>
#include <string.h>

#include "backends/cpu/smoothed/smoothed.h"

/// What the graph is made of.
typedef struct node_view {
  const lac_rows *rows;
  lac_dtype dtype;
  int64_t items, nnz, nodes;
  const void *values;
  const lac_buffer *node;
} node_view;

/// The graph of nodes: 64-bit rows, sizes of blocks and their kinds.
typedef struct node_graph {
  int64_t *offsets, *columns;
  double *sizes;
  uint8_t *kinds;
  int64_t *node_of, *mark;
} node_graph;

static void graph_close(node_graph *g) {
  lac_free(g->offsets), lac_free(g->columns), lac_free(g->sizes);
  lac_free(g->kinds), lac_free(g->node_of), lac_free(g->mark);
}

static double number_size(lac_dtype dtype, const void *x, int64_t i) {
  switch (dtype) {
    case LAC_F32:
      return fabs((double)((const f32 *)x)[i]);
    case LAC_F64:
      return fabs(((const f64 *)x)[i]);
    case LAC_C64:
      return cabs((c128)((const c64 *)x)[i]);
    default:
      return cabs(((const c128 *)x)[i]);
  }
}

/// The size of entry p, of all matrices together.
static double entry_size(const node_view *v, int64_t p) {
  double sum = 0;
  for (int64_t item = 0; item < v->items; ++item) sum += number_size(v->dtype, v->values, item * v->nnz + p);
  return sum;
}

/// Block sizes of one row of nodes behind the others; returns how many entries there are by then.
static int64_t graph_row(node_graph *g, const node_view *v, int64_t row) {
  const lac_buffer *offsets = v->rows->offsets;
  int64_t count = g->offsets[row], end = lac_buffer_get(v->node, row + 1);
  for (int64_t i = lac_buffer_get(v->node, row); i < end; ++i) {
    for (int64_t p = lac_buffer_get(offsets, i); p < lac_buffer_get(offsets, i + 1); ++p) {
      int64_t other = g->node_of[lac_buffer_get(v->rows->columns, p)];
      if (g->mark[other] < g->offsets[row]) {
        g->mark[other] = count;
        g->columns[count] = other;
        g->sizes[count++] = 0;
      }
      g->sizes[g->mark[other]] += entry_size(v, p);
    }
  }
  return count;
}

static void graph_strengths(node_graph *g, int64_t nodes, double theta) {
  double *own = (double *)g->mark;  // sizes of the diagonal blocks; the marks are done with
  for (int64_t i = 0; i < nodes; ++i) {
    double size = 0;
    for (int64_t p = g->offsets[i]; p < g->offsets[i + 1]; ++p) size = g->columns[p] == i ? g->sizes[p] : size;
    own[i] = sqrt(size);
  }
  for (int64_t i = 0; i < nodes; ++i) {
    for (int64_t p = g->offsets[i]; p < g->offsets[i + 1]; ++p) {
      bool strong = g->sizes[p] > theta * own[i] * own[g->columns[p]];
      g->kinds[p] = g->columns[p] == i ? LAC_ENTRY_DIAGONAL : strong ? LAC_ENTRY_STRONG : LAC_ENTRY_WEAK;
    }
  }
}

static lac_status graph_open(lac_context *ctx, const node_view *v, double theta, node_graph *g) {
  lac_status status = LAC_OK;

  LAC_ALLOC(g->offsets, v->nodes + 1);
  LAC_ALLOC(g->columns, v->nnz);
  LAC_ALLOC(g->sizes, v->nnz);
  LAC_ALLOC(g->kinds, v->nnz);
  LAC_ALLOC(g->node_of, v->rows->rows);
  LAC_ALLOC(g->mark, v->nodes);
  for (int64_t n = 0; n < v->nodes; ++n) {
    g->mark[n] = -1;
    for (int64_t i = lac_buffer_get(v->node, n); i < lac_buffer_get(v->node, n + 1); ++i) g->node_of[i] = n;
  }
  for (int64_t n = 0; n < v->nodes; ++n) g->offsets[n + 1] = graph_row(g, v, n);
  graph_strengths(g, v->nodes, theta);
done:
  return status;
}

/// Aggregates of the graph's nodes, handed on to their rows.
lac_status cpu_smoothed_aggregate_nodes(lac_context *ctx, const lac_rows *rows, int64_t items, const lac_array *values,
                                        double theta, const lac_buffer *node, lac_buffer **out, lac_array *found) {
  lac_status status = LAC_OK;
  node_view v = {rows, values->meta.dtype, items, rows->columns->count, node->count - 1, cpu_data(values), node};
  node_graph g = {0};
  cpu_sparse a = {v.nodes, v.nodes, 0, LAC_WIDTH_64_64, NULL, NULL, NULL};
  int64_t *of_node = NULL, count = 0;
  lac_buffer *member = NULL;

  LAC_ALLOC(of_node, v.nodes);
  LAC_TRY(lac_buffer_create(ctx, rows->columns->type, rows->rows, &member));
  LAC_TRY(graph_open(ctx, &v, theta, &g));
  a.nnz = g.offsets[v.nodes], a.offsets = g.offsets, a.columns = g.columns;
  LAC_TRY(cpu_aggregate_rows(ctx, LAC_F64, &a, g.sizes, g.kinds, of_node, &count));
  for (int64_t i = 0; i < rows->rows; ++i) lac_buffer_set(member, i, of_node[g.node_of[i]]);
  *(double *)cpu_edit(found) = (double)count;
  *out = member, member = NULL;
done:
  graph_close(&g);
  lac_object_release(member);
  lac_free(of_node);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_nodes.c
/// Aggregates, of rows or of nodes: runs of rows that stay together because they share near-null vectors.
///
///     nodes I, J are strong neighbours where |A_IJ| > theta sqrt(|A_II| |A_JJ|), |.| the sum of the moduli of a block
///
/// Rows stand for themselves where there is one near-null vector; then the matrix itself is the graph.

#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "solvers/precondition/multigrid/smoothed/smoothed.h"

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
static double entry_size(lac_dtype dtype, int64_t items, int64_t nnz, const void *values, int64_t p) {
  double sum = 0;
  for (int64_t item = 0; item < items; ++item) sum += number_size(dtype, values, item * nnz + p);
  return sum;
}

/// Block sizes of one row of nodes behind the others; returns how many entries there are by then.
static int64_t graph_row(node_graph *g, const smoothed_structure *level, lac_dtype dtype, int64_t items,
                         const void *values, const int64_t *node, int64_t row) {
  const lac_pattern *pattern = level->pattern;
  int64_t count = g->offsets[row];
  for (int64_t i = node[row]; i < node[row + 1]; ++i) {
    for (int64_t p = lac_buffer_get(pattern->offsets, i); p < lac_buffer_get(pattern->offsets, i + 1); ++p) {
      int64_t other = g->node_of[lac_buffer_get(pattern->columns, p)];
      if (g->mark[other] < g->offsets[row]) {
        g->mark[other] = count;
        g->columns[count] = other;
        g->sizes[count++] = 0;
      }
      g->sizes[g->mark[other]] += entry_size(dtype, items, pattern->nnz, values, p);
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

static lac_status graph_open(lac_context *ctx, const smoothed_structure *level, lac_dtype dtype, int64_t items,
                             const void *values, double theta, int64_t nodes, const int64_t *node, node_graph *g) {
  lac_status status = LAC_OK;

  LAC_ALLOC(g->offsets, nodes + 1);
  LAC_ALLOC(g->columns, level->pattern->nnz);
  LAC_ALLOC(g->sizes, level->pattern->nnz);
  LAC_ALLOC(g->kinds, level->pattern->nnz);
  LAC_ALLOC(g->node_of, level->pattern->rows);
  LAC_ALLOC(g->mark, nodes);
  for (int64_t n = 0; n < nodes; ++n) {
    g->mark[n] = -1;
    for (int64_t i = node[n]; i < node[n + 1]; ++i) g->node_of[i] = n;
  }
  for (int64_t n = 0; n < nodes; ++n) g->offsets[n + 1] = graph_row(g, level, dtype, items, values, node, n);
  graph_strengths(g, nodes, theta);
done:
  return status;
}

/// Aggregates of the graph's nodes, told to their rows.
static lac_status aggregate_nodes(lac_context *ctx, lac_dtype dtype, int64_t items, const void *values, double theta,
                                  int64_t nodes, const int64_t *node, smoothed_structure *level) {
  lac_status status = LAC_OK;
  node_graph g = {0};
  lac_sparse a = {nodes, nodes, 0, LAC_WIDTH_64_64, NULL, NULL, NULL};
  int64_t *member = NULL;

  LAC_ALLOC(member, nodes);
  LAC_TRY(graph_open(ctx, level, dtype, items, values, theta, nodes, node, &g));
  a.nnz = g.offsets[nodes], a.offsets = g.offsets, a.columns = g.columns;
  LAC_TRY(ctx->kernels->smoothed->aggregate(ctx, LAC_F64, &a, g.sizes, g.kinds, member, &level->aggregates.count));
  for (int64_t i = 0; i < level->a.rows; ++i)
    smoothed_set_index(level->a.width, level->member, i, member[g.node_of[i]]);
done:
  graph_close(&g);
  lac_free(member);
  return status;
}

lac_status smoothed_aggregate(lac_context *ctx, lac_dtype dtype, int64_t items, const void *values, double theta,
                              int64_t nodes, const int64_t *node, smoothed_structure *level) {
  lac_status status = LAC_OK;
  const lac_smoothed_kernels *kernels = ctx->kernels->smoothed;
  size_t rows = (size_t)level->a.rows;

  LAC_ALLOC(level->kinds, level->a.nnz);
  level->member = lac_alloc(rows * smoothed_column_size(level->a.width));
  LAC_CHECK(level->member, LAC_ERR_MEMORY, "out of memory: %zu rows", rows);
  // Rows of nodes are all smoothed by: a weak entry on the diagonal would spoil the other near-null vectors.
  LAC_TRY(kernels->strength(ctx, dtype, &level->a, items, values, node ? 0 : theta, level->kinds, &level->weak));
  if (node) {
    LAC_TRY(aggregate_nodes(ctx, dtype, items, values, theta, nodes, node, level));
  } else {
    LAC_TRY(kernels->aggregate(ctx, dtype, &level->a, values, level->kinds, level->member, &level->aggregates.count));
  }
  level->aggregates.columns = level->aggregates.count;
  level->aggregates.m = 1;
  level->aggregates.member = level->member;
done:
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file ordering_columns.c
/// The order of columns for LU that may take its pivots from any row: minimum degree on the graph of A^T A, which is
/// never formed, after columns with one entry left.
///
/// Eliminating such columns first fills nothing in, and lays bare the next ones: the matrix becomes [U11 U12; 0 A22]
/// with U11 upper triangular, by permutations alone. A triangular matrix in disguise is taken apart completely.

#include "solvers/direct/order/amd.h"
#include "solvers/direct/order/ordering.h"

// Take row i out: its columns have one entry less, and those with one left join the queue.
static int32_t singletons_drop_row(const lac_structure *s, int32_t i, int32_t *left, int32_t *order, int32_t queued) {
  for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
    int32_t j = s->columns[p];
    if (--left[j] == 1) order[queued++] = j;
  }
  return queued;
}

// Their number, and they at the begin of `order`. `left` becomes -1 for them, and `is_gone` (all false before) true for
// their rows.
static int32_t columns_singletons(const lac_structure *s, int32_t *left, bool *is_gone, int32_t *order) {
  int32_t queued = 0, taken = 0;

  for (int32_t j = 0; j < s->n; j++) {
    left[j] = (int32_t)(s->t_offsets[j + 1] - s->t_offsets[j]);
    if (left[j] == 1) order[queued++] = j;
  }
  for (int32_t next = 0; next < queued; next++) {
    int32_t j = order[next];
    if (left[j] == 0)
      continue;  // another singleton took its row: the matrix is singular, which the elimination will say
    int64_t q = s->t_offsets[j];
    while (is_gone[s->t_rows[q]]) q++;
    is_gone[s->t_rows[q]] = true;
    queued = singletons_drop_row(s, s->t_rows[q], left, order, queued);
    left[j] = -1;
    order[taken++] = j;
  }
  return taken;
}

// Node n + i is row i of A: the clique of its columns. Rows of singletons are no longer there.
static void columns_load_elements(amd *g, const lac_structure *s, const int32_t *left, const bool *is_gone) {
  int32_t dense = lac_amd_dense(g->n);
  for (int32_t j = 0; j < g->n; j++) {
    if (left[j] < 0) g->node[j].degree = -1;
    if (left[j] < 0 || s->t_offsets[j + 1] - s->t_offsets[j] > dense) g->weight[j] = 0;
  }
  for (int32_t i = 0; i < g->n; i++) {
    int32_t e = g->n + i;
    g->node[e].start = g->used;
    if (is_gone[i] || s->offsets[i + 1] - s->offsets[i] > dense) continue;
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      if (g->weight[s->columns[p]] > 0) g->list[g->used++] = s->columns[p];
    }
    g->node[e].length = g->node[e].degree = (int32_t)(g->used - g->node[e].start);
    g->stamp[e] = g->node[e].length > 1;
  }
}

static void columns_load(amd *g, const lac_structure *s) {
  for (int32_t j = 0; j < g->n; j++) {
    int64_t degree = 0;
    g->node[j].start = g->used;
    if (g->weight[j] == 0) continue;
    for (int64_t q = s->t_offsets[j]; q < s->t_offsets[j + 1]; q++) {
      int32_t e = g->n + s->t_rows[q];
      if (g->stamp[e] == 0) continue;
      g->list[g->used++] = e;
      degree += g->node[e].degree - 1;
    }
    g->node[j].length = g->node[j].elements = (int32_t)(g->used - g->node[j].start);
    g->node[j].degree = degree < g->n - 1 ? (int32_t)degree : g->n - 1;
  }
}

lac_status lac_order_columns(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, int32_t *order) {
  lac_status status = LAC_OK;
  amd g = {0};
  bool *is_gone = NULL;
  int32_t *left = NULL, singletons;

  if (ordering == LAC_ORDER_METIS) return lac_order_symmetric(ctx, structure, ordering, order);
  if (ordering == LAC_ORDER_NATURAL) {
    for (int32_t k = 0; k < structure->n; k++) order[k] = k;
    return LAC_OK;
  }
  LAC_TRY(lac_amd_init(ctx, &g, structure->n, structure->n, 2 * structure->nnz));
  LAC_ALLOC(left, structure->n);
  LAC_ALLOC(is_gone, structure->n);
  singletons = columns_singletons(structure, left, is_gone, order);
  columns_load_elements(&g, structure, left, is_gone);
  columns_load(&g, structure);
  LAC_TRY(lac_amd_run(ctx, &g, singletons, order));
done:
  lac_free(left);
  lac_free(is_gone);
  lac_amd_clear(&g);
  return status;
}

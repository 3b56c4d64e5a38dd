// SPDX-License-Identifier: Apache-2.0
/// @file outline.c
/// Outlines are kept with their structure: the choice of a method looks at them, and the method goes on from there.

#include "solvers/direct/order/outline.h"

#include "solvers/direct/order/block_form.h"

void lac_outline_destroy(lac_outline *outline) {
  if (!outline) return;
  lac_free(outline->order);
  lac_free(outline->row_of);
  lac_free(outline);
}

int64_t lac_outline_bytes(const lac_outline *outline) {
  if (!outline) return 0;
  int arrays = 1 + (outline->row_of != NULL);
  return (int64_t)sizeof *outline + (int64_t)arrays * outline->n * (int64_t)sizeof *outline->order;
}

// The rows of the block triangular form, whose diagonal has no gaps; `match` has the column of each.
static lac_status outline_match(lac_context *ctx, const lac_block_form *form, int32_t **match, int32_t **row_of) {
  lac_status status = LAC_OK;

  LAC_ROOM(*match, form->n);
  LAC_ROOM(*row_of, form->n);
  for (int32_t k = 0; k < form->n; k++) {
    (*match)[form->rows[k]] = form->cols[k];
    (*row_of)[form->cols[k]] = form->rows[k];
  }
done:
  return status;
}

static lac_status outline_create(lac_context *ctx, const lac_structure *s, lac_ordering ordering, lac_outline **out) {
  lac_status status = LAC_OK;
  const lac_block_form *form = NULL;
  lac_outline *outline = NULL;
  lac_graph graph = {0};
  int32_t *match = NULL;

  LAC_ALLOC(outline, 1);
  outline->n = (int32_t)s->n;
  if (!s->is_symmetric) {
    LAC_TRY(lac_block_form_get(ctx, s, &form));
    if (form->rank < form->n) goto done;
    if (lac_block_form_pays(form)) outline->form = form;
    if (s->diagonals < s->n) LAC_TRY(outline_match(ctx, form, &match, &outline->row_of));
  }
  if (outline->form) {
    LAC_TRY(lac_graph_init_parts(ctx, s, match, outline->form->block, outline->form->first, &graph));
  } else {
    LAC_TRY(lac_graph_init(ctx, s, match, &graph));
  }
  outline->below = s->nnz - graph.inside;
  LAC_ROOM(outline->order, s->n);
  LAC_TRY(lac_order_find(ctx, &graph, ordering, outline->order, &outline->cost, &outline->ordering));
  *out = outline, outline = NULL;
done:
  lac_graph_clear(&graph);
  lac_free(match);
  lac_outline_destroy(outline);
  return status;
}

lac_status lac_outline_get(lac_context *ctx, const lac_structure *structure, lac_ordering ordering,
                           const lac_outline **out) {
  lac_status status = LAC_OK;
  lac_structure *keeper = (lac_structure *)structure;  // what it keeps is filled once, whoever is first
  lac_outline *outline = atomic_load(&keeper->outlines[ordering]), *made = NULL;

  if (!outline) {
    LAC_TRY(outline_create(ctx, structure, ordering, &made));
    if (atomic_compare_exchange_strong(&keeper->outlines[ordering], &outline, made)) outline = made, made = NULL;
  }
  *out = outline;
done:
  lac_outline_destroy(made);
  return status;
}

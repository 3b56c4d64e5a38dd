// SPDX-License-Identifier: Apache-2.0
/// @file pairwise.c
/// Multigrid by pairwise aggregation with a K-cycle: M^-1 b is one cycle over the hierarchy of hierarchy.h.

#include <stdio.h>

#include "solvers/precondition/multigrid/pairwise/hierarchy.h"

static lac_status pairwise_create(lac_context *ctx, const lac_setup *setup, void **part) {
  lac_hierarchy *made = NULL;
  lac_status status = lac_hierarchy_create(ctx, setup, NULL, &made);
  if (status == LAC_OK) *part = made;
  return status;
}

static lac_status pairwise_refresh(lac_context *ctx, const lac_setup *setup, const void *like, void **part) {
  lac_hierarchy *made = NULL;
  lac_status status = lac_hierarchy_create(ctx, setup, ((const lac_hierarchy *)like)->levels, &made);
  if (status == LAC_OK) *part = made;
  return status;
}

static lac_status pairwise_apply(lac_context *ctx, const void *part, lac_form form, const lac_array *b, lac_array *x) {
  return lac_hierarchy_cycle(ctx, part, form, b, x);
}

static int64_t array_bytes(const lac_array *x) { return x ? x->count * (int64_t)lac_dtype_size(x->meta.dtype) : 0; }

static int64_t buffer_bytes(const lac_buffer *b) { return b ? b->count * (b->type == LAC_I32 ? 4 : 8) : 0; }

static int64_t slices_bytes(const lac_slices *s) {
  return s ? buffer_bytes(s->firsts) + buffer_bytes(s->lists) + buffer_bytes(s->starts) : 0;
}

/// What a level holds; of the finest not the matrix, which is the caller's.
static int64_t level_bytes(const lac_hierarchy *h, int l) {
  const lac_levels *levels = h->levels;
  const lac_aggregation *a = &levels->aggregates[l];
  int64_t bytes =
      array_bytes(h->weights[l]) + buffer_bytes(a->aggregates) + buffer_bytes(a->starts) + buffer_bytes(a->members);
  bytes += buffer_bytes(a->firsts) + buffer_bytes(a->shapes);
  if (l > 0)
    bytes += array_bytes(h->values[l]) + buffer_bytes(levels->patterns[l]->offsets) +
             buffer_bytes(levels->patterns[l]->columns) + slices_bytes(levels->slices[l]);
  if (l + 1 == levels->count) bytes += array_bytes(h->inverse);
  return bytes;
}

static void pairwise_report(const void *part, lac_setup_figures *finding) {
  const lac_hierarchy *h = part;
  int64_t entries = 0, first = h->levels->patterns[0]->nnz;
  *finding = (lac_setup_figures){.levels = h->levels->count};
  for (int l = 0; l < h->levels->count; ++l) {
    entries += h->levels->patterns[l]->nnz;
    finding->bytes += level_bytes(h, l);
  }
  finding->complexity = first > 0 ? (double)entries / (double)first : 1;
}

static lac_status pairwise_describe(lac_context *ctx, const void *part, char **text) {
  enum { LINE = 80 };
  lac_status status = LAC_OK;
  const lac_hierarchy *h = part;
  size_t room = (size_t)(h->levels->count + 1) * LINE, at = 0;
  char *made = NULL;

  LAC_ALLOC(made, room);
  at += (size_t)snprintf(made, room, "%5s %12s %14s %14s  %s\n", "level", "rows", "entries", "bytes", "solved by");
  for (int l = 0; l < h->levels->count; ++l) {
    const lac_pattern *p = h->levels->patterns[l];
    bool is_inverted = l + 1 == h->levels->count && h->inverse;
    at += (size_t)snprintf(made + at, room - at, "%5d %12lld %14lld %14lld  %s\n", l, (long long)p->rows,
                           (long long)p->nnz, (long long)level_bytes(h, l),
                           is_inverted ? "dense inverse" : "Jacobi and pairs");
  }
  *text = made;
done:
  return status;
}

static void pairwise_destroy(void *part) { lac_hierarchy_destroy(part); }

extern const lac_preconditioner_table lac_preconditioner_pairwise;  // multigrid.c
const lac_preconditioner_table lac_preconditioner_pairwise = {
    .name = "pairwise",
    .create = pairwise_create,
    .refresh = pairwise_refresh,
    .apply = pairwise_apply,
    .report = pairwise_report,
    .describe = pairwise_describe,
    .destroy = pairwise_destroy,
};

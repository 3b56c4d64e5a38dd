// SPDX-License-Identifier: Apache-2.0
/// @file pattern_pair.c
/// The union (A + B) and the intersection (A .* B) of two patterns, kept as plans for the pair: row i of A and row i of
/// B are merged, and every column stays, or those that both have.
///
/// It is done twice, first to count and then to fill. Rows are independent: the number of threads changes nothing.
/// Where a backend builds patterns on its device, a union is built there, of the entries of both, and an
/// intersection selected.

#include "core/pattern/structure.h"

lac_status lac_pair_check(lac_context *ctx, const char *function, const lac_pattern *a, const lac_pattern *b,
                          lac_pattern **out) {
  lac_status status = LAC_OK;
  LAC_CHECK(out, LAC_ERR_ARG, "%s: out is NULL", function);
  LAC_TRY(lac_pattern_require_scalar(ctx, a, function));
  LAC_TRY(lac_pattern_require_scalar(ctx, b, function));
done:
  return status;
}

lac_status lac_pair_host(lac_context *ctx, const lac_pattern *a, const lac_pattern *b) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_pattern_host(ctx, a));
  LAC_TRY(lac_pattern_host(ctx, b));
done:
  return status;
}

lac_width lac_pair_width_asked(const lac_pattern *a, const lac_pattern *b) {
  lac_width wider = a->width > b->width ? a->width : b->width;
  return wider == LAC_WIDTH_32_32 ? LAC_WIDTH_AUTO : wider;
}

lac_status lac_pair_width(lac_context *ctx, const char *function, const lac_pattern *a, const lac_pattern *b,
                          int64_t rows, int64_t cols, int64_t nnz, lac_width *out) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_width_choose(ctx, function, LAC_WIDTH_AUTO, rows, cols, nnz, out));
  if (a->width > *out) *out = a->width;
  if (b->width > *out) *out = b->width;
done:
  return status;
}

// -- merging ---------------------------------------------------------------------------------------------------------

/// What is kept of two rows, and the function that asks for it.
typedef struct merge_kind {
  const char *purpose, *function;
  bool keeps_all;  // or only what both have
} merge_kind;

static const merge_kind merge_union = {"union", "lac_pattern_union", true};
static const merge_kind merge_intersection = {"intersection", "lac_pattern_intersection", false};

typedef struct merge_parts {
  const lac_pattern *a, *b;
  bool keeps_all;
  lac_buffer *offsets, *columns;
  lac_buffer *from_a, *from_b;
} merge_parts;

static void merge_close(merge_parts *m) {
  lac_object_release(m->offsets);
  lac_object_release(m->columns);
  lac_object_release(m->from_a);
  lac_object_release(m->from_b);
}

/// Merge row i; with `fills`, write what is kept from `slot` on. Returns how many entries that are.
static int64_t merge_row(const merge_parts *m, int64_t i, int64_t slot, bool fills) {
  int64_t p = lac_buffer_get(m->a->offsets, i), p_end = lac_buffer_get(m->a->offsets, i + 1);
  int64_t q = lac_buffer_get(m->b->offsets, i), q_end = lac_buffer_get(m->b->offsets, i + 1);
  int64_t first = slot;

  while (p < p_end || q < q_end) {
    int64_t in_a = p < p_end ? lac_buffer_get(m->a->columns, p) : INT64_MAX;
    int64_t in_b = q < q_end ? lac_buffer_get(m->b->columns, q) : INT64_MAX;
    int64_t column = in_a < in_b ? in_a : in_b;
    bool kept = m->keeps_all || in_a == in_b;
    if (fills) {
      if (kept) lac_buffer_set(m->columns, slot, column);
      if (in_a == column) lac_buffer_set(m->from_a, p, kept ? slot : -1);
      if (in_b == column) lac_buffer_set(m->from_b, q, kept ? slot : -1);
    }
    slot += kept;
    p += in_a == column;
    q += in_b == column;
  }
  return slot - first;
}

static lac_status merge_fill(lac_context *ctx, merge_parts *m, lac_width width, const int64_t *begin) {
  lac_status status = LAC_OK;
  int64_t rows = m->a->rows;
  int threads = lac_structure_threads(ctx);

  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), rows + 1, &m->offsets));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), begin[rows], &m->columns));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), m->a->nnz, &m->from_a));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), m->b->nnz, &m->from_b));
  lac_buffer_set(m->offsets, rows, begin[rows]);
#pragma omp parallel for num_threads(threads) schedule(static) if (m->a->nnz + m->b->nnz > 1 << 14)
  for (int64_t i = 0; i < rows; ++i) {
    lac_buffer_set(m->offsets, i, begin[i]);
    (void)merge_row(m, i, begin[i], true);
  }
done:
  return status;
}

/// A pattern that is a or b is not held by the plan: it is found by the map that is the identity.
static lac_status merge_keep(lac_context *ctx, merge_parts *m, lac_width width, lac_pair_plan *plan) {
  lac_status status = LAC_OK;
  const lac_pattern *a = m->a, *b = m->b;
  int64_t nnz = m->columns->count;

  if (nnz != a->nnz && nnz != b->nnz)
    LAC_TRY(lac_pattern_adopt(ctx, a->rows, a->cols, width, &m->offsets, &m->columns, &plan->pattern));
  LAC_TRY(lac_map_adopt_injective(ctx, nnz, &m->from_a, &plan->from_a));
  LAC_TRY(lac_map_adopt_injective(ctx, nnz, &m->from_b, &plan->from_b));
done:
  return status;
}

static lac_status merge_make(lac_context *ctx, const merge_kind *kind, const lac_pattern *a, const lac_pattern *b,
                             lac_pair_plan *plan) {
  lac_status status = LAC_OK;
  merge_parts m = {.a = a, .b = b, .keeps_all = kind->keeps_all};
  int64_t *begin = NULL;
  lac_width width = LAC_WIDTH_AUTO;
  int threads = lac_structure_threads(ctx);

  LAC_TRY(lac_pair_host(ctx, a, b));
  LAC_ALLOC(begin, a->rows + 1);
#pragma omp parallel for num_threads(threads) schedule(static) if (a->nnz + b->nnz > 1 << 14)
  for (int64_t i = 0; i < a->rows; ++i) begin[i + 1] = merge_row(&m, i, 0, false);
  for (int64_t i = 0; i < a->rows; ++i) begin[i + 1] += begin[i];
  LAC_TRY(lac_pair_width(ctx, kind->function, a, b, a->rows, a->cols, begin[a->rows], &width));
  LAC_TRY(merge_fill(ctx, &m, width, begin));
  LAC_TRY(merge_keep(ctx, &m, width, plan));
done:
  lac_free(begin);
  merge_close(&m);
  return status;
}

// -- building the union on a device ----------------------------------------------------------------------------------

/// The entries of a and then those of b, by coordinates, in buffers that the caller releases.
static lac_status union_entries(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_entries *e,
                                lac_buffer *coordinates[2]) {
  lac_status status = LAC_OK;
  const lac_structure_kernels *structure = lac_structure_of(ctx);
  const lac_buffer *rows_of[2] = {NULL, NULL};
  lac_index_type type = a->columns->type > b->columns->type ? a->columns->type : b->columns->type;

  LAC_TRY(lac_pattern_rows_of(ctx, a, &rows_of[0]));
  LAC_TRY(lac_pattern_rows_of(ctx, b, &rows_of[1]));
  LAC_TRY(structure->join(ctx, rows_of[0], rows_of[1], type, &coordinates[0]));
  LAC_TRY(structure->join(ctx, a->columns, b->columns, type, &coordinates[1]));
  *e = (lac_entries){.rows = a->rows, .cols = a->cols, .count = a->nnz + b->nnz};
  e->row.type = e->col.type = type;
  LAC_TRY(lac_buffer_on(ctx, coordinates[0], &e->row.data));
  LAC_TRY(lac_buffer_on(ctx, coordinates[1], &e->col.data));
done:
  return status;
}

static lac_status union_build(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pair_plan *plan) {
  lac_status status = LAC_OK;
  const lac_structure_kernels *structure = lac_structure_of(ctx);
  merge_parts m = {.a = a, .b = b};
  lac_buffer *coordinates[2] = {NULL, NULL}, *target = NULL;
  lac_width width = lac_pair_width_asked(a, b);
  lac_index_type type;
  lac_entries e;

  LAC_TRY(union_entries(ctx, a, b, &e, coordinates));
  LAC_TRY(structure->build(ctx, merge_union.function, &e, &width, &m.offsets, &m.columns, &target));
  type = lac_width_offsets(width);
  LAC_TRY(structure->part(ctx, target, 0, a->nnz, type, &m.from_a));
  LAC_TRY(structure->part(ctx, target, a->nnz, b->nnz, type, &m.from_b));
  LAC_TRY(merge_keep(ctx, &m, width, plan));
done:
  lac_object_release(coordinates[0]);
  lac_object_release(coordinates[1]);
  lac_object_release(target);
  merge_close(&m);
  return status;
}

static lac_status merge_make_union(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pair_plan *plan) {
  return lac_structure_of(ctx) ? union_build(ctx, a, b, plan) : merge_make(ctx, &merge_union, a, b, plan);
}

/// Entries of a that b has, and those of b that a has: both in the order of slots, and so the same ones.
static lac_status intersection_select(lac_context *ctx, const lac_pattern *a, const lac_pattern *b,
                                      lac_pair_plan *plan) {
  lac_status status = LAC_OK;
  const lac_structure_kernels *structure = lac_structure_of(ctx);
  const lac_window in_b = {.row1 = a->rows, .col1 = a->cols, .other = b},
                   in_a = {.row1 = a->rows, .col1 = a->cols, .other = a};
  merge_parts m = {.a = a, .b = b};
  lac_width width = LAC_WIDTH_AUTO;

  LAC_TRY(lac_pair_width(ctx, merge_intersection.function, a, b, a->rows, a->cols, 0, &width));
  LAC_TRY(structure->select(ctx, a, &in_b, width, &m.offsets, &m.columns, &m.from_a));
  LAC_TRY(structure->select(ctx, b, &in_a, width, NULL, NULL, &m.from_b));
  LAC_TRY(merge_keep(ctx, &m, width, plan));
done:
  merge_close(&m);
  return status;
}

static lac_status merge_make_intersection(lac_context *ctx, const lac_pattern *a, const lac_pattern *b,
                                          lac_pair_plan *plan) {
  return lac_structure_of_pair(ctx, a, b) ? intersection_select(ctx, a, b, plan)
                                          : merge_make(ctx, &merge_intersection, a, b, plan);
}

static lac_status merge_with_itself(lac_context *ctx, const lac_pattern *a, lac_pattern **out, lac_map **from_a,
                                    lac_map **from_b) {
  lac_status status = LAC_OK;
  lac_map *identity = NULL;

  LAC_TRY(lac_pattern_identity(ctx, a, &identity));
  if (from_a) *from_a = lac_map_retain(identity);
  if (from_b) *from_b = lac_map_retain(identity);
  *out = lac_pattern_retain(a);
done:
  lac_map_destroy(&identity);
  return status;
}

static lac_status merge_get(lac_context *ctx, const merge_kind *kind, const lac_pattern *a, const lac_pattern *b,
                            lac_pattern **out, lac_map **from_a, lac_map **from_b) {
  lac_status status = LAC_OK;
  lac_pair_plan *plan = NULL;

  LAC_TRY(lac_pair_check(ctx, kind->function, a, b, out));
  LAC_CHECK(a->rows == b->rows && a->cols == b->cols, LAC_ERR_SHAPE,
            "%s: a is %lld x %lld and b is %lld x %lld; both must have the same shape", kind->function,
            (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols);
  if (a == b) {
    LAC_TRY(merge_with_itself(ctx, a, out, from_a, from_b));
    goto done;
  }
  LAC_TRY(
      lac_pair_plan_get(ctx, kind->purpose, a, b, kind->keeps_all ? merge_make_union : merge_make_intersection, &plan));
  if (from_a) *from_a = lac_map_retain(plan->from_a);
  if (from_b) *from_b = lac_map_retain(plan->from_b);
  *out = lac_pattern_retain(plan->pattern ? plan->pattern : plan->from_a->is_identity ? a : b);
done:
  lac_object_release(plan);
  return status;
}

lac_status lac_pattern_union(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out,
                             lac_map **from_a, lac_map **from_b) {
  return merge_get(ctx, &merge_union, a, b, out, from_a, from_b);
}

lac_status lac_pattern_intersection(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out,
                                    lac_map **from_a, lac_map **from_b) {
  return merge_get(ctx, &merge_intersection, a, b, out, from_a, from_b);
}

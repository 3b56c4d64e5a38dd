// SPDX-License-Identifier: Apache-2.0
/// @file pattern_pair.c
/// The union of two patterns (A + B), kept as a plan for the pair: row i has the columns of A's row i and of B's row i, merged.
///
/// It is done twice, first to count and then to fill. Rows are independent: the number of threads changes nothing.

#include "core/pattern_impl.h"

static lac_width pair_width(const lac_pattern *a, const lac_pattern *b) {
  return a->width > b->width ? a->width : b->width;
}

/// Turn counts in offsets[1 ...] into offsets; returns their sum.
static int64_t pair_add_up(int64_t *offsets, int64_t rows) {
  offsets[0] = 0;
  for (int64_t i = 0; i < rows; ++i) offsets[i + 1] += offsets[i];
  return offsets[rows];
}

/// The offsets in the integers of a width.
static lac_status pair_offsets(lac_context *ctx, lac_width width, const int64_t *offsets, int64_t rows,
                               lac_buffer **out) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), rows + 1, out));
  for (int64_t i = 0; i <= rows; ++i) lac_buffer_set(*out, i, offsets[i]);
done:
  return status;
}

typedef struct union_parts {
  const lac_pattern *a, *b;
  lac_buffer *offsets, *columns;
  lac_buffer *from_a, *from_b;
} union_parts;

/// Merge row i. With `columns` NULL only count; returns the number of entries.
static int64_t union_row(const union_parts *u, int64_t i, int64_t slot, bool fills) {
  int64_t p = lac_buffer_get(u->a->offsets, i), p_end = lac_buffer_get(u->a->offsets, i + 1);
  int64_t q = lac_buffer_get(u->b->offsets, i), q_end = lac_buffer_get(u->b->offsets, i + 1);
  int64_t first = slot;

  for (; p < p_end || q < q_end; ++slot) {
    int64_t in_a = p < p_end ? lac_buffer_get(u->a->columns, p) : INT64_MAX;
    int64_t in_b = q < q_end ? lac_buffer_get(u->b->columns, q) : INT64_MAX;
    int64_t column = in_a < in_b ? in_a : in_b;
    if (fills) {
      lac_buffer_set(u->columns, slot, column);
      if (in_a == column) lac_buffer_set(u->from_a, p, slot);
      if (in_b == column) lac_buffer_set(u->from_b, q, slot);
    }
    p += in_a == column;
    q += in_b == column;
  }
  return slot - first;
}

static lac_status union_fill(lac_context *ctx, union_parts *u, lac_width width, const int64_t *offsets) {
  lac_status status = LAC_OK;
  int64_t rows = u->a->rows, nnz = offsets[rows];
  int threads = lac_structure_threads(ctx);

  LAC_TRY(pair_offsets(ctx, width, offsets, rows, &u->offsets));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), nnz, &u->columns));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), u->a->nnz, &u->from_a));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), u->b->nnz, &u->from_b));
#pragma omp parallel for num_threads(threads) schedule(static) if (nnz > 1 << 14)
  for (int64_t i = 0; i < rows; ++i) (void)union_row(u, i, offsets[i], true);
done:
  return status;
}

static lac_status union_make(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pair_plan *plan) {
  lac_status status = LAC_OK;
  union_parts u = {.a = a, .b = b};
  int64_t *offsets = NULL;
  int64_t nnz = 0;
  lac_width width = LAC_WIDTH_AUTO;
  int threads = lac_structure_threads(ctx);

  LAC_ALLOC(offsets, a->rows + 1);
#pragma omp parallel for num_threads(threads) schedule(static) if (a->nnz > 1 << 14)
  for (int64_t i = 0; i < a->rows; ++i) offsets[i + 1] = union_row(&u, i, 0, false);
  nnz = pair_add_up(offsets, a->rows);
  LAC_TRY(lac_width_choose(ctx, "lac_pattern_union", LAC_WIDTH_AUTO, a->rows, a->cols, nnz, &width));
  if (pair_width(a, b) > width) width = pair_width(a, b);
  LAC_TRY(union_fill(ctx, &u, width, offsets));
  if (nnz > a->nnz && nnz > b->nnz)  // else the union is a or b, which a plan must not hold
    LAC_TRY(lac_pattern_adopt(ctx, a->rows, a->cols, width, &u.offsets, &u.columns, &plan->pattern));
  LAC_TRY(lac_map_adopt_injective(ctx, nnz, &u.from_a, &plan->from_a));
  LAC_TRY(lac_map_adopt_injective(ctx, nnz, &u.from_b, &plan->from_b));
done:
  lac_free(offsets);
  lac_object_release(u.offsets);
  lac_object_release(u.columns);
  lac_object_release(u.from_a);
  lac_object_release(u.from_b);
  return status;
}

static lac_status union_of_itself(lac_context *ctx, const lac_pattern *a, lac_pattern **out, lac_map **from_a,
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

static lac_status pair_check(lac_context *ctx, const char *function, const lac_pattern *a, const lac_pattern *b,
                             lac_pattern **out) {
  lac_status status = LAC_OK;
  LAC_CHECK(out, LAC_ERR_ARG, "%s: out is NULL", function);
  LAC_TRY(lac_pattern_require_local(ctx, a, function));
  LAC_TRY(lac_pattern_require_local(ctx, b, function));
done:
  return status;
}

lac_status lac_pattern_union(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out,
                             lac_map **from_a, lac_map **from_b) {
  lac_status status = LAC_OK;
  lac_pair_plan *plan = NULL;

  LAC_TRY(pair_check(ctx, "lac_pattern_union", a, b, out));
  LAC_CHECK(a->rows == b->rows && a->cols == b->cols, LAC_ERR_SHAPE,
            "lac_pattern_union: a is %lld x %lld and b is %lld x %lld; both must have the same shape",
            (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols);
  if (a == b) {
    LAC_TRY(union_of_itself(ctx, a, out, from_a, from_b));
    goto done;
  }
  LAC_TRY(lac_pair_plan_get(ctx, "union", a, b, union_make, &plan));
  if (from_a) *from_a = lac_map_retain(plan->from_a);
  if (from_b) *from_b = lac_map_retain(plan->from_b);
  *out = lac_pattern_retain(plan->pattern ? plan->pattern : plan->from_a->is_identity ? a : b);
done:
  lac_object_release(plan);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file pattern_pair.c
/// Patterns of two patterns: the union (A + B) and the product (A B), both kept as plans for the pair.
///
///     union     row i has the columns of A's row i and of B's row i, merged
///     product   row i has the columns of B's rows k over the columns k of A's row i, collected in an index set
///
/// Each is done twice, first to count and then to fill. Rows are independent: the number of threads changes nothing.

#include "core/index_set.h"
#include "core/pattern_impl.h"

#include <omp.h>

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

// -- union -----------------------------------------------------------------------------------------------------------

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

// -- product ---------------------------------------------------------------------------------------------------------

/// Collect the columns of row i.
static void product_row(const lac_pattern *a, const lac_pattern *b, int64_t i, lac_index_set *set) {
  int64_t p_end = lac_buffer_get(a->offsets, i + 1);
  for (int64_t p = lac_buffer_get(a->offsets, i); p < p_end; ++p) {
    int64_t k = lac_buffer_get(a->columns, p), q_end = lac_buffer_get(b->offsets, k + 1);
    for (int64_t q = lac_buffer_get(b->offsets, k); q < q_end; ++q)
      lac_index_set_add(set, lac_buffer_get(b->columns, q));
  }
}

typedef struct product_work {
  const lac_pattern *a, *b;
  int threads;
  lac_index_set *sets;  // one for each thread
} product_work;

enum { PRODUCT_ROWS = 64 };  // rows that a thread takes at a time

/// offsets[i + 1] = entries of row i; with `columns`, write them at offsets[i].
static void product_pass(const product_work *w, int64_t *offsets, lac_buffer *columns) {
  int64_t rows = w->a->rows;
#pragma omp parallel for num_threads(w->threads) schedule(dynamic, PRODUCT_ROWS) if (rows > PRODUCT_ROWS)
  for (int64_t i = 0; i < rows; ++i) {
    lac_index_set *set = &w->sets[omp_get_thread_num()];
    product_row(w->a, w->b, i, set);
    if (columns) {
      lac_index_set_drain(set, columns, offsets[i]);
    } else {
      offsets[i + 1] = set->count;
      lac_index_set_drain(set, NULL, 0);
    }
  }
}

static lac_status product_open(lac_context *ctx, product_work *w) {
  lac_status status = LAC_OK;
  int64_t blocks = w->a->rows / PRODUCT_ROWS + 1;

  w->threads = lac_structure_threads(ctx);
  if (w->threads > blocks) w->threads = (int)blocks;
  LAC_ALLOC(w->sets, w->threads);
  for (int t = 0; t < w->threads; ++t) LAC_TRY(lac_index_set_open(ctx, &w->sets[t], w->b->cols));
done:
  return status;
}

static void product_close(product_work *w) {
  for (int t = 0; w->sets && t < w->threads; ++t) lac_index_set_close(&w->sets[t]);
  lac_free(w->sets);
}

static lac_status product_make(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pair_plan *plan) {
  lac_status status = LAC_OK;
  product_work w = {.a = a, .b = b};
  int64_t *counts = NULL;
  lac_buffer *offsets = NULL, *columns = NULL;
  lac_width width = LAC_WIDTH_AUTO;

  LAC_TRY(product_open(ctx, &w));
  LAC_ALLOC(counts, a->rows + 1);
  product_pass(&w, counts, NULL);
  LAC_TRY(lac_width_choose(ctx, "lac_pattern_product", LAC_WIDTH_AUTO, a->rows, b->cols, pair_add_up(counts, a->rows),
                           &width));
  if (pair_width(a, b) > width) width = pair_width(a, b);
  LAC_TRY(pair_offsets(ctx, width, counts, a->rows, &offsets));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), counts[a->rows], &columns));
  product_pass(&w, counts, columns);
  LAC_TRY(lac_pattern_adopt(ctx, a->rows, b->cols, width, &offsets, &columns, &plan->pattern));
done:
  product_close(&w);
  lac_free(counts);
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

lac_status lac_pattern_product(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out) {
  lac_status status = LAC_OK;
  lac_pair_plan *plan = NULL;

  LAC_TRY(pair_check(ctx, "lac_pattern_product", a, b, out));
  LAC_CHECK(a->cols == b->rows, LAC_ERR_SHAPE,
            "lac_pattern_product: a is %lld x %lld and b is %lld x %lld; a must have as many columns as b has rows",
            (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols);
  LAC_TRY(lac_pair_plan_get(ctx, "product", a, b, product_make, &plan));
  *out = lac_pattern_retain(plan->pattern);
done:
  lac_object_release(plan);
  return status;
}

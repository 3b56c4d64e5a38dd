// SPDX-License-Identifier: Apache-2.0
/// @file pattern_meet.c
/// Patterns of two patterns, kept as plans for the pair: the intersection (A .* B) and the Kronecker product (A x B).
///
///     intersection   row i has the columns that A's row i and B's row i share; entries of one alone are dropped
///     kron           row (i, k) has the columns (j, l), j of A's row i, l of B's row k: its slots are known in closed form,
///
///         offsets[i mb + k] = oa[i] nnz_b + (oa[i + 1] - oa[i]) ob[k]
///
/// The values of A x B are the outer product of the values, entry (p, q) at p nnz_b + q, carried along one map.

#include "core/pattern_impl.h"

static lac_status meet_check(lac_context *ctx, const char *function, const lac_pattern *a, const lac_pattern *b,
                             lac_pattern **out) {
  lac_status status = LAC_OK;
  LAC_CHECK(out, LAC_ERR_ARG, "%s: out is NULL", function);
  LAC_TRY(lac_pattern_require_local(ctx, a, function));
  LAC_TRY(lac_pattern_require_local(ctx, b, function));
done:
  return status;
}

static lac_status meet_width(lac_context *ctx, const char *function, const lac_pattern *a, const lac_pattern *b,
                             int64_t rows, int64_t cols, int64_t nnz, lac_width *out) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_width_choose(ctx, function, LAC_WIDTH_AUTO, rows, cols, nnz, out));
  if (a->width > *out) *out = a->width;
  if (b->width > *out) *out = b->width;
done:
  return status;
}

// -- intersection ----------------------------------------------------------------------------------------------------

typedef struct meet_parts {
  const lac_pattern *a, *b;
  lac_buffer *offsets, *columns;
  lac_buffer *from_a, *from_b;
} meet_parts;

/// Go through row i of both; with `fills`, write what they share from `slot` on. Returns how many entries that are.
static int64_t meet_row(const meet_parts *m, int64_t i, int64_t slot, bool fills) {
  int64_t p = lac_buffer_get(m->a->offsets, i), p_end = lac_buffer_get(m->a->offsets, i + 1);
  int64_t q = lac_buffer_get(m->b->offsets, i), q_end = lac_buffer_get(m->b->offsets, i + 1);
  int64_t first = slot;

  while (p < p_end || q < q_end) {
    int64_t in_a = p < p_end ? lac_buffer_get(m->a->columns, p) : INT64_MAX;
    int64_t in_b = q < q_end ? lac_buffer_get(m->b->columns, q) : INT64_MAX;
    bool shared = in_a == in_b;
    if (fills) {
      if (shared) lac_buffer_set(m->columns, slot, in_a);
      if (in_a <= in_b) lac_buffer_set(m->from_a, p, shared ? slot : -1);
      if (in_b <= in_a) lac_buffer_set(m->from_b, q, shared ? slot : -1);
    }
    slot += shared;
    p += in_a <= in_b;
    q += in_b <= in_a;
  }
  return slot - first;
}

static lac_status meet_fill(lac_context *ctx, meet_parts *m, lac_width width, int64_t *begin) {
  lac_status status = LAC_OK;
  int64_t rows = m->a->rows;
  int threads = lac_structure_threads(ctx);

  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), rows + 1, &m->offsets));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), begin[rows], &m->columns));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), m->a->nnz, &m->from_a));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), m->b->nnz, &m->from_b));
  lac_buffer_set(m->offsets, rows, begin[rows]);
#pragma omp parallel for num_threads(threads) schedule(static) if (m->a->nnz > 1 << 14)
  for (int64_t i = 0; i < rows; ++i) {
    lac_buffer_set(m->offsets, i, begin[i]);
    (void)meet_row(m, i, begin[i], true);
  }
done:
  return status;
}

static lac_status meet_make(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pair_plan *plan) {
  lac_status status = LAC_OK;
  meet_parts m = {.a = a, .b = b};
  int64_t *begin = NULL;
  int64_t nnz = 0;
  lac_width width = LAC_WIDTH_AUTO;
  int threads = lac_structure_threads(ctx);

  LAC_ALLOC(begin, a->rows + 1);
#pragma omp parallel for num_threads(threads) schedule(static) if (a->nnz > 1 << 14)
  for (int64_t i = 0; i < a->rows; ++i) begin[i + 1] = meet_row(&m, i, 0, false);
  for (int64_t i = 0; i < a->rows; ++i) begin[i + 1] += begin[i];
  nnz = begin[a->rows];
  LAC_TRY(meet_width(ctx, "lac_pattern_intersection", a, b, a->rows, a->cols, nnz, &width));
  LAC_TRY(meet_fill(ctx, &m, width, begin));
  if (nnz < a->nnz && nnz < b->nnz)  // else it is a or b, which a plan must not hold
    LAC_TRY(lac_pattern_adopt(ctx, a->rows, a->cols, width, &m.offsets, &m.columns, &plan->pattern));
  LAC_TRY(lac_map_adopt_injective(ctx, nnz, &m.from_a, &plan->from_a));
  LAC_TRY(lac_map_adopt_injective(ctx, nnz, &m.from_b, &plan->from_b));
done:
  lac_free(begin);
  lac_object_release(m.offsets);
  lac_object_release(m.columns);
  lac_object_release(m.from_a);
  lac_object_release(m.from_b);
  return status;
}

lac_status lac_pattern_intersection(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out,
                                    lac_map **from_a, lac_map **from_b) {
  lac_status status = LAC_OK;
  lac_pair_plan *plan = NULL;

  LAC_TRY(meet_check(ctx, "lac_pattern_intersection", a, b, out));
  LAC_CHECK(a->rows == b->rows && a->cols == b->cols, LAC_ERR_SHAPE,
            "lac_pattern_intersection: a is %lld x %lld and b is %lld x %lld; both must have the same shape",
            (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols);
  LAC_TRY(lac_pair_plan_get(ctx, "intersection", a, b, meet_make, &plan));
  if (from_a) *from_a = lac_map_retain(plan->from_a);
  if (from_b) *from_b = lac_map_retain(plan->from_b);
  *out = lac_pattern_retain(plan->pattern ? plan->pattern : plan->from_a->is_identity ? a : b);
done:
  lac_object_release(plan);
  return status;
}

// -- kron ------------------------------------------------------------------------------------------------------------

/// Row (i, k): columns and the targets of its entries of the outer product.
static void kron_row(const lac_pattern *a, const lac_pattern *b, int64_t i, int64_t k, int64_t slot,
                     lac_buffer *columns, lac_buffer *target) {
  int64_t p_end = lac_buffer_get(a->offsets, i + 1);
  int64_t q_begin = lac_buffer_get(b->offsets, k), q_end = lac_buffer_get(b->offsets, k + 1);

  for (int64_t p = lac_buffer_get(a->offsets, i); p < p_end; ++p) {
    int64_t col0 = lac_buffer_get(a->columns, p) * b->cols;
    for (int64_t q = q_begin; q < q_end; ++q, ++slot) {
      lac_buffer_set(columns, slot, col0 + lac_buffer_get(b->columns, q));
      lac_buffer_set(target, p * b->nnz + q, slot);
    }
  }
}

static void kron_fill(const lac_pattern *a, const lac_pattern *b, lac_buffer *offsets, lac_buffer *columns,
                      lac_buffer *target, int threads) {
  int64_t rows = a->rows * b->rows;
#pragma omp parallel for num_threads(threads) schedule(static) if (rows + columns->count > 1 << 14)
  for (int64_t r = 0; r < rows; ++r) {
    int64_t i = r / b->rows, k = r % b->rows, begin = lac_buffer_get(a->offsets, i);
    int64_t length = lac_buffer_get(a->offsets, i + 1) - begin;
    int64_t slot = begin * b->nnz + length * lac_buffer_get(b->offsets, k);
    lac_buffer_set(offsets, r, slot);
    kron_row(a, b, i, k, slot, columns, target);
  }
  lac_buffer_set(offsets, rows, columns->count);
}

static lac_status kron_make(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pair_plan *plan) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = NULL, *columns = NULL, *target = NULL;
  int64_t rows = a->rows * b->rows, cols = a->cols * b->cols, nnz = a->nnz * b->nnz;
  lac_width width = LAC_WIDTH_AUTO;

  LAC_TRY(meet_width(ctx, "lac_pattern_kron", a, b, rows, cols, nnz, &width));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), rows + 1, &offsets));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), nnz, &columns));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), nnz, &target));
  kron_fill(a, b, offsets, columns, target, lac_structure_threads(ctx));
  LAC_TRY(lac_pattern_adopt(ctx, rows, cols, width, &offsets, &columns, &plan->pattern));
  LAC_TRY(lac_map_adopt_injective(ctx, nnz, &target, &plan->from_a));
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  lac_object_release(target);
  return status;
}

/// Refuse a product of counts that leaves what can be addressed.
static lac_status kron_check(lac_context *ctx, const char *what, int64_t a, int64_t b) {
  lac_status status = LAC_OK;
  int64_t product = 0;
  LAC_CHECK(!__builtin_mul_overflow(a, b, &product) && product <= LAC_MAX_COUNT, LAC_ERR_OVERFLOW,
            "lac_pattern_kron: %lld x %lld %s are beyond what can be addressed (%lld); "
            "apply the product without forming it",
            (long long)a, (long long)b, what, (long long)LAC_MAX_COUNT);
done:
  return status;
}

lac_status lac_pattern_kron(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out,
                            lac_map **map) {
  lac_status status = LAC_OK;
  lac_pair_plan *plan = NULL;

  LAC_TRY(meet_check(ctx, "lac_pattern_kron", a, b, out));
  LAC_TRY(kron_check(ctx, "rows", a->rows, b->rows));
  LAC_TRY(kron_check(ctx, "columns", a->cols, b->cols));
  LAC_TRY(kron_check(ctx, "entries", a->nnz, b->nnz));
  LAC_TRY(lac_pair_plan_get(ctx, "kron", a, b, kron_make, &plan));
  if (map) *map = lac_map_retain(plan->from_a);
  *out = lac_pattern_retain(plan->pattern);
done:
  lac_object_release(plan);
  return status;
}

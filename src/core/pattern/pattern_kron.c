// SPDX-License-Identifier: Apache-2.0
/// @file pattern_kron.c
/// The Kronecker product of two patterns (A x B), kept as a plan for the pair: row (i, k) has the columns (j, l), j of
/// A's row i, l of B's row k. Its slots are known in closed form,
///
///     offsets[i mb + k] = oa[i] nnz_b + (oa[i + 1] - oa[i]) ob[k]
///
/// The values of A x B are the outer product of the values, entry (p, q) at p nnz_b + q, carried along one map.

#include "core/pattern/structure.h"

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

static lac_status kron_here(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_width width,
                            lac_buffer **offsets, lac_buffer **columns, lac_buffer **target) {
  lac_status status = LAC_OK;
  int64_t nnz = a->nnz * b->nnz;

  LAC_TRY(lac_pair_host(ctx, a, b));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), a->rows * b->rows + 1, offsets));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), nnz, columns));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), nnz, target));
  kron_fill(a, b, *offsets, *columns, *target, lac_structure_threads(ctx));
done:
  return status;
}

static lac_status kron_make(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pair_plan *plan) {
  lac_status status = LAC_OK;
  const lac_structure_kernels *there = lac_structure_of_pair(ctx, a, b);
  lac_buffer *offsets = NULL, *columns = NULL, *target = NULL;
  int64_t rows = a->rows * b->rows, cols = a->cols * b->cols, nnz = a->nnz * b->nnz;
  lac_width width = LAC_WIDTH_AUTO;

  LAC_TRY(lac_pair_width(ctx, "lac_pattern_kron", a, b, rows, cols, nnz, &width));
  LAC_TRY((there ? there->kron : kron_here)(ctx, a, b, width, &offsets, &columns, &target));
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

  LAC_TRY(lac_pair_check(ctx, "lac_pattern_kron", a, b, out));
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

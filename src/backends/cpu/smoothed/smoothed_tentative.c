// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_tentative.c
/// The tentative interpolation: on each aggregate, the part of the near-null vectors there is Q R. Q is the
/// interpolation, R what the next level has to interpolate. A vector that depends on those before it adds no column.

#include <math.h>

#include "backends/cpu/smoothed/smoothed.h"

/// Rows grouped by aggregate.
typedef struct tentative_groups {
  int64_t *start, *row;
} tentative_groups;

enum { TENTATIVE_PASSES = 2 };                 // twice is enough
static const double TENTATIVE_DEPENDS = 1e-6;  // of a vector's length, what is left of it

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_tentative_kernel.h"
#include "backends/cpu/base/instantiate.h"

typedef int64_t (*tentative_walk)(int m, const void *b, const tentative_groups *groups, int64_t aggregate, void *work,
                                  void *basis, void *next);
static const tentative_walk tentative_factor[4] = TABLE(tentative_factor);

static lac_status groups_open(lac_context *ctx, const lac_aggregates *aggregates, tentative_groups *groups) {
  lac_status status = LAC_OK;
  const lac_buffer *member = aggregates->member;
  int64_t count = aggregates->count, rows = member->count;

  LAC_ALLOC(groups->start, count + 2);
  LAC_ALLOC(groups->row, rows);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t a = lac_buffer_get(member, i);
    if (a >= 0) ++groups->start[a + 2];
  }
  for (int64_t a = 0; a < count; ++a) groups->start[a + 2] += groups->start[a + 1];
  for (int64_t i = 0; i < rows; ++i) {
    int64_t a = lac_buffer_get(member, i);
    if (a >= 0) groups->row[groups->start[a + 1]++] = i;
  }
done:
  return status;
}

static int64_t groups_longest(const tentative_groups *groups, int64_t count) {
  int64_t longest = 0;
  for (int64_t a = 0; a < count; ++a) {
    int64_t length = groups->start[a + 1] - groups->start[a];
    longest = length > longest ? length : longest;
  }
  return longest;
}

/// An array of zeros.
static lac_status tentative_zeros(lac_context *ctx, lac_dtype dtype, int64_t rows, int64_t m, lac_array **out) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_array_create(ctx, dtype, 2, (const int64_t[]){rows, m}, out));
  LAC_TRY(cpu_fill(ctx, *out, 0, 0));
done:
  return status;
}

lac_status cpu_smoothed_tentative(lac_context *ctx, lac_dtype dtype, const lac_aggregates *aggregates,
                                  const lac_array *b, lac_buffer **first, lac_array **basis, lac_array **next,
                                  lac_array *found) {
  lac_status status = LAC_OK;
  tentative_groups groups = {0};
  int64_t count = aggregates->count, rows = aggregates->member->count, m = b->meta.shape[1], columns = 0;
  size_t wide = lac_dtype_size(b->meta.dtype);
  lac_buffer *starts = NULL;
  lac_array *numbers = NULL, *rest = NULL;
  void *work = NULL;

  LAC_TRY(groups_open(ctx, aggregates, &groups));
  LAC_TRY(lac_buffer_create(ctx, aggregates->member->type, count + 1, &starts));
  LAC_TRY(tentative_zeros(ctx, dtype, rows, m, &numbers));
  LAC_TRY(tentative_zeros(ctx, b->meta.dtype, count * m, m, &rest));
  work = lac_alloc((size_t)groups_longest(&groups, count) * wide);
  LAC_CHECK(work, LAC_ERR_MEMORY, "out of memory: a near-null vector of an aggregate of %lld rows", (long long)rows);
  lac_buffer_set(starts, 0, 0);
  for (int64_t a = 0; a < count; ++a) {
    columns += tentative_factor[dtype]((int)m, cpu_data(b), &groups, a, work, cpu_edit(numbers),
                                       (char *)cpu_edit(rest) + (size_t)(columns * m) * wide);
    lac_buffer_set(starts, a + 1, columns);
  }
  *(double *)cpu_edit(found) = (double)columns;
  *first = starts, starts = NULL;
  *basis = numbers, numbers = NULL;
  *next = rest, rest = NULL;
done:
  lac_free(groups.start);
  lac_free(groups.row);
  lac_free(work);
  lac_object_release(starts);
  lac_array_destroy(&numbers);
  lac_array_destroy(&rest);
  return status;
}

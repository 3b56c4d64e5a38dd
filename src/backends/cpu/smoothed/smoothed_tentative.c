// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_tentative.c
/// The tentative interpolation: on each aggregate, the part of the near-null vectors there is Q R. Q is the
/// interpolation, R what the next level has to interpolate. A vector that depends on those before it adds no column:
/// columns of zeros make up for it.

#include <math.h>

#include "backends/cpu/smoothed/smoothed.h"

/// Rows grouped by aggregate.
typedef struct tentative_groups {
  int64_t *start, *row;
} tentative_groups;

typedef struct tentative_job {
  const tentative_groups *groups;
  int m;
  const void *b;
  void *work;  // room for a vector: each aggregate has that of its rows
  void *basis, *next;
} tentative_job;

enum { TENTATIVE_PASSES = 2 };                 // twice is enough
static const double TENTATIVE_DEPENDS = 1e-6;  // of a vector's length, what is left of it

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_tentative_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part tentative_part[4] = TABLE(tentative_part);

/// Rows by aggregate: those of nodes, `size` each.
static lac_status groups_open(lac_context *ctx, const lac_aggregates *aggregates, int64_t size,
                              tentative_groups *groups) {
  lac_status status = LAC_OK;
  const lac_buffer *member = aggregates->member;
  int64_t count = aggregates->count, rows = member->count * size;

  LAC_ALLOC(groups->start, count + 2);
  LAC_ALLOC(groups->row, rows);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t a = lac_buffer_get(member, i / size);
    if (a >= 0) ++groups->start[a + 2];
  }
  for (int64_t a = 0; a < count; ++a) groups->start[a + 2] += groups->start[a + 1];
  for (int64_t i = 0; i < rows; ++i) {
    int64_t a = lac_buffer_get(member, i / size);
    if (a >= 0) groups->row[groups->start[a + 1]++] = i;
  }
done:
  return status;
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
                                  const lac_array *b, lac_array **basis, lac_array **next) {
  lac_status status = LAC_OK;
  tentative_groups groups = {0};
  int64_t count = aggregates->count, nodes = aggregates->member->count, rows = b->meta.shape[0], m = b->meta.shape[1];
  tentative_job job = {.groups = &groups, .m = (int)m, .b = cpu_data(b)};
  lac_array *numbers = NULL, *rest = NULL;

  LAC_TRY(groups_open(ctx, aggregates, nodes ? rows / nodes : 1, &groups));
  LAC_TRY(tentative_zeros(ctx, dtype, rows, m, &numbers));
  LAC_TRY(tentative_zeros(ctx, b->meta.dtype, count * m, m, &rest));
  job.work = lac_alloc((size_t)rows * lac_dtype_size(b->meta.dtype));
  LAC_CHECK(job.work, LAC_ERR_MEMORY, "out of memory: a near-null vector of %lld rows", (long long)rows);
  job.basis = cpu_edit(numbers), job.next = cpu_edit(rest);
  cpu_split(cpu_threads(ctx, rows * m), count, 1, tentative_part[dtype], &job);
  *basis = numbers, numbers = NULL;
  *next = rest, rest = NULL;
done:
  lac_free(groups.start);
  lac_free(groups.row);
  lac_free(job.work);
  lac_array_destroy(&numbers);
  lac_array_destroy(&rest);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_tentative.c
/// The tentative interpolation: on each aggregate, the part of the near-null vectors there is Q R. Q is the interpolation, R what the
/// next level has to interpolate. A vector that depends on those before it adds no column.

#include <math.h>

#include "core/numbers.h"
#include "solvers/precondition/multigrid/smoothed/smoothed.h"

/// Rows grouped by aggregate.
typedef struct tentative_groups {
  int64_t *start, *row;
} tentative_groups;

enum { TENTATIVE_PASSES = 2 };                 // twice is enough
static const double TENTATIVE_DEPENDS = 1e-6;  // of a vector's length, what is left of it

#define KERNEL_FILE "solvers/precondition/multigrid/smoothed/smoothed_tentative_kernel.h"
#include "core/instantiate.h"

typedef int64_t (*tentative_walk)(int m, const void *b, const tentative_groups *groups, int64_t aggregate, void *work,
                                  void *basis, void *next);
static const tentative_walk tentative_factor[4] = TABLE(tentative_factor);

static lac_status groups_open(lac_context *ctx, const smoothed_structure *level, tentative_groups *groups) {
  lac_status status = LAC_OK;
  int64_t count = level->aggregates.count, rows = level->a.rows;

  LAC_ALLOC(groups->start, count + 2);
  LAC_ALLOC(groups->row, rows);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t a = smoothed_index(level->a.width, level->member, i);
    if (a >= 0) ++groups->start[a + 2];
  }
  for (int64_t a = 0; a < count; ++a) groups->start[a + 2] += groups->start[a + 1];
  for (int64_t i = 0; i < rows; ++i) {
    int64_t a = smoothed_index(level->a.width, level->member, i);
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

lac_status smoothed_tentative(lac_context *ctx, lac_dtype dtype, int m, const void *b, smoothed_structure *level,
                              void **next) {
  lac_status status = LAC_OK;
  tentative_groups groups = {0};
  lac_width width = level->a.width;
  int64_t count = level->aggregates.count, columns = 0;
  size_t wide = lac_dtype_is_complex(dtype) ? 16 : 8;
  char *rest = NULL;
  void *work = NULL;

  LAC_TRY(groups_open(ctx, level, &groups));
  level->first = lac_calloc((size_t)count + 1, smoothed_column_size(width));
  level->basis = lac_calloc((size_t)(level->a.rows * m), lac_dtype_size(dtype));
  rest = lac_calloc((size_t)(count * m * m), wide);
  work = lac_alloc((size_t)groups_longest(&groups, count) * wide);
  LAC_CHECK(level->first && level->basis && rest && work, LAC_ERR_MEMORY,
            "out of memory: %lld near-null vectors of %lld rows", (long long)m, (long long)level->a.rows);
  for (int64_t a = 0; a < count; ++a) {
    columns += tentative_factor[dtype](m, b, &groups, a, work, level->basis, rest + (size_t)(columns * m) * wide);
    smoothed_set_index(width, level->first, a + 1, columns);
  }
  level->aggregates.columns = columns;
  level->aggregates.m = m;
  level->aggregates.first = level->first;
  level->aggregates.basis = level->basis;
  *next = rest, rest = NULL;
done:
  lac_free(groups.start);
  lac_free(groups.row);
  lac_free(rest);
  lac_free(work);
  return status;
}

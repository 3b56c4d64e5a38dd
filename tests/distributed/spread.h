// SPDX-License-Identifier: Apache-2.0
/// @file spread.h
/// The same matrix twice: spread over ranks, and whole on each of them in a plain context, for comparison.

#ifndef LACUNA_TESTS_DISTRIBUTED_SPREAD_H
#define LACUNA_TESTS_DISTRIBUTED_SPREAD_H

#include <math.h>
#include <stdlib.h>

#include "distributed/mpi_check.h"

/// How rows are dealt to ranks: alike; few or none to the first; all to the last.
typedef enum deal { DEAL_EVEN, DEAL_SKEWED, DEAL_LAST, DEALS } deal;

typedef struct spread {
  lac_context *ctx, *serial;
  int64_t m, n;
  lac_partition *rows, *cols;
  lac_pattern *pattern, *whole;
} spread;

/// A number in [-1, 1), the same on all ranks for the same state.
static inline double random_next(uint64_t *state) {
  uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (double)((x ^ (x >> 31)) >> 11) * 0x1p-52 - 1;
}

static inline int64_t deal_begin(deal how, int64_t total, int rank, int size) {
  if (how == DEAL_LAST) return rank == size ? total : 0;
  if (how == DEAL_SKEWED) return total * rank * rank / (size * size);
  return total * rank / size;
}

static inline int64_t deal_rows(deal how, int64_t total) {
  return deal_begin(how, total, world.rank + 1, world.size) - deal_begin(how, total, world.rank, world.size);
}

/// Offsets and columns of a random nonsymmetric m x n matrix; every fifth row is empty.
static inline void random_csr(int64_t m, int64_t n, double density, uint64_t seed, int64_t *offsets, int64_t *columns) {
  int64_t count = 0;

  offsets[0] = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if (random_next(&seed) < 2 * density - 1 && i % 5 != 3) columns[count++] = j;
    }
    offsets[i + 1] = count;
  }
}

/// This rank's rows of the whole matrix, as a caller hands them in: offsets from 0, global columns.
static inline void spread_rows(spread *s, lac_context *ctx, const int64_t *offsets, const int64_t *columns,
                               lac_width width) {
  const int64_t rows = lac_partition_rows(s->rows), begin = lac_partition_begin(s->rows);
  int64_t *mine = malloc((size_t)(rows + 1) * sizeof *mine);

  for (int64_t i = 0; i <= rows; ++i) mine[i] = offsets[begin + i] - offsets[begin];
  CHECK_OK(lac_pattern_distributed(ctx, s->rows, s->cols, LAC_I64, mine, columns + offsets[begin], width, &s->pattern,
                                   NULL));
  free(mine);
}

static inline spread spread_create(lac_context *ctx, int64_t m, int64_t n, double density, deal rows, deal cols,
                                   lac_width width) {
  spread s = {.ctx = ctx, .m = m, .n = n};
  int64_t *offsets = malloc((size_t)(m + 1) * sizeof *offsets);
  int64_t *columns = malloc((size_t)(m * n + 1) * sizeof *columns);

  random_csr(m, n, density, (uint64_t)(m * 131 + n), offsets, columns);
  CHECK_OK(lac_context_create("cpu", 0, &s.serial));
  CHECK_OK(lac_partition_create(ctx, deal_rows(rows, m), &s.rows));
  CHECK_OK(lac_partition_create(ctx, deal_rows(cols, n), &s.cols));
  spread_rows(&s, ctx, offsets, columns, width);
  CHECK_OK(lac_pattern_from_csr(s.serial, m, n, LAC_I64, offsets, columns, width, &s.whole, NULL));
  free(offsets);
  free(columns);
  return s;
}

static inline void spread_destroy(spread *s) {
  lac_pattern_destroy(&s->pattern);
  lac_pattern_destroy(&s->whole);
  lac_partition_destroy(&s->rows);
  lac_partition_destroy(&s->cols);
  lac_context_destroy(&s->serial);
}

// -- arrays ----------------------------------------------------------------------------------------------------------

/// An array twice: this rank's part, and the whole.
typedef struct twin {
  lac_array *part, *whole;
} twin;

static inline void twin_destroy(twin *t) {
  lac_array_destroy(&t->part);
  lac_array_destroy(&t->whole);
}

/// Number `i` of an array of some dtype, one part of it for complex numbers.
static inline double number_get(lac_dtype dtype, const void *data, int64_t i) {
  return dtype == LAC_F32 || dtype == LAC_C64 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static inline void number_set(lac_dtype dtype, void *data, int64_t i, double value) {
  if (dtype == LAC_F32 || dtype == LAC_C64) {
    ((float *)data)[i] = (float)value;
  } else {
    ((double *)data)[i] = value;
  }
}

static inline int numbers_of(lac_dtype dtype) { return dtype >= LAC_C64 ? 2 : 1; }

static inline int64_t shape_count(int from, int to, const int64_t *shape) {
  int64_t count = 1;

  for (int d = from; d < to; ++d) count *= shape[d];
  return count;
}

/// Copy this rank's part of `whole` along `axis`, which starts at row `begin`, to `part`.
static inline void cut(const void *whole, int ndim, const int64_t *shape, size_t size, int axis, int64_t begin,
                       int64_t rows, void *part) {
  const size_t inner = (size_t)shape_count(axis + 1, ndim, shape) * size;

  for (int64_t o = 0; o < shape_count(0, axis, shape); ++o) {
    if (rows * (int64_t)inner == 0) continue;
    memcpy((char *)part + (size_t)(o * rows) * inner, (const char *)whole + (size_t)(o * shape[axis] + begin) * inner,
           (size_t)rows * inner);
  }
}

/// A random array of the whole `shape`, and its part along `axis` (-1: replicated).
static inline twin twin_random(const spread *s, lac_dtype dtype, int ndim, const int64_t *shape,
                               const lac_partition *partition, int axis, uint64_t seed) {
  lac_context *ctx = s->ctx;
  const int64_t count = shape_count(0, ndim, shape) * numbers_of(dtype);
  void *data = malloc((size_t)(count + 1) * sizeof(double)), *part = malloc((size_t)(count + 1) * sizeof(double));
  int64_t local[LAC_MAX_DIMS];
  twin t = {NULL, NULL};

  for (int64_t i = 0; i < count; ++i) number_set(dtype, data, i, random_next(&seed));
  CHECK_OK(lac_array_from(s->serial, dtype, ndim, shape, data, LAC_OWNERSHIP_COPY, &t.whole));
  if (axis < 0) {
    CHECK_OK(lac_array_from(ctx, dtype, ndim, shape, data, LAC_OWNERSHIP_COPY, &t.part));
  } else {
    memcpy(local, shape, (size_t)ndim * sizeof *shape);
    local[axis] = lac_partition_rows(partition);
    cut(data, ndim, shape, lac_dtype_size(dtype), axis, lac_partition_begin(partition), local[axis], part);
    CHECK_OK(lac_array_partitioned(ctx, dtype, ndim, local, partition, axis, part, LAC_OWNERSHIP_COPY, &t.part));
  }
  free(data);
  free(part);
  return t;
}

static inline double twin_tolerance(lac_dtype dtype) { return dtype == LAC_F32 || dtype == LAC_C64 ? 1e-5 : 1e-12; }

/// The part is what it should be of the whole, relative to the whole's largest number.
static inline void twin_same(const char *file, int line, const lac_array *part, const lac_array *whole) {
  const lac_meta *p = lac_array_meta(part), *w = lac_array_meta(whole);
  const int64_t count = lac_array_count(part) * numbers_of(p->dtype),
                all = lac_array_count(whole) * numbers_of(w->dtype);
  void *mine = malloc((size_t)(count + 1) * sizeof(double));
  double largest = 0, worst = 0;

  if (p->ndim != w->ndim || p->dtype != w->dtype) mpi_fail(file, line, "part and whole are not of one kind");
  if (p->partition) {
    cut(lac_array_data(whole), w->ndim, w->shape, lac_dtype_size(w->dtype), p->partition_axis,
        lac_partition_begin(p->partition), lac_partition_rows(p->partition), mine);
  } else if (count != all) {
    mpi_fail(file, line, "a replicated result has %lld numbers, the whole %lld", (long long)count, (long long)all);
  } else if (count > 0) {
    memcpy(mine, lac_array_data(whole), (size_t)lac_array_count(whole) * lac_dtype_size(w->dtype));
  }
  for (int64_t i = 0; i < all; ++i) largest = fmax(largest, fabs(number_get(w->dtype, lac_array_data(whole), i)));
  for (int64_t i = 0; i < count; ++i) {
    const double off = fabs(number_get(p->dtype, lac_array_data(part), i) - number_get(p->dtype, mine, i));

    worst = off > worst || off != off ? off : worst;
  }
  if (!(worst <= twin_tolerance(p->dtype) * largest)) {
    mpi_fail(file, line, "off by %.3g, the largest number is %.3g", worst, largest);
  }
  free(mine);
}

#define CHECK_SAME(part, whole) twin_same(__FILE__, __LINE__, (part), (whole))

#endif

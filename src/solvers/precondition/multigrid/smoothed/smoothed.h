// SPDX-License-Identifier: Apache-2.0
/// @file smoothed.h
/// The inside of smoothed aggregation: the structure of its levels, which values share, and the numbers on them.

#ifndef LACUNA_SOLVERS_PRECONDITION_MULTIGRID_SMOOTHED_SMOOTHED_H
#define LACUNA_SOLVERS_PRECONDITION_MULTIGRID_SMOOTHED_SMOOTHED_H

#include "kernels/smoothed.h"
#include "solvers/precondition/multigrid/coarse/coarse.h"
#include "solvers/precondition/preconditioner.h"

/// The structure of a level and of the way to the next one; the last has none of that.
typedef struct smoothed_structure {
  lac_pattern *pattern;
  lac_sparse a, p, r;  // p.rows == 0: the last level
  uint8_t *kinds;      // of the entries of a
  int64_t weak;        // how many are weak
  lac_aggregates aggregates;
  void *member, *first, *basis;  // of the aggregates
  void *p_offsets, *p_columns, *r_offsets, *r_columns;
} smoothed_structure;

/// What does not depend on values, shared by a set-up and its refreshments.
typedef struct smoothed_shape {
  lac_object object;
  int levels;
  int64_t bytes;
  smoothed_structure level[LAC_LEVELS];
} smoothed_shape;

/// The numbers of a level: of each matrix one behind the other.
typedef struct smoothed_numbers {
  const void *values;
  void *owned;  // values, unless they are the caller's
  void *s, *p_values, *r_values;
  double *omega;  // of the smoother, for each matrix
} smoothed_numbers;

typedef struct smoothed_part {
  smoothed_shape *shape;
  lac_dtype dtype, outer;  // of the hierarchy and of the caller's matrix
  int64_t items;
  bool is_hermitian;
  int degree;         // of the smoother: 1 or 2
  double *factor;     // for each matrix: what its values were scaled by
  lac_array *shared;  // the caller's values, where they are used as they are
  smoothed_numbers level[LAC_LEVELS];
  lac_coarse *coarse;  // NULL: the last level is smoothed
  int64_t bytes;
} smoothed_part;

/// The tentative interpolation from columns b [rows, m] (row by row; of double, or double complex where the dtype is complex): an orthonormal
/// basis of each aggregate's part into level->basis and level->first, and what is to be interpolated on the next level, to be freed.
lac_status smoothed_tentative(lac_context *ctx, lac_dtype dtype, int m, const void *b, smoothed_structure *level,
                              void **next);

/// Aggregates of nodes, runs of rows that begin at node[0], node[1], ...; nodes NULL: of rows.
lac_status smoothed_aggregate(lac_context *ctx, lac_dtype dtype, int64_t items, const void *values, double theta,
                              int64_t nodes, const int64_t *node, smoothed_structure *level);

/// A power of two that takes the largest number to about 1, so that narrow numbers hold it; 1 for what is zero or not finite.
double smoothed_factor(double largest);

lac_status smoothed_create(lac_context *ctx, const lac_setup *setup, void **out);
lac_status smoothed_refresh(lac_context *ctx, const lac_setup *setup, const void *like, void **out);
lac_status smoothed_apply(lac_context *ctx, const void *self, lac_side side, const lac_array *b, lac_array *x);
void smoothed_destroy(void *part);

/// One number of a block of indices of a width's columns.
static inline int64_t smoothed_index(lac_width width, const void *block, int64_t i) {
  return width == LAC_WIDTH_64_64 ? ((const int64_t *)block)[i] : ((const int32_t *)block)[i];
}
static inline void smoothed_set_index(lac_width width, void *block, int64_t i, int64_t value) {
  if (width == LAC_WIDTH_64_64) {
    ((int64_t *)block)[i] = value;
  } else {
    ((int32_t *)block)[i] = (int32_t)value;
  }
}
static inline size_t smoothed_column_size(lac_width width) { return width == LAC_WIDTH_64_64 ? 8 : 4; }
static inline size_t smoothed_offset_size(lac_width width) { return width == LAC_WIDTH_32_32 ? 4 : 8; }

#endif

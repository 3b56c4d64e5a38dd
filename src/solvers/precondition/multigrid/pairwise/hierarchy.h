// SPDX-License-Identifier: Apache-2.0
/// @file hierarchy.h
/// A hierarchy of ever smaller matrices A, P^T A P, ... with plain interpolation along aggregates.
///
/// What follows from the structure (aggregates, patterns) is one object that hierarchies of other values share. The
/// finest level is the caller's matrix itself. Values of coarse levels are summed in f64 (c128) from level to level and
/// kept in the hierarchy's dtype.

#ifndef LACUNA_SOLVERS_PRECONDITION_MULTIGRID_PAIRWISE_HIERARCHY_H
#define LACUNA_SOLVERS_PRECONDITION_MULTIGRID_PAIRWISE_HIERARCHY_H

#include "kernels/pairwise.h"
#include "solvers/precondition/multigrid/coarse/coarse.h"
#include "solvers/precondition/preconditioner.h"

/// The structure of all levels.
typedef struct lac_levels {
  lac_object object;
  int count;                          // of levels
  bool is_smoothed_last;              // the last level has no rows below it and none that need them: smoothing does
  bool is_ragged[LAC_LEVELS];         // rows of a level differ in length from their neighbours
  lac_pattern *patterns[LAC_LEVELS];  // of each level; the first is the caller's
  lac_aggregation aggregates[LAC_LEVELS];  // from each level to the next
  lac_slices *slices[LAC_LEVELS];          // of coarse levels whose rows are like those of a grid
} lac_levels;

/// A hierarchy of values.
typedef struct lac_hierarchy {
  lac_levels *levels;
  lac_dtype dtype, narrow;         // of the matrix, of the hierarchy
  bool is_hermitian;               // A^H is A
  int64_t items;                   // matrices
  lac_array *unit;                 // [items, 2, 1]: magnitudes of the matrix
  bool is_sliced[LAC_LEVELS];      // values are in the slices of that level
  lac_array *values[LAC_LEVELS];   // [items, nnz] or [items, room]; the first is the caller's
  lac_array *weights[LAC_LEVELS];  // [items, n]
  lac_array *inverse;              // [items, n, n] of the last level, unless it is smoothed
} lac_hierarchy;

/// A hierarchy of a matrix; `like` (or NULL) has the structure to take.
lac_status lac_hierarchy_create(lac_context *ctx, const lac_setup *setup, const lac_levels *like, lac_hierarchy **out);
void lac_hierarchy_destroy(lac_hierarchy *hierarchy);

/// x = op(M)^-1 b by one cycle (cycle.c).
lac_status lac_hierarchy_cycle(lac_context *ctx, const lac_hierarchy *hierarchy, lac_form form, const lac_array *b,
                               lac_array *x);

#endif

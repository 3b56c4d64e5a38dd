// SPDX-License-Identifier: Apache-2.0
/// @file grid.h
/// A hierarchy of matrices on ever coarser grids: every second point of every second row is kept.

#ifndef LACUNA_SOLVERS_PRECONDITION_MULTIGRID_GRID_GRID_H
#define LACUNA_SOLVERS_PRECONDITION_MULTIGRID_GRID_GRID_H

#include "kernels/grid.h"
#include "solvers/precondition/multigrid/coarse/coarse.h"
#include "solvers/precondition/preconditioner.h"

typedef struct grid_hierarchy {
  lac_dtype dtype, narrow;  // of the matrix, of the hierarchy
  bool is_hermitian;        // A^H is A
  int64_t items;            // matrices
  int count;                // of levels; the last is solved directly
  double least;             // size of a diagonal entry of the finest level
  lac_grid last;
  lac_array *unit;                    // [items, 2, 1]: magnitudes of the matrix
  lac_grid_level levels[LAC_LEVELS];  // all but the last
  lac_array *inverse;                 // [items, n, n] of the last
} grid_hierarchy;

/// What the backend finds (kernels/grid.def, `found`), kept with the pattern: whoever weighs, chooses and sets up asks.
lac_status grid_of_pattern(lac_context *ctx, const lac_pattern *pattern, lac_grid *grid, int64_t *stray);

/// The hierarchy of a matrix on a grid.
lac_status grid_hierarchy_create(lac_context *ctx, const lac_setup *setup, const lac_grid *grid, grid_hierarchy **out);
void grid_hierarchy_destroy(grid_hierarchy *h);

/// What such a hierarchy takes, of one symmetric matrix in f64.
lac_status grid_hierarchy_foresee(lac_context *ctx, const lac_pattern *pattern, const lac_grid *grid,
                                  const lac_solver_options *options, lac_multigrid_bytes *out);

/// x = op(M)^-1 b by one cycle (grid_cycle.c).
lac_status grid_hierarchy_cycle(lac_context *ctx, const grid_hierarchy *h, lac_form form, const lac_array *b,
                                lac_array *x);

#endif

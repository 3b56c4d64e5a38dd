// SPDX-License-Identifier: Apache-2.0
/// @file cost.h
/// The forecast of a direct solver's memory and work, and the ratio of that work to iterating (price.h).

#ifndef LACUNA_SOLVERS_AUTO_COST_H
#define LACUNA_SOLVERS_AUTO_COST_H

#include "core/pattern/pattern_impl.h"
#include "lacuna/solver.h"

typedef struct lac_auto_cost {
  double width;              // rows of a separator, about; 0: it was not looked at
  int64_t levels;            // of a breadth-first search from the far end: how far rows are apart; 0 as well
  double flops, bytes, nnz;  // of one factor of f64: of Cholesky, or where `has_both`, of LU with both triangles
  bool is_lopsided;          // entries of the pattern lack their mirrors, by a sample of rows
  bool has_both;
  bool is_grid;  // it has a multigrid of its own (lac_multigrid_is_grid)
  bool is_away;  // it has multigrid on a device, while a direct factor would be made on the host
  double share;  // remaining work of a direct solution, relative to iterating
  bool is_costly;
  bool is_exact;  // by an ordering and an analysis; else a guess, which may be ten times too large or too small
} lac_auto_cost;

/// From a breadth-first search, in a few bytes a row: no ordering, no symbolic factorisation.
lac_status lac_auto_foresee(lac_context *ctx, const lac_pattern *pattern, lac_auto_cost *out);

/// From what an analysis foresees; false where that is not known before there are values.
bool lac_auto_analysed(const lac_pattern *pattern, const lac_report *foreseen, lac_auto_cost *out);

/// Whether a direct solution is the cheaper one all the same where values are not as the pattern promised: with jumps,
/// which call for a multigrid that is dearer than most, or on a grid not Hermitian.
bool lac_auto_is_cheap_beside(const lac_auto_cost *cost);

/// Whether a guess is so near the border that an analysis should decide, and is cheap relative to both ways.
bool lac_auto_is_in_doubt(const lac_pattern *pattern, const lac_auto_cost *guess);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file cost.h
/// What a direct solver would need, before there is one, and what each way of solving takes.
///
/// Times are counted, never measured: seconds of a machine of reference, from rows, entries and flops. So the same
/// matrix is solved in the same way each time, on any number of threads, and to the same bits.

#ifndef LACUNA_SOLVERS_AUTO_COST_H
#define LACUNA_SOLVERS_AUTO_COST_H

#include "core/pattern/pattern_impl.h"
#include "lacuna/solver.h"

typedef struct lac_auto_cost {
  double width;              // rows of a separator, about; 0: it was not looked at
  double flops, bytes, nnz;  // of a Cholesky factor of f64
  double share;              // of the flops relative to what iterating takes
  bool is_costly;
  bool is_exact;  // by an ordering and an analysis; else a guess, which may be ten times too large or too small
} lac_auto_cost;

/// From a breadth-first search, in a few bytes a row: no ordering, no symbolic factorisation.
lac_status lac_auto_foresee(lac_context *ctx, const lac_pattern *pattern, lac_auto_cost *out);

/// From what an analysis foresees; false where it cannot tell before there are values.
bool lac_auto_analysed(const lac_pattern *pattern, const lac_report *foreseen, lac_auto_cost *out);

/// Whether a guess is so near the border that an analysis should decide, and that is cheap beside both ways.
bool lac_auto_is_in_doubt(const lac_pattern *pattern, const lac_auto_cost *guess);

/// Seconds of an analysis; of a factor; of a solve with it; of an iteration, `complexity` being that of a multigrid
/// hierarchy or 0. Each of one f64 matrix or column.
double lac_price_analysis(const lac_pattern *pattern, const lac_auto_cost *cost);
double lac_price_factor(const lac_pattern *pattern, const lac_auto_cost *cost);
double lac_price_solve(const lac_auto_cost *cost);
double lac_price_iteration(const lac_pattern *pattern, double complexity);

#endif

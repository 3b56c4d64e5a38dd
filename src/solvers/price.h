// SPDX-License-Identifier: Apache-2.0
/// @file price.h
/// What each way of solving takes, in seconds of a machine of reference, one f64 matrix or column.
///
/// Times are counted from rows, entries and flops, never measured: so the same matrix is solved in the same way each
/// time, on any number of threads, and to the same bits. Patterns must be on the host (lac_pattern_host).

#ifndef LACUNA_SOLVERS_PRICE_H
#define LACUNA_SOLVERS_PRICE_H

#include "core/pattern/pattern_impl.h"

/// Of a direct factor: its analysis, `width` being the rows of a separator; the factor of so many flops and entries; a
/// solve with it.
double lac_price_analysis(const lac_pattern *pattern, double width, double flops);
double lac_price_factor(const lac_pattern *pattern, double flops, double nnz);
double lac_price_solve(const lac_pattern *pattern, double nnz);

/// How an iteration is preconditioned.
typedef struct lac_price_of {
  const char *preconditioner;
  double complexity;  // of a multigrid hierarchy; 0 of others
  bool is_hermitian;  // by CG; else GMRES
  bool is_grid;       // multigrid is that of a grid
} lac_price_of;

/// Of iterating: the set-up of a preconditioner; an iteration.
double lac_price_setup(const lac_pattern *pattern, const lac_price_of *of);
double lac_price_iteration(const lac_pattern *pattern, const lac_price_of *of);

#endif

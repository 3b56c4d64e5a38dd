// SPDX-License-Identifier: Apache-2.0
/// @file pivoted_fronts.h
/// Factors whose pivots are chosen inside supernodes, and probed where that is in doubt: L D L^H and LU.

#ifndef LACUNA_SOLVERS_DIRECT_FRONTS_PIVOTED_FRONTS_H
#define LACUNA_SOLVERS_DIRECT_FRONTS_PIVOTED_FRONTS_H

#include "solvers/direct/fronts/fronts.h"

/// A matrix that is scaled and matched already.
typedef struct lac_pivoted_job {
  const lac_direct_job *job;
  const lac_direct_table *table;
  lac_front_kind kind;
  lac_supernodes *s;
  const void *scaled;           // R A C in the slots of A
  void *row_scale, *col_scale;  // owned by the factor when it is made; else taken back
  bool is_strict;               // no pivot may be enlarged
  bool is_tentative;            // enlarged pivots are not probed yet: something better may come
} lac_pivoted_job;

/// Factor, and probe where pivots were enlarged, numbers grew or choices were taken over. LAC_ERR_CONVERGENCE where the
/// factor fails: another method, or another choice, is the way out.
lac_status lac_pivoted_factor(lac_pivoted_job *pivoted, lac_fronts **out, lac_fault *fault);

/// The probe that a tentative factor was spared.
lac_status lac_pivoted_probe(const lac_direct_job *job, const lac_direct_table *table, const lac_fronts *f,
                             lac_fault *fault);

/// Slots of lac_direct_table.
lac_status lac_pivoted_solve(const void *part, const void *numeric, lac_form form, int width, int threads,
                             const void *b, void *x, void *work, lac_fault *fault);
void lac_pivoted_report(const void *part, const void *numeric, lac_finding *finding);
bool lac_pivoted_is_stable(const lac_solver_options *options);

#endif

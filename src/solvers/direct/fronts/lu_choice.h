// SPDX-License-Identifier: Apache-2.0
/// @file lu_choice.h
/// What LU inside supernodes decides before it eliminates: scaling, matching, and the supernodes that go with them.

#ifndef LACUNA_SOLVERS_DIRECT_FRONTS_LU_CHOICE_H
#define LACUNA_SOLVERS_DIRECT_FRONTS_LU_CHOICE_H

#include "solvers/direct/symbolic/supernodes.h"
#include "solvers/direct/method/method.h"

typedef struct lac_lu_choice {
  lac_supernodes *s;              // held
  void *row_scale, *col_scale;    // owned: n real numbers
  void *scaled;                   // owned: R A C in the slots of A
  int32_t *match;                 // owned: n
  bool is_weak;                   // the diagonal is: any enlarged pivot speaks for a matching
  double *row_power, *col_power;  // owned, where a matching is made: its scales
} lac_lu_choice;

/// The diagonal where it is strong, or nowhere nothing; else the matching of `near` or the one that is kept, where it
/// suits these values; else a new one. With job->like, its choice.
lac_status lac_lu_choose(const lac_direct_job *job, lac_lu_choice *choice, lac_fault *fault);

/// A matching of these values in place of the first choice. LAC_ERR_SINGULAR where no matching exists.
lac_status lac_lu_choose_matching(const lac_direct_job *job, lac_lu_choice *choice, lac_fault *fault);

void lac_lu_choice_clear(lac_lu_choice *choice);

#endif

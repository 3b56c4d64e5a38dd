// SPDX-License-Identifier: Apache-2.0
/// @file amalgamation.h
/// Which columns of L are kept together as dense trapezoids.

#ifndef LACUNA_SOLVERS_DIRECT_SYMBOLIC_AMALGAMATION_H
#define LACUNA_SOLVERS_DIRECT_SYMBOLIC_AMALGAMATION_H

#include "solvers/direct/order/elimination.h"

/// Supernodes in postorder. Merging takes columns out of their places, so steps are numbered anew.
typedef struct lac_partition {
  int32_t count;
  int32_t *first;   // count + 1: the first new step of each
  int32_t *rows;    // count: rows below
  int32_t *parent;  // count: -1 for roots
  int32_t *step;    // n: the step of the elimination that becomes the k-th
  int64_t stack;    // numbers of update matrices alive at once, at most
} lac_partition;

/// `partition` is zeroed before and cleared after, also where this fails.
lac_status lac_partition_init(lac_context *ctx, const lac_elimination *elimination, lac_partition *partition);
void lac_partition_clear(lac_partition *partition);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file cost.h
/// What a direct solver would need, before there is one.

#ifndef LACUNA_SOLVERS_AUTO_COST_H
#define LACUNA_SOLVERS_AUTO_COST_H

#include "core/pattern/pattern_impl.h"

typedef struct lac_auto_cost {
  double width;         // rows of a separator, about
  double flops, bytes;  // of a Cholesky factor of f64
  double share;         // of the flops relative to what iterating takes
  bool is_costly;
} lac_auto_cost;

/// From a breadth-first search, in a few bytes a row: no ordering, no symbolic factorisation.
lac_status lac_auto_foresee(lac_context *ctx, const lac_pattern *pattern, lac_auto_cost *out);

#endif

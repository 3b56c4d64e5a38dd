// SPDX-License-Identifier: Apache-2.0
/// @file forecast.h
/// What a direct solver would need, before there is one.

#ifndef LACUNA_SOLVERS_AUTO_FORECAST_H
#define LACUNA_SOLVERS_AUTO_FORECAST_H

#include "core/pattern/pattern_impl.h"

typedef struct lac_forecast {
  double width;         // rows of a separator, about
  double flops, bytes;  // of a Cholesky factor of f64
  double share;         // of the flops relative to what iterating takes
  bool is_costly;
} lac_forecast;

/// From a breadth-first search, in a few bytes a row: no ordering, no symbolic factorisation.
lac_status lac_forecast_direct(lac_context *ctx, const lac_pattern *pattern, lac_forecast *out);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file plan.h
/// The lists of an elimination (kernels/listed.h), made of a pattern on the host.

#ifndef LACUNA_SOLVERS_BATCHED_PLAN_H
#define LACUNA_SOLVERS_BATCHED_PLAN_H

#include "kernels/listed.h"
#include "lacuna/solver.h"

// Rows, and products of an elimination, beyond which another method serves better.
enum { LAC_BATCHED_ROWS = 8192, LAC_BATCHED_PRODUCTS = 1 << 24 };

/// *products says how many an elimination has; beyond LAC_BATCHED_PRODUCTS there are no lists, and *out is NULL. To be
/// destroyed by the caller.
lac_status lac_batched_plan(lac_context *ctx, const lac_pattern *pattern, lac_ordering ordering, int64_t *products,
                            lac_listed_lu **out);
void lac_batched_plan_destroy(lac_listed_lu **plan);

#endif

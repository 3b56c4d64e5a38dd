// SPDX-License-Identifier: Apache-2.0
/// @file probe.h
/// What measurements say of a factor whose pivots were not chosen by the values: whether digits of its solutions are
/// certain. As on the host (direct/certain.c) there must be cause to ask: small pivots, or a solution that grew.

#ifndef LACUNA_SOLVERS_MEASURED_PROBE_H
#define LACUNA_SOLVERS_MEASURED_PROBE_H

#include "solvers/measured/measured.h"
#include "solvers/solver_impl.h"

/// A share of the largest pivot below which the smallest is cause to ask, and the growth that is cause in a solve.
double lac_measured_cause(const lac_factor *f);
double lac_measured_growth(const lac_factor *f);

/// Solve for random numbers: they reach into every null space, and grow by about the condition. `each` is NULL or gets
/// what came of each matrix.
lac_status lac_measured_probe(lac_context *ctx, const lac_factor *f, lac_measured_apply *apply, const void *self,
                              lac_measured *each, lac_measured *out);
double lac_measured_condition(const lac_factor *f, const lac_measured *probe);

/// Whether an error is too bad to hand out.
bool lac_measured_is_bad(const lac_factor *f, double error);

/// Whether digits are certain where a solution has such an error, or a factor one of `least`.
bool lac_measured_is_settled(const lac_factor *f, double condition, double error, double least);

#endif

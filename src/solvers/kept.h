// SPDX-License-Identifier: Apache-2.0
/// @file kept.h
/// The factors that a solver keeps.

#ifndef LACUNA_SOLVERS_KEPT_H
#define LACUNA_SOLVERS_KEPT_H

#include "solvers/solver_impl.h"

/// The kept factor of these values, retained; *out stays NULL where there is none. Values are recognised at no cost
/// where the library owns the memory, else by their bits; *identity has what was found out.
lac_status lac_kept_recall(lac_context *ctx, lac_solver *solver, const lac_array *values, lac_identity *identity,
                           lac_factor **out);

/// Before a factor of such values is made: the last one that it may be refreshed from, of their dtype, shape and
/// memory space, retained, or NULL; and room for the new one.
lac_factor *lac_kept_seed(lac_solver *solver, const lac_array *values);

/// Keep a factor, which is taken over. Returns it, or the one that another thread has made of the same values
/// meanwhile: then that is everyone's.
lac_factor *lac_kept_share(lac_solver *solver, const lac_array *values, lac_factor *made);

/// Let go of all of them, when the solver ends.
void lac_kept_drop(lac_solver *solver);

#endif

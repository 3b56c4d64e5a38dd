// SPDX-License-Identifier: Apache-2.0
/// @file extension.h
/// Solvers of larger patterns that are made of a solver's own, kept with what the solver and its factors share.
///
/// doubled    every entry (i, j) becomes a block of two by two:
///
///                [A M]^-1   [A^-1  -A^-1 M A^-1]
///                [0 A]    = [  0        A^-1   ]
///
///            so that a selected inverse of it holds the derivative of that of A in the direction M, on A's pattern.
///            The zeros are stored: the wanted block stands where they do, once transposed.
/// covering   the entries of another pattern besides, stored zeros, so that a selected inverse has them too.

#ifndef LACUNA_SOLVERS_EXTENSION_H
#define LACUNA_SOLVERS_EXTENSION_H

#include "solvers/solver_impl.h"

struct lac_extension {
  lac_object object;
  lac_pattern *target;  // that it covers; NULL: the doubled one
  lac_solver *solver;
  lac_map *parts;       // doubled: from its slots to the numbers of A, then of M; where a slot goes nowhere it is zero
  lac_map *block;       // doubled: from its slots to those of A, for the lower left block alone
  lac_extension *next;  // in the chain of the core, last used first
};

/// The doubled extension, made when first asked for. Retained for the caller (lac_object_release).
lac_status lac_extension_doubled(lac_context *ctx, lac_solver_core *core, lac_extension **out);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file look.h
/// Whether a preconditioner that is plainer than multigrid will do: by what is counted and by a few iterations.
///
///     multigrid     its set-up and some 20 iterations; dearer where most rows have entries of different sizes
///     a look        the set-up of the plain one and 8 iterations, of Jacobi 20, on numbers at random: no more than a
///                   quarter of multigrid
///     Jacobi        an iteration carries b one level further: no look where levels times an iteration are more than
///                   multigrid
///     taken         the cheapest: iterations are foreseen from the rate of the second half, since at first all of them
///                   go quickly; of CG no more than 80, since a look cannot know what comes later
///     systems       of several unknowns a node, or with near-null vectors: no look
///
/// So a graph with a power law has Jacobi, thin layers have IC(0), convection has ILU(0), and a grid pays nothing.

#ifndef LACUNA_SOLVERS_PRECONDITION_CHOICE_LOOK_H
#define LACUNA_SOLVERS_PRECONDITION_CHOICE_LOOK_H

#include "solvers/precondition/preconditioner.h"

/// A look for a factor `f` that wants a preconditioner of `a`.
typedef struct lac_look {
  const lac_factor *f;
  const lac_linear *a;
  double multigrid;  // its price
  lac_nodes *nodes;  // that were found, or NULL; the caller destroys them
} lac_look;

/// Whether there is anything to look for; then look->multigrid is known. Values were asked for nodes where look->nodes
/// is there afterwards.
lac_status lac_look_begin(lac_context *ctx, lac_look *look, bool *is_due);

/// Whether a look at a plainer kind is worth its price.
bool lac_look_is_due(const lac_look *look, const char *kind);

/// The seconds that iterating with m, of such a kind, is foreseen to take, and how many iterations; infinite where it
/// is not cheaper than multigrid.
lac_status lac_look_at(lac_context *ctx, const lac_look *look, const lac_factor *m, double *seconds,
                       double *iterations);

#endif

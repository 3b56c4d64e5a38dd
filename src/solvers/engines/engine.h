// SPDX-License-Identifier: Apache-2.0
/// @file engine.h
/// Solvers of others, loaded when they are asked for: kinds that the registry has from then on.
///
/// An engine is a lac_direct_table, or a lac_solver_table where it works on arrays and contexts by itself, in a plug-in
/// (core/plugin/plugin.h).

#ifndef LACUNA_SOLVERS_ENGINES_ENGINE_H
#define LACUNA_SOLVERS_ENGINES_ENGINE_H

#include "core/plugin/plugin.h"
#include "solvers/direct/method/method.h"
#include "solvers/solver_impl.h"

enum { LAC_ENGINE_STRUCTS = 11 };

/// What an engine's plug-in gets besides the core: it sees structs of the solvers too.
typedef struct lac_engine_host {
  size_t sizes[LAC_ENGINE_STRUCTS];  // LAC_ENGINE_SIZES
  lac_status (*order)(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, int32_t *order);
  const _Atomic int64_t *narrow;  // structures with more entries get 64-bit indices from the beginning
} lac_engine_host;

/// Of the structs of the solvers that its methods and kinds read or fill.
#define LAC_ENGINE_SIZES                                                                                    \
  {                                                                                                         \
    sizeof(lac_direct_table), sizeof(lac_direct_job), sizeof(lac_structure), sizeof(lac_solver_table),      \
        sizeof(lac_finding), sizeof(lac_fault), sizeof(lac_solver_options), sizeof(struct lac_solver_core), \
        sizeof(struct lac_factor), sizeof(lac_solve_job), sizeof(lac_linear)                                \
  }

/// What such a plug-in brings; each list is ended by NULL.
typedef struct lac_engine {
  const lac_direct_table *const *methods;
  const lac_solver_table *const *kinds;
} lac_engine;

#endif

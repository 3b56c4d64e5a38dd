// SPDX-License-Identifier: Apache-2.0
/// @file engine.h
/// Solvers of others, loaded when they are asked for: kinds that the registry has from then on.
///
/// An engine is a lac_direct_table, or a lac_solver_table where it works on arrays and contexts by itself, in a
/// plug-in, liblacuna_<name>.so, that exports one function, lac_engine_<name>. The core never links it: some engines
/// are under other licences than Lacuna. A plug-in links nothing of Lacuna either: what it needs of the core it gets as
/// a struct of functions, and it is loaded once, for good.

#ifndef LACUNA_SOLVERS_ENGINES_ENGINE_H
#define LACUNA_SOLVERS_ENGINES_ENGINE_H

#include "core/test_hooks.h"
#include "solvers/direct/method/method.h"
#include "solvers/solver_impl.h"

enum { LAC_ENGINE_STRUCTS = 12 };

/// What a plug-in gets. It sees structs of the core, so both must have been compiled of the same text: `version` is
/// Lacuna's, and the sizes distinguish builds of one version.
typedef struct lac_engine_host {
  const char *version;
  size_t size;                       // of this struct
  size_t sizes[LAC_ENGINE_STRUCTS];  // LAC_ENGINE_SIZES
  void *(*alloc)(size_t bytes);
  void *(*calloc)(size_t number, size_t size);
  void (*free)(void *block);
  lac_status (*fail)(lac_context *ctx, lac_status status, const char *function, const char *format, ...)
      __attribute__((format(printf, 4, 5)));
  lac_status (*pass)(lac_context *ctx, lac_status status, const char *function);
  lac_status (*order)(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, int32_t *order);
  bool (*blas_hold)(int threads);  // core/blas.h
  void (*blas_drop)(int threads);
  bool (*blas_enter)(int threads);
  void (*blas_leave)(int threads);
  const _Atomic int64_t *narrow;  // structures with more entries get 64-bit indices from the beginning
} lac_engine_host;

/// Of the structs of the core that its methods and kinds read or fill.
#define LAC_ENGINE_SIZES                                                                                    \
  {                                                                                                         \
    sizeof(lac_direct_table), sizeof(lac_direct_job), sizeof(lac_structure), sizeof(lac_solver_table),      \
        sizeof(lac_finding), sizeof(lac_fault), sizeof(lac_solver_options), sizeof(struct lac_solver_core), \
        sizeof(struct lac_factor), sizeof(lac_solve_job), sizeof(lac_linear), sizeof(struct lac_context)    \
  }

/// What a plug-in brings; each list is ended by NULL.
typedef struct lac_engine {
  const lac_direct_table *const *methods;
  const lac_solver_table *const *kinds;
} lac_engine;

/// The type of lac_engine_<name>: what it brings, or NULL when the host is of another build. The host lives as long as
/// the process.
typedef const lac_engine *lac_engine_open(const lac_engine_host *host);

#endif

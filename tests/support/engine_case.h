// SPDX-License-Identifier: Apache-2.0
/// @file engine_case.h
/// The engines that a machine has, for tests of all of them. A test that finds none counts as left out.

#ifndef LACUNA_TESTS_ENGINE_CASE_H
#define LACUNA_TESTS_ENGINE_CASE_H

#include "support/direct_case.h"

typedef struct engine {
  const char *method;
  const char *name;
  int is_hermitian;  ///< takes positive definite matrices alone
  int has_single;    ///< takes f32 and c64 too
} engine;

enum { ENGINE_COUNT = 4 };
extern const engine ENGINES[ENGINE_COUNT];

/// Calls `visit` with every engine that is here; says which are not, once.
void each_engine(lac_context *ctx, void (*visit)(lac_context *ctx, const engine *e));

/// Calls `check` with a case of about n rows for every kind and dtype that an engine takes.
void each_case(lac_context *ctx, const engine *e, int64_t n,
               void (*check)(lac_context *ctx, const engine *e, const direct_case *c));

int engine_takes(const engine *e, direct_kind kind, lac_dtype dtype);
lac_solver_options engine_options(const engine *e, lac_ordering ordering);

/// f32 or c64.
int is_single(lac_dtype dtype);

#endif

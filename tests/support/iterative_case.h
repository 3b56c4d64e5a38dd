// SPDX-License-Identifier: Apache-2.0
/// @file iterative_case.h
/// Systems of iterative solvers, set up and measured.

#ifndef LACUNA_TESTS_ITERATIVE_CASE_H
#define LACUNA_TESTS_ITERATIVE_CASE_H

#include "support/direct_case.h"

typedef struct iterative_system {
  direct_system s;
  lac_factor *factor;
} iterative_system;

lac_solver_options iterative_options(const char *method, const char *preconditioner);

/// Pattern, values, solver and factor of a case.
iterative_system iterative_open(lac_context *ctx, const direct_case *c, const lac_solver_options *options);
void iterative_close(iterative_system *system);

/// Solve with random b of k columns: the largest |b - op(A) x| / |b|, by the sketch.
double iterative_residual(lac_context *ctx, const direct_case *c, const lac_factor *factor, lac_form form, int64_t k);

/// The tolerance that is kept to if nothing is said.
double iterative_asked(lac_dtype dtype);

/// Two columns of random numbers (fill 1), or of `fill`; what became of them.
lac_solve_report iterative_run(lac_context *ctx, const lac_factor *factor, int64_t n, double fill);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file krylov_solver.h
/// Krylov methods as kinds of solvers: a factor is a method and a preconditioner that was set up.

#ifndef LACUNA_SOLVERS_KRYLOV_KRYLOV_SOLVER_H
#define LACUNA_SOLVERS_KRYLOV_KRYLOV_SOLVER_H

#include "solvers/krylov/krylov.h"
#include "solvers/solver_impl.h"

/// The part of a core.
typedef struct lac_krylov_core {
  const lac_solver_table *asked;  // the kind of the preconditioner; NULL: it is left open, or given
} lac_krylov_core;

/// The part of a factor.
typedef struct lac_krylov_factor {
  const lac_krylov_table *method;  // the flexible form where the preconditioner varies
  lac_factor *m;                   // the preconditioner, of any kind; NULL: a user's function, or none
  lac_array *values;               // [items, nnz] of a matrix
  lac_linear products;             // of a map that is known by its products alone
  bool is_hermitian;
  double largest;  // size of a number in the matrices; 0: unknown
  _Atomic int64_t solves, iterations;
} lac_krylov_factor;

static inline lac_krylov_factor *lac_krylov_of(const lac_factor *f) { return f->part; }

/// Whether the preconditioner is the multigrid of a grid.
bool lac_krylov_is_on_grid(const lac_factor *f);

/// Refuse null spaces that are none (require_null.c).
lac_status lac_krylov_require_null(lac_context *ctx, const lac_factor *f);

/// op(A) x = b by iterating (krylov_solve.c).
lac_status lac_krylov_solve(lac_context *ctx, const lac_factor *f, const lac_solve_job *job, lac_solve_report *report);

/// Put a random other in place of b, [items, rows, width], as far away as the tolerance reaches (stir.c).
lac_status lac_krylov_stir(lac_context *ctx, const lac_iteration *iteration, lac_array **b);

/// Why a solve did not reach its tolerance, in words.
void lac_krylov_explain(const lac_factor *f, bool is_derivative, const lac_solve_report *report, char *text,
                        size_t size);

/// The error of such a solve, and the way out.
lac_status lac_krylov_fail(lac_context *ctx, const lac_solve_report *report, const char *text);

#endif

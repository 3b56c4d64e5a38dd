// SPDX-License-Identifier: Apache-2.0
/// @file krylov.h
/// Krylov methods on linear maps: op(A) x = b to a tolerance, for many columns and matrices at once.
///
/// Each column of each matrix is a system with coefficients of its own: a state [slots, items, k] in backend memory
/// (kernels/columns.h), and columns that have converged stand still. The host reads a few of the slots once an
/// iteration, or once each `look_every`. The true residual is computed anew before a column is called converged, and on
/// exit.

#ifndef LACUNA_SOLVERS_KRYLOV_KRYLOV_H
#define LACUNA_SOLVERS_KRYLOV_KRYLOV_H

#include "lacuna/solver.h"
#include "solvers/linear.h"

/// Who looks on at an iteration: heard at each look, with the worst |r| over what is asked, and may end it.
typedef struct lac_onlooker {
  lac_status (*look)(lac_context *ctx, void *data, int64_t iteration, double excess, bool *ends);
  void *data;
} lac_onlooker;

typedef struct lac_krylov_job {
  lac_linear a;
  lac_linear m;                    // op(M)^-1; apply NULL: none
  lac_form form;                   // op(A) x = b
  const lac_iteration *iteration;  // its rtol is the one to keep to
  int64_t items, rows, cols, width;
  lac_dtype dtype;
  const lac_array *b;            // [items, rows, width] (form N)
  lac_array *x;                  // [items, cols, width]; holds the start
  double largest;                // size of a number in A; 0: unknown
  bool starts_at_zero;           // x is all zero: its product is not computed
  bool saves_memory;             // vectors are shared where that costs nothing but the right to vary
  const lac_onlooker *onlooker;  // or NULL
  int64_t spent;                 // iterations of the same solve before this job: max_iterations is the limit of both
} lac_krylov_job;

typedef struct lac_krylov_table {
  const char *name;
  bool needs_hermitian;
  bool takes_rectangles;                    // least squares
  bool is_flexible;                         // the preconditioner may vary
  const struct lac_krylov_table *flexible;  // the form for a preconditioner that varies; NULL: no such form
  lac_status (*run)(lac_context *ctx, const lac_krylov_job *job, lac_solve_report *report);
} lac_krylov_table;

/// How fast an iteration is.
typedef struct lac_krylov_pace {
  int64_t iterations;   // that were done
  double residual;      // |r| over |b| after them; infinite where it broke down
  double factor, late;  // of the residual per iteration: in all of them, and in the second half
} lac_krylov_pace;

/// Run a few iterations of a flexible method on a right-hand side of its own, one column, constants or random numbers
/// (probe.c): of the job that is asked for, the maps, the shapes and `iteration` count.
lac_status lac_krylov_probe(lac_context *ctx, const lac_krylov_job *asked, bool is_hermitian, bool is_random,
                            lac_krylov_pace *pace);

#define LAC_KRYLOV(name, flags) extern const lac_krylov_table lac_krylov_##name;
#include "solvers/krylov/krylov.def"
#undef LAC_KRYLOV

#endif

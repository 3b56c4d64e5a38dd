// SPDX-License-Identifier: Apache-2.0
/// @file iterative.h
/// How iterative solvers work: tolerances, limits, preconditioners, multigrid, and how a solve ended.
///
/// An iterative solver is a lac_solver whose method is a Krylov method (solver.h); its factor is the set-up of a
/// preconditioner. A preconditioner is a solver too: by itself, its factor's solve applies it once.

#ifndef LACUNA_ITERATIVE_H
#define LACUNA_ITERATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lacuna/array.h"
#include "lacuna/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_factor lac_factor;

/// How an iteration ended.
typedef enum lac_ending {
  LAC_ENDING_CONVERGED,   ///< the true residual of every column is within its tolerance
  LAC_ENDING_LIMIT,       ///< max_iterations were made
  LAC_ENDING_STAGNATED,   ///< the residual does not fall any more
  LAC_ENDING_BROKE_DOWN,  ///< the method divides by zero: an indefinite matrix in CG, a singular matrix
  LAC_ENDING_DIVERGED,    ///< NaN or infinity came up, or x is too large for its dtype
  LAC_ENDING_INTERRUPTED  ///< `progress` or the context's interrupt function asked for it
} lac_ending;

/// Report of one solve. Of several columns and matrices it is the worst. `size`: see "Options and reports" in lacuna.h.
typedef struct lac_solve_report {
  size_t size;  ///< set by the caller: sizeof(lac_solve_report), or 0
  lac_ending ending;
  int64_t iterations;     ///< the most that a column needed
  double residual;        ///< |b - op(A) x| / |b|, computed from x at the end; the largest. -1: not measured
  double first_residual;  ///< the residual of the start; the largest
  int64_t item, column;   ///< the matrix of the batch and the column that `residual` belongs to
  double seconds;         ///< time of the solve
  double forward_error;   ///< an estimate of the relative error of x where that is in doubt; 0: it is not in doubt
  char reason[240];       ///< the ending as a sentence
  char warning[240];      ///< a sentence where few digits of x are certain; else ""
  /// The names of the method and of the preconditioner that solved, where the report was asked for beforehand
  /// (lac_factor_iterate, lac_solve_from); else "". They live as long as the library.
  const char *method, *preconditioner;
} lac_solve_report;

/// Apply a preconditioner of the caller's: y = op(B) x, where B is an approximate inverse of A.
/// Arguments: x and y are arrays [items, n, k] for any k, and do not overlap.
/// Errors: any status but LAC_OK ends the solve with that status.
/// Threads: called by every thread that solves.
typedef lac_status (*lac_apply)(lac_context *ctx, void *data, const lac_array *x, lac_form op, lac_array *y);

/// Follow an iteration: called at each look at the residual, with the largest |b - op(A) x| / |b| of all columns.
/// A result other than 0 ends the solve.
typedef int (*lac_iteration_progress)(void *data, int64_t iteration, double residual);

/// How a Krylov method iterates and when it ends; a part of lac_solver_options. Zero in a field is its default.
typedef struct lac_iteration {
  /// A column has converged when |b - op(A) x| <= max(rtol |b|, atol) in the 2-norm, by the true residual. Both 0: rtol
  /// is 1e-10, and 1e-5 in f32 and c64. atol has the unit of b, so the solves that derivatives need do without it.
  double rtol, atol;
  double adjoint_rtol;              ///< rtol of the solves that derivatives need; 0: rtol
  int64_t max_iterations;           ///< 0: 10 000, and no more than 10 n + 10
  int restart;                      ///< vectors that "gmres" and "flexible_gmres" keep, at most 10 000; 0: 30
  int look_every;                   ///< iterations between two looks at the residual; 0: 1
  bool accept_unconverged;          ///< a tolerance that is not met is no error
  lac_iteration_progress progress;  ///< NULL: nobody follows
  void *progress_data;
  /// Columns [n, m] that span the null space of A, and of A^H where that differs; NULL: the matrix is regular. The part
  /// of b along the latter is removed, and the part of x along the former. Method "auto" then iterates whatever the
  /// matrix, since a direct factor knows of no null space. Vectors that A does not take to zero are LAC_ERR_ARG when
  /// values are factored. Ownership: held by the solver.
  const lac_array *null_space, *left_null_space;
  int64_t reserved[8];  ///< zero: room for fields of later versions
} lac_iteration;

/// Which multigrid.
typedef enum lac_multigrid_kind {
  LAC_MULTIGRID_AUTO,      ///< by the matrix, and in doubt by a trial: grid, pairwise or smoothed
  LAC_MULTIGRID_PAIRWISE,  ///< aggregates of pairs of pairs, plain interpolation, K-cycle: least memory
  LAC_MULTIGRID_SMOOTHED,  ///< smoothed aggregation along strong entries, Chebyshev smoothers
  LAC_MULTIGRID_GRID       ///< rows are points of a rectangular grid, row by row, and entries lead to neighbours
} lac_multigrid_kind;

/// A preconditioner and its numbers; a part of lac_solver_options. Zero in a field is its default.
typedef struct lac_precondition {
  /// "identity", "jacobi", "block_jacobi", "ssor", "ic0", "ilu0", "chebyshev", "multigrid", a direct method or an
  /// engine's; NULL or "auto": chosen by the matrix. It is read by the call that takes the options.
  const char *method;
  const lac_factor *factor;  ///< use this factor, of any matrix of that size, instead; held by the solver
  lac_apply apply;           ///< or use this function, for every op that solves and derivatives ask for
  void *apply_data;
  double omega;  ///< "ssor": over-relaxation, 0 < omega < 2; 0: 1
  int block;     ///< "block_jacobi": rows of a block; 0: the largest size up to 8 that the structure shows, else 8
  int degree;    ///< "chebyshev": degree of the polynomial; 0: 2. Smoothed aggregation: 1, or 2 for any larger degree
  lac_multigrid_kind kind;
  /// Smoothed aggregation: entries below this share of sqrt(a_ii a_jj) are weak; halved at each level. 0: 0.08, and
  /// 0.02 for blocks of nodes. Below 0: no entry is weak.
  double strength;
  /// Smoothed aggregation: [n, m], at most 32 vectors that the matrix takes nearly to zero and coarse levels must hold.
  /// A hint, which does not make "auto" iterate. NULL: the rigid motions of `coordinates`; else a null space of several
  /// vectors (lac_iteration); else, where values show nodes of several unknowns, a translation for each; else
  /// constants.
  /// Ownership: held by the solver.
  const lac_array *near_null;
  /// Coordinates of the nodes, real, [nodes, 2] or [nodes, 3], for displacements in as many directions, those of a node
  /// together: 3 or 6 rigid motions follow. Nodes may lack rows, as on rollers; nodes without any row are left out. A
  /// hint: coordinates that do not fit the nodes that the values show are set aside with a warning, and are
  /// LAC_ERR_SHAPE only where multigrid was asked for by name. near_null has precedence. Ownership: held by the solver.
  const lac_array *coordinates;
  bool full_precision;  ///< the hierarchy has the dtype of the matrix; else f32 (c64), except for very stiff rows
  int coarse_rows;      ///< a coarsest level of at most so many rows is solved directly, else smoothed; 0: 700
  int max_levels;       ///< 0: 30; more than 32 are 32
  int64_t reserved[8];  ///< zero: room for fields of later versions
} lac_precondition;

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
/// @file iterative.h
/// How iterative solvers go about it: tolerances, limits, preconditioners, multigrid, and how a solve ended.
///
/// An iterative solver is a lac_solver whose method is a Krylov method (solver.h); its factor is the set-up of a preconditioner. A
/// preconditioner is a solver too: by itself, its factor's solve applies it once.

#ifndef LACUNA_ITERATIVE_H
#define LACUNA_ITERATIVE_H

#include "lacuna/array.h"
#include "lacuna/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_factor lac_factor;

/// How an iteration ended.
typedef enum lac_ending {
  LAC_CONVERGED,   ///< the true residual of every column is within its tolerance
  LAC_LIMIT,       ///< max_iterations
  LAC_STAGNATED,   ///< the residual does not fall any more
  LAC_BROKE_DOWN,  ///< the method divides by zero: an indefinite matrix or preconditioner in CG, a singular matrix
  LAC_DIVERGED,    ///< NaN or infinity came up, or x is too large for its dtype
  LAC_INTERRUPTED  ///< `progress` or the context's interrupt function asked for it
} lac_ending;

/// What a solve says of its work. Of several columns and matrices: the worst.
typedef struct lac_solve_report {
  lac_ending ending;
  int64_t iterations;     ///< the most that a column needed
  double residual;        ///< |b - op(A) x| / |b|, computed anew at the end; the largest. -1: not measured
  double first_residual;  ///< of the start; the largest
  int64_t item, column;   ///< where `residual` is
  double seconds;
  double forward_error;  ///< an estimate of the relative error of x where that is in doubt; 0: it is not
  char reason[240];      ///< the ending as a sentence
  char warning[240];     ///< a sentence where few digits of x are certain; else ""
} lac_solve_report;

/// y = op(B) x for arrays [items, n, k], any k; y does not overlap x. A user's preconditioner: B stands for an approximate inverse of
/// A. May be called by every thread that solves. Anything but LAC_OK ends the solve with that status.
typedef lac_status (*lac_apply)(lac_context *ctx, void *data, lac_side side, const lac_array *x, lac_array *y);

/// Called at each look at the residual, the largest of all columns beside |b|; anything but 0 ends the solve.
typedef int (*lac_iteration_progress)(void *data, int64_t iteration, double residual);

/// How a Krylov method goes on and when it ends.
typedef struct lac_iteration {
  /// A column has converged when |b - op(A) x| <= max(rtol |b|, atol) in the 2-norm, by the true residual. Both 0 (default): rtol is 1e-10, in
  /// f32 and c64 1e-5. atol has the unit of b: solves that derivatives need, whose right-hand sides are others, do without it.
  double rtol, atol;
  double adjoint_rtol;              ///< of the solves that derivatives need; 0 (default): rtol
  int64_t max_iterations;           ///< 0 (default): 10 000 and no more than 10 n + 10
  int restart;                      ///< GMRES and flexible GMRES keep so many vectors, at most 10 000; 0 (default): 30
  int look_every;                   ///< iterations between looks at the residual; 0 (default): 1
  int accept_unconverged;           ///< 1: solves do not fail where the tolerance is not met; 0 (default): they do
  lac_iteration_progress progress;  ///< may be NULL
  void *progress_data;
  /// Columns [n, m] that span the null space of A, and that of A^H where it differs; NULL: none. b is freed of its part along the
  /// latter and x of its part along the former. LAC_METHOD_AUTO then iterates whatever the matrix: a direct factor knows of no null
  /// space. LAC_ERR_ARG for vectors that are not in it, when values are factored. Held by the solver.
  const lac_array *null_space, *left_null_space;
} lac_iteration;

/// Which multigrid.
typedef enum lac_multigrid_kind {
  LAC_MULTIGRID_AUTO,      ///< pairwise, and smoothed where that is slow
  LAC_MULTIGRID_PAIRWISE,  ///< aggregates of pairs of pairs, plain interpolation, K-cycle: least memory, quick to set up
  LAC_MULTIGRID_SMOOTHED   ///< smoothed aggregation along strong entries, Chebyshev smoothers
} lac_multigrid_kind;

/// The numbers of preconditioners. Zero stands for the default.
typedef struct lac_precondition {
  int method;                ///< a lac_method, any: LAC_METHOD_AUTO chooses by the matrix, LAC_METHOD_IDENTITY is none
  const char *name;          ///< the method by its name; NULL: `method`
  const lac_factor *factor;  ///< use this factor, of any matrix of that size, instead; held by the solver
  lac_apply apply;           ///< or this function, for every side that solves and derivatives ask for; NULL: none
  void *apply_data;
  double omega;  ///< SSOR: over-relaxation, 0 < omega < 2: 1
  int block;  ///< block Jacobi: rows of a block: the largest size up to 8 that the structure is made of, 8 where it is of none
  int degree;  ///< Chebyshev: 2; of the smoothers of smoothed aggregation 1, or 2 for any more
  lac_multigrid_kind kind;
  double
      strength;  ///< smoothed aggregation: entries below this share of sqrt(a_ii a_jj) are weak: 0.08, blocks of nodes
                 ///< 0.02; halved at each level; below 0: none
  /// Smoothed aggregation: [n, m], what coarse levels must hold, vectors that the matrix takes nearly to zero; at most
  /// 32. A hint, which does not make LAC_METHOD_AUTO iterate. NULL: the rigid motions of `coordinates`; a null space of
  /// several vectors (lac_iteration); where values show nodes of several unknowns, a translation for each; else
  /// constants. Held.
  const lac_array *near_null;
  /// Of the nodes, [nodes, 2] or [nodes, 3], real, for displacements in as many directions, those of a node together:
  /// rigid motions follow, 3 or 6. Nodes may lack rows, as on rollers; those without any are left out. A hint: what does
  /// not fit the nodes that the values show is set aside with a warning, and is an error (LAC_ERR_SHAPE) only where
  /// multigrid is asked for by name. near_null comes first. NULL: not known. Held.
  const lac_array *coordinates;
  int full_precision;  ///< 1: the hierarchy has the dtype of the matrix; 0: f32 (c64), but beside very stiff rows
  int coarse_rows;     ///< the coarsest level is solved directly where it has at most so many rows, else smoothed: 700
  int max_levels;      ///< 30; more than 32 are 32
} lac_precondition;

LAC_API lac_iteration lac_iteration_defaults(void);

#ifdef __cplusplus
}
#endif
#endif

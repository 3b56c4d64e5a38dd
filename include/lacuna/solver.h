// SPDX-License-Identifier: Apache-2.0
/// @file solver.h
/// Solvers and factors: analyse a pattern once, factor values, solve in every direction with the same factor.
///
/// A solver is the symbolic analysis of a pattern under given options; a factor is made of it and of values. Both are
/// immutable, reference counted and shareable between threads. Differentiable solves are on them: lac_solve_with and
/// lac_solve in ops.h. Direct solvers work in host memory, for fewer than 2^30 rows; iterative ones (iterative.h)
/// wherever the kernels of the backend suffice. Where a method cannot work where the context's arrays lie, values and
/// right-hand sides travel to the host and solutions back; the report says so.

#ifndef LACUNA_SOLVER_H
#define LACUNA_SOLVER_H

#include "lacuna/array.h"
#include "lacuna/iterative.h"
#include "lacuna/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_solver lac_solver;

/// How a matrix is factored. The first is chosen by its nature (lac_pattern_nature) and values; each other can be asked
/// for.
typedef enum lac_method {
  LAC_METHOD_AUTO,         ///< the cheapest that fits the matrix, with what is more robust in reserve
  LAC_METHOD_DIAGONAL,     ///< nothing off the diagonal
  LAC_METHOD_TRIANGULAR,   ///< triangular, or so after a permutation of rows and one of columns
  LAC_METHOD_BANDED,       ///< LU with partial pivoting inside a band; tridiagonal matrices too
  LAC_METHOD_CHOLESKY,     ///< Hermitian positive definite, else LAC_ERR_SYMMETRY or LAC_ERR_DEFINITE
  LAC_METHOD_LDLT,         ///< Hermitian, pivots of one or two rows chosen inside supernodes
  LAC_METHOD_LU,           ///< any square matrix: matched and scaled, pivots chosen inside supernodes, refined
  LAC_METHOD_PIVOTING_LU,  ///< any square matrix: threshold partial pivoting, column by column; slow and safe
  LAC_METHOD_CHOLMOD,      ///< engines: loaded when they are asked for, see lac_engine_find
  LAC_METHOD_UMFPACK,
  LAC_METHOD_KLU,
  LAC_METHOD_MUMPS,
  LAC_METHOD_CG,  ///< Krylov methods: iterate to a tolerance. Hermitian positive definite; flexible where the preconditioner varies
  LAC_METHOD_FLEXIBLE_CG,  ///< the same; the preconditioner may vary
  LAC_METHOD_BICGSTAB,     ///< any square matrix, short recurrences
  LAC_METHOD_GMRES,        ///< any square matrix, restarted; flexible where the preconditioner varies
  LAC_METHOD_FLEXIBLE_GMRES,
  LAC_METHOD_MINRES,  ///< Hermitian, indefinite too
  LAC_METHOD_LSMR,    ///< least squares: any shape
  LAC_METHOD_LSQR,
  LAC_METHOD_IDENTITY,  ///< preconditioners: approximate inverses, applied once by a solve of their own
  LAC_METHOD_JACOBI,
  LAC_METHOD_BLOCK_JACOBI,
  LAC_METHOD_SSOR,
  LAC_METHOD_IC0,
  LAC_METHOD_ILU0,
  LAC_METHOD_CHEBYSHEV,
  LAC_METHOD_MULTIGRID,
  LAC_METHOD_DIRECT  ///< what LAC_METHOD_AUTO takes among direct methods
} lac_method;

/// The order of elimination.
typedef enum lac_ordering {
  LAC_ORDER_AUTO,    ///< AMD; METIS where it is found and AMD promises a costly factor, the better of the two
  LAC_ORDER_AMD,     ///< approximate minimum degree
  LAC_ORDER_METIS,   ///< nested dissection; LAC_ERR_UNSUPPORTED where METIS is not found
  LAC_ORDER_NATURAL  ///< as the matrix comes
} lac_ordering;

/// What can be read off a square pattern.
typedef struct lac_nature {
  int is_diagonal;
  int is_triangular;        ///< by some permutation of rows and of columns
  int is_symmetric;         ///< (i, j) stored where (j, i) is
  int64_t lower, upper;     ///< bandwidths
  int64_t diagonals;        ///< entries on the diagonal
  int64_t structural_rank;  ///< the largest number of entries, no two in a row or column
  int64_t blocks;           ///< of the block triangular form: strongly connected components after a matching
  int64_t components;       ///< connected components: independent systems
} lac_nature;

/// The nature of a pattern, found once and kept with it. Time: proportional to the entries, but for the matching.
LAC_API lac_status lac_pattern_nature(lac_context *ctx, const lac_pattern *pattern, lac_nature *out);

/// The structure of the factors of a square pattern, whatever its values: F holds A[order, order], its transpose, the
/// diagonal and all that elimination without pivoting fills in; the triangles of F are those of L and U. `map`
/// (optional) takes the values of A there. `steps` (optional) says which row of A each row of F is: lac_gather by it
/// takes b to the order of F, lac_scatter_add takes x back. Kept with the pattern. Time and memory: proportional to the
/// entries of F, besides the ordering.
LAC_API lac_status lac_pattern_fill(lac_context *ctx, const lac_pattern *pattern, lac_ordering ordering,
                                    lac_pattern **out, lac_map **map, lac_map **steps);

/// LAC_OK where the engine of a method can be used, else LAC_ERR_UNSUPPORTED with a sentence that names the package
/// that brings it. LAC_ORDER_METIS has its own: lac_ordering_find. METIS 5 is loaded at run time, from what
/// LACUNA_METIS in the environment names or else where the system finds libmetis.so.
LAC_API lac_status lac_engine_find(lac_context *ctx, lac_method method);
LAC_API lac_status lac_ordering_find(lac_context *ctx, lac_ordering ordering);

typedef struct lac_solver_options {
  lac_method method;
  const char *name;  ///< the method by its name, as reports give it: those of engines too; NULL: `method`
  lac_ordering ordering;
  /// Pivoting LU keeps the diagonal as pivot when it is at least this share (0 to 1) of the column's largest. 1 is
  /// strict partial pivoting; the default, 0.1, gives sparser factors.
  double pivot_tolerance;
  /// Of factors that a solver keeps for re-use (lac_solver_factor with values it has seen): the last one, whatever its
  /// size, so that the backward of a solve does not factor again; and of those before it at most 7, and no more than
  /// these bytes together, with the factors by other methods that serve in their place (counted from the next use on).
  /// A last one beyond the budget goes when others are factored. A solver of a larger pattern (lac_solver_covering) has
  /// a budget of its own. 0 keeps none: every derivative factors again.
  int64_t keep_bytes;
  /// A factorisation that is foreseen to need more than this is refused before it begins, with LAC_ERR_MEMORY;
  /// LAC_METHOD_AUTO iterates instead on what is suited for it. 0: what the machine has free.
  int64_t max_bytes;
  /// 1: what no digit is certain of, as the matrix is singular to working precision, is handed out with a warning; 0
  /// (default): it is LAC_ERR_SINGULAR.
  int accept_singular;
  /// 1: values on a symmetric pattern are Hermitian, whatever rounding has made of them; methods may read one triangle
  /// alone. 0 (default): they are looked at, and a_ij and conj(a_ji) may differ by 8 roundings of the larger one or of
  /// the root of |a_ii a_jj|.
  int assume_hermitian;
  lac_iteration iteration;          ///< of Krylov methods
  lac_precondition preconditioner;  ///< of them, and of preconditioners by themselves
} lac_solver_options;

/// What a solver says of its work. The texts of a report live as long as the solver or factor that gave it.
typedef struct lac_report {
  const char *method;    ///< as lac_method names it, in small letters; what was taken in the end
  const char *reason;    ///< why this method
  const char *warning;   ///< a sentence where something is doubtful: singular to working precision, much fill; else ""
  const char *ordering;  ///< "amd", "metis", "natural", or the engine's own
  int64_t factor_nnz;    ///< entries of all triangles, the diagonal counted once, over the whole batch
  int64_t factor_bytes;  ///< what the factor holds, the copy of its values included
  int64_t work_bytes;    ///< what factoring takes besides, at its peak
  double flops;          ///< of the factorisation
  int64_t perturbed;     ///< pivots that were too small and were enlarged: refinement makes good for them
  double analyse_seconds;
  double factor_seconds;
  int64_t factorisations;      ///< how many this solver made so far
  int64_t reuses;              ///< how often values it had seen came back
  const char *preconditioner;  ///< of a Krylov method: its name; else ""
  int levels;                  ///< of a multigrid hierarchy, the finest counted; else 0
  double complexity;           ///< its entries on all levels over those of the matrix
  int64_t setups;              ///< preconditioners that were set up from nothing by this solver
  int64_t refreshes;           ///< and with new values on an old structure
  int64_t solves;              ///< by iterating with this factor
  int64_t iterations;          ///< of all of them; each counts those of its slowest column
} lac_report;

LAC_API lac_solver_options lac_solver_options_defaults(void);

/// Analyse a pattern, square but for LSMR and LSQR; with blocks, values of its factors and of lac_solve are [*batch,
/// nnz, br, bc], and so are gradients; other operators want a solver of single entries. `options` may be NULL.
/// LAC_METHOD_AUTO iterates where a direct factor is foreseen to be costly, in a few bytes a row and, unless that is in
/// doubt and an analysis cheap beside both ways, without an analysis; iterative methods have none. The
/// analysis stays with the pattern: a second solver of the same ordering costs nothing. Cost: the ordering, and a step
/// for each entry of the matrix and each row of each supernode. Errors: LAC_ERR_SHAPE for a pattern that is not square,
/// LAC_ERR_ARG for options and for a method that the pattern is not of the nature for, LAC_ERR_UNSUPPORTED for an
/// engine or METIS that is not found.
LAC_API lac_status lac_solver_create(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                                     lac_solver **out);
LAC_API lac_solver *lac_solver_retain(const lac_solver *solver);
LAC_API void lac_solver_destroy(lac_solver **solver);
LAC_API int64_t lac_solver_id(const lac_solver *solver);
LAC_API const lac_pattern *lac_solver_pattern(const lac_solver *solver);

/// A solver, with the same options where they fit, of this one's pattern with the entries of `target` besides, so that
/// a selected inverse has them too (lac_inverse_on): this solver itself where its pattern has them. Kept with the
/// solver: of the last eight patterns asking again costs nothing.
LAC_API lac_status lac_solver_covering(lac_context *ctx, const lac_solver *solver, const lac_pattern *target,
                                       lac_solver **out);

/// What is known before there are values, at no cost: the method that they will probably need and why, the time of the
/// analysis, and the counts. factor_nnz, factor_bytes, work_bytes and flops are of one f64 matrix (complex: twice the
/// bytes of the numbers, four times the flops): exact for Cholesky and L D L^H, and for LU if it keeps the diagonal; -1
/// where the values decide and where all of them will be refused. A warning says that the pattern fills in.
/// factor_seconds is 0.
LAC_API lac_report lac_solver_report(const lac_solver *solver);

/// Factor values [*batch, nnz]: one factor for each of the batch, all by one method. A direct factor keeps a copy of
/// the values; an iterative one shares the array where the library owns its memory, and is stale once that is written
/// to. Those that this solver has just factored are recognised, by the version of memory that the library owns and else
/// by 128 bits of a hash, and give the factor it kept (least recently used go first; keep_bytes). Matrices of a batch
/// are shared out among threads. Where LU must match rows with columns, or L D L^H must pair rows, the choice made last
/// is taken over if it suits the new values, and the second matrix of a batch on takes over that of the first. The
/// solution is as accurate, but its last bits may then depend on what this solver factored before: where they must not,
/// give a solver of its own. So may the method that LAC_METHOD_AUTO takes: once an iteration has failed, or was left
/// since a direct factor was foreseen to be cheaper, and a direct factor served, it goes on with direct ones. Errors:
/// LAC_ERR_SINGULAR names the column, LAC_ERR_DEFINITE the row, LAC_ERR_SYMMETRY and LAC_ERR_NONFINITE the entry;
/// LAC_ERR_UNSUPPORTED for a function as preconditioner of a method that cannot work where the arrays lie.
LAC_API lac_status lac_solver_factor(lac_context *ctx, const lac_solver *solver, const lac_array *values,
                                     lac_factor **out);

LAC_API lac_factor *lac_factor_retain(const lac_factor *factor);
LAC_API void lac_factor_destroy(lac_factor **factor);
LAC_API int64_t lac_factor_id(const lac_factor *factor);
LAC_API const lac_pattern *lac_factor_pattern(const lac_factor *factor);
LAC_API const lac_meta *lac_factor_meta(const lac_factor *factor);  ///< of the values that were factored

/// x = op(A)^-1 b, arrays [*batch, n, k]; the batch of x is the joint one of factor and b; x may not overlap b. The
/// backward error of every column is measured and, where it is more than rounding, mended by iterative refinement:
/// entry by entry, and where a nearly singular matrix does not allow that, row by row (residual beside the row's norm
/// times x's). Columns of b with NaN or infinity pass through. Works in 5 n min(k, 16) numbers for each thread, which
/// it gives back; threads with contexts of their own may use one factor at once. Errors: LAC_ERR_CONVERGENCE when the
/// error stays above 1000 roundings; LAC_ERR_SINGULAR when no digit of x is certain, by an estimate of the forward
/// error that is made where pivots or the size of x give cause (few digits: a warning, lac_context_warning);
/// LAC_ERR_NONFINITE when x overflows. An iterative factor goes on until every column is within its tolerance, from
/// zero; LAC_ERR_CONVERGENCE says why it is not (accept_unconverged: no error), unless LAC_METHOD_AUTO can fall back on
/// a direct factor. It does so too where the rate of the iteration foretells more work than a direct factor takes; both
/// are counted, not timed, so that the same system is solved in the same way each time, on any number of threads.
/// LAC_ERR_STALE when its values have been written to.
LAC_API lac_status lac_factor_solve(lac_context *ctx, const lac_factor *factor, lac_side side, const lac_array *b,
                                    lac_array *x);

LAC_API lac_report lac_factor_report(const lac_factor *factor);

/// The same from a start x0 (NULL: zero), and what became of it: a tolerance that is not reached is no error here, the
/// report says so, and x holds the best there is. Direct factors have 0 iterations.
LAC_API lac_status lac_factor_iterate(lac_context *ctx, const lac_factor *factor, lac_side side, const lac_array *b,
                                      const lac_array *x0, lac_array *x, lac_solve_report *report);

/// The report of the last solve by a factor of this solver, through whatever door: a tape, a program, lac_factor_solve;
/// by several threads, of one of them. Its `reason` is "" where there was none. The residual is -1 where nobody asked a
/// direct factor to measure it.
LAC_API lac_status lac_solver_last_solve(const lac_solver *solver, lac_solve_report *out);

/// The levels of a multigrid hierarchy as a table: rows, entries, bytes, smoother of each; "" for other factors. The
/// text lives as long as the factor.
LAC_API lac_status lac_factor_describe(lac_context *ctx, const lac_factor *factor, const char **text);

/// A factor of other values of the same shape and dtype, with the method, matching, scaling and pivots of `like`. The
/// growth of numbers is watched, or the residual of a test measured: where the old choices do not suit the new values
/// they are made afresh. Not kept by the solver. Errors: those of lac_solver_factor; LAC_ERR_SHAPE and LAC_ERR_DTYPE.
LAC_API lac_status lac_factor_refactor(lac_context *ctx, const lac_factor *like, const lac_array *values,
                                       lac_factor **out);

/// log|det A|, real, and the sign (complex: the phase) of det A, of the factor's dtype; arrays [*batch] of the factor.
/// Never overflows. Differentiable forms are lac_logdet and its kin (ops.h). Errors: LAC_ERR_SINGULAR when no digit is
/// certain; those of factoring, where another factor is needed (see lac_factor_selected_inverse), as for every
/// iterative one: LAC_ERR_STALE once its values were written to.
LAC_API lac_status lac_factor_logdet(lac_context *ctx, const lac_factor *factor, lac_array *logabs, lac_array *sign);

/// A^-T where A has entries, [*batch, nnz] in its slots: the number in the slot of (i, j) is (A^-1)(j, i). Takahashi's
/// recursion on the factor: about twice the work of the factorisation. Every row is checked: sum_j a_ij z_ij = 1.
/// Where a factor cannot serve here or in lac_factor_logdet (pivots were enlarged, an engine or method only solves, the
/// check fails), the same values are factored once more by another method; that factor is kept with this one. Errors:
/// LAC_ERR_SINGULAR when no digit is certain; those of factoring; LAC_ERR_CONVERGENCE with the row where even strict
/// partial pivoting fails the check.
LAC_API lac_status lac_factor_selected_inverse(lac_context *ctx, const lac_factor *factor, lac_array *values);

/// An estimate of 1 / (||A||_1 ||A^-1||_1) for each matrix, real, [*batch]: a few solves (Hager and Higham). It is
/// never much too small, seldom more than three times too large, and 0 where the inverse overflows.
LAC_API lac_status lac_factor_rcond(lac_context *ctx, const lac_factor *factor, lac_array *rcond);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
/// @file solver.h
/// Solvers and factors: analyse a pattern once, factor values, solve in every direction with the same factor.
///
/// A solver is the analysis of a pattern under given options; a factor is made of a solver and values. Both are
/// immutable, reference counted and shareable between threads, each thread with a context of its own. Differentiable
/// solves are made of them: lac_solve, lac_solve_with (solves.h); the functions here carry no derivatives. Direct
/// solvers work in host memory, for fewer than 2^30 rows, "cudss" on CUDA devices; iterative ones (iterative.h)
/// wherever the kernels of the backend suffice. Where a method cannot work where the context's arrays lie, values and
/// right-hand sides travel to the host and solutions travel back; the report says so.
///
/// A method is asked for by its name, and reports give the same names:
///
///     "auto"          the cheapest that fits the pattern and the values, with more robust ones in reserve
///     "direct"        the same among direct methods alone
///     "diagonal"      nothing off the diagonal
///     "triangular"    triangular, or so after a permutation of rows and one of columns
///     "banded"        LU with partial pivoting inside a band; tridiagonal matrices too
///     "cholesky"      Hermitian positive definite, else LAC_ERR_SYMMETRY or LAC_ERR_DEFINITE
///     "ldlt"          Hermitian, pivots of one or two rows chosen inside supernodes
///     "lu"            any square matrix: matched and scaled, pivots chosen inside supernodes, refined
///     "block_lu"      the same for many strong components: the diagonal blocks of the block triangular form alone
///     "column_lu"     what fills in little: column by column in an order known beforehand, threshold pivoting
///     "pivoting_lu"   any square matrix: threshold partial pivoting, column by column; slow and safe
///     "batched"       many small matrices at once, on a device: LU on the diagonal, measured; others where it fails
///     "cg"            Krylov: Hermitian positive definite; flexible where the preconditioner varies
///     "flexible_cg"   the same, flexible from the start
///     "minres"        Krylov: Hermitian, indefinite too
///     "bicgstab"      Krylov: any square matrix, short recurrences
///     "gmres"         Krylov: any square matrix, restarted; flexible where the preconditioner varies
///     "flexible_gmres"  the same, flexible from the start
///     "lsmr", "lsqr"  Krylov: least squares, any shape
///     "cholmod", "umfpack", "klu", "mumps"  engines, loaded when they are first asked for (lac_engine_find)
///     "cudss"         an engine on CUDA devices: Cholesky, L D L^H or LU, chosen by the values
///
/// and each preconditioner of lac_precondition by its name: a solve then applies it once.

#ifndef LACUNA_SOLVER_H
#define LACUNA_SOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lacuna/array.h"
#include "lacuna/iterative.h"
#include "lacuna/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_solver lac_solver;

/// What a solver is asked for. Zero in a field is its default. `size`: see "Options and reports" in lacuna.h. An option
/// that differs from its default and that the method asked for cannot follow is LAC_ERR_ARG, with the methods that can;
/// "auto" takes every option that one of its ways follows. Budgets (keep_bytes, max_bytes) and assume_hermitian hold
/// for every method.
typedef struct lac_solver_options {
  size_t size;            ///< sizeof(lac_solver_options), or 0
  const char *method;     ///< a name of the list above, or an engine's; NULL: "auto". Read by the call that takes it
  lac_ordering ordering;  ///< for direct methods and engines, except for "diagonal", "triangular" and "banded"
  /// "pivoting_lu", "column_lu", "block_lu" and engines take the diagonal as pivot when it is at least this share of
  /// the column's largest, up to 1: strict partial pivoting. 0: 0.1, which gives sparser factors. Below 0: any diagonal
  /// that is not zero.
  double pivot_tolerance;
  /// Bytes of factors that a solver keeps to recognise their values (lac_solver_factor). The last factor is kept
  /// whatever its size, so that the backward of a solve does not factor again; it goes when others are factored, if it
  /// is larger than this. Of those before it at most 7 are kept, and no more than these bytes together, partners
  /// included. A solver of a larger pattern (lac_solver_covering) counts by itself. 0: 512 MiB. Below 0: none is kept,
  /// and every derivative factors again.
  int64_t keep_bytes;
  /// A factorisation that is foreseen to need more bytes is LAC_ERR_MEMORY before it begins; "auto" iterates instead on
  /// what is suited for it. 0: what the machine has free.
  int64_t max_bytes;
  /// For direct methods and engines: a solution without any certain digit, as the matrix is singular to working
  /// precision, is returned with a warning; else it is LAC_ERR_SINGULAR, as a pivot of exactly zero always is.
  bool accept_singular;
  /// Values on a symmetric pattern are taken as Hermitian, whatever rounding has made of them, and methods may read one
  /// triangle alone. Else a_ij and conj(a_ji) may differ by 8 roundings of the larger one or of sqrt(|a_ii a_jj|).
  bool assume_hermitian;
  lac_iteration iteration;          ///< for Krylov methods
  lac_precondition preconditioner;  ///< for Krylov methods, and for preconditioners by themselves
  /// For Krylov methods: less memory in more time. CG works in one vector less where its preconditioner does not vary.
  /// On CUDA, multigrid on a grid keeps no copy of the finest matrix and reads the values in each sweep, where they are
  /// real and symmetric, of five points, and every neighbour is stored. Elsewhere nothing changes.
  bool low_memory;
  bool reserved[7];  ///< zero: a later field then changes the size
} lac_solver_options;

/// The default options: `size` as this library has it, keep_bytes and pivot_tolerance with the numbers that zero stands
/// for, and zero elsewhere, where pattern, values or dtype decide.
LAC_API lac_solver_options lac_solver_options_defaults(void);

/// Report of a solver or a factor. Its texts live as long as the solver or factor that gave it; one that says nothing
/// is "". `size`: see "Options and reports" in lacuna.h.
typedef struct lac_report {
  size_t size;                 ///< set by the caller: sizeof(lac_report), or 0
  const char *method;          ///< the name of the method that was taken in the end
  const char *reason;          ///< why this method
  const char *warning;         ///< what is doubtful: singular to working precision, much fill
  const char *ordering;        ///< "amd", "metis", "natural", or the engine's own
  int64_t factor_nnz;          ///< entries of all triangles, the diagonal counted once, over the whole batch
  int64_t factor_bytes;        ///< memory of the factor, the copy of its values included
  int64_t work_bytes;          ///< further memory that factoring takes at its peak
  double flops;                ///< operations of the factorisation
  int64_t perturbed;           ///< pivots that were too small and were enlarged; refinement corrects for them
  double analyse_seconds;      ///< time of the analysis
  double factor_seconds;       ///< time of the factorisation
  int64_t factorisations;      ///< factorisations that this solver made so far
  int64_t reuses;              ///< how often values it had seen came back
  const char *preconditioner;  ///< of a Krylov method: the name of its preconditioner
  int levels;                  ///< levels of a multigrid hierarchy, the finest counted; else 0
  double complexity;           ///< entries of all levels over those of the matrix
  int64_t setups;              ///< preconditioners that this solver set up from nothing
  int64_t refreshes;           ///< preconditioners that it set up with new values on an old structure
  int64_t solves;              ///< iterative solves with this factor
  int64_t iterations;          ///< iterations of all of them; each solve counts those of its slowest column
  int64_t solve_bytes;         ///< of a solver: what one column of an iterative solve takes besides; -1: not known yet
} lac_report;

// -- solvers ---------------------------------------------------------------------------------------------------------

/// Find out whether a method can be used here, by its name: for engines, which are loaded now.
/// Errors: LAC_ERR_ARG for an unknown name, with the list of those there are; LAC_ERR_UNSUPPORTED for an engine that is
/// not found, with the package that brings it.
LAC_API lac_status lac_engine_find(lac_context *ctx, const char *name);

/// Give the version of an engine that is loaded at run time as it is, "1.0.0", and "" where it is not here or where the
/// engine is a plug-in; "cudss" alone has one as yet.
LAC_API const char *lac_engine_version(const char *name);

/// Name a file in which an engine that is loaded at run time as it is ("cudss") is looked for before the names that
/// systems have for it, unless the environment (LACUNA_CUDSS) names another. Without effect once it is found.
LAC_API void lac_engine_suggest(const char *name, const char *path);

/// Analyse a pattern: square, or of any shape for "lsmr" and "lsqr". Of a pattern with blocks, values and gradients are
/// [*batch, nnz, br, bc] in factors and in lac_solve; other operators need a solver of single entries.
/// Options: NULL stands for the defaults.
/// Ownership: the caller destroys *out; it holds the pattern, and the arrays and the factor that options point to.
/// Cost: the ordering, and a step for each entry and each row of each supernode. It is kept with the pattern: a second
/// solver of the same ordering costs nothing. Iterative methods need no analysis; "auto" makes one only where a direct
/// factor is likely or an analysis is cheap compared with both ways.
/// Errors: LAC_ERR_SHAPE for a pattern that is not square; LAC_ERR_ARG for options that are out of range, options that
/// do not act on the method (see lac_solver_options), unknown names and methods that do not fit the pattern;
/// LAC_ERR_UNSUPPORTED for an engine or METIS that is not found.
LAC_API lac_status lac_solver_create(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                                     lac_solver **out);

/// Add a holder, and remove one; both accept NULL. The last one that goes ends the solver; *solver is NULL afterwards.
/// Threads: any.
LAC_API lac_solver *lac_solver_retain(const lac_solver *solver);
LAC_API void lac_solver_destroy(lac_solver **solver);

/// The number of a solver, which no other object of the process has; and its pattern, borrowed. Of NULL: 0 and NULL.
LAC_API int64_t lac_solver_id(const lac_solver *solver);
LAC_API const lac_pattern *lac_solver_pattern(const lac_solver *solver);

/// Make a solver of the union of this solver's pattern and `target`, with the same options where they fit, so that a
/// selected inverse has the entries of `target` too (lac_inverse_on).
/// Ownership: the caller destroys *out, which is this solver itself where its pattern has all of them.
/// Cost: that of lac_solver_create; nothing for the last eight targets, which the solver keeps.
/// Errors: those of lac_solver_create.
LAC_API lac_status lac_solver_covering(lac_context *ctx, const lac_solver *solver, const lac_pattern *target,
                                       lac_solver **out);

/// Report what is known before there are values: the method that they will probably need and why, the time of the
/// analysis, and counts. factor_nnz, factor_bytes, work_bytes and flops are those of one f64 matrix (complex: twice the
/// bytes of the numbers, four times the flops): exact for "cholesky" and "ldlt", and for "lu" if it keeps the diagonal;
/// -1 where the values decide, or where every matrix will be refused. factor_seconds is 0.
/// Ownership: the texts live as long as the solver.
/// Cost: none.
/// Errors: LAC_ERR_ARG for NULL, and for a size that cannot be.
/// Threads: any.
LAC_API lac_status lac_solver_report(const lac_solver *solver, lac_report *out);

/// Report the last solve by a factor of this solver, whoever made it: a tape, a program or lac_factor_solve. `reason`
/// is "" where there was none; the residual is -1 where a direct factor was not asked to measure it.
/// Errors: LAC_ERR_ARG for NULL, and for a size that cannot be.
/// Threads: any; of solves in several threads it is one of the last.
LAC_API lac_status lac_solver_last_solve(const lac_solver *solver, lac_solve_report *out);

/// Report the last solve by this context, of whichever solver: a tape, a program or a call. `reason` is "" where there
/// was none.
/// Errors: LAC_ERR_ARG for NULL, and for a size that cannot be.
/// Threads: that of the context.
LAC_API lac_status lac_context_last_solve(const lac_context *ctx, lac_solve_report *out);

// -- factors ---------------------------------------------------------------------------------------------------------

/// Factor values [*batch, nnz]: one factor of all matrices of the batch, by one method.
/// Ownership: the caller destroys *out. A direct factor has a copy of the values; an iterative one shares the array
/// where the library owns its memory, and is stale (LAC_ERR_STALE) once that is written to.
/// Cost: nothing for values whose factor the solver keeps (keep_bytes): memory of the library is recognised by its
/// version, other memory by a hash of 128 bits. Matrices of a batch are shared out among threads.
/// Bits: the same on any number of threads. Matchings, scales and pairs of rows that an earlier factor chose are taken
/// over where they suit, complex LU by columns repeats earlier eliminations in loops of their own, and "auto" goes on
/// with direct factors once they have served better: last bits may depend on what the solver factored before. A solver
/// of its own makes them independent of that.
/// Errors: LAC_ERR_SINGULAR names the column, LAC_ERR_DEFINITE the row, LAC_ERR_SYMMETRY and LAC_ERR_NONFINITE the
/// entry; LAC_ERR_MEMORY (max_bytes); LAC_ERR_UNSUPPORTED for a function as preconditioner where arrays must travel.
LAC_API lac_status lac_solver_factor(lac_context *ctx, const lac_solver *solver, const lac_array *values,
                                     lac_factor **out);

/// Factor other values of the same shape and dtype with the method, matching, scaling and pivots of `like`; choices
/// that do not suit the new values, by the growth of numbers or the residual of a test, are made anew.
/// Ownership: the caller destroys *out; the solver does not keep it.
/// Bits: as of lac_solver_factor.
/// Errors: those of lac_solver_factor; LAC_ERR_SHAPE and LAC_ERR_DTYPE for values that are not like those of `like`.
LAC_API lac_status lac_factor_refactor(lac_context *ctx, const lac_factor *like, const lac_array *values,
                                       lac_factor **out);

/// Factor numbers in the memory of the host, one matrix or as many as `like` is of, in the order and shape that the
/// arrays of lac_solver_factor and lac_factor_refactor have.
/// Ownership: the numbers are not used after the call; the caller destroys *out.
/// Errors: those of the two; LAC_ERR_DEVICE for a context of a device.
LAC_API lac_status lac_solver_factor_numbers(lac_context *ctx, const lac_solver *solver, lac_dtype dtype,
                                             const void *values, lac_factor **out);
LAC_API lac_status lac_factor_refactor_numbers(lac_context *ctx, const lac_factor *like, const void *values,
                                               lac_factor **out);

/// Add a holder, and remove one; both accept NULL. The last one that goes ends the factor; *factor is NULL afterwards.
/// Threads: any.
LAC_API lac_factor *lac_factor_retain(const lac_factor *factor);
LAC_API void lac_factor_destroy(lac_factor **factor);

/// The number of a factor, which no other object of the process has; its pattern and the dtype and shape of its values,
/// both borrowed. Of NULL: 0 and NULL.
LAC_API int64_t lac_factor_id(const lac_factor *factor);
LAC_API const lac_pattern *lac_factor_pattern(const lac_factor *factor);
LAC_API const lac_meta *lac_factor_meta(const lac_factor *factor);

/// Report how values were factored: method, reason, fill, memory, time.
/// Ownership: the texts live as long as the factor.
/// Cost: none.
/// Errors: LAC_ERR_ARG for NULL, and for a size that cannot be.
/// Threads: any.
LAC_API lac_status lac_factor_report(const lac_factor *factor, lac_report *out);

/// Describe the levels of a multigrid hierarchy as a table: rows, entries, bytes, smoother of each; "" for other
/// factors.
/// Ownership: the text lives as long as the factor.
LAC_API lac_status lac_factor_describe(lac_context *ctx, const lac_factor *factor, const char **text);

/// Solve op(A) x = b for arrays [*batch, n, k]. The batch of x is the joint batch of factor and b; x may not overlap b.
/// Accuracy: a direct factor measures the backward error of every column and refines x where it is larger than
/// rounding. An iterative factor starts from zero and goes on until every column is within its tolerance.
/// Columns of b with NaN or infinity: x has NaN there, and the other columns are solved. To a direct factor, and so to
/// "auto", that is no error; to a Krylov method it is LAC_ERR_CONVERGENCE (LAC_ENDING_DIVERGED), unless
/// accept_unconverged.
/// Cost: 5 n min(k, 16) numbers of memory for each thread while it works.
/// Bits: the same on any number of threads. "auto" leaves an iteration for a direct factor where that fails, or where
/// its rate foretells more work; work is counted, not timed, so a system is solved in the same way each time.
/// Errors: LAC_ERR_CONVERGENCE when the backward error stays above 1000 roundings, or an iteration does not reach its
/// tolerance (unless accept_unconverged); LAC_ERR_SINGULAR when no digit of x is certain (few digits: a warning,
/// lac_context_warning); LAC_ERR_NONFINITE when x overflows; LAC_ERR_STALE when the values were written to.
/// Threads: several may use one factor at once.
LAC_API lac_status lac_factor_solve(lac_context *ctx, const lac_factor *factor, const lac_array *b, lac_form op,
                                    lac_array *x);

/// Solve op(A) x = b with the factor of one matrix for numbers in the memory of the host, of the factor's dtype: b has
/// `columns` numbers for each row, row by row, and x likewise.
/// Ownership: the numbers are not used after the call.
/// Errors: those of lac_factor_solve; LAC_ERR_SHAPE for a factor of several matrices, LAC_ERR_DEVICE for a context of a
/// device, LAC_ERR_ARG for an x that is not aligned.
LAC_API lac_status lac_factor_solve_numbers(lac_context *ctx, const lac_factor *factor, int64_t columns, const void *b,
                                            lac_form op, void *x);

/// Solve from a start x0 (NULL: zero) and report what became of it. A direct factor makes 0 iterations.
/// Errors: those of lac_factor_solve, except that a tolerance which is not reached is no error: the report says so, and
/// x is the best there is.
LAC_API lac_status lac_factor_iterate(lac_context *ctx, const lac_factor *factor, const lac_array *b,
                                      const lac_array *x0, lac_form op, lac_array *x, lac_solve_report *report);

/// Solve op(A) x = b by iteration for a matrix A that is known by its products alone; where it is not square, minimise
/// |b - op(A) x|, and of many such x, from the start zero, find the shortest.
/// Arguments: all numbers of b together are one vector, and so are those of x, whose shape is free. `product` computes
/// y = op(A) x of arrays with the shapes of x and b; it is called with this `op`, and by "lsmr" and "lsqr" with its
/// adjoint too, which takes arrays like b and gives arrays like x. x0 (NULL: zero), like x, is the start. x has memory
/// of its own.
/// Options: a Krylov method (NULL: "gmres", of a rectangle "lsmr"), its iteration, and preconditioner.factor or .apply,
/// which takes arrays [1, n, 1] with the numbers of x; methods and preconditioners that need a matrix are LAC_ERR_ARG,
/// and of a rectangle all methods but "lsmr" and "lsqr" LAC_ERR_SHAPE. A preconditioner where x has more numbers than
/// b is LAC_ERR_UNSUPPORTED: x would not be the shortest. `report` may be NULL.
/// Derivatives: those of lac_solve_operator (solves.h), whose product is written on a tape.
/// Errors: LAC_ERR_CONVERGENCE when the tolerance is not reached, unless accept_unconverged: the report is filled and x
/// is the best there is; any status but LAC_OK of `product` ends the solve with that status.
LAC_API lac_status lac_solve_products(lac_context *ctx, lac_apply product, void *data, const lac_array *b,
                                      const lac_array *x0, lac_form op, const lac_solver_options *options, lac_array *x,
                                      lac_solve_report *report);

/// Make the tridiagonal matrix T = V^H A V of Lanczos' process for a Hermitian matrix A that is known by its products
/// alone: alpha is on its diagonal, beta beside it, and the columns of V are orthonormal and begin with the start. For
/// functions f, start^H f(A) start is about |start|^2 times the first number of f(T), exactly for polynomials of a
/// degree below 2 steps.
/// Arguments: `product` computes y = A x of arrays with the shape of the start, (*batch, n); each vector of the batch
/// has a process of its own. `preconditioner` (may be NULL) computes y = B x likewise, B Hermitian positive definite: T
/// is then that of B^1/2 A B^1/2 from B^1/2 start. Both are called with LAC_PLAIN. alpha and beta are real, (*batch,
/// steps), for any number of steps.
/// Results: the last of beta is the norm of what is left. Where the space is exhausted, beta is 0, and behind it alpha
/// is 1 and beta 0.
/// Derivatives: none.
/// Cost: a product for each step, and memory for as many vectors, twice as many with a preconditioner: each vector is
/// orthogonalised against all before it.
/// Errors: LAC_ERR_DEFINITE when B is not positive definite, LAC_ERR_NONFINITE; any status but LAC_OK of a function
/// ends the process with that status.
LAC_API lac_status lac_lanczos_products(lac_context *ctx, lac_apply product, void *product_data,
                                        lac_apply preconditioner, void *preconditioner_data, const lac_array *start,
                                        lac_array *alpha, lac_array *beta);

/// Compute log|det A|, real, and the sign (complex: the phase) of det A, in the factor's dtype: arrays [*batch] of the
/// factor. Never overflows.
/// Derivatives: those of lac_logdet and lac_slogdet (determinants.h).
/// Cost: nothing compared with the factor; an iterative factor needs a direct one besides, made once and kept with it.
/// Errors: LAC_ERR_SINGULAR when no digit is certain; those of factoring, where another factor is needed; LAC_ERR_STALE
/// when the values of an iterative factor were written to.
LAC_API lac_status lac_factor_logdet(lac_context *ctx, const lac_factor *factor, lac_array *logabs, lac_array *sign);

/// Compute log|det A| and the sign of det A of one matrix as numbers: *logabs, and sign[0] + i sign[1], two numbers,
/// the second of which is 0 for a real matrix. `sign` may be NULL.
/// Cost, Errors: those of lac_factor_logdet; LAC_ERR_SHAPE for a factor of several matrices.
LAC_API lac_status lac_factor_slogdet(lac_context *ctx, const lac_factor *factor, double *logabs, double *sign);

/// Compute A^-T where A has entries, [*batch, nnz] in its slots: the number in the slot of (i, j) is (A^-1)(j, i).
/// Every row is checked: sum_j a_ij z_ij = 1.
/// Derivatives: those of lac_selected_inverse (determinants.h).
/// Cost: Takahashi's recursion, about twice the work of the factorisation. Where the factor cannot serve (pivots were
/// enlarged, an engine or method only solves, the check fails), another method factors the values once more; that
/// factor is kept with this one.
/// Errors: LAC_ERR_SINGULAR when no digit is certain; those of factoring; LAC_ERR_CONVERGENCE with the row where even
/// strict partial pivoting fails the check.
LAC_API lac_status lac_factor_selected_inverse(lac_context *ctx, const lac_factor *factor, lac_array *values);

/// Estimate 1 / (||A||_1 ||A^-1||_1) of each matrix, real, [*batch], as Hager and Higham do. The estimate is never much
/// too small, seldom more than three times too large, and 0 where the inverse overflows.
/// Cost: a few solves.
LAC_API lac_status lac_factor_rcond(lac_context *ctx, const lac_factor *factor, lac_array *rcond);

#ifdef __cplusplus
}
#endif
#endif

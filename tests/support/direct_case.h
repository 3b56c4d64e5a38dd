// SPDX-License-Identifier: Apache-2.0
/// @file direct_case.h
/// Linear systems of every kind that a direct solver must take, and the measure of a solution.

#ifndef LACUNA_TESTS_DIRECT_CASE_H
#define LACUNA_TESTS_DIRECT_CASE_H

#include "solvers/direct/direct.h"
#include "support/dense.h"

typedef enum direct_kind {
  DIRECT_NONSYMMETRIC,
  DIRECT_POSITIVE,           ///< Hermitian positive definite
  DIRECT_INDEFINITE,         ///< Hermitian, definite on no subspace, factors without pivoting
  DIRECT_COMPLEX_SYMMETRIC,  ///< equal to its transpose, not to its adjoint; real: indefinite
  DIRECT_TRIANGULAR,         ///< rows and columns shuffled
  DIRECT_ARROW,              ///< full first row and column: the natural order would fill everything
  DIRECT_POISSON,
  DIRECT_ILL_SCALED,  ///< rows and columns times powers of ten
  DIRECT_ZERO_DIAGONAL,
  DIRECT_KINDS
} direct_kind;

typedef struct direct_case {
  const sketch *s;
  ref a;  // (nnz): exactly what the dtype holds
} direct_case;

/// About n rows. Kept in scratch memory.
direct_case direct_make(direct_kind kind, int64_t n, lac_dtype dtype, uint64_t seed);

/// The five-point grid with a wind across it, `peclet` times as strong as the diffusion between two points; and one
/// with its rows moved, so that only a matching finds the strong numbers.
direct_case direct_convection(int64_t side, double peclet, lac_dtype dtype);
direct_case direct_turned(int64_t side, lac_dtype dtype);

/// A small matrix, row by row; zeros are no entries.
direct_case direct_small(int64_t n, const double *full, lac_dtype dtype);

/// Pairs of rows [1 1; 1 1 + tiny], each beside a few rows that many pairs share: strong on the diagonal, but the
/// second pivot of some pairs vanishes, and what could help stands in another supernode. Where those pairs are `alike`,
/// the condition is 1 / tiny. Hermitian, or only nearly so.
direct_case direct_treacherous(int64_t pairs, double tiny, int alike, int is_hermitian);

/// Pattern, values and solver of a case; `options` may be NULL. Fails the test where one cannot be made.
typedef struct direct_system {
  lac_pattern *pattern;
  lac_array *values;
  lac_solver *solver;
} direct_system;

direct_system direct_open(lac_context *ctx, const direct_case *c, lac_width width, const lac_solver_options *options);

/// A small matrix, row by row, is refused as singular with these words.
void direct_check_singular(lac_context *ctx, int64_t n, const double *full, const lac_solver_options *options,
                           const char *words);
void direct_close(direct_system *system);

/// The largest |b - op(A) x|_i / (|op(A)| |x| + |b|)_i, which is the backward error whatever the scale of rows and
/// columns.
double direct_error(const sketch *s, const number *a, lac_form form, int64_t k, const number *b, const number *x);

/// The distance from 1 to the next number.
double direct_rounding(lac_dtype dtype);

/// A random array of a shape that ends in (n, k), and an empty one like it.
lac_array *direct_random(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape, uint64_t seed);

/// Solve with random b, of one column block, and check the backward error to `roundings`.
void direct_check(lac_context *ctx, const direct_case *c, const lac_factor *factor, lac_form form, int64_t k,
                  double roundings);

/// The factor by a direct method that serves a factor in the end: itself, or what an automatic choice took.
static inline lac_factor *direct_inner(const lac_factor *factor) { return (lac_factor *)lac_factor_innermost(factor); }

/// What it is made of.
static inline lac_direct_factor *direct_part(const lac_factor *factor) { return lac_direct_of(direct_inner(factor)); }

/// |b - A x| / |b| of one column, in double precision.
double direct_residual_of(const direct_system *s, const lac_array *b, const lac_array *x);

#endif

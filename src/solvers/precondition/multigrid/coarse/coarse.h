// SPDX-License-Identifier: Apache-2.0
/// @file coarse.h
/// The coarsest level, solved directly: dense factors that know what to do with a null space.
///
///     P A Q = L U,  P = Q = I and U = D L^H where A is Hermitian and no pivot is negative
///
/// A pivot that is zero to rounding counts as infinite: its unknown is 0. So A^+ stands for a generalised inverse,
/// Hermitian and semi-definite where A is.

#ifndef LACUNA_SOLVERS_PRECONDITION_MULTIGRID_COARSE_COARSE_H
#define LACUNA_SOLVERS_PRECONDITION_MULTIGRID_COARSE_COARSE_H

#include "core/array_impl.h"
#include "core/pattern/pattern_impl.h"
#include "solvers/precondition/preconditioner.h"

/// Levels that a hierarchy has room for: far more than halving the rows needs, as coarse_rows of 1 might.
enum { LAC_LEVELS = 32 };

typedef struct lac_coarse lac_coarse;

/// What the options, or their defaults, allow: levels, and rows of a level that is solved directly.
int lac_coarse_levels(const lac_precondition *options);
int64_t lac_coarse_rows(const lac_precondition *options);

/// The dtype of half the bytes; that of f32 and c64 is the same.
lac_dtype lac_coarse_narrow(lac_dtype dtype);

/// The plainest form that is the same: A^H is A where that is Hermitian, and real numbers have no conjugate.
lac_form lac_coarse_form(lac_form form, lac_dtype dtype, bool is_hermitian);

/// [items, 2, 1]: magnitudes of a matrix, powers of two by which it is brought near 1.
lac_status lac_coarse_units(lac_context *ctx, const lac_setup *setup, lac_array **out);

/// Pivots of n rows below this share of what they began with are zero in a matrix of that dtype.
double lac_coarse_rounding(lac_dtype dtype, int64_t n);

// The factors are made and used on the host, and are small: arrays of a device travel.

/// Factors of values [items, nnz] on a square pattern, or [items, nnz, b, b] on one with blocks. A pivot below
/// `rounding` times what it began with is zero.
lac_status lac_coarse_create(lac_context *ctx, const lac_pattern *pattern, const lac_array *values, bool is_hermitian,
                             double rounding, lac_coarse **out);

/// The same of numbers in host memory.
lac_status lac_coarse_create_of(lac_context *ctx, const lac_pattern *pattern, lac_dtype dtype, int64_t items,
                                const void *numbers, bool is_hermitian, double rounding, lac_coarse **out);

/// A^+ of all matrices, [items, n, n], in the dtype of the values.
lac_status lac_coarse_inverse(lac_context *ctx, const lac_coarse *coarse, lac_array *out);

/// x = op(A)^+ b for one of the matrices, op = N or H; b and x [n, k] may be the same.
lac_status lac_coarse_solve(lac_context *ctx, const lac_coarse *coarse, int64_t item, bool adjoint, const lac_array *b,
                            lac_array *x);

int64_t lac_coarse_bytes(const lac_coarse *coarse);
void lac_coarse_destroy(lac_coarse *coarse);

#endif

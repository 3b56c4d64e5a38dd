// SPDX-License-Identifier: Apache-2.0
/// @file coarse.h
/// The coarsest level, solved directly: dense factors that know what to do with a null space.
///
///     P A Q = L U,  P = Q = I and U = D L^H where A is Hermitian and no pivot is negative
///
/// A pivot that is zero to rounding counts as infinite: its unknown is 0. So A^+ stands for a generalised inverse, Hermitian and
/// semi-definite where A is.

#ifndef LACUNA_SOLVERS_MULTIGRID_COARSE_H
#define LACUNA_SOLVERS_MULTIGRID_COARSE_H

#include "core/pattern_impl.h"
#include "lacuna/array.h"

typedef struct lac_coarse lac_coarse;

/// Factors of values [items, nnz] on a square pattern.
lac_status lac_coarse_create(lac_context *ctx, lac_dtype dtype, const lac_pattern *pattern, int64_t items,
                             const void *values, bool is_hermitian, lac_coarse **out);

/// x = op(A)^+ b for one of the matrices, op = N or H; b and x [n, k] lie by rows and may be the same.
lac_status lac_coarse_solve(lac_context *ctx, const lac_coarse *coarse, int64_t item, bool adjoint, int64_t k,
                            const void *b, void *x);

int64_t lac_coarse_bytes(const lac_coarse *coarse);
void lac_coarse_destroy(lac_coarse *coarse);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file relax.h
/// What the simple preconditioners share: the diagonal and its reciprocal, arrays like others, sides of products.

#ifndef LACUNA_SOLVERS_RELAX_RELAX_H
#define LACUNA_SOLVERS_RELAX_RELAX_H

#include "solvers/preconditioner.h"

/// The diagonal D of each matrix as [items, n, 1], for `who`; LAC_ERR_SINGULAR names a row in which it is zero or missing.
/// `inverse` has 1 / d; `mirrored` its conjugate, the same array for real dtypes. Each may be NULL where it is not wanted.
lac_status lac_relax_diagonal(lac_context *ctx, const char *who, const lac_setup *setup, lac_array **diagonal,
                              lac_array **inverse, lac_array **mirrored);

/// An array of this dtype and shape [items, rows, width], contents undefined.
lac_status lac_relax_array(lac_context *ctx, lac_dtype dtype, int64_t items, int64_t rows, int64_t width,
                           lac_array **out);

/// The same as another array, contents undefined.
lac_status lac_relax_like(lac_context *ctx, const lac_array *like, lac_array **out);

/// Bytes of an array; 0 for NULL.
int64_t lac_relax_bytes(const lac_array *array);

#endif

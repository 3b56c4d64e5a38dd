// SPDX-License-Identifier: Apache-2.0
/// @file relax.h
/// What the simple preconditioners share: the diagonal and its reciprocal, arrays like others, forms of products.

#ifndef LACUNA_SOLVERS_PRECONDITION_RELAX_H
#define LACUNA_SOLVERS_PRECONDITION_RELAX_H

#include "solvers/precondition/preconditioner.h"

/// The diagonal D of each matrix as [items, n, 1], for `who`; LAC_ERR_SINGULAR names a row in which it is zero or
/// missing. `inverse` has 1 / d; `mirrored` its conjugate, the same array for real dtypes. Each may be NULL where it is
/// not wanted.
lac_status lac_relax_diagonal(lac_context *ctx, const char *who, const lac_setup *setup, lac_array **diagonal,
                              lac_array **inverse, lac_array **mirrored);

/// LAC_ERR_SINGULAR names the first row without an entry on the diagonal.
lac_status lac_relax_require_diagonal(lac_context *ctx, const char *who, const lac_pattern *pattern);

/// An array of this dtype and shape [items, rows, width], contents undefined.
lac_status lac_relax_array(lac_context *ctx, lac_dtype dtype, int64_t items, int64_t rows, int64_t width,
                           lac_array **out);

/// The same as another array, contents undefined.
lac_status lac_relax_like(lac_context *ctx, const lac_array *like, lac_array **out);

/// Bytes of an array; 0 for NULL.
int64_t lac_relax_bytes(const lac_array *array);

/// The largest size of an eigenvalue of D^-1 A, for each matrix (room for `items`). Hermitian with a positive diagonal:
/// ten steps of Lanczos and the residual on top, seldom too small. Else a bound, |D^-1 A| being all that is looked at.
/// Deterministic.
lac_status lac_relax_largest(lac_context *ctx, const lac_setup *setup, double *largest);

/// M = L U by triangles of the matrix's own pattern: L strictly below the diagonal, with ones on it; U on and above.
typedef struct lac_relax_split {
  lac_pattern *lower, *upper;
  lac_map *to_lower, *to_upper;  // from the slots of the matrix
  lac_array *l, *u;              // [items, nnz of the triangle]
} lac_relax_split;

/// Structure, kept with the pattern or taken from `like` where there is one; l and u have room and no contents.
lac_status lac_relax_split_create(lac_context *ctx, const lac_setup *setup, const lac_relax_split *like,
                                  lac_relax_split **out);
void lac_relax_split_destroy(void *split);

/// The table's: x = op(L U)^-1 b, and bytes.
lac_status lac_relax_split_apply(lac_context *ctx, const void *part, lac_form form, const lac_array *b, lac_array *x);
void lac_relax_split_report(const void *part, lac_setup_figures *finding);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file products.h
/// Solves with a square matrix that is known by its products alone: a program's, or those of a function.

#ifndef LACUNA_SOLVERS_PRODUCTS_H
#define LACUNA_SOLVERS_PRODUCTS_H

#include "solvers/solver_impl.h"

/// Settle options that were taken: GMRES where no method is asked for, since products tell nothing of the matrix.
/// Methods and preconditioners that need a matrix are refused.
lac_status lac_products_take_options(lac_context *ctx, const char *function, lac_solver_options *options);

/// The products of a matrix: y = op(A) x, x and y in the shape of b.
typedef struct lac_products {
  lac_status (*apply)(lac_context *ctx, const void *self, lac_form form, const lac_array *x, lac_array *y);
  const void *self;
} lac_products;

/// Solve by the method of the options. b, x0 (or NULL) and x of the job have one shape, whose numbers together are one
/// vector. A tolerance that is not reached is an error unless the options accept it; *report is filled in any case but
/// that of no numbers.
lac_status lac_products_solve(lac_context *ctx, const char *function, const lac_solver_options *options,
                              const lac_products *products, lac_solve_job job, lac_solve_report *report);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file products.h
/// Solves with a matrix that is known by its products alone: a program's, or those of a function. One that is not
/// square is solved with in the sense of least squares.

#ifndef LACUNA_SOLVERS_PRODUCTS_H
#define LACUNA_SOLVERS_PRODUCTS_H

#include "solvers/solver_impl.h"

/// Settle options that were taken, for op(A) x = b with x of `cols` numbers and b of `rows`. Where no method is asked
/// for it is GMRES, since products tell nothing of the matrix, and LSMR where it is not square. Methods and
/// preconditioners that need a matrix are refused, and of rectangles all methods but those of least squares.
lac_status lac_products_take_options(lac_context *ctx, const char *function, int64_t rows, int64_t cols,
                                     lac_solver_options *options);

/// The products of a matrix: y = op(A) x. Where `form` transposes as the job does, x has the shape of the job's x and y
/// that of its b; else x that of b, y that of x.
typedef struct lac_products {
  lac_status (*apply)(lac_context *ctx, const void *self, lac_form form, const lac_array *x, lac_array *y);
  const void *self;
} lac_products;

/// Call a function of the caller's, y = op(A) x. Where it fails without a sentence, this one says what it returned.
lac_status lac_products_call(lac_context *ctx, const char *function, const char *what, lac_apply apply, void *data,
                             lac_form form, const lac_array *x, lac_array *y);

/// Solve by the method of the options. The numbers of b together are one vector, and so are those of x; x0 (or NULL)
/// has the shape of x. A tolerance that is not reached is an error unless the options accept it; *report is filled in
/// any case but that of no numbers.
lac_status lac_products_solve(lac_context *ctx, const char *function, const lac_solver_options *options,
                              const lac_products *products, lac_solve_job job, lac_solve_report *report);

#endif

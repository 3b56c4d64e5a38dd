// SPDX-License-Identifier: Apache-2.0
/// @file products.h
/// Solves with a square matrix that is known by its products alone: a program's, or those of a function.

#ifndef LACUNA_SOLVERS_PRODUCTS_H
#define LACUNA_SOLVERS_PRODUCTS_H

#include "solvers/solver_impl.h"

/// Settle options that were taken: GMRES where no method is asked for, since products tell nothing of the matrix.
/// Methods and preconditioners that need a matrix are refused.
lac_status lac_products_take_options(lac_context *ctx, const char *function, lac_solver_options *options);

/// Solve by the method of the options; b and x of the job are [1, n, 1]. A tolerance that is not reached is an error
/// unless the options accept it; *report is filled in any case.
lac_status lac_products_solve(lac_context *ctx, const char *function, const lac_solver_options *options,
                              const lac_linear *products, lac_solve_job job, lac_solve_report *report);

#endif

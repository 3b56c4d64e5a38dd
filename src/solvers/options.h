// SPDX-License-Identifier: Apache-2.0
/// @file options.h
/// What options mean, whatever the kind of solver.

#ifndef LACUNA_SOLVERS_OPTIONS_H
#define LACUNA_SOLVERS_OPTIONS_H

#include "solvers/solver_impl.h"

/// The options that a caller gave `function` (NULL: the defaults), of whatever version, with the default in place of
/// every zero that stands for another number. They are settled then: zero means zero.
lac_status lac_options_take(lac_context *ctx, const char *function, const lac_solver_options *given,
                            lac_solver_options *out);

/// Refuse numbers that no kind can mean; and those of an iteration alone, for `function`.
lac_status lac_options_check(lac_context *ctx, const lac_solver_options *options);
lac_status lac_options_check_iteration(lac_context *ctx, const char *function, const lac_iteration *iteration);

/// Refuse, for `function`, an option that is given and that neither the method nor its preconditioner reads: who gives
/// it believes that it acts. What a choice is left to, by method "auto" or by a preconditioner that is left open, may
/// take any of its ways.
lac_status lac_options_check_acting(lac_context *ctx, const char *function, const lac_solver_options *options);

/// Refuse a preconditioner, null spaces and near-null vectors that do not fit a pattern: for kinds that look at them.
lac_status lac_options_check_iterating(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options);

/// The name of the preconditioner that is asked for; NULL: it is left open.
const char *lac_options_preconditioner(const lac_precondition *precondition);

/// What the options ask of one solve: the tolerance that it is held to, that of derivatives where it is for one. Krylov
/// methods know the other defaults.
lac_iteration lac_options_iteration(const lac_iteration *asked, lac_dtype dtype, bool is_derivative);

/// The error that an iteration which did not converge is.
static inline lac_status lac_ending_status(lac_ending ending) {
  return ending == LAC_ENDING_INTERRUPTED ? LAC_ERR_INTERRUPTED : LAC_ERR_CONVERGENCE;
}

#endif

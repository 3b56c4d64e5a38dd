// SPDX-License-Identifier: Apache-2.0
/// @file factored.h
/// What the rooms share whose object is a factor of a matrix, or a solver that factors when asked: solve_with, logdet,
/// selected_inverse and others.
///
/// A public function factors where there are values, so that the recorded call holds its factor and no derivative
/// factors again. A program has no values yet: its calls hold the solver, which recognises values that it has
/// factored.

#ifndef LACUNA_OPS_SOLVES_FACTORED_H
#define LACUNA_OPS_SOLVES_FACTORED_H

#include "autodiff/rule.h"
#include "solvers/solver_impl.h"

/// The pattern of such an object.
const lac_pattern *lac_factored_pattern(const void *object);

/// The factor of the values in input `a`: the object if it was made of these values, else LAC_ERR_STALE; or what the
/// solver makes or has kept. To be destroyed by the caller.
lac_status lac_call_factor(lac_call *call, int a, lac_factor **out);

/// The same for a solve, which lends the factor these values (solvers/loan.c): to be given back by lac_call_give_back,
/// whatever comes of it.
lac_status lac_call_borrow(lac_call *call, int a, lac_factor **out);
void lac_call_give_back(lac_factor **factor);

/// Apply the operator of a spec for the public `function`, by a factor; or by a solver, which makes one here of the
/// values in input 0, where there are values. What cannot be taken is refused before anything is factored.
void lac_tape_call_factored(lac_tape *tape, const char *function, const void *object, lac_spec spec, const lac_var *in,
                            lac_var *out);

/// The operators solve_with and logdet, both outputs, so applied.
lac_var lac_emit_solution(lac_tape *tape, const void *object, lac_form form, lac_var a, lac_var b);
void lac_emit_logdet(lac_tape *tape, const char *function, const void *object, lac_var a, lac_var out[2]);

/// The operator solve_with by such an object.
lac_var lac_emit_solve(lac_tape *tape, const void *object, const lac_attrs *attrs, lac_var a, lac_var b);

/// The same as rules emit it: to the tolerance of derivatives where the solver iterates.
lac_var lac_emit_derivative_solve(lac_tape *tape, const void *object, lac_form form, lac_var a, lac_var b);

/// The operator logdet_estimate, of values that are Hermitian.
void lac_emit_logdet_estimate(lac_tape *tape, const lac_solver *solver, lac_var h, lac_var probes, int64_t steps,
                              lac_var out[2]);

/// The operator lstsq_with for lac_lstsq, by a factor where there are values.
lac_var lac_emit_lstsq(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var b);

/// What solve_with and solve_from share, whose first inputs are values and right-hand sides: their conditions, a solve
/// by their attributes, their rules.
lac_status lac_solution_infer(lac_call *call);
lac_status lac_call_solve(lac_call *call, const lac_factor *factor, lac_solve_job job);
void lac_solution_vjp(lac_rule *rule);
void lac_solution_jvp(lac_rule *rule);

/// The attributes of solve_with: places in attrs.i, and SOLVE_ALPHA in attrs.f.
enum { SOLVE_FORM, SOLVE_RANK, SOLVE_BEGIN, SOLVE_END, SOLVE_DERIVATIVE, SOLVE_REPORTS };
enum { SOLVE_ALPHA };

/// The rank of a least-squares system (rank.c), where attributes of solve_with ask for it: SOLVE_RANK is 1, its shorter
/// side is rows SOLVE_BEGIN to SOLVE_END - 1, SOLVE_ALPHA is alpha. Refuse others; what a factorisation or a solve
/// ended with, LAC_ERR_SINGULAR in the words of least squares; the check of a factor, which also sets the part of a
/// solution to be judged (lac_solve_job).
lac_status lac_rank_infer(lac_call *call);
lac_status lac_rank_judge(lac_context *ctx, const lac_attrs *attrs, const lac_solver_core *core, lac_status given);
lac_status lac_rank_check(lac_context *ctx, const lac_attrs *attrs, const lac_factor *factor, const lac_array *values,
                          int64_t *judged_from);

/// The operator selected_inverse by such an object.
lac_var lac_emit_selected_inverse(lac_tape *tape, const void *object, lac_var a);

/// The Hermitian part of values, x / 2 + (x / 2)^H, on a pattern that is symmetric.
lac_status lac_tape_hermitian(lac_tape *tape, const lac_pattern *pattern, lac_var x, lac_var *out);

/// The power of two below the largest number of the last axis, (.., 1) in the dtype, that of x: nothing is rounded by
/// it, and no derivative passes through. Where the axis is empty: one 1 for the whole batch.
lac_var lac_emit_size(lac_tape *tape, lac_var x, lac_dtype dtype);

/// The sum of x_k y_k over the slots, the last axis, without conjugates.
lac_var lac_emit_pairing(lac_tape *tape, lac_var x, lac_var y);

#endif

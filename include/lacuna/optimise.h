// SPDX-License-Identifier: Apache-2.0
/// @file optimise.h
/// Minimise a function of arrays: L-BFGS, gradient descent, Adam.
///
/// Arrays are changed in place, on the context's device, in their own dtype. Gradients of complex arrays are those of
/// the tape (J^H): x - rate * gradient descends. Adam treats the two parts of a complex number as two numbers.
///
///     static lac_status loss(lac_context *ctx, void *data, int count, lac_array *const *x, double *value,
///                            lac_array **g) {
///       lac_tape *tape = data;
///       lac_tape_clear(tape);
///       lac_var leaf = lac_tape_leaf(tape, x[0]), f = ...;
///       return lac_tape_gradient(tape, f, 1, &leaf, value, g);
///     }
///     lac_optimise_report report = {0};
///     status = lac_minimise(ctx, NULL, 1, &x, loss, tape, &report);

#ifndef LACUNA_OPTIMISE_H
#define LACUNA_OPTIMISE_H

#include <stddef.h>

#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The method of a search.
typedef enum lac_optimise_method {
  LAC_OPTIMISE_LBFGS,  ///< x += t d with d = -H g from the last `memory` steps, t by the strong Wolfe conditions
  LAC_OPTIMISE_GRADIENT_DESCENT,  ///< v = momentum v + g, x -= rate v
  LAC_OPTIMISE_ADAM  ///< x -= rate m / (sqrt(v) + epsilon); m, v: running means of g and g^2, corrected for their start
} lac_optimise_method;

/// How weights decay.
typedef enum lac_decay {
  LAC_DECAY_COUPLED,   ///< decay x is added to the gradient: the penalty decay/2 |x|^2
  LAC_DECAY_DECOUPLED  ///< x shrinks by rate decay in each step, apart from the gradient (AdamW)
} lac_decay;

/// Why lac_minimise ended.
typedef enum lac_outcome {
  LAC_OUTCOME_SMALL_GRADIENT,   ///< converged: |g| <= gradient_tolerance |first g|, or <= gradient_absolute
  LAC_OUTCOME_SMALL_DECREASE,   ///< converged: the value fell by less than value_tolerance of itself
  LAC_OUTCOME_STOPPED,          ///< `progress` asked for it
  LAC_OUTCOME_MAX_ITERATIONS,   ///< a limit, not convergence
  LAC_OUTCOME_MAX_EVALUATIONS,  ///< a limit, not convergence
  LAC_OUTCOME_NO_DECREASE,      ///< the line search found no lower point: rounding, a kink, or a wrong gradient
  LAC_OUTCOME_NOT_FINITE,       ///< NaN or infinity in the value or the gradient
  LAC_OUTCOME_OBJECTIVE_FAILED  ///< the objective, or memory, or a kernel failed: the status says which
} lac_outcome;

/// Report of a search. `size`: see "Options and reports" in lacuna.h.
typedef struct lac_optimise_report {
  size_t size;  ///< set by the caller: sizeof(lac_optimise_report), or 0
  lac_outcome outcome;
  int iterations;                             ///< steps taken
  int evaluations;                            ///< evaluations of the objective
  double value, first_value;                  ///< of the objective, at the end and at the start
  double gradient_norm, first_gradient_norm;  ///< in the 2-norm, over all arrays
  double step;                                ///< length t of the last step; the rate of first-order methods
  char reason[160];                           ///< the outcome as a sentence
} lac_optimise_report;

/// Follow a search: called after each step with what is known so far; a result other than 0 ends the search.
typedef int (*lac_optimise_progress)(void *data, const lac_optimise_report *report);

/// What a search is asked for. Zero in a field is its default. `size`: see "Options and reports" in lacuna.h.
typedef struct lac_optimise_options {
  size_t size;  ///< sizeof(lac_optimise_options), or 0
  lac_optimise_method method;
  double rate;                     ///< first-order methods; 0: 1e-3
  double momentum;                 ///< gradient descent
  double beta1, beta2;             ///< Adam; 0: 0.9 and 0.999, below 0: zero
  double epsilon;                  ///< Adam; 0: 1e-8, below 0: zero
  double decay;                    ///< of the weights, first-order methods
  lac_decay decay_kind;            ///< first-order methods
  int memory;                      ///< L-BFGS: steps that it remembers; 0: 20
  double armijo, curvature;        ///< L-BFGS: of the strong Wolfe conditions; 0: 1e-4 and 0.9
  int max_iterations;              ///< lac_minimise; 0: 1000, below 0: it only evaluates
  int max_evaluations;             ///< looked at after each step; 0: no limit
  double gradient_tolerance;       ///< relative to the first gradient; 0: 1e-8, below 0: zero
  double gradient_absolute;        ///< in the unit of the gradient
  double value_tolerance;          ///< relative decrease of the value in a step; 0: not looked at
  lac_optimise_progress progress;  ///< NULL: nobody follows
  void *progress_data;
} lac_optimise_options;

/// The default options: every field with the value that zero stands for, and `size` as this library has it.
LAC_API lac_optimise_options lac_optimise_options_defaults(void);

/// Evaluate an objective: its value at x, and its gradient by each array.
/// Ownership: gradient[i] comes as NULL; it stays so for zero, else it becomes an array like x[i] that the caller takes
/// over and only reads. lac_tape_gradient does that.
/// Errors: any status but LAC_OK ends the search with that status.
typedef lac_status (*lac_objective)(lac_context *ctx, void *data, int count, lac_array *const *x, double *value,
                                    lac_array **gradient);

/// Minimise an objective over the arrays x, which are changed in place and hold the last point that was accepted, also
/// where the search fails: of L-BFGS the lowest so far; first-order methods accept every step.
/// Options: NULL stands for the defaults. The report may not be NULL: it says whether the search converged or met a
/// limit, both of which are LAC_OK.
/// Cost: L-BFGS holds 2 memory + 4 copies of x, Adam two, momentum one. Inner products are in the arrays' dtype.
/// Errors: LAC_ERR_NONFINITE when the objective is not finite where the search cannot go back; what the objective
/// returned.
LAC_API lac_status lac_minimise(lac_context *ctx, const lac_optimise_options *options, int count, lac_array *const *x,
                                lac_objective objective, void *data, lac_optimise_report *report);

/// A first-order method step by step, for loops of one's own.
typedef struct lac_optimiser lac_optimiser;

/// Make an optimiser of the arrays x.
/// Ownership: the caller destroys *out, before the context; it holds the arrays.
/// Errors: LAC_ERR_ARG for NULL, for L-BFGS and for numbers that are out of range; LAC_ERR_DEVICE for arrays elsewhere.
LAC_API lac_status lac_optimiser_create(lac_context *ctx, const lac_optimise_options *options, int count,
                                        lac_array *const *x, lac_optimiser **out);

/// End an optimiser; accepts NULL and leaves NULL.
LAC_API void lac_optimiser_destroy(lac_optimiser **optimiser);

/// Make one step along the gradients, of which NULL is zero. Values are not looked at: NaN in a gradient is NaN in x.
/// Errors: LAC_ERR_SHAPE for a gradient that is not like its array; LAC_ERR_ARG for one that shares its memory.
LAC_API lac_status lac_optimiser_step(lac_optimiser *optimiser, const lac_array *const *gradient);

/// Set the rate of the steps that follow; 0 is zero here.
/// Errors: LAC_ERR_ARG for a rate that is not finite.
LAC_API lac_status lac_optimiser_set_rate(lac_optimiser *optimiser, double rate);

#ifdef __cplusplus
}
#endif
#endif

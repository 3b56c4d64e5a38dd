// SPDX-License-Identifier: Apache-2.0
/// @file optimise.h
/// Minimise a function of arrays: gradient descent, Adam, L-BFGS.
///
/// Arrays are changed in place, on the context's device, in their own dtype. Gradients of complex arrays are those of the tape
/// (J^H): x - rate * gradient descends; Adam treats the two parts of a complex number as two numbers.
///
///     static lac_status loss(lac_context *ctx, void *data, int count, lac_array *const *x, double *value, lac_array **g) {
///       lac_tape *tape = data;
///       lac_tape_clear(tape);
///       lac_var leaf = lac_tape_leaf(tape, x[0]), f = ...;
///       return lac_tape_gradient(tape, f, 1, &leaf, value, g);
///     }
///     status = lac_minimise(ctx, NULL, 1, &x, loss, tape, &report);

#ifndef LACUNA_OPTIMISE_H
#define LACUNA_OPTIMISE_H

#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lac_descent {
  LAC_GRADIENT_DESCENT,  ///< v = momentum v + g, x -= rate v
  LAC_ADAM,  ///< x -= rate m / (sqrt(v) + epsilon) with m, v running means of g and g^2, corrected for their start
  LAC_LBFGS  ///< x += t d with d = -H g from the last `memory` steps, t by the strong Wolfe conditions
} lac_descent;

typedef enum lac_decay {
  LAC_COUPLED,   ///< decay x is added to the gradient: the penalty decay/2 |x|^2
  LAC_DECOUPLED  ///< x shrinks by rate decay beside the step (AdamW)
} lac_decay;

/// Why lac_minimise ended.
typedef enum lac_outcome {
  LAC_SMALL_GRADIENT,   ///< converged: |g| <= gradient_tolerance |first g|, or <= gradient_absolute
  LAC_SMALL_DECREASE,   ///< converged: the value fell by less than value_tolerance of itself
  LAC_STOPPED,          ///< `progress` asked for it
  LAC_MAX_ITERATIONS,   ///< a limit, not convergence
  LAC_MAX_EVALUATIONS,  ///< a limit, not convergence
  LAC_NO_DECREASE,      ///< the line search found no lower point: rounding, a kink, or a wrong gradient
  LAC_NOT_FINITE,       ///< NaN or infinity in the value or the gradient
  LAC_OBJECTIVE_FAILED  ///< the objective, or memory, or a kernel: the status says what
} lac_outcome;

typedef struct lac_optimise_report {
  lac_outcome outcome;
  int iterations;   ///< steps taken
  int evaluations;  ///< of the objective
  double value, first_value;
  double gradient_norm, first_gradient_norm;  ///< in the 2-norm, over all arrays
  double step;                                ///< length t of the last step; the rate of first-order methods
  char reason[160];                           ///< the outcome as a sentence
} lac_optimise_report;

/// Called after each step with what is known so far; anything but 0 ends the search.
typedef int (*lac_progress)(void *data, const lac_optimise_report *report);

typedef struct lac_optimise_options {
  lac_descent method;         ///< LAC_LBFGS
  double rate;                ///< first-order methods: 1e-3
  double momentum;            ///< gradient descent: 0
  double beta1, beta2;        ///< Adam: 0.9, 0.999
  double epsilon;             ///< Adam: 1e-8
  double decay;               ///< of the weights, first-order methods: 0
  lac_decay decay_kind;       ///< LAC_COUPLED
  int memory;                 ///< L-BFGS, how many steps it remembers: 20
  double armijo, curvature;   ///< of the strong Wolfe conditions: 1e-4, 0.9
  int max_iterations;         ///< lac_minimise: 1000
  int max_evaluations;        ///< looked at after each step; 0: no limit
  double gradient_tolerance;  ///< relative to the first gradient: 1e-8
  double gradient_absolute;   ///< 0
  double value_tolerance;     ///< 0: not looked at
  lac_progress progress;      ///< may be NULL
  void *progress_data;
} lac_optimise_options;

LAC_API lac_optimise_options lac_optimise_options_defaults(void);

/// The value at x and the gradient of each array there: gradient[i] comes as NULL and stays so for zero, else it is set to an array
/// like x[i] that the caller takes over (lac_tape_gradient does that). It is only read.
typedef lac_status (*lac_objective)(lac_context *ctx, void *data, int count, lac_array *const *x, double *value,
                                    lac_array **gradient);

/// The end of most objectives: the value of a loss of one number (its real part) and its gradient by each leaf.
LAC_API lac_status lac_tape_gradient(lac_tape *tape, lac_var loss, int count, const lac_var *leaves, double *value,
                                     lac_array **gradient);

/// Minimise over the arrays x, which are changed in place and hold the last point accepted whatever happens: of L-BFGS the lowest so
/// far; first-order methods accept every step.
/// Inner products are in the arrays' dtype. LAC_OK: the report says whether it converged or met a limit.
/// Errors: LAC_ERR_NONFINITE when the objective is not finite where the search cannot go back; what the objective returned.
/// `options` may be NULL; `report` may not. L-BFGS holds 2 memory + 4 copies of x; Adam two, momentum one.
LAC_API lac_status lac_minimise(lac_context *ctx, const lac_optimise_options *options, int count, lac_array *const *x,
                                lac_objective objective, void *data, lac_optimise_report *report);

/// A first-order method step by step, for loops of one's own. It holds the arrays and its own state.
typedef struct lac_optimiser lac_optimiser;
LAC_API lac_status lac_optimiser_create(lac_context *ctx, const lac_optimise_options *options, int count,
                                        lac_array *const *x, lac_optimiser **out);
LAC_API void lac_optimiser_destroy(lac_optimiser **optimiser);

/// One step along the gradients, of which NULL is zero. Values are not looked at: NaN in gives NaN out.
LAC_API lac_status lac_optimiser_step(lac_optimiser *optimiser, const lac_array *const *gradient);

/// Another rate from here on.
LAC_API lac_status lac_optimiser_set_rate(lac_optimiser *optimiser, double rate);

#ifdef __cplusplus
}
#endif
#endif

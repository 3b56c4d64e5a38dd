// SPDX-License-Identifier: Apache-2.0
/// @file gradcheck.h
/// Check the derivatives of any function built on a tape.

#ifndef LACUNA_GRADCHECK_H
#define LACUNA_GRADCHECK_H

#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A function of `leaves`, built from operators on `tape`; `user` is passed through.
typedef lac_var (*lac_gradcheck_function)(lac_tape *tape, const lac_var *leaves, void *user);

typedef struct lac_gradcheck_options {
  int order;            ///< 1: the gradient; 2: also the gradient's own derivative
  double step;          ///< of the first central difference, relative to the size of the input; 0: chosen by dtype
  double tolerance;     ///< of the adjoint identity, relative to the sum of |terms|; 0: chosen by dtype
  double fd_tolerance;  ///< of the central difference, relative; 0: chosen by dtype and step
  uint64_t seed;        ///< of the random directions
} lac_gradcheck_options;

/// The worst relative deviations seen, and what they were measured with. All are 0 for what was not asked.
typedef struct lac_gradcheck_report {
  double adjoint;         ///< <y_bar, J x_dot> against <J^H y_bar, x_dot>
  double tangent;         ///< J x_dot against the central difference
  double second_adjoint;  ///< the same two for the gradient itself
  double second_tangent;
  double noise;  ///< of the function's numbers, relative to the largest; 0: all held, and it was not measured
  double second_noise;
  double step;  ///< of the difference that `tangent` speaks of
  double second_step;
} lac_gradcheck_report;

LAC_API lac_gradcheck_options lac_gradcheck_options_defaults(void);

/// Differentiate `function` at `leaves` in random directions, all leaves together and each alone. What holds to the
/// tolerances is right. Where something does not, noise is measured: the function and its derivatives are computed
/// again a rounding beside x, with iterative solves moved as far as their rtol reaches, and the central difference is
/// taken with the step that truncation and noise leave most certain, and held against those of longer steps. A
/// deviation that noise explains passes, as long as an error of 1 % would still be seen, however small the derivative
/// is beside the values.
///
/// Fails with LAC_ERR_CONVERGENCE and a sentence that names the check, the leaf (or "all leaves"), both numbers and
/// what was allowed, where noise does not explain the deviation; and with other words ("too noisy here to judge") where
/// it explains more than that, or where longer steps contradict the best, as they do where values are rounded coarsely.
/// A function that has no value beside x fails with its own status and sentence. NaN is excused by nothing. A leaf that
/// the function does not use has the gradient 0. What the function does beside the tape must depend on its leaves
/// alone. Cost: the function and both derivatives once, and two more values of it for each level; some dozens more
/// where noise is measured. `report` and `options` may be NULL; a leaf may not.
LAC_API lac_status lac_gradcheck(lac_context *ctx, lac_gradcheck_function function, void *user, int count,
                                 const lac_array *const *leaves, const lac_gradcheck_options *options,
                                 lac_gradcheck_report *report);

#ifdef __cplusplus
}
#endif
#endif

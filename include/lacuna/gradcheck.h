// SPDX-License-Identifier: Apache-2.0
/// @file gradcheck.h
/// Check the derivatives of any function built on a tape.

#ifndef LACUNA_GRADCHECK_H
#define LACUNA_GRADCHECK_H

#include <stddef.h>
#include <stdint.h>

#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A function of `leaves`, built from operators on `tape`; `user` is passed through.
typedef lac_var (*lac_gradcheck_function)(lac_tape *tape, const lac_var *leaves, void *user);

/// What is checked, and how strictly. Zero in a field is its default. `size`: see "Options and reports" in lacuna.h.
typedef struct lac_gradcheck_options {
  size_t size;          ///< sizeof(lac_gradcheck_options), or 0
  int order;            ///< 1: the gradient; 2: also the gradient's own derivative; 0: 2
  double step;          ///< of the first central difference, relative to the size of the input; 0: chosen by dtype
  double tolerance;     ///< of the adjoint identity, relative to the sum of |terms|; 0: chosen by dtype
  double fd_tolerance;  ///< of the central difference, relative; 0: chosen by dtype and step
  uint64_t seed;        ///< of the random directions; 0: 1
} lac_gradcheck_options;

/// The worst relative deviations seen, and what they were measured with; zero for what was not asked. `size`: see
/// "Options and reports" in lacuna.h.
typedef struct lac_gradcheck_report {
  size_t size;            ///< set by the caller: sizeof(lac_gradcheck_report), or 0
  double adjoint;         ///< <y_bar, J x_dot> against <J^H y_bar, x_dot>
  double tangent;         ///< J x_dot against the central difference
  double second_adjoint;  ///< the same two for the gradient itself
  double second_tangent;
  double noise;  ///< of the function's numbers, relative to the largest; 0: all held, and it was not measured
  double second_noise;
  double step;  ///< of the difference that `tangent` speaks of
  double second_step;
} lac_gradcheck_report;

/// The default options, with `size` as this library has it.
LAC_API lac_gradcheck_options lac_gradcheck_options_defaults(void);

/// Check the derivatives of `function` at `leaves`, 1 to 16 of them, in random directions, all leaves together and each
/// alone. A leaf that the function does not use has the gradient zero. The function may depend on its leaves alone.
/// Options: NULL stands for the defaults. The report may be NULL; a leaf may not.
/// Noise: a deviation above the tolerances is judged by measured noise. The function and its derivatives are computed
/// again at points one rounding away from x, with iterative solves moved as far as their rtol reaches, and the central
/// difference is taken with the step that truncation and noise leave most certain, and compared with longer steps. A
/// deviation that noise explains passes, as long as an error of 1 % would still be seen, however small the derivative
/// is relative to the values. NaN never passes.
/// Cost: the function and both derivatives once, and two more values of it for each order; some dozens more where noise
/// is measured.
/// Errors: LAC_ERR_CONVERGENCE where noise does not explain a deviation, with the check, the leaf (or "all leaves"),
/// both numbers and what was allowed; the same status with "too noisy here to judge" where noise would explain an error
/// of 1 %, or where longer steps contradict the best one, as they do where values are rounded coarsely. A function that
/// has no value near x fails with its own status and sentence.
LAC_API lac_status lac_gradcheck(lac_context *ctx, lac_gradcheck_function function, void *user, int count,
                                 const lac_array *const *leaves, const lac_gradcheck_options *options,
                                 lac_gradcheck_report *report);

#ifdef __cplusplus
}
#endif
#endif

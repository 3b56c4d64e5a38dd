// SPDX-License-Identifier: Apache-2.0
/// @file states.h
/// States of reductions that are not plain sums. Plain C that a device compiler takes too.
///
/// A state of two numbers stands for a part of what is reduced, and stays in range whatever x holds:
///
///     max, min         most = the largest of x or -x; a NaN is the largest
///     norm             most = a power of two above the largest |x|      total = the sum of (|x| / most)^2
///     log(sum(exp))    most = the largest x                             total = the sum of exp(x - most)
///
/// Who includes this file says what exp(x) is: LAC_STATE_EXP.

#ifndef LACUNA_KERNELS_STATES_H
#define LACUNA_KERNELS_STATES_H

#include <math.h>
#include <stdbool.h>

#include "kernels/arrays.h"

#ifndef LAC_DEVICE
#define LAC_DEVICE
#endif

static inline LAC_DEVICE lac_state lac_state_of(double most, double total) {
  lac_state s = {most, total};
  return s;
}

/// The larger of two; a NaN is larger. Written for vectors: no branch.
static inline LAC_DEVICE double lac_larger(double a, double b) { return ((a > b) | (a != a)) ? a : b; }

/// The `most` of a state, from the largest x, -x or |x|: norms take a power of two, so that scaling is exact.
static inline LAC_DEVICE double lac_state_most(lac_reduction op, double largest) {
  int exponent;
  if (op != LAC_REDUCE_NORM || !isfinite(largest) || largest == 0) return largest;
  (void)frexp(largest, &exponent);
  return ldexp(1.0, exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent);
}

/// Whether terms are to be added: there are none for max and min, for norms that are 0, inf or NaN, and where all is
/// -inf.
static inline LAC_DEVICE bool lac_state_has_total(lac_reduction op, double most) {
  if (op == LAC_REDUCE_NORM) return isfinite(most) && most > 0;
  return op == LAC_REDUCE_LOGSUMEXP && most != -(double)INFINITY;
}

/// The total of a state beside a larger `most`. The largest itself is exp(0), also where it is infinite.
static inline LAC_DEVICE double lac_state_rescaled(lac_reduction op, lac_state s, double most) {
  if (!lac_state_has_total(op, s.most) || !lac_state_has_total(op, most)) return 0;
  double r = s.most / most;
  return op == LAC_REDUCE_NORM ? s.total * r * r : s.total * LAC_STATE_EXP(s.most == most ? 0 : s.most - most);
}

static inline LAC_DEVICE lac_state lac_state_join(lac_reduction op, lac_state a, lac_state b) {
  double most = lac_larger(a.most, b.most);
  return lac_state_of(most, lac_state_rescaled(op, a, most) + lac_state_rescaled(op, b, most));
}

/// The state of nothing.
static inline LAC_DEVICE lac_state lac_state_none(lac_reduction op) {
  return lac_state_of(op == LAC_REDUCE_NORM ? 0 : -(double)INFINITY, 0);
}

static inline LAC_DEVICE double lac_state_result(lac_reduction op, lac_state s) {
  switch (op) {
    case LAC_REDUCE_MIN:
      return -s.most;
    case LAC_REDUCE_NORM:
      return lac_state_has_total(op, s.most) ? s.most * sqrt(s.total) : s.most;
    case LAC_REDUCE_LOGSUMEXP:
      return lac_state_has_total(op, s.most) ? s.most + log(s.total) : s.most;
    default:
      return s.most;
  }
}

#endif

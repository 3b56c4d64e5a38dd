// SPDX-License-Identifier: Apache-2.0
/// @file dual.h
/// Derivatives by dual numbers: a rational function F of the values of a matrix, run on the doubled pattern
/// (pattern_impl.h) at [[c, m], [0, c]], gives F(c) on the diagonals of its blocks and F'(c) m beside them. An operator
/// that has F for every pattern has its derivatives of every order.

#ifndef LACUNA_OPS_DUAL_H
#define LACUNA_OPS_DUAL_H

#include "autodiff/rule.h"

/// The doubled pattern of a rule's own, or NULL on a tape that has failed. Retained (lac_object_release).
static inline lac_doubled *dual_pattern(lac_rule *r) {
  lac_doubled *d = NULL;
  lac_status status = lac_pattern_doubled(lac_tape_context(r->tape), r->patterns[0], &d);
  if (status != LAC_OK) (void)lac_tape_fail(r->tape, status);
  return d;
}

/// c + eps m, and its adjoint in c: what stands at the two places of c, summed.
static inline lac_var dual_number(lac_tape *tape, const lac_doubled *d, lac_var c, lac_var m) {
  return lac_remap(tape, d->pair, lac_concat(tape, c, m, -1), LAC_TRANSPOSED);
}
static inline lac_var dual_adjoint(lac_tape *tape, const lac_doubled *d, lac_var bar) {
  return lac_remap(tape, d->twice, bar, LAC_PLAIN);
}

/// eps m, and the derivative's part of a dual number.
static inline lac_var dual_epsilon(lac_tape *tape, const lac_doubled *d, lac_var m) {
  return lac_remap(tape, d->once, m, LAC_TRANSPOSED);
}
static inline lac_var dual_derivative(lac_tape *tape, const lac_doubled *d, lac_var y) {
  return lac_remap(tape, d->once, y, LAC_PLAIN);
}

#endif

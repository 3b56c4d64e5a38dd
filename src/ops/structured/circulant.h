// SPDX-License-Identifier: Apache-2.0
/// @file circulant.h
/// What the rooms of circulant matrices share.

#ifndef LACUNA_OPS_STRUCTURED_CIRCULANT_H
#define LACUNA_OPS_STRUCTURED_CIRCULANT_H

#include "autodiff/rule.h"

/// The adjoint of the first column in y = op(C) x.
static inline lac_var lac_emit_circulant_bar(lac_tape *tape, lac_form form, lac_var y_bar, lac_var x) {
  lac_var s = lac_form_transposes(form) ? lac_circulant_outer(tape, x, y_bar) : lac_circulant_outer(tape, y_bar, x);
  return form == LAC_TRANSPOSED || form == LAC_CONJUGATED ? lac_conj(tape, s) : s;
}

#endif

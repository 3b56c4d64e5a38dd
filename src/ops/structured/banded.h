// SPDX-License-Identifier: Apache-2.0
/// @file banded.h
/// What the rooms of banded matrices share. A band is stored as LAPACK and SciPy store it: ab[upper + i - j, j] = A[i,
/// j], an array (lower + upper + 1, cols). Its corners, which lie outside the matrix, are not read, and their gradient
/// is exactly zero.

#ifndef LACUNA_OPS_STRUCTURED_BANDED_H
#define LACUNA_OPS_STRUCTURED_BANDED_H

#include "autodiff/rule.h"

/// i[1], i[2]: how far the band reaches below and above the diagonal; i[3]: rows of the matrix.
static inline lac_banded lac_banded_of(const lac_attrs *attrs, int64_t cols) {
  return (lac_banded){.lower = attrs->i[1], .upper = attrs->i[2], .rows = attrs->i[3], .cols = cols};
}

/// The last dimension of an input, or 0: the matching of shapes refuses an input without.
static inline int64_t lac_meta_last(const lac_meta *meta) { return meta->ndim ? meta->shape[meta->ndim - 1] : 0; }

/// The adjoint of the band in y = op(A) x.
static inline lac_var lac_emit_banded_bar(lac_tape *tape, lac_form form, int64_t lower, int64_t upper, lac_var y_bar,
                                          lac_var x) {
  lac_var s = lac_form_transposes(form) ? lac_banded_outer(tape, lower, upper, x, y_bar)
                                        : lac_banded_outer(tape, lower, upper, y_bar, x);
  return form == LAC_TRANSPOSED || form == LAC_CONJUGATED ? lac_conj(tape, s) : s;
}

#endif

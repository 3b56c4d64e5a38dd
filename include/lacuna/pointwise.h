// SPDX-License-Identifier: Apache-2.0
/// @file pointwise.h
/// Arrays, number by number: arithmetic, parts of complex numbers, comparisons, functions.
///
/// Shapes: all axes broadcast, aligned at the right, each of equal size or 1; the result has the joint shape.
/// ops.h says what holds for every function: ownership, derivatives, errors.

#ifndef LACUNA_POINTWISE_H
#define LACUNA_POINTWISE_H

#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- arithmetic ------------------------------------------------------------------------------------------------------

LAC_API lac_var lac_add(lac_tape *tape, lac_var x, lac_var y);  ///< x + y; an absent var is zero
LAC_API lac_var lac_sub(lac_tape *tape, lac_var x, lac_var y);  ///< x - y; an absent var is zero
LAC_API lac_var lac_mul(lac_tape *tape, lac_var x, lac_var y);  ///< x * y
LAC_API lac_var lac_div(lac_tape *tape, lac_var x, lac_var y);  ///< x / y
LAC_API lac_var lac_neg(lac_tape *tape, lac_var x);             ///< -x

/// (real + i imag) x, and x + real + i imag: the number is frozen. Arrays of a real dtype ignore `imag`.
LAC_API lac_var lac_scale(lac_tape *tape, lac_var x, double real, double imag);
LAC_API lac_var lac_offset(lac_tape *tape, lac_var x, double real, double imag);

/// The frozen number real + i imag in every place of a shape, in the dtype and memory space of x, whose numbers are not
/// read.
/// Derivatives: zero.
LAC_API lac_var lac_full(lac_tape *tape, lac_var x, int ndim, const int64_t *shape, double real, double imag);

/// x / y, and exactly 0 where y is 0.
/// Derivatives: of every order they are 0 where y is 0.
LAC_API lac_var lac_div_or_zero(lac_tape *tape, lac_var x, lac_var y);

// -- parts of numbers ------------------------------------------------------------------------------------------------

LAC_API lac_var lac_conj(lac_tape *tape, lac_var x);  ///< conj(x); x itself when real
LAC_API lac_var lac_real(lac_tape *tape, lac_var x);  ///< real part; x itself when real
LAC_API lac_var lac_imag(lac_tape *tape, lac_var x);  ///< imaginary part, of a real dtype; 0 of real arrays
LAC_API lac_var lac_abs(lac_tape *tape, lac_var x);   ///< |x|, of a real dtype; its gradient x / |x| is 0 at 0
LAC_API lac_var lac_sign(lac_tape *tape, lac_var x);  ///< x / |x|, and 0 at 0; the derivatives at 0 are 0

/// x in another dtype; x itself where the dtype is the same.
/// Errors: LAC_ERR_DTYPE from complex to real; lac_real and lac_imag give the parts.
LAC_API lac_var lac_cast(lac_tape *tape, lac_var x, lac_dtype dtype);

/// The power of two at or below |x|, of a real dtype; 1 at 0, and never below the smallest normal number. A division by
/// this scale brings numbers near 1 and rounds nothing.
/// Derivatives: zero.
LAC_API lac_var lac_magnitude(lac_tape *tape, lac_var x);

// -- comparisons and choices -----------------------------------------------------------------------------------------

/// The relation of a comparison.
typedef enum lac_relation {
  LAC_RELATION_EQ,  ///< x == y
  LAC_RELATION_NE,  ///< x != y
  LAC_RELATION_LT,  ///< x < y
  LAC_RELATION_LE,  ///< x <= y
  LAC_RELATION_GT,  ///< x > y
  LAC_RELATION_GE   ///< x >= y
} lac_relation;

/// 1 where the relation holds, else 0, in the dtype of x and y. NaN is unequal to every number.
/// Derivatives: zero.
/// Errors: LAC_ERR_DTYPE for complex numbers and a relation other than EQ and NE.
LAC_API lac_var lac_compare(lac_tape *tape, lac_var x, lac_var y, lac_relation relation);

/// The places where a condition c selects.
typedef enum lac_selection {
  LAC_SELECT_NONZERO,  ///< where c is not zero
  LAC_SELECT_ZERO      ///< where c is zero
} lac_selection;

/// x where c selects, and exactly 0 elsewhere, even where x is NaN or infinite there. c has the dtype of x.
/// Derivatives: in x, and exactly 0 where c does not select; zero in c.
LAC_API lac_var lac_select(lac_tape *tape, lac_var c, lac_var x, lac_selection selection);

/// x where c is not zero, else y; NaN and infinity in the number that is not chosen have no effect. c has their dtype.
/// Derivatives: in x and y; zero in c.
LAC_API lac_var lac_where(lac_tape *tape, lac_var c, lac_var x, lac_var y);

// -- functions -------------------------------------------------------------------------------------------------------

// Complex numbers have the principal branches, cut along the negative real axis.

LAC_API lac_var lac_exp(lac_tape *tape, lac_var x);         ///< e^x
LAC_API lac_var lac_log(lac_tape *tape, lac_var x);         ///< natural logarithm
LAC_API lac_var lac_sqrt(lac_tape *tape, lac_var x);        ///< square root; its derivative at 0 is infinite
LAC_API lac_var lac_sin(lac_tape *tape, lac_var x);         ///< sine
LAC_API lac_var lac_cos(lac_tape *tape, lac_var x);         ///< cosine
LAC_API lac_var lac_tanh(lac_tape *tape, lac_var x);        ///< hyperbolic tangent
LAC_API lac_var lac_sigmoid(lac_tape *tape, lac_var x);     ///< 1 / (1 + e^-x)
LAC_API lac_var lac_square(lac_tape *tape, lac_var x);      ///< x^2
LAC_API lac_var lac_reciprocal(lac_tape *tape, lac_var x);  ///< 1 / x

/// x^y, with 0^0 = 1. For a negative real x the result is NaN unless y is whole.
/// Derivatives: in both; for a negative real x the derivative in y is NaN.
LAC_API lac_var lac_pow(lac_tape *tape, lac_var x, lac_var y);

/// x^exponent, where the exponent is a frozen number: no logarithm is taken.
/// Derivatives: at 0 they are exact for whole exponents >= 0.
LAC_API lac_var lac_power(lac_tape *tape, lac_var x, double exponent);

// Functions of real arrays.
// Errors: LAC_ERR_DTYPE for complex arrays.

LAC_API lac_var lac_expm1(lac_tape *tape, lac_var x);      ///< e^x - 1, without cancellation for small x
LAC_API lac_var lac_log1p(lac_tape *tape, lac_var x);      ///< log(1 + x), without cancellation for small x
LAC_API lac_var lac_softplus(lac_tape *tape, lac_var x);   ///< log(1 + e^x), without overflow
LAC_API lac_var lac_relu(lac_tape *tape, lac_var x);       ///< max(x, 0); its derivative at 0 is 0
LAC_API lac_var lac_heaviside(lac_tape *tape, lac_var x);  ///< 1 where x > 0, else 0; its derivative is zero

/// min(max(x, low), high); -INFINITY and INFINITY stand for no bound. NaN stays NaN.
/// Derivatives: 1 where low < x < high; 0 elsewhere, on the bounds too.
/// Errors: LAC_ERR_ARG unless low <= high.
LAC_API lac_var lac_clamp(lac_tape *tape, lac_var x, double low, double high);

#ifdef __cplusplus
}
#endif
#endif

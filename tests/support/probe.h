// SPDX-License-Identifier: Apache-2.0
/// @file probe.h
/// A function of one number at one place: its value and its derivatives there, for sentences about edges.

#ifndef LACUNA_TESTS_PROBE_H
#define LACUNA_TESTS_PROBE_H

#include "support/check.h"
#include "support/dense.h"

typedef lac_var probe_function(lac_tape *tape, lac_var x);

/// f(x).
number probe_value(lac_context *ctx, probe_function *f, lac_dtype dtype, number x);

/// The adjoint of x under an adjoint of 1 of f(x); of reals the derivative, of holomorphic functions its conjugate.
number probe_gradient(lac_context *ctx, probe_function *f, lac_dtype dtype, number x);

/// The order-th derivative, by as many reverse passes, each differentiated by the next. An absent one is 0.
number probe_derivative(lac_context *ctx, probe_function *f, lac_dtype dtype, number x, int order);

#endif

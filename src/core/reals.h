// SPDX-License-Identifier: Apache-2.0
/// @file reals.h
/// Few numbers between an array of any dtype and doubles on the host: coefficients, norms, diagonals.

#ifndef LACUNA_CORE_REALS_H
#define LACUNA_CORE_REALS_H

#include "core/array_impl.h"

/// The real parts of an array, and an array of real numbers; both wait.
lac_status lac_reals_read(lac_context *ctx, const lac_array *array, double *out);
lac_status lac_reals_write(lac_context *ctx, lac_array *array, const double *in);

#endif

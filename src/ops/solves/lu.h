// SPDX-License-Identifier: Apache-2.0
/// @file lu.h
/// What lu_values and its adjoint share.

#ifndef LACUNA_OPS_SOLVES_LU_H
#define LACUNA_OPS_SOLVES_LU_H

#include "ops/dual.h"

/// Refuse an object that is no map of steps.
lac_status lac_lu_infer(lac_call *call);

/// lu = L\U of a, or a sentence that names the row whose pivot does not do. The call's object, where there is one, is
/// the map from steps to rows.
lac_status lac_lu_run(lac_call *c, lac_pivots pivots, const lac_array *a, lac_array *lu);

#endif

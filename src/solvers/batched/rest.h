// SPDX-License-Identifier: Apache-2.0
/// @file rest.h
/// The few matrices of a batch that the diagonal does not do for: a factor of these alone by a direct method that
/// chooses its pivots.

#ifndef LACUNA_SOLVERS_BATCHED_REST_H
#define LACUNA_SOLVERS_BATCHED_REST_H

#include "solvers/solver_impl.h"

typedef struct lac_batched_rest {
  int64_t count;
  int32_t *place;  // of each matrix of the batch, among these; -1: it is none of them
  lac_factor *factor;
} lac_batched_rest;

/// The matrices of `f` that are bad. *is_made is false, and there is no rest, where they are too many to be apart or
/// the method refuses one of them: then it is for the partner to say so.
lac_status lac_batched_rest_make(lac_context *ctx, const lac_factor *f, const bool *is_bad, lac_batched_rest *out,
                                 bool *is_made);
void lac_batched_rest_clear(lac_batched_rest *rest);

/// Solve for these: b and x [count, n, k] of the joint batch (NULL: that of the matrices), of which their items alone
/// are read and written.
lac_status lac_batched_rest_solve(lac_context *ctx, const lac_batched_rest *rest, const lac_solve_job *job,
                                  const lac_array *b, lac_array *x);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file plain.h
/// A call without a tape: what the functions of lacuna/plain.h are made of.
///
/// The differentiable function runs on a tape of its own, which stands on the stack with room for a few vars, runs
/// calls and records nothing. Inputs are the caller's arrays; a call whose output has the shape and dtype of the array
/// that the caller gave for the result writes there. Errors are the status, and nothing is left.
///
///     lac_plain plain;
///
///     if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
///     lac_plain_give(&plain, result);
///     lac_var made = lac_neg(&plain.tape, lac_plain_in(&plain, "x", x));
///     return lac_plain_close(&plain, 1, &made, &result);

#ifndef LACUNA_AUTODIFF_PLAIN_H
#define LACUNA_AUTODIFF_PLAIN_H

#include "autodiff/tape_impl.h"

enum { PLAIN_VARS = 8 };

typedef struct lac_plain {
  lac_tape tape;
  const char *function;  // the caller, for sentences
  lac_var *list;         // owned: the vars of a list of arrays
  int inputs;            // vars 1 to `inputs` are the caller's arrays, borrowed
  tape_var few[PLAIN_VARS];
} lac_plain;

/// Begin a call of `function`; false where there is no context. All other errors stick to the tape until
/// lac_plain_close, so that all ranks of a distributed context go the same way.
bool lac_plain_open(lac_plain *plain, lac_context *ctx, const char *function);

/// Let the one result be written to *result where that is an array. Comes before the inputs.
void lac_plain_give(lac_plain *plain, lac_array **result);

/// The var of an input; NULL fails the call, and the sentence has the parameter's name.
lac_var lac_plain_in(lac_plain *plain, const char *name, const lac_array *array);

/// The var of an input that may be NULL, which is the absent var.
lac_var lac_plain_may(lac_plain *plain, const lac_array *array);

/// The vars of several inputs, in a list that lives as long as the call. A call has one such list.
const lac_var *lac_plain_list(lac_plain *plain, int count, const lac_array *const *arrays);

/// End the call: each result goes to *result[i], into the array that stands there or as a new one. A NULL result[i] is
/// refused. On failure no pointer has changed.
lac_status lac_plain_close(lac_plain *plain, int count, const lac_var *made, lac_array **const *result);

/// Let go of a pattern that a call which failed has made, or hand it over.
static inline void lac_plain_hand_over(lac_status status, int count, lac_pattern **made, lac_pattern **out) {
  for (int i = 0; i < count; i++) {
    if (status == LAC_OK && out) out[i] = made[i];
    if (status != LAC_OK) lac_pattern_destroy(&made[i]);
  }
}

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file fault.h
/// Errors that depend on values, where kernels run behind the calls that started them.
///
/// A zero pivot is met by a kernel when its call has long returned. The kernel then writes NaN to its results and notes
/// the *fault*; the context raises it, once, at the next call or read (lac_context_faults), in the words that the call
/// itself would have used. The first fault wins: what was started before it is raised notes no other one. Kernels of
/// the host find faults within their calls, and say them at once.

#ifndef LACUNA_CORE_FAULT_H
#define LACUNA_CORE_FAULT_H

#include <stdint.h>

#include "lacuna/context.h"

typedef struct lac_buffer lac_buffer;  // pattern/pattern_impl.h

/// Where the values of a call are at fault.
typedef struct lac_value_fault {
  int64_t item, place;  // of the batch, and in that item: a row, a column, a frequency
  int64_t items;        // of the batch
  double number;        // what was found there, where a sentence names it
} lac_value_fault;

/// Fail with the sentence of a fault of the operator `who`. Its address and that of `who` go along with the kernels of
/// a call, also into graphs that are replayed when all else of the call is gone: both are static.
typedef lac_status lac_fault_say(lac_context *ctx, const char *who, const lac_value_fault *fault);

/// How a fault is said that is found after its call: place p is called names[p], or p where names is NULL.
typedef struct lac_late {
  lac_fault_say *say;
  const char *who;
  const lac_buffer *names;
} lac_late;

#endif

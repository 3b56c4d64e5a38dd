// SPDX-License-Identifier: Apache-2.0
/// @file program_key.h
/// By what kept programs are found.

#ifndef LACUNA_AUTODIFF_PROGRAM_KEY_H
#define LACUNA_AUTODIFF_PROGRAM_KEY_H

#include "autodiff/tape_impl.h"
#include "core/object.h"

enum { REQUEST_KEY_WORDS = 96 };

/// A request as a list of words: equal requests, and no others, have equal words and an operator or function of the
/// same contents. Objects stand there by their ids, which are never used again.
typedef struct lac_request_key {
  const lac_op *op;              // NULL for a function
  const lac_function *function;  // NULL for an operator
  const lac_object *youngest;    // of the objects; NULL where there are none
  uint64_t hash, *words;
  size_t count;
  void *heap;
  uint64_t few[REQUEST_KEY_WORDS];
} lac_request_key;

lac_status lac_request_key_open(lac_context *ctx, const lac_request *q, lac_request_key *k);
static inline void lac_request_key_close(lac_request_key *key) { lac_free(key->heap); }

#endif

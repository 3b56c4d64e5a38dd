// SPDX-License-Identifier: Apache-2.0
/// @file spoil.h
/// Files for fuzzing: valid ones, changed at random.

#ifndef LACUNA_TESTS_SPOIL_H
#define LACUNA_TESTS_SPOIL_H

#include <stddef.h>

#include "support/random.h"

typedef struct spoilt {
  unsigned char *bytes;  // in scratch memory
  size_t size;
} spoilt;

/// A copy to be spoilt.
spoilt spoil_start(const void *bytes, size_t size);

/// One change: bits flipped, a byte replaced, a part cut out, doubled or moved, the end cut off, or a word put in.
void spoil(random_state *r, spoilt *s, const char *const *words, int count);

#endif

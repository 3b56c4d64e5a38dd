// SPDX-License-Identifier: Apache-2.0
/// @file lent.h
/// Which blocks a source of the user's lent (lac_memory_set_device_allocator), so that each goes back to where it came
/// from, whatever the source is by then.

#ifndef LACUNA_BACKENDS_CUDA_LENT_H
#define LACUNA_BACKENDS_CUDA_LENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lacuna/memory.h"

typedef struct lent_block {
  void *data;  // NULL: the place is free
  lac_device_allocator source;
} lent_block;

/// A hash table by address, at most half full; without memory while it is empty.
typedef struct lent_table {
  lent_block *at;
  uint64_t count, room;  // room: a power of two
} lent_table;

/// Note a block. False: no memory.
bool lent_add(lent_table *table, void *data, const lac_device_allocator *source);

/// Forget a block and say whose it is. False: it was not lent.
bool lent_remove(lent_table *table, const void *data, lac_device_allocator *source);

#endif

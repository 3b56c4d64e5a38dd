// SPDX-License-Identifier: Apache-2.0
/// @file lent.c
/// A hash table with linear probing, in which those behind a removed block move up.

#include "backends/cuda/lent.h"

#include "core/memory_impl.h"

enum { LENT_ROOM = 64 };

/// Where the search for a block begins: blocks are aligned, so the low bits say nothing.
static uint64_t lent_home(const lent_table *table, const void *data) {
  uint64_t key = (uint64_t)(uintptr_t)data * UINT64_C(0x9e3779b97f4a7c15);
  return key >> 32 & (table->room - 1);
}

/// The place of a block, or the free place where it would be.
static uint64_t lent_find(const lent_table *table, const void *data) {
  uint64_t i = lent_home(table, data);
  while (table->at[i].data && table->at[i].data != data) i = (i + 1) & (table->room - 1);
  return i;
}

static bool lent_grow(lent_table *table) {
  lent_table larger = {.room = table->room ? 2 * table->room : LENT_ROOM, .count = table->count};
  larger.at = lac_calloc(larger.room, sizeof *larger.at);
  if (!larger.at) return false;
  for (uint64_t i = 0; i < table->room; ++i) {
    lent_block b = table->at[i];
    if (b.data) larger.at[lent_find(&larger, b.data)] = b;
  }
  lac_free(table->at);
  *table = larger;
  return true;
}

bool lent_add(lent_table *table, void *data, const lac_device_allocator *source) {
  if (2 * (table->count + 1) > table->room && !lent_grow(table)) return false;
  table->at[lent_find(table, data)] = (lent_block){data, *source};
  ++table->count;
  return true;
}

/// Move up what a search would no longer find across the free place.
static void lent_close(lent_table *table, uint64_t hole) {
  uint64_t mask = table->room - 1;
  for (uint64_t i = (hole + 1) & mask; table->at[i].data; i = (i + 1) & mask) {
    uint64_t home = lent_home(table, table->at[i].data);
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    table->at[hole] = table->at[i];
    hole = i;
  }
  table->at[hole] = (lent_block){0};
}

bool lent_remove(lent_table *table, const void *data, lac_device_allocator *source) {
  if (!table->count) return false;
  uint64_t i = lent_find(table, data);
  if (!table->at[i].data) return false;
  *source = table->at[i].source;
  lent_close(table, i);
  if (--table->count == 0) {
    lac_free(table->at);
    *table = (lent_table){0};
  }
  return true;
}

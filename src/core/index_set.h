// SPDX-License-Identifier: Apache-2.0
/// @file index_set.h
/// A set of indices that is filled in any order and drained in ascending order, in time linear in what it holds.
///
/// Bits in levels: bit w of level l + 1 says that word w of level l is not zero. Adding stops at the first level that knows
/// already; draining visits non-zero words only and leaves all zero. cols / 8 bytes and a little more.

#ifndef LACUNA_CORE_INDEX_SET_H
#define LACUNA_CORE_INDEX_SET_H

#include "core/pattern_impl.h"

enum { LAC_SET_LEVELS = 11 };  // 64^11 > 2^63

typedef struct lac_index_set {
  int levels;
  int64_t count;
  uint64_t *words[LAC_SET_LEVELS];  // level 0 owns the block
} lac_index_set;

/// An empty set of indices 0 <= index < size. The struct starts zeroed and is closed on every path.
static inline lac_status lac_index_set_open(lac_context *ctx, lac_index_set *set, int64_t size) {
  lac_status status = LAC_OK;
  int64_t total = 0, words = size;
  int levels = 0;

  do {
    words = words / 64 + 1;
    total += words;
    ++levels;
  } while (words > 1);
  LAC_ALLOC(set->words[0], total);
  set->levels = levels;
  words = size;
  for (int l = 1; l < levels; ++l) {
    words = words / 64 + 1;
    set->words[l] = set->words[l - 1] + words;
  }
done:
  return status;
}

static inline void lac_index_set_close(lac_index_set *set) {
  lac_free(set->words[0]);
  set->words[0] = NULL;
}

static inline void lac_index_set_add(lac_index_set *set, int64_t index) {
  for (int l = 0; l < set->levels; ++l) {
    uint64_t *word = &set->words[l][index / 64], before = *word;
    *word |= (uint64_t)1 << (index % 64);
    if (l == 0) set->count += *word != before;
    if (before) return;
    index /= 64;
  }
}

/// Write the indices, ascending, to columns[at ...] (NULL: nowhere), and empty the set.
static inline void lac_index_set_drain(lac_index_set *set, lac_buffer *columns, int64_t at) {
  int64_t word[LAC_SET_LEVELS] = {0};
  int l = set->levels - 1;

  while (l < set->levels) {
    uint64_t bits = set->words[l][word[l]];
    if (!bits) {
      ++l;  // this word is done: go on with its parent
      continue;
    }
    int64_t index = word[l] * 64 + __builtin_ctzll(bits);
    set->words[l][word[l]] = bits & (bits - 1);
    if (l > 0) {
      word[--l] = index;
    } else if (columns) {
      lac_buffer_set(columns, at++, index);
    }
  }
  set->count = 0;
}

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file index_set.h
/// A set of indices that is filled in any order, read in ascending order, and then tells the rank of each, in time
/// linear in what it holds.
///
/// Bits in levels: bit w of level l + 1 says that word w of level l is not zero. Adding stops at the first level that
/// knows already; sorting visits non-zero words only. About cols / 3 bytes, a tenth of what a number for each index
/// would take.

#ifndef LACUNA_CORE_PATTERN_INDEX_SET_H
#define LACUNA_CORE_PATTERN_INDEX_SET_H

#include "core/pattern/pattern_impl.h"

enum { LAC_SET_LEVELS = 11 };  // 64^11 > 2^63

typedef struct lac_index_set {
  int levels;
  int64_t count;
  uint64_t *words[LAC_SET_LEVELS];  // level 0 owns the block
  int64_t *used, used_count;        // the words of level 0 that are not zero, ascending, once it is sorted
  int64_t *rank;                    // of the first index of each of them
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
  LAC_ALLOC(set->used, size / 64 + 1);
  LAC_ALLOC(set->rank, size / 64 + 1);
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
  lac_free(set->used);
  lac_free(set->rank);
  *set = (lac_index_set){0};
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

/// Find the words in use. From here on indices are read, and their ranks asked for, until the set is emptied.
static inline void lac_index_set_sort(lac_index_set *set) {
  int64_t word[LAC_SET_LEVELS] = {0}, rank = 0;
  int l = set->levels - 1;

  set->used_count = 0;
  if (l == 0 && set->count) set->used[set->used_count++] = 0;
  while (l > 0 && l < set->levels) {
    uint64_t bits = set->words[l][word[l]];
    if (!bits) {
      ++l;  // this word is done: go on with its parent
      continue;
    }
    int64_t index = word[l] * 64 + __builtin_ctzll(bits);
    set->words[l][word[l]] = bits & (bits - 1);
    if (l > 1) {
      word[--l] = index;
    } else {
      set->used[set->used_count++] = index;
    }
  }
  for (int64_t u = 0; u < set->used_count; ++u) {
    set->rank[set->used[u]] = rank;
    rank += __builtin_popcountll(set->words[0][set->used[u]]);
  }
}

/// How many indices are smaller, of an index in a sorted set.
static inline int64_t lac_index_set_rank(const lac_index_set *set, int64_t index) {
  uint64_t below = set->words[0][index / 64] & (((uint64_t)1 << (index % 64)) - 1);
  return set->rank[index / 64] + __builtin_popcountll(below);
}

/// Empty a sorted set.
static inline void lac_index_set_clear(lac_index_set *set) {
  for (int64_t u = 0; u < set->used_count; ++u) set->words[0][set->used[u]] = 0;
  set->count = set->used_count = 0;
}

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file listed.h
/// LU without pivoting of one structure, written out as lists: which product goes where, and what may be done at the
/// same time. Matrices that share a structure share the lists, and each is worked on by one block of threads.
///
/// A list has tasks, each a sum of products that are there by then:
///
///     y[target] = (y[target] - sum of f[left] z[right]) / f[over]
///
/// For elimination f, z and y are the entries of L\U and a task is one of them; for substitution z and y are the
/// unknowns and a task is one of those. Tasks of a level do not need each other. They lie in chunks of 32 lanes: a task
/// has a lane, or a power of two of them that share its sum, and a chunk has as many steps as its longest lane. Lanes
/// without a product left add a zero to their sums: the number behind the entries and the one behind the unknowns.
///
/// Each warp, 32 threads, has the chunks of one run, in order; the k-th of the waits that it is told to make is where
/// all warps end level k. A warp whose first level has nothing for it begins with a chunk without tasks.

#ifndef LACUNA_KERNELS_LISTED_H
#define LACUNA_KERNELS_LISTED_H

#include "core/pattern/pattern_impl.h"

enum {
  LAC_LANES = 32,
  LAC_LISTED_WARPS = 32,  // of a matrix, at most
  LAC_LISTED_AHEAD = 4    // steps behind the last that may be read, and mean nothing
};

/// Of a chunk: its first step and the one behind its last, how many lanes share a task, how many from the first on have
/// one, and how many levels end behind it.
typedef struct lac_chunk {
  int32_t begin, end;
  int16_t lanes, active;
  int32_t waits;
} lac_chunk;

typedef struct lac_worklist {
  int warps;          // that a matrix keeps busy: a power of two
  int64_t levels;     // none: nothing is to be done
  int64_t chunks;     // of all warps
  lac_buffer *first;  // the first chunk of each warp, and their number
  lac_buffer *heads;  // lac_chunk, four integers of 32 bits
  lac_buffer *tasks;  // of each lane of a chunk two numbers: target and over; lac_none: it has none
  lac_buffer *pairs;  // of each lane of a step two numbers: left and right
} lac_worklist;

static inline lac_chunk lac_worklist_chunk(const lac_worklist *w, int64_t chunk) {
  return ((const lac_chunk *)w->heads->host)[chunk];
}

/// Two numbers in one integer: of 16 bits each in one of 32, or of 32 bits each in one of 64.
typedef struct lac_two {
  uint32_t low, high;
} lac_two;

static inline uint32_t lac_none(const lac_buffer *b) { return b->type == LAC_I32 ? 0xffff : 0xffffffff; }

static inline lac_two lac_two_get(const lac_buffer *b, int64_t i) {
  uint32_t narrow = b->type == LAC_I32 ? ((const uint32_t *)b->host)[i] : 0;
  uint64_t wide = b->type == LAC_I32 ? 0 : ((const uint64_t *)b->host)[i];
  if (b->type == LAC_I32) return (lac_two){narrow & 0xffff, narrow >> 16};
  return (lac_two){(uint32_t)wide, (uint32_t)(wide >> 32)};
}

static inline void lac_two_set(lac_buffer *b, int64_t i, lac_two two) {
  if (b->type == LAC_I32) {
    ((uint32_t *)b->host)[i] = two.low | two.high << 16;
  } else {
    ((uint64_t *)b->host)[i] = two.low | (uint64_t)two.high << 32;
  }
}

typedef struct lac_listed_lu {
  int64_t n, entries;    // of L\U
  int64_t products;      // of an elimination
  lac_buffer *source;    // of each entry of L\U, the slot in A; -1: it is filled in
  lac_buffer *diagonal;  // the entries that are pivots
  lac_buffer *steps;     // the row and column of A that a step eliminates
  lac_worklist factor;
  lac_worklist solve[2][2];  // of A and of A^T: down, up
} lac_listed_lu;

#endif

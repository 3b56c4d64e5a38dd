// SPDX-License-Identifier: Apache-2.0
/// @file hash.h
/// 128 bits of an array's bits, the same on every backend and in any order of work. Plain C that a device compiler
/// takes as well.
///
/// Words w of 64 bits are cut into blocks. Of a block, with random keys k by the place in it, comes
///
///     A = sum over p of (w[2p] + k[2p]) (w[2p + 1] + k[2p + 1])     modulo 2^128, sums in brackets modulo 2^64
///
/// (NH of Black, Halevi, Krawczyk, Krovetz and Rogaway 1999: any two different blocks agree for one of 2^64 choices of
/// the keys at most, which takes that they differ in one pair alone; where all differ, as after a step of an optimiser,
/// it is one of 2^128). The words of A and the number of the block are mixed into two words, these are summed over all
/// blocks, and the sums are mixed with the count of bytes. What is missing from the last pair is zero.

#ifndef LACUNA_KERNELS_HASH_H
#define LACUNA_KERNELS_HASH_H

#include "core/numbers/random.h"

enum { LAC_HASH_WORDS = 512, LAC_HASH_BYTES = 8 * LAC_HASH_WORDS };

/// The key of word i in a block.
static inline LAC_DEVICE uint64_t lac_hash_key(int i) { return lac_random_bits(1, (uint64_t)i); }

/// Word `which` (0 or 1) of a block's number and of its sum A, the low word first.
static inline LAC_DEVICE uint64_t lac_hash_leaf(int which, int64_t block, const uint64_t sum[2]) {
  uint64_t hash = lac_random_bits(2 + (uint64_t)which, (uint64_t)block);
  for (int i = 0; i < 2; i++) {
    hash = (hash ^ sum[i]) * (which ? UINT64_C(0x9fb21c651e98df25) : UINT64_C(0xd6e8feb86659fd93));
    hash ^= hash >> 32;
  }
  return lac_random_mix(hash);
}

/// The hash, of the leaves' sums over all blocks and the number of bytes.
static inline void lac_hash_finish(const uint64_t leaves[2], uint64_t bytes, uint64_t out[2]) {
  uint64_t first = lac_random_mix(leaves[0] ^ lac_random_bits(4, bytes));
  uint64_t second = lac_random_mix(leaves[1] ^ lac_random_bits(5, bytes));
  out[0] = lac_random_mix(first + second);
  out[1] = lac_random_mix(second ^ lac_random_mix(first));
}

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file hash.c
/// The hash of an array's bits (kernels/hash.h): threads take blocks, and sums of integers depend on no order.

#include <pthread.h>

#include "backends/cpu/base/cpu.h"
#include "kernels/hash.h"

__extension__ typedef unsigned __int128 u128;

static uint64_t hash_keys[LAC_HASH_WORDS];
static pthread_once_t hash_keys_once = PTHREAD_ONCE_INIT;

static void hash_make_keys(void) {
  for (int i = 0; i < LAC_HASH_WORDS; i++) hash_keys[i] = lac_hash_key(i);
}

static inline u128 hash_pair(const char *from, const uint64_t *key) {
  uint64_t first, second;
  memcpy(&first, from, sizeof first);
  memcpy(&second, from + sizeof first, sizeof second);
  return (u128)(first + key[0]) * (second + key[1]);
}

// Four sums, which do not wait for each other. Inlined, they would not be kept in registers.
static __attribute__((noinline)) u128 hash_sum(const char *from, size_t bytes) {
  u128 a = 0, b = 0, c = 0, d = 0;
  const uint64_t *key = hash_keys;
  char last[16] = {0};

  for (; bytes >= 64; bytes -= 64, from += 64, key += 8) {
    a += hash_pair(from, key), b += hash_pair(from + 16, key + 2);
    c += hash_pair(from + 32, key + 4), d += hash_pair(from + 48, key + 6);
  }
  for (; bytes >= 16; bytes -= 16, from += 16, key += 2) a += hash_pair(from, key);
  if (bytes) {
    memcpy(last, from, bytes);
    a += hash_pair(last, key);
  }
  return a + b + c + d;
}

static void hash_block(const char *from, size_t bytes, int64_t block, uint64_t leaves[2]) {
  u128 a = hash_sum(from, bytes);
  const uint64_t sum[2] = {(uint64_t)a, (uint64_t)(a >> 64)};
  for (int i = 0; i < 2; i++) leaves[i] += lac_hash_leaf(i, block, sum);
}

static void hash_blocks(const char *from, size_t bytes, int64_t blocks, int threads, uint64_t leaves[2]) {
  uint64_t first = 0, second = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : first, second) if (threads > 1)
  for (int64_t i = 0; i < blocks; i++) {
    size_t begin = (size_t)i * LAC_HASH_BYTES;
    uint64_t own[2] = {0, 0};
    hash_block(from + begin, bytes - begin < LAC_HASH_BYTES ? bytes - begin : LAC_HASH_BYTES, i, own);
    first += own[0], second += own[1];
  }
  leaves[0] = first, leaves[1] = second;
}

lac_status cpu_hash(lac_context *ctx, const lac_array *values, uint64_t out[2]) {
  const char *from = cpu_data(values);
  size_t bytes = (size_t)values->count * lac_dtype_size(values->meta.dtype);
  int64_t blocks = (int64_t)((bytes + LAC_HASH_BYTES - 1) / LAC_HASH_BYTES);
  uint64_t leaves[2] = {0, 0};

  pthread_once(&hash_keys_once, hash_make_keys);
  if (blocks > 1) {
    double work = (double)bytes / CPU_BYTES_A_PRODUCT;
    hash_blocks(from, bytes, blocks, lac_threads_worth(ctx->threads, blocks, work), leaves);
  } else if (blocks == 1) {
    hash_block(from, bytes, 0, leaves);
  }
  lac_hash_finish(leaves, bytes, out);
  return LAC_OK;
}

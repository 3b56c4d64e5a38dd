// SPDX-License-Identifier: Apache-2.0
/// The hash of an array's bits: the formula of kernels/hash.h, every bit and every place counts, and no two of many are
/// alike.

#include "kernels/hash.h"

#include "kernel_check.h"

__extension__ typedef unsigned __int128 u128;

typedef struct hash {
  uint64_t word[2];
} hash;

static hash hash_of(lac_context *ctx, lac_dtype dtype, int64_t count, const void *numbers) {
  lac_array *array = NULL;
  hash h;
  CHECK_OK(lac_array_from(ctx, dtype, 1, &count, (void *)numbers, LAC_OWNERSHIP_COPY, &array));
  CHECK_OK(ctx->kernels->hash(ctx, array, h.word));
  lac_array_destroy(&array);
  return h;
}

static int hash_is(hash a, hash b) { return a.word[0] == b.word[0] && a.word[1] == b.word[1]; }

static int word_order(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/// No two of these are alike, nor any two of their halves.
static void check_all_differ(const hash *list, int64_t count) {
  uint64_t *half = scratch((size_t)count * sizeof *half);
  for (int w = 0; w < 2; ++w) {
    for (int64_t i = 0; i < count; ++i) half[i] = list[i].word[w];
    qsort(half, (size_t)count, sizeof *half, word_order);
    for (int64_t i = 1; i < count; ++i) CHECK(half[i] != half[i - 1]);
  }
}

static void *numbers_of(size_t bytes, uint64_t seed) {
  random_state r = random_start(seed);
  uint64_t *words = scratch(bytes + sizeof *words);
  for (size_t i = 0; i <= bytes / sizeof *words; ++i) words[i] = random_bits(&r);
  return words;
}

/// The formula, a word at a time.
static hash hash_plainly(const void *numbers, size_t bytes) {
  uint64_t leaves[2] = {0, 0}, sum[2];
  hash h;
  for (size_t begin = 0; begin < bytes; begin += LAC_HASH_BYTES) {
    uint64_t w[LAC_HASH_WORDS] = {0};
    size_t here = bytes - begin < LAC_HASH_BYTES ? bytes - begin : LAC_HASH_BYTES;
    u128 a = 0;
    memcpy(w, (const char *)numbers + begin, here);
    for (int p = 0; 16 * (size_t)p < here; ++p) {
      a += (u128)(w[2 * p] + lac_hash_key(2 * p)) * (w[2 * p + 1] + lac_hash_key(2 * p + 1));
    }
    sum[0] = (uint64_t)a, sum[1] = (uint64_t)(a >> 64);
    for (int i = 0; i < 2; ++i) leaves[i] += lac_hash_leaf(i, (int64_t)(begin / LAC_HASH_BYTES), sum);
  }
  lac_hash_finish(leaves, bytes, h.word);
  return h;
}

/// The CPU looks at every place. A device, which follows the same formula, waits at each look, and takes one of many.
static int64_t stride_of(const lac_context *ctx) { return ctx->space->is_host ? 1 : 31; }

static void hashes_follow_the_formula_at_every_length(lac_context *ctx) {
  const char *numbers = numbers_of(1 << 20, 1);
  static const int64_t counts[] = {0, 1, 2, 3, 4, 5, 7, 1023, 1024, 1025, 2047, 2048, 2049, 3071, 8195, 65537, 262144};
  for (size_t i = 0; i < COUNT_OF(counts); ++i) {
    hash whole = hash_plainly(numbers, 4 * (size_t)counts[i]);
    CHECK(hash_is(hash_of(ctx, LAC_F32, counts[i], numbers), whole));
    if (counts[i] % 2 == 0) CHECK(hash_is(hash_of(ctx, LAC_F64, counts[i] / 2, numbers), whole));
    if (counts[i] % 4 == 0) CHECK(hash_is(hash_of(ctx, LAC_C128, counts[i] / 4, numbers), whole));
  }
}

static void hashes_do_not_depend_on_threads(lac_context *ctx) {
  int64_t count = 300001;
  const void *numbers = numbers_of((size_t)count * 4, 2);
  hash one = hash_plainly(numbers, (size_t)count * 4);
  for (int threads = 1; threads < 8; ++threads) {
    CHECK_OK(lac_context_set_threads(ctx, threads));
    CHECK(hash_is(hash_of(ctx, LAC_F32, count, numbers), one));
  }
}

/// Memory that is aligned to a number and not to 16 bytes.
static void borrowed_memory_is_hashed_as_it_lies(lac_context *ctx) {
  if (!ctx->space->is_host) return;  // the memory below is the host's
  char *numbers = numbers_of(40000, 3);
  for (int64_t shift = 0; shift < 16; shift += 4) {
    lac_array *array = NULL;
    hash h;
    CHECK_OK(lac_array_from(ctx, LAC_F32, 1, (int64_t[]){9001}, numbers + shift, LAC_OWNERSHIP_BORROW, &array));
    CHECK_OK(ctx->kernels->hash(ctx, array, h.word));
    CHECK(hash_is(h, hash_plainly(numbers + shift, 4 * 9001)));
    lac_array_destroy(&array);
  }
}

static void every_bit_counts(lac_context *ctx) {
  int64_t count = 1531, bits = 32 * count;
  unsigned char *numbers = numbers_of((size_t)count * 4, 4);
  hash *list = scratch((size_t)(bits + 1) * sizeof *list);
  int64_t made = 0;
  list[made++] = hash_of(ctx, LAC_F32, count, numbers);
  for (int64_t b = 0; b < bits; b += stride_of(ctx)) {
    numbers[b / 8] ^= (unsigned char)(1 << b % 8);
    list[made++] = hash_of(ctx, LAC_F32, count, numbers);
    numbers[b / 8] ^= (unsigned char)(1 << b % 8);
  }
  check_all_differ(list, made);
}

/// About half of all bits change with one.
static void a_flipped_bit_changes_half_of_the_hash(lac_context *ctx) {
  double *numbers = numbers_of(4096 * 3, 5);
  hash before = hash_of(ctx, LAC_F64, 1536, numbers);
  int64_t changed = 0, trials = 0, step = ctx->space->is_host ? 97 : 389;
  for (int64_t b = 0; b < 1536 * 64; b += step, ++trials) {
    ((unsigned char *)numbers)[b / 8] ^= (unsigned char)(1 << b % 8);
    hash after = hash_of(ctx, LAC_F64, 1536, numbers);
    int own = 0;
    for (int w = 0; w < 2; ++w) own += __builtin_popcountll(after.word[w] ^ before.word[w]);
    CHECK(own > 24 && own < 104);
    changed += own;
    ((unsigned char *)numbers)[b / 8] ^= (unsigned char)(1 << b % 8);
  }
  CHECK(changed > 62 * trials && changed < 66 * trials);
}

static void places_count(lac_context *ctx) {
  enum { N = 2000 };
  double *numbers = scratch(N * sizeof *numbers);
  hash *list = scratch(N * sizeof *list);
  int64_t made = 0;
  for (int i = 0; i < N; ++i) numbers[i] = i + 1;
  list[made++] = hash_of(ctx, LAC_F64, N, numbers);
  for (int64_t i = 1; i < N; i += stride_of(ctx)) {  // the first entry changes places with another
    numbers[0] = (double)(i + 1), numbers[i] = 1;
    list[made++] = hash_of(ctx, LAC_F64, N, numbers);
    numbers[0] = 1, numbers[i] = (double)(i + 1);
  }
  check_all_differ(list, made);
}

static void one_entry_at_every_place_is_told_apart(lac_context *ctx) {
  enum { N = 3000 };
  double *numbers = scratch(N * sizeof *numbers);
  hash *list = scratch(N * sizeof *list);
  int64_t made = 0;
  for (int64_t i = 0; i < N; i += stride_of(ctx)) {
    numbers[i] = 1;
    list[made++] = hash_of(ctx, LAC_F64, N, numbers);
    numbers[i] = 0;
  }
  check_all_differ(list, made);
}

/// Blocks of equal numbers in another order, and zeros of every length.
static void lengths_and_blocks_count(lac_context *ctx) {
  enum { N = 2500 };
  double *zeros = scratch(3 * LAC_HASH_BYTES + N * sizeof *zeros);
  hash *list = scratch((N + 3) * sizeof *list);
  int64_t made = 0;
  for (int64_t i = 0; i < N; i += stride_of(ctx)) list[made++] = hash_of(ctx, LAC_F64, i, zeros);
  for (int b = 0; b < 3; ++b) {
    for (int i = 0; i < 3 * LAC_HASH_WORDS; ++i) zeros[i] = i / LAC_HASH_WORDS == b;
    list[made++] = hash_of(ctx, LAC_F64, (int64_t)3 * LAC_HASH_WORDS, zeros);
  }
  check_all_differ(list, made);
}

static void zeros_have_signs(lac_context *ctx) {
  double zeros[2] = {0, 0}, negative[2] = {0, -0.0};
  hash list[] = {hash_of(ctx, LAC_F64, 2, zeros), hash_of(ctx, LAC_F64, 2, negative)};
  check_all_differ(list, 2);
}

/// Small integers in a few places: what is alike in almost all its bits.
static void similar_arrays_are_told_apart(lac_context *ctx) {
  int64_t count = 300000 / stride_of(ctx);
  double numbers[600] = {0};
  hash *list = scratch((size_t)count * sizeof *list);
  for (int64_t i = 0; i < count; ++i) {
    numbers[0] = (double)(i % 67), numbers[2] = (double)(i / 67 % 67), numbers[515] = -(double)(i / (67 * 67));
    list[i] = hash_of(ctx, LAC_F64, 516, numbers);
  }
  check_all_differ(list, count);
}

CHECK_MAIN(hashes_follow_the_formula_at_every_length, hashes_do_not_depend_on_threads,
           borrowed_memory_is_hashed_as_it_lies, every_bit_counts, a_flipped_bit_changes_half_of_the_hash, places_count,
           one_entry_at_every_place_is_told_apart, lengths_and_blocks_count, zeros_have_signs,
           similar_arrays_are_told_apart)

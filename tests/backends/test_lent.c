// SPDX-License-Identifier: Apache-2.0
/// The list of blocks that a source of the user's lent to the CUDA backend. It knows no device, so it is tested here
/// without its plug-in.

#include "backends/cuda/lent.c"  // NOLINT: hidden in the plug-in

#include "support/check.h"

enum { BLOCKS = 1000 };

static void *block(int64_t i) { return (void *)(uintptr_t)(0x7f0000000000 + 512 * i); }

static void blocks_are_found_with_their_source(lac_context *ctx) {
  lent_table table = {0};
  lac_device_allocator source = {0}, found = {0};
  int64_t first = 0;

  (void)ctx;
  CHECK(!lent_remove(&table, block(0), &found));
  for (int round = 0; round < 20; ++round) {  // blocks come and go, first out of order, then all of them
    for (int64_t i = 0; i < BLOCKS; ++i) {
      source.self = block(i);
      CHECK(lent_add(&table, block(i), &source));
    }
    CHECK(!lent_remove(&table, block(BLOCKS), &found));
    for (int64_t i = 0; i < BLOCKS; ++i) {
      int64_t k = (first + 7 * i) % BLOCKS;
      CHECK(lent_remove(&table, block(k), &found));
      CHECK(found.self == block(k));
      CHECK(!lent_remove(&table, block(k), &found));
    }
    CHECK_EQ(table.count, 0);
    first += 13;
  }
}

static void a_block_that_cannot_be_noted_is_refused(lac_context *ctx) {
  lent_table table = {0};
  lac_device_allocator source = {0}, found;

  (void)ctx;
  lac_memory_fail_at(1);
  CHECK(!lent_add(&table, block(1), &source));
  lac_memory_fail_at(0);
  CHECK(lent_add(&table, block(1), &source));
  CHECK(lent_remove(&table, block(1), &found));
}

CHECK_MAIN(blocks_are_found_with_their_source, a_block_that_cannot_be_noted_is_refused)

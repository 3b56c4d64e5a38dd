// SPDX-License-Identifier: Apache-2.0
/// Memory: recycling, counting, replaceable sources, failing allocations.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory_impl.h"
#include "support/check.h"

static void blocks_are_aligned_and_distinct(lac_context *ctx) {
  (void)ctx;
  enum { COUNT = 200 };
  char *blocks[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    size_t bytes = (size_t)(i * i * 37 % 9000);
    blocks[i] = lac_alloc(bytes);
    CHECK(blocks[i]);
    CHECK_EQ((uintptr_t)blocks[i] % 64, 0);
    memset(blocks[i], i, bytes);
  }
  for (int i = 0; i < COUNT; ++i) {
    size_t bytes = (size_t)(i * i * 37 % 9000);
    for (size_t j = 0; j < bytes; ++j) CHECK_EQ(blocks[i][j], (char)i);
    lac_free(blocks[i]);
  }
}

static void freed_blocks_come_back(lac_context *ctx) {
  (void)ctx;
  size_t sizes[] = {1, 100, 5000, (size_t)3 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    void *first = lac_alloc(sizes[i]);
    lac_free(first);
    void *second = lac_alloc(sizes[i]);
    CHECK(first == second);
    lac_free(second);
  }
}

static void counters_come_in_the_size_of_the_caller(lac_context *ctx) {
  const size_t first = offsetof(lac_memory_stats, waits) + sizeof(int64_t);
  struct {
    lac_memory_stats stats;
    int64_t later[2];
  } larger = {.stats.size = sizeof larger, .later = {7, 7}};
  lac_memory_stats whole = {.size = sizeof whole}, zero = {0}, before = {.size = sizeof(void *)};
  void *held = lac_alloc(100);

  CHECK_OK(lac_memory_get_stats("cpu", &whole));
  CHECK_OK(lac_memory_get_stats("cpu", &zero));
  CHECK_OK(lac_memory_get_stats("cpu", &larger.stats));
  CHECK(whole.live_bytes >= 100 && zero.live_bytes == whole.live_bytes && larger.stats.live_bytes == whole.live_bytes);
  CHECK(whole.size == sizeof whole && zero.size == 0 && sizeof whole == first);
  CHECK(larger.stats.size == sizeof larger && !larger.later[0] && !larger.later[1]);
  CHECK_OK(lac_memory_get_stats("abacus", &whole));
  CHECK(whole.live_bytes == 0 && whole.allocations == 0 && whole.size == sizeof whole);
  ctx = NULL;  // it takes none, and its sentence is that of calls without one
  CHECK_FAILS(lac_memory_get_stats("cpu", &before), LAC_ERR_ARG,
              "lac_memory_get_stats: the size of the lac_memory_stats");
  CHECK_FAILS(lac_memory_get_stats("cpu", NULL), LAC_ERR_ARG, "lac_memory_get_stats: the lac_memory_stats is NULL");
  CHECK(before.live_bytes == 0);
  lac_free(held);
}

static void large_blocks_serve_sizes_a_quarter_smaller(lac_context *ctx) {
  (void)ctx;
  size_t bytes = (size_t)10 << 20;
  lac_memory_trim();
  void *first = lac_alloc(bytes);
  lac_free(first);
  void *smaller = lac_alloc(bytes * 9 / 10);
  CHECK(smaller == first);
  lac_free(smaller);
  void *half = lac_alloc(bytes / 2);
  CHECK(half != first);
  lac_free(half);
}

static void live_and_peak_bytes_are_counted(lac_context *ctx) {
  (void)ctx;
  lac_memory_stats before = memory_now("cpu");
  void *a = lac_alloc(1000);
  void *b = lac_alloc(500);
  lac_memory_stats during = memory_now("cpu");
  CHECK_EQ(during.live_bytes - before.live_bytes, 1500);
  CHECK_EQ(during.live_blocks - before.live_blocks, 2);
  CHECK_EQ(during.allocations - before.allocations, 2);
  lac_memory_reset_peak("cpu");
  lac_free(b);
  lac_free(a);
  lac_memory_stats after = memory_now("cpu");
  CHECK_EQ(after.live_bytes, before.live_bytes);
  CHECK_EQ(after.peak_bytes, during.live_bytes);
  CHECK(after.cached_bytes >= 1500);
  lac_memory_trim();
  CHECK_EQ(memory_now("cpu").cached_bytes, 0);
  CHECK_EQ(memory_now("abacus").live_bytes, 0);
}

static void calloc_zeroes_recycled_blocks_and_refuses_overflow(lac_context *ctx) {
  (void)ctx;
  char *dirty = lac_alloc(300);
  memset(dirty, 1, 300);
  lac_free(dirty);
  char *clean = lac_calloc(3, 100);
  for (int i = 0; i < 300; ++i) CHECK_EQ(clean[i], 0);
  lac_free(clean);
  CHECK(!lac_calloc(SIZE_MAX / 2, 4));
  CHECK(!lac_alloc(SIZE_MAX - 8));
}

static void realloc_keeps_contents(lac_context *ctx) {
  (void)ctx;
  char *block = lac_realloc(NULL, 10);
  for (int i = 0; i < 10; ++i) block[i] = (char)i;
  for (size_t bytes = 10; bytes < 3000000; bytes = bytes * 3 + 1) {
    block = lac_realloc(block, bytes);
    for (int i = 0; i < 10; ++i) CHECK_EQ(block[i], i);
  }
  block = lac_realloc(block, 5);
  for (int i = 0; i < 5; ++i) CHECK_EQ(block[i], i);
  lac_memory_fail_at(1);
  CHECK(!lac_realloc(block, 100000));
  CHECK_EQ(block[4], 4);
  lac_memory_fail_at(0);
  lac_free(block);
}

static void the_nth_allocation_fails_once(lac_context *ctx) {
  (void)ctx;
  lac_memory_fail_at(2);
  void *a = lac_alloc(8);
  void *b = lac_alloc(8);
  void *c = lac_host_space.allocate(&lac_host_space, 8, NULL);
  CHECK(a && !b && c);
  CHECK_EQ(lac_memory_fail_at(0), 3);
  lac_free(a);
  lac_free(c);
}

// A source that counts what it hands out.
static void *counting_allocate(void *self, size_t bytes) {
  ++*(int *)self;
  return aligned_alloc(64, (bytes + 63) / 64 * 64);
}
static void counting_release(void *self, void *block, size_t bytes) {
  (void)bytes;
  --*(int *)self;
  free(block);
}

static void blocks_return_to_the_source_they_came_from(lac_context *ctx) {
  (void)ctx;
  int own = 0;
  void *before = lac_alloc(4000);
  lac_memory_set_allocator(&(lac_allocator){counting_allocate, counting_release, &own});
  void *a = lac_alloc(4000);
  void *b = lac_alloc(9000000);
  CHECK_EQ(own, 2);
  lac_free(before);
  CHECK_EQ(own, 2);
  lac_free(b);
  CHECK_EQ(own, 2);
  lac_memory_set_allocator(NULL);
  CHECK_EQ(own, 1);
  lac_free(a);
  CHECK_EQ(own, 0);
}

// A device that keeps what it was given back.
static int64_t fake_waiting = 5000;
static int64_t fake_cached(lac_space *space) { return (void)space, fake_waiting; }
static void fake_trim(lac_space *space) { (void)space, fake_waiting = 0; }

static void devices_are_counted_and_trimmed_too(lac_context *ctx) {
  (void)ctx;
  static lac_space fake = {.backend = "abacus", .cached = fake_cached, .trim = fake_trim};
  lac_memory_join(&fake);
  CHECK_EQ(memory_now("abacus").cached_bytes, 5000);
  int64_t host = memory_now("cpu").cached_bytes;
  void *block = lac_alloc(700);
  lac_free(block);
  CHECK(memory_now("cpu").cached_bytes >= host);
  CHECK_EQ(memory_now("abacus").cached_bytes, 5000);
  lac_memory_trim();
  CHECK_EQ(memory_now("abacus").cached_bytes, 0);
  CHECK_EQ(memory_now("cpu").cached_bytes, 0);
}

// A source that has nothing.
static void *empty_allocate(void *self, size_t bytes) { return (void)self, (void)bytes, NULL; }

/// Spaces take host memory under their own lock, which their trim takes too.
static void a_lack_of_host_memory_leaves_devices_alone(lac_context *ctx) {
  (void)ctx;
  fake_waiting = 7;
  lac_memory_set_allocator(&(lac_allocator){empty_allocate, counting_release, NULL});
  void *block = lac_alloc(100);
  lac_memory_set_allocator(NULL);
  CHECK(!block);
  CHECK_EQ(fake_waiting, 7);
  lac_memory_trim();
  CHECK_EQ(fake_waiting, 0);
}

static void *work(void *unused) {
  void *held[16] = {0};
  for (int i = 0; i < 20000; ++i) {
    int slot = i * 7 % 16;
    lac_free(held[slot]);
    held[slot] = lac_alloc((size_t)(i * 13 % 3000));
  }
  for (int i = 0; i < 16; ++i) lac_free(held[i]);
  return unused;
}

static void threads_share_the_pool(lac_context *ctx) {
  (void)ctx;
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK_EQ(pthread_create(&threads[i], NULL, work, NULL), 0);
  for (int i = 0; i < 3; ++i) CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

CHECK_MAIN(blocks_are_aligned_and_distinct, freed_blocks_come_back, large_blocks_serve_sizes_a_quarter_smaller,
           counters_come_in_the_size_of_the_caller, live_and_peak_bytes_are_counted,
           calloc_zeroes_recycled_blocks_and_refuses_overflow, realloc_keeps_contents, the_nth_allocation_fails_once,
           blocks_return_to_the_source_they_came_from, devices_are_counted_and_trimmed_too,
           a_lack_of_host_memory_leaves_devices_alone, threads_share_the_pool)

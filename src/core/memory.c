// SPDX-License-Identifier: Apache-2.0
/// @file memory.c
/// Recycled host memory.
///
/// Every block has a head of 64 bytes that remembers its size and its source. Freed blocks wait in bins, four to an
/// octave: small ones have their bin's exact size, large ones their own, and serve requests of at least four fifths of
/// it. What lives and what waits together are hardly ever more than what lived at once before; the block that waited
/// longest goes first. Sources are called without the lock, since they may take locks of their own.

#include "core/memory_impl.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/sized.h"

#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEMORY_POISONS 1
#endif
#endif
#ifdef MEMORY_POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum {
  HEAD_SIZE = 64,
  SMALLEST_LOG = 6,     // bin 0 holds blocks of 64 bytes
  BINS = 4 * (48 - 6),  // up to 2^48 bytes
  LARGE = 1 << 20,      // from here on blocks have sizes of their own
  PAGE = 4096,
  HUGE_PAGE = 2 << 20,
  HUGE_FROM = 4 * HUGE_PAGE
};
static const int64_t CACHE_FLOOR = (int64_t)256 << 20;

/// What precedes each block.
typedef struct head {
  lac_allocator source;
  size_t capacity;             // of the block, without its head
  size_t requested;            // what is counted as live
  struct head *newer, *older;  // while it waits in a bin
  int64_t freed_at;
} head;
_Static_assert(sizeof(head) == HEAD_SIZE, "a head keeps blocks aligned to 64 bytes");

typedef struct bin {
  head *newest, *oldest;
} bin;

/// The books. One lock guards them all: an uncontended one costs less than the atomics it replaces.
static struct {
  pthread_mutex_t lock;
  lac_allocator source;
  lac_device_allocator device_source;
  bin bins[BINS];
  lac_memory_stats host;
  lac_space *spaces;  // that have joined: of devices
  int64_t most_live;  // ever
  int64_t clock;
  int64_t asked, fail_at;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

void lac_memory_wish_huge(void *block, size_t bytes) {
#ifdef MADV_HUGEPAGE
  size_t lead = -(uintptr_t)block % HUGE_PAGE;
  if (bytes < HUGE_FROM) return;
  (void)madvise((char *)block + lead, (bytes - lead) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#else
  (void)block, (void)bytes;
#endif
}

static void *default_allocate(void *self, size_t bytes) {
  void *block = NULL;
  (void)self;
  if (bytes < HUGE_FROM) return aligned_alloc(HEAD_SIZE, (bytes + HEAD_SIZE - 1) / HEAD_SIZE * HEAD_SIZE);
  if (posix_memalign(&block, HUGE_PAGE, bytes) != 0) return NULL;
  lac_memory_wish_huge(block, bytes);
  return block;
}

static void default_release(void *self, void *block, size_t bytes) {
  (void)self, (void)bytes;
  free(block);
}

static const lac_allocator default_source = {default_allocate, default_release, NULL};

static void pool_lock(void) { pthread_mutex_lock(&pool.lock); }
static void pool_unlock(void) { pthread_mutex_unlock(&pool.lock); }

// -- sizes -----------------------------------------------------------------------------------------------------------

/// The bin whose blocks hold at least `bytes` when their size is the bin's own: sizes are 2^e (1 + q/4).
static int bin_of(size_t bytes) {
  if (bytes <= (size_t)1 << SMALLEST_LOG) return 0;
  int log = 63 - __builtin_clzll(bytes - 1);  // 2^log < bytes <= 2^(log+1)
  int quarter = (int)(((bytes - 1) >> (log - 2)) & 3) + 1;
  return 4 * (log - SMALLEST_LOG) + quarter;
}

static size_t bin_size(int b) {
  size_t base = (size_t)1 << (b / 4 + SMALLEST_LOG);
  return base + base / 4 * (size_t)(b % 4);
}

static size_t capacity_for(size_t bytes) {
  return bytes < LARGE ? bin_size(bin_of(bytes)) : (bytes + PAGE - 1) / PAGE * PAGE;
}

// -- bins ------------------------------------------------------------------------------------------------------------

static void bin_push(head *h) {
  bin *b = &pool.bins[bin_of(h->capacity)];
  h->freed_at = ++pool.clock;
  h->newer = NULL;
  h->older = b->newest;
  if (b->newest) b->newest->newer = h;
  b->newest = h;
  if (!b->oldest) b->oldest = h;
  pool.host.cached_bytes += (int64_t)h->capacity;
}

static void bin_remove(head *h) {
  bin *b = &pool.bins[bin_of(h->capacity)];
  *(h->newer ? &h->newer->older : &b->newest) = h->older;
  *(h->older ? &h->older->newer : &b->oldest) = h->newer;
  pool.host.cached_bytes -= (int64_t)h->capacity;
}

/// A waiting block that holds `capacity` bytes and not a quarter more, or NULL.
static head *bin_take(size_t capacity) {
  int b = bin_of(capacity);
  head *best = NULL;

  if (capacity < LARGE) {
    best = pool.bins[b].newest;
  } else {
    for (int c = b; c <= b + 2 && c < BINS; ++c) {
      for (head *h = pool.bins[c].newest; h; h = h->older) {
        if (h->capacity < capacity || h->capacity > capacity + capacity / 4) continue;
        if (!best || h->capacity < best->capacity) best = h;
      }
    }
  }
  if (best) bin_remove(best);
  return best;
}

/// Take what waited longest out of the bins until at most `limit` bytes wait; the chain is linked by `older`.
static head *bins_evict(int64_t limit) {
  head *chain = NULL;
  while (pool.host.cached_bytes > limit) {
    head *victim = NULL;
    for (int b = 0; b < BINS; ++b) {
      head *h = pool.bins[b].oldest;
      if (h && (!victim || h->freed_at < victim->freed_at)) victim = h;
    }
    bin_remove(victim);
    victim->older = chain;
    chain = victim;
  }
  return chain;
}

/// Without the lock: sources may take locks of their own.
static void give_back(head *chain) {
  while (chain) {
    head *next = chain->older;
    lac_allocator source = chain->source;
    size_t bytes = chain->capacity + HEAD_SIZE;
    ASAN_UNPOISON_MEMORY_REGION(chain, bytes);
    source.release(source.self, chain, bytes);
    chain = next;
  }
}

/// Give all that waits on the host back. Devices are left alone, since their spaces call lac_alloc under their own
/// lock.
static void pool_trim(void) {
  pool_lock();
  head *chain = bins_evict(0);
  pool_unlock();
  give_back(chain);
}

// -- counting --------------------------------------------------------------------------------------------------------

static void count(lac_memory_stats *stats, int64_t bytes, int64_t blocks) {
  stats->live_bytes += bytes;
  stats->live_blocks += blocks;
  if (blocks > 0) stats->allocations += blocks;
  if (stats->live_bytes > stats->peak_bytes) stats->peak_bytes = stats->live_bytes;
}

static void count_host(int64_t bytes, int64_t blocks) {
  count(&pool.host, bytes, blocks);
  if (pool.host.live_bytes > pool.most_live) pool.most_live = pool.host.live_bytes;
}

/// Bytes that may wait: what is missing to the most that ever lived, and a little. A factor that is given back and made
/// anew finds its pages, and the process does not grow.
static int64_t pool_cap(void) { return pool.most_live - pool.host.live_bytes + CACHE_FLOOR; }

static int shall_fail(void) {
  ++pool.asked;
  return pool.fail_at > 0 && pool.asked == pool.fail_at;
}

// -- blocks ----------------------------------------------------------------------------------------------------------

static head *head_of(void *block) { return (head *)((char *)block - HEAD_SIZE); }
static void *block_of(head *h) { return (char *)h + HEAD_SIZE; }

/// A fresh block from the source, which is read under the lock and called without it.
static head *head_fresh(size_t capacity, lac_allocator source) {
  if (!source.allocate) source = default_source;
  head *h = source.allocate(source.self, capacity + HEAD_SIZE);
  if (h) *h = (head){.source = source, .capacity = capacity};
  return h;
}

void *lac_alloc(size_t bytes) {
  if (bytes > (size_t)1 << 47) return NULL;
  size_t capacity = capacity_for(bytes);

  pool_lock();
  if (shall_fail()) {
    pool_unlock();
    return NULL;
  }
  head *h = bin_take(capacity);
  if (h) {
    count_host((int64_t)bytes, 1);
    pool_unlock();
  } else {
    lac_allocator source = pool.source;
    pool_unlock();
    h = head_fresh(capacity, source);
    if (!h) {  // what waits for re-use may be what is missing
      pool_trim();
      h = head_fresh(capacity, source);
    }
    if (!h) return NULL;
    pool_lock();
    count_host((int64_t)bytes, 1);
    head *chain = bins_evict(pool_cap());
    pool_unlock();
    give_back(chain);
  }
  h->requested = bytes;
  ASAN_POISON_MEMORY_REGION(block_of(h), h->capacity);
  ASAN_UNPOISON_MEMORY_REGION(block_of(h), bytes);
  return block_of(h);
}

void *lac_calloc(size_t number, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(number, size, &bytes)) return NULL;
  void *block = lac_alloc(bytes);
  return block ? memset(block, 0, bytes) : NULL;
}

void lac_free(void *block) {
  if (!block) return;
  head *h = head_of(block);
  head *chain = NULL;

  ASAN_POISON_MEMORY_REGION(block, h->capacity);
  pool_lock();
  count_host(-(int64_t)h->requested, -1);
  const lac_allocator *now = pool.source.allocate ? &pool.source : &default_source;
  int64_t cap = pool_cap();
  int is_current = h->source.allocate == now->allocate && h->source.self == now->self;
  if (is_current && (int64_t)h->capacity <= cap) {
    bin_push(h);
    if (pool.host.cached_bytes > cap) chain = bins_evict(cap);
  } else {
    h->older = NULL;
    chain = h;
  }
  pool_unlock();
  give_back(chain);
}

void *lac_realloc(void *block, size_t bytes) {
  if (!block) return lac_alloc(bytes);
  head *h = head_of(block);

  if (bytes <= h->capacity && bytes >= h->capacity / 2) {
    pool_lock();
    int fails = shall_fail();
    if (!fails) count_host((int64_t)bytes - (int64_t)h->requested, 0);
    pool_unlock();
    if (fails) return NULL;
    h->requested = bytes;
    ASAN_POISON_MEMORY_REGION(block, h->capacity);
    ASAN_UNPOISON_MEMORY_REGION(block, bytes);
    return block;
  }
  void *moved = lac_alloc(bytes);
  if (!moved) return NULL;
  memcpy(moved, block, h->requested < bytes ? h->requested : bytes);
  lac_free(block);
  return moved;
}

// -- the space of the host -------------------------------------------------------------------------------------------

static void *host_allocate(lac_space *space, size_t bytes, void *stream) {
  (void)space, (void)stream;
  return lac_alloc(bytes);
}

static void host_release(lac_space *space, void *data, size_t bytes, void *stream) {
  (void)space, (void)bytes, (void)stream;
  lac_free(data);
}

static void host_adopted(lac_space *space, void *data) {
  (void)space;
  free(data);
}

lac_space lac_host_space = {.backend = "cpu",
                            .is_host = true,
                            .stats = &pool.host,
                            .allocate = host_allocate,
                            .release = host_release,
                            .adopted = host_adopted};

// -- the spaces of devices -------------------------------------------------------------------------------------------

void lac_memory_join(lac_space *space) {
  pool_lock();
  space->next = pool.spaces;
  pool.spaces = space;
  pool_unlock();
}

/// The first of a list that only grows at its head, and may therefore be followed without the lock.
static lac_space *spaces_first(void) {
  pool_lock();
  lac_space *first = pool.spaces;
  pool_unlock();
  return first;
}

// -- what users and tests see ----------------------------------------------------------------------------------------

/// The counters of a backend, or NULL where it has no memory yet. Under the lock.
static lac_memory_stats *stats_of(const char *backend) {
  if (!backend) return NULL;
  if (strcmp(backend, lac_host_space.backend) == 0) return lac_host_space.stats;
  for (lac_space *space = pool.spaces; space; space = space->next) {
    if (strcmp(backend, space->backend) == 0) return space->stats;
  }
  return NULL;
}

void lac_memory_set_allocator(const lac_allocator *allocator) {
  pool_lock();
  head *chain = bins_evict(0);
  pool.source = allocator ? *allocator : default_source;
  pool_unlock();
  give_back(chain);
}

void lac_memory_set_device_allocator(const lac_device_allocator *allocator) {
  pool_lock();
  pool.device_source = allocator ? *allocator : (lac_device_allocator){0};
  pool_unlock();
}

lac_device_allocator lac_memory_device_allocator(void) {
  pool_lock();
  lac_device_allocator source = pool.device_source;
  pool_unlock();
  return source;
}

/// The counters of a backend now.
static lac_memory_stats stats_now(const char *backend) {
  pool_lock();
  const lac_memory_stats *stats = stats_of(backend);
  lac_memory_stats copy = stats ? *stats : (lac_memory_stats){0};
  pool_unlock();
  for (lac_space *space = spaces_first(); space; space = space->next) {
    if (backend && strcmp(space->backend, backend) == 0) copy.cached_bytes += space->cached(space);
  }
  return copy;
}

int64_t lac_memory_cached(void) { return stats_now(lac_host_space.backend).cached_bytes; }

lac_status lac_memory_get_stats(const char *backend, lac_memory_stats *stats) {
  const lac_sized type = LAC_SIZED(lac_memory_stats, waits);
  lac_status status = LAC_OK;
  lac_context *ctx = NULL;  // memory belongs to no context
  lac_memory_stats now;

  LAC_TRY(lac_sized_check(ctx, __func__, type, stats));
  now = stats_now(backend);
  lac_sized_give(type, &now, stats);
done:
  return status;
}

void lac_memory_reset_peak(const char *backend) {
  pool_lock();
  lac_memory_stats *stats = stats_of(backend);
  if (stats) stats->peak_bytes = stats->live_bytes;
  pool_unlock();
}

void lac_memory_trim(void) {
  pool_trim();
  for (lac_space *space = spaces_first(); space; space = space->next) space->trim(space);
}

void lac_memory_count(lac_space *space, int64_t bytes) {
  pool_lock();
  count(space->stats, bytes, bytes < 0 ? -1 : 1);
  pool_unlock();
}

void lac_memory_count_transfer(lac_space *space, lac_transfer transfer, size_t bytes) {
  pool_lock();
  *(transfer == LAC_TO_HOST ? &space->stats->to_host_bytes : &space->stats->to_device_bytes) += (int64_t)bytes;
  pool_unlock();
}

void lac_memory_count_wait(lac_space *space) {
  pool_lock();
  ++space->stats->waits;
  pool_unlock();
}

void lac_memory_count_values(lac_space *space, lac_transfer transfer, size_t bytes) {
  lac_memory_stats *stats = space->stats;
  if (space->is_host) return;
  pool_lock();
  *(transfer == LAC_TO_HOST ? &stats->values_to_host_bytes : &stats->values_to_device_bytes) += (int64_t)bytes;
  pool_unlock();
}

int64_t lac_memory_fail_at(int64_t n) {
  pool_lock();
  int64_t asked = pool.asked;
  pool.asked = 0;
  pool.fail_at = n;
  pool_unlock();
  return asked;
}

int lac_memory_shall_fail(void) {
  pool_lock();
  int fails = shall_fail();
  pool_unlock();
  return fails;
}

// SPDX-License-Identifier: Apache-2.0
/// @file memory.h
/// Where memory comes from, and how much of it is in use.
///
/// Freed blocks are kept and handed out again, since fresh pages cost many times their bandwidth. Every block remembers
/// where it came from, so the source may be replaced at any time and outlives every context.

#ifndef LACUNA_MEMORY_H
#define LACUNA_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "lacuna/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A source of host memory. `allocate` returns NULL when there is none, else a block aligned to 64 bytes.
/// Both are called from any thread. The struct is copied; what `self` points to must outlive every block.
typedef struct lac_allocator {
  void *(*allocate)(void *self, size_t bytes);
  void (*release)(void *self, void *block, size_t bytes);
  void *self;
} lac_allocator;

typedef struct lac_memory_stats {
  int64_t live_bytes;    ///< handed out and not yet given back
  int64_t peak_bytes;    ///< the most that was live since the last lac_memory_reset_peak
  int64_t cached_bytes;  ///< given back and kept for re-use; on CUDA what is taken from the device and not live
  int64_t live_blocks;
  int64_t allocations;  ///< blocks handed out so far
  // Bytes copied so far between the host and the backend's devices, by every context; none where the host itself is the device.
  int64_t to_host_bytes;         ///< all of them: numbers, indices and the few words by which the library steers
  int64_t to_device_bytes;       ///< the same in the other direction
  int64_t values_to_host_bytes;  ///< of these, the numbers of arrays: lac_array_read, and what the library reads itself
  int64_t values_to_device_bytes;  ///< the same in the other direction: lac_array_write and lac_array_from
} lac_memory_stats;

/// Replace the source of host memory for new blocks; NULL restores the default. Recycled blocks are dropped first.
LAC_API void lac_memory_set_allocator(const lac_allocator *allocator);

/// Counters of host memory ("cpu") or of all CUDA devices together ("cuda"). Unknown names give zeros.
LAC_API lac_memory_stats lac_memory_get_stats(const char *backend);
LAC_API void lac_memory_reset_peak(const char *backend);

/// Give the recycled blocks back to their source: those of the host, and those of every CUDA device, which is waited for (a
/// device on which this thread captures a graph is left alone). On its own the host keeps what, with all that lives, is no more
/// than lived at once before and 256 MB; a device keeps at most a quarter of its memory, and the rest goes back when a stream
/// is next waited for.
LAC_API void lac_memory_trim(void);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
/// @file memory.h
/// Where memory comes from, and how much of it is in use.
///
/// Freed blocks are kept and handed out again, because fresh pages cost many times their bandwidth. Every block
/// remembers its source; the source may therefore be replaced at any time, and outlives every context.
/// Threads: all functions may be called from any thread.

#ifndef LACUNA_MEMORY_H
#define LACUNA_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "lacuna/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A source of host memory. `allocate` returns a block aligned to 64 bytes, or NULL where memory is exhausted.
/// Ownership: the struct is copied; the object that `self` points to must outlive every block.
/// Threads: both functions are called from any thread.
typedef struct lac_allocator {
  void *(*allocate)(void *self, size_t bytes);
  void (*release)(void *self, void *block, size_t bytes);
  void *self;
} lac_allocator;

/// Counters of memory and of copies.
typedef struct lac_memory_stats {
  int64_t live_bytes;    ///< handed out and not yet given back
  int64_t peak_bytes;    ///< the largest live_bytes since the last lac_memory_reset_peak
  int64_t cached_bytes;  ///< given back and kept for re-use; on CUDA: taken from the device and not live
  int64_t live_blocks;   ///< blocks handed out and not yet given back
  int64_t allocations;   ///< blocks handed out so far
  // Bytes copied so far between the host and the backend's devices, by every context; zero for "cpu".
  int64_t to_host_bytes;           ///< all copies to the host: numbers, indices, and the words that steer the library
  int64_t to_device_bytes;         ///< all copies to devices
  int64_t values_to_host_bytes;    ///< of these, the numbers of arrays: lac_array_read, and reads by the library
  int64_t values_to_device_bytes;  ///< of these, the numbers of arrays: lac_array_write and lac_array_from
} lac_memory_stats;

/// Replace the source of host memory for new blocks; NULL restores the default. Recycled blocks are dropped first.
LAC_API void lac_memory_set_allocator(const lac_allocator *allocator);

/// The counters of host memory ("cpu"), or of all CUDA devices together ("cuda"); of other names: zeros.
LAC_API lac_memory_stats lac_memory_get_stats(const char *backend);

/// Set peak_bytes to live_bytes.
LAC_API void lac_memory_reset_peak(const char *backend);

/// Give recycled blocks back to their source: those of the host, and those of every CUDA device, after waiting for the
/// device. A device on which this thread captures a graph is left alone.
/// Without this call the host keeps recycled blocks as long as they and the live ones together are no more than the
/// largest live_bytes so far and 256 MB; a device keeps at most a quarter of its memory, and gives the rest back when a
/// stream is next waited for.
LAC_API void lac_memory_trim(void);

#ifdef __cplusplus
}
#endif
#endif

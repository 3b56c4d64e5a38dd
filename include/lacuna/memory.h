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

/// A source of device memory that knows streams, such as a framework's caching allocator. `allocate` returns a block
/// aligned to 256 bytes for work on a stream (a cudaStream_t) of a device, or NULL where memory is exhausted; after
/// `release` the block may serve later work on the stream for which it was taken. `trim` gives what waits for re-use
/// back to the device; NULL: nothing does. That device is current in all calls.
/// Ownership: the struct is copied; the object that `self` points to must outlive every block.
/// Threads: all functions are called from any thread.
typedef struct lac_device_allocator {
  void *(*allocate)(void *self, int device, size_t bytes, void *stream);
  void (*release)(void *self, int device, void *block, size_t bytes, void *stream);
  void (*trim)(void *self, int device);
  void *self;
} lac_device_allocator;

/// Counters of memory, of copies and of waiting.
typedef struct lac_memory_stats {
  size_t size;           ///< sizeof(lac_memory_stats), or zero; the caller sets it
  int64_t live_bytes;    ///< handed out and not yet given back
  int64_t peak_bytes;    ///< the largest live_bytes since the last lac_memory_reset_peak
  int64_t cached_bytes;  ///< given back and kept for re-use; on CUDA: taken from the device and not live
  int64_t live_blocks;   ///< blocks handed out and not yet given back
  int64_t allocations;   ///< blocks handed out so far
  // So far between the host and the backend's devices, by every context; zero for "cpu".
  int64_t to_host_bytes;           ///< copied to the host: numbers, indices, and the words that steer the library
  int64_t to_device_bytes;         ///< copied to devices
  int64_t values_to_host_bytes;    ///< of these, the numbers of arrays: lac_array_read, and reads by the library
  int64_t values_to_device_bytes;  ///< of these, the numbers of arrays: lac_array_write and lac_array_from
  int64_t waits;                   ///< how often a thread of the host waited for a stream or a device
} lac_memory_stats;

/// Replace the source of host memory for new blocks; NULL restores the default. Recycled blocks are dropped first.
LAC_API void lac_memory_set_allocator(const lac_allocator *allocator);

/// Replace the source of device memory for new blocks that belong to a stream: arrays and what kernels need; NULL
/// restores the library's own pools. The indices of patterns and maps, which all streams read, are taken from the
/// device itself.
LAC_API void lac_memory_set_device_allocator(const lac_device_allocator *allocator);

/// Write the counters of host memory ("cpu"), or of all CUDA devices together ("cuda"), to `stats`; of other names:
/// zeros.
/// Errors: LAC_ERR_ARG where `stats` is NULL, or its size is not that of a version of the struct (lacuna.h).
LAC_API lac_status lac_memory_get_stats(const char *backend, lac_memory_stats *stats);

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

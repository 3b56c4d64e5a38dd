// SPDX-License-Identifier: Apache-2.0
/// @file memory_impl.h
/// Blocks of memory inside the library. All host memory, of structs and of arrays, comes from lac_alloc.

#ifndef LACUNA_CORE_MEMORY_IMPL_H
#define LACUNA_CORE_MEMORY_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/test_hooks.h"
#include "lacuna/memory.h"

/// A block of host memory aligned to 64 bytes, contents undefined, or NULL. A size of 0 gives a valid block.
void *lac_alloc(size_t bytes);

/// The same for a number of items of a size, zeroed, with the product checked for overflow.
void *lac_calloc(size_t number, size_t size);

/// A block of another size with the contents kept; NULL leaves the old block alone.
void *lac_realloc(void *block, size_t bytes);

/// Give a block back. Accepts NULL. Safe from any thread, with no context alive.
void lac_free(void *block);

/// Let the fresh pages of a large block of host memory, whoever owns it, be huge ones where the system has them: one
/// costs a third of the small ones it replaces when it is first written, and scattered access misses fewer
/// translations. A wish: the block is as good without.
void lac_memory_wish_huge(void *block, size_t bytes);

/// Where array data lives: the host, or one CUDA device. Static, so that blocks outlive contexts.
typedef struct lac_space lac_space;
struct lac_space {
  const char *backend;
  int device;
  bool is_host;             // the host reads and writes what lies here
  lac_memory_stats *stats;  // of the backend, shared by its devices; the lock of memory.c guards them
  void *(*allocate)(lac_space *space, size_t bytes, void *stream);
  void (*release)(lac_space *space, void *data, size_t bytes, void *stream);
  void (*adopted)(lac_space *space, void *data);  // frees what LAC_OWNERSHIP_ADOPT took over
  /// Copy what is complete on the device to the host, without a context: for blocks that all streams read. False: it
  /// failed. NULL where the host reads by itself.
  bool (*fetch)(lac_space *space, void *to_host, const void *from, size_t bytes);
  /// Make the device the current one of the calling thread, for libraries of others that work on that one; returns what
  /// `leave` restores. NULL: there is nothing to make current.
  int (*enter)(lac_space *space);
  void (*leave)(lac_space *space, int before);
  // Of spaces that have joined below: what waits there for re-use, in bytes, and how to give it back to the device.
  int64_t (*cached)(lac_space *space);
  void (*trim)(lac_space *space);
  lac_space *next;
};

extern lac_space lac_host_space;

/// The stream of a block that kernels of all streams read (index buffers): it is given back when the device is idle.
#define LAC_EVERY_STREAM ((void *)-1)

/// Let a device's space take part in lac_memory_trim and in the counters; once, for good.
void lac_memory_join(lac_space *space);

/// A block was taken in a device's space, or given back where `bytes` is negative: what lac_memory_get_stats shows.
void lac_memory_count(lac_space *space, int64_t bytes);

/// Which way bytes are copied, seen from a device.
typedef enum lac_transfer { LAC_TO_HOST, LAC_TO_DEVICE } lac_transfer;

/// Bytes were copied between the host and a device: counted by the door of the backend. And how many of them were
/// numbers of an array: counted by who knows that.
void lac_memory_count_transfer(lac_space *space, lac_transfer transfer, size_t bytes);
void lac_memory_count_values(lac_space *space, lac_transfer transfer, size_t bytes);

/// A thread of the host waited for a stream or a device: counted by the backend.
void lac_memory_count_wait(lac_space *space);

/// Where device memory that belongs to a stream comes from; without functions: from the backend's own pools.
lac_device_allocator lac_memory_device_allocator(void);

/// Bytes of host memory that wait for re-use.
int64_t lac_memory_cached(void);

/// Bytes of host memory that can still be had, those that wait for re-use included; INT64_MAX where nothing says.
int64_t lac_memory_available(void);

/// For allocators of device spaces: whether this allocation is the one that shall fail (lac_memory_fail_at).
int lac_memory_shall_fail(void);

#endif

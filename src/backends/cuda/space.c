// SPDX-License-Identifier: Apache-2.0
/// @file space.c
/// Device memory in the order of streams.
///
/// An array's block is taken from the device's pool on the stream of its context and given back on the same stream, so
/// that it waits for the work that was started before and for nothing else. The pool keeps what is given back, up to a
/// quarter of the device's memory, and all of it goes back to the device on lac_memory_trim or when memory is short:
/// others live there too.
///
/// A stream belongs to the caller and may be gone when a block goes. So a block is given back on its stream only while
/// the calling thread has a context that works on that stream: it must live as long as a context has it. All other
/// blocks are *parked*: the next allocation on their stream gives them back, or, once the device has been waited for,
/// synchronize, the end of a context, a lack of memory or too many parked bytes. With no context left the device is
/// waited for at once. No function here calls CUDA with a stream that may be gone.
///
/// Index buffers (LAC_EVERY_STREAM) are read from all streams: they are plain cudaMalloc blocks, given back after
/// waiting for the device.
///
/// Where the user has a source of device memory (lac_memory_set_device_allocator), the blocks of streams are *lent* by
/// it and go back to it at once, whatever streams are alive: the source keeps the order of its streams and captures.
///
/// While a stream is captured into a graph, allocations are nodes of the graph and must be given back inside it; blocks
/// from before must not be. Blocks taken in a capture are therefore listed, and the others wait, parked, until it is
/// over.

#include <pthread.h>

#include "backends/cuda/backend.h"
#include "backends/cuda/lent.h"

enum { MAX_DEVICES = 64 };
static const int64_t PARKED_BYTES = (int64_t)256 << 20;  // more is given back even if the device must be waited for

typedef struct block {
  void *data;
  void *stream;
  size_t bytes;
} block;

typedef struct block_list {
  block *at;
  int64_t count, room;
} block_list;

typedef struct cuda_space {
  lac_space base;  // first: a lac_space of this backend is a cuda_space
  cudaMemPool_t pool;
  cuda_data *contexts;
  block_list parked, captured;
  lent_table lent;
  int64_t parked_bytes;
} cuda_space;

static cuda_space spaces[MAX_DEVICES];
static lac_memory_stats spaces_stats;  // of all devices together; the lock of core/memory.c guards them
static pthread_mutex_t spaces_lock = PTHREAD_MUTEX_INITIALIZER;  // guards all of the above

static cuda_space *space_of(lac_space *space) { return (cuda_space *)space; }

// -- lists -----------------------------------------------------------------------------------------------------------

static bool list_push(block_list *list, block b) {
  if (list->count == list->room) {
    int64_t room = list->room ? 2 * list->room : 16;
    block *moved = lac_realloc(list->at, (size_t)room * sizeof *moved);
    if (!moved) return false;
    list->at = moved;
    list->room = room;
  }
  list->at[list->count++] = b;
  return true;
}

static void list_remove(block_list *list, int64_t i) {
  list->at[i] = list->at[--list->count];
  if (list->count) return;
  lac_free(list->at);
  *list = (block_list){0};
}

static int64_t list_find(const block_list *list, const void *data) {
  for (int64_t i = 0; i < list->count; ++i) {
    if (list->at[i].data == data) return i;
  }
  return -1;
}

/// Whether a call succeeded. CUDA's last error is cleared: it must not be reported by a later call.
static bool succeeds(cudaError_t error) {
  if (error != cudaSuccess) (void)cudaGetLastError();
  return error == cudaSuccess;
}

// -- streams ---------------------------------------------------------------------------------------------------------

/// An address that no other thread has.
static uintptr_t this_thread(void) {
  static _Thread_local char place;
  return (uintptr_t)&place;
}

cuda_scope cuda_begin(lac_context *ctx) {
  cuda_data *data = ctx->backend_data;
  atomic_store_explicit(&data->thread, this_thread(), memory_order_relaxed);
  return cuda_enter(ctx->device);
}

/// Whether this thread has a context that works on the stream. Other threads' contexts may move on at any moment.
static bool stream_is_ours(const cuda_space *s, const void *stream) {
  for (cuda_data *data = s->contexts; data; data = data->next) {
    if (atomic_load_explicit(&data->thread, memory_order_relaxed) != this_thread()) continue;
    if (data->ctx->stream == stream) return true;
  }
  return false;
}

static bool stream_is_captured(cudaStream_t stream) {
  enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  // Asking about the default stream fails while others are captured.
  return !succeeds(cudaStreamIsCapturing(stream, &capture)) || capture != cudaStreamCaptureStatusNone;
}

// -- giving back -----------------------------------------------------------------------------------------------------

/// Wait for everything on the device; false while a capture forbids it. To ask CUDA would spoil a capture of this
/// thread's.
static bool device_wait(cuda_space *s) {
  for (cuda_data *data = s->contexts; data; data = data->next) {
    bool ours = atomic_load_explicit(&data->thread, memory_order_relaxed) == this_thread();
    if (ours && stream_is_captured(data->ctx->stream)) return false;
  }
  lac_memory_count_wait(&s->base);
  return succeeds(cudaDeviceSynchronize());
}

/// Give back all parked blocks; the device is current and has been waited for.
static void parked_free(cuda_space *s) {
  while (s->parked.count) {
    (void)succeeds(cudaFree(s->parked.at[s->parked.count - 1].data));
    list_remove(&s->parked, s->parked.count - 1);
  }
  s->parked_bytes = 0;
}

static void parked_settle(cuda_space *s) {
  if (s->parked.count && device_wait(s)) parked_free(s);
}

/// Give back what is parked for a stream that the caller vouches for and that is not captured.
static void parked_free_on(cuda_space *s, cudaStream_t stream) {
  for (int64_t i = s->parked.count - 1; i >= 0; --i) {
    block b = s->parked.at[i];
    if (b.stream != (void *)stream) continue;
    (void)succeeds(cudaFreeAsync(b.data, stream));
    s->parked_bytes -= (int64_t)b.bytes;
    list_remove(&s->parked, i);
  }
}

static void park(cuda_space *s, block b) {
  if (!list_push(&s->parked, b)) {  // no room to remember it: wait now
    if (device_wait(s)) (void)succeeds(cudaFree(b.data));
    return;
  }
  s->parked_bytes += (int64_t)b.bytes;
  if (!s->contexts) parked_settle(s);
}

static void give_back(cuda_space *s, block b) {
  int64_t listed = list_find(&s->captured, b.data);
  bool ours = b.stream != LAC_EVERY_STREAM && stream_is_ours(s, b.stream);

  if (listed >= 0) list_remove(&s->captured, listed);
  if (ours && (listed >= 0 || !stream_is_captured(b.stream))) {
    (void)succeeds(cudaFreeAsync(b.data, b.stream));
  } else if (b.stream == LAC_EVERY_STREAM && device_wait(s)) {
    (void)succeeds(cudaFree(b.data));
  } else {
    park(s, b);
  }
}

/// The user's source may take locks of its own: it is called without ours.
static void space_release(lac_space *space, void *data, size_t bytes, void *stream) {
  cuda_space *s = space_of(space);
  lac_device_allocator source;

  lac_memory_count(space, -(int64_t)bytes);
  cuda_scope scope = cuda_enter(space->device);
  pthread_mutex_lock(&spaces_lock);
  bool is_lent = lent_remove(&s->lent, data, &source);
  if (!is_lent) give_back(s, (block){data, stream, bytes});
  pthread_mutex_unlock(&spaces_lock);
  if (is_lent) source.release(source.self, space->device, data, bytes, stream);
  cuda_leave(scope);
}

static void space_adopted(lac_space *space, void *data) {
  cuda_scope scope = cuda_enter(space->device);
  (void)succeeds(cudaFree(data));
  cuda_leave(scope);
}

// -- taking ----------------------------------------------------------------------------------------------------------

static void *take(cuda_space *s, size_t bytes, void *stream) {
  void *data = NULL;
  cudaError_t error =
      stream == LAC_EVERY_STREAM ? cudaMalloc(&data, bytes) : cudaMallocFromPoolAsync(&data, bytes, s->pool, stream);
  return succeeds(error) ? data : NULL;
}

/// A block on a captured stream belongs to the graph.
static void *take_captured(cuda_space *s, size_t bytes, void *stream) {
  void *data = take(s, bytes, stream);
  if (data && !list_push(&s->captured, (block){data, stream, bytes})) {
    (void)succeeds(cudaFreeAsync(data, stream));
    data = NULL;
  }
  return data;
}

static void *take_now(cuda_space *s, size_t bytes, void *stream) {
  if (stream != LAC_EVERY_STREAM) parked_free_on(s, stream);
  if (s->parked_bytes > PARKED_BYTES) parked_settle(s);
  void *data = take(s, bytes, stream);
  if (data) return data;
  if (!device_wait(s)) return NULL;  // what is parked, or waits in the pool, may be what is missing
  parked_free(s);
  (void)succeeds(cudaMemPoolTrimTo(s->pool, 0));
  return take(s, bytes, stream);
}

/// From the device and its pools.
static void *take_own(cuda_space *s, size_t bytes, void *stream) {
  pthread_mutex_lock(&spaces_lock);
  bool captured = stream != LAC_EVERY_STREAM && stream_is_captured(stream);
  void *data = captured ? take_captured(s, bytes, stream) : take_now(s, bytes, stream);
  pthread_mutex_unlock(&spaces_lock);
  return data;
}

/// From the user's source.
static void *take_lent(cuda_space *s, const lac_device_allocator *source, size_t bytes, void *stream) {
  void *data = source->allocate(source->self, s->base.device, bytes, stream);
  if (!data) return NULL;
  pthread_mutex_lock(&spaces_lock);
  bool is_listed = lent_add(&s->lent, data, source);
  pthread_mutex_unlock(&spaces_lock);
  if (is_listed) return data;
  source->release(source->self, s->base.device, data, bytes, stream);
  return NULL;
}

/// What all streams read. Where memory is short, the user's source may hold what is missing.
static void *take_for_all(cuda_space *s, const lac_device_allocator *source, size_t bytes) {
  void *data = take_own(s, bytes, LAC_EVERY_STREAM);
  if (data || !source->trim) return data;
  source->trim(source->self, s->base.device);
  return take_own(s, bytes, LAC_EVERY_STREAM);
}

static void *space_allocate(lac_space *space, size_t bytes, void *stream) {
  cuda_space *s = space_of(space);
  lac_device_allocator source = lac_memory_device_allocator();
  void *data = NULL;

  if (lac_memory_shall_fail()) return NULL;
  cuda_scope scope = cuda_enter(space->device);
  if (stream == LAC_EVERY_STREAM) {
    data = take_for_all(s, &source, bytes);
  } else {
    data = source.allocate ? take_lent(s, &source, bytes, stream) : take_own(s, bytes, stream);
  }
  cuda_leave(scope);
  if (data) lac_memory_count(space, (int64_t)bytes);
  return data;
}

// -- spaces ----------------------------------------------------------------------------------------------------------

/// Memory that all streams read is complete; the library waits for none of its streams.
static bool space_fetch(lac_space *space, void *to_host, const void *from, size_t bytes) {
  cuda_scope scope = cuda_enter(space->device);
  lac_memory_count_wait(space);
  bool is_done = succeeds(cudaMemcpy(to_host, from, bytes, cudaMemcpyDeviceToHost));
  cuda_leave(scope);
  if (is_done) lac_memory_count_transfer(space, LAC_TO_HOST, bytes);
  return is_done;
}

static int space_enter(lac_space *space) { return cuda_enter(space->device).before; }
static void space_leave(lac_space *space, int before) { cuda_leave((cuda_scope){before, space->device}); }

/// Bytes taken from the device that are not live: free in the pool, or parked.
static int64_t space_cached(lac_space *space) {
  cuda_space *s = space_of(space);
  uint64_t reserved = 0, used = 0;

  pthread_mutex_lock(&spaces_lock);
  int64_t bytes = s->parked_bytes;
  if (succeeds(cudaMemPoolGetAttribute(s->pool, cudaMemPoolAttrReservedMemCurrent, &reserved)) &&
      succeeds(cudaMemPoolGetAttribute(s->pool, cudaMemPoolAttrUsedMemCurrent, &used)) && reserved > used)
    bytes += (int64_t)(reserved - used);
  pthread_mutex_unlock(&spaces_lock);
  return bytes;
}

static void space_trim(lac_space *space) {
  cuda_space *s = space_of(space);

  pthread_mutex_lock(&spaces_lock);
  cuda_scope scope = cuda_enter(space->device);
  if (device_wait(s)) {
    parked_free(s);
    (void)succeeds(cudaMemPoolTrimTo(s->pool, 0));
  }
  cuda_leave(scope);
  pthread_mutex_unlock(&spaces_lock);
}

/// A pool of our own, which keeps a quarter of the device: the device's default pool is not ours to set up. The device
/// is current.
static cudaError_t space_make(cuda_space *s, int device) {
  struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                   .location = {.type = cudaMemLocationTypeDevice, .id = device}};
  size_t unused = 0, total = 0;
  cudaError_t error = cudaMemGetInfo(&unused, &total);
  uint64_t keep = total / 4;
  if (error == cudaSuccess) error = cudaMemPoolCreate(&s->pool, &props);
  if (error == cudaSuccess) error = cudaMemPoolSetAttribute(s->pool, cudaMemPoolAttrReleaseThreshold, &keep);
  if (error != cudaSuccess) {
    if (s->pool) (void)succeeds(cudaMemPoolDestroy(s->pool));
    s->pool = NULL;
    return error;
  }
  s->base = (lac_space){.backend = "cuda",
                        .device = device,
                        .stats = &spaces_stats,
                        .allocate = space_allocate,
                        .release = space_release,
                        .adopted = space_adopted,
                        .fetch = space_fetch,
                        .enter = space_enter,
                        .leave = space_leave,
                        .cached = space_cached,
                        .trim = space_trim};
  lac_memory_join(&s->base);
  return cudaSuccess;
}

lac_status cuda_space_find(lac_context *ctx, int device, lac_space **out) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  cuda_scope scope;

  LAC_CHECK(device < MAX_DEVICES, LAC_ERR_UNSUPPORTED, "cuda: device %d; at most %d devices are served", device,
            MAX_DEVICES);
  pthread_mutex_lock(&spaces_lock);
  scope = cuda_enter(device);
  if (!spaces[device].base.backend) error = space_make(&spaces[device], device);
  status = cuda_end(ctx, scope, error, "cudaMemPoolCreate");
  pthread_mutex_unlock(&spaces_lock);
  LAC_TRY(status);
  *out = &spaces[device].base;
done:
  return status;
}

void cuda_space_join(lac_space *space, cuda_data *data) {
  cuda_space *s = space_of(space);
  pthread_mutex_lock(&spaces_lock);
  atomic_store_explicit(&data->thread, this_thread(), memory_order_relaxed);
  data->next = s->contexts;
  s->contexts = data;
  pthread_mutex_unlock(&spaces_lock);
}

void cuda_space_part(lac_space *space, cuda_data *data) {
  cuda_space *s = space_of(space);
  pthread_mutex_lock(&spaces_lock);
  cuda_data **link = &s->contexts;
  while (*link != data) link = &(*link)->next;
  *link = data->next;
  pthread_mutex_unlock(&spaces_lock);
  cuda_space_settle(space);
}

void cuda_space_settle(lac_space *space) {
  pthread_mutex_lock(&spaces_lock);
  cuda_scope scope = cuda_enter(space->device);
  parked_settle(space_of(space));
  cuda_leave(scope);
  pthread_mutex_unlock(&spaces_lock);
}

// SPDX-License-Identifier: Apache-2.0
/// @file fault.c
/// Faults of values on a device (core/fault.h): the boards to which kernels write, and what the host reads there.
///
/// Boards lie in pinned memory, which is never given back: a graph may be replayed when its context is gone. A board
/// that a context leaves serves the next one once the kernels that know it have ended, and never where a graph knows
/// it. The device reaches pinned memory by the host's own addresses.

#include "backends/cuda/fault.h"

#include <pthread.h>
#include <stdatomic.h>

#include "backends/cuda/backend.h"

enum { BOARDS = 64, BOARD_BYTES = 128, DEVICES = 64 };  // of one block; a board has cache lines of its own

typedef struct board_place {
  cuda_board board;
  struct board_place *next;  // of those that no context has
} board_place;
_Static_assert(sizeof(board_place) <= BOARD_BYTES, "boards lie apart");

static pthread_mutex_t boards_lock = PTHREAD_MUTEX_INITIALIZER;  // guards both
static board_place *boards_free;
static cuda_board *boards_shared[DEVICES];

// -- boards ----------------------------------------------------------------------------------------------------------

/// More boards. A capture of this thread's would forbid it: it asks to be let.
static cudaError_t boards_make(void) {
  enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  char *block = NULL;
  cudaError_t error;

  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  error = cudaHostAlloc((void **)&block, BOARDS * BOARD_BYTES, cudaHostAllocPortable | cudaHostAllocMapped);
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  for (int i = 0; error == cudaSuccess && i < BOARDS; ++i) {
    board_place *place = (board_place *)(void *)(block + i * BOARD_BYTES);
    *place = (board_place){.next = boards_free};
    boards_free = place;
  }
  return error;
}

static uint64_t board_raised(cuda_board *board) { return __atomic_load_n(&board->raised, __ATOMIC_ACQUIRE); }

/// A board on which all is seen; under the lock.
static cudaError_t board_take(cuda_board **out) {
  cudaError_t error = boards_free ? cudaSuccess : boards_make();
  if (error != cudaSuccess) return error;
  *out = &boards_free->board;
  boards_free = boards_free->next;
  __atomic_store_n(&(*out)->seen, board_raised(*out), __ATOMIC_RELEASE);
  return cudaSuccess;
}

cudaError_t cuda_faults_open(cuda_data *data) {
  int device = data->ctx->device;
  cudaError_t error = cudaSuccess;

  if (device >= DEVICES) return cudaErrorInvalidDevice;
  pthread_mutex_lock(&boards_lock);
  if (!boards_shared[device]) error = board_take(&boards_shared[device]);
  if (error == cudaSuccess) error = board_take(&data->own);
  pthread_mutex_unlock(&boards_lock);
  data->board = data->own;
  return error;
}

void cuda_faults_close(cuda_data *data) {
  board_place *place = (board_place *)(void *)data->own;
  if (data->is_captured) return;
  if (data->has_watched) (void)cudaStreamSynchronize(data->ctx->stream);
  pthread_mutex_lock(&boards_lock);
  place->next = boards_free;
  boards_free = place;
  pthread_mutex_unlock(&boards_lock);
}

void cuda_share_faults(lac_context *ctx) {
  cuda_data *data = ctx->backend_data;
  data->board = boards_shared[ctx->device];
}

// -- faults ----------------------------------------------------------------------------------------------------------

/// Contexts that share a board may all look: one of them raises what is there.
lac_status cuda_faults(lac_context *ctx) {
  cuda_board *board = ((cuda_data *)ctx->backend_data)->board;
  uint64_t seen = __atomic_load_n(&board->seen, __ATOMIC_RELAXED), raised = board_raised(board);
  lac_value_fault fault;
  cuda_note note;

  if (raised == seen) return LAC_OK;
  note = board->note;
  fault = (lac_value_fault){.item = note.item, .place = note.place, .items = note.items, .number = note.number};
  if (!__atomic_compare_exchange_n(&board->seen, &seen, raised, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return LAC_OK;
  return ((lac_fault_say *)(uintptr_t)note.say)(ctx, (const char *)(uintptr_t)note.who, &fault);
}

lac_status cuda_watch(lac_context *ctx, const lac_late *late, const cuda_found *found, lac_array *x) {
  lac_status status = LAC_OK;
  cuda_data *data = ctx->backend_data;
  cuda_board *board = data->board;
  bool is_captured = cuda_is_captured(ctx);
  cuda_fault_job job = {
      .first = found->first,
      .size = found->size,
      .number = found->number,
      .board = board,
      .since = is_captured ? CUDA_FAULT_EVER : __atomic_load_n(&board->seen, __ATOMIC_RELAXED),
      .note = {.say = (uintptr_t)late->say, .who = (uintptr_t)late->who, .items = found->items},
  };
  cuda_scope scope;

  data->has_watched |= board == data->own, data->is_captured |= board == data->own && is_captured;
  if (found->joint) job.joint = *found->joint;
  if (late->names) LAC_TRY(cuda_index_of(ctx, late->names, &job.names));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope,
                   cuda_launch_fault(ctx->stream, &job, lac_dtype_is_single(x->meta.dtype),
                                     x->count * lac_dtype_parts(x->meta.dtype), x->storage->data),
                   late->who));
done:
  return status;
}

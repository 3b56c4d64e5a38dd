// SPDX-License-Identifier: Apache-2.0
/// @file backend.h
/// What the files of the CUDA backend share: a context's own data, the current device, operands as launchers take them.

#ifndef LACUNA_BACKENDS_CUDA_BACKEND_H
#define LACUNA_BACKENDS_CUDA_BACKEND_H

#include "backends/cuda/launch.h"
#include "backends/cuda/lines.h"
#include "core/fault.h"
#include "core/pattern/structure.h"
#include "kernels/kernels.h"

/// What the backend keeps for each context.
typedef struct cuda_data {
  lac_context *ctx;
  struct cuda_data *next;      // of the contexts on this device (space.c)
  _Atomic uintptr_t thread;    // who used the context last (space.c)
  struct cuda_cublas *cublas;  // NULL: not asked for yet (arrays/cublas.c)
  struct cuda_board *board;    // where kernels note faults of this context's calls (fault.c)
  struct cuda_board *own;      // the same, unless errors are shared
  bool has_watched;            // kernels were told of `own`
  bool is_captured;            // and a graph may be replayed when the context is gone
} cuda_data;

// -- the current device ----------------------------------------------------------------------------------------------

/// The caller's device, while ours is current.
typedef struct cuda_scope {
  int before, now;
} cuda_scope;

cuda_scope cuda_enter(int device);
void cuda_leave(cuda_scope scope);

/// Enter a context's device; remembers the thread too.
cuda_scope cuda_begin(lac_context *ctx);

/// Leave it again and turn the outcome of `call` into a status with a sentence.
lac_status cuda_end(lac_context *ctx, cuda_scope scope, cudaError_t error, const char *call);

// -- memory (space.c) ------------------------------------------------------------------------------------------------

/// The space of a device, which is made when first asked for.
lac_status cuda_space_find(lac_context *ctx, int device, lac_space **out);

/// Contexts say when they come and go, so that blocks know which streams are alive.
void cuda_space_join(lac_space *space, cuda_data *data);
void cuda_space_part(lac_space *space, cuda_data *data);

/// Wait for the device and give back what could not be given back in the order of a stream.
void cuda_space_settle(lac_space *space);

/// Device memory that is given back in the order of the context's stream; `call` begins the sentence of a failure.
typedef struct cuda_scratch {
  void *data;
  size_t bytes;
} cuda_scratch;
lac_status cuda_scratch_take(lac_context *ctx, const char *call, size_t bytes, cuda_scratch *out);
void cuda_scratch_release(lac_context *ctx, cuda_scratch *scratch);

// -- operands (operands.c) -------------------------------------------------------------------------------------------

/// Add an axis inside those that are there. Axes of size 1 vanish, and those that run on without a gap become one.
void cuda_axes_push(cuda_axes *axes, int64_t size, int64_t stride_x, int64_t stride_y);

/// The batch of two operands and an output with core[i] trailing core dimensions; an item of x has `size_x` numbers.
cuda_batch cuda_batch_of(const lac_array *x, const lac_array *y, const lac_array *out, const int core[3],
                         int64_t size_x, int64_t size_y);

/// A buffer where kernels reach it; NULL gives an index without data.
lac_status cuda_index_of(lac_context *ctx, const lac_buffer *buffer, cuda_index *out);

/// A walk over A or A^T where kernels reach it.
lac_status cuda_rows_of(lac_context *ctx, const lac_pattern *pattern, bool transposed, cuda_rows *out);

// -- faults (fault.c) ------------------------------------------------------------------------------------------------

/// lac_backend.faults and lac_backend.share_faults; a board for a context, and its end.
lac_status cuda_faults(lac_context *ctx);
void cuda_share_faults(lac_context *ctx);
cudaError_t cuda_faults_open(cuda_data *data);
void cuda_faults_close(cuda_data *data);

/// What the kernels of a call leave about its values, on the device.
typedef struct cuda_found {
  const uint64_t *first;   // item * size + place of the first fault; all ones: there is none
  int64_t size, items;     // of the batch whose items are counted
  const double *number;    // what was found there; NULL: sentences do not name it
  const cuda_axes *joint;  // NULL, or how the items of the result lead to those: the first that leads there is named
} cuda_found;

/// The last launch of a call whose values may be at fault: where they are, x becomes NaN, and the fault is noted.
lac_status cuda_watch(lac_context *ctx, const lac_late *late, const cuda_found *found, lac_array *x);

// -- cuBLAS (arrays/cublas.c) ----------------------------------------------------------------------------------------

/// Let go of a context's handle, if it has one.
void cuda_cublas_close(lac_context *ctx);

// -- lines (lines.c) -------------------------------------------------------------------------------------------------

/// Whether the context's stream is captured, so that nothing may be waited for.
bool cuda_is_captured(lac_context *ctx);

/// The lengths of the lines between offsets. Where the longest is not known yet and the stream is captured, so that
/// nothing can be read, lines count as even.
lac_status cuda_lengths_of(lac_context *ctx, const lac_buffer *offsets, int64_t entries, cuda_lengths *out);

/// lac_structure_kernels.longest
lac_status cuda_longest(lac_context *ctx, const lac_buffer *offsets, lac_longest *out);

// -- the kernels that claims.def names, as in kernels/kernels.def ----------------------------------------------------

#define LAC_HAS(slot) lac_kernel_##slot cuda_##slot;
#define LAC_CLAIM(kind, name, dtypes, blocks)
#include "backends/cuda/claims.def"
#undef LAC_HAS
#undef LAC_CLAIM

lac_status cuda_copy(lac_context *ctx, const lac_array *from, lac_array *to);
lac_status cuda_fill(lac_context *ctx, lac_array *x, double real, double imag);

extern const lac_structure_kernels cuda_structure_kernels;  // structure.c
extern const lac_grid_kernels cuda_grid_kernels;            // grid/grid.c
extern const lac_pairwise_kernels cuda_pairwise_kernels;    // pairwise/pairwise.c

#endif

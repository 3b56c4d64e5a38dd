// SPDX-License-Identifier: Apache-2.0
/// @file structure_parts.h
/// The launchers of parts, pairs and stacks of patterns (structure_parts.c), by the rules of launch.h.

#ifndef LACUNA_BACKENDS_CUDA_STRUCTURE_PARTS_H
#define LACUNA_BACKENDS_CUDA_STRUCTURE_PARTS_H

#include "backends/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A pattern as kernels over entries have it: the row of each besides its columns.
typedef struct cuda_entries {
  int64_t rows, cols, count;
  cuda_index offsets, columns, rows_of;
} cuda_entries;

/// lac_window, with the other pattern where kernels reach it; other.data is NULL where there is none.
typedef struct cuda_window {
  int64_t row0, row1, col0, col1, k;
  int cuts_above, cuts_below;
  cuda_index other_offsets, other_columns;
} cuda_window;

/// kept[p] = how many entries up to p stay, p included. `scratch` has the bytes that cuda_slots_scratch says.
cudaError_t cuda_launch_keep(cudaStream_t stream, const cuda_entries *a, const cuda_window *w, cuda_integers kept,
                             void *scratch, size_t bytes);

/// From these counts: the slot of each entry or -1; and, unless columns.data is NULL, the row and the column of each
/// slot, counted from the window's first on.
cudaError_t cuda_launch_settle(cudaStream_t stream, const cuda_entries *a, const cuda_window *w, cuda_index kept,
                               cuda_integers target, cuda_integers rows_of, cuda_integers columns);

/// The Kronecker product of a and b: offsets, columns, and the slot of entry (p, q) at p nnz_b + q.
cudaError_t cuda_launch_kron(cudaStream_t stream, const cuda_entries *a, const cuda_entries *b, cuda_integers offsets,
                             cuda_integers columns, cuda_integers target);

/// length[i] += entries of row i.
cudaError_t cuda_launch_lengths(cudaStream_t stream, int64_t rows, cuda_index offsets, int64_t *length);

/// Entries of a to the next places of their rows, next[i], in columns from col0 on; and where they went, unless
/// target.data is NULL. The places move on with cuda_launch_lengths.
cudaError_t cuda_launch_stack(cudaStream_t stream, const cuda_entries *a, int64_t col0, const int64_t *next,
                              cuda_integers columns, cuda_integers target);

/// row * stride + col, or the row of what is on the diagonal and -1 elsewhere where the stride is 0.
cudaError_t cuda_launch_places(cudaStream_t stream, const cuda_entries *a, int64_t stride, cuda_integers out);

#ifdef __cplusplus
}
#endif
#endif

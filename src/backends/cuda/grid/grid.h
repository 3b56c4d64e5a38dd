// SPDX-License-Identifier: Apache-2.0
/// @file grid.h
/// The launchers of multigrid on a grid (kernels/grid.h), as C sees them.

#ifndef LACUNA_BACKENDS_CUDA_GRID_GRID_H
#define LACUNA_BACKENDS_CUDA_GRID_GRID_H

#include "backends/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A lac_grid: points, cells, numbers of a colour in a row of cells.
typedef struct cuda_grid {
  int64_t width, height, across, down, stride;
  int has_corners;
} cuda_grid;

/// What a look at all rows finds: the first row with an entry that leads elsewhere, or UINT64_MAX; whether entries lead
/// across corners.
typedef struct cuda_grid_look {
  unsigned long long stray, has_corners;
} cuda_grid_look;

/// *away: how far an entry of some rows, `step` apart, leads at most.
cudaError_t cuda_launch_grid_away(cudaStream_t stream, const cuda_rows *rows, int64_t step, unsigned long long *away);
cudaError_t cuda_launch_grid_look(cudaStream_t stream, const cuda_rows *rows, int64_t width, cuda_grid_look *out);

/// The set-up of a level; `rows` is NULL where the values are the planes of the level before.
typedef struct cuda_grid_setup {
  cuda_grid grid, next;
  int64_t items;
  int is_half;
  int is_whole;           // every neighbour is stored
  const cuda_rows *rows;  // on the host
  int64_t entries;        // of a matrix
  const void *values;
  const double *unit;            // [items, 2], or NULL
  void *planes, *weights, *out;  // planes (NULL: not wanted) and weights are zero
  unsigned long long *largest;   // the bits of the largest reciprocal of a diagonal entry, from zero on
} cuda_grid_setup;
cudaError_t cuda_launch_grid_setup(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_grid_setup *job);

/// Half a cycle: which operands are the caller's, in row order, says `scale`; without `has_next` the coarse ones are.
typedef struct cuda_grid_cycle {
  cuda_grid grid, next;
  int64_t items, columns;
  int is_half, transposes, conj, has_next;
  int64_t entries;      // of a matrix that has all neighbours,
  const void *values;   // read instead of planes, times
  const double *unit;   // [items, 2], or NULL
  const double *scale;  // [items, 2, columns], or NULL
  const void *planes, *weights, *b;
  void *x, *coarse, *z;
} cuda_grid_cycle;
cudaError_t cuda_launch_grid_descend(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_grid_cycle *job);
cudaError_t cuda_launch_grid_ascend(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_grid_cycle *job);

/// The same bits, sooner where a grid has few cells.
cudaError_t cuda_launch_grid_descend_small(cudaStream_t stream, lac_dtype wide, lac_dtype narrow,
                                           const cuda_grid_cycle *job);
cudaError_t cuda_launch_grid_ascend_small(cudaStream_t stream, lac_dtype wide, lac_dtype narrow,
                                          const cuda_grid_cycle *job);

#ifdef __cplusplus
}
#endif
#endif

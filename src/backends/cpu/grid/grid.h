// SPDX-License-Identifier: Apache-2.0
/// @file grid.h
/// What the loops of multigrid on a grid share: neighbours of colours, and jobs cut into rows of cells.

#ifndef LACUNA_BACKENDS_CPU_GRID_GRID_H
#define LACUNA_BACKENDS_CPU_GRID_GRID_H

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"
#include "kernels/grid.h"

/// The colour of a neighbour, and how many cells away its cell is.
typedef struct grid_neighbour {
  int colour, down, across;
} grid_neighbour;

static inline grid_neighbour grid_next_to(int colour, int direction) {
  int y = colour / 2 + direction / 3 - 1, x = colour % 2 + direction % 3 - 1;
  return (grid_neighbour){2 * (y & 1) + (x & 1), (y >> 1), (x >> 1)};
}

/// The direction in which a point lies whose number is larger by `away`; -1: it is no neighbour, wherever rows end.
static inline int grid_direction(int64_t width, int64_t away) {
  int64_t down = away < -1 ? -1 : away > 1 ? 1 : 0, across = away - down * width;
  return across >= -1 && across <= 1 ? (int)((down + 1) * 3 + across + 1) : -1;
}

static inline bool grid_is_corner(int direction) { return direction % 2 == 0 && direction != LAC_GRID_HERE; }

/// Directions of some neighbours: none, those along edges, those across corners, all.
typedef struct grid_reach {
  int count, directions[8];
} grid_reach;
extern const grid_reach grid_none, grid_edges, grid_corners, grid_both;

/// All neighbours that entries lead to.
static inline const grid_reach *grid_neighbours(const lac_grid *grid) {
  return grid->has_corners ? &grid_both : &grid_edges;
}

/// Rows of cells [begin, end) of one item and column, with room to work in.
typedef struct grid_range {
  int64_t item, column, begin, end;
  void *work;
} grid_range;

typedef void (*grid_part)(const void *job, const grid_range *range);

/// Cut the rows of cells of all items and columns among threads; each range has `bytes` to work in, which are zero.
/// What a part reads beyond its rows it computes again, so that no bit depends on how rows are cut.
lac_status grid_run(lac_context *ctx, int64_t items, int64_t columns, const lac_grid *grid, size_t bytes,
                    grid_part part, const void *job);

#define LAC_KERNEL(slot, parameters) lac_grid_##slot cpu_grid_##slot;
#include "kernels/grid.def"
#undef LAC_KERNEL

extern const lac_grid_kernels cpu_grid_kernels;

#endif

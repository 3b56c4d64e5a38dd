// SPDX-License-Identifier: Apache-2.0
/// @file grid_cycle_small.cu
/// The same halves of a cycle in tiles of one cell for each thread. More of a tile is margin, but a small grid is on
/// more multiprocessors, and a thread waits once for memory where it would wait for each of its cells.

#define GRID_TILE_X 32
#define GRID_TILE_Y 16
#define GRID_DESCEND cuda_launch_grid_descend_small
#define GRID_ASCEND cuda_launch_grid_ascend_small
#include "backends/cuda/grid/grid_cycle.cu"

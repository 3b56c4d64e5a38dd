// SPDX-License-Identifier: Apache-2.0
/// @file grid.h
/// The loops of multigrid on a rectangular grid, a table of its own that a backend may have (grid.def), and what they
/// walk.
///
/// The points of a grid, row by row, are the rows of the matrix; an entry leads to one of the eight neighbours. Four
/// points are a cell: those in even and odd rows and columns, the four colours. No two points of a colour are
/// neighbours, and the first of each cell is a point of the next grid. Numbers are kept by cells: those of a row of
/// cells one colour behind the other, so that each loop runs along numbers that lie side by side. A row of zeros lies
/// before the first row of cells and behind the last, and zeros at both ends of each row: neighbours beyond the edge
/// need no branch, nor do points that complete the last cells.
///
/// Numbers of a hierarchy have its dtype H, the same as the matrix's dtype T or that of half the bytes.

#ifndef LACUNA_KERNELS_GRID_H
#define LACUNA_KERNELS_GRID_H

#include "kernels/kernels.h"

/// The directions of neighbours, by (dy + 1) * 3 + dx + 1, and the colours of points, by 2 * (y % 2) + x % 2.
enum { LAC_GRID_HERE = 4, LAC_GRID_DIRECTIONS = 9, LAC_GRID_COLOURS = 4 };

/// Weights of interpolation that a cycle needs, for each cell: from the two ends to the point between them in an even
/// row, and from the four corners to the point in the middle. Points between in odd rows are relaxed first after it.
enum { LAC_GRID_WEST, LAC_GRID_EAST, LAC_GRID_CORNER, LAC_GRID_WEIGHTS = LAC_GRID_CORNER + 4 };

typedef struct lac_grid {
  int64_t width, height;  // points
  int64_t across, down;   // cells
  int64_t stride;         // numbers of a colour in a row of cells
  bool has_corners;       // entries lead to neighbours across corners too
} lac_grid;

static inline lac_grid lac_grid_make(int64_t width, int64_t height, bool has_corners) {
  int64_t across = (width + 1) / 2;
  return (lac_grid){width, height, across, (height + 1) / 2, (across + 2 + 15) / 16 * 16, has_corners};
}

/// The next grid.
static inline lac_grid lac_grid_next(const lac_grid *grid) { return lac_grid_make(grid->across, grid->down, true); }

/// Entries of a matrix that has all neighbours; those beyond the edges are not there.
static inline int64_t lac_grid_entries(const lac_grid *g) {
  int64_t edges = g->width * (g->height - 1) + g->height * (g->width - 1), corners = (g->width - 1) * (g->height - 1);
  return g->width * g->height + 2 * edges + (g->has_corners ? 4 * corners : 0);
}

/// Numbers of all points, and of one for each cell.
static inline int64_t lac_grid_cells(const lac_grid *grid) { return (grid->down + 2) * grid->stride; }
static inline int64_t lac_grid_room(const lac_grid *grid) { return LAC_GRID_COLOURS * lac_grid_cells(grid); }

/// Planes of a matrix: the reciprocals of the diagonal, then the entries of a direction each. A real symmetric matrix
/// has those of half the directions, since the others are found at the neighbour.
static inline int lac_grid_planes(bool has_corners, bool is_half) {
  return has_corners ? is_half ? 5 : 9 : is_half ? 3 : 5;
}

/// The plane of a direction, from 1 on.
static inline int lac_grid_plane(bool has_corners, int direction) {
  static const int five[] = {0, 4, 0, 3, 0, 1, 0, 2, 0}, nine[] = {7, 6, 8, 5, 0, 1, 4, 2, 3};
  return has_corners ? nine[direction] : five[direction];
}

/// A level as kernels walk it.
typedef struct lac_grid_level {
  lac_grid grid;
  bool is_half;
  lac_array *planes;   // [items, lac_grid_planes, lac_grid_room], H; NULL: they are read from
  lac_array *values;   // [items, nnz], T, times
  lac_array *unit;     // [items, 2, 1], the first of each item
  lac_array *weights;  // [items, LAC_GRID_WEIGHTS, lac_grid_cells], the reals of H
} lac_grid_level;

/// Which matrix a cycle is for: op(A) of the level's A.
typedef struct lac_grid_op {
  bool transposes, conjugates;
} lac_grid_op;

#define LAC_KERNEL(slot, parameters) typedef lac_status lac_grid_##slot parameters;
#include "kernels/grid.def"
#undef LAC_KERNEL

struct lac_grid_kernels {
#define LAC_KERNEL(slot, parameters) lac_grid_##slot *slot;
#include "kernels/grid.def"
#undef LAC_KERNEL
};

#endif

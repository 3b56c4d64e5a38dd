// SPDX-License-Identifier: Apache-2.0
/// @file grid_cycle.c
/// The two halves of a cycle on a grid, each in one walk over the rows of cells.
///
///     descend   a sweep from zero, rc = P^T (b - A x)
///     ascend    a sweep from x + P xc
///
/// A sweep relaxes the colours in the order oe, eo, oo, ee, oo, eo, oe, where ee has the points in even rows and even
/// columns, and so on: the same from both ends, so that a cycle is symmetric when A is. On a five-point matrix this is
/// Gauss-Seidel in black, red and black. From black to red alone, and back on the way up, would cost two thirds of that
/// and smooth half as much: the last colour of the way down is the first one of the way up.
///
/// The stages follow each other some rows apart, so that a row of cells is read from memory once for all of them. A
/// stage of points in odd rows reads the even row behind them, so it is one row of cells later than a stage of points
/// in even rows before it; otherwise stages are level. A part that begins in the middle of the grid begins four rows
/// earlier, in memory of its own: what it gets wrong for want of the rows before does not come as far as its own
/// rows.

#include "backends/cpu/grid/grid.h"

/// Rows of cells in hand, a power of two, and those that a part begins with before its own.
enum { CYCLE_ROWS = 8, CYCLE_AHEAD = 4 };

/// A colour, how many rows of cells behind the newest it is relaxed, and from which neighbours: those that are not zero
/// yet. `keeps`: the residual is asked for afterwards, and no later stage relaxes this colour.
typedef struct cycle_stage {
  int colour, lag;
  const grid_reach *reach;
  bool keeps;
} cycle_stage;

/// A sweep; row `last` behind the newest is finished.
typedef struct cycle_plan {
  int last, count;
  cycle_stage stages[7];
} cycle_plan;

/// By whether there are neighbours across corners. On the way up, the first stage reads the row behind.
static const cycle_plan cycle_down[2] = {{2,
                                          6,
                                          {{2, 0, &grid_none, false},
                                           {1, 0, &grid_none, false},
                                           {3, 1, &grid_edges, true},
                                           {0, 1, &grid_edges, true},
                                           {1, 1, &grid_edges, false},
                                           {2, 2, &grid_edges, false}}},
                                         {3,
                                          7,
                                          {{2, 0, &grid_none, false},
                                           {1, 0, &grid_corners, false},
                                           {3, 1, &grid_edges, false},
                                           {0, 1, &grid_both, true},
                                           {3, 2, &grid_both, true},
                                           {1, 2, &grid_both, true},
                                           {2, 3, &grid_both, false}}}};
static const cycle_plan cycle_up[2] = {{3,
                                        6,
                                        {{2, 1, &grid_edges, false},
                                         {1, 1, &grid_edges, false},
                                         {3, 2, &grid_edges, false},
                                         {0, 2, &grid_edges, false},
                                         {1, 2, &grid_edges, false},
                                         {2, 3, &grid_edges, false}}},
                                       {4,
                                        7,
                                        {{2, 1, &grid_both, false},
                                         {1, 1, &grid_both, false},
                                         {3, 2, &grid_both, false},
                                         {0, 2, &grid_both, false},
                                         {3, 3, &grid_both, false},
                                         {1, 3, &grid_both, false},
                                         {2, 4, &grid_both, false}}}};

/// Row `cell` of cells from points in row order, and back.
typedef void (*cycle_take)(const lac_grid *grid, int64_t cell, const void *numbers, int64_t step, double scale,
                           void *points);
typedef void (*cycle_give)(const lac_grid *grid, int64_t cell, const void *points, double scale, int64_t step,
                           void *numbers);

typedef struct cycle_operand {
  char *data;
  int64_t bytes;  // of an item, or of an item's column
  size_t number;
} cycle_operand;

typedef struct cycle_job {
  lac_grid grid, next;
  const cycle_plan *plan;
  bool is_half, transposes, is_last;  // `is_last`: the next grid is the coarsest, whose vectors are in row order
  double sign;                        // -1 conjugates
  int64_t columns;
  const double *scale;
  cycle_take take;  // NULL: b and z are kept by cells
  cycle_give give;
  cycle_operand planes, weights, b, x, z, coarse;
} cycle_job;

static void *cycle_item(cycle_operand o, const grid_range *range) { return o.data + o.bytes * range->item; }

static void *cycle_vector(const cycle_job *j, cycle_operand o, const grid_range *range) {
  return o.data ? o.data + o.bytes * (range->item * j->columns + range->column) : NULL;
}

/// A column of the caller's numbers, which are [items, n, k].
static void *cycle_caller(const cycle_job *j, cycle_operand o, const grid_range *range) {
  return o.data + o.bytes * j->columns * range->item + (int64_t)o.number * range->column;
}

/// The next grid's vector; that of the coarsest is read and written with its column.
static void *cycle_coarse(const cycle_job *j, const grid_range *range) {
  return j->is_last ? j->coarse.data + j->coarse.bytes * j->columns * range->item : cycle_vector(j, j->coarse, range);
}

static double cycle_scale(const cycle_job *j, const grid_range *range, int which) {
  return j->scale[(2 * range->item + which) * j->columns + range->column];
}

/// A row of cells, from its first number on.
static size_t cycle_row_bytes(const cycle_job *j, size_t number) {
  return (size_t)(LAC_GRID_COLOURS * j->grid.stride - 1) * number;
}

#define KERNEL_FILE "backends/cpu/grid/grid_cycle_kernel.h"
#include "backends/cpu/base/instantiate.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/grid/grid_points_kernel.h"
#include "backends/cpu/pairwise/pairwise_pairs.h"

static const grid_part descends[4] = TABLE(descend), ascends[4] = TABLE(ascend);
static const cycle_take takes[4][2] = TABLE_PAIRS(take_points);
static const cycle_give gives[4][2] = TABLE_PAIRS(give_points);

/// An array of `vectors` for each item.
static cycle_operand operand(const lac_array *x, int64_t vectors) {
  int64_t count = x->meta.shape[0] * vectors;
  size_t number = lac_dtype_size(x->meta.dtype);
  return (cycle_operand){x->storage->data, count ? x->count / count * (int64_t)number : 0, number};
}

static lac_status run(lac_context *ctx, cycle_job *job, const lac_grid_level *level, lac_grid_op op,
                      const lac_array *scale, const lac_array *b, const cycle_plan *plans, const grid_part *parts) {
  lac_dtype narrow = level->planes->meta.dtype, wide = b->meta.dtype;
  int64_t rows = 3 * CYCLE_ROWS * LAC_GRID_COLOURS + 4;
  job->plan = &plans[level->grid.has_corners];
  job->grid = level->grid;
  job->is_half = level->is_half;
  job->transposes = op.transposes;
  job->sign = op.conjugates ? -1 : 1;
  job->planes = operand(level->planes, 1);
  job->weights = operand(level->weights, 1);
  job->scale = scale ? cpu_data(scale) : NULL;
  job->take = scale ? takes[wide][wide != narrow] : NULL;
  job->give = scale ? gives[wide][wide != narrow] : NULL;
  return grid_run(ctx, level->planes->meta.shape[0], job->columns, &level->grid,
                  (size_t)(rows * level->grid.stride) * lac_dtype_size(narrow), parts[narrow], job);
}

lac_status cpu_grid_descended(lac_context *ctx, const lac_grid_level *level, lac_grid_op op, const lac_array *scale,
                              const lac_array *b, lac_array *x, const lac_grid *next, lac_array *rc) {
  int64_t k = x->meta.shape[1];
  cycle_job job = {.columns = k, .is_last = !next, .b = operand(b, k), .x = operand(x, k), .coarse = operand(rc, k)};
  if (next) job.next = *next;
  return run(ctx, &job, level, op, scale, b, cycle_down, descends);
}

lac_status cpu_grid_ascended(lac_context *ctx, const lac_grid_level *level, lac_grid_op op, const lac_array *scale,
                             const lac_array *b, const lac_array *x, const lac_grid *next, const lac_array *xc,
                             lac_array *z) {
  int64_t k = x->meta.shape[1];
  cycle_job job = {.columns = k,
                   .is_last = !next,
                   .b = operand(b, k),
                   .x = operand(x, k),
                   .z = operand(z, k),
                   .coarse = operand(xc, k)};
  if (next) job.next = *next;
  return run(ctx, &job, level, op, scale, b, cycle_up, ascends);
}

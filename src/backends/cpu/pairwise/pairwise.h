// SPDX-License-Identifier: Apache-2.0
/// @file pairwise.h
/// What the loops of multigrid share: a job, cut into blocks of rows that do not depend on the number of threads.

#ifndef LACUNA_BACKENDS_CPU_PAIRWISE_PAIRWISE_H
#define LACUNA_BACKENDS_CPU_PAIRWISE_PAIRWISE_H

#include "backends/cpu/base/cpu.h"
#include "kernels/pairwise.h"

enum { GRID_BLOCK = 2048 };            // rows: sums are taken block by block
enum { GRID_COLUMNS = 8 };             // that are worked on at once
enum { GRID_CACHED_BYTES = 4 << 20 };  // values that need no prefetch
enum { GRID_AHEAD = 256 };             // entries by which a matrix beyond the caches is prefetched

_Static_assert(GRID_BLOCK % LAC_SLICE == 0, "blocks of rows begin with a slice");

/// How the entries of rows are found: one behind the other, through slots, in slices.
enum { GRID_ROWS, GRID_SLOTS, GRID_SLICES };

/// All that a kernel reads and writes, of one item of the batch.
typedef struct grid_job {
  const void *offsets, *columns, *slots;
  const void *values, *weights, *next_weights;
  const int32_t *starts, *members, *aggregates;
  const int32_t *slice_starts, *firsts, *lists;
  int64_t rows, k;  // rows are cut: those of the coarse level where aggregates are walked
  double sign;      // -1 conjugates values and weights
  double unit;
  const double *in_scale, *out_scale;
  const void *b, *x, *c, *d, *steps;
  void *y, *z, *sums;
  bool of_image;
  int way;  // GRID_ROWS, ...
  bool is_ragged;
  bool asks;  // for what comes next: the matrix is beyond the caches
} grid_job;

typedef void (*grid_rows)(const grid_job *job, int64_t begin, int64_t end);

/// A job for each item. `bytes` of an item, for the pointers in the order of grid_pointers.
enum {
  GRID_VALUES,
  GRID_WEIGHTS,
  GRID_NEXT_WEIGHTS,
  GRID_IN_SCALE,
  GRID_OUT_SCALE,
  GRID_B,
  GRID_X,
  GRID_C,
  GRID_D,
  GRID_STEPS,
  GRID_Y,
  GRID_Z,
  GRID_POINTERS
};
typedef struct grid_jobs {
  grid_job job;  // of the first item
  grid_rows kernel;
  int64_t items, blocks;
  int64_t bytes[GRID_POINTERS];
  const double *unit;
  char *partial;  // sums of each block
  int64_t partial_bytes;
} grid_jobs;

/// Of an array [items, ...]: where it begins, and the bytes of an item into `bytes`.
const void *grid_operand(grid_jobs *jobs, int which, const lac_array *x);

/// Take over the matrix, weights and scales of a level.
lac_status grid_jobs_level(lac_context *ctx, grid_jobs *jobs, const lac_level_view *level);

/// Run all blocks; `work` decides on threads.
void grid_jobs_run(lac_context *ctx, grid_jobs *jobs, int64_t work);

/// rc = P^T r and xc = weights rc
void cpu_pairwise_collected(lac_context *ctx, const lac_aggregation *aggregation, const lac_array *weights,
                            bool conjugates, const lac_array *r, lac_array *rc, lac_array *xc);

#define LAC_KERNEL(slot, parameters) lac_pairwise_##slot cpu_pairwise_##slot;
#include "kernels/pairwise.def"
#undef LAC_KERNEL

extern const lac_pairwise_kernels cpu_pairwise_kernels;

#endif

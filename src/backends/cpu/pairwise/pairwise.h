// SPDX-License-Identifier: Apache-2.0
/// @file pairwise.h
/// What the loops of multigrid share: a job, cut into blocks of rows that do not depend on the number of threads.

#ifndef LACUNA_BACKENDS_CPU_PAIRWISE_PAIRWISE_H
#define LACUNA_BACKENDS_CPU_PAIRWISE_PAIRWISE_H

#include "backends/cpu/base/cpu.h"
#include "kernels/pairwise.h"

enum { LEVEL_BLOCK = 2048 };            // rows: sums are taken block by block
enum { LEVEL_COLUMNS = 8 };             // that are worked on at once
enum { LEVEL_CACHED_BYTES = 4 << 20 };  // values that need no prefetch
enum { LEVEL_AHEAD = 256 };             // entries by which a matrix beyond the caches is prefetched

_Static_assert(LEVEL_BLOCK % LAC_SLICE == 0, "blocks of rows begin with a slice");

/// How the entries of rows are found: one behind the other, through slots, in slices.
enum { LEVEL_ROWS, LEVEL_SLOTS, LEVEL_SLICES };

/// All that a kernel reads and writes, of one item of the batch.
typedef struct level_job {
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
  int way;  // LEVEL_ROWS, ...
  bool is_ragged;
  bool asks;  // for what comes next: the matrix is beyond the caches
} level_job;

typedef void (*level_rows)(const level_job *job, int64_t begin, int64_t end);

/// A job for each item. `bytes` of an item, for the pointers in the order of level_pointers.
enum {
  LEVEL_VALUES,
  LEVEL_WEIGHTS,
  LEVEL_NEXT_WEIGHTS,
  LEVEL_IN_SCALE,
  LEVEL_OUT_SCALE,
  LEVEL_B,
  LEVEL_X,
  LEVEL_C,
  LEVEL_D,
  LEVEL_STEPS,
  LEVEL_Y,
  LEVEL_Z,
  LEVEL_POINTERS
};
typedef struct level_jobs {
  level_job job;  // of the first item
  level_rows kernel;
  int64_t items, blocks;
  int64_t bytes[LEVEL_POINTERS];
  const double *unit;
  char *partial;  // sums of each block
  int64_t partial_bytes;
} level_jobs;

/// Of an array [items, ...]: where it begins, and the bytes of an item into `bytes`.
const void *level_operand(level_jobs *jobs, int which, const lac_array *x);

/// Take over the matrix, weights and scales of a level.
lac_status level_jobs_level(lac_context *ctx, level_jobs *jobs, const lac_level_view *level);

/// Run all blocks; `work` decides on threads.
void level_jobs_run(lac_context *ctx, level_jobs *jobs, int64_t work);

/// rc = P^T r and xc = weights rc
void cpu_pairwise_collected(lac_context *ctx, const lac_aggregation *aggregation, const lac_array *weights,
                            bool conjugates, const lac_array *r, lac_array *rc, lac_array *xc);

#define LAC_KERNEL(slot, parameters) lac_pairwise_##slot cpu_pairwise_##slot;
#include "kernels/pairwise.def"
#undef LAC_KERNEL

extern const lac_pairwise_kernels cpu_pairwise_kernels;

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file reduce.h
/// How a reduction over axes is cut into blocks, which does not depend on the number of threads.

#ifndef LACUNA_BACKENDS_CPU_ARRAYS_REDUCE_H
#define LACUNA_BACKENDS_CPU_ARRAYS_REDUCE_H

#include "backends/cpu/base/cpu.h"

enum { REDUCE_BLOCK = 4096, REDUCE_TILE = 256 };

/// Some dimensions of an array: how many places they have, and where each stands.
typedef struct axes {
  int ndim;
  int64_t count;
  int64_t shape[LAC_MAX_DIMS], stride[LAC_MAX_DIMS];
} axes;

static inline int64_t axes_offset(const axes *a, int64_t place) {
  int64_t offset = 0;
  for (int d = a->ndim - 1; d > 0; --d) {
    offset += place % a->shape[d] * a->stride[d];
    place /= a->shape[d];
  }
  return a->ndim ? offset + place * a->stride[0] : 0;
}

typedef struct sum_job {
  const void *x;
  void *partial;
  axes kept, summed;  // but for the innermost dimension
  int64_t inner;
  bool is_along;   // the innermost dimension is summed
  int64_t blocks;  // of each output (or row of outputs)
  int64_t pieces;  // into which a run of `inner` numbers is cut
  int64_t runs;    // in a block
  int64_t tiles;   // into which a row of outputs is cut
} sum_job;

/// The blocks of a reduction of x, which is not empty, over the axes of a mask.
sum_job cpu_sum_plan(const lac_array *x, uint32_t mask);

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file fault.h
/// How kernels tell the host of a fault: by a board in memory of the host, to which they write.
///
/// Each word has one writer: kernels count what they raise, the host what it has seen, and neither waits for the other.
/// A fault is there while the counts differ; it stays until the host has seen it, and others are dropped.

#ifndef LACUNA_BACKENDS_CUDA_FAULT_H
#define LACUNA_BACKENDS_CUDA_FAULT_H

#include "backends/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The fault itself: addresses of the host, which kernels only carry, and what lac_value_fault says.
typedef struct cuda_note {
  uint64_t say, who;
  int64_t item, place, items;
  double number;
} cuda_note;

typedef struct cuda_board {
  uint64_t lock;    // among kernels
  uint64_t raised;  // written by kernels
  uint64_t seen;    // written by the host
  cuda_note note;   // written by kernels while the counts are equal
} cuda_board;

/// A launch that a graph repeats belongs to no count.
#define CUDA_FAULT_EVER UINT64_MAX

typedef struct cuda_fault_job {
  const uint64_t *first;  // as cuda_found has these
  int64_t size;
  const double *number;
  cuda_index names;  // data is NULL: places are called by their numbers
  cuda_axes joint;   // count is 0: there is none
  cuda_board *board;
  uint64_t since;  // what was seen when the call was made: later the fault is no news
  cuda_note note;  // say, who, items
} cuda_fault_job;

/// Where first names a fault: `reals` numbers of x become NaN, and the fault is noted.
cudaError_t cuda_launch_fault(cudaStream_t stream, const cuda_fault_job *job, int is_single, int64_t reals, void *x);

#ifdef __cplusplus
}
#endif
#endif

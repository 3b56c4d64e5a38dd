// SPDX-License-Identifier: Apache-2.0
/// @file groups.h
/// The launchers of kernels over the groups of a map, as launch.h has those of the rest.

#ifndef LACUNA_BACKENDS_CUDA_GROUPS_GROUPS_H
#define LACUNA_BACKENDS_CUDA_GROUPS_GROUPS_H

#include "backends/cuda/launch.h"
#include "backends/cuda/lines.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A map as kernels take it: the target of each input, -1 where it is dropped, and the sources of each output; sources
/// without data: group j is the inputs offsets[j], offsets[j] + 1, ... themselves. All integers are of one type.
typedef struct cuda_groups {
  int64_t inputs, outputs;
  cuda_lengths lengths;
  cuda_index target, offsets, sources;
} cuda_groups;

/// y[b, i] = sum over `summed` of d[target i] a[i], or 0 where the target is -1. `batch` leads through d and a.
cudaError_t cuda_launch_segment_scale(cudaStream_t stream, lac_dtype dtype, const cuda_groups *g,
                                      const cuda_batch *batch, const void *d, const void *a, void *y);

/// s[b, j] = sum over the sources i of j, and over `summed`, of u[i] conj(v[i]), in f64. `scratch` has the bytes that
/// cuda_segment_dot_scratch says (0: it may be NULL).
size_t cuda_segment_dot_scratch(lac_dtype dtype, const cuda_groups *g, int64_t items);
cudaError_t cuda_launch_segment_dot(cudaStream_t stream, lac_dtype dtype, const cuda_groups *g, const cuda_batch *batch,
                                    const void *u, const void *v, void *scratch, void *s);

/// What `segment` makes of a group: one number, or one of each input.
typedef enum cuda_reduction { CUDA_LOGSUMEXP, CUDA_SOFTMAX, CUDA_EXTREME, CUDA_TIES } cuda_reduction;

/// A reduction of reals [items, inputs]; `full` as in kernels.def, sign -1 turns max into min. Inputs that are dropped
/// get 0. `scratch` has the bytes that cuda_segment_scratch says (0: it may be NULL).
typedef struct cuda_segment_job {
  cuda_reduction what;
  cuda_groups groups;
  int64_t items, full;
  int sign;
} cuda_segment_job;
size_t cuda_segment_scratch(lac_dtype dtype, const cuda_segment_job *job);
cudaError_t cuda_launch_segment(cudaStream_t stream, lac_dtype dtype, const cuda_segment_job *job, const void *x,
                                void *scratch, void *y);

/// Matrices [outputs, d, e]. `batch` leads through the operands.
typedef struct cuda_gather {
  cuda_groups groups;
  cuda_batch batch;
  int64_t d, e;
} cuda_gather;

/// y[b, i, :] = sum over `summed` of a[i, :] op(b[target i]); op turns its matrix round, or conjugates it.
cudaError_t cuda_launch_gather_mm(cudaStream_t stream, lac_dtype dtype, const cuda_gather *g, int turned, int conj,
                                  const void *a, const void *b, void *y);

/// w[b, j, :, :] = sum over the sources i of j, and over `summed`, of conj(u[i, :])^T v[i, :], in f64. `scratch` has
/// the bytes that cuda_gather_outer_scratch says (0: it may be NULL).
size_t cuda_gather_outer_scratch(lac_dtype dtype, const cuda_gather *g);
cudaError_t cuda_launch_gather_outer(cudaStream_t stream, lac_dtype dtype, const cuda_gather *g, const void *u,
                                     const void *v, void *scratch, void *w);

#ifdef __cplusplus
}
#endif
#endif

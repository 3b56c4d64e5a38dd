// SPDX-License-Identifier: Apache-2.0
/// @file states.cuh
/// States of reductions (kernels/states.h) on the device: how a thread takes terms in one pass, and a group joins.

#ifndef LACUNA_BACKENDS_CUDA_ARRAYS_STATES_CUH
#define LACUNA_BACKENDS_CUDA_ARRAYS_STATES_CUH

#ifndef LAC_DEVICE
#define LAC_DEVICE __device__
#endif
#define LAC_STATE_EXP(x) exp(x)

#include "backends/cuda/arrays/functions.cuh"
#include "backends/cuda/arrays/reduction.cuh"
#include "kernels/states.h"

namespace lac_cuda {

/// The larger of two in their own precision; a NaN is larger.
template <class R>
__device__ R larger(R a, R b) {
  return a > b || a != a ? a : b;
}

// -- one thread ------------------------------------------------------------------------------------------------------

/// What a thread keeps while it takes terms.
template <lac_reduction OP, class T>
struct Taken;

template <class R>
struct Taken<LAC_REDUCE_MAX, R> {
  R most = -static_cast<R>(INFINITY);
  __device__ void take(R x) { most = larger(most, x); }
  __device__ lac_state state() const { return lac_state_of(most, 0); }
};

template <class R>
struct Taken<LAC_REDUCE_MIN, R> {
  R most = -static_cast<R>(INFINITY);
  __device__ void take(R x) { most = larger(most, -x); }
  __device__ lac_state state() const { return lac_state_of(most, 0); }
};

/// One exponential for each term: of x - most, or, where x is the largest yet, of most - x for the terms before.
template <class R>
struct Taken<LAC_REDUCE_LOGSUMEXP, R> {
  R most = -static_cast<R>(INFINITY);
  double total = 0;
  __device__ void take(R x) {
    bool is_larger = x > most || x != x;
    R e = exp_of(x == most ? R(0) : is_larger ? most - x : x - most);
    total = is_larger ? fma(total, static_cast<double>(e), 1.0) : total + e;
    most = is_larger ? x : most;
  }
  __device__ lac_state state() const { return lac_state_of(most, total); }
};

/// Squares of floats fit into doubles as they are: they have the unit 1.
template <>
struct Taken<LAC_REDUCE_NORM, float> {
  double total = 0;
  __device__ void take(float x) { total = fma(static_cast<double>(x), static_cast<double>(x), total); }
  __device__ lac_state state() const { return lac_state_of(1, total); }
};

/// Squares of doubles have the unit of the largest yet.
template <>
struct Taken<LAC_REDUCE_NORM, double> {
  double most = 0, inverse = 0, total = 0;
  __device__ void take(double x) {
    double size = fabs(x);
    if (!(size <= most)) grow(size);
    double r = size * inverse;
    total = fma(r, r, total);
  }
  __device__ void grow(double size) {
    double before = most;
    most = lac_larger(before, lac_state_most(LAC_REDUCE_NORM, size));
    if (most == before) return;  // sizes beyond the largest unit
    inverse = 1 / most;
    double r = before * inverse;
    total *= r * r;
  }
  __device__ lac_state state() const { return lac_state_of(most, total); }
};

/// Both parts; a number with an infinite part is infinite, whatever the other is.
template <class R>
struct Taken<LAC_REDUCE_NORM, Complex<R>> {
  Taken<LAC_REDUCE_NORM, R> parts;
  __device__ void take(Complex<R> z) {
    bool is_infinite = isinf(z.re) || isinf(z.im);
    parts.take(is_infinite ? static_cast<R>(INFINITY) : z.re);
    parts.take(is_infinite ? R(0) : z.im);
  }
  __device__ lac_state state() const { return parts.state(); }
};

// -- a group ---------------------------------------------------------------------------------------------------------

/// The largest of a group, which all its threads have.
template <int G, class R>
__device__ R group_larger(R most) {
  constexpr int LANES = G < 32 ? G : 32;
#pragma unroll
  for (int d = LANES / 2; d > 0; d /= 2) most = larger(most, __shfl_xor_sync(0xffffffffu, most, d, LANES));
  if constexpr (G == BLOCK) {
    __shared__ R parts[BLOCK / 32];
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = most;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < BLOCK / 32; ++w) most = larger(most, parts[w]);
    __syncthreads();
  }
  return most;
}

/// The joint state of a group; its first thread has it.
template <int G>
__device__ lac_state fold_states(lac_reduction op, lac_state s) {
  double most = group_larger<G>(s.most);
  if (op == LAC_REDUCE_MAX || op == LAC_REDUCE_MIN) return lac_state_of(most, 0);
  return lac_state_of(most, fold<G>(lac_state_rescaled(op, s, most)));
}

}  // namespace lac_cuda

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file softmax.cu
/// Softmax of reals:
///
///     y_i = exp(x_i - most) / total          most and total over the numbers that belong together
///
/// Rows that fit into the registers of a group of threads are read once. For others the states come from states.cu, and
/// x is read twice.

#include "backends/cuda/arrays/spans.cuh"
#include "backends/cuda/arrays/states.cuh"

using namespace lac_cuda;

namespace {

/// exp(x - most), which is 1 for the largest itself, also where it is infinite.
template <class R>
__device__ R term(R x, R most) {
  return exp_of(x == most ? R(0) : x - most);
}

/// 0 where all is -inf.
template <class R>
__device__ R share(R e, R most, R total) {
  return most == -static_cast<R>(INFINITY) ? R(0) : e / total;
}

/// What the first thread of a group has, for all of it.
template <int G, class R>
__device__ R first_of_group(R x) {
  if constexpr (G < BLOCK) {
    return __shfl_sync(0xffffffffu, x, 0, G);
  } else {
    __shared__ R shared;
    if (threadIdx.x == 0) shared = x;
    __syncthreads();
    x = shared;
    __syncthreads();
    return x;
  }
}

/// A group of G threads takes a row of up to G * PACKS * V numbers.
template <int G, int PACKS, class R>
__global__ void __launch_bounds__(BLOCK) rows_softmax(int64_t rows, int64_t n, const R *x, R *y, bool is_wide) {
  constexpr int V = wide_pack<R>();
  Groups<G> groups;
  for (int64_t row = groups.first; groups.warp(row) < rows; row += groups.step) {
    int64_t length = row < rows ? n : 0, begin = row * n;
    Pack<R, V> pack[PACKS];
    R most = -static_cast<R>(INFINITY);
    double total = 0;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
      int64_t at = static_cast<int64_t>(p * G + groups.lane) * V;
      pack[p] = take_terms<V>(x + begin + at, length - at, is_wide);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        if (v < length - at) most = larger(most, pack[p].at[v]);
      }
    }
    most = group_larger<G>(most);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
      int64_t at = static_cast<int64_t>(p * G + groups.lane) * V;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        pack[p].at[v] = term(pack[p].at[v], most);
        if (v < length - at) total += pack[p].at[v];
      }
    }
    R whole = static_cast<R>(first_of_group<G>(fold<G>(total)));
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
      int64_t at = static_cast<int64_t>(p * G + groups.lane) * V;
      if (at >= length) continue;
#pragma unroll
      for (int v = 0; v < V; ++v) pack[p].at[v] = share(pack[p].at[v], most, whole);
      put(y + begin, at, is_wide, length - at < V ? static_cast<int>(length - at) : V, pack[p]);
    }
  }
}

template <int G, int PACKS, class R>
cudaError_t start_rows(cudaStream_t stream, int64_t rows, int64_t n, const R *x, R *y) {
  bool is_wide = is_aligned(x) && is_aligned(y) && n % wide_pack<R>() == 0;
  return launch(rows_softmax<G, PACKS, R>, dim3(blocks(ceil_div(rows, BLOCK / G), MAX_X)), stream, rows, n, x, y,
                is_wide);
}

template <class R>
cudaError_t start_rows_of(cudaStream_t stream, int64_t rows, int64_t n, const R *x, R *y) {
  int64_t packs = ceil_div(n, wide_pack<R>());
  if (packs <= 8) return start_rows<8, 1, R>(stream, rows, n, x, y);
  if (packs <= 32) return start_rows<32, 1, R>(stream, rows, n, x, y);
  if (packs <= 4 * 32) return start_rows<32, 4, R>(stream, rows, n, x, y);
  if (packs <= 2 * BLOCK) return start_rows<BLOCK, 2, R>(stream, rows, n, x, y);
  return start_rows<BLOCK, 8, R>(stream, rows, n, x, y);
}

/// By states that are there. x runs along with y.
template <class R>
__global__ void __launch_bounds__(BLOCK)
    shares(const __grid_constant__ Walk walk, const R *x, const lac_state *states, R *y) {
  constexpr int V = wide_pack<R>();
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < walk.count; i += step) {
    Span<2> span = span_at<V, 2>(walk, i);
    Pack<R, V> pack = take<V>(x, span.in[0], 1, walk.is_wide[0], span.length);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (v >= span.length) continue;
      lac_state s = states[span.in[1] + v * walk.step[1]];
      R most = static_cast<R>(s.most);
      pack.at[v] = share(term(pack.at[v], most), most, static_cast<R>(s.total));
    }
    put(y, span.out, walk.is_wide_out, span.length, pack);
  }
}

template <class R>
cudaError_t start_shares(cudaStream_t stream, const lac_loop &loop, const void *x, const lac_state *states, R *y) {
  const void *const operands[] = {x, states, nullptr};
  Walk walk = walk_of(loop, wide_pack<R>(), operands, y);
  if (walk.count == 0) return cudaSuccess;
  return launch(shares<R>, dim3(blocks(ceil_div(walk.count, BLOCK), MAX_X)), stream, walk, static_cast<const R *>(x),
                states, y);
}

}  // namespace

int64_t cuda_softmax_longest(lac_dtype dtype) { return 8 * BLOCK * (dtype == LAC_F32 ? 4 : 2); }

cudaError_t cuda_launch_softmax_rows(cudaStream_t stream, lac_dtype dtype, int64_t rows, int64_t n, const void *x,
                                     void *y) {
  if (rows == 0 || n == 0) return cudaSuccess;
  if (dtype == LAC_F32)
    return start_rows_of<float>(stream, rows, n, static_cast<const float *>(x), static_cast<float *>(y));
  return start_rows_of<double>(stream, rows, n, static_cast<const double *>(x), static_cast<double *>(y));
}

cudaError_t cuda_launch_softmax(cudaStream_t stream, lac_dtype dtype, const lac_loop *loop, const void *x,
                                const void *states, void *y) {
  const lac_state *from = static_cast<const lac_state *>(states);
  return dtype == LAC_F32 ? start_shares<float>(stream, *loop, x, from, static_cast<float *>(y))
                          : start_shares<double>(stream, *loop, x, from, static_cast<double *>(y));
}

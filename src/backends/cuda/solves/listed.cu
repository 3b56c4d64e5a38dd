// SPDX-License-Identifier: Apache-2.0
/// @file listed.cu
/// Elimination and substitution by lists (kernels/listed.h): a block of threads to a matrix, a warp to a chunk.
///
/// What a chunk begins with is on its way while the one before it is worked on: lists do not depend on numbers. The
/// entries of L\U are in shared memory where they fit; unknowns always are.

#include "backends/cuda/access.cuh"
#include "backends/cuda/solves/quotient.cuh"
#include "backends/cuda/solves/solves.h"

using namespace lac_cuda;

namespace {

/// What a warp knows of a chunk before it begins: its steps, and each lane's task.
struct Head {
  int begin, end, lanes, target, over;
};

__device__ Head head_of(const cuda_worklist &w, int chunk, int lane) {
  return {load_constant(w.base + chunk), load_constant(w.base + chunk + 1), load_constant(w.lanes + chunk),
          load_constant(w.target + 32 * static_cast<int64_t>(chunk) + lane),
          load_constant(w.over + 32 * static_cast<int64_t>(chunk) + lane)};
}

/// P: two numbers of 16 or of 32 bits in one.
__device__ unsigned left_of(uint32_t pair) { return pair & 0xffffu; }
__device__ unsigned right_of(uint32_t pair) { return pair >> 16; }
__device__ unsigned left_of(uint64_t pair) { return static_cast<unsigned>(pair); }
__device__ unsigned right_of(uint64_t pair) { return static_cast<unsigned>(pair >> 32); }

/// The sums of a chunk's lanes, for K columns.
template <class P, int K, class T>
__device__ void add_up(const P *pairs, Head head, int lane, int conj, const T *f, const T *y, T (&sum)[K]) {
#pragma unroll
  for (int c = 0; c < K; ++c) sum[c] = zero<T>();
  const P *at = pairs + 32 * static_cast<int64_t>(head.begin) + lane;
#pragma unroll 4
  for (int step = head.begin; step < head.end; ++step, at += 32) {
    const P pair = load_constant(at);
    const T l = conj_if(conj, f[left_of(pair)]);
#pragma unroll
    for (int c = 0; c < K; ++c) sum[c] = take_off(sum[c], l, y[right_of(pair) * K + c]);
  }
}

/// The sums of lanes that share a task, in its first lane; then y.
template <int K, class T>
__device__ void finish(Head head, int conj, const T *f, T *y, T (&sum)[K]) {
  for (int d = head.lanes / 2; d > 0; d /= 2) {
#pragma unroll
    for (int c = 0; c < K; ++c) sum[c] = sum[c] + shift_down(sum[c], d, 32);
  }
  if (head.target < 0) return;
#pragma unroll
  for (int c = 0; c < K; ++c) {
    const T left = y[head.target * K + c] + sum[c];
    y[head.target * K + c] = head.over < 0 ? left : quotient(left, conj_if(conj, f[head.over]));
  }
}

template <class P, int K, class T>
__device__ void work(const cuda_worklist &w, int conj, const T *f, T *y) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const P *pairs = static_cast<const P *>(w.pairs);
  if (w.levels == 0) return;
  int first = 0, end = load_constant(w.level + 1);
  Head next = {};
  if (warp < end) next = head_of(w, warp, lane);
  for (int level = 0; level < w.levels; ++level) {
    const int after = level + 2 <= w.levels ? load_constant(w.level + level + 2) : end;
    for (int chunk = first + warp; chunk < end; chunk += warps) {
      const Head head = next;
      const int following = chunk + warps < end ? chunk + warps : end + warp;
      if (following < after || chunk + warps < end) next = head_of(w, following, lane);
      T sum[K];
      add_up<P, K>(pairs, head, lane, conj, f, y, sum);
      finish<K>(head, conj, f, y, sum);
    }
    if (first + warp >= end && end + warp < after) next = head_of(w, end + warp, lane);
    first = end, end = after;
    __syncthreads();
  }
}

/// The smallest pivot over the largest, 0 where one is not finite, in thread 0.
template <class T>
__device__ double share_of(const cuda_listed_job &job, const T *f) {
  __shared__ double least[32], most[32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  double smallest = INFINITY, largest = 0;
  for (int i = static_cast<int>(threadIdx.x); i < job.n; i += static_cast<int>(blockDim.x)) {
    double size = size_of(f[load_constant(job.diagonal + i)]);
    if (!(size < INFINITY)) size = 0;  // it says no more than a zero
    smallest = fmin(smallest, size), largest = fmax(largest, size);
  }
  for (int d = 16; d > 0; d /= 2) {
    smallest = fmin(smallest, shift_down(smallest, d, 32)), largest = fmax(largest, shift_down(largest, d, 32));
  }
  if (lane == 0) least[warp] = smallest, most[warp] = largest;
  __syncthreads();
  if (threadIdx.x != 0) return 0;
  for (int i = 1; i < static_cast<int>(blockDim.x) / 32; ++i) {
    smallest = fmin(smallest, least[i]), largest = fmax(largest, most[i]);
  }
  return largest > 0 ? smallest / largest : 0;
}

extern __shared__ __align__(16) unsigned char listed_memory[];

template <class P, bool IS_SHARED, class T>
__global__ void __launch_bounds__(CUDA_LISTED_THREADS) listed_factor(const __grid_constant__ cuda_listed_job job) {
  const int64_t item = blockIdx.x;
  const int stride = static_cast<int>(blockDim.x);
  const T *a = static_cast<const T *>(job.a) + item * job.nnz;
  T *out = static_cast<T *>(job.out) + item * (job.entries + 1);
  T *f = IS_SHARED ? reinterpret_cast<T *>(listed_memory) : out;
  for (int e = static_cast<int>(threadIdx.x); e < job.entries; e += stride) {
    const int slot = load_constant(job.source + e);
    f[e] = slot < 0 ? zero<T>() : load_constant(a + slot);
  }
  if (threadIdx.x == 0) f[job.entries] = zero<T>();
  __syncthreads();
  work<P, 1>(job.first, 0, f, f);
  const double share = share_of(job, f);
  if (threadIdx.x == 0) job.share[item] = share;
  for (int e = static_cast<int>(threadIdx.x); IS_SHARED && e <= job.entries; e += stride) out[e] = f[e];
}

template <class P, int K, class T>
__global__ void __launch_bounds__(CUDA_LISTED_THREADS) listed_solve(const __grid_constant__ cuda_listed_job job) {
  const int64_t item = blockIdx.x, at = item * job.n * job.k;
  const int stride = static_cast<int>(blockDim.x);
  const T *f = static_cast<const T *>(job.a) + locate(job.batch.kept, item).x;
  T *y = reinterpret_cast<T *>(listed_memory);
  for (int64_t column = static_cast<int64_t>(blockIdx.y) * K; column < job.k; column += gridDim.y * K) {
    const T *b = static_cast<const T *>(job.b) + at + column;
    T *x = static_cast<T *>(job.out) + at + column;
    for (int i = static_cast<int>(threadIdx.x); i < job.n * K; i += stride) {
      const int64_t row = load_constant(job.steps + i / K);
      y[i] = column + i % K < job.k ? b[row * job.k + i % K] : zero<T>();
    }
    if (threadIdx.x < K) y[job.n * K + static_cast<int>(threadIdx.x)] = zero<T>();
    __syncthreads();
    work<P, K>(job.first, job.conj, f, y);
    work<P, K>(job.second, job.conj, f, y);
    for (int i = static_cast<int>(threadIdx.x); i < job.n * K; i += stride) {
      const int64_t row = load_constant(job.steps + i / K);
      if (column + i % K < job.k) x[row * job.k + i % K] = y[i];
    }
    __syncthreads();
  }
}

/// Start a kernel with so many bytes of shared memory.
cudaError_t start(void (*kernel)(cuda_listed_job), dim3 grid, cudaStream_t stream, size_t bytes,
                  const cuda_listed_job *job) {
  if (bytes > CUDA_LISTED_PLAIN) {
    cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    if (error != cudaSuccess) return error;
  }
  kernel<<<grid, static_cast<unsigned>(job->threads), bytes, stream>>>(*job);
  return cudaGetLastError();
}

/// f(P{}) by how wide the numbers of a pair are.
template <class F>
cudaError_t with_pairs(const cuda_worklist *w, F f) {
  return w->is_narrow ? f(uint32_t{}) : f(uint64_t{});
}

}  // namespace

extern "C" cudaError_t cuda_launch_listed_factor(cudaStream_t stream, lac_dtype dtype, int64_t items, size_t most,
                                                 const cuda_listed_job *job) {
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return with_pairs(&job->first, [&](auto pair) {
      using P = decltype(pair);
      const size_t bytes = sizeof(T) * static_cast<size_t>(job->entries + 1);
      const dim3 grid(static_cast<unsigned>(items));
      if (bytes > most) return start(listed_factor<P, false, T>, grid, stream, 0, job);
      return start(listed_factor<P, true, T>, grid, stream, bytes, job);
    });
  });
}

extern "C" cudaError_t cuda_launch_listed_solve(cudaStream_t stream, lac_dtype dtype, int64_t items,
                                                const cuda_listed_job *job) {
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return with_pairs(&job->first, [&](auto pair) {
      using P = decltype(pair);
      constexpr int MANY = 4;
      const size_t one = sizeof(T) * static_cast<size_t>(job->n + 1);
      const bool is_many = job->k > 1 && MANY * one <= CUDA_LISTED_PLAIN;
      const int64_t groups = is_many ? ceil_div(job->k, MANY) : job->k;
      const dim3 grid(static_cast<unsigned>(items), blocks(groups, MAX_YZ));
      if (is_many) return start(listed_solve<P, MANY, T>, grid, stream, MANY * one, job);
      return start(listed_solve<P, 1, T>, grid, stream, one, job);
    });
  });
}

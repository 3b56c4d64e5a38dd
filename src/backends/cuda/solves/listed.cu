// SPDX-License-Identifier: Apache-2.0
/// @file listed.cu
/// Elimination and substitution by lists (kernels/listed.h): a block of threads to a matrix, a warp to a chunk.
///
/// For elimination the entries of L\U are in shared memory where they fit; unknowns always are.

#include "backends/cuda/access.cuh"
#include "backends/cuda/shared.cuh"
#include "backends/cuda/solves/quotient.cuh"
#include "backends/cuda/solves/solves.h"

using namespace lac_cuda;

namespace {

/// P: two numbers of 16 or of 32 bits in one; all bits of one set: there is none.
__device__ unsigned low_of(uint32_t two) { return two & 0xffffu; }
__device__ unsigned high_of(uint32_t two) { return two >> 16; }
__device__ bool is_none(uint32_t, unsigned number) { return number == 0xffffu; }
__device__ unsigned low_of(uint64_t two) { return static_cast<unsigned>(two); }
__device__ unsigned high_of(uint64_t two) { return static_cast<unsigned>(two >> 32); }
__device__ bool is_none(uint64_t, unsigned number) { return number == 0xffffffffu; }

/// lac_chunk as four integers.
struct Head {
  int begin, end, lanes, active, waits;
};

__device__ Head head_of(const cuda_worklist &w, int chunk) {
  const int4 h = __ldg(reinterpret_cast<const int4 *>(w.heads) + chunk);
  return {h.x, h.y, h.z & 0xffff, h.z >> 16, h.w};
}

/// What a warp has of a chunk before it begins it: lists do not depend on numbers.
template <class P>
struct Ahead {
  Head head;
  P task, pair[CUDA_LISTED_AHEAD];
};

template <class P>
__device__ Ahead<P> ahead_of(const cuda_worklist &w, int chunk, Head head, int lane) {
  Ahead<P> a;
  a.head = head;
  a.task = ~P(0);
  if (lane < head.active)
    a.task = load_constant(static_cast<const P *>(w.tasks) + 32 * static_cast<int64_t>(chunk) + lane);
  const P *pairs = static_cast<const P *>(w.pairs) + 32 * static_cast<int64_t>(head.begin) + lane;
#pragma unroll
  for (int i = 0; i < CUDA_LISTED_AHEAD; ++i) {
    a.pair[i] = 0;
    if (head.begin + i < head.end && lane < head.active) a.pair[i] = load_constant(pairs + 32 * i);
  }
  return a;
}

/// Numbers of f for a chunk, where the list does not write them: they too are there before it begins.
template <class T>
struct Numbers {
  T left[CUDA_LISTED_AHEAD], over;
};

template <bool IS_CONSTANT, class P, class T>
__device__ void fetch(const Ahead<P> &a, int lane, const T *f, Numbers<T> &out) {
  if constexpr (IS_CONSTANT) {
#pragma unroll
    for (int i = 0; i < CUDA_LISTED_AHEAD; ++i) {
      if (a.head.begin + i < a.head.end && lane < a.head.active) out.left[i] = load_constant(f + low_of(a.pair[i]));
    }
    if (!is_none(a.task, high_of(a.task))) out.over = load_constant(f + high_of(a.task));
  }
}

/// sum -= l y, for K columns.
template <int K, class T>
__device__ void take(T l, unsigned right, const T *y, T (&sum)[K]) {
#pragma unroll
  for (int c = 0; c < K; ++c) sum[c] = take_off(sum[c], l, y[right * K + c]);
}

/// The sums of a chunk's lanes, less than zero; those of lanes that share a task in its first lane.
template <int K, bool IS_CONSTANT, class P, class T>
__device__ void add_up(const cuda_worklist &w, const Ahead<P> &a, const Numbers<T> &n, int lane, int conj, const T *f,
                       const T *y, T (&sum)[K]) {
#pragma unroll
  for (int c = 0; c < K; ++c) sum[c] = zero<T>();
  if (lane < a.head.active) {
#pragma unroll
    for (int i = 0; i < CUDA_LISTED_AHEAD; ++i) {
      if (a.head.begin + i >= a.head.end) break;
      const T l = IS_CONSTANT ? n.left[i] : f[low_of(a.pair[i])];
      take<K>(conj_if(conj, l), high_of(a.pair[i]), y, sum);
    }
    int64_t step = a.head.begin + CUDA_LISTED_AHEAD;
    const P *at = static_cast<const P *>(w.pairs) + 32 * step + lane;
#pragma unroll 4
    for (; step < a.head.end; ++step, at += 32) {
      const P pair = load_constant(at);
      take<K>(conj_if(conj, f[low_of(pair)]), high_of(pair), y, sum);
    }
  }
  for (int d = a.head.lanes / 2; d > 0; d /= 2) {
#pragma unroll
    for (int c = 0; c < K; ++c) sum[c] = sum[c] + shift_down(sum[c], d, 32);
  }
}

template <int K, bool IS_CONSTANT, class P, class T>
__device__ void finish(const Ahead<P> &a, const Numbers<T> &n, int conj, const T *f, T *y, const T (&sum)[K]) {
  const unsigned target = low_of(a.task), over = high_of(a.task);
  if (is_none(a.task, target)) return;
  const bool divides = !is_none(a.task, over);
  T by = zero<T>();
  if (divides) by = conj_if(conj, IS_CONSTANT ? n.over : f[over]);
#pragma unroll
  for (int c = 0; c < K; ++c) {
    const T left = y[target * K + c] + sum[c];
    y[target * K + c] = divides ? quotient(left, by) : left;
  }
}

/// All levels. While a warp works on a chunk, the next two are on their way, and the head of the one behind them.
template <class P, int K, bool IS_CONSTANT, class T>
__device__ void work(const cuda_worklist &w, int conj, const T *f, T *y) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  if (w.levels == 0) return;
  if (warp >= w.warps) {
    for (int level = 0; level < w.levels; ++level) __syncthreads();
    return;
  }
  const int begin = load_constant(w.first + warp), last = load_constant(w.first + warp + 1) - 1;
  Head head = head_of(w, min(begin + 2, last));
  Ahead<P> now = ahead_of<P>(w, begin, head_of(w, begin), lane);
  Ahead<P> next = ahead_of<P>(w, min(begin + 1, last), head_of(w, min(begin + 1, last)), lane);
  Numbers<T> numbers, following;
  fetch<IS_CONSTANT>(now, lane, f, numbers);
  for (int chunk = begin; chunk <= last; ++chunk) {
    const Ahead<P> after = ahead_of<P>(w, min(chunk + 2, last), head, lane);
    head = head_of(w, min(chunk + 3, last));
    fetch<IS_CONSTANT>(next, lane, f, following);
    T sum[K];
    add_up<K, IS_CONSTANT>(w, now, numbers, lane, conj, f, y, sum);
    finish<K, IS_CONSTANT>(now, numbers, conj, f, y, sum);
    for (int wait = now.head.waits; wait > 0; --wait) __syncthreads();
    now = next, next = after, numbers = following;
  }
}

/// The smallest pivot over the largest, 0 where an entry is not finite, in thread 0.
template <class T>
__device__ double share_of(const cuda_listed_job &job, const T *f) {
  __shared__ double least[32], most[32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  double smallest = INFINITY, largest = 0;
  int has_wild = 0;
  for (int e = static_cast<int>(threadIdx.x); e < job.entries; e += static_cast<int>(blockDim.x)) {
    has_wild |= !(size_of(f[e]) < INFINITY);
  }
  has_wild = __syncthreads_or(has_wild);
  for (int i = static_cast<int>(threadIdx.x); i < job.n; i += static_cast<int>(blockDim.x)) {
    const double size = size_of(f[load_constant(job.diagonal + i)]);
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
  return largest > 0 && !has_wild ? smallest / largest : 0;
}

extern __shared__ __align__(16) unsigned char listed_memory[];

template <class P, bool IS_SHARED, class T>
__global__ void __launch_bounds__(CUDA_LISTED_THREADS) listed_factor(const __grid_constant__ cuda_listed_job job) {
  const int64_t item = blockIdx.x;
  const int stride = static_cast<int>(blockDim.x);
  const T *a = static_cast<const T *>(job.a) + item * job.nnz;
  T *out = static_cast<T *>(job.out) + item * (job.entries + 1);
  T *f = IS_SHARED ? reinterpret_cast<T *>(listed_memory) : out;
#pragma unroll 4
  for (int e = static_cast<int>(threadIdx.x); e < job.entries; e += stride) {
    const int slot = load_constant(job.source + e);
    f[e] = slot < 0 ? zero<T>() : load_constant(a + slot);
  }
  if (threadIdx.x == 0) f[job.entries] = zero<T>();
  __syncthreads();
  work<P, 1, false>(job.first, 0, f, f);
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
    work<P, K, true>(job.first, job.conj, f, y);
    work<P, K, true>(job.second, job.conj, f, y);
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
    cudaError_t error = let_share(kernel);
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
      if constexpr (sizeof(P) == 4) {  // what fits has no more entries than 16 bits count
        if (bytes <= most) return start(listed_factor<P, true, T>, grid, stream, bytes, job);
      }
      return start(listed_factor<P, false, T>, grid, stream, 0, job);
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
      const dim3 grid(static_cast<unsigned>(items), blocks(is_many ? ceil_div(job->k, MANY) : job->k, MAX_YZ));
      if (is_many) return start(listed_solve<P, MANY, T>, grid, stream, MANY * one, job);
      return start(listed_solve<P, 1, T>, grid, stream, one, job);
    });
  });
}

// SPDX-License-Identifier: Apache-2.0
/// @file segment_dot.cu
/// Products between the inputs of a map and one number for each of its groups:
///
///     segment_scale   y_i = d[target i] a_i                     0 where the target is -1
///     segment_dot     s_j = sum over the sources i of j of u_i conj(v_i)
///
/// The first is a loop over inputs, the second a reduction over lines (lines.cuh), in f64.

#include "backends/cuda/groups/groups.h"
#include "backends/cuda/lines.cuh"

using namespace lac_cuda;

namespace {

constexpr int AT_ONCE = 4;  // inputs of a thread, so that several loads are on their way

template <class T, class I, bool SUMS>
__global__ void __launch_bounds__(BLOCK)
    segment_scale(int64_t inputs, const I *__restrict__ target, const __grid_constant__ cuda_batch batch,
                  const T *__restrict__ d, const T *__restrict__ a, T *__restrict__ y) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK * AT_ONCE;
  for (int64_t b = blockIdx.y; b < batch.kept.count; b += gridDim.y) {
    Offsets base = locate(batch.kept, b);
    for (int64_t first = static_cast<int64_t>(blockIdx.x) * BLOCK * AT_ONCE; first < inputs; first += step) {
      int64_t last = first + BLOCK * AT_ONCE < inputs ? first + BLOCK * AT_ONCE : inputs;
#pragma unroll AT_ONCE
      for (int64_t i = first + threadIdx.x; i < last; i += BLOCK) {
        I j = target[i];
        T sum = zero<T>();
        if (j >= 0) for_summands<SUMS>(batch.summed, base, [&](Offsets at) { sum = sum + d[at.x + j] * a[at.y + i]; });
        y[b * inputs + i] = sum;
      }
    }
  }
}

template <class T, class I, bool SUMS>
struct Dots {
  using Value = typename Number<T>::Wide;
  static constexpr lines_work WORK = SUMS ? LINES_RARE : LINES_GATHER;

  int64_t outputs;
  const I *__restrict__ sources;
  cuda_batch batch;
  const T *__restrict__ u;
  const T *__restrict__ v;
  T *__restrict__ s;

  __device__ Value none() const { return zero<Value>(); }
  __device__ Value join(Value left, Value right) const { return left + right; }
  __device__ int64_t items() const { return batch.kept.count; }
  __device__ Offsets at(int64_t b) const { return locate(batch.kept, b); }
  __device__ Value term(Offsets base, int64_t p) const {
    Value sum = zero<Value>();
    for_summands<SUMS>(batch.summed, base, [&](Offsets at) { sum = sum + product(gather(at, look(at, p))); });
    return sum;
  }

  using Entry = int64_t;
  struct Factors {
    T u, v;
  };
  __device__ Entry look(Offsets, int64_t p) const { return sources ? sources[p] : p; }
  __device__ Factors gather(Offsets at, Entry i) const { return {u[at.x + i], v[at.y + i]}; }
  __device__ Value product(const Factors &factors) const {
    return cast<Value>(factors.u) * conj_of(cast<Value>(factors.v));
  }
  __device__ void put(int64_t b, int64_t j, Value sum) const { s[b * outputs + j] = cast<T>(sum); }
  __device__ void add(int64_t b, int64_t j, Value carried) const {
    T &to = s[b * outputs + j];
    to = cast<T>(carried + cast<Value>(to));
  }
};

}  // namespace

cudaError_t cuda_launch_segment_scale(cudaStream_t stream, lac_dtype dtype, const cuda_groups *g,
                                      const cuda_batch *batch, const void *d, const void *a, void *y) {
  if (g->inputs == 0 || batch->kept.count == 0) return cudaSuccess;
  dim3 grid(blocks(ceil_div(g->inputs, BLOCK * AT_ONCE), MAX_X), blocks(batch->kept.count, MAX_YZ));
  return with_dtype(dtype, [&](auto number) {
    return with_index(g->target.type, [&](auto index) {
      return with_sums(batch, [&](auto sums) {
        using T = decltype(number);
        using I = decltype(index);
        return launch(segment_scale<T, I, sums.value>, grid, stream, g->inputs, integers<I>(g->target), *batch,
                      static_cast<const T *>(d), static_cast<const T *>(a), static_cast<T *>(y));
      });
    });
  });
}

size_t cuda_segment_dot_scratch(lac_dtype dtype, const cuda_groups *g, int64_t items) {
  size_t wide = dtype == LAC_F32 || dtype == LAC_F64 ? sizeof(double) : 2 * sizeof(double);
  if (!cuda_lengths_are_uneven(&g->lengths, items)) return 0;
  return cuda_pieces_scratch(&g->lengths, cuda_piece(wide), items, wide);
}

cudaError_t cuda_launch_segment_dot(cudaStream_t stream, lac_dtype dtype, const cuda_groups *g, const cuda_batch *batch,
                                    const void *u, const void *v, void *scratch, void *s) {
  if (g->outputs == 0 || batch->kept.count == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    return with_index(g->offsets.type, [&](auto index) {
      return with_sums(batch, [&](auto sums) {
        using T = decltype(number);
        using I = decltype(index);
        Dots<T, I, sums.value> op = {
            g->outputs,         integers<I>(g->sources), *batch, static_cast<const T *>(u), static_cast<const T *>(v),
            static_cast<T *>(s)};
        return start_lines(stream, op, &g->lengths, integers<I>(g->offsets), batch->kept.count, scratch);
      });
    });
  });
}

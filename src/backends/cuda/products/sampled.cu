// SPDX-License-Identifier: Apache-2.0
/// @file sampled.cu
/// Sparse times sparse at the slots of a pattern:
///
///     t_z = sum over l of X[row z, l] Y[l, column z]
///
/// Row z of X and row column z of Y^T are both sorted by l. Short rows: a thread merges the two. Long rows: the lanes
/// of a warp take entries of X and look each up in Y^T by bisection. Nothing but t is written.

#include "backends/cuda/products/products.h"
#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

/// A row of a factor: entries [begin, end) and the values of the current batch item.
template <class T>
struct Row {
  const cuda_rows &m;
  const T *values;
  int conj;
  int64_t begin, end;

  __device__ Row(const cuda_rows &rows, const T *data, int conjugated, int64_t row)
      : m(rows), values(data), conj(conjugated), begin(get(rows.offsets, row)), end(get(rows.offsets, row + 1)) {}
  __device__ int64_t column(int64_t p) const { return get(m.columns, p); }
  __device__ T value(int64_t p) const { return conj_if(conj, values[m.slots.data ? get(m.slots, p) : p]); }
};

/// Step through both rows together.
template <class T>
__device__ T merge(const Row<T> &x, const Row<T> &y, T sum) {
  int64_t p = x.begin, q = y.begin;
  while (p < x.end && q < y.end) {
    int64_t l = x.column(p), r = y.column(q);
    if (l == r) sum = sum + x.value(p) * y.value(q);
    p += l <= r;
    q += r <= l;
  }
  return sum;
}

/// Every 32nd entry of x from the lane's on, looked up in y.
template <class T>
__device__ T bisect(const Row<T> &x, const Row<T> &y, int lane, T sum) {
  for (int64_t p = x.begin + lane; p < x.end; p += 32) {
    int64_t l = x.column(p), low = y.begin, high = y.end;
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      if (y.column(middle) < l) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low < y.end && y.column(low) == l) sum = sum + x.value(p) * y.value(low);
  }
  return sum;
}

struct Sampled {
  int64_t slots;
  cuda_index rows_of, columns;
  cuda_rows left, right_t;
  int conj;
  cuda_batch batch;
};

template <class T, int G>
__global__ void __launch_bounds__(BLOCK)
    sampled(const __grid_constant__ Sampled job, const T *__restrict__ x, const T *__restrict__ y, T *__restrict__ t) {
  Groups<G> groups;
  for (int64_t b = blockIdx.y; b < job.batch.kept.count; b += gridDim.y) {
    Offsets base = locate(job.batch.kept, b);
    for (int64_t z = groups.first; groups.warp(z) < job.slots; z += groups.step) {
      T sum = zero<T>();
      if (z < job.slots) {
        int64_t row = get(job.rows_of, z), column = get(job.columns, z);
        for_summands<true>(job.batch.summed, base, [&](Offsets at) {
          Row<T> left(job.left, x + at.x, job.conj & 1, row), right(job.right_t, y + at.y, job.conj & 2, column);
          sum = G == 1 ? merge(left, right, sum) : bisect(left, right, groups.lane, sum);
        });
      }
      sum = group_sum<G>(sum);
      if (z < job.slots && groups.lane == 0) t[b * job.slots + z] = sum;
    }
  }
}

int64_t mean_length(const cuda_rows *rows) { return rows->rows ? rows->entries / rows->rows : 0; }

}  // namespace

cudaError_t cuda_launch_sampled(cudaStream_t stream, lac_dtype dtype, int64_t slots, cuda_index rows_of,
                                cuda_index columns, const cuda_rows *left, const cuda_rows *right_t, int conj,
                                const cuda_batch *batch, const void *x, const void *y, void *t) {
  if (slots == 0 || batch->kept.count == 0) return cudaSuccess;
  Sampled job = {slots, rows_of, columns, *left, *right_t, conj, *batch};
  bool is_long = mean_length(left) + mean_length(right_t) > 64;
  dim3 grid(blocks(ceil_div(slots, is_long ? BLOCK / 32 : BLOCK), MAX_X), blocks(batch->kept.count, MAX_YZ));
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return launch(is_long ? sampled<T, 32> : sampled<T, 1>, grid, stream, job, static_cast<const T *>(x),
                  static_cast<const T *>(y), static_cast<T *>(t));
  });
}

// SPDX-License-Identifier: Apache-2.0
/// @file sampled.cu
/// Sparse times sparse at the slots of a pattern:
///
///     t_z = sum over l of X[row z, l] Y[l, column z]
///
/// By slots: row z of X and row column z of Y^T are both sorted by l. Short rows: a thread merges the two. Long rows:
/// the lanes of a warp take entries of X and look each up in Y^T by bisection. Nothing but t is written.
///
/// By rows: a thread has a row of X, and steps through the rows of Y that its entries name beside its row of the
/// pattern. The slots of a block's rows follow each other: they are summed in shared memory. This pays where all rows
/// are short: what is read of Y serves all slots of a row. Each sum is taken in the order of l either way.

#include "backends/cuda/access.cuh"
#include "backends/cuda/products/products.h"

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

// -- by rows ---------------------------------------------------------------------------------------------------------

constexpr int THREADS = 128;     // of a block
constexpr int ROOM = 1792;       // slots of a block in shared memory
constexpr int ON_THEIR_WAY = 5;  // entries of a row of Y

/// Integers of a walk: it is PLAIN where all are of 32 bits, and both factors have their slots in order.
template <bool PLAIN>
struct Integers {
  using Integer = std::conditional_t<PLAIN, int32_t, int64_t>;
  static constexpr Integer LAST = PLAIN ? INT32_MAX : INT64_MAX;

  __device__ static Integer at(const cuda_index &index, Integer i) {
    if constexpr (PLAIN) {
      return load_constant(static_cast<const int32_t *>(index.data) + i);
    } else {
      return get(index, i);
    }
  }
  __device__ static Integer slot(const cuda_rows &rows, Integer p) {
    return PLAIN || !rows.slots.data ? p : at(rows.slots, p);
  }
};

/// A row of the product at the slots [slot, end) of a pattern, whose columns and sums are where `places` says.
template <bool PLAIN, class T, class P>
__device__ void add_row(const cuda_sampled_rows &job, int64_t row, const T *__restrict__ x, const T *__restrict__ y,
                        int slot, int end, P places) {
  using I = Integers<PLAIN>;
  using Integer = typename I::Integer;
  auto last = I::at(job.left.offsets, static_cast<Integer>(row) + 1);
  for (auto p = I::at(job.left.offsets, static_cast<Integer>(row)); p < last; ++p) {
    auto l = I::at(job.left.columns, p);
    T value = conj_if(job.conj & 1, load_constant(x + I::slot(job.left, p)));
    auto begin = I::at(job.right.offsets, l), stop = I::at(job.right.offsets, l + 1);
    int at = slot;
    Integer column = at < end ? places.column(at) : I::LAST;
    for (auto q = begin; q < stop; q += stop - q < ON_THEIR_WAY ? stop - q : ON_THEIR_WAY) {  // never beyond stop
      Integer columns[ON_THEIR_WAY];
      T values[ON_THEIR_WAY];
#pragma unroll
      for (int u = 0; u < ON_THEIR_WAY; ++u) {
        if (stop - q <= u) continue;
        columns[u] = I::at(job.right.columns, q + u);
        values[u] = load_constant(y + I::slot(job.right, q + u));
      }
#pragma unroll
      for (int u = 0; u < ON_THEIR_WAY; ++u) {
        if (stop - q <= u) continue;
        while (column < columns[u]) column = ++at < end ? places.column(at) : I::LAST;
        if (column == columns[u]) places.sum(at) = places.sum(at) + value * conj_if(job.conj & 2, values[u]);
      }
    }
  }
}

/// In shared memory, or where the slots of a block are too many, in memory; `first` is the first slot of the block.
template <class T, class Integer>
struct Shared {
  Integer *columns;
  T *sums;
  __device__ Integer column(int i) const { return columns[i]; }
  __device__ T &sum(int i) const { return sums[i]; }
};
template <bool PLAIN, class T>
struct InMemory {
  const cuda_index &columns;
  int64_t first;
  T *sums;
  __device__ auto column(int i) const { return Integers<PLAIN>::at(columns, first + i); }
  __device__ T &sum(int i) const { return sums[i]; }
};

/// The rows [top, top + rows) by one block.
template <bool PLAIN, class T>
__device__ void add_rows(const cuda_sampled_rows &job, int64_t top, int rows, const T *__restrict__ x,
                         const T *__restrict__ y, T *__restrict__ t) {
  using I = Integers<PLAIN>;
  __shared__ typename I::Integer columns[ROOM];
  __shared__ T sums[ROOM];
  int me = static_cast<int>(threadIdx.x);
  int64_t row = top + (me < rows ? me : rows), first = I::at(job.target.offsets, top);
  int64_t all = I::at(job.target.offsets, top + rows) - first;
  int slot = static_cast<int>(I::at(job.target.offsets, row) - first);
  int end = me < rows ? static_cast<int>(I::at(job.target.offsets, row + 1) - first) : slot;
  if (all > ROOM) {
    for (int i = slot; i < end; ++i) t[first + i] = zero<T>();
    if (me < rows) add_row<PLAIN>(job, row, x, y, slot, end, InMemory<PLAIN, T>{job.target.columns, first, t + first});
    return;
  }
  int count = static_cast<int>(all);
#pragma unroll 4
  for (int i = me; i < count; i += THREADS) {
    columns[i] = I::at(job.target.columns, first + i);
    sums[i] = zero<T>();
  }
  __syncthreads();
  if (me < rows) add_row<PLAIN>(job, row, x, y, slot, end, Shared<T, typename I::Integer>{columns, sums});
  __syncthreads();
#pragma unroll 4
  for (int i = me; i < count; i += THREADS) store_once(t + first + i, sums[i]);
  __syncthreads();
}

template <bool PLAIN, class T>
__global__ void __launch_bounds__(THREADS)
    sampled_rows(const __grid_constant__ cuda_sampled_rows job, const T *__restrict__ x, const T *__restrict__ y,
                 T *__restrict__ t) {
  int64_t all = job.target.rows;
  for (int64_t b = blockIdx.y; b < job.items.count; b += gridDim.y) {
    Offsets at = locate(job.items, b);
    for (int64_t top = static_cast<int64_t>(blockIdx.x) * THREADS; top < all; top += gridDim.x * int64_t{THREADS}) {
      int rows = all - top < THREADS ? static_cast<int>(all - top) : THREADS;
      add_rows<PLAIN>(job, top, rows, x + at.x, y + at.y, t + b * job.target.entries);
    }
  }
}

bool is_plain(const cuda_rows &rows) {
  return rows.offsets.type == LAC_I32 && rows.columns.type == LAC_I32 && !rows.slots.data;
}

// -- starting --------------------------------------------------------------------------------------------------------

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

cudaError_t cuda_launch_sampled_rows(cudaStream_t stream, lac_dtype dtype, const cuda_sampled_rows *job, const void *x,
                                     const void *y, void *t) {
  if (job->target.entries == 0 || job->items.count == 0) return cudaSuccess;
  dim3 grid(blocks(ceil_div(job->target.rows, THREADS), MAX_X), blocks(job->items.count, MAX_YZ));
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    bool plain = is_plain(job->target) && is_plain(job->left) && is_plain(job->right);
    auto kernel = plain ? sampled_rows<true, T> : sampled_rows<false, T>;
    kernel<<<grid, THREADS, 0, stream>>>(*job, static_cast<const T *>(x), static_cast<const T *>(y),
                                         static_cast<T *>(t));
    return cudaGetLastError();
  });
}

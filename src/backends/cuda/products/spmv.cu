// SPDX-License-Identifier: Apache-2.0
/// @file spmv.cu
/// Sparse times one dense vector:
///
///     y[i] = sum over the entries p of row i of a[slot p] x[column p]
///
/// A reduction over lines (lines.cuh). A^T is walked by its own rows through slots: no atomics. What it gathers of a
/// is five times x on a grid of five points, so that there tiles pay for it.

#include "backends/cuda/products/matrix.cuh"

using namespace lac_cuda;

namespace {

template <class M, bool SUMS, bool BY_SLOTS>
struct RowSums {
  using T = typename M::Value;
  using Value = T;
  static constexpr lines_work WORK = SUMS ? LINES_RARE : BY_SLOTS ? LINES_GATHER_BOTH : LINES_GATHER;

  struct Entry {
    typename M::Column column;
    std::conditional_t<BY_SLOTS, typename M::Offset, T> value;  // or its slot
  };
  struct Factors {
    T a, x;
  };

  M m;
  cuda_batch batch;
  const T *__restrict__ x;
  T *__restrict__ y;

  __device__ T none() const { return zero<T>(); }
  __device__ T join(T left, T right) const { return left + right; }
  __device__ int64_t items() const { return batch.kept.count; }
  __device__ Offsets at(int64_t b) const { return locate(batch.kept, b); }
  __device__ T term(Offsets base, int64_t p) const {
    int64_t column = load_constant(m.columns + p), slot = p;
    if constexpr (BY_SLOTS) slot = load_constant(m.slots + p);
    T sum = zero<T>();
    for_summands<SUMS>(batch.summed, base, [&](Offsets at) {
      sum = sum + product({load_constant(m.a + at.x + slot), load_constant(x + at.y + column)});
    });
    return sum;
  }

  __device__ Entry look(Offsets at, int64_t p) const {
    if constexpr (BY_SLOTS) {
      return {m.column_once(p), load_once(m.slots + p)};
    } else {
      return {m.column_once(p), load_once(m.a + at.x + p)};
    }
  }
  __device__ Factors gather(Offsets at, const Entry &entry) const {
    if constexpr (BY_SLOTS) {
      return {load_constant(m.a + at.x + entry.value), load_constant(x + at.y + entry.column)};
    } else {
      return {entry.value, load_constant(x + at.y + entry.column)};
    }
  }
  __device__ T product(const Factors &factors) const { return conj_if(m.conj, factors.a) * factors.x; }
  __device__ void put(int64_t b, int64_t row, T sum) const { y[b * m.rows + row] = sum; }
  __device__ void add(int64_t b, int64_t row, T carried) const {
    T &to = y[b * m.rows + row];
    to = carried + to;
  }
};

}  // namespace

size_t cuda_spmv_scratch(lac_dtype dtype, const cuda_matrix *m, int64_t items) {
  if (!cuda_lengths_are_uneven(&m->lengths, items)) return 0;
  size_t bytes = lac_dtype_size(dtype);
  return cuda_pieces_scratch(&m->lengths, cuda_piece(bytes), items, bytes);
}

cudaError_t cuda_launch_spmv(cudaStream_t stream, lac_dtype dtype, const cuda_matrix *m, const cuda_batch *batch,
                             const void *a, const void *x, void *scratch, void *y) {
  if (m->rows.rows == 0 || batch->kept.count == 0) return cudaSuccess;
  return with_matrix(dtype, m, a, [&](auto rows) {
    return with_sums(batch, [&](auto sums) {
      using M = decltype(rows);
      using T = typename M::Value;
      auto run = [&](auto by_slots) {
        RowSums<M, sums.value, by_slots.value> op = {rows, *batch, static_cast<const T *>(x), static_cast<T *>(y)};
        return start_lines(stream, op, &m->lengths, rows.offsets, batch->kept.count, scratch);
      };
      return rows.slots ? run(std::true_type{}) : run(std::false_type{});
    });
  });
}

// SPDX-License-Identifier: Apache-2.0
/// @file level.cuh
/// A level as threads walk it: one row and one column of vectors [items, n, k] for each.

#ifndef LACUNA_BACKENDS_CUDA_PAIRWISE_LEVEL_CUH
#define LACUNA_BACKENDS_CUDA_PAIRWISE_LEVEL_CUH

#include "backends/cuda/columns.cuh"
#include "backends/cuda/pairwise/pairwise.h"
#include "backends/cuda/parts.cuh"

namespace lac_cuda {

/// f(T{}, H{}) for numbers and numbers as wide or half as wide.
template <class F>
cudaError_t with_narrow(lac_dtype wide, lac_dtype narrow, F f) {
  if (wide == LAC_F64 && narrow == LAC_F32) return f(double{}, float{});
  if (wide == LAC_C128 && narrow == LAC_C64) return f(Complex<double>{}, Complex<float>{});
  return with_dtype(wide, [&](auto number) { return f(number, number); });
}

/// Blocks for each row and column to have a thread.
inline dim3 grid_of(const ColumnCut &cut) {
  return dim3(blocks(ceil_div(cut.n, cut.rows), MAX_X), blocks(cut.items * cut.tiles, MAX_YZ));
}

/// f(item, row, column) for those of a thread.
template <class F>
__device__ void for_rows(const ColumnCut &cut, F f) {
  const int row = static_cast<int>(threadIdx.x) / cut.wide, lane = static_cast<int>(threadIdx.x) % cut.wide;
  if (row >= cut.rows) return;
  for (int64_t unit = blockIdx.y; unit < cut.items * cut.tiles; unit += gridDim.y) {
    const int64_t item = unit / cut.tiles, column = unit % cut.tiles * cut.wide + lane;
    if (column >= cut.k) continue;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * cut.rows + row; i < cut.n;
         i += static_cast<int64_t>(gridDim.x) * cut.rows)
      f(item, i, column);
  }
}

/// op(A) of all items. Products are summed in T, from a row's first entry to its last.
template <class T, class O, class C>
struct Level {
  using Real = typename Number<T>::Real;
  const O *offsets, *slots;
  const C *columns;
  int64_t rows, entries, k;
  int conj;
  const T *values;
  const double *unit, *scale;

  /// (A x)_i of a column.
  template <class H>
  __device__ T product(int64_t item, int64_t i, int64_t column, const H *x) const {
    const T *a = values + item * entries;
    const H *from = x + item * rows * k + column;
    T sum = zero<T>();
    if (slots) {
      for (int64_t p = offsets[i], end = offsets[i + 1]; p < end; ++p)
        sum = sum + conj_if(conj, a[slots[p]]) * cast<T>(from[columns[p] * k]);
      return sum;
    }
#pragma unroll 4
    for (int64_t p = offsets[i], end = offsets[i + 1]; p < end; ++p)
      sum = sum + conj_if(conj, a[p]) * cast<T>(from[columns[p] * k]);
    return sum;
  }
  /// (b - A x)_i of a column, scaled.
  template <class H>
  __device__ T residual(int64_t item, int64_t i, int64_t column, const T *b, const H *x) const {
    const T own = b[(item * rows + i) * k + column];
    const Real in = scale ? static_cast<Real>(scale[2 * item * k + column]) : Real(1);
    const Real by = unit ? static_cast<Real>(unit[2 * item]) : Real(1);
    return times(own, in) - times(product(item, i, column, x), by);
  }
  __device__ Real out_scale(int64_t item, int64_t column) const {
    return scale ? static_cast<Real>(scale[(2 * item + 1) * k + column]) : Real(1);
  }
};

template <class T, class O, class C>
Level<T, O, C> level_of(const cuda_level *l) {
  return {integers<O>(l->rows.offsets),
          integers<O>(l->rows.slots),
          integers<C>(l->rows.columns),
          l->rows.rows,
          l->rows.entries,
          l->k,
          l->conj,
          static_cast<const T *>(l->values),
          l->unit,
          l->scale};
}

/// f(level) for a matrix of T.
template <class T, class F>
cudaError_t with_level(const cuda_level *l, F f) {
  return with_width(&l->rows,
                    [&](auto offset, auto column) { return f(level_of<T, decltype(offset), decltype(column)>(l)); });
}

}  // namespace lac_cuda

#endif

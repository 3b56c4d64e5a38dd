// SPDX-License-Identifier: Apache-2.0
/// @file matrix.cuh
/// The sparse factor of a product as kernels take it.

#ifndef LACUNA_BACKENDS_CUDA_PRODUCTS_MATRIX_CUH
#define LACUNA_BACKENDS_CUDA_PRODUCTS_MATRIX_CUH

#include "backends/cuda/lines.cuh"
#include "backends/cuda/products/products.h"

namespace lac_cuda {

template <class T, class O, class C>
struct Rows {
  using Value = T;
  using Offset = O;
  using Column = C;

  int64_t rows;
  const O *__restrict__ offsets;
  const C *__restrict__ columns;
  const O *__restrict__ slots;
  const T *__restrict__ a;
  int conj;

  __device__ T value(int64_t base, int64_t p) const { return conj_if(conj, a[base + (slots ? slots[p] : p)]); }

  /// The same for kernels of which one thread alone reads an entry; through slots, neighbours are wanted by other rows.
  __device__ C column_once(int64_t p) const { return load_once(columns + p); }
  __device__ O slot_once(int64_t p) const { return slots ? load_once(slots + p) : static_cast<O>(p); }
  __device__ T at_slot(int64_t base, O slot) const {
    return conj_if(conj, slots ? a[base + slot] : load_once(a + base + slot));
  }
};

/// f(Rows) for the types that a matrix has.
template <class F>
cudaError_t with_matrix(lac_dtype dtype, const cuda_matrix *m, const void *a, F f) {
  const cuda_rows &rows = m->rows;
  return with_dtype(dtype, [&](auto number) {
    return with_width(&rows, [&](auto offset, auto column) {
      using T = decltype(number);
      using O = decltype(offset);
      using C = decltype(column);
      return f(Rows<T, O, C>{rows.rows, integers<O>(rows.offsets), integers<C>(rows.columns), integers<O>(rows.slots),
                             static_cast<const T *>(a), m->conj});
    });
  });
}

}  // namespace lac_cuda

#endif

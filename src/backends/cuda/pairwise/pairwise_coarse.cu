// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_coarse.cu
/// From a level to the next one: the pattern and the values of P^T A P, weights, and a look at some rows.
///
/// A thread merges the few short rows of an aggregate, in order: it keeps their columns sorted in memory of its own,
/// and adds values up there. Sums are f64.

#include "backends/cuda/pairwise/level.cuh"

using namespace lac_cuda;

namespace {

constexpr int COLUMNS = 64;  // of a coarse row, at most: those of others are sorted by the caller
constexpr int SUMS = 32;     // that a thread keeps of a coarse row; those of longer rows are in the result itself

__device__ void put(const cuda_integers &to, int64_t i, int64_t value) {
  if (to.type == LAC_I32) {
    static_cast<int32_t *>(to.data)[i] = static_cast<int32_t>(value);
  } else {
    static_cast<int64_t *>(to.data)[i] = value;
  }
}

// -- the pattern -----------------------------------------------------------------------------------------------------

/// A sorted list without doubles.
struct List {
  int count, at[COLUMNS];

  /// False where there is no room.
  __device__ bool add(int column) {
    int place = count;
    while (place > 0 && at[place - 1] > column) --place;
    if (place > 0 && at[place - 1] == column) return true;
    if (count == COLUMNS) return false;
    for (int q = count++; q > place; --q) at[q] = at[q - 1];
    at[place] = column;
    return true;
  }
};

template <class O, class C>
struct Merge {
  using Offset = O;
  using Column = C;
  const O *offsets;
  const C *columns;
  const int *aggregates, *starts, *members;

  /// f(p, J) for the entries of coarse row i that are in column J.
  template <class F>
  __device__ void each(int64_t i, F f) const {
    for (int q = starts[i], last = starts[i + 1]; q < last; ++q) {
      const int64_t row = members[q];
      for (int64_t p = offsets[row], end = offsets[row + 1]; p < end; ++p) {
        const int aggregate = aggregates[columns[p]];
        if (aggregate >= 0) f(p, aggregate);
      }
    }
  }
  /// The columns of coarse row i; false where they are too many.
  __device__ bool list(int64_t i, List *out) const {
    bool fits = true;
    out->count = 0;
    each(i, [&](int64_t, int column) { fits = fits && out->add(column); });
    return fits;
  }
};

template <class O, class C>
__global__ void __launch_bounds__(BLOCK)
    count_columns(Merge<O, C> m, int64_t coarse, cuda_integers offsets, int *is_long) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < coarse; i += step) {
    List list;
    if (!m.list(i, &list)) *is_long = 1;
    put(offsets, i + 1, list.count);
    if (i == 0) put(offsets, 0, 0);
  }
}

template <class O, class C>
__global__ void __launch_bounds__(BLOCK) fill_columns(Merge<O, C> m, int64_t coarse, cuda_index offsets, int *columns) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < coarse; i += step) {
    const int64_t first = get(offsets, i);
    List list;
    (void)m.list(i, &list);
    for (int q = 0; q < list.count; ++q) columns[first + q] = list.at[q];
  }
}

// -- values ----------------------------------------------------------------------------------------------------------

/// The place of a column that a row has.
__device__ int64_t place_of(const int *columns, int64_t length, int column) {
  int64_t low = 0, high = length - 1;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (columns[middle] < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <class T, class O, class C>
struct Values {
  using A = typename Number<T>::Wide;
  Merge<O, C> merge;
  const T *values;
  double unit;

  __device__ void add_up(int64_t i, const int *columns, int64_t length, A *sums) const {
    for (int64_t q = 0; q < length; ++q) sums[q] = zero<A>();
    merge.each(i, [&](int64_t p, int column) {
      const int64_t at = place_of(columns, length, column);
      sums[at] = sums[at] + times(cast<A>(values[p]), unit);
    });
  }
};

template <class T, class O, class C>
__global__ void __launch_bounds__(BLOCK)
    add_values(Merge<O, C> m, int64_t coarse, int64_t items, int64_t entries, int64_t coarse_entries,
               cuda_index offsets, const int *columns, const T *values, const double *unit,
               typename Number<T>::Wide *out) {
  using A = typename Number<T>::Wide;
  const int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t item = blockIdx.y; item < items; item += gridDim.y) {
    const Values<T, O, C> v = {m, values + item * entries, unit ? unit[2 * item] : 1};
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < coarse; i += step) {
      const int64_t first = get(offsets, i), length = get(offsets, i + 1) - first;
      A *to = out + item * coarse_entries + first;
      if (length > SUMS) {
        v.add_up(i, columns + first, length, to);
        continue;
      }
      A sums[SUMS];
      v.add_up(i, columns + first, length, sums);
      for (int64_t q = 0; q < length; ++q) to[q] = sums[q];
    }
  }
}

// -- weights ---------------------------------------------------------------------------------------------------------

__device__ double modulus_of(double x) { return fabs(x); }
template <class R>
__device__ double modulus_of(Complex<R> x) {
  return hypot(static_cast<double>(x.re), static_cast<double>(x.im));
}

/// conj(phase) of a diagonal entry, times a weight
template <class H>
__device__ H weight_of(double w, double own, double) {
  return Number<H>::make(own < 0 ? -w : w, 0);
}
template <class H, class R>
__device__ H weight_of(double w, Complex<R> own, double unit) {
  const double size = unit * modulus_of(own);
  return size > 0 ? Number<H>::make(w * (unit * own.re / size), w * (-unit * own.im / size)) : Number<H>::make(w, 0);
}

/// Small ones of narrow numbers do not overflow.
template <class T, class H, class O, class C>
__global__ void __launch_bounds__(BLOCK)
    weigh(int64_t rows, int64_t items, int64_t entries, const O *offsets, const C *columns, const T *values,
          const double *unit, double omega, H *weights) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  const double most = sizeof(typename Number<H>::Real) == sizeof(float) ? 1e30 : 1e300;
  for (int64_t item = blockIdx.y; item < items; item += gridDim.y) {
    const double by = unit ? unit[2 * item] : 1;
    const T *from = values + item * entries;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < rows; i += step) {
      T own = zero<T>();
      double sum = 0;
      for (int64_t p = offsets[i], end = offsets[i + 1]; p < end; ++p) {
        sum += by * modulus_of(from[p]);
        if (columns[p] == i) own = from[p];
      }
      const double diagonal = by * modulus_of(own), d = diagonal > sum / 2 ? diagonal : sum / 2, share = omega / d;
      weights[item * rows + i] = weight_of<H>(d > 0 ? (share < most ? share : most) : 0, own, by);
    }
  }
}

// -- a look ----------------------------------------------------------------------------------------------------------

struct Look {
  double ratio[2], sign[2];
};

/// One row: its largest and smallest size off the diagonal, and the largest size of entries with the diagonal's sign.
template <class T, class O, class C>
__device__ void look_at(const O *offsets, const C *columns, const T *values, int64_t i, double *largest,
                        double *smallest, double *positive) {
  const int64_t begin = offsets[i], end = offsets[i + 1];
  T own = Number<T>::make(1, 0);
  *largest = *positive = 0;
  *smallest = INFINITY;
  for (int64_t p = begin; p < end; ++p) {
    if (columns[p] == i) own = values[p];
  }
  for (int64_t p = begin; p < end; ++p) {
    const double size = modulus_of(values[p]);
    if (columns[p] == i || size == 0) continue;
    *largest = fmax(*largest, size);
    *smallest = fmin(*smallest, size);
    if (real_of(values[p]) * real_of(own) + imag_of(values[p]) * imag_of(own) > 0) *positive = fmax(*positive, size);
  }
}

/// One block: `count` rows are few.
template <class T, class O, class C>
__global__ void __launch_bounds__(BLOCK)
    look_at_rows(int64_t rows, int64_t count, const O *offsets, const C *columns, const T *values,
                 const __grid_constant__ Look look, double *shares) {
  __shared__ int found[2];
  if (threadIdx.x < 2) found[threadIdx.x] = 0;
  __syncthreads();
  for (int64_t s = threadIdx.x; s < count; s += BLOCK) {
    const int64_t i =
        static_cast<int64_t>(static_cast<double>(s) / static_cast<double>(count) * static_cast<double>(rows));
    double largest, smallest, positive;
    look_at(offsets, columns, values, i, &largest, &smallest, &positive);
    for (int l = 0; l < 2; ++l) {
      if (largest > look.ratio[l] * smallest || positive > look.sign[l] * largest) atomicAdd(&found[l], 1);
    }
  }
  __syncthreads();
  if (threadIdx.x < 2)
    shares[threadIdx.x] = count ? static_cast<double>(found[threadIdx.x]) / static_cast<double>(count) : 0;
}

/// f(merge) for the integers of a pattern.
template <class F>
cudaError_t with_merge(const cuda_merge *m, F f) {
  return with_width(m->rows, [&](auto offset, auto column) {
    using O = decltype(offset);
    using C = decltype(column);
    return f(Merge<O, C>{integers<O>(m->rows->offsets), integers<C>(m->rows->columns), m->aggregates, m->starts,
                         m->members});
  });
}

template <class T, class O, class C>
cudaError_t start_values(cudaStream_t stream, const Merge<O, C> &merge, const cuda_merge *m, int64_t items,
                         const void *values, const double *unit, const cuda_rows *coarse, void *out) {
  const dim3 grid(blocks(ceil_div(m->coarse, BLOCK), MAX_X), blocks(items, MAX_YZ));
  return launch(add_values<T, O, C>, grid, stream, merge, m->coarse, items, m->rows->entries, coarse->entries,
                coarse->offsets, integers<int>(coarse->columns), static_cast<const T *>(values), unit,
                static_cast<typename Number<T>::Wide *>(out));
}

}  // namespace

cudaError_t cuda_launch_merge_count(cudaStream_t stream, const cuda_merge *m, cuda_integers offsets, int *is_long) {
  cudaError_t error = cudaMemsetAsync(is_long, 0, sizeof *is_long, stream);
  if (error != cudaSuccess) return error;
  return with_merge(m, [&](auto merge) {
    return launch(count_columns<typename decltype(merge)::Offset, typename decltype(merge)::Column>,
                  dim3(blocks(ceil_div(m->coarse, BLOCK), MAX_X)), stream, merge, m->coarse, offsets, is_long);
  });
}

cudaError_t cuda_launch_merge_fill(cudaStream_t stream, const cuda_merge *m, cuda_index offsets, int *columns) {
  return with_merge(m, [&](auto merge) {
    return launch(fill_columns<typename decltype(merge)::Offset, typename decltype(merge)::Column>,
                  dim3(blocks(ceil_div(m->coarse, BLOCK), MAX_X)), stream, merge, m->coarse, offsets, columns);
  });
}

cudaError_t cuda_launch_merge_values(cudaStream_t stream, lac_dtype dtype, const cuda_merge *m, int64_t items,
                                     const void *values, const double *unit, const cuda_rows *coarse, void *out) {
  if (items == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    return with_merge(m, [&](auto merge) {
      return start_values<decltype(number)>(stream, merge, m, items, values, unit, coarse, out);
    });
  });
}

cudaError_t cuda_launch_level_weights(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_level *level,
                                      double omega, void *weights) {
  const cuda_rows *rows = &level->rows;
  if (level->items == 0 || rows->rows == 0) return cudaSuccess;
  const dim3 grid(blocks(ceil_div(rows->rows, BLOCK), MAX_X), blocks(level->items, MAX_YZ));
  return with_narrow(wide, narrow, [&](auto number, auto half) {
    return with_width(rows, [&](auto offset, auto column) {
      using T = decltype(number);
      using H = decltype(half);
      using O = decltype(offset);
      using C = decltype(column);
      return launch(weigh<T, H, O, C>, grid, stream, rows->rows, level->items, rows->entries,
                    integers<O>(rows->offsets), integers<C>(rows->columns), static_cast<const T *>(level->values),
                    level->unit, omega, static_cast<H *>(weights));
    });
  });
}

cudaError_t cuda_launch_evenness(cudaStream_t stream, lac_dtype dtype, const cuda_rows *rows, const void *values,
                                 int64_t samples, const double ratio[2], const double sign[2], double *shares) {
  const Look look = {{ratio[0], ratio[1]}, {sign[0], sign[1]}};
  const int64_t count = rows->rows < samples ? rows->rows : samples;
  return with_dtype(dtype, [&](auto number) {
    return with_width(rows, [&](auto offset, auto column) {
      using T = decltype(number);
      using O = decltype(offset);
      using C = decltype(column);
      return launch(look_at_rows<T, O, C>, dim3(1), stream, rows->rows, count, integers<O>(rows->offsets),
                    integers<C>(rows->columns), static_cast<const T *>(values), look, shares);
    });
  });
}

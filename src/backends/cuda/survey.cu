// SPDX-License-Identifier: Apache-2.0
/// @file survey.cu
/// What the numbers of matrices say (kernels/survey.h), on the device: parts of rows by blocks of threads, joined by
/// trees that depend on the shape alone.

#include <cfloat>

#include "backends/cuda/grid.cuh"
#include "kernels/survey.h"

using namespace lac_cuda;

namespace {

constexpr int64_t NONE = INT64_MAX;  // no offender: all others come before it

/// A matrix as it is looked at; slots is NULL where entry p has slot p.
template <class T, class O, class C>
struct Matrix {
  using Value = T;
  int64_t rows;
  const O *offsets;
  const C *columns;
  const int64_t *slots64;
  const int32_t *slots32;
  const T *values;

  __device__ T at(int64_t p) const { return values[slots64 ? slots64[p] : slots32 ? slots32[p] : p]; }
};

// -- numbers ---------------------------------------------------------------------------------------------------------

__device__ double size_of(double x) { return fabs(x); }
template <class R>
__device__ double size_of(Complex<R> x) {
  return fabs(static_cast<double>(x.re)) + fabs(static_cast<double>(x.im));
}
__device__ double modulus_of(double x) { return fabs(x); }
template <class R>
__device__ double modulus_of(Complex<R> x) {
  return hypot(static_cast<double>(x.re), static_cast<double>(x.im));
}
__device__ double real_of(double x) { return x; }
template <class R>
__device__ double real_of(Complex<R> x) {
  return static_cast<double>(x.re);
}
template <class T>
__device__ bool is_same(T x, T y) {
  return x == y;
}
template <class R>
__device__ bool is_same(Complex<R> x, Complex<R> y) {
  return x.re == y.re && x.im == y.im;
}
template <class T>
__device__ double epsilon() {
  return sizeof(typename Number<T>::Real) == sizeof(float) ? static_cast<double>(FLT_EPSILON) : DBL_EPSILON;
}

template <class T>
__device__ bool mirrors(T here, T there) {
  there = conj_of(there);
  if (is_same(here, there)) return true;
  return size_of(here - there) <= LAC_SURVEY_ROUNDINGS * epsilon<T>() * fmax(size_of(here), size_of(there));
}

/// The sum off a diagonal entry, as a share of the entry; a zero entry does not dominate.
__device__ double share_of(double beside, double diagonal) {
  return diagonal > 0 && isfinite(beside) ? beside / diagonal : static_cast<double>(INFINITY);
}

// -- parts -----------------------------------------------------------------------------------------------------------

__device__ cuda_survey_part part_begin() { return {NONE, NONE, NONE, NONE, 0, 0, 0, 0, 0}; }

__device__ int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }

__device__ void join(cuda_survey_part &all, const cuda_survey_part &one) {
  all.nonfinite = earlier(all.nonfinite, one.nonfinite);
  all.asymmetric = earlier(all.asymmetric, one.asymmetric);
  all.not_positive = earlier(all.not_positive, one.not_positive);
  all.without = earlier(all.without, one.without);
  all.excess += one.excess;
  all.positive += one.positive;
  all.beside += one.beside;
  all.dominance = fmax(all.dominance, one.dominance);
  all.largest = fmax(all.largest, one.largest);
}

__device__ bool is_m_like(const cuda_survey_part &part) {
  return part.not_positive == NONE && part.positive <= LAC_SURVEY_SHARE * part.beside;
}

__device__ bool is_hermitian(const cuda_survey_part &part) { return part.asymmetric == NONE && part.excess == 0; }

/// Whether dominance by moduli or by columns may still decide.
__device__ bool wants(const cuda_survey_part &part) {
  bool is_definite = is_hermitian(part) && part.not_positive == NONE;
  return part.dominance >= 1 && !is_definite && part.without == NONE && !is_m_like(part);
}

/// The parts of a block's threads, joined in a fixed order; thread 0 has the result.
__device__ cuda_survey_part block_join(cuda_survey_part part) {
  __shared__ cuda_survey_part parts[BLOCK];
  parts[threadIdx.x] = part;
  for (unsigned width = BLOCK / 2; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) join(parts[threadIdx.x], parts[threadIdx.x + width]);
  }
  if (threadIdx.x == 0) part = parts[0];
  __syncthreads();
  return part;
}

// -- rows ------------------------------------------------------------------------------------------------------------

/// The place of (i, j), or -1. Columns ascend.
template <class M>
__device__ int64_t find(const M &m, int64_t i, int64_t j) {
  int64_t low = m.offsets[i], high = m.offsets[i + 1], end = high;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (m.columns[middle] < j) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < end && m.columns[low] == j ? low : -1;
}

/// The place of (j, i), the mirror of the entry (i, j) that is `from_begin` behind the first of its row. Rows of a
/// stencil mirror each other: there it is as far from the end of its own.
template <class M>
__device__ int64_t mirror_of(const M &m, int64_t i, int64_t j, int64_t from_begin) {
  int64_t guess = m.offsets[j + 1] - 1 - from_begin;
  if (guess >= m.offsets[j] && m.columns[guess] == i) return guess;
  return find(m, j, i);
}

/// Whether (i, j) and (j, i) differ by rounding of the diagonal alone.
template <class M, class T>
__device__ bool cancels(const M &m, int64_t i, int64_t j, T here, T there) {
  int64_t p = find(m, i, i), q = find(m, j, j);
  if (p < 0 || q < 0) return false;
  double unit = sqrt(size_of(m.values[p])) * sqrt(size_of(m.values[q]));
  return size_of(here - conj_of(there)) <= LAC_SURVEY_ROUNDINGS * epsilon<T>() * unit;
}

/// An entry off the diagonal. Each above it looks for its mirror; when there are as many below, all have one.
template <class M, class T>
__device__ void look(const M &m, int64_t i, int64_t j, int64_t p, int64_t begin, T a, cuda_survey_part &part,
                     double &beside) {
  double real = real_of(a);
  part.positive += real > 0 ? real : 0;
  beside += size_of(a);
  part.excess += j > i ? 1 : -1;
  if (j < i || 2 * p > part.asymmetric) return;
  int64_t mirror = mirror_of(m, i, j, p - begin);
  if (mirror >= 0 && (mirrors(a, m.values[mirror]) || cancels(m, i, j, a, m.values[mirror]))) return;
  part.asymmetric = earlier(part.asymmetric, 2 * p + (mirror < 0));
}

/// The lane's entries of a row; what its lane 0 says of the row as a whole.
template <int G, class M>
__device__ void look_at_row(const M &m, int64_t i, int lane, cuda_survey_part &part) {
  using T = typename M::Value;
  double beside = 0;
  T diagonal = zero<T>();
  if (i < m.rows) {
    int64_t begin = m.offsets[i], end = m.offsets[i + 1];
    for (int64_t p = begin + lane; p < end; p += G) {
      T a = m.values[p];
      double size = size_of(a);
      int64_t j = m.columns[p];
      if (!isfinite(size)) part.nonfinite = earlier(part.nonfinite, p);
      part.largest = fmax(part.largest, size);
      if (j != i) {
        look(m, i, j, p, begin, a, part, beside);
        continue;
      }
      diagonal = a;
      if (!mirrors(a, a)) part.asymmetric = earlier(part.asymmetric, 2 * p);
    }
  }
  beside = group_sum<G>(beside);
  diagonal = group_sum<G>(diagonal);
  if (i >= m.rows || lane != 0) return;
  part.beside += beside;
  part.dominance = fmax(part.dominance, share_of(beside, modulus_of(diagonal)));
  if (!(real_of(diagonal) > 0)) part.not_positive = earlier(part.not_positive, i);
  if (size_of(diagonal) == 0) part.without = earlier(part.without, i);
}

/// Block b of a matrix takes `length` rows. A warp's lanes stay together, for the sums over groups.
template <int G, class M>
__global__ void __launch_bounds__(BLOCK)
    survey_rows(M m, int64_t nnz, int64_t items, int64_t length, cuda_survey_part *parts) {
  int lane = static_cast<int>(threadIdx.x) % G, group = static_cast<int>(threadIdx.x) / G;
  int64_t first = static_cast<int64_t>(blockIdx.x) * length;
  const typename M::Value *all = m.values;
  for (int64_t item = blockIdx.y; item < items; item += gridDim.y) {
    cuda_survey_part part = part_begin();
    m.values = all + item * nnz;
    for (int64_t r = 0; r < length; r += BLOCK / G) {
      int64_t i = first + r + group;
      look_at_row<G>(m, r + group < length ? i : m.rows, lane, part);
    }
    part = block_join(part);
    if (threadIdx.x == 0) parts[item * gridDim.x + blockIdx.x] = part;
  }
}

/// The largest share of a row, by moduli, of the items that want a closer look. Numbers that are not negative are
/// ordered as their bits.
template <int G, class M>
__global__ void __launch_bounds__(BLOCK)
    survey_shares(M m, int64_t nnz, int64_t items, const cuda_survey_part *of_items, double *shares) {
  int lane = static_cast<int>(threadIdx.x) % G;
  int64_t step = static_cast<int64_t>(gridDim.x) * (BLOCK / G);
  const typename M::Value *all = m.values;
  for (int64_t item = blockIdx.y; item < items; item += gridDim.y) {
    if (!wants(of_items[item])) continue;
    double most = 0;
    m.values = all + item * nnz;
    for (int64_t base = static_cast<int64_t>(blockIdx.x) * (BLOCK / G); base < m.rows; base += step) {
      int64_t i = base + static_cast<int>(threadIdx.x) / G;
      double beside = 0, diagonal = 0;
      for (int64_t p = i < m.rows ? m.offsets[i] + lane : 0; i < m.rows && p < m.offsets[i + 1]; p += G) {
        (m.columns[p] == i ? diagonal : beside) += modulus_of(m.at(p));
      }
      beside = group_sum<G>(beside), diagonal = group_sum<G>(diagonal);
      if (i < m.rows && lane == 0) most = fmax(most, share_of(beside, diagonal));
    }
    for (int d = 16; d > 0; d /= 2) most = fmax(most, __shfl_xor_sync(0xffffffffu, most, d));
    if (threadIdx.x % 32 == 0) {
      atomicMax(reinterpret_cast<unsigned long long *>(&shares[item]),
                static_cast<unsigned long long>(__double_as_longlong(most)));
    }
  }
}

/// The first entry whose mirror is not stored.
template <class M>
__global__ void __launch_bounds__(BLOCK) survey_unpaired(M m, unsigned long long *first) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < m.rows; i += step) {
    for (int64_t p = m.offsets[i], end = m.offsets[i + 1]; p < end; ++p) {
      if (m.columns[p] != i && find(m, m.columns[p], i) < 0) {
        atomicMin(first, static_cast<unsigned long long>(p));
        break;
      }
    }
  }
}

template <class T>
__global__ void __launch_bounds__(BLOCK) survey_finite(const T *values, int64_t count, unsigned long long *first) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t p = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; p < count; p += step) {
    if (isfinite(size_of(values[p]))) continue;
    atomicMin(first, static_cast<unsigned long long>(p));
    break;
  }
}

// -- matrices --------------------------------------------------------------------------------------------------------

/// A block of threads joins the parts of a matrix.
__global__ void __launch_bounds__(BLOCK) survey_items(int64_t parts_each, int64_t items, const cuda_survey_part *parts,
                                                      cuda_survey_part *of_items, double *largest) {
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    cuda_survey_part part = part_begin();
    for (int64_t b = threadIdx.x; b < parts_each; b += BLOCK) join(part, parts[item * parts_each + b]);
    part = block_join(part);
    if (threadIdx.x == 0) of_items[item] = part, largest[item] = part.largest;
  }
}

/// A slot or row of the first item that has one, and the item.
__device__ void note(int64_t found, int64_t item, cuda_survey_place &place) {
  if (found != NONE && item < place.item) place = {found, item};
}

__device__ void join_places(cuda_survey_place &all, const cuda_survey_place &one) {
  if (one.item < all.item) all = one;
}

__device__ void take(const cuda_survey_part &part, int64_t item, const cuda_survey_shares &shares,
                     cuda_survey_all &all) {
  double dominance = part.dominance;
  note(part.nonfinite, item, all.nonfinite);
  note(part.asymmetric, item, all.asymmetric);
  note(part.not_positive, item, all.not_positive);
  note(part.without, item, all.without);
  if (part.excess != 0) all.is_uneven = 1;
  if (!is_m_like(part)) all.is_m_like = 0;
  if (wants(part)) {
    if (shares.rows) dominance = fmin(dominance, shares.rows[item]);
    if (shares.columns && !is_hermitian(part) && !(dominance < 1)) dominance = fmin(dominance, shares.columns[item]);
    all.wants_rows = 1;
    if (!is_hermitian(part)) all.wants_columns = 1;
  }
  all.dominance = fmax(all.dominance, dominance);
}

/// One block of threads takes all items.
__global__ void __launch_bounds__(BLOCK)
    survey_all(int64_t items, const cuda_survey_part *of_items, cuda_survey_shares shares, cuda_survey_all *out) {
  __shared__ cuda_survey_all parts[BLOCK];
  const cuda_survey_place nowhere = {NONE, NONE};
  cuda_survey_all all = {nowhere, nowhere, nowhere, nowhere, 0, 0, 1, 0, 0};
  for (int64_t item = threadIdx.x; item < items; item += BLOCK) take(of_items[item], item, shares, all);
  parts[threadIdx.x] = all;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int t = 1; t < BLOCK && t < items; ++t) {
    join_places(all.nonfinite, parts[t].nonfinite);
    join_places(all.asymmetric, parts[t].asymmetric);
    join_places(all.not_positive, parts[t].not_positive);
    join_places(all.without, parts[t].without);
    all.dominance = fmax(all.dominance, parts[t].dominance);
    all.is_uneven |= parts[t].is_uneven;
    all.is_m_like &= parts[t].is_m_like;
    all.wants_rows |= parts[t].wants_rows;
    all.wants_columns |= parts[t].wants_columns;
  }
  *out = all;
}

// -- launching -------------------------------------------------------------------------------------------------------

template <class T, class O, class C>
Matrix<T, O, C> matrix_of(const cuda_rows *rows, const void *values) {
  bool is_wide = rows->slots.type == LAC_I64;
  return {rows->rows,
          integers<O>(rows->offsets),
          integers<C>(rows->columns),
          is_wide ? integers<int64_t>(rows->slots) : nullptr,
          is_wide ? nullptr : integers<int32_t>(rows->slots),
          static_cast<const T *>(values)};
}

/// f(matrix) for the types of numbers and indices.
template <class F>
cudaError_t with_matrix(lac_dtype dtype, const cuda_rows *rows, const void *values, F f) {
  return with_dtype(dtype, [&](auto number) {
    return with_width(rows, [&](auto offset, auto column) {
      return f(matrix_of<decltype(number), decltype(offset), decltype(column)>(rows, values));
    });
  });
}

/// Threads that share a row.
int group_of(const cuda_rows *rows) {
  int64_t mean = rows->rows ? rows->entries / rows->rows : 0;
  return mean <= 8 ? 1 : mean <= 64 ? 8 : 32;
}

/// f(std::integral_constant) for that number.
template <class F>
cudaError_t with_group(const cuda_rows *rows, F f) {
  int group = group_of(rows);
  if (group == 1) return f(std::integral_constant<int, 1>{});
  return group == 8 ? f(std::integral_constant<int, 8>{}) : f(std::integral_constant<int, 32>{});
}

/// Rows of a block.
int64_t length_of(const cuda_rows *rows) {
  int64_t least = static_cast<int64_t>(BLOCK / group_of(rows)) * 4, even = ceil_div(rows->rows, 4096);
  return least > even ? least : ceil_div(even, BLOCK) * BLOCK;
}

}  // namespace

int64_t cuda_survey_parts(const cuda_rows *rows) { return rows->rows ? ceil_div(rows->rows, length_of(rows)) : 1; }

cudaError_t cuda_launch_survey(cudaStream_t stream, lac_dtype dtype, const cuda_rows *rows, int64_t items,
                               const void *values, cuda_survey_part *parts, cuda_survey_part *of_items,
                               double *largest) {
  int64_t each = cuda_survey_parts(rows);
  dim3 grid(blocks(each, MAX_X), blocks(items, MAX_YZ));
  cudaError_t error = with_matrix(dtype, rows, values, [&](auto m) {
    return with_group(rows, [&](auto group) {
      return launch(survey_rows<decltype(group)::value, decltype(m)>, grid, stream, m, rows->entries, items,
                    length_of(rows), parts);
    });
  });
  if (error != cudaSuccess) return error;
  return launch(survey_items, blocks(items, MAX_X), stream, each, items, parts, of_items, largest);
}

cudaError_t cuda_launch_survey_shares(cudaStream_t stream, lac_dtype dtype, const cuda_rows *rows, int64_t items,
                                      const void *values, const cuda_survey_part *of_items, double *shares) {
  cudaError_t error = cudaMemsetAsync(shares, 0, static_cast<size_t>(items) * sizeof *shares, stream);
  if (error != cudaSuccess) return error;
  return with_matrix(dtype, rows, values, [&](auto m) {
    return with_group(rows, [&](auto group) {
      constexpr int G = decltype(group)::value;
      dim3 grid(blocks(ceil_div(rows->rows, BLOCK / G), 4096), blocks(items, MAX_YZ));
      return launch(survey_shares<G, decltype(m)>, grid, stream, m, rows->entries, items, of_items, shares);
    });
  });
}

cudaError_t cuda_launch_survey_all(cudaStream_t stream, int64_t items, const cuda_survey_part *of_items,
                                   cuda_survey_shares shares, cuda_survey_all *out) {
  return launch(survey_all, 1, stream, items, of_items, shares, out);
}

cudaError_t cuda_launch_survey_unpaired(cudaStream_t stream, const cuda_rows *rows, int64_t *first) {
  cudaError_t error = cudaMemsetAsync(first, 0xff, sizeof *first, stream);
  if (error != cudaSuccess) return error;
  return with_matrix(LAC_F64, rows, nullptr, [&](auto m) {
    return launch(survey_unpaired<decltype(m)>, blocks(ceil_div(rows->rows, BLOCK), MAX_X), stream, m,
                  reinterpret_cast<unsigned long long *>(first));
  });
}

cudaError_t cuda_launch_survey_finite(cudaStream_t stream, lac_dtype dtype, int64_t count, const void *values,
                                      int64_t *first) {
  cudaError_t error = cudaMemsetAsync(first, 0xff, sizeof *first, stream);
  if (error != cudaSuccess || count == 0) return error;
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return launch(survey_finite<T>, blocks(ceil_div(count, BLOCK), 4096), stream, static_cast<const T *>(values), count,
                  reinterpret_cast<unsigned long long *>(first));
  });
}

// SPDX-License-Identifier: Apache-2.0
/// @file circulant.cu
/// Columns to and from Fourier space, where circulants are diagonal, and direct products for few unknowns. Two columns
/// of reals travel as one of complex numbers: a real matrix keeps them apart.

#include "backends/cuda/solves/quotient.cuh"
#include "backends/cuda/solves/wait.cuh"
#include "backends/cuda/structured/structured.h"

using namespace lac_cuda;

namespace {

using Wide = Complex<double>;

Wide *wide(cuda_wide *x) { return reinterpret_cast<Wide *>(x); }
const Wide *wide(const cuda_wide *x) { return reinterpret_cast<const Wide *>(x); }

__device__ Wide widen(float x) { return {x, 0}; }
__device__ Wide widen(double x) { return {x, 0}; }
template <class R>
__device__ Wide widen(Complex<R> x) {
  return {x.re, x.im};
}

__device__ int64_t thread_index() { return static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; }
__device__ int64_t thread_count() { return static_cast<int64_t>(gridDim.x) * BLOCK; }
dim3 grid_of(int64_t count, int64_t batch) {
  return dim3(blocks(ceil_div(count, BLOCK), MAX_X), blocks(batch, MAX_YZ));
}

bool is_complex(lac_dtype dtype) { return dtype == LAC_C64 || dtype == LAC_C128; }

// -- direct ----------------------------------------------------------------------------------------------------------

/// y[i, j] = sum over p of op(C)[i, p] x[p, j]
template <class T>
__global__ void __launch_bounds__(BLOCK)
    direct_mm(int64_t n, int64_t k, const __grid_constant__ cuda_axes items, int transposed, int conj,
              const T *__restrict__ c, const T *__restrict__ x, T *__restrict__ y) {
  using Sum = typename Number<T>::Wide;
  for (int64_t item = blockIdx.y; item < items.count; item += gridDim.y) {
    const Offsets at = locate(items, item);
    for (int64_t e = thread_index(); e < n * k; e += thread_count()) {
      const int64_t i = e / k, j = e - i * k;
      Sum sum = zero<Sum>();
      for (int64_t p = 0; p < n; ++p) {
        const int64_t d = transposed ? p - i : i - p;
        const T value = conj_if(conj, c[at.x + (d < 0 ? d + n : d)]);
        sum = sum + cast<Sum>(value) * cast<Sum>(x[at.y + p * k + j]);
      }
      y[item * n * k + e] = cast<T>(sum);
    }
  }
}

/// s[d] = sum over i and j of u[i, j] conj(v[i - d, j]), a warp each.
template <class T>
__global__ void __launch_bounds__(BLOCK)
    direct_outer(int64_t n, int64_t k, const __grid_constant__ cuda_axes items, const T *__restrict__ u,
                 const T *__restrict__ v, T *__restrict__ s) {
  using Sum = typename Number<T>::Wide;
  Groups<32> groups;
  for (int64_t e = groups.first; e < items.count * n; e += groups.step) {
    const int64_t item = e / n, d = e - item * n;
    const Offsets at = locate(items, item);
    Sum sum = zero<Sum>();
    for (int64_t place = groups.lane; place < n * k; place += 32) {
      const int64_t i = place / k, from = i < d ? i - d + n : i - d;
      sum = sum + cast<Sum>(u[at.x + place]) * conj_of(cast<Sum>(v[at.y + place + (from - i) * k]));
    }
    sum = group_sum<32>(sum);
    if (groups.lane == 0) s[e] = cast<T>(sum);
  }
}

// -- to and from Fourier space ---------------------------------------------------------------------------------------

template <class T>
__global__ void __launch_bounds__(BLOCK)
    load_first(int64_t n, int64_t items, int transposed, int conj, const T *__restrict__ c, Wide *__restrict__ to) {
  for (int64_t e = thread_index(); e < n * items; e += thread_count()) {
    const int64_t item = e / n, i = e - item * n;
    to[e] = widen(conj_if(conj, c[item * n + (transposed && i ? n - i : i)]));
  }
}

/// The largest size of an item, and the reciprocals; a block each.
__global__ void __launch_bounds__(BLOCK)
    invert(int64_t n, int64_t items, double tolerance, Wide *c, unsigned long long *fault) {
  __shared__ double most[BLOCK];
  const int me = static_cast<int>(threadIdx.x);
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    Wide *mine = c + item * n;
    double largest = 0;
    for (int64_t f = me; f < n; f += BLOCK) largest = fmax(largest, hypot(mine[f].re, mine[f].im));
    most[me] = largest;
    for (int apart = BLOCK / 2; apart > 0; apart /= 2) {
      __syncthreads();
      if (me < apart) most[me] = fmax(most[me], most[me + apart]);
    }
    __syncthreads();
    for (int64_t f = me; f < n; f += BLOCK) {
      if (hypot(mine[f].re, mine[f].im) <= tolerance * most[0]) {
        atomicMin(fault, static_cast<unsigned long long>(item * n + f));
      }
      mine[f] = quotient(Wide{1, 0}, mine[f]);
    }
    __syncthreads();
  }
}

/// Columns that a transform takes: one, or two of reals.
struct Units {
  int64_t n, k, first, count, units;
  int paired;
};

/// to[item, unit, i] = column j of x, and column j + 1 as imaginary part where there is one and they are paired.
template <class T>
__global__ void __launch_bounds__(BLOCK) gather(Units m, const __grid_constant__ cuda_axes items, int operand,
                                                const T *__restrict__ x, Wide *__restrict__ to) {
  for (int64_t item = blockIdx.y; item < items.count; item += gridDim.y) {
    const Offsets at = locate(items, item);
    const T *from = x + (operand ? at.y : at.x) + m.first;
    for (int64_t e = thread_index(); e < m.n * m.units; e += thread_count()) {
      const int64_t i = e / m.units, unit = e - i * m.units, j = m.paired ? 2 * unit : unit;
      Wide value = widen(from[i * m.k + j]);
      if (m.paired && j + 1 < m.count) value.im = widen(from[i * m.k + j + 1]).re;
      to[(item * m.units + unit) * m.n + i] = value;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    store_columns(Units m, int64_t items, const Wide *__restrict__ from, T *__restrict__ y) {
  const double factor = 1 / static_cast<double>(m.n);
  for (int64_t item = blockIdx.y; item < items; item += gridDim.y) {
    T *to = y + item * m.n * m.k + m.first;
    for (int64_t e = thread_index(); e < m.n * m.units; e += thread_count()) {
      const int64_t i = e / m.units, unit = e - i * m.units, j = m.paired ? 2 * unit : unit;
      const Wide value = conj_of(from[(item * m.units + unit) * m.n + i]);
      to[i * m.k + j] = Number<T>::make(factor * value.re, factor * value.im);
      if (m.paired && j + 1 < m.count) to[i * m.k + j + 1] = Number<T>::make(factor * value.im, 0);
    }
  }
}

__global__ void __launch_bounds__(BLOCK)
    multiply(Units m, const __grid_constant__ cuda_axes items, const Wide *__restrict__ c, Wide *__restrict__ x) {
  for (int64_t item = blockIdx.y; item < items.count; item += gridDim.y) {
    const Wide *mine = c + locate(items, item).x;
    Wide *row = x + item * m.units * m.n;
    for (int64_t e = thread_index(); e < m.n * m.units; e += thread_count()) {
      row[e] = conj_of(row[e] * mine[e % m.n]);
    }
  }
}

/// sums[item, f] = sum over the columns of u conj(v), in order.
__global__ void __launch_bounds__(BLOCK)
    add_columns(int64_t n, int64_t items, int64_t count, int adds, const Wide *__restrict__ u,
                const Wide *__restrict__ v, Wide *__restrict__ sums) {
  for (int64_t e = thread_index(); e < n * items; e += thread_count()) {
    const int64_t item = e / n, f = e - item * n;
    Wide sum = adds ? sums[e] : Wide{0, 0};
    for (int64_t j = 0; j < count; ++j) {
      const int64_t at = (item * count + j) * n + f;
      sum = sum + u[at] * conj_of(v[at]);
    }
    sums[e] = sum;
  }
}

__global__ void __launch_bounds__(BLOCK) conjugate(int64_t count, Wide *x) {
  for (int64_t e = thread_index(); e < count; e += thread_count()) x[e] = conj_of(x[e]);
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    store_sums(int64_t n, int64_t count, const Wide *__restrict__ sums, T *__restrict__ s) {
  for (int64_t e = thread_index(); e < count; e += thread_count()) {
    const Wide value = conj_of(sums[e]);
    s[e] = Number<T>::make(value.re / static_cast<double>(n), value.im / static_cast<double>(n));
  }
}

Units units_of(const cuda_circulant_part *part, int paired) {
  paired = paired && !is_complex(part->dtype);
  return {part->n, part->k, part->first, part->count, paired ? (part->count + 1) / 2 : part->count, paired};
}

}  // namespace

int64_t cuda_circulant_units(const cuda_circulant_part *part, int paired) { return units_of(part, paired).units; }

cudaError_t cuda_launch_circulant_direct(cudaStream_t stream, const cuda_circulant_part *part, int transposed, int conj,
                                         const void *c, const void *x, void *y) {
  const cuda_axes &items = part->batch.kept;
  return with_dtype(part->dtype, [&](auto number) {
    using T = decltype(number);
    return launch(direct_mm<T>, grid_of(part->n * part->k, items.count), stream, part->n, part->k, items, transposed,
                  conj, static_cast<const T *>(c), static_cast<const T *>(x), static_cast<T *>(y));
  });
}

cudaError_t cuda_launch_circulant_direct_outer(cudaStream_t stream, const cuda_circulant_part *part, const void *u,
                                               const void *v, void *s) {
  const cuda_axes &items = part->batch.kept;
  return with_dtype(part->dtype, [&](auto number) {
    using T = decltype(number);
    return launch(direct_outer<T>, grid_of(items.count * part->n * 32, 1), stream, part->n, part->k, items,
                  static_cast<const T *>(u), static_cast<const T *>(v), static_cast<T *>(s));
  });
}

cudaError_t cuda_launch_circulant_load(cudaStream_t stream, lac_dtype dtype, int64_t n, int64_t items, int transposed,
                                       int conj, const void *c, cuda_wide *to) {
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return launch(load_first<T>, grid_of(n * items, 1), stream, n, items, transposed, conj, static_cast<const T *>(c),
                  wide(to));
  });
}

cudaError_t cuda_launch_circulant_invert(cudaStream_t stream, int64_t n, int64_t items, double tolerance, cuda_wide *c,
                                         uint64_t *fault) {
  cudaError_t error = cudaMemsetAsync(fault, 0xff, sizeof *fault, stream);
  if (error != cudaSuccess) return error;
  return launch(invert, blocks(items, MAX_X), stream, n, items, tolerance, wide(c),
                reinterpret_cast<unsigned long long *>(fault));
}

cudaError_t cuda_launch_circulant_gather(cudaStream_t stream, const cuda_circulant_part *part, int operand, int paired,
                                         const void *x, cuda_wide *to) {
  const cuda_axes &items = part->batch.kept;
  const Units units = units_of(part, paired);
  return with_dtype(part->dtype, [&](auto number) {
    using T = decltype(number);
    return launch(gather<T>, grid_of(units.n * units.units, items.count), stream, units, items, operand,
                  static_cast<const T *>(x), wide(to));
  });
}

cudaError_t cuda_launch_circulant_store(cudaStream_t stream, const cuda_circulant_part *part, const cuda_wide *from,
                                        void *y) {
  const int64_t items = part->batch.kept.count;
  const Units units = units_of(part, 1);
  return with_dtype(part->dtype, [&](auto number) {
    using T = decltype(number);
    return launch(store_columns<T>, grid_of(units.n * units.units, items), stream, units, items, wide(from),
                  static_cast<T *>(y));
  });
}

cudaError_t cuda_launch_circulant_multiply(cudaStream_t stream, const cuda_circulant_part *part, const cuda_wide *c,
                                           cuda_wide *x) {
  const cuda_axes &items = part->batch.kept;
  const Units units = units_of(part, 1);
  return launch(multiply, grid_of(units.n * units.units, items.count), stream, units, items, wide(c), wide(x));
}

cudaError_t cuda_launch_circulant_add(cudaStream_t stream, const cuda_circulant_part *part, int adds,
                                      const cuda_wide *u, const cuda_wide *v, cuda_wide *sums) {
  const int64_t items = part->batch.kept.count;
  return launch(add_columns, grid_of(part->n * items, 1), stream, part->n, items, part->count, adds, wide(u), wide(v),
                wide(sums));
}

cudaError_t cuda_launch_circulant_conj(cudaStream_t stream, int64_t count, cuda_wide *x) {
  return launch(conjugate, grid_of(count, 1), stream, count, wide(x));
}

cudaError_t cuda_launch_circulant_sums(cudaStream_t stream, lac_dtype dtype, int64_t n, int64_t items,
                                       const cuda_wide *sums, void *s) {
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return launch(store_sums<T>, grid_of(n * items, 1), stream, n, n * items, wide(sums), static_cast<T *>(s));
  });
}

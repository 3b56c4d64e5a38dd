// SPDX-License-Identifier: Apache-2.0
/// @file fft.cu
/// Fourier transforms of any length in double precision, many at a time.
///
/// Lengths without a prime factor over 13: Stockham's method in passes, which sorts as it goes, a thread to a
/// butterfly. A pass of R over sequences of length m that lie `stride` apart:
///
///     y[R p + k] = exp(-2 pi i p k / m) sum_j exp(-2 pi i j k / R) x[p + j m / R]
///
/// Other lengths: Bluestein's, j k = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution with a chirp, and
/// that is done by a length of the first kind.

#include "backends/cuda/grid.cuh"
#include "backends/cuda/structured/structured.h"

using namespace lac_cuda;

namespace {

using Wide = Complex<double>;

Wide *wide(cuda_wide *x) { return reinterpret_cast<Wide *>(x); }
const Wide *wide(const cuda_wide *x) { return reinterpret_cast<const Wide *>(x); }

/// exp(-i pi x)
__device__ Wide turn(double x) {
  Wide w;
  sincospi(-x, &w.im, &w.re);
  return w;
}

__device__ int64_t thread_index() { return static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; }
__device__ int64_t thread_count() { return static_cast<int64_t>(gridDim.x) * BLOCK; }
dim3 grid_of(int64_t count, int64_t batch) {
  return dim3(blocks(ceil_div(count, BLOCK), MAX_X), blocks(batch, MAX_YZ));
}

// -- passes ----------------------------------------------------------------------------------------------------------

template <int R>
__device__ void butterfly(const Wide *__restrict__ roots, int64_t size, const Wide (&x)[R], Wide (&y)[R]) {
  Wide root[R];
#pragma unroll
  for (int j = 0; j < R; ++j) root[j] = roots[j * (size / R)];
#pragma unroll
  for (int k = 0; k < R; ++k) {
    y[k] = x[0];
#pragma unroll
    for (int j = 1; j < R; ++j) y[k] = y[k] + root[j * k % R] * x[j];
  }
}
template <>
__device__ void butterfly<2>(const Wide *__restrict__, int64_t, const Wide (&x)[2], Wide (&y)[2]) {
  y[0] = x[0] + x[1];
  y[1] = x[0] - x[1];
}
template <>
__device__ void butterfly<4>(const Wide *__restrict__, int64_t, const Wide (&x)[4], Wide (&y)[4]) {
  const Wide even = x[0] + x[2], odd = x[0] - x[2], sum = x[1] + x[3], rest = x[1] - x[3];
  const Wide turned = {-rest.im, rest.re};  // times i
  y[0] = even + sum;
  y[1] = odd - turned;
  y[2] = even - sum;
  y[3] = odd + turned;
}

template <int R>
__global__ void __launch_bounds__(BLOCK) fft_pass(const Wide *__restrict__ roots, int64_t size, int64_t stride,
                                                  int64_t count, const Wide *__restrict__ from, Wide *__restrict__ to) {
  const int64_t part = size / R;
  for (int64_t t = blockIdx.y; t < count; t += gridDim.y) {
    for (int64_t b = thread_index(); b < part; b += thread_count()) {
      const int64_t p = b / stride, q = b - p * stride;
      Wide x[R], y[R];
#pragma unroll
      for (int j = 0; j < R; ++j) x[j] = from[t * size + b + j * part];
      butterfly<R>(roots, size, x, y);
      Wide *out = to + t * size + R * p * stride + q;
      out[0] = y[0];
#pragma unroll
      for (int k = 1; k < R; ++k) out[k * stride] = roots[p * k * stride] * y[k];
    }
  }
}

template <int R>
cudaError_t run_pass(cudaStream_t stream, const Wide *roots, int64_t size, int64_t stride, int64_t count,
                     const Wide *from, Wide *to) {
  return launch(fft_pass<R>, grid_of(size / R, count), stream, roots, size, stride, count, from, to);
}

cudaError_t run_radix(cudaStream_t stream, int radix, const Wide *roots, int64_t size, int64_t stride, int64_t count,
                      const Wide *from, Wide *to) {
  switch (radix) {
    case 2:
      return run_pass<2>(stream, roots, size, stride, count, from, to);
    case 3:
      return run_pass<3>(stream, roots, size, stride, count, from, to);
    case 4:
      return run_pass<4>(stream, roots, size, stride, count, from, to);
    case 5:
      return run_pass<5>(stream, roots, size, stride, count, from, to);
    case 7:
      return run_pass<7>(stream, roots, size, stride, count, from, to);
    case 11:
      return run_pass<11>(stream, roots, size, stride, count, from, to);
    default:
      return run_pass<13>(stream, roots, size, stride, count, from, to);
  }
}

/// x [count, size] becomes its transforms; room has as many numbers.
cudaError_t transform(cudaStream_t stream, const cuda_fft *fft, int64_t count, Wide *x, Wide *room) {
  Wide *from = x, *to = room;
  int64_t stride = 1;
  for (int pass = 0; pass < fft->passes; ++pass) {
    cudaError_t error = run_radix(stream, fft->radix[pass], wide(fft->roots), fft->size, stride, count, from, to);
    if (error != cudaSuccess) return error;
    stride *= fft->radix[pass];
    Wide *kept = from;
    from = to;
    to = kept;
  }
  if (from == x) return cudaSuccess;
  return cudaMemcpyAsync(x, from, static_cast<size_t>(count * fft->size) * sizeof *x, cudaMemcpyDeviceToDevice, stream);
}

// -- tables ----------------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(BLOCK) fill_roots(int64_t size, Wide *roots) {
  for (int64_t k = thread_index(); k < size; k += thread_count()) {
    roots[k] = turn(2 * static_cast<double>(k) / static_cast<double>(size));
  }
}

/// j^2 is taken modulo 2 n before it becomes an angle; the kernel is the conjugate chirp, wrapped around.
__global__ void __launch_bounds__(BLOCK) fill_chirp(int64_t n, int64_t size, Wide *chirp, Wide *kernel) {
  for (int64_t i = thread_index(); i < size; i += thread_count()) {
    const int64_t j = i < n ? i : size - i;
    kernel[i] = {0, 0};
    if (j >= n) continue;
    const Wide w = turn(static_cast<double>(j * j % (2 * n)) / static_cast<double>(n));
    if (i < n) chirp[i] = w;
    kernel[i] = {w.re / static_cast<double>(size), -w.im / static_cast<double>(size)};
  }
}

// -- Bluestein -------------------------------------------------------------------------------------------------------

/// to [count, size] = x chirp, and zeros behind it.
__global__ void __launch_bounds__(BLOCK)
    chirp_in(int64_t n, int64_t size, int64_t count, const Wide *__restrict__ chirp, const Wide *__restrict__ x,
             Wide *__restrict__ to) {
  for (int64_t t = blockIdx.y; t < count; t += gridDim.y) {
    for (int64_t i = thread_index(); i < size; i += thread_count()) {
      to[t * size + i] = i < n ? x[t * n + i] * chirp[i] : Wide{0, 0};
    }
  }
}

/// x = conj(x kernel): the inverse transform is the conjugate of the transform of the conjugate.
__global__ void __launch_bounds__(BLOCK)
    chirp_convolve(int64_t size, int64_t count, const Wide *__restrict__ kernel, Wide *__restrict__ x) {
  for (int64_t t = blockIdx.y; t < count; t += gridDim.y) {
    for (int64_t i = thread_index(); i < size; i += thread_count()) {
      x[t * size + i] = conj_of(x[t * size + i] * kernel[i]);
    }
  }
}

__global__ void __launch_bounds__(BLOCK)
    chirp_out(int64_t n, int64_t size, int64_t count, const Wide *__restrict__ chirp, const Wide *__restrict__ from,
              Wide *__restrict__ x) {
  for (int64_t t = blockIdx.y; t < count; t += gridDim.y) {
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
      x[t * n + i] = conj_of(from[t * size + i]) * chirp[i];
    }
  }
}

}  // namespace

cudaError_t cuda_launch_fft_tables(cudaStream_t stream, cuda_fft *fft, cuda_wide *tables, cuda_wide *room) {
  fft->roots = tables;
  fft->kernel = tables + fft->size;
  fft->chirp = fft->kernel + fft->size;
  cudaError_t error = launch(fill_roots, grid_of(fft->size, 1), stream, fft->size, wide(fft->roots));
  if (error != cudaSuccess || fft->size == fft->n) return error;
  error = launch(fill_chirp, grid_of(fft->size, 1), stream, fft->n, fft->size, wide(fft->chirp), wide(fft->kernel));
  return error == cudaSuccess ? transform(stream, fft, 1, wide(fft->kernel), wide(room)) : error;
}

cudaError_t cuda_launch_fft(cudaStream_t stream, const cuda_fft *fft, int64_t count, cuda_wide *x, cuda_wide *room) {
  const int64_t n = fft->n, size = fft->size;
  if (count == 0) return cudaSuccess;
  if (size == n) return transform(stream, fft, count, wide(x), wide(room));
  const dim3 grid = grid_of(size, count);
  Wide *longer = wide(room), *other = longer + count * size;
  cudaError_t error = launch(chirp_in, grid, stream, n, size, count, static_cast<const Wide *>(wide(fft->chirp)),
                             static_cast<const Wide *>(wide(x)), longer);
  if (error == cudaSuccess) error = transform(stream, fft, count, longer, other);
  if (error == cudaSuccess) {
    error = launch(chirp_convolve, grid, stream, size, count, static_cast<const Wide *>(wide(fft->kernel)), longer);
  }
  if (error == cudaSuccess) error = transform(stream, fft, count, longer, other);
  if (error != cudaSuccess) return error;
  return launch(chirp_out, grid, stream, n, size, count, static_cast<const Wide *>(wide(fft->chirp)),
                static_cast<const Wide *>(longer), wide(x));
}

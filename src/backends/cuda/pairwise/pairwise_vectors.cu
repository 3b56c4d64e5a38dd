// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_vectors.cu
/// What a cycle does with vectors alone (kernels/pairwise.def): scaling into the hierarchy and out of it,
/// interpolation, the steps of a K-cycle.

#include "backends/cuda/pairwise/level.cuh"

using namespace lac_cuda;

namespace {

/// y = weights x scale; the product is in the wider of both.
template <class X, class Y, class H>
__global__ void __launch_bounds__(BLOCK) scale_rows(const __grid_constant__ ColumnCut cut, int conj, const H *weights,
                                                    const double *scale, const X *x, Y *y) {
  using Z = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;
  using Real = typename Number<Z>::Real;
  for_rows(cut, [&](int64_t item, int64_t i, int64_t column) {
    const int64_t at = (item * cut.n + i) * cut.k + column;
    Z own = times(cast<Z>(x[at]), scale ? static_cast<Real>(scale[2 * item * cut.k + column]) : Real(1));
    if (weights) own = cast<Z>(conj_if(conj, weights[item * cut.n + i])) * own;
    y[at] = cast<Y>(own);
  });
}

/// Coefficients [items, steps, k] of a column.
template <class H>
__device__ H step_of(const typename Number<H>::Wide *steps, int64_t item, int which, int64_t k, int64_t column) {
  return cast<H>(steps[(item * LAC_CYCLE_STEPS + which) * k + column]);
}

template <class H>
__global__ void __launch_bounds__(BLOCK)
    prolong_rows(const __grid_constant__ ColumnCut cut, int64_t coarse, const int *aggregates,
                 const typename Number<H>::Wide *steps, const H *c, const H *d, H *x) {
  for_rows(cut, [&](int64_t item, int64_t i, int64_t column) {
    const int aggregate = aggregates[i];
    if (aggregate < 0) return;
    const int64_t at = (item * cut.n + i) * cut.k + column, from = (item * coarse + aggregate) * cut.k + column;
    H more = c[from];
    if (steps)
      more = step_of<H>(steps, item, LAC_CYCLE_C, cut.k, column) * more +
             step_of<H>(steps, item, LAC_CYCLE_D, cut.k, column) * d[from];
    x[at] = x[at] + more;
  });
}

template <class H>
__global__ void __launch_bounds__(BLOCK)
    advance_rows(const __grid_constant__ ColumnCut cut, int conj, const H *weights,
                 const typename Number<H>::Wide *steps, const H *along, H *r, H *x) {
  for_rows(cut, [&](int64_t item, int64_t i, int64_t column) {
    const int64_t at = (item * cut.n + i) * cut.k + column;
    const H left = r[at] - step_of<H>(steps, item, LAC_CYCLE_FIRST, cut.k, column) * along[at];
    r[at] = left;
    x[at] = conj_if(conj, weights[item * cut.n + i]) * left;
  });
}

// -- steps -----------------------------------------------------------------------------------------------------------

__device__ double modulus_of(double x) { return fabs(x); }
__device__ double modulus_of(Complex<double> x) { return hypot(x.re, x.im); }

/// a / b, and 0 where b is 0: a right-hand side of zeros.
__device__ double share(double a, double b) { return b == 0 ? 0 : a / b; }
__device__ Complex<double> share(Complex<double> a, Complex<double> b) {
  const double size = b.re * b.re + b.im * b.im;
  if (size == 0) return {0, 0};
  return {(a.re * b.re + a.im * b.im) / size, (a.im * b.re - a.re * b.im) / size};
}

/// The steps along the two directions that solve the problem of two unknowns. The second is left out where it is the
/// first again.
template <class W>
__global__ void __launch_bounds__(BLOCK) set_steps(int64_t items, int64_t k, int second, const W *sums, W *steps) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; at < items * k; at += stride) {
    const W *from = sums + at / k * LAC_CYCLE_SUMS * k + at % k;
    W *to = steps + at / k * LAC_CYCLE_STEPS * k + at % k;
    const W rho = from[LAC_CYCLE_RHO * k], first = share(from[LAC_CYCLE_ALPHA * k], rho);
    to[LAC_CYCLE_FIRST * k] = first;
    if (!second) continue;
    const W gamma = from[LAC_CYCLE_GAMMA * k], beta = from[LAC_CYCLE_BETA * k];
    const W rest = beta - share(gamma * conj_of(gamma), rho);
    W d = zero<W>();
    if (!(modulus_of(rest) <= 1e-12 * modulus_of(beta))) d = share(from[LAC_CYCLE_ALPHA2 * k], rest);
    to[LAC_CYCLE_C * k] = first - share(conj_of(gamma), rho) * d;
    to[LAC_CYCLE_D * k] = d;
  }
}

template <class X, class Y, class H>
cudaError_t start_scale(cudaStream_t stream, const cuda_vectors *v, const double *scale, const void *x, void *y) {
  const ColumnCut cut = column_cut(v->items, v->n, v->k);
  return launch(scale_rows<X, Y, H>, grid_of(cut), stream, cut, v->conj, static_cast<const H *>(v->weights), scale,
                static_cast<const X *>(x), static_cast<Y *>(y));
}

}  // namespace

cudaError_t cuda_launch_vector_scale(cudaStream_t stream, lac_dtype from, lac_dtype to, const cuda_vectors *v,
                                     const double *scale, const void *x, void *y) {
  if (v->items * v->n * v->k == 0) return cudaSuccess;
  if (from == LAC_F32 && to == LAC_F64) return start_scale<float, double, float>(stream, v, scale, x, y);
  if (from == LAC_C64 && to == LAC_C128)
    return start_scale<Complex<float>, Complex<double>, Complex<float>>(stream, v, scale, x, y);
  return with_narrow(from, to, [&](auto wide, auto narrow) {
    return start_scale<decltype(wide), decltype(narrow), decltype(narrow)>(stream, v, scale, x, y);
  });
}

cudaError_t cuda_launch_vector_prolong(cudaStream_t stream, lac_dtype narrow, const cuda_vectors *v, int64_t coarse,
                                       const int *aggregates, const void *steps, const void *c, const void *d,
                                       void *x) {
  const ColumnCut cut = column_cut(v->items, v->n, v->k);
  return with_dtype(narrow, [&](auto number) {
    using H = decltype(number);
    using W = typename Number<H>::Wide;
    return launch(prolong_rows<H>, grid_of(cut), stream, cut, coarse, aggregates, static_cast<const W *>(steps),
                  static_cast<const H *>(c), static_cast<const H *>(d), static_cast<H *>(x));
  });
}

cudaError_t cuda_launch_vector_advance(cudaStream_t stream, lac_dtype narrow, const cuda_vectors *v, const void *steps,
                                       const void *along, void *r, void *x) {
  const ColumnCut cut = column_cut(v->items, v->n, v->k);
  return with_dtype(narrow, [&](auto number) {
    using H = decltype(number);
    using W = typename Number<H>::Wide;
    return launch(advance_rows<H>, grid_of(cut), stream, cut, v->conj, static_cast<const H *>(v->weights),
                  static_cast<const W *>(steps), static_cast<const H *>(along), static_cast<H *>(r),
                  static_cast<H *>(x));
  });
}

cudaError_t cuda_launch_steps(cudaStream_t stream, lac_dtype full, int64_t items, int64_t k, int second,
                              const void *sums, void *steps) {
  const dim3 grid(blocks(ceil_div(items * k, BLOCK), MAX_X));
  if (full == LAC_F64)
    return launch(set_steps<double>, grid, stream, items, k, second, static_cast<const double *>(sums),
                  static_cast<double *>(steps));
  return launch(set_steps<Complex<double>>, grid, stream, items, k, second, static_cast<const Complex<double> *>(sums),
                static_cast<Complex<double> *>(steps));
}

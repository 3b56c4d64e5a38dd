// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_cycle.cu
/// Passes over the matrix of a level (kernels/pairwise.def): residuals, smoothing, products with their inner products.

#include "backends/cuda/pairwise/level.cuh"

using namespace lac_cuda;

namespace {

/// rc = sum of a coarse row and xc = weights rc.
template <class H, class T>
__device__ void keep(T sum, int64_t at, int64_t row, int conj, const H *weights, H *rc, H *xc) {
  const H own = cast<H>(sum);
  rc[at] = own;
  if (xc) xc[at] = conj_if(conj, weights[row]) * own;
}

template <class L, class T, class H>
__global__ void __launch_bounds__(BLOCK)
    restrict_rows(const __grid_constant__ ColumnCut cut, const __grid_constant__ L level, const int *starts,
                  const int *members, const H *weights, const T *b, const H *x, H *rc, H *xc) {
  for_rows(cut, [&](int64_t item, int64_t i, int64_t column) {
    T sum = zero<T>();
    for (int q = starts[i], end = starts[i + 1]; q < end; ++q)
      sum = sum + level.residual(item, members[q], column, b, x);
    keep(sum, (item * cut.n + i) * cut.k + column, item * cut.n + i, level.conj, weights, rc, xc);
  });
}

template <class L, class T, class H>
__global__ void __launch_bounds__(BLOCK)
    remain_rows(const __grid_constant__ ColumnCut cut, const __grid_constant__ L level, const T *b, const H *x, T *r) {
  for_rows(cut, [&](int64_t item, int64_t i, int64_t column) {
    r[(item * cut.n + i) * cut.k + column] = level.residual(item, i, column, b, x);
  });
}

template <class T, class H>
__global__ void __launch_bounds__(BLOCK)
    collect_rows(const __grid_constant__ ColumnCut cut, int64_t fine, int conj, const int *starts, const int *members,
                 const H *weights, const T *r, H *rc, H *xc) {
  for_rows(cut, [&](int64_t item, int64_t i, int64_t column) {
    const T *from = r + item * fine * cut.k + column;
    T sum = zero<T>();
    for (int q = starts[i], end = starts[i + 1]; q < end; ++q) sum = sum + from[members[q] * cut.k];
    keep(sum, (item * cut.n + i) * cut.k + column, item * cut.n + i, conj, weights, rc, xc);
  });
}

template <class L, class T, class H>
__global__ void __launch_bounds__(BLOCK)
    relax_rows(const __grid_constant__ ColumnCut cut, const __grid_constant__ L level, const H *weights, const T *b,
               const H *x, T *z) {
  for_rows(cut, [&](int64_t item, int64_t i, int64_t column) {
    const int64_t at = (item * cut.n + i) * cut.k + column;
    const T weight = cast<T>(conj_if(level.conj, weights[item * cut.n + i]));
    const T own = cast<T>(x[at]) + weight * level.residual(item, i, column, b, x);
    z[at] = times(own, level.out_scale(item, column));
  });
}

// -- products --------------------------------------------------------------------------------------------------------

constexpr int SUMS = 3;  // <t, A c>, <t, r>, <t, before>

/// v = A c of the rows of a block, and its sums [sums, items, blocks, k].
template <class L, class H>
__global__ void __launch_bounds__(BLOCK)
    product_rows(const __grid_constant__ ColumnCut cut, const __grid_constant__ L level, int of_image, const H *c,
                 const H *r, const H *before, H *v, typename Number<H>::Wide *partial) {
  using W = typename Number<H>::Wide;
  const int row = static_cast<int>(threadIdx.x) / cut.wide, lane = static_cast<int>(threadIdx.x) % cut.wide;
  for (int64_t unit = blockIdx.y; unit < cut.items * cut.tiles; unit += gridDim.y) {
    const int64_t item = unit / cut.tiles, column = unit % cut.tiles * cut.wide + lane;
    const bool takes_part = row < cut.rows && column < cut.k;
    W sums[SUMS] = {zero<W>(), zero<W>(), zero<W>()};
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * cut.rows + row; takes_part && i < cut.n;
         i += cut.blocks * cut.rows) {
      const int64_t at = (item * cut.n + i) * cut.k + column;
      const H own = level.product(item, i, column, c);
      const W t = conj_of(cast<W>(of_image ? own : c[at]));
      sums[0] = sums[0] + t * cast<W>(own);
      sums[1] = sums[1] + t * cast<W>(r[at]);
      if (before) sums[2] = sums[2] + t * cast<W>(before[at]);
      if (v) v[at] = own;
    }
#pragma unroll
    for (int s = 0; s < SUMS; ++s) {
      const W sum = column_sum(sums[s], cut.wide, cut.rows);
      if (row == 0 && takes_part) partial[((s * cut.items + item) * cut.blocks + blockIdx.x) * cut.k + column] = sum;
    }
  }
}

/// Where the sums of the first step and of the second go among those of a cycle (kernels/pairwise.h); -1: nowhere.
struct Places {
  int at[SUMS], count;  // of sums in all
};

/// A block of threads for each sum of each column.
template <class W>
__global__ void __launch_bounds__(BLOCK)
    product_sums(const __grid_constant__ ColumnCut cut, const __grid_constant__ Places places, const W *partial,
                 W *sums) {
  for (int64_t at = blockIdx.x; at < SUMS * cut.items * cut.k; at += gridDim.x) {
    const int64_t s = at / (cut.items * cut.k), item = at / cut.k % cut.items, column = at % cut.k;
    const W *from = partial + (s * cut.items + item) * cut.blocks * cut.k + column;
    W sum = zero<W>();
    for (int64_t b = threadIdx.x; b < cut.blocks; b += BLOCK) sum = sum + from[b * cut.k];
    sum = column_sum(sum, 1, BLOCK);
    if (threadIdx.x == 0 && places.at[s] >= 0) sums[(item * places.count + places.at[s]) * cut.k + column] = sum;
  }
}

}  // namespace

cudaError_t cuda_launch_level_restrict(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_level *level,
                                       const cuda_gather *to, const void *b, const void *x, void *rc, void *xc) {
  const ColumnCut cut = column_cut(level->items, to->coarse, level->k);
  return with_narrow(wide, narrow, [&](auto number, auto half) {
    using T = decltype(number);
    using H = decltype(half);
    return with_level<T>(level, [&](auto walk) {
      return launch(restrict_rows<decltype(walk), T, H>, grid_of(cut), stream, cut, walk, to->starts, to->members,
                    static_cast<const H *>(to->weights), static_cast<const T *>(b), static_cast<const H *>(x),
                    static_cast<H *>(rc), static_cast<H *>(xc));
    });
  });
}

cudaError_t cuda_launch_level_remain(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_level *level,
                                     const void *b, const void *x, void *r) {
  const ColumnCut cut = column_cut(level->items, level->rows.rows, level->k);
  return with_narrow(wide, narrow, [&](auto number, auto half) {
    using T = decltype(number);
    using H = decltype(half);
    return with_level<T>(level, [&](auto walk) {
      return launch(remain_rows<decltype(walk), T, H>, grid_of(cut), stream, cut, walk, static_cast<const T *>(b),
                    static_cast<const H *>(x), static_cast<T *>(r));
    });
  });
}

cudaError_t cuda_launch_level_collect(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_level *level,
                                      const cuda_gather *to, const void *r, void *rc, void *xc) {
  const ColumnCut cut = column_cut(level->items, to->coarse, level->k);
  return with_narrow(wide, narrow, [&](auto number, auto half) {
    using T = decltype(number);
    using H = decltype(half);
    return launch(collect_rows<T, H>, grid_of(cut), stream, cut, level->rows.rows, level->conj, to->starts, to->members,
                  static_cast<const H *>(to->weights), static_cast<const T *>(r), static_cast<H *>(rc),
                  static_cast<H *>(xc));
  });
}

cudaError_t cuda_launch_level_relax(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_level *level,
                                    const void *b, const void *x, void *z) {
  const ColumnCut cut = column_cut(level->items, level->rows.rows, level->k);
  return with_narrow(wide, narrow, [&](auto number, auto half) {
    using T = decltype(number);
    using H = decltype(half);
    return with_level<T>(level, [&](auto walk) {
      return launch(relax_rows<decltype(walk), T, H>, grid_of(cut), stream, cut, walk,
                    static_cast<const H *>(level->weights), static_cast<const T *>(b), static_cast<const H *>(x),
                    static_cast<T *>(z));
    });
  });
}

size_t cuda_level_product_scratch(int64_t items, int64_t n, int64_t k) {
  return static_cast<size_t>(SUMS * items * column_cut(items, n, k).blocks * k) * sizeof(Complex<double>);
}

cudaError_t cuda_launch_level_product(cudaStream_t stream, lac_dtype narrow, const cuda_level *level,
                                      const cuda_product *p) {
  const ColumnCut cut = column_cut(level->items, level->rows.rows, level->k);
  const Places places = p->before ? Places{{LAC_CYCLE_BETA, LAC_CYCLE_ALPHA2, LAC_CYCLE_GAMMA}, LAC_CYCLE_SUMS}
                                  : Places{{LAC_CYCLE_RHO, LAC_CYCLE_ALPHA, -1}, LAC_CYCLE_SUMS};
  return with_dtype(narrow, [&](auto half) {
    using H = decltype(half);
    using W = typename Number<H>::Wide;
    W *partial = static_cast<W *>(p->scratch);
    cudaError_t error = with_level<H>(level, [&](auto walk) {
      const dim3 grid(blocks(cut.blocks, MAX_X), blocks(cut.items * cut.tiles, MAX_YZ));
      return launch(product_rows<decltype(walk), H>, grid, stream, cut, walk, p->of_image, static_cast<const H *>(p->c),
                    static_cast<const H *>(p->r), static_cast<const H *>(p->before), static_cast<H *>(p->v), partial);
    });
    if (error != cudaSuccess) return error;
    return launch(product_sums<W>, dim3(blocks(SUMS * cut.items * cut.k, MAX_X)), stream, cut, places,
                  static_cast<const W *>(partial), static_cast<W *>(p->sums));
  });
}

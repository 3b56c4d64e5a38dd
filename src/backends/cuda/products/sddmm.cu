// SPDX-License-Identifier: Apache-2.0
/// @file sddmm.cu
/// Dense times dense at the slots of a pattern:
///
///     s_z = sum over c of u[row z, c] conj(v[column z, c])
///
/// One column: a thread to a slot. Several: a group of lanes takes SLOTS slots that follow each other, reads 16 bytes
/// at a time where they are aligned, and a row of u once where slots share it; the sums of all of them are folded
/// together by one fixed tree. A block has slots that follow each other; where rows of u and v are wide, those of a
/// tile (tiles.cuh), a span of its rows to a warp.

#include "backends/cuda/products/products.h"
#include "backends/cuda/tiles.cuh"

using namespace lac_cuda;

namespace {

/// The slots of a pattern as kernels take them.
template <class C>
struct Slots {
  int64_t count;
  const C *__restrict__ rows_of;
  const C *__restrict__ columns;
};

constexpr int SLOTS = 4;   // of a thread, so that several loads are on their way
constexpr int TURNS = 8;   // the most of a block, at slots that follow each other: neighbours share rows of u and v
constexpr int SPAN = 128;  // the most rows of a warp in a tile

template <class T, class C, bool SUMS>
__global__ void __launch_bounds__(BLOCK)
    sddmm_one(Slots<C> slots, const __grid_constant__ cuda_batch batch, const T *__restrict__ u,
              const T *__restrict__ v, T *__restrict__ s) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK * SLOTS;
  for (int64_t b = blockIdx.y; b < batch.kept.count; b += gridDim.y) {
    Offsets base = locate(batch.kept, b);
    for (int64_t first = static_cast<int64_t>(blockIdx.x) * BLOCK * SLOTS; first < slots.count; first += step) {
      int64_t last = first + BLOCK * SLOTS < slots.count ? first + BLOCK * SLOTS : slots.count;
#pragma unroll SLOTS
      for (int64_t z = first + threadIdx.x; z < last; z += BLOCK) {
        C row = slots.rows_of[z], column = slots.columns[z];
        T sum = zero<T>();
        for_summands<SUMS>(batch.summed, base,
                           [&](Offsets at) { sum = sum + u[at.x + row] * conj_of(v[at.y + column]); });
        s[b * slots.count + z] = sum;
      }
    }
  }
}

/// The rows of u and v at SLOTS slots from z on: those behind the last one stand in for it.
template <class C>
struct Places {
  C row[SLOTS], column[SLOTS];

  __device__ Places() {}
  __device__ Places(const Slots<C> &slots, int64_t z) {
#pragma unroll
    for (int i = 0; i < SLOTS; ++i) {
      int64_t at = z + i < slots.count ? z + i : slots.count - 1;
      row[i] = slots.rows_of[at];
      column[i] = slots.columns[at];
    }
  }
};

/// The same, read by a group of G lanes, of which each has one of them until the group needs all.
template <int G, class C>
struct PlacesAhead {
  C row, column;

  __device__ PlacesAhead(const Slots<C> &slots, int64_t z) {
    int64_t mine = z + static_cast<int>(threadIdx.x) % SLOTS, at = mine < slots.count ? mine : slots.count - 1;
    row = slots.rows_of[at];
    column = slots.columns[at];
  }
  __device__ Places<C> of_group() const {
    Places<C> all;
#pragma unroll
    for (int i = 0; i < SLOTS; ++i) {
      all.row[i] = __shfl_sync(ALL_LANES, row, i, G);
      all.column[i] = __shfl_sync(ALL_LANES, column, i, G);
    }
    return all;
  }
};

/// What V columns add to the sums. A row has k numbers, K is the type of that: narrow where it may be, for an address
/// to be one product.
template <int V, class T, class C, class K>
__device__ void add_columns(const Places<C> &places, K k, const T *__restrict__ u, const T *__restrict__ v,
                            T (&sum)[SLOTS]) {
  Pack<T, V> of_u[SLOTS], of_v[SLOTS];
#pragma unroll
  for (int i = 0; i < SLOTS; ++i) of_v[i] = load<V>(v + static_cast<int64_t>(places.column[i]) * k);
#pragma unroll
  for (int i = 0; i < SLOTS; ++i) {
    if (i == 0 || places.row[i] != places.row[i - 1]) {
      of_u[i] = load<V>(u + static_cast<int64_t>(places.row[i]) * k);
    } else {
      of_u[i] = of_u[i - 1];
    }
  }
#pragma unroll
  for (int i = 0; i < SLOTS; ++i) {
#pragma unroll
    for (int e = 0; e < V; ++e) sum[i] = sum[i] + of_u[i].at[e] * conj_of(of_v[i].at[e]);
  }
}

template <class R>
__device__ R shift_across(R x, int distance) {
  return __shfl_xor_sync(0xffffffffu, x, distance);
}
template <class R>
__device__ Complex<R> shift_across(Complex<R> x, int distance) {
  return {shift_across(x.re, distance), shift_across(x.im, distance)};
}

/// The sums over G lanes, folded together: lane i G / SLOTS has that of slot i. All lanes of the warp take part.
template <int G, class T>
__device__ T fold(const T (&sum)[SLOTS], int lane) {
  bool is_upper = lane & (G / 2), is_odd = lane & (G / 4);
  T low = is_upper ? sum[2] : sum[0], high = is_upper ? sum[3] : sum[1];
  low = low + shift_across(is_upper ? sum[0] : sum[2], G / 2);
  high = high + shift_across(is_upper ? sum[1] : sum[3], G / 2);
  T one = (is_odd ? high : low) + shift_across(is_odd ? low : high, G / 4);
#pragma unroll
  for (int d = G / 8; d > 0; d /= 2) one = one + shift_across(one, d);
  return one;
}

/// The sums of up to SLOTS slots, of which `count` are stored, by a group of G lanes. All lanes of the warp take part.
template <int G, int V, bool SUMS, class T, class C, class K>
__device__ void sum_slots(const Places<C> &places, const cuda_batch &batch, Offsets base, K k, const T *__restrict__ u,
                          const T *__restrict__ v, int count, T *__restrict__ s) {
  int lane = static_cast<int>(threadIdx.x) % G;
  T sum[SLOTS];
#pragma unroll
  for (int i = 0; i < SLOTS; ++i) sum[i] = zero<T>();
  for_summands<SUMS>(batch.summed, base, [&](Offsets at) {
    for (K c = lane * V; c < k; c += G * V) add_columns<V>(places, k, u + at.x + c, v + at.y + c, sum);
  });
  if constexpr (G == 1) {
#pragma unroll
    for (int i = 0; i < SLOTS; ++i) {
      if (i < count) s[i] = sum[i];
    }
  } else {
    T one = fold<G>(sum, lane);
    int which = lane / (G / SLOTS);
    if (lane % (G / SLOTS) == 0 && which < count) s[which] = one;
  }
}

template <class T, class C, int G, int V, bool SUMS>
__global__ void __launch_bounds__(BLOCK)
    sddmm(Slots<C> slots, const __grid_constant__ cuda_batch batch, int64_t k, int turns, const T *__restrict__ u,
          const T *__restrict__ v, T *__restrict__ s) {
  constexpr int64_t TURN = BLOCK / G * SLOTS;
  int group = static_cast<int>(threadIdx.x) / G;
  int64_t step = static_cast<int64_t>(gridDim.x) * TURN * turns;
  for (int64_t b = blockIdx.y; b < batch.kept.count; b += gridDim.y) {
    Offsets base = locate(batch.kept, b);
    for (int64_t first = static_cast<int64_t>(blockIdx.x) * TURN * turns; first < slots.count; first += step) {
      for (int turn = 0; turn < turns && first + turn * TURN < slots.count; ++turn) {
        int64_t z = first + turn * TURN + group * SLOTS;
        int count = slots.count - z < SLOTS ? static_cast<int>(slots.count - z) : SLOTS;
        sum_slots<G, V, SUMS>(Places<C>(slots, z), batch, base, k, u, v, count, s + b * slots.count + z);
      }
    }
  }
}

constexpr int64_t WIDE = 64;    // rows of u of so many bytes are wide
constexpr int WIDE_BLOCKS = 4;  // on a multiprocessor

/// The slots [first, last) of a span by a warp, which reads the next places before they are needed.
template <int G, int V, bool SUMS, class T, class C>
__device__ void sum_span(const Slots<C> &slots, int64_t first, int64_t last, const cuda_batch &batch, Offsets base,
                         int k, const T *__restrict__ u, const T *__restrict__ v, T *__restrict__ s) {
  constexpr int TURN = 32 / G * SLOTS;
  int64_t z = first + static_cast<int>(threadIdx.x) % 32 / G * SLOTS;
  PlacesAhead<G, C> next(slots, z);
  s += z;
  for (int left = static_cast<int>(last - first), before = static_cast<int>(z - first); left > 0; left -= TURN) {
    Places<C> places = next.of_group();
    z += TURN;
    next = PlacesAhead<G, C>(slots, z);
    sum_slots<G, V, SUMS>(places, batch, base, k, u, v, left - before, s);
    s += TURN;
  }
}

/// The same by tiles.
template <class T, class C, class O, int G, int V, bool SUMS>
__global__ void __launch_bounds__(BLOCK, WIDE_BLOCKS)
    sddmm_wide(Slots<C> slots, const __grid_constant__ Tiles tiles, const O *__restrict__ offsets,
               const __grid_constant__ cuda_batch batch, int k, const T *__restrict__ u, const T *__restrict__ v,
               T *__restrict__ s) {
  for (int64_t b = blockIdx.y; b < batch.kept.count; b += gridDim.y) {
    Offsets base = locate(batch.kept, b);
    for (int64_t tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
      Span span = tiles.span(tile, static_cast<int>(threadIdx.x) / 32);
      if (span.count == 0) continue;
      sum_span<G, V, SUMS>(slots, offsets[span.first], offsets[span.first + span.count], batch, base, k, u, v,
                           s + b * slots.count);
    }
  }
}

// -- starting --------------------------------------------------------------------------------------------------------

template <bool SUMS, int V, class T, class C>
cudaError_t start_wide(cudaStream_t stream, const cuda_matrix *m, const Tiles &tiles, const Slots<C> &slots,
                       const cuda_batch *batch, int64_t k, const T *u, const T *v, T *s) {
  dim3 grid(blocks(tiles.count(), MAX_X), blocks(batch->kept.count, MAX_YZ));
  return with_index(m->rows.offsets.type, [&](auto index) {
    using O = decltype(index);
    auto kernel = k > 4 * V ? sddmm_wide<T, C, O, 8, V, SUMS> : sddmm_wide<T, C, O, 4, V, SUMS>;
    return launch(kernel, grid, stream, slots, tiles, integers<O>(m->rows.offsets), *batch, static_cast<int>(k), u, v,
                  s);
  });
}

/// Tiles serve wide rows where it is known that those far apart share columns. As many lanes share a slot as without
/// tiles, so that the bits are the same.
template <bool SUMS, int V, class T, class C>
cudaError_t start_columns(cudaStream_t stream, const cuda_matrix *m, const Slots<C> &slots, const cuda_batch *batch,
                          int64_t k, const T *u, const T *v, T *s) {
  Tiles tiles = tiles_of(&m->lengths, WARPS, span_width(m->rows.rows, WARPS, batch->kept.count, 32, SPAN));
  bool is_wide = k * static_cast<int64_t>(sizeof(T)) >= WIDE && k <= INT32_MAX;
  if (is_wide && tiles.across > 1 && !cuda_lengths_are_uneven(&m->lengths, batch->kept.count))
    return start_wide<SUMS, V>(stream, m, tiles, slots, batch, k, u, v, s);
  int group = k <= 2 * V ? 1 : k <= 4 * V ? 4 : 8;
  auto kernel = group == 1 ? sddmm<T, C, 1, V, SUMS> : group == 4 ? sddmm<T, C, 4, V, SUMS> : sddmm<T, C, 8, V, SUMS>;
  int64_t all = ceil_div(slots.count, BLOCK / group * SLOTS), turns = all / 4096;  // enough blocks to fill a device
  turns = turns < 1 ? 1 : turns > TURNS ? TURNS : turns;
  dim3 grid(blocks(ceil_div(all, turns), MAX_X), blocks(batch->kept.count, MAX_YZ));
  return launch(kernel, grid, stream, slots, *batch, k, static_cast<int>(turns), u, v, s);
}

template <bool SUMS, class T, class C>
cudaError_t start(cudaStream_t stream, const cuda_matrix *m, const Slots<C> &slots, const cuda_batch *batch, int64_t k,
                  const T *u, const T *v, T *s) {
  if (k == 1) {
    dim3 grid(blocks(ceil_div(slots.count, SLOTS * BLOCK), MAX_X), blocks(batch->kept.count, MAX_YZ));
    return launch(sddmm_one<T, C, SUMS>, grid, stream, slots, *batch, u, v, s);
  }
  constexpr int V = wide_pack<T>();
  if (k % V == 0 && is_aligned(u) && is_aligned(v)) return start_columns<SUMS, V>(stream, m, slots, batch, k, u, v, s);
  return start_columns<SUMS, 1>(stream, m, slots, batch, k, u, v, s);
}

}  // namespace

cudaError_t cuda_launch_sddmm(cudaStream_t stream, lac_dtype dtype, const cuda_matrix *m, cuda_index rows_of,
                              const cuda_batch *batch, int64_t k, const void *u, const void *v, void *s) {
  if (m->rows.entries == 0 || batch->kept.count == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    return with_index(m->rows.columns.type, [&](auto index) {
      using T = decltype(number);
      using C = decltype(index);
      Slots<C> slots = {m->rows.entries, integers<C>(rows_of), integers<C>(m->rows.columns)};
      return with_sums(batch, [&](auto sums) {
        return start<sums.value>(stream, m, slots, batch, k, static_cast<const T *>(u), static_cast<const T *>(v),
                                 static_cast<T *>(s));
      });
    });
  });
}

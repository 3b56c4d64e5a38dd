// SPDX-License-Identifier: Apache-2.0
/// @file sddmm.cu
/// Dense times dense at the slots of a pattern:
///
///     s_z = sum over c of u[row z, c] conj(v[column z, c])
///
/// One column and short rows: a warp walks the rows, whose numbers of u it spreads over their slots in shared memory;
/// others: a thread to a slot. Several columns: a group of lanes takes SLOTS slots that follow each other, reads 16
/// bytes at a time where they are aligned, and a row of u once where slots share it; the sums of all of them are folded
/// together by one fixed tree. A warp has the slots of a span of rows (tiles.cuh), or a number of slots that follow
/// each other.

#include "backends/cuda/lines.cuh"
#include "backends/cuda/products/products.h"

using namespace lac_cuda;

namespace {

/// The slots of a pattern as kernels take them.
template <class C>
struct Slots {
  int64_t count;
  const C *__restrict__ rows_of;
  const C *__restrict__ columns;
};

constexpr int SLOTS = 4;  // of a thread, so that several loads are on their way
constexpr int TURNS = 8;  // the most of a warp, at slots that follow each other
constexpr int SPAN = 64;  // rows of a warp in a tile

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

constexpr int ROOM = 160;  // slots of a warp in shared memory

/// What a warp stores of its rows; a lane has the number of u of one of them.
template <class T, class C, class O>
__device__ void walk_rows(const WarpLines<O> &rows, T of_row, const C *__restrict__ columns, const T *__restrict__ v,
                          T *__restrict__ s, T *spread) {
  int lane = static_cast<int>(threadIdx.x) % 32;
  int64_t last = rows.last();
  for (int64_t chunk = rows.first(); chunk < last; chunk += ROOM) {
    int count = last - chunk < ROOM ? static_cast<int>(last - chunk) : ROOM;
    int from = rows.begin > chunk ? static_cast<int>(rows.begin - chunk) : 0;
    int to = rows.end < chunk + count ? static_cast<int>(rows.end - chunk) : count;
    C column[ROOM / 32];
    T factor[ROOM / 32];
#pragma unroll
    for (int i = 0; i < ROOM / 32; ++i) {
      int z = i * 32 + lane;
      column[i] = load_once(columns + chunk + (z < count ? z : count - 1));
    }
#pragma unroll
    for (int i = 0; i < ROOM / 32; ++i) factor[i] = v[column[i]];
    for (int i = from; i < to; ++i) spread[with_gaps<T>(i)] = of_row;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < ROOM / 32; ++i) {
      int z = i * 32 + lane;
      if (z < count) store_once(s + chunk + z, spread[with_gaps<T>(z)] * conj_of(factor[i]));
    }
    __syncwarp();
  }
}

/// The same by rows: without the row of each slot there is less to read.
template <class T, class C, class O>
__global__ void __launch_bounds__(BLOCK, 4)
    sddmm_walk(const __grid_constant__ Tiles tiles, int turns, const O *__restrict__ offsets,
               const C *__restrict__ columns, int64_t slots, const __grid_constant__ cuda_axes items,
               const T *__restrict__ u, const T *__restrict__ v, T *__restrict__ s) {
  __shared__ T room[WARPS][with_gaps<T>(ROOM)];
  int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int64_t b = blockIdx.y; b < items.count; b += gridDim.y) {
    Offsets at = locate(items, b);
    for_warp_lines(tiles, turns, offsets, [&](const WarpLines<O> &rows) {
      T of_row = lane < rows.span.count ? u[at.x + rows.span.first + lane] : zero<T>();
      walk_rows(rows, of_row, columns, v + at.y, s + b * slots, room[warp]);
    });
  }
}

/// The slots of each warp.
struct Parts {
  int64_t slots, count;  // of the pattern; of blocks
  int64_t length;        // of a warp's part, where offsets have no data
  cuda_index offsets;
  Tiles tiles;

  __device__ void find(int64_t block, int warp, int64_t *first, int64_t *last) const {
    if (offsets.data) {
      Span span = tiles.span(block, warp);
      *first = span.count ? get(offsets, span.first) : 0;
      *last = span.count ? get(offsets, span.first + span.count) : 0;
    } else {
      *first = (block * WARPS + warp) * length;
      *last = *first + length < slots ? *first + length : slots;
    }
  }
};

/// The rows of u and v at SLOTS slots from z on: those behind the last one stand in for it.
template <class C>
struct Places {
  C row[SLOTS], column[SLOTS];

  __device__ Places(const Slots<C> &slots, int64_t z) {
#pragma unroll
    for (int i = 0; i < SLOTS; ++i) {
      int64_t at = z + i < slots.count ? z + i : slots.count - 1;
      row[i] = slots.rows_of[at];
      column[i] = slots.columns[at];
    }
  }
};

/// What V columns add to the sums.
template <int V, class T, class C>
__device__ void add_columns(const Places<C> &places, int64_t k, const T *__restrict__ u, const T *__restrict__ v,
                            T (&sum)[SLOTS]) {
  Pack<T, V> of_u[SLOTS], of_v[SLOTS];
#pragma unroll
  for (int i = 0; i < SLOTS; ++i) of_v[i] = load<V>(v + places.column[i] * k);
#pragma unroll
  for (int i = 0; i < SLOTS; ++i) {
    if (i == 0 || places.row[i] != places.row[i - 1]) {
      of_u[i] = load<V>(u + places.row[i] * k);
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

template <class T, class C, int G, int V, bool SUMS>
__global__ void __launch_bounds__(BLOCK)
    sddmm(Slots<C> slots, const __grid_constant__ Parts parts, const __grid_constant__ cuda_batch batch, int64_t k,
          const T *__restrict__ u, const T *__restrict__ v, T *__restrict__ s) {
  constexpr int64_t TURN = 32 / G * SLOTS;
  int lane = static_cast<int>(threadIdx.x) % G, group = static_cast<int>(threadIdx.x) % 32 / G;
  for (int64_t b = blockIdx.y; b < batch.kept.count; b += gridDim.y) {
    Offsets base = locate(batch.kept, b);
    for (int64_t block = blockIdx.x; block < parts.count; block += gridDim.x) {
      int64_t first, last;
      parts.find(block, static_cast<int>(threadIdx.x) / 32, &first, &last);
      Places<C> next(slots, first + group * SLOTS);
      for (int64_t turn = first; turn < last; turn += TURN) {
        int64_t z = turn + group * SLOTS;
        Places<C> places = next;
        next = Places<C>(slots, z + TURN);
        T sum[SLOTS];
#pragma unroll
        for (int i = 0; i < SLOTS; ++i) sum[i] = zero<T>();
        for_summands<SUMS>(batch.summed, base, [&](Offsets at) {
          for (int64_t c = lane * V; c < k; c += G * V) add_columns<V>(places, k, u + at.x + c, v + at.y + c, sum);
        });
        T *to = s + b * slots.count + z;
        if constexpr (G == 1) {
#pragma unroll
          for (int i = 0; i < SLOTS; ++i) {
            if (z + i < last) to[i] = sum[i];
          }
        } else {
          T one = fold<G>(sum, lane);
          int which = lane / (G / SLOTS);
          if (lane % (G / SLOTS) == 0 && z + which < last) to[which] = one;
        }
      }
    }
  }
}

/// Spans of a tile where rows that are far apart share columns, else slots that follow each other, few enough for many
/// blocks.
Parts parts_of(const cuda_matrix *m, int64_t turn) {
  Parts parts = {m->rows.entries, 0, 0, m->rows.offsets, tiles_of(&m->lengths, WARPS, SPAN)};
  parts.count = parts.tiles.count();
  if (parts.tiles.across > 1 && !cuda_lengths_are_uneven(&m->lengths, 1)) return parts;
  int64_t turns = ceil_div(parts.slots, turn * WARPS) / 4096;
  parts.length = turn * (turns < 1 ? 1 : turns > TURNS ? TURNS : turns);
  parts.offsets.data = nullptr;
  parts.count = ceil_div(parts.slots, parts.length * WARPS);
  return parts;
}

template <bool SUMS, int V, class T, class C>
cudaError_t start_sddmm(cudaStream_t stream, const cuda_matrix *m, const Slots<C> &slots, const cuda_batch *batch,
                        int64_t k, const T *u, const T *v, T *s) {
  int group = k <= 2 * V ? 1 : k <= 4 * V ? 4 : 8;
  auto kernel = group == 1 ? sddmm<T, C, 1, V, SUMS> : group == 4 ? sddmm<T, C, 4, V, SUMS> : sddmm<T, C, 8, V, SUMS>;
  Parts parts = parts_of(m, 32 / group * SLOTS);
  dim3 grid(blocks(parts.count, MAX_X), blocks(batch->kept.count, MAX_YZ));
  return launch(kernel, grid, stream, slots, parts, *batch, k, u, v, s);
}

template <class T, class C>
cudaError_t start_walk(cudaStream_t stream, const cuda_matrix *m, const Slots<C> &slots, const cuda_batch *batch,
                       const T *u, const T *v, T *s) {
  Tiles tiles = tiles_of(&m->lengths, WARPS, 32);
  int turns = turns_of(tiles);
  dim3 grid(blocks(ceil_div(tiles.count(), turns), MAX_X), blocks(batch->kept.count, MAX_YZ));
  return with_index(m->rows.offsets.type, [&](auto index) {
    using O = decltype(index);
    return launch(sddmm_walk<T, C, O>, grid, stream, tiles, turns, integers<O>(m->rows.offsets), slots.columns,
                  slots.count, batch->kept, u, v, s);
  });
}

template <bool SUMS, class T, class C>
cudaError_t start(cudaStream_t stream, const cuda_matrix *m, const Slots<C> &slots, const cuda_batch *batch, int64_t k,
                  const T *u, const T *v, T *s) {
  if (cuda_sddmm_walks(m, batch, k)) return start_walk(stream, m, slots, batch, u, v, s);
  if (k == 1) {
    dim3 grid(blocks(ceil_div(slots.count, SLOTS * BLOCK), MAX_X), blocks(batch->kept.count, MAX_YZ));
    return launch(sddmm_one<T, C, SUMS>, grid, stream, slots, *batch, u, v, s);
  }
  constexpr int V = wide_pack<T>();
  if (k % V == 0 && is_aligned(u) && is_aligned(v)) return start_sddmm<SUMS, V>(stream, m, slots, batch, k, u, v, s);
  return start_sddmm<SUMS, 1>(stream, m, slots, batch, k, u, v, s);
}

}  // namespace

int cuda_sddmm_walks(const cuda_matrix *m, const cuda_batch *batch, int64_t k) {
  return k == 1 && batch->summed.count == 1 && cuda_mean_length(&m->lengths) <= 8 &&
         !cuda_lengths_are_uneven(&m->lengths, batch->kept.count);
}

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

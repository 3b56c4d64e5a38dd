// SPDX-License-Identifier: Apache-2.0
/// @file lines.cuh
/// Reductions over lines of entries:
///
///     out[b, j] = the join of term(b, p) over the entries p of line j
///
/// An Op has the terms, how they are joined, and where results go:
///
///     Value                     a number, or a complex one
///     none(), join(x, y)        nothing, and both; always joined in the order of the entries or by one fixed tree
///     items(), at(b)            the batch, and where its item b lies
///     term(at, p), put(b, j, x)
///     add(b, j, x)              join x, which was carried from the pieces before, to what was put
///     IS_RARE                   it sums over a batch: fewer kernels are compiled for it
///
/// and, unless it is rare, a term in steps between which threads wait for memory, so that several terms of a piece wait
/// together:
///
///     Entry look(at, p), Factors gather(at, entry), product(factors)
///
/// Kernels: short lines, whose terms a block computes side by side into shared memory, from where each thread joins
/// those of one line; a group of lanes to a line; pieces of uneven lines (lines.h).

#ifndef LACUNA_BACKENDS_CUDA_LINES_CUH
#define LACUNA_BACKENDS_CUDA_LINES_CUH

#include "backends/cuda/access.cuh"
#include "backends/cuda/lines.h"

namespace lac_cuda {

// -- short lines -----------------------------------------------------------------------------------------------------

/// The terms of all lines of a block, a chunk at a time; a thread joins those of its own line, [begin, end), in order.
template <class Op, class O>
__device__ typename Op::Value block_join(const Op &op, Offsets at, O first, O last, O begin, O end) {
  using Value = typename Op::Value;
  constexpr int CHUNK = 16384 / sizeof(Value);
  __shared__ Value terms[CHUNK];
  Value sum = op.none();
  for (int64_t chunk = first; chunk < last; chunk += CHUNK) {
    int count = last - chunk < CHUNK ? static_cast<int>(last - chunk) : CHUNK;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < count; i += BLOCK) terms[i] = op.term(at, chunk + i);
    __syncthreads();
    int from = begin > chunk ? static_cast<int>(begin - chunk) : 0;
    int to = end < chunk + count ? static_cast<int>(end - chunk) : count;
    for (int i = from; i < to; ++i) sum = op.join(sum, terms[i]);
    __syncthreads();
  }
  return sum;
}

template <class Op, class O>
__global__ void __launch_bounds__(BLOCK)
    lines_short(const __grid_constant__ Op op, int64_t lines, const O *__restrict__ offsets) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t b = blockIdx.y; b < op.items(); b += gridDim.y) {
    Offsets at = op.at(b);
    for (int64_t top = static_cast<int64_t>(blockIdx.x) * BLOCK; top < lines; top += step) {
      int64_t line = top + threadIdx.x, bottom = top + BLOCK < lines ? top + BLOCK : lines;
      O first = offsets[top], last = offsets[bottom];
      O begin = line < bottom ? offsets[line] : last, end = line < bottom ? offsets[line + 1] : last;
      auto sum = block_join(op, at, first, last, begin, end);
      if (line < bottom) op.put(b, line, sum);
    }
  }
}

// -- a group of lanes to a line --------------------------------------------------------------------------------------

/// Every G-th term from the lane's on: `U` of them are on their way at a time. Unsigned, for the last step to
/// overshoot.
template <int G, class Op, class O>
__device__ typename Op::Value lane_join(const Op &op, Offsets at, O begin, O end_of_line) {
  using Value = typename Op::Value;
  using Count = std::make_unsigned_t<O>;
  constexpr int U = sizeof(Value) <= 8 ? 4 : 2;
  Count end = static_cast<Count>(end_of_line);
  Value sum = op.none();
  for (Count p = static_cast<Count>(begin); p < end; p += G * U) {
    Value terms[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (p + u * G < end) terms[u] = op.term(at, static_cast<int64_t>(p + u * G));
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (p + u * G < end) sum = op.join(sum, terms[u]);
    }
  }
  return sum;
}

/// The join over a group of G lanes, by a fixed tree; lane 0 has it. All lanes of the warp take part.
template <int G, class Op, class Value>
__device__ Value group_join(const Op &op, Value x) {
#pragma unroll
  for (int d = G / 2; d > 0; d /= 2) x = op.join(x, shift_down(x, d, G));
  return x;
}

template <int G, class Op, class O>
__global__ void __launch_bounds__(BLOCK)
    lines_lanes(const __grid_constant__ Op op, int64_t lines, const O *__restrict__ offsets) {
  Groups<G> groups;
  for (int64_t b = blockIdx.y; b < op.items(); b += gridDim.y) {
    Offsets at = op.at(b);
    for (int64_t line = groups.first; groups.warp(line) < lines; line += groups.step) {
      auto sum = op.none();
      if (line < lines) {
        O begin = offsets[line], end = offsets[line + 1];
        sum = lane_join<G>(op, at, static_cast<O>(begin + groups.lane), end);
      }
      sum = group_join<G>(op, sum);
      if (line < lines && groups.lane == 0) op.put(b, line, sum);
    }
  }
}

// -- pieces of uneven lines ------------------------------------------------------------------------------------------

/// How many ends of lines are among the first `place` items of the path: end j comes before entry p if it is at most p.
template <class O>
__device__ int64_t ends_before(const O *ends, int64_t lines, int64_t entries, int64_t place) {
  int64_t low = place > entries ? place - entries : 0, high = place < lines ? place : lines;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (ends[middle] <= place - 1 - middle) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

constexpr int SEEKERS = 8;  // lanes that look for one start

/// The same by a group of lanes, which look at as many ends at a time: each look waits for memory. All lanes of the
/// warp take part.
template <class O>
__device__ int64_t seek_ends(const O *ends, int64_t lines, int64_t entries, int64_t place) {
  int lane = static_cast<int>(threadIdx.x) % SEEKERS, shift = static_cast<int>(threadIdx.x) % 32 - lane;
  int64_t low = place > entries ? place - entries : 0, high = place < lines ? place : lines;
  while (__any_sync(ALL_LANES, low < high)) {
    int64_t step = (high - low + SEEKERS - 1) / SEEKERS, at = low + lane * step;
    bool is_before = at < high && ends[at] <= place - 1 - at;
    int count = __popc(__ballot_sync(ALL_LANES, is_before) >> shift & ((1u << SEEKERS) - 1));
    int64_t next = low + count * step;
    if (count < SEEKERS && next < high) high = next;
    if (count > 0) low = next - step + 1;
  }
  return low;
}

/// The line in which each piece begins.
template <class O>
__global__ void __launch_bounds__(BLOCK)
    piece_starts(int64_t lines, const O *offsets, int64_t piece, int64_t pieces, int64_t *starts) {
  Groups<SEEKERS> groups;
  int64_t entries = offsets[lines];
  for (int64_t t = groups.first; groups.warp(t) <= pieces; t += groups.step) {
    int64_t place = t * piece < lines + entries ? t * piece : lines + entries;
    int64_t start = seek_ends(offsets + 1, lines, entries, place);
    if (t <= pieces && groups.lane == 0) starts[t] = start;
  }
}

/// A piece: lines [line, line + lines) end in it, and it has `entries` entries from `entry` on.
struct Piece {
  int64_t line, entry;
  int lines, entries;

  template <class O>
  __device__ Piece(int64_t t, int64_t piece, int64_t all_lines, const O *offsets, const int64_t *starts) {
    int64_t items = all_lines + offsets[all_lines], begin = t * piece < items ? t * piece : items;
    int64_t end = begin + piece < items ? begin + piece : items, last = starts[t + 1];
    line = starts[t];
    entry = begin - line;
    lines = static_cast<int>(last - line);
    entries = static_cast<int>(end - last - entry);
  }
};

template <class R>
__device__ R shift_up(R x, int distance) {
  return __shfl_up_sync(0xffffffffu, x, distance);
}
template <class R>
__device__ Complex<R> shift_up(Complex<R> x, int distance) {
  return {shift_up(x.re, distance), shift_up(x.im, distance)};
}

/// What a thread has of the line that goes on behind its items, and whether a line ended in them.
template <class Value>
struct Tail {
  Value sum;
  int has_end;
};

template <class Op, class Value>
__device__ Tail<Value> follow(const Op &op, Tail<Value> before, Tail<Value> after) {
  return {after.has_end ? after.sum : op.join(before.sum, after.sum), before.has_end | after.has_end};
}

/// The tail of all threads before this one; *whole is that of the block. Two barriers.
template <class Op, class Value>
__device__ Value tail_before(const Op &op, Tail<Value> tail, Value *whole) {
  __shared__ Value sums[WARPS];
  __shared__ int ends[WARPS];
  int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    Tail<Value> before = {shift_up(tail.sum, d), shift_up(tail.has_end, d)};
    if (lane >= d) tail = follow(op, before, tail);
  }
  if (lane == 31) sums[warp] = tail.sum, ends[warp] = tail.has_end;
  __syncthreads();
  Tail<Value> base = {op.none(), 0}, all = base;
  for (int w = 0; w < WARPS; ++w) {
    if (w == warp) base = all;
    all = follow(op, all, Tail<Value>{sums[w], ends[w]});
  }
  *whole = all.sum;
  Tail<Value> left = {shift_up(tail.sum, 1), shift_up(tail.has_end, 1)};
  __syncthreads();
  return lane == 0 ? base.sum : follow(op, base, left).sum;
}

constexpr int PIECE_ITEMS = CUDA_PIECE / BLOCK;  // of a thread

/// The terms of a piece to shared memory: all of a thread are on their way at a time. The last one stands in for those
/// behind it: a load that nothing depends on need not wait for a branch.
template <class Op>
__device__ void stage_terms(const Op &op, Offsets at, const Piece &piece, typename Op::Value *terms) {
  using Value = typename Op::Value;
  int me = static_cast<int>(threadIdx.x), count = piece.entries;
  if constexpr (Op::IS_RARE) {
#pragma unroll 4
    for (int i = me; i < count; i += BLOCK) terms[with_gaps<Value>(i)] = op.term(at, piece.entry + i);
  } else if (count > 0) {
    typename Op::Entry entry[PIECE_ITEMS];
    typename Op::Factors factors[PIECE_ITEMS];
#pragma unroll
    for (int u = 0; u < PIECE_ITEMS; ++u) {
      int i = u * BLOCK + me;
      entry[u] = op.look(at, piece.entry + (i < count ? i : count - 1));
    }
#pragma unroll
    for (int u = 0; u < PIECE_ITEMS; ++u) factors[u] = op.gather(at, entry[u]);
#pragma unroll
    for (int u = 0; u < PIECE_ITEMS; ++u) {
      int i = u * BLOCK + me;
      if (i < count) terms[with_gaps<Value>(i)] = op.product(factors[u]);
    }
  }
}

/// One piece by one block. What it carries is returned to all threads. The sums of lines lie behind the terms: there is
/// a place for each item of the path.
template <class Op, class O>
__device__ typename Op::Value piece_join(const Op &op, int64_t b, const Piece &piece, const O *offsets) {
  using Value = typename Op::Value;
  __shared__ Value numbers[with_gaps<Value>(CUDA_PIECE)];
  __shared__ int ends[CUDA_PIECE];
  int me = static_cast<int>(threadIdx.x);
  for (int i = me; i < piece.lines; i += BLOCK) ends[i] = static_cast<int>(offsets[piece.line + i + 1] - piece.entry);
  stage_terms(op, op.at(b), piece, numbers);
  __syncthreads();

  auto number = [&](int i) -> Value & { return numbers[with_gaps<Value>(i)]; };
  int items = piece.lines + piece.entries, place = me * PIECE_ITEMS < items ? me * PIECE_ITEMS : items;
  int line = static_cast<int>(ends_before(ends, piece.lines, piece.entries, place)), first = line;
  int end = line < piece.lines ? ends[line] : CUDA_PIECE;
  Value sum = op.none();
#pragma unroll
  for (int i = 0; i < PIECE_ITEMS; ++i, ++place) {
    if (place >= items) continue;
    if (end <= place - line) {
      number(piece.entries + line) = sum;
      sum = op.none();
      ++line;
      end = line < piece.lines ? ends[line] : CUDA_PIECE;
    } else {
      sum = op.join(sum, number(place - line));
    }
  }
  bool has_end = line > first;
  Value whole, before = tail_before(op, Tail<Value>{sum, has_end}, &whole);
  if (has_end) number(piece.entries + first) = op.join(before, number(piece.entries + first));
  __syncthreads();
  for (int i = me; i < piece.lines; i += BLOCK) op.put(b, piece.line + i, number(piece.entries + i));
  __syncthreads();
  return whole;
}

template <class Op, class O>
__global__ void __launch_bounds__(BLOCK, 4)
    lines_pieces(const __grid_constant__ Op op, int64_t lines, const O *__restrict__ offsets, int64_t pieces,
                 const int64_t *__restrict__ starts, typename Op::Value *__restrict__ carried) {
  for (int64_t b = blockIdx.y; b < op.items(); b += gridDim.y) {
    for (int64_t t = blockIdx.x; t < pieces; t += gridDim.x) {
      auto rest = piece_join(op, b, Piece(t, CUDA_PIECE, lines, offsets, starts), offsets);
      if (threadIdx.x == 0) carried[b * pieces + t] = rest;
    }
  }
}

/// Whether piece t is the first to carry something of the line that it breaks off in.
__device__ inline bool begins_to_carry(int64_t t, int64_t lines, const int64_t *starts) {
  return starts[t + 1] < lines && (t == 0 || starts[t] != starts[t + 1]);
}

/// What was carried of a line is joined to it: a warp to each line.
template <class Op>
__global__ void __launch_bounds__(BLOCK) lines_carry(const __grid_constant__ Op op, int64_t lines, int64_t pieces,
                                                     const int64_t *starts, const typename Op::Value *carried) {
  Groups<32> warps;
  for (int64_t b = blockIdx.y; b < op.items(); b += gridDim.y) {
    for (int64_t t = warps.first; t < pieces; t += warps.step) {
      if (!begins_to_carry(t, lines, starts)) continue;
      int64_t line = starts[t + 1];
      auto sum = op.none();
      for (int64_t i = t + warps.lane; i < pieces && starts[i + 1] == line; i += 32)
        sum = op.join(sum, carried[b * pieces + i]);
      sum = group_join<32>(op, sum);
      if (warps.lane == 0) op.add(b, line, sum);
    }
  }
}

// -- starting --------------------------------------------------------------------------------------------------------

template <class O>
cudaError_t start_starts(cudaStream_t stream, const cuda_lengths *l, const O *offsets, int64_t piece, void *scratch) {
  int64_t pieces = cuda_pieces(l, piece);
  return launch(piece_starts<O>, blocks(ceil_div(pieces + 1, BLOCK / SEEKERS), MAX_X), stream, l->lines, offsets, piece,
                pieces, static_cast<int64_t *>(scratch));
}

template <class Op, class O>
cudaError_t start_pieces(cudaStream_t stream, const Op &op, const cuda_lengths *l, const O *offsets, int64_t batch,
                         void *scratch) {
  using Value = typename Op::Value;
  int64_t pieces = cuda_pieces(l, CUDA_PIECE);
  int64_t *starts = static_cast<int64_t *>(scratch);
  Value *carried = reinterpret_cast<Value *>(static_cast<char *>(scratch) + cuda_starts_bytes(l, CUDA_PIECE));
  cudaError_t error = start_starts(stream, l, offsets, CUDA_PIECE, scratch);
  if (error != cudaSuccess) return error;
  dim3 grid(blocks(pieces, MAX_X), blocks(batch, MAX_YZ));
  error = launch(lines_pieces<Op, O>, grid, stream, op, l->lines, offsets, pieces, starts, carried);
  if (error != cudaSuccess) return error;
  dim3 carry(blocks(ceil_div(pieces, BLOCK / 32), MAX_X), blocks(batch, MAX_YZ));
  return launch(lines_carry<Op>, carry, stream, op, l->lines, pieces, starts, carried);
}

template <int G, class Op, class O>
cudaError_t start_lanes(cudaStream_t stream, const Op &op, const cuda_lengths *l, const O *offsets, int64_t batch) {
  dim3 grid(blocks(ceil_div(l->lines, BLOCK / G), MAX_X), blocks(batch, MAX_YZ));
  return launch(lines_lanes<G, Op, O>, grid, stream, op, l->lines, offsets);
}

/// Lines of about one length.
template <class Op, class O>
cudaError_t start_even(cudaStream_t stream, const Op &op, const cuda_lengths *l, const O *offsets, int64_t batch) {
  int64_t mean = cuda_mean_length(l);
  if (mean <= 8) {
    dim3 grid(blocks(ceil_div(l->lines, BLOCK), MAX_X), blocks(batch, MAX_YZ));
    return launch(lines_short<Op, O>, grid, stream, op, l->lines, offsets);
  }
  if (mean <= 24) return start_lanes<8>(stream, op, l, offsets, batch);
  if (mean <= 64) return start_lanes<16>(stream, op, l, offsets, batch);
  return start_lanes<32>(stream, op, l, offsets, batch);
}

/// All lines, by the kernel that suits their lengths. `scratch` has the bytes of cuda_pieces_scratch for pieces of
/// CUDA_PIECE where lengths are uneven.
template <class Op, class O>
cudaError_t start_lines(cudaStream_t stream, const Op &op, const cuda_lengths *l, const O *offsets, int64_t batch,
                        void *scratch) {
  if (cuda_lengths_are_uneven(l, batch)) return start_pieces(stream, op, l, offsets, batch, scratch);
  if constexpr (Op::IS_RARE) {
    if (cuda_mean_length(l) <= 32) return start_lanes<8>(stream, op, l, offsets, batch);
    return start_lanes<32>(stream, op, l, offsets, batch);
  } else {
    return start_even(stream, op, l, offsets, batch);
  }
}

}  // namespace lac_cuda

#endif

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
///     WORK                      a lines_work
///
/// and, unless it is rare, a term in steps between which threads wait for memory, so that several terms of a piece wait
/// together:
///
///     Entry look(at, p), Factors gather(at, entry), product(factors)
///
/// Kernels: short lines, whose terms a block computes side by side into shared memory, from where each thread joins
/// those of one line; the same by warps that have spans of a tile; a group of lanes to a line; pieces of uneven lines
/// (lines.h).

#ifndef LACUNA_BACKENDS_CUDA_LINES_CUH
#define LACUNA_BACKENDS_CUDA_LINES_CUH

#include "backends/cuda/tiles.cuh"

namespace lac_cuda {

/// An Op may be rare, because it sums over a batch: fewer kernels are compiled for it. A term gathers one factor, or
/// both lie where its entry says.
enum lines_work { LINES_RARE, LINES_GATHER, LINES_GATHER_BOTH };

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

// -- short lines of a tile -------------------------------------------------------------------------------------------

constexpr int SHORT_SPAN = 64;        // the most lines of a warp in a tile
constexpr int SHORT_SPAN_BLOCKS = 4;  // on a multiprocessor: more would leave too few registers

/// Terms of a lane on their way.
template <class Op>
constexpr int STEPS = sizeof(typename Op::Entry) + sizeof(typename Op::Factors) <= 24 ? 5 : 3;

/// Up to 32 lines of a span, one to a lane: [begin, end) of this one. Those behind the span are empty.
template <class O>
struct WarpLines {
  O begin, end;

  __device__ WarpLines(const Span &span, int top, const O *__restrict__ offsets) {
    int line = top + static_cast<int>(threadIdx.x) % 32;
    begin = offsets[span.first + (line < span.count ? line : span.count)];
    end = offsets[span.first + (line < span.count ? line + 1 : span.count)];
  }
  __device__ O first() const { return __shfl_sync(ALL_LANES, begin, 0); }
  __device__ O last() const { return __shfl_sync(ALL_LANES, end, 31); }
};

/// What a warp knows of the next terms, up to a chunk of them, before it gathers their factors. The last entry stands
/// in for those behind it: a load that nothing depends on need not wait for a branch.
template <class Op>
struct Ahead {
  static constexpr int CHUNK = 32 * STEPS<Op>;
  typename Op::Entry entry[STEPS<Op>];

  template <class O>
  __device__ void look(const Op &op, Offsets at, O first, O last) {
    if (first == last) return;
    int count = last - first < CHUNK ? static_cast<int>(last - first) : CHUNK;
#pragma unroll
    for (int u = 0; u < STEPS<Op>; ++u) {
      int i = u * 32 + static_cast<int>(threadIdx.x) % 32;
      entry[u] = op.look(at, static_cast<int64_t>(first) + (i < count ? i : count - 1));
    }
  }
};

/// The lines of a span by a warp, 32 at a time. Offsets and entries of the next ones are read before they are needed.
template <class Op, class O>
__device__ void join_span(const Op &op, int64_t b, Offsets at, const Span &span, const O *__restrict__ offsets,
                          typename Op::Value *terms) {
  constexpr O CHUNK = Ahead<Op>::CHUNK;
  int lane = static_cast<int>(threadIdx.x) % 32;
  WarpLines<O> next(span, 0, offsets);
  Ahead<Op> ahead;
  ahead.look(op, at, next.first(), next.last());
  for (int top = 0; top < span.count; top += 32) {
    WarpLines<O> lines = next;
    O first = lines.first(), last = lines.last();
    next = WarpLines<O>(span, top + 32, offsets);
    auto sum = op.none();
    if (first == last) ahead.look(op, at, next.first(), next.last());
    for (O rest = last - first; rest > 0; rest = rest > CHUNK ? rest - CHUNK : 0) {
      O chunk = last - rest, stop = rest > CHUNK ? chunk + CHUNK : last;
      typename Op::Factors factors[STEPS<Op>];
#pragma unroll
      for (int u = 0; u < STEPS<Op>; ++u) factors[u] = op.gather(at, ahead.entry[u]);
      ahead.look(op, at, rest > CHUNK ? stop : next.first(), rest > CHUNK ? last : next.last());
#pragma unroll
      for (int u = 0; u < STEPS<Op>; ++u) terms[u * 32 + lane] = op.product(factors[u]);
      __syncwarp();
      int from = lines.begin > chunk ? static_cast<int>(lines.begin - chunk) : 0;
      int to = static_cast<int>((lines.end < stop ? lines.end : stop) - chunk);
      for (int i = from; i < to; ++i) sum = op.join(sum, terms[i]);
      __syncwarp();
    }
    if (top + lane < span.count) op.put(b, span.first + top + lane, sum);
  }
}

template <class Op, class O>
__global__ void __launch_bounds__(BLOCK, SHORT_SPAN_BLOCKS)
    lines_spans(const __grid_constant__ Op op, const __grid_constant__ Tiles tiles, const O *__restrict__ offsets) {
  using Value = typename Op::Value;
  __shared__ Value terms[WARPS][Ahead<Op>::CHUNK];
  int warp = static_cast<int>(threadIdx.x) / 32;
  for (int64_t b = blockIdx.y; b < op.items(); b += gridDim.y) {
    Offsets at = op.at(b);
    for (int64_t tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
      Span span = tiles.span(tile, warp);
      if (span.count > 0) join_span(op, b, at, span, offsets, terms[warp]);
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

constexpr int PIECE_THREADS = CUDA_PIECE_THREADS;
constexpr int PIECE_LANES = 2;    // that join a part of a piece
constexpr int PIECE_LONG = 64;    // longer parts are joined by warps
constexpr int PIECE_BLOCKS = 10;  // on a multiprocessor: as many as registers allow

/// Of a thread.
template <class Value>
constexpr int PIECE_ITEMS = sizeof(Value) > 4 ? CUDA_PIECE_WIDE : CUDA_PIECE_NARROW;

/// A piece in shared memory: its terms, and where its parts end. A part is what it has of a line; the last one is of
/// the line that goes on behind it.
template <class Value>
struct PieceRoom {
  static constexpr int ITEMS = PIECE_THREADS * PIECE_ITEMS<Value>;
  Value terms[ITEMS];
  int ends[ITEMS + 1];
  int longs[ITEMS / PIECE_LONG + 1], long_count;

  __device__ int begin(int part) const { return part ? ends[part - 1] : 0; }
};

/// The terms of a piece to shared memory: all of a thread are on their way at a time. The last one stands in for those
/// behind it: a load that nothing depends on need not wait for a branch.
template <class Op>
__device__ void stage_terms(const Op &op, Offsets at, const Piece &piece, typename Op::Value *terms) {
  constexpr int ITEMS = PIECE_ITEMS<typename Op::Value>;
  int me = static_cast<int>(threadIdx.x), count = piece.entries;
  if constexpr (Op::WORK == LINES_RARE) {
#pragma unroll 4
    for (int i = me; i < count; i += PIECE_THREADS) terms[i] = op.term(at, piece.entry + i);
  } else if (count > 0) {
    typename Op::Entry entry[ITEMS];
    typename Op::Factors factors[ITEMS];
#pragma unroll
    for (int u = 0; u < ITEMS; ++u) {
      int i = u * PIECE_THREADS + me;
      entry[u] = op.look(at, piece.entry + (i < count ? i : count - 1));
    }
#pragma unroll
    for (int u = 0; u < ITEMS; ++u) factors[u] = op.gather(at, entry[u]);
#pragma unroll
    for (int u = 0; u < ITEMS; ++u) terms[u * PIECE_THREADS + me] = op.product(factors[u]);
  }
}

/// The join of a part by G lanes, by a fixed tree; lane 0 has it.
template <int G, class Op, class Value>
__device__ Value part_join(const Op &op, const PieceRoom<Value> &room, int part) {
  Value sum = op.none();
  int end = part < 0 ? 0 : room.ends[part];
  for (int i = part < 0 ? 0 : room.begin(part) + static_cast<int>(threadIdx.x) % G; i < end; i += G)
    sum = op.join(sum, room.terms[i]);
  return group_join<G>(op, sum);
}

/// give(part, its join) for all parts of a piece: short ones by a few lanes each, then long ones by warps.
template <class Op, class Value, class F>
__device__ void join_parts(const Op &op, PieceRoom<Value> &room, int parts, F give) {
  int me = static_cast<int>(threadIdx.x), lane = me % PIECE_LANES, in_warp = me % 32 / PIECE_LANES;
  for (int part = me / PIECE_LANES; part - in_warp < parts; part += PIECE_THREADS / PIECE_LANES) {
    bool is_there = part < parts, is_long = is_there && room.ends[part] - room.begin(part) > PIECE_LONG;
    Value sum = part_join<PIECE_LANES>(op, room, is_there && !is_long ? part : -1);
    if (!is_there || lane > 0) continue;
    if (is_long) {
      room.longs[atomicAdd(&room.long_count, 1)] = part;  // in any order: each is joined alone
    } else {
      give(part, sum);
    }
  }
  __syncthreads();
  for (int i = me / 32; i < room.long_count; i += PIECE_THREADS / 32) {
    Value sum = part_join<32>(op, room, room.longs[i]);
    if (me % 32 == 0) give(room.longs[i], sum);
  }
}

/// One piece by one block.
template <class Op, class O>
__device__ void piece_join(const Op &op, int64_t b, const Piece &piece, const O *offsets,
                           PieceRoom<typename Op::Value> &room, typename Op::Value *carried) {
  using Value = typename Op::Value;
  int me = static_cast<int>(threadIdx.x);
  if (me == 0) room.ends[piece.lines] = piece.entries, room.long_count = 0;
  for (int i = me; i < piece.lines; i += PIECE_THREADS)
    room.ends[i] = static_cast<int>(offsets[piece.line + i + 1] - piece.entry);
  stage_terms(op, op.at(b), piece, room.terms);
  __syncthreads();
  join_parts(op, room, piece.lines + 1, [&](int part, Value sum) {
    if (part < piece.lines) {
      op.put(b, piece.line + part, sum);
    } else {
      *carried = sum;
    }
  });
  __syncthreads();
}

template <class Op, class O>
__global__ void __launch_bounds__(PIECE_THREADS, sizeof(typename Op::Value) > 8 ? 5 : PIECE_BLOCKS)
    lines_pieces(const __grid_constant__ Op op, int64_t lines, const O *__restrict__ offsets, int64_t pieces,
                 const int64_t *__restrict__ starts, typename Op::Value *__restrict__ carried) {
  __shared__ PieceRoom<typename Op::Value> room;
  constexpr int ITEMS = PieceRoom<typename Op::Value>::ITEMS;
  for (int64_t b = blockIdx.y; b < op.items(); b += gridDim.y) {
    for (int64_t t = blockIdx.x; t < pieces; t += gridDim.x)
      piece_join(op, b, Piece(t, ITEMS, lines, offsets, starts), offsets, room, carried + b * pieces + t);
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

/// The line in which each piece begins, where it is not known.
template <class O>
cudaError_t start_starts(cudaStream_t stream, const cuda_lengths *l, const O *offsets, int64_t piece, int64_t *starts) {
  int64_t pieces = cuda_pieces(l, piece);
  return launch(piece_starts<O>, blocks(ceil_div(pieces + 1, BLOCK / SEEKERS), MAX_X), stream, l->lines, offsets, piece,
                pieces, starts);
}

template <class Op, class O>
cudaError_t start_pieces(cudaStream_t stream, const Op &op, const cuda_lengths *l, const O *offsets, int64_t batch,
                         void *scratch) {
  using Value = typename Op::Value;
  int64_t piece = PieceRoom<Value>::ITEMS, pieces = cuda_pieces(l, piece);
  int64_t *found = static_cast<int64_t *>(scratch);
  Value *carried = reinterpret_cast<Value *>(static_cast<char *>(scratch) + cuda_starts_bytes(l, piece));
  cudaError_t error = l->starts ? cudaSuccess : start_starts(stream, l, offsets, piece, found);
  const int64_t *starts = l->starts ? l->starts : found;
  if (error != cudaSuccess) return error;
  dim3 grid(blocks(pieces, MAX_X), blocks(batch, MAX_YZ));
  lines_pieces<Op, O><<<grid, PIECE_THREADS, 0, stream>>>(op, l->lines, offsets, pieces, starts, carried);
  error = cudaGetLastError();
  if (error != cudaSuccess) return error;
  dim3 carry(blocks(ceil_div(pieces, BLOCK / 32), MAX_X), blocks(batch, MAX_YZ));
  return launch(lines_carry<Op>, carry, stream, op, l->lines, pieces, starts, static_cast<const Value *>(carried));
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
    if constexpr (Op::WORK == LINES_GATHER_BOTH) {
      Tiles tiles = tiles_of(l, WARPS, span_width(l->lines, WARPS, batch, 32, SHORT_SPAN));
      dim3 spans(blocks(tiles.count(), MAX_X), blocks(batch, MAX_YZ));
      if (tiles.across > 1) return launch(lines_spans<Op, O>, spans, stream, op, tiles, offsets);
    }
    dim3 grid(blocks(ceil_div(l->lines, BLOCK), MAX_X), blocks(batch, MAX_YZ));
    return launch(lines_short<Op, O>, grid, stream, op, l->lines, offsets);
  }
  if (mean <= 24) return start_lanes<8>(stream, op, l, offsets, batch);
  if (mean <= 64) return start_lanes<16>(stream, op, l, offsets, batch);
  return start_lanes<32>(stream, op, l, offsets, batch);
}

/// All lines, by the kernel that suits their lengths. `scratch` has the bytes of cuda_pieces_scratch for pieces of
/// cuda_piece where lengths are uneven.
template <class Op, class O>
cudaError_t start_lines(cudaStream_t stream, const Op &op, const cuda_lengths *l, const O *offsets, int64_t batch,
                        void *scratch) {
  if (cuda_lengths_are_uneven(l, batch)) return start_pieces(stream, op, l, offsets, batch, scratch);
  if constexpr (Op::WORK == LINES_RARE) {
    if (cuda_mean_length(l) <= 32) return start_lanes<8>(stream, op, l, offsets, batch);
    return start_lanes<32>(stream, op, l, offsets, batch);
  } else {
    return start_even(stream, op, l, offsets, batch);
  }
}

}  // namespace lac_cuda

#endif

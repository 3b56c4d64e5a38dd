// SPDX-License-Identifier: Apache-2.0
/// @file spmm.cu
/// Sparse times several dense columns:
///
///     y[i, :] = sum over the entries p of row i of a[slot p] x[column p, :]
///
/// Neighbouring lanes take neighbouring columns of x, 16 bytes each where they are aligned. A group of lanes walks a
/// span of rows; the groups of a block have the spans of a tile (tiles.cuh), so that the rows of x which they share are
/// in the nearest cache. A lane reads one of the next entries, long before all lanes of its group hear of it, and a
/// fixed number of rows of x are on their way at a time, wherever rows end. Few columns: a block loads the entries of
/// some rows into shared memory, for groups of few lanes. Uneven rows are cut into pieces (lines.h), a group of lanes
/// to each. A^T is walked by its own rows through slots: no atomics.

#include "backends/cuda/products/matrix.cuh"
#include "backends/cuda/tiles.cuh"

using namespace lac_cuda;

namespace {

/// Columns as threads share them: `lanes` of them, a power of two, have V columns each; there are `passes` over all
/// columns, of which a block makes `share`.
struct Columns {
  int64_t k, passes, share;
  int lanes;
};

/// A thread's place in its group of lanes.
struct Lane {
  int at, group, groups;

  __device__ explicit Lane(int lanes)
      : at(static_cast<int>(threadIdx.x) & (lanes - 1)),
        group(static_cast<int>(threadIdx.x) / lanes),
        groups(BLOCK / lanes) {}
};

/// f(c) for the first of the thread's columns in each pass of its block.
template <int V, class F>
__device__ void for_columns(const Columns &columns, const Lane &lane, F f) {
  int64_t first = static_cast<int64_t>(blockIdx.y) * columns.share, last = first + columns.share;
  for (int64_t pass = first; pass < last; ++pass) {
    int64_t c = (pass * columns.lanes + lane.at) * V;
    if (c < columns.k) f(c);
  }
}

template <class T, int V>
__device__ Pack<T, V> zeros() {
  Pack<T, V> sum;
#pragma unroll
  for (int v = 0; v < V; ++v) sum.at[v] = zero<T>();
  return sum;
}

/// The entries of a matrix where they are.
template <class M>
struct Direct {
  const M &m;
  int64_t base;
  __device__ int64_t column(int64_t p) const { return m.columns[p]; }
  __device__ typename M::Value value(int64_t p) const { return m.value(base, p); }
};

/// The entries of a block's rows in shared memory.
template <class M>
struct Staged {
  const typename M::Column *columns;
  const typename M::Value *values;
  __device__ int64_t column(int p) const { return columns[p]; }
  __device__ typename M::Value value(int p) const { return values[p]; }
};

/// V columns of one row: the entries [begin, end), U rows of x on their way at a time.
template <int U, int V, class E, class P, class T>
__device__ void row_add(const E &entries, P begin, P end, int64_t k, const T *__restrict__ x, Pack<T, V> &sum) {
  for (P p = begin; p < end; p += U) {
    Pack<T, V> factor[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (p + u < end) factor[u] = load<V>(x + entries.column(p + u) * k);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (p + u < end) {
        T value = entries.value(p + u);
#pragma unroll
        for (int v = 0; v < V; ++v) sum.at[v] = sum.at[v] + value * factor[u].at[v];
      }
    }
  }
}

// -- rows of about one length ----------------------------------------------------------------------------------------

constexpr int SPAN = 32;        // the most rows of a group
constexpr int AHEAD = 8;        // rows of x of a group on their way; a group has at least as many lanes
constexpr int SPAN_BLOCKS = 4;  // on a multiprocessor: more would leave too few registers for that

/// The place of an entry. Unsigned, for the last step to overshoot.
template <class M>
using Place = std::make_unsigned_t<typename M::Offset>;

/// The rows of a span as a group stores them, each when its last entry has been added. `end` is where the entries of
/// the current row end, and the largest number behind the last row.
template <class M, int V>
struct RowsOut {
  using T = typename M::Value;

  const typename M::Offset *__restrict__ ends;  // of the current row and those behind it
  char *__restrict__ y;
  int bytes;  // of a row of x or y: addresses are one product
  int left;   // rows
  bool stores;
  Place<M> end, next;
  Pack<T, V> sum;

  __device__ RowsOut(const M &m, const Span &span, int row_bytes, T *to, bool has_columns)
      : ends(m.offsets + span.first + 1),
        y(reinterpret_cast<char *>(to) + span.first * row_bytes),
        bytes(row_bytes),
        left(span.count),
        stores(has_columns),
        end(end_of(0)),
        next(end_of(1)),
        sum(zeros<T, V>()) {}
  __device__ Place<M> end_of(int i) const { return i < left ? static_cast<Place<M>>(ends[i]) : ~Place<M>(0); }
  /// Entries before p have been added.
  __device__ void reach(Place<M> p) {
    while (end == p) {
      if (stores) store_once(reinterpret_cast<Pack<T, V> *>(y), sum);
      sum = zeros<T, V>();
      y += bytes;
      ++ends;
      --left;
      end = next;
      next = end_of(1);
    }
  }
};

/// AHEAD entries from p on, which are those of the lanes from `from` on in `column` and `value`.
template <class M, int V>
__device__ void add_ahead(typename M::Column column, typename M::Value value, int from, int lanes, Place<M> p,
                          Place<M> last, const char *__restrict__ x, RowsOut<M, V> &out) {
  using T = typename M::Value;
  Pack<T, V> factor[AHEAD];
#pragma unroll
  for (int u = 0; u < AHEAD; ++u) {
    int64_t row = __shfl_sync(ALL_LANES, column, from + u, lanes);
    if (p + u < last && out.stores) factor[u] = *reinterpret_cast<const Pack<T, V> *>(x + row * out.bytes);
  }
#pragma unroll
  for (int u = 0; u < AHEAD; ++u) {
    T a = shift_from(value, from + u, lanes);
    if (p + u < last) {
#pragma unroll
      for (int v = 0; v < V; ++v) out.sum.at[v] = out.sum.at[v] + a * factor[u].at[v];
      out.reach(p + u + 1);
    }
  }
}

/// A span by a group of `lanes`. All lanes of the warp take part, until all its groups are done.
template <class M, int V>
__device__ void add_span(const M &m, const Span &span, int lanes, int64_t base, const char *__restrict__ x,
                         RowsOut<M, V> &out) {
  using P = Place<M>;
  P lane = threadIdx.x & static_cast<unsigned>(lanes - 1), step = static_cast<P>(lanes);
  P first = span.count ? static_cast<P>(m.offsets[span.first]) : 0,
    last = span.count ? static_cast<P>(m.offsets[span.first + span.count]) : 0;
  typename M::Column column = 0;
  typename M::Offset slot = 0;
  auto look = [&](P p) {
    if (p < last) column = m.column_once(static_cast<int64_t>(p)), slot = m.slot_once(static_cast<int64_t>(p));
  };
  look(first + lane);
  out.reach(first);
  for (P p = first; __any_sync(ALL_LANES, p < last); p += step) {
    auto here = column;
    auto value = p + lane < last ? m.at_slot(base, slot) : zero<typename M::Value>();
    look(p + step + lane);
    for (int from = 0; from < lanes && __any_sync(ALL_LANES, p + from < last); from += AHEAD)
      add_ahead<M, V>(here, value, from, lanes, p + from, last, x, out);
  }
}

template <class M, int V>
__global__ void __launch_bounds__(BLOCK, SPAN_BLOCKS)
    spmm_spans(M m, const __grid_constant__ cuda_axes items, const __grid_constant__ Tiles tiles, int64_t passes,
               int64_t count, int lanes, int64_t k, const typename M::Value *__restrict__ x,
               typename M::Value *__restrict__ y) {
  Lane lane(lanes);
  int row_bytes = static_cast<int>(k * static_cast<int64_t>(sizeof(typename M::Value)));
  for (int64_t b = blockIdx.y; b < items.count; b += gridDim.y) {
    Offsets at = locate(items, b);
    for (int64_t unit = blockIdx.x; unit < count; unit += gridDim.x) {
      int64_t tile = static_cast<int64_t>(static_cast<uint64_t>(unit) / static_cast<uint64_t>(passes));
      int64_t c = ((unit - tile * passes) * lanes + lane.at) * V;
      Span span = tiles.span(tile, lane.group);
      RowsOut<M, V> out(m, span, row_bytes, y + b * m.rows * k + c, c < k);
      add_span<M, V>(m, span, lanes, at.x, reinterpret_cast<const char *>(x + at.y + c), out);
    }
  }
}

// -- few columns -----------------------------------------------------------------------------------------------------

constexpr int ON_THEIR_WAY = 5;  // rows of x of a group
constexpr int AT_ONCE = 3;       // blocks on a multiprocessor: more would leave too few registers for that
constexpr int MOST_ROWS = 512;   // of a block
constexpr int ROOM = 512;        // entries that it keeps in shared memory; the rest of that is cache for x

template <class M, int V>
__global__ void __launch_bounds__(BLOCK, AT_ONCE)
    spmm_rows(M m, const __grid_constant__ cuda_axes items, const __grid_constant__ Columns columns, int rows,
              const typename M::Value *__restrict__ x, typename M::Value *__restrict__ y) {
  using T = typename M::Value;
  __shared__ typename M::Column staged_columns[ROOM];
  __shared__ T staged_values[ROOM];
  __shared__ typename M::Offset begins[MOST_ROWS + 1];
  Lane lane(columns.lanes);
  int64_t step = static_cast<int64_t>(gridDim.x) * rows;
  for (int64_t b = blockIdx.z; b < items.count; b += gridDim.z) {
    Offsets at = locate(items, b);
    for (int64_t top = static_cast<int64_t>(blockIdx.x) * rows; top < m.rows; top += step) {
      int here = m.rows - top < rows ? static_cast<int>(m.rows - top) : rows;
      auto first = m.offsets[top], last = m.offsets[top + here];
      bool fits = last - first <= ROOM;
      int count = fits ? static_cast<int>(last - first) : 0;
      for (int i = static_cast<int>(threadIdx.x); i <= here; i += BLOCK) begins[i] = m.offsets[top + i] - first;
      for (int i = static_cast<int>(threadIdx.x); i < count; i += BLOCK) {
        staged_columns[i] = m.columns[first + i];
        staged_values[i] = m.value(at.x, first + i);
      }
      __syncthreads();
      for_columns<V>(columns, lane, [&](int64_t c) {
        const T *from = x + at.y + c;
        for (int i = lane.group; i < here; i += lane.groups) {
          Pack<T, V> sum = zeros<T, V>();
          if (fits) {
            row_add<ON_THEIR_WAY>(Staged<M>{staged_columns, staged_values}, static_cast<int>(begins[i]),
                                  static_cast<int>(begins[i + 1]), columns.k, from, sum);
          } else {
            row_add<4>(Direct<M>{m, at.x}, static_cast<int64_t>(first + begins[i]),
                       static_cast<int64_t>(first + begins[i + 1]), columns.k, from, sum);
          }
          store<V>(y + (b * m.rows + top + i) * columns.k + c, sum);
        }
      });
      __syncthreads();
    }
  }
}

/// The same where y sums over a batch.
template <class M, int V>
__global__ void __launch_bounds__(BLOCK)
    spmm_sums(M m, const __grid_constant__ cuda_batch batch, const __grid_constant__ Columns columns,
              const typename M::Value *__restrict__ x, typename M::Value *__restrict__ y) {
  using T = typename M::Value;
  Lane lane(columns.lanes);
  int64_t first = static_cast<int64_t>(blockIdx.x) * lane.groups + lane.group,
          step = static_cast<int64_t>(gridDim.x) * lane.groups;
  for (int64_t b = blockIdx.z; b < batch.kept.count; b += gridDim.z) {
    Offsets base = locate(batch.kept, b);
    for_columns<V>(columns, lane, [&](int64_t c) {
      for (int64_t row = first; row < m.rows; row += step) {
        Pack<T, V> sum = zeros<T, V>();
        int64_t begin = m.offsets[row], end = m.offsets[row + 1];
        for_summands<true>(batch.summed, base, [&](Offsets at) {
          row_add<4>(Direct<M>{m, at.x}, begin, end, columns.k, x + at.y + c, sum);
        });
        store<V>(y + (b * m.rows + row) * columns.k + c, sum);
      }
    });
  }
}

// -- uneven rows -----------------------------------------------------------------------------------------------------

/// A group of lanes to a piece: rows that end in it are stored, what is left is carried.
template <class M, int V>
__global__ void __launch_bounds__(BLOCK)
    spmm_pieces(M m, const __grid_constant__ cuda_batch batch, const __grid_constant__ Columns columns, int64_t length,
                int64_t pieces, const int64_t *__restrict__ starts, const typename M::Value *__restrict__ x,
                typename M::Value *__restrict__ carried, typename M::Value *__restrict__ y) {
  using T = typename M::Value;
  Lane lane(columns.lanes);
  int64_t first = static_cast<int64_t>(blockIdx.x) * lane.groups + lane.group,
          step = static_cast<int64_t>(gridDim.x) * lane.groups;
  for (int64_t b = blockIdx.z; b < batch.kept.count; b += gridDim.z) {
    Offsets base = locate(batch.kept, b);
    for (int64_t t = first; t < pieces; t += step) {
      Piece piece(t, length, m.rows, m.offsets, starts);
      for_columns<V>(columns, lane, [&](int64_t c) {
        int64_t begin = piece.entry;
        for (int i = 0; i <= piece.lines; ++i) {
          bool is_whole = i < piece.lines;
          int64_t row = piece.line + i, end = is_whole ? m.offsets[row + 1] : piece.entry + piece.entries;
          Pack<T, V> sum = zeros<T, V>();
          for_summands<true>(batch.summed, base, [&](Offsets at) {
            row_add<4>(Direct<M>{m, at.x}, begin, end, columns.k, x + at.y + c, sum);
          });
          T *to = is_whole ? y + (b * m.rows + row) * columns.k : carried + (b * pieces + t) * columns.k;
          store<V>(to + c, sum);
          begin = end;
        }
      });
    }
  }
}

/// What was carried of a row is added to it: a warp to a row, of which `lanes` have columns and the others take turns
/// at the pieces.
template <class T>
__global__ void __launch_bounds__(BLOCK) spmm_carry(int64_t rows, int64_t items, int64_t k, int lanes, int64_t pieces,
                                                    const int64_t *starts, const T *carried, T *y) {
  Groups<32> warps;
  int at = warps.lane & (lanes - 1), turn = warps.lane / lanes, turns = 32 / lanes;
  for (int64_t b = blockIdx.y; b < items; b += gridDim.y) {
    for (int64_t t = warps.first; t < pieces; t += warps.step) {
      if (!begins_to_carry(t, rows, starts)) continue;
      int64_t row = starts[t + 1];
      for (int64_t left = 0; left < k; left += lanes) {
        int64_t c = left + at;
        T sum = zero<T>();
        for (int64_t i = t + turn; c < k && i < pieces && starts[i + 1] == row; i += turns)
          sum = sum + carried[(b * pieces + i) * k + c];
        for (int d = 16; d >= lanes; d /= 2) sum = sum + shift_down(sum, d, 32);
        if (turn == 0 && c < k) y[(b * rows + row) * k + c] = sum + y[(b * rows + row) * k + c];
      }
    }
  }
}

// -- starting --------------------------------------------------------------------------------------------------------

int power_of_two(int64_t least, int most) {
  int power = 1;
  while (power < most && power < least) power *= 2;
  return power;
}

/// `tiles` blocks stand beside each other along the rows and the batch: the more these are, the more passes one has.
Columns columns_of(int64_t k, int64_t packs, int64_t tiles) {
  int lanes = power_of_two(packs, 32);
  int64_t passes = ceil_div(packs, lanes), wanted = ceil_div(FULL_GRID, tiles < 1 ? 1 : tiles);
  if (wanted > MAX_YZ) wanted = MAX_YZ;
  return {k, passes, ceil_div(passes, wanted < passes ? wanted : passes), lanes};
}

unsigned grid_y(const Columns &columns) { return blocks(ceil_div(columns.passes, columns.share), MAX_YZ); }

/// Rows of a block: as many as share their entries in shared memory, but few enough to fill the device.
int rows_of_block(int64_t rows, int64_t mean, int groups, int64_t others) {
  int64_t fits = ROOM * 4 / 5 / (groups * (mean + 1)), many = 1;
  while (many < fits && many < 8 && groups * many * 2 <= MOST_ROWS &&
         ceil_div(rows, groups * many * 2) * others >= FULL_GRID)
    many *= 2;
  return static_cast<int>(groups * many);
}

template <int V, class M, class T>
cudaError_t start_spans(cudaStream_t stream, const M &m, const cuda_lengths *l, const cuda_axes *items, int64_t k,
                        const T *x, T *y) {
  int64_t packs = k / V;
  int lanes = power_of_two(packs, 32), height = BLOCK / lanes;
  int64_t passes = ceil_div(packs, lanes);
  Tiles tiles = tiles_of(l, height, span_width(m.rows, height, passes * items->count, 4, SPAN));
  int64_t count = tiles.count() * passes;
  dim3 grid(blocks(count, MAX_X), blocks(items->count, MAX_YZ));
  return launch(spmm_spans<M, V>, grid, stream, m, *items, tiles, passes, count, lanes, k, x, y);
}

/// Every row has its sums in one piece.
template <int V, class M, class T>
cudaError_t start_rows(cudaStream_t stream, const M &m, const cuda_lengths *l, const cuda_batch *batch, int64_t k,
                       const T *x, T *y) {
  int64_t packs = k / V, items = batch->kept.count;
  bool sums = batch->summed.count != 1;
  bool spans = packs > AHEAD / 2 && k <= INT32_MAX / static_cast<int64_t>(sizeof(T));
  if (spans && !sums) return start_spans<V>(stream, m, l, &batch->kept, k, x, y);
  int groups = BLOCK / power_of_two(packs, 32);
  int rows = sums ? groups : rows_of_block(m.rows, cuda_mean_length(l), groups, items);
  int64_t tiles = ceil_div(m.rows, rows);
  Columns columns = columns_of(k, packs, tiles * items);
  dim3 grid(blocks(tiles, MAX_X), grid_y(columns), blocks(items, MAX_YZ));
  if (sums) return launch(spmm_sums<M, V>, grid, stream, m, *batch, columns, x, y);
  return launch(spmm_rows<M, V>, grid, stream, m, batch->kept, columns, rows, x, y);
}

/// Items of a piece: a row of some thousand columns must not make what is carried larger than x.
int64_t piece_length(const cuda_lengths *l, int64_t items, int64_t k, size_t bytes) {
  const int64_t most = 1 << 16, most_bytes = 256 << 20;
  int64_t all = l->lines + l->entries, row = items * k * static_cast<int64_t>(bytes), length = 64;
  while (ceil_div(all, length) > most || ceil_div(all, length) * row > most_bytes) {
    if (length >= all) break;
    length *= 2;
  }
  return length;
}

template <int V, class M, class T>
cudaError_t start_row_pieces(cudaStream_t stream, const M &m, const cuda_lengths *l, const cuda_batch *batch, int64_t k,
                             const T *x, void *scratch, T *y) {
  int64_t items = batch->kept.count, length = piece_length(l, items, k, sizeof(T)), pieces = cuda_pieces(l, length);
  int64_t *starts = static_cast<int64_t *>(scratch);
  T *carried = reinterpret_cast<T *>(static_cast<char *>(scratch) + cuda_starts_bytes(l, length));
  cudaError_t error = start_starts(stream, l, m.offsets, length, starts);
  if (error != cudaSuccess) return error;
  int64_t tiles = ceil_div(pieces, BLOCK / power_of_two(k / V, 32));
  Columns columns = columns_of(k, k / V, tiles * items);
  dim3 grid(blocks(tiles, MAX_X), grid_y(columns), blocks(items, MAX_YZ));
  error = launch(spmm_pieces<M, V>, grid, stream, m, *batch, columns, length, pieces, starts, x, carried, y);
  if (error != cudaSuccess) return error;
  dim3 carry(blocks(ceil_div(pieces, BLOCK / 32), MAX_X), blocks(items, MAX_YZ));
  return launch(spmm_carry<T>, carry, stream, m.rows, items, k, power_of_two(k, 32), pieces, starts, carried, y);
}

/// Columns are work that few rows have beside each other.
bool rows_are_uneven(const cuda_lengths *l, int64_t items, int64_t k) {
  return cuda_lengths_are_uneven(l, items * ceil_div(k, 64));
}

template <int V, class M, class T>
cudaError_t start(cudaStream_t stream, const M &m, const cuda_matrix *matrix, const cuda_batch *batch, int64_t k,
                  const T *x, void *scratch, T *y) {
  if (rows_are_uneven(&matrix->lengths, batch->kept.count, k))
    return start_row_pieces<V>(stream, m, &matrix->lengths, batch, k, x, scratch, y);
  return start_rows<V>(stream, m, &matrix->lengths, batch, k, x, y);
}

}  // namespace

size_t cuda_spmm_scratch(lac_dtype dtype, const cuda_matrix *m, int64_t items, int64_t k) {
  if (!rows_are_uneven(&m->lengths, items, k)) return 0;
  size_t bytes = lac_dtype_size(dtype);
  int64_t length = piece_length(&m->lengths, items, k, bytes);
  return cuda_pieces_scratch(&m->lengths, length, items, static_cast<size_t>(k) * bytes);
}

cudaError_t cuda_launch_spmm(cudaStream_t stream, lac_dtype dtype, const cuda_matrix *m, const cuda_batch *batch,
                             int64_t k, const void *a, const void *x, void *scratch, void *y) {
  if (m->rows.rows == 0 || k == 0 || batch->kept.count == 0) return cudaSuccess;
  return with_matrix(dtype, m, a, [&](auto rows) {
    using T = typename decltype(rows)::Value;
    constexpr int V = wide_pack<T>();
    const T *from = static_cast<const T *>(x);
    T *to = static_cast<T *>(y);
    if (V > 1 && k % V == 0 && is_aligned(x) && is_aligned(y))
      return start<V>(stream, rows, m, batch, k, from, scratch, to);
    return start<1>(stream, rows, m, batch, k, from, scratch, to);
  });
}

// SPDX-License-Identifier: Apache-2.0
/// @file narrow.cu
/// Chains and narrow bands, whose rows need those just before them: substitution by a scan.
///
///     x_t = q_t - sum over m < M of r_tm x_(t-1-m)              rows in the order of substitution, divided by a_tt
///     s   = y + W s'                                            the last M unknowns of a piece, from those before it
///
/// Each thread has a piece of a few rows. The maps (y, W) of pieces are joined in a fixed tree, which gives each piece
/// the unknowns before it; then each piece is substituted from these. That is as good as one substitution where the
/// unknowns at the end of a piece are those from which the next piece began, and each thread looks: they must agree to
/// some roundings of the terms of the piece. Where they do not, because products of many r leave the range or
/// cancel, a last kernel substitutes the whole line once more, row by row.

#include <cfloat>

#include "backends/cuda/solves/quotient.cuh"
#include "backends/cuda/solves/solves.h"
#include "backends/cuda/solves/wait.cuh"

using namespace lac_cuda;

namespace {

constexpr int PIECE = 8;          // rows of a thread
constexpr int SERIAL_ROWS = 512;  // rows that wait in shared memory for the thread that substitutes all
constexpr int SERIAL_THREADS = 128;
constexpr double ROUNDINGS = 64;

/// Unknowns before a row, the nearest first.
template <class T, int M>
struct State {
  T x[M];
};

/// s = y + W s'
template <class T, int M>
struct Affine {
  T y[M], w[M][M];
};

template <class T, int M>
struct Step {
  T q, r[M];
};

/// The threads of a block, whose maps are in shared memory, and the rows of their pieces.
template <class T, int M>
struct Tile {
  static constexpr int BYTES = static_cast<int>(sizeof(Affine<T, M>)), ROOM = 32768;
  static constexpr int THREADS = BYTES * 256 <= ROOM ? 256 : BYTES * 128 <= ROOM ? 128 : 64;
  static constexpr int64_t ROWS = static_cast<int64_t>(THREADS) * PIECE;
};

template <class T>
struct Narrow {
  int64_t rows, entries, k, tiles;
  cuda_index offsets, columns, slots;
  const T *__restrict__ a, *__restrict__ b;
  T *x;
  int is_lower, is_unit, conj;

  __device__ int64_t row(int64_t t) const { return is_lower ? t : rows - 1 - t; }
  __device__ T value(int64_t base, int64_t p) const {
    return conj_if(conj, a[base + (slots.data ? get(slots, p) : p)]);
  }
};

/// One right-hand side of an item.
struct Line {
  int64_t out;  // its first unknown
  int64_t b;    // and number of b
  int64_t a;
};

template <class T>
__device__ Line line_of(const Narrow<T> &m, const cuda_axes &items, int64_t index) {
  uint64_t item = static_cast<uint64_t>(index) / static_cast<uint64_t>(m.k);
  int64_t column = index - static_cast<int64_t>(item) * m.k;
  Offsets at = locate(items, static_cast<int64_t>(item));
  return {static_cast<int64_t>(item) * m.rows * m.k + column, at.y + column, at.x};
}

/// Row t, divided by its diagonal entry.
template <int M, class T>
__device__ Step<T, M> step_of(const Narrow<T> &m, Line line, int64_t t, T *diagonal) {
  int64_t i = m.row(t), end = get(m.offsets, i + 1);
  T d = Number<T>::make(1, 0);
  Step<T, M> step;
#pragma unroll
  for (int c = 0; c < M; ++c) step.r[c] = zero<T>();
  for (int64_t p = get(m.offsets, i); p < end; ++p) {
    int64_t away = get(m.columns, p) - i;
    T value = m.value(line.a, p);
    if (away == 0) d = value;
    if (away < 0) away = -away;
#pragma unroll
    for (int c = 0; c < M; ++c) {
      if (away == c + 1) step.r[c] = value;
    }
  }
  step.q = m.b[line.b + i * m.k];
  if (!m.is_unit) {
    step.q = quotient(step.q, d);
#pragma unroll
    for (int c = 0; c < M; ++c) step.r[c] = quotient(step.r[c], d);
  }
  *diagonal = d;
  return step;
}

/// The next unknown, or with q = 0 what comes of a change of those before it.
template <class T, int M>
__device__ T advance(const Step<T, M> &step, T q, State<T, M> &s) {
  T x = q;
#pragma unroll
  for (int c = M - 1; c >= 0; --c) x = take_off(x, step.r[c], s.x[c]);
#pragma unroll
  for (int c = M - 1; c > 0; --c) s.x[c] = s.x[c - 1];
  s.x[0] = x;
  return x;
}

// -- maps ------------------------------------------------------------------------------------------------------------

template <class T, int M>
__device__ State<T, M> apply(const Affine<T, M> &f, const State<T, M> &s) {
  State<T, M> to;
#pragma unroll
  for (int i = 0; i < M; ++i) {
    to.x[i] = f.y[i];
#pragma unroll
    for (int j = 0; j < M; ++j) to.x[i] = to.x[i] + f.w[i][j] * s.x[j];
  }
  return to;
}

/// First f, then g.
template <class T, int M>
__device__ Affine<T, M> join(const Affine<T, M> &f, const Affine<T, M> &g) {
  Affine<T, M> both;
#pragma unroll
  for (int i = 0; i < M; ++i) {
    both.y[i] = g.y[i];
#pragma unroll
    for (int j = 0; j < M; ++j) {
      both.y[i] = both.y[i] + g.w[i][j] * f.y[j];
      T sum = zero<T>();
#pragma unroll
      for (int l = 0; l < M; ++l) sum = sum + g.w[i][l] * f.w[l][j];
      both.w[i][j] = sum;
    }
  }
  return both;
}

template <class T, int M>
__device__ Affine<T, M> no_change() {
  Affine<T, M> f;
#pragma unroll
  for (int i = 0; i < M; ++i) {
    f.y[i] = zero<T>();
#pragma unroll
    for (int j = 0; j < M; ++j) f.w[i][j] = Number<T>::make(i == j, 0);
  }
  return f;
}

/// The map of a thread's piece, which begins at row t.
template <int M, class T>
__device__ Affine<T, M> piece_of(const Narrow<T> &m, Line line, int64_t t) {
  State<T, M> y, w[M];
#pragma unroll
  for (int i = 0; i < M; ++i) {
    y.x[i] = zero<T>();
#pragma unroll
    for (int j = 0; j < M; ++j) w[j].x[i] = Number<T>::make(i == j, 0);
  }
  for (int64_t end = t + PIECE < m.rows ? t + PIECE : m.rows; t < end; ++t) {
    T diagonal;
    Step<T, M> step = step_of<M>(m, line, t, &diagonal);
    advance(step, step.q, y);
#pragma unroll
    for (int j = 0; j < M; ++j) advance(step, zero<T>(), w[j]);
  }
  Affine<T, M> f;
#pragma unroll
  for (int i = 0; i < M; ++i) {
    f.y[i] = y.x[i];
#pragma unroll
    for (int j = 0; j < M; ++j) f.w[i][j] = w[j].x[i];
  }
  return f;
}

/// shared[i] becomes the map of the pieces of threads 0 .. i, by one tree.
template <class T, int M>
__device__ void scan(Affine<T, M> *shared, const Affine<T, M> &mine) {
  const int me = static_cast<int>(threadIdx.x), all = static_cast<int>(blockDim.x);
  Affine<T, M> sum = mine;
  shared[me] = sum;
  for (int apart = 1; apart < all; apart *= 2) {
    __syncthreads();
    if (me >= apart) sum = join(shared[me - apart], sum);
    __syncthreads();
    shared[me] = sum;
  }
  __syncthreads();
}

// -- kernels ---------------------------------------------------------------------------------------------------------

/// The maps of tiles, a block of threads each.
template <class T, int M>
__global__ void __launch_bounds__(256)
    narrow_tiles(Narrow<T> m, const __grid_constant__ cuda_axes items, Affine<T, M> *of_tiles) {
  __shared__ Affine<T, M> shared[Tile<T, M>::THREADS];
  const int64_t lines = items.count * m.k;
  for (int64_t l = blockIdx.y; l < lines; l += gridDim.y) {
    Line line = line_of(m, items, l);
    for (int64_t tile = blockIdx.x; tile < m.tiles; tile += gridDim.x) {
      int64_t piece = tile * Tile<T, M>::THREADS + static_cast<int>(threadIdx.x);
      scan(shared, piece_of<M>(m, line, piece * PIECE));
      if (threadIdx.x == blockDim.x - 1) of_tiles[l * m.tiles + tile] = shared[threadIdx.x];
      __syncthreads();
    }
  }
}

/// The unknowns before each tile, a block to a line.
template <class T, int M>
__global__ void __launch_bounds__(256)
    narrow_between(int64_t lines, int64_t tiles, const Affine<T, M> *of_tiles, State<T, M> *before) {
  __shared__ Affine<T, M> shared[Tile<T, M>::THREADS];
  __shared__ State<T, M> carried;
  const int me = static_cast<int>(threadIdx.x), all = static_cast<int>(blockDim.x);
  for (int64_t l = blockIdx.x; l < lines; l += gridDim.x) {
    if (me == 0) {
      for (int i = 0; i < M; ++i) carried.x[i] = zero<T>();
      before[l * tiles] = carried;
    }
    for (int64_t first = 0; first + 1 < tiles; first += all) {
      scan(shared, first + me + 1 < tiles ? of_tiles[l * tiles + first + me] : no_change<T, M>());
      State<T, M> mine = apply(shared[me], carried);
      if (first + me + 1 < tiles) before[l * tiles + first + me + 1] = mine;
      __syncthreads();
      if (me == all - 1) carried = mine;
      __syncthreads();
    }
    __syncthreads();
  }
}

/// Whether the unknowns at the end of a piece are those from which the next one began. NaN is not.
template <class T, int M>
__device__ bool agree(const State<T, M> &end, const State<T, M> &next, const double (&terms)[M]) {
  constexpr double EPSILON = sizeof(typename Number<T>::Real) == 4 ? FLT_EPSILON : DBL_EPSILON;
  bool do_agree = true;
#pragma unroll
  for (int i = 0; i < M; ++i) {
    do_agree = do_agree && isfinite(terms[i]) && size_of(end.x[i] - next.x[i]) <= ROUNDINGS * EPSILON * terms[i];
  }
  return do_agree;
}

/// Substitute a piece from the unknowns before it; `terms` becomes what one rounding of each term may change at its
/// end, in units of the rounding.
template <int M, class T>
__device__ void substitute(const Narrow<T> &m, Line line, int64_t t, State<T, M> &s, double (&terms)[M],
                           uint64_t *fault) {
#pragma unroll
  for (int i = 0; i < M; ++i) terms[i] = 0;
  for (int64_t end = t + PIECE < m.rows ? t + PIECE : m.rows; t < end; ++t) {
    T diagonal;
    Step<T, M> step = step_of<M>(m, line, t, &diagonal);
    if (is_zero(diagonal)) note_least(fault, line.a / m.entries * m.rows + m.row(t));
    double sum = size_of(step.q);
#pragma unroll
    for (int c = 0; c < M; ++c) sum += size_of(step.r[c]) * (size_of(s.x[c]) + terms[c]);
#pragma unroll
    for (int c = M - 1; c > 0; --c) terms[c] = terms[c - 1];
    terms[0] = sum;
    m.x[line.out + m.row(t) * m.k] = advance(step, step.q, s);
  }
}

template <class T, int M>
__global__ void __launch_bounds__(256) narrow_solve(Narrow<T> m, const __grid_constant__ cuda_axes items,
                                                    const State<T, M> *before, int *agreed, cuda_solve_words *words) {
  __shared__ Affine<T, M> shared[Tile<T, M>::THREADS];
  __shared__ State<T, M> begins[Tile<T, M>::THREADS + 1];
  const int64_t lines = items.count * m.k;
  const int me = static_cast<int>(threadIdx.x);
  for (int64_t l = blockIdx.y; l < lines; l += gridDim.y) {
    Line line = line_of(m, items, l);
    for (int64_t tile = blockIdx.x; tile < m.tiles; tile += gridDim.x) {
      int64_t t = (tile * Tile<T, M>::THREADS + me) * PIECE;
      State<T, M> s;
#pragma unroll
      for (int i = 0; i < M; ++i) s.x[i] = zero<T>();
      if (before) s = before[l * m.tiles + tile];
      scan(shared, piece_of<M>(m, line, t));
      if (me > 0) s = apply(shared[me - 1], s);
      begins[me] = s;
      if (me == 0 && tile + 1 < m.tiles) begins[blockDim.x] = before[l * m.tiles + tile + 1];
      double terms[M];
      substitute<M>(m, line, t, s, terms, &words->fault);
      __syncthreads();
      if (t + PIECE < m.rows && !agree(s, begins[me + 1], terms)) agreed[l] = 0;
      __syncthreads();
    }
  }
}

/// Row by row, lines whose pieces do not agree.
template <class T, int M>
__global__ void __launch_bounds__(SERIAL_THREADS)
    narrow_serial(Narrow<T> m, const __grid_constant__ cuda_axes items, const int *agreed) {
  extern __shared__ unsigned char room[];
  Step<T, M> *steps = reinterpret_cast<Step<T, M> *>(room);
  const int64_t lines = items.count * m.k;
  for (int64_t l = blockIdx.x; l < lines; l += gridDim.x) {
    if (agreed[l]) continue;
    Line line = line_of(m, items, l);
    State<T, M> s;
    for (int i = 0; i < M; ++i) s.x[i] = zero<T>();
    for (int64_t first = 0; first < m.rows; first += SERIAL_ROWS) {
      int count = m.rows - first < SERIAL_ROWS ? static_cast<int>(m.rows - first) : SERIAL_ROWS;
      T diagonal;
      for (int c = static_cast<int>(threadIdx.x); c < count; c += SERIAL_THREADS) {
        steps[c] = step_of<M>(m, line, first + c, &diagonal);
      }
      __syncthreads();
      for (int c = 0; c < count && threadIdx.x == 0; ++c) steps[c].q = advance(steps[c], steps[c].q, s);
      __syncthreads();
      for (int c = static_cast<int>(threadIdx.x); c < count; c += SERIAL_THREADS) {
        m.x[line.out + m.row(first + c) * m.k] = steps[c].q;
      }
      __syncthreads();
    }
  }
}

// -- launchers -------------------------------------------------------------------------------------------------------

/// f(std::integral_constant) for the M of kernels that serve a reach.
template <class F>
auto with_reach(int reach, F f) {
  if (reach <= 1) return f(std::integral_constant<int, 1>{});
  if (reach <= 2) return f(std::integral_constant<int, 2>{});
  return f(std::integral_constant<int, 4>{});
}

/// What follows the words: for each line whether its pieces agree, all bits set before; maps of tiles; unknowns before
/// each.
struct Places {
  size_t agreed, maps, states, end;
};

template <class T, int M>
Places places_of(int64_t tiles, int64_t lines) {
  size_t agreed = sizeof(cuda_solve_words), count = tiles > 1 ? static_cast<size_t>(tiles * lines) : 0;
  size_t maps = (agreed + static_cast<size_t>(lines) * sizeof(int) + 15) / 16 * 16;
  size_t states = maps + count * sizeof(Affine<T, M>);
  return {agreed, maps, states, states + count * sizeof(State<T, M>)};
}

template <class T, int M>
cudaError_t run(cudaStream_t stream, Narrow<T> m, const cuda_axes &items, cuda_solve_words *words) {
  const int64_t lines = items.count * m.k;
  const int size = Tile<T, M>::THREADS;
  const dim3 grid(blocks(m.tiles, MAX_X), blocks(lines, MAX_YZ));
  char *memory = reinterpret_cast<char *>(words);
  Places places = places_of<T, M>(m.tiles, lines);
  int *agreed = reinterpret_cast<int *>(memory + places.agreed);
  Affine<T, M> *of_tiles = reinterpret_cast<Affine<T, M> *>(memory + places.maps);
  State<T, M> *before = m.tiles > 1 ? reinterpret_cast<State<T, M> *>(memory + places.states) : nullptr;
  cudaError_t error = cudaMemsetAsync(memory, 0xff, places.maps, stream);
  if (error != cudaSuccess) return error;
  if (before) {
    narrow_tiles<T, M><<<grid, size, 0, stream>>>(m, items, of_tiles);
    narrow_between<T, M><<<blocks(lines, MAX_X), size, 0, stream>>>(lines, m.tiles, of_tiles, before);
  }
  narrow_solve<T, M><<<grid, size, 0, stream>>>(m, items, before, agreed, words);
  if (m.rows > PIECE) {
    narrow_serial<T, M>
        <<<blocks(lines, MAX_X), SERIAL_THREADS, SERIAL_ROWS * sizeof(Step<T, M>), stream>>>(m, items, agreed);
  }
  return cudaGetLastError();
}

}  // namespace

size_t cuda_narrow_bytes(const cuda_trisolve_job *job, int reach) {
  size_t bytes = 0;
  (void)with_dtype(job->dtype, [&](auto number) {
    using T = decltype(number);
    return with_reach(reach, [&](auto m) {
      constexpr int M = decltype(m)::value;
      bytes = places_of<T, M>(ceil_div(job->rows.rows, Tile<T, M>::ROWS), job->batch.kept.count * job->k).end;
      return cudaSuccess;
    });
  });
  return bytes;
}

cudaError_t cuda_launch_trisolve_narrow(cudaStream_t stream, const cuda_trisolve_job *job, int reach) {
  if (job->rows.rows * job->batch.kept.count * job->k == 0) return cudaSuccess;
  return with_dtype(job->dtype, [&](auto number) {
    using T = decltype(number);
    return with_reach(reach, [&](auto reached) {
      constexpr int M = decltype(reached)::value;
      Narrow<T> m = {job->rows.rows,
                     job->rows.entries,
                     job->k,
                     ceil_div(job->rows.rows, Tile<T, M>::ROWS),
                     job->rows.offsets,
                     job->rows.columns,
                     job->rows.slots,
                     static_cast<const T *>(job->a),
                     static_cast<const T *>(job->b),
                     static_cast<T *>(job->x),
                     job->is_lower,
                     job->is_unit,
                     job->conj};
      return run<T, M>(stream, m, job->batch.kept, job->words);
    });
  });
}

// SPDX-License-Identifier: Apache-2.0
/// @file trisolve.cu
/// Substitution by levels, in one launch: x_i = (b_i - sum of a_ij x_j over the triangle) / a_ii.
///
/// A unit is one unknown of one right-hand side. Units are taken up in the order of levels by warps, one lane or a
/// group of lanes to a unit, with all that does not depend on unknowns; then a lane waits for the unknowns of its
/// entries, as they come and a few at a time (wait.cuh). Lanes of a warp may wait for each other: the warp goes round
/// together, and each round gives what was found in it. Entries are taken in one order, towards the diagonal.

#include "backends/cuda/solves/quotient.cuh"
#include "backends/cuda/solves/solves.h"
#include "backends/cuda/solves/wait.cuh"

using namespace lac_cuda;

namespace {

template <class T, class O, class C>
struct Triangle {
  int64_t rows, entries, k;
  const O *__restrict__ offsets;
  const C *__restrict__ columns;
  const O *__restrict__ slots;
  const C *__restrict__ order;
  const T *__restrict__ a, *__restrict__ b;
  T *x;
  int is_lower, is_unit, conj;

  __device__ T value(int64_t base, O p) const { return conj_if(conj, a[base + (slots ? slots[p] : p)]); }
};

/// A unit: row `row` of a line, a right-hand side of an item.
struct Unit {
  int64_t row, item, column;
  Offsets at;
};

template <class T, class O, class C>
__device__ Unit unit_of(const Triangle<T, O, C> &m, const cuda_axes &items, int64_t lines, int64_t index) {
  Unit u = {index, 0, 0, {0, 0}};
  if (lines > 1) {
    uint64_t place = static_cast<uint64_t>(index) / static_cast<uint64_t>(lines);
    uint64_t line = static_cast<uint64_t>(index) - place * static_cast<uint64_t>(lines);
    u.row = static_cast<int64_t>(place);
    u.item = static_cast<int64_t>(line / static_cast<uint64_t>(m.k));
    u.column = static_cast<int64_t>(line) - u.item * m.k;
    u.at = locate(items, u.item);
  }
  u.row = m.order[u.row];
  return u;
}

/// The entries of one row that a lane takes: every G-th, U of them in registers.
template <int G, int U, class T, class O, class C>
struct Terms {
  O next, left;  // of those that are not in registers
  int have, used;
  C column[U];
  T value[U];

  __device__ void open(const Triangle<T, O, C> &m, int64_t row, int lane) {
    O begin = m.offsets[row], end = m.offsets[row + 1], stored = m.is_unit ? 0 : 1, count = end - begin - stored;
    have = used = 0;
    left = count > lane ? (count - lane + G - 1) / G : 0;
    next = m.is_lower ? begin + lane : end - 1 - lane;
  }

  __device__ void fetch(const Triangle<T, O, C> &m, int64_t base) {
    if (used < have || left == 0) return;
    have = left < U ? static_cast<int>(left) : U;
    used = 0;
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (u >= have) continue;
      O p = m.is_lower ? next + u * G : next - u * G;
      column[u] = m.columns[p];
      value[u] = m.value(base, p);
    }
    left -= have;
    next = m.is_lower ? next + U * G : next - U * G;
  }

  /// Take off what is there, in order. x is that of the line.
  __device__ T take(const T *x, int64_t k, T sum) {
    T found[U];
    bool is_there[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      is_there[u] = false;
      if (u >= used && u < have) is_there[u] = look(x + column[u] * k, &found[u]);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (u == used && u < have && is_there[u]) sum = take_off(sum, value[u], found[u]), ++used;
    }
    return sum;
  }

  __device__ bool are_done() const { return used == have && left == 0; }
};

template <class T, class O, class C>
__device__ T diagonal_of(const Triangle<T, O, C> &m, int64_t row, int64_t base) {
  if (m.is_unit) return Number<T>::make(1, 0);
  return m.value(base, m.is_lower ? m.offsets[row + 1] - 1 : m.offsets[row]);
}

/// One unit for each group of a warp; behind the end a group has none.
template <int G, class T, class O, class C>
__device__ void solve_units(const Triangle<T, O, C> &m, const cuda_axes &items, int64_t lines, int64_t index,
                            cuda_solve_words *words) {
  constexpr int U = sizeof(T) <= 8 ? 4 : 2;
  const int lane = static_cast<int>(threadIdx.x) % G, group = static_cast<int>(threadIdx.x) % 32 / G;
  const unsigned members = (G == 32 ? ALL_LANES : (1u << G % 32) - 1) << group * G % 32;
  bool is_open = index < m.rows * lines;
  Terms<G, U, T, O, C> terms = {};
  Unit unit = {0, 0, 0, {0, 0}};
  T sum = zero<T>(), diagonal = Number<T>::make(1, 0);
  T *x = m.x;
  if (is_open) {
    unit = unit_of(m, items, lines, index);
    terms.open(m, unit.row, lane);
    diagonal = diagonal_of(m, unit.row, unit.at.x);
    if (lane == 0) sum = m.b[unit.at.y + unit.row * m.k + unit.column];
    x += unit.item * m.rows * m.k + unit.column;
  }
  while (__any_sync(ALL_LANES, is_open)) {
    if (is_open) {
      terms.fetch(m, unit.at.x);
      sum = terms.take(x, m.k, sum);
    }
    bool is_found = is_open && terms.are_done();
    if constexpr (G > 1) {  // all lanes vote, closed ones too
      unsigned found = __ballot_sync(ALL_LANES, is_found);
      is_found = is_open && (found & members) == members;
    }
    if (!__any_sync(ALL_LANES, is_found)) continue;
    T total = group_sum<G>(sum);
    if (is_found && lane == 0) {
      if (!m.is_unit) total = quotient(total, diagonal);
      give(x + unit.row * m.k, total);
      if (is_zero(diagonal)) note_least(&words->fault, unit.at.x / m.entries * m.rows + unit.row);
    }
    if (is_found) is_open = false;
  }
}

template <int G, class T, class O, class C>
__global__ void __launch_bounds__(BLOCK)
    solve_levels(Triangle<T, O, C> m, const __grid_constant__ cuda_axes items, cuda_solve_words *words) {
  const int64_t lines = items.count * m.k, units = m.rows * lines;
  for (int64_t first; (first = next_ticket(&words->ticket) * (32 / G)) < units;) {
    solve_units<G>(m, items, lines, first + static_cast<int>(threadIdx.x) % 32 / G, words);
  }
}

/// Threads enough for several levels to be on their way, and few enough not to be in the way of those that are found:
/// who waits asks memory.
template <int G, class T, class O, class C>
cudaError_t start(cudaStream_t stream, const Triangle<T, O, C> &m, const cuda_axes &items, int64_t levels,
                  cuda_solve_words *words) {
  constexpr int64_t AHEAD = 8, MOST = 8;  // levels; blocks for each multiprocessor
  int64_t lines = items.count * m.k, all = ceil_div(m.rows * lines * G, BLOCK), most = MOST * processors();
  int64_t wanted = ceil_div(AHEAD * ceil_div(m.rows, levels) * lines * G, BLOCK);
  if (wanted < most / MOST) wanted = most / MOST;
  if (wanted > all) wanted = all;
  return launch(solve_levels<G, T, O, C>, blocks(wanted, most), stream, m, items, words);
}

}  // namespace

cudaError_t cuda_launch_trisolve(cudaStream_t stream, const cuda_trisolve_job *job, cuda_index order, int64_t levels) {
  const cuda_axes &items = job->batch.kept;
  int64_t rows = job->rows.rows, lines = items.count * job->k;
  if (rows * lines == 0) return cudaSuccess;
  int64_t mean = job->rows.entries / rows;
  return with_dtype(job->dtype, [&](auto number) {
    return with_width(&job->rows, [&](auto offset, auto column) {
      using T = decltype(number);
      using O = decltype(offset);
      using C = decltype(column);
      Triangle<T, O, C> m = {rows,
                             job->rows.entries,
                             job->k,
                             integers<O>(job->rows.offsets),
                             integers<C>(job->rows.columns),
                             integers<O>(job->rows.slots),
                             integers<C>(order),
                             static_cast<const T *>(job->a),
                             static_cast<const T *>(job->b),
                             static_cast<T *>(job->x),
                             job->is_lower,
                             job->is_unit,
                             job->conj};
      cudaError_t error = cudaMemsetAsync(job->x, 0xff, static_cast<size_t>(rows * lines) * sizeof(T), stream);
      if (error == cudaSuccess) error = cudaMemsetAsync(job->words, 0xff, sizeof *job->words, stream);
      if (error != cudaSuccess) return error;
      if (mean <= 8 || lines >= 32) return start<1>(stream, m, items, levels, job->words);
      if (mean <= 32) return start<8>(stream, m, items, levels, job->words);
      return start<32>(stream, m, items, levels, job->words);
    });
  });
}

// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_match.cu
/// Aggregates by matching in pairs, twice: rows with their strongest neighbours, then pairs with theirs.
///
/// Strength is that of backends/cpu/pairwise/pairwise_match.c. There rows are visited one after the other, and carry
/// the direction of pairs along; here all vertices choose at once. Of its strongest free neighbours, which are equals
/// on most grids, a vertex chooses the next one ahead in number and the next one behind. Where two have chosen each
/// other they are *linked*, and linked vertices form chains along which numbers ascend: lines of a grid. A chain is cut
/// into pairs from its first vertex on, so that pairs on a grid stand in line as if it had been visited in order.
///
/// In a round:   pick    the vertices ahead and behind
///               settle  drop what is not mutual, or was not heard
///               follow  the chain back to its first vertex: each jumps to where the one that it has reached has got
///               take    every second link
///
/// Where entries are not symmetric (convection), a vertex may hold most strongly to one that holds to another: after
/// some rounds a vertex behind (then ahead) is *asked*, and goes with the nearest that asks. Such links lead back (or
/// forth) alone, so that they form chains too. A vertex that finds no free neighbour to choose is *idle*: there will
/// never be more of these, so that it is asked in later rounds but looks no more.
///
/// Chains are followed by all threads at once: a word has a vertex further back and whether it is an odd number of
/// links away, so that whatever a thread reads is true, and the end does not depend on the order of threads.

#include "backends/cuda/grid.cuh"
#include "backends/cuda/pairwise/pairwise.h"
#include "backends/cuda/parts.cuh"

using namespace lac_cuda;

namespace {

constexpr int FREE = -1, OUT = -2, IDLE = -3;  // IDLE: free, and holds to nobody who is free
constexpr int JOINED = -4;                     // JOINED - leader: since this round
constexpr double STRONG = 0.5;                 // of the strongest entry in the row
constexpr double DOMINANT = 3.0;               // a diagonal so many times all others needs no coarse level
constexpr double EQUAL = 0.999;                // of the strongest is as strong
constexpr int SEEN = 32;                       // neighbours of a pair that are told apart
constexpr int NEAR = 64;                       // rows
constexpr int SHORT = 32;                      // members that are sorted by insertion

/// f(v) for each of `count` vertices.
template <class F>
__global__ void __launch_bounds__(BLOCK) each(int64_t count, F f) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t v = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; v < count; v += step) f(static_cast<int>(v));
}

__device__ bool is_free(int state) { return state == FREE || state == IDLE; }

template <class F>
cudaError_t for_each(cudaStream_t stream, int64_t count, F f) {
  if (count == 0) return cudaSuccess;
  return launch(each<F>, dim3(blocks(ceil_div(count, BLOCK), MAX_X)), stream, count, f);
}

// -- strength --------------------------------------------------------------------------------------------------------

/// The phase of a diagonal entry, 1 for nothing: what entries are compared with.
template <class R>
__device__ R phase_of(R a) {
  return a < 0 ? R(-1) : R(1);
}
template <class R>
__device__ Complex<R> phase_of(Complex<R> a) {
  const double size = hypot(static_cast<double>(a.re), static_cast<double>(a.im));
  return size > 0 ? Number<Complex<R>>::make(a.re / size, a.im / size) : Complex<R>{1, 0};
}

template <class T>
__device__ double size_of(T a) {
  return fabs(real_of(a)) + fabs(imag_of(a));
}

/// The rows of a matrix and how strongly each is held to others.
template <class T, class O, class C>
struct Rows {
  const O *offsets;
  const C *columns;
  const T *values;

  __device__ bool is_dominant(int i) const {
    double diagonal = 0, rest = 0;
    for (int64_t p = offsets[i], end = offsets[i + 1]; p < end; ++p) {
      const double size = size_of(values[p]);
      if (columns[p] == i) {
        diagonal = size;
      } else {
        rest += size;
      }
    }
    return diagonal >= DOMINANT * rest;
  }

  /// f(j, strength) for the entries of row i off the diagonal.
  template <class F>
  __device__ void each(int i, F f) const {
    const int64_t begin = offsets[i], end = offsets[i + 1];
    T own = zero<T>();
    for (int64_t p = begin; p < end; ++p) {
      if (columns[p] == i) own = values[p];
    }
    const T phase = phase_of(own);
    for (int64_t p = begin; p < end; ++p) {
      const int j = static_cast<int>(columns[p]);
      if (j != i) f(j, -(real_of(values[p]) * real_of(phase) + imag_of(values[p]) * imag_of(phase)));
    }
  }

  __device__ const Rows &from(int) const { return *this; }
};

/// What a pair sees: strengths are those of its rows, added up. Of more than SEEN neighbours the first are seen.
struct Sight {
  int count, pairs[SEEN];
  double strengths[SEEN];

  __device__ void add(int pair, double strength) {
    int at = 0;
    while (at < count && pairs[at] != pair) ++at;
    if (at == SEEN) return;
    if (at == count) pairs[count] = pair, strengths[count++] = 0;
    strengths[at] += strength;
  }
  template <class F>
  __device__ void each(int, F f) const {
    for (int at = 0; at < count; ++at) f(pairs[at], strengths[at]);
  }
};

template <class M>
struct Pairs {
  M rows;
  const int *pairs, *starts, *members;

  __device__ Sight from(int v) const {
    Sight sight;
    sight.count = 0;
    for (int q = starts[v]; q < starts[v + 1]; ++q) {
      rows.each(members[q], [&](int j, double strength) {
        const int other = pairs[j];
        if (other >= 0 && other != v) sight.add(other, strength);
      });
    }
    return sight;
  }
};

// -- rounds ----------------------------------------------------------------------------------------------------------

template <class M>
struct Begin {
  M rows;
  int *state;
  __device__ void operator()(int i) const { state[i] = rows.is_dominant(i) ? OUT : FREE; }
};

struct Open {
  int *state;
  __device__ void operator()(int v) const { state[v] = FREE; }
};

__device__ unsigned chain_to(int v) { return static_cast<unsigned>(v) << 1; }

/// A vertex that is asked by several goes with the nearest.
template <class G>
struct Pick {
  G graph;
  cuda_match_way way;
  int *state;
  int *ahead;
  unsigned *chain;

  __device__ void operator()(int v) const {
    int next = -1, before = -1;
    if (state[v] == FREE && !choose(v, &next, &before)) state[v] = IDLE;
    if (way == CUDA_MATCH_BOTH) ahead[v] = next;
    if (way == CUDA_MATCH_BACK && before >= 0) atomicMin(reinterpret_cast<unsigned *>(&ahead[before]), v);
    if (way == CUDA_MATCH_FORTH && next >= 0) atomicMax(&ahead[next], v);
    const int to = way == CUDA_MATCH_FORTH ? next : before;
    chain[v] = to >= 0 ? chain_to(to) | 1u : chain_to(v);
  }
  /// The next and the one before among the strongest that are free, if there are any.
  __device__ bool choose(int v, int *next, int *before) const {
    const auto &sight = graph.from(v);
    double strongest = 0, most = 0;
    sight.each(v, [&](int j, double strength) {
      if (strength > strongest) strongest = strength;
      if (strength > most && is_free(state[j])) most = strength;
    });
    if (!(most > 0) || most < STRONG * strongest) return false;
    int after = -1, behind = -1;
    sight.each(v, [&](int j, double strength) {
      if (!(strength >= EQUAL * most) || !is_free(state[j])) return;
      if (j > v && (after < 0 || j < after)) after = j;
      if (j < v && j > behind) behind = j;
    });
    *next = after;
    *before = behind;
    return true;
  }
};

/// What two have chosen mutually nobody changes, and what is not mutual is dropped from either side.
struct Settle {
  int *ahead;
  unsigned *chain;
  __device__ void operator()(int v) const {
    const unsigned link = chain[v];
    if (link & 1u && ahead[link >> 1] != v) chain[v] = chain_to(v);
    const int next = ahead[v];
    if (next >= 0 && chain[next] != (chain_to(v) | 1u)) ahead[v] = -1;
  }
};

struct Follow {
  volatile unsigned *chain;
  __device__ void operator()(int v) const {
    unsigned own = chain[v];
    for (;;) {
      const unsigned reached = own >> 1, further = chain[reached];
      if (further >> 1 == reached) return;
      own = further ^ (own & 1u);
      chain[v] = own;
    }
  }
};

struct Take {
  const int *ahead;
  const unsigned *chain;
  int *state;
  __device__ void operator()(int v) const {
    const int next = ahead[v];
    if (next >= 0 && !(chain[v] & 1u)) state[v] = state[next] = v;
  }
};

// -- leftovers -------------------------------------------------------------------------------------------------------

template <class M>
struct Join {
  M rows;
  int *state;
  int last;

  __device__ void operator()(int v) const {
    if (!is_free(state[v])) return;
    int best = -1, leader = -1;
    double most = 0;
    bool has_free = false;
    rows.each(v, [&](int j, double strength) {
      const int other = state[j];
      if (!(strength > 0)) return;
      has_free = has_free || is_free(other) || other <= JOINED;
      if (other < 0) return;
      if (strength > most || (strength == most && j < best)) most = strength, best = j, leader = other;
    });
    if (best >= 0) {
      state[v] = JOINED - leader;
    } else if (last && has_free) {
      state[v] = JOINED - v;
    }
  }
};

struct Joined {
  int *state, last;
  __device__ void operator()(int v) const {
    const int own = state[v];
    if (own <= JOINED) state[v] = JOINED - own;
    if (is_free(own) && last) state[v] = OUT;
  }
};

// -- numbers ---------------------------------------------------------------------------------------------------------

struct Leader {
  int *state, *flags;
  __device__ void operator()(int v) const {
    if (is_free(state[v])) state[v] = v;
    flags[v + 1] = state[v] == v;
    if (v == 0) flags[0] = 0;
  }
};

struct Numbered {
  const int *numbers;
  int *state;
  __device__ void operator()(int i) const { state[i] = state[i] >= 0 ? numbers[state[i]] : -1; }
};

struct Merged {
  const int *numbers, *state;
  int *aggregates;
  __device__ void operator()(int i) const {
    const int pair = aggregates[i];
    if (pair >= 0) aggregates[i] = numbers[state[pair]];
  }
};

// -- groups ----------------------------------------------------------------------------------------------------------

struct GroupCount {
  const int *targets;
  int *ends;
  __device__ void operator()(int i) const {
    if (targets[i] >= 0) atomicAdd(&ends[targets[i]], 1);
  }
};

struct GroupFill {
  const int *targets;
  int *ends, *members;
  __device__ void operator()(int i) const {
    if (targets[i] >= 0) members[atomicSub(&ends[targets[i]], 1) - 1] = i;
  }
};

__device__ void swap(int *x, int *y) {
  const int held = *x;
  *x = *y;
  *y = held;
}

/// The largest to the root of a heap whose other places are in order.
__device__ void sift(int *x, int at, int count) {
  for (int child = 2 * at + 1; child < count; at = child, child = 2 * at + 1) {
    if (child + 1 < count && x[child + 1] > x[child]) ++child;
    if (x[at] >= x[child]) return;
    swap(&x[at], &x[child]);
  }
}

/// Members came in any order.
struct GroupSort {
  const int *starts;
  int *members;
  __device__ void operator()(int g) const {
    int *x = members + starts[g];
    const int count = starts[g + 1] - starts[g];
    if (count > SHORT) {
      for (int at = count / 2 - 1; at >= 0; --at) sift(x, at, count);
      for (int end = count - 1; end > 0; --end) swap(&x[0], &x[end]), sift(x, 0, end);
      return;
    }
    for (int i = 1; i < count; ++i) {
      const int value = x[i];
      int at = i;
      for (; at > 0 && x[at - 1] > value; --at) x[at] = x[at - 1];
      x[at] = value;
    }
  }
};

struct GroupNear {
  const int *starts, *members;
  unsigned long long *near;
  __device__ void operator()(int g) const {
    const int apart = members[starts[g + 2] - 1] - members[starts[g + 1] - 1];
    if (apart <= NEAR && apart >= -NEAR) atomicAdd(near, 1ull);
  }
};

/// f(rows) for the types of a matrix.
template <class F>
cudaError_t with_rows(const cuda_match *m, F f) {
  return with_dtype(m->dtype, [&](auto number) {
    return with_width(m->rows, [&](auto offset, auto column) {
      using T = decltype(number);
      using O = decltype(offset);
      using C = decltype(column);
      return f(Rows<T, O, C>{integers<O>(m->rows->offsets), integers<C>(m->rows->columns),
                             static_cast<const T *>(m->values)});
    });
  });
}

template <class G>
cudaError_t pick(cudaStream_t stream, const cuda_match *m, cuda_match_way way, G graph) {
  return for_each(stream, m->count, Pick<G>{graph, way, m->state, m->ahead, m->chain});
}

}  // namespace

cudaError_t cuda_launch_match_begin(cudaStream_t stream, const cuda_match *m) {
  if (m->pairs) return for_each(stream, m->count, Open{m->state});
  return with_rows(m, [&](auto rows) { return for_each(stream, m->count, Begin<decltype(rows)>{rows, m->state}); });
}

cudaError_t cuda_launch_match_round(cudaStream_t stream, const cuda_match *m, cuda_match_way way) {
  cudaError_t error = cudaMemsetAsync(m->ahead, 0xff, static_cast<size_t>(m->count) * sizeof *m->ahead, stream);
  if (error != cudaSuccess) return error;
  error = with_rows(m, [&](auto rows) {
    if (!m->pairs) return pick(stream, m, way, rows);
    return pick(stream, m, way, Pairs<decltype(rows)>{rows, m->pairs, m->starts, m->members});
  });
  if (error == cudaSuccess) error = for_each(stream, m->count, Settle{m->ahead, m->chain});
  if (error == cudaSuccess) error = for_each(stream, m->count, Follow{m->chain});
  if (error == cudaSuccess) error = for_each(stream, m->count, Take{m->ahead, m->chain, m->state});
  return error;
}

cudaError_t cuda_launch_match_join(cudaStream_t stream, const cuda_match *m, int last) {
  cudaError_t error = with_rows(m, [&](auto rows) {
    return for_each(stream, m->count, Join<decltype(rows)>{rows, m->state, last});
  });
  if (error == cudaSuccess) error = for_each(stream, m->count, Joined{m->state, last});
  return error;
}

cudaError_t cuda_launch_match_leaders(cudaStream_t stream, int64_t count, int *state, int *flags) {
  return for_each(stream, count, Leader{state, flags});
}

cudaError_t cuda_launch_match_number(cudaStream_t stream, int64_t count, const int *numbers, int *state) {
  return for_each(stream, count, Numbered{numbers, state});
}

cudaError_t cuda_launch_match_merge(cudaStream_t stream, int64_t rows, const int *numbers, const int *state,
                                    int *aggregates) {
  return for_each(stream, rows, Merged{numbers, state, aggregates});
}

cudaError_t cuda_launch_group_count(cudaStream_t stream, int64_t rows, const int *targets, int *ends) {
  return for_each(stream, rows, GroupCount{targets, ends});
}

cudaError_t cuda_launch_group_fill(cudaStream_t stream, int64_t rows, int64_t groups, const int *targets, int *ends,
                                   int *members) {
  cudaError_t error = for_each(stream, rows, GroupFill{targets, ends, members});
  return error == cudaSuccess ? for_each(stream, groups, GroupSort{ends, members}) : error;
}

cudaError_t cuda_launch_group_near(cudaStream_t stream, int64_t groups, const int *starts, const int *members,
                                   unsigned long long *near) {
  cudaError_t error = cudaMemsetAsync(near, 0, sizeof *near, stream);
  return error == cudaSuccess && groups > 1 ? for_each(stream, groups - 1, GroupNear{starts, members, near}) : error;
}

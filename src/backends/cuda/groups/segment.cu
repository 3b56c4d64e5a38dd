// SPDX-License-Identifier: Apache-2.0
/// @file segment.cu
/// Reductions of reals over the groups of a map:
///
///     logsumexp   y_j = log(sum of exp(x_i) over the group of j)      softmax   y_i = exp(x_i) / that sum
///     extreme     y_j = max or min of x_i over the group of j         ties      y_i = 1 / n for each of its n extremes
///
/// Short groups: a warp brings the numbers of its groups to shared memory and back, side by side, and a lane has a
/// group, in registers. Longer ones: a part of a warp, a warp or a block to a group, which it holds in registers. Each
/// number is read once, each exponential taken once. Uneven groups: one pass over pieces (lines.cuh) for the extremes,
/// one for the sums, one over the inputs.

#include "backends/cuda/groups/segment.cuh"
#include "backends/cuda/lines.cuh"

using namespace lac_cuda;

namespace {

/// The job as kernels take it.
template <class T, class I>
struct Job {
  int64_t inputs, outputs, items, full;
  T sign;
  const I *__restrict__ target;
  const I *__restrict__ offsets;
  const I *__restrict__ sources;
  const T *__restrict__ x;
  T *__restrict__ y;

  __device__ int64_t zeros(int64_t j) const { return zeros_of(full, offsets[j + 1] - offsets[j]); }
};

// -- even groups -----------------------------------------------------------------------------------------------------

template <cuda_reduction WHAT, int G, int R, class T, class I>
__global__ void __launch_bounds__(BLOCK) segment_teams(const __grid_constant__ Job<T, I> job) {
  Team<G> team;
  int64_t first = static_cast<int64_t>(blockIdx.x) * (BLOCK / G) + static_cast<int>(threadIdx.x) / G,
          step = static_cast<int64_t>(gridDim.x) * (BLOCK / G);
  for (int64_t b = blockIdx.y; b < job.items; b += gridDim.y) {
    for (int64_t j = first; j < job.outputs; j += step) {
      int64_t begin = job.offsets[j], end = job.offsets[j + 1];
      constexpr bool EACH = WHAT == CUDA_SOFTMAX || WHAT == CUDA_TIES;
      T *y = job.y + b * (EACH ? job.inputs : job.outputs);
      Segment<T> s = {job.sign, zeros_of(job.full, end - begin), y + j};
      Walked<G, T, I> walked = {job.x + b * job.inputs, y, job.sources, begin, end, team.lane};
      if (end - begin <= G * R) {
        Held<G, R, T, I> held(walked);
        reduce_group<WHAT>(team, s, held);
      } else {
        reduce_group<WHAT>(team, s, walked);
      }
    }
  }
}

constexpr int64_t TURNS = 2;  // the most of a warp
constexpr int MOST_FEW = 8;   // numbers that a lane has in registers, or
constexpr int LEAST_FEW = 5;  // so many, where no group has more

/// Numbers of a warp's groups in shared memory: all of them, where each is FEW, else as many as there are as a rule. As
/// a rule the first are of an odd length.
template <int FEW>
constexpr int WARP_ROOM = FEW == LEAST_FEW ? 32 * FEW : 40 * FEW;
template <int FEW>
constexpr bool HAS_GAPS = FEW != LEAST_FEW;

/// Blocks on a multiprocessor: more would leave too few registers.
template <int FEW>
constexpr int WARP_BLOCKS = FEW == LEAST_FEW ? 5 : 4;

/// The numbers [first, first + count) of all groups of a warp from memory to shared memory and back; N of a lane are on
/// their way. The last one stands in for those behind it, so that no load waits for a branch.
template <int N, class T, class I>
__device__ void bring(const Job<T, I> &job, const T *__restrict__ x, int64_t first, int count, T *numbers) {
  int lane = static_cast<int>(threadIdx.x) % 32;
  for (int top = 0; top < count; top += N * 32) {
    T value[N];
    auto place = [&](int r) {
      int i = top + r * 32 + lane;
      return first + (i < count ? i : count - 1);
    };
    if (job.sources) {
#pragma unroll
      for (int r = 0; r < N; ++r) value[r] = x[load_once(job.sources + place(r))];
    } else {
#pragma unroll
      for (int r = 0; r < N; ++r) value[r] = load_once(x + place(r));
    }
#pragma unroll
    for (int r = 0; r < N; ++r) {
      int i = top + r * 32 + lane;
      if (i < count) numbers[staged_at<HAS_GAPS<N>, T>(i)] = value[r];
    }
  }
}
template <int N, class T, class I>
__device__ void take_away(const Job<T, I> &job, T *__restrict__ y, int64_t first, int count, const T *numbers) {
  int lane = static_cast<int>(threadIdx.x) % 32;
  for (int top = 0; top < count; top += N * 32) {
    auto each = [&](auto place) {
#pragma unroll
      for (int r = 0; r < N; ++r) {
        int i = top + r * 32 + lane;
        if (i < count) store_once(y + place(i), numbers[staged_at<HAS_GAPS<N>, T>(i)]);
      }
    };
    if (job.sources) {
      each([&](int i) { return static_cast<int64_t>(job.sources[first + i]); });
    } else {
      each([&](int i) { return first + i; });
    }
  }
}

/// The groups of a warp, one to a lane: [begin, end) of this one.
template <class I>
struct WarpGroups {
  int64_t top;
  int count;
  I begin, end;

  template <class T>
  __device__ WarpGroups(const Job<T, I> &job, int64_t from) : top(from < job.outputs ? from : job.outputs) {
    int lane = static_cast<int>(threadIdx.x) % 32;
    count = job.outputs - top < 32 ? static_cast<int>(job.outputs - top) : 32;
    begin = job.offsets[top + (lane < count ? lane : count)];
    end = job.offsets[top + (lane < count ? lane + 1 : count)];
  }
  __device__ I first() const { return __shfl_sync(ALL_LANES, begin, 0); }
  __device__ I last() const { return __shfl_sync(ALL_LANES, end, 31); }
};

/// f(groups) for the groups of this warp. A block has `turns` times BLOCK groups that follow each other, and the
/// offsets of the next ones are read before they are needed: nothing waits for them, nor for other warps.
template <class T, class I, class F>
__device__ void for_warp_groups(const Job<T, I> &job, int turns, F f) {
  int64_t warp = threadIdx.x / 32 * 32, length = static_cast<int64_t>(BLOCK) * turns;
  for (int64_t first = blockIdx.x * length; first < job.outputs; first += gridDim.x * length) {
    WarpGroups<I> next(job, first + warp);
    for (int turn = 1; turn <= turns && next.count > 0; ++turn) {
      WarpGroups<I> groups = next;
      next = WarpGroups<I>(job, turn < turns ? first + turn * BLOCK + warp : job.outputs);
      f(groups);
    }
  }
}

/// The groups of a warp, one to a lane, whose numbers are where `fits` says.
template <cuda_reduction WHAT, int FEW, class T, class I>
__device__ void reduce_lane(const Job<T, I> &job, const T *x, T *y, const WarpGroups<I> &groups, bool fits, I first,
                            T *numbers) {
  Team<1> team;
  int lane = static_cast<int>(threadIdx.x) % 32;
  I length = groups.end - groups.begin;
  bool are_few = __all_sync(ALL_LANES, length <= FEW);
  if (lane >= groups.count) return;
  Segment<T> s = {job.sign, zeros_of(job.full, length), y + groups.top + lane};
  Staged<T, HAS_GAPS<FEW>> staged = {numbers, static_cast<int>(groups.begin - first),
                                     static_cast<int>(groups.end - first)};
  if (FEW == LEAST_FEW || (fits && are_few)) {
    Few<T, FEW, HAS_GAPS<FEW>> few(staged);
    reduce_group<WHAT>(team, s, few);
  } else if (fits) {
    reduce_group<WHAT>(team, s, staged);
  } else {
    Walked<1, T, I> walked = {x, y, job.sources, groups.begin, groups.end, 0};
    reduce_group<WHAT>(team, s, walked);
  }
}

template <cuda_reduction WHAT, int FEW, class T, class I>
__global__ void __launch_bounds__(BLOCK, WARP_BLOCKS<FEW>)
    segment_warps(const __grid_constant__ Job<T, I> job, int turns) {
  constexpr bool EACH = WHAT == CUDA_SOFTMAX || WHAT == CUDA_TIES;
  __shared__ T room[WARPS][staged_at<HAS_GAPS<FEW>, T>(WARP_ROOM<FEW>)];
  T *numbers = room[threadIdx.x / 32];
  for (int64_t b = blockIdx.y; b < job.items; b += gridDim.y) {
    const T *x = job.x + b * job.inputs;
    T *y = job.y + b * (EACH ? job.inputs : job.outputs);
    for_warp_groups(job, turns, [&](const WarpGroups<I> &groups) {
      I first = groups.first(), last = groups.last();
      bool fits = last - first <= WARP_ROOM<FEW>;
      int count = fits ? static_cast<int>(last - first) : 0;
      bring<FEW>(job, x, first, count, numbers);
      __syncwarp();
      reduce_lane<WHAT, FEW>(job, x, y, groups, fits, first, numbers);
      __syncwarp();
      if constexpr (EACH) take_away<FEW>(job, y, first, count, numbers);
      __syncwarp();
    });
  }
}

// -- uneven groups ---------------------------------------------------------------------------------------------------

template <class T, class I>
struct Extremes {
  using Value = T;
  static constexpr lines_work WORK = LINES_RARE;

  Job<T, I> job;
  T *__restrict__ out;

  __device__ T none() const { return least<T>(0); }
  __device__ T join(T left, T right) const { return larger(left, right); }
  __device__ int64_t items() const { return job.items; }
  __device__ Offsets at(int64_t b) const { return {b * job.inputs, b * job.outputs}; }
  __device__ T term(Offsets base, int64_t p) const {
    return job.sign * job.x[base.x + (job.sources ? job.sources[p] : p)];
  }
  __device__ void put(int64_t b, int64_t j, T most) const {
    out[b * job.outputs + j] = job.sign * larger(least<T>(job.zeros(j)), most);
  }
  __device__ void add(int64_t b, int64_t j, T carried) const {
    T &to = out[b * job.outputs + j];
    to = job.sign * larger(carried, job.sign * to);
  }
};

/// Sums of exponentials, or how many numbers are the extreme.
template <cuda_reduction WHAT, class T, class I>
struct Sums {
  using Value = double;
  static constexpr lines_work WORK = LINES_RARE;

  Job<T, I> job;
  const T *__restrict__ extremes;
  double *__restrict__ out;

  __device__ double none() const { return 0; }
  __device__ double join(double left, double right) const { return left + right; }
  __device__ int64_t items() const { return job.items; }
  __device__ Offsets at(int64_t b) const { return {b * job.inputs, b * job.outputs}; }
  __device__ double term(Offsets base, int64_t p) const {
    int64_t i = job.sources ? job.sources[p] : p;
    T value = job.x[base.x + i], extreme = extremes[base.y + job.target[i]];
    if (WHAT == CUDA_TIES) return is_tie(value, extreme);
    return static_cast<double>(power(value, shift_of(extreme)));
  }
  __device__ void put(int64_t b, int64_t j, double sum) const {
    T extreme = extremes[b * job.outputs + j];
    int64_t zeros = job.zeros(j);
    if (WHAT == CUDA_TIES) {
      sum += extreme == 0 ? static_cast<double>(zeros) : 0.0;
    } else {
      sum += power_of_zeros(zeros, shift_of(extreme));
    }
    out[b * job.outputs + j] = sum;
  }
  __device__ void add(int64_t b, int64_t j, double carried) const {
    double &to = out[b * job.outputs + j];
    to = carried + to;
  }
};

/// y_j of groups.
template <class T, class I>
__global__ void __launch_bounds__(BLOCK)
    segment_logs(const __grid_constant__ Job<T, I> job, const T *extremes, const double *sums) {
  int64_t count = job.items * job.outputs, step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t n = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; n < count; n += step)
    job.y[n] = static_cast<T>(static_cast<double>(shift_of(extremes[n])) + log(sums[n]));
}

/// y_i of inputs.
template <cuda_reduction WHAT, class T, class I>
__global__ void __launch_bounds__(BLOCK)
    segment_shares(const __grid_constant__ Job<T, I> job, const T *extremes, const double *sums) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t b = blockIdx.y; b < job.items; b += gridDim.y) {
#pragma unroll 4
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < job.inputs; i += step) {
      int64_t j = job.target[i], n = b * job.outputs + j;
      T value = job.x[b * job.inputs + i], share = 0;
      if (j >= 0 && WHAT == CUDA_TIES) {
        share = is_tie(value, extremes[n]) ? 1 / static_cast<T>(sums[n]) : T(0);
      } else if (j >= 0) {
        share = power(value, shift_of(extremes[n])) * part_of<T>(sums[n]);
      }
      job.y[b * job.inputs + i] = share;
    }
  }
}

// -- starting --------------------------------------------------------------------------------------------------------

size_t rounded(int64_t numbers, size_t bytes) { return (static_cast<size_t>(numbers) * bytes + 15) / 16 * 16; }

template <cuda_reduction WHAT, class T, class I>
cudaError_t start_uneven(cudaStream_t stream, const Job<T, I> &job, const cuda_lengths *l, void *scratch) {
  if constexpr (WHAT == CUDA_EXTREME) {
    return start_pieces(stream, Extremes<T, I>{job, job.y}, l, job.offsets, job.items, scratch);
  } else {
    T *extremes = static_cast<T *>(scratch);
    double *sums =
        reinterpret_cast<double *>(static_cast<char *>(scratch) + rounded(job.items * job.outputs, sizeof(T)));
    void *rest = reinterpret_cast<char *>(sums) + rounded(job.items * job.outputs, sizeof(double));
    cudaError_t error = start_pieces(stream, Extremes<T, I>{job, extremes}, l, job.offsets, job.items, rest);
    if (error != cudaSuccess) return error;
    error = start_pieces(stream, Sums<WHAT, T, I>{job, extremes, sums}, l, job.offsets, job.items, rest);
    if (error != cudaSuccess) return error;
    const T *most = extremes;
    const double *of_groups = sums;
    if constexpr (WHAT == CUDA_LOGSUMEXP) {
      dim3 grid(blocks(ceil_div(job.items * job.outputs, BLOCK), MAX_X));
      return launch(segment_logs<T, I>, grid, stream, job, most, of_groups);
    } else {
      dim3 grid(blocks(ceil_div(job.inputs, 4 * BLOCK), MAX_X), blocks(job.items, MAX_YZ));
      return launch(segment_shares<WHAT, T, I>, grid, stream, job, most, of_groups);
    }
  }
}

template <cuda_reduction WHAT, int G, int R, class T, class I>
cudaError_t start_teams(cudaStream_t stream, const Job<T, I> &job) {
  dim3 grid(blocks(ceil_div(job.outputs, BLOCK / G), MAX_X), blocks(job.items, MAX_YZ));
  return launch(segment_teams<WHAT, G, R, T, I>, grid, stream, job);
}

template <cuda_reduction WHAT, int FEW, class T, class I>
cudaError_t start_warps(cudaStream_t stream, const Job<T, I> &job) {
  int64_t all = ceil_div(job.outputs, BLOCK), turns = all / 4096;  // enough blocks to fill a device
  turns = turns < 1 ? 1 : turns > TURNS ? TURNS : turns;
  dim3 grid(blocks(ceil_div(all, turns), MAX_X), blocks(job.items, MAX_YZ));
  return launch(segment_warps<WHAT, FEW, T, I>, grid, stream, job, static_cast<int>(turns));
}

/// A longest group of 0 numbers is one that is not known.
template <cuda_reduction WHAT, class T, class I>
cudaError_t start_short(cudaStream_t stream, const Job<T, I> &job, int64_t longest) {
  if (longest > 0 && longest <= LEAST_FEW) return start_warps<WHAT, LEAST_FEW>(stream, job);
  return start_warps<WHAT, MOST_FEW>(stream, job);
}

template <cuda_reduction WHAT, class T, class I>
cudaError_t start_groups(cudaStream_t stream, const Job<T, I> &job, const cuda_lengths *l) {
  int64_t mean = cuda_mean_length(l);
  constexpr bool EACH = WHAT == CUDA_SOFTMAX || WHAT == CUDA_TIES;
  if (EACH && job.sources) {  // inputs may be dropped
    cudaError_t error = cudaMemsetAsync(job.y, 0, static_cast<size_t>(job.items * job.inputs) * sizeof(T), stream);
    if (error != cudaSuccess) return error;
  }
  if (job.outputs == 0) return cudaSuccess;
  if (mean <= 8) return start_short<WHAT>(stream, job, l->longest);
  if (mean <= 32) return start_teams<WHAT, 8, 8>(stream, job);
  if (mean <= 128) return start_teams<WHAT, 32, 8>(stream, job);
  return start_teams<WHAT, BLOCK, 16>(stream, job);
}

template <cuda_reduction WHAT, class T, class I>
cudaError_t start(cudaStream_t stream, const Job<T, I> &job, const cuda_lengths *l, void *scratch) {
  if (cuda_lengths_are_uneven(l, job.items)) return start_uneven<WHAT>(stream, job, l, scratch);
  return start_groups<WHAT>(stream, job, l);
}

template <class F>
cudaError_t with_segment(cuda_reduction what, F f) {
  switch (what) {
    case CUDA_LOGSUMEXP:
      return f(std::integral_constant<cuda_reduction, CUDA_LOGSUMEXP>{});
    case CUDA_SOFTMAX:
      return f(std::integral_constant<cuda_reduction, CUDA_SOFTMAX>{});
    case CUDA_EXTREME:
      return f(std::integral_constant<cuda_reduction, CUDA_EXTREME>{});
    default:
      return f(std::integral_constant<cuda_reduction, CUDA_TIES>{});
  }
}

}  // namespace

size_t cuda_segment_scratch(lac_dtype dtype, const cuda_segment_job *job) {
  const cuda_lengths *l = &job->groups.lengths;
  size_t bytes = lac_dtype_size(dtype);
  int64_t groups = job->items * job->groups.outputs;
  if (!cuda_lengths_are_uneven(l, job->items)) return 0;
  if (job->what == CUDA_EXTREME) return cuda_pieces_scratch(l, cuda_piece(bytes), job->items, bytes);
  return rounded(groups, bytes) + rounded(groups, sizeof(double)) +
         cuda_pieces_scratch(l, cuda_piece(sizeof(double)), job->items, sizeof(double));
}

cudaError_t cuda_launch_segment(cudaStream_t stream, lac_dtype dtype, const cuda_segment_job *job, const void *x,
                                void *scratch, void *y) {
  const cuda_groups &g = job->groups;
  auto with_real = [&](auto f) { return dtype == LAC_F32 ? f(float{}) : f(double{}); };
  return with_real([&](auto number) {
    return with_index(g.target.type, [&](auto index) {
      using T = decltype(number);
      using I = decltype(index);
      Job<T, I> typed = {g.inputs,
                         g.outputs,
                         job->items,
                         job->full,
                         static_cast<T>(job->sign),
                         integers<I>(g.target),
                         integers<I>(g.offsets),
                         integers<I>(g.sources),
                         static_cast<const T *>(x),
                         static_cast<T *>(y)};
      return with_segment(job->what, [&](auto what) { return start<what.value>(stream, typed, &g.lengths, scratch); });
    });
  });
}

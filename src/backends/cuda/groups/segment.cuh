// SPDX-License-Identifier: Apache-2.0
/// @file segment.cuh
/// What the reductions of reals over groups compute of one group, whoever holds its numbers.
///
/// A group of `full` numbers has zeros where no input is. The largest number is taken out of exponents first; where it
/// is -inf or NaN nothing is, so that these show in the sum. Sums are taken in f64.

#ifndef LACUNA_BACKENDS_CUDA_GROUPS_SEGMENT_CUH
#define LACUNA_BACKENDS_CUDA_GROUPS_SEGMENT_CUH

#include <math.h>

#include "backends/cuda/groups/groups.h"
#include "backends/cuda/access.cuh"

namespace lac_cuda {

/// The larger one, or NaN where one is.
template <class T>
__device__ T larger(T x, T y) {
  return isnan(x) ? x : y > x || isnan(y) ? y : x;
}

/// The largest of nothing, and of implicit zeros.
template <class T>
__device__ T least(int64_t zeros) {
  return zeros > 0 ? T(0) : -static_cast<T>(INFINITY);
}

__device__ inline int64_t zeros_of(int64_t full, int64_t count) { return full > count ? full - count : 0; }

/// What is taken from every exponent.
template <class T>
__device__ T shift_of(T most) {
  return most > -static_cast<T>(INFINITY) ? most : T(0);
}

/// exp(x - shift); also where both are +inf.
__device__ inline float power(float x, float shift) { return expf(x == shift ? 0.0f : x - shift); }
__device__ inline double power(double x, double shift) { return exp(x == shift ? 0.0 : x - shift); }

/// The same out of line, where it is rare.
__device__ __noinline__ double rare_power(double x, double shift) { return power(x, shift); }

/// exp(x), -700 <= x <= 0, without a branch: 2^n exp(r), |r| <= log(2) / 2, by a polynomial whose error is 2e-17. As
/// constants its coefficients are operands that no register and no instruction of its own brings.
__device__ constexpr double LEAST_TAME = -700;
__constant__ double tame_log[] = {1.4426950408889634, 6755399441055744.0, -0.69314718036912382,
                                  -1.9082149292705877e-10};
__constant__ double tame_series[] = {2.510038549551032e-08,
                                     2.7620088445409746e-07,
                                     2.7557268459997064e-06,
                                     2.4801521295954376e-05,
                                     0.00019841269863053618,
                                     0.0013888888917213717,
                                     0.008333333333330062,
                                     0.04166666666662413,
                                     0.16666666666666669,
                                     0.5000000000000001,
                                     1,
                                     1};
__device__ inline double tame_power(double x) {
  double shifted = fma(x, tame_log[0], tame_log[1]), n = shifted - tame_log[1];  // n in the low word of `shifted`
  double r = fma(n, tame_log[3], fma(n, tame_log[2], x)), y = tame_series[0];
#pragma unroll
  for (int i = 1; i < 12; ++i) y = fma(r, y, tame_series[i]);
  return __hiloint2double(__double2hiint(y) + (__double2loint(shifted) << 20), __double2loint(y));
}

/// What the implicit zeros add to a sum of exponentials.
template <class T>
__device__ double power_of_zeros(int64_t zeros, T shift) {
  return zeros > 0 ? static_cast<double>(zeros) * exp(-static_cast<double>(shift)) : 0.0;
}

template <class T>
__device__ bool is_tie(T x, T extreme) {
  return x == extreme || (isnan(x) && isnan(extreme));
}

/// A weight is an exponential times this; 0 in a group without mass, all -inf.
template <class T>
__device__ T part_of(double sum) {
  return sum == 0 ? T(0) : static_cast<T>(1 / sum);
}

// -- all lanes of a group --------------------------------------------------------------------------------------------

/// G threads that work on one group: part of a warp, or a block. Lanes of other groups may be elsewhere.
template <int G>
struct Team {
  unsigned mask;
  int lane;

  __device__ Team() {
    int in_warp = static_cast<int>(threadIdx.x) % 32;
    mask = G >= 32 ? 0xffffffffu : ((1u << (G % 32)) - 1) << (in_warp / G * G);
    lane = static_cast<int>(threadIdx.x) % G;
  }

  /// The join of all, by a fixed tree; every lane has it.
  template <class T, class J>
  __device__ T all(T x, J join) const {
#pragma unroll
    for (int d = (G < 32 ? G : 32) / 2; d > 0; d /= 2) x = join(x, __shfl_xor_sync(mask, x, d));
    if constexpr (G > 32) {
      __shared__ T parts[G / 32];
      if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
      __syncthreads();
      x = parts[0];
      for (int w = 1; w < G / 32; ++w) x = join(x, parts[w]);
      __syncthreads();
    }
    return x;
  }
};

// -- who holds the numbers of a group --------------------------------------------------------------------------------

/// Holders have each(f), which is f(value, i) for each number that the thread has, and keep what f makes of it if
/// KEEPS; give(value, i, y) is the result of input i. If HAS_POWERS, powers(shift, sum) makes exponentials of all
/// numbers at once, or says that it cannot.

/// Memory: every G-th number from the lane's on.
template <int G, class T, class I>
struct Walked {
  static constexpr bool KEEPS = false, HAS_POWERS = false;
  const T *x;
  T *y;
  const I *sources;
  int64_t begin, end;
  int lane;

  template <class F>
  __device__ void each(F f) {
#pragma unroll 2
    for (int64_t p = begin + lane; p < end; p += G) {
      int64_t i = sources ? sources[p] : p;
      T value = x[i];
      f(value, i);
    }
  }
  __device__ void give(T &, int64_t i, T result) { y[i] = result; }
};

/// Registers: up to R numbers of each lane.
template <int G, int R, class T, class I>
struct Held {
  static constexpr bool KEEPS = true, HAS_POWERS = false;
  T value[R];
  I place[R];
  T *y;
  int count;

  __device__ explicit Held(const Walked<G, T, I> &from) : y(from.y) {
    int64_t left = from.end - from.begin - from.lane;
    count = left > 0 ? static_cast<int>((left + G - 1) / G) : 0;
#pragma unroll
    for (int r = 0; r < R; ++r) {
      int64_t p = from.begin + from.lane + r * G;
      if (r < count) place[r] = from.sources ? from.sources[p] : static_cast<I>(p);
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (r < count) value[r] = from.x[place[r]];
    }
  }
  template <class F>
  __device__ void each(F f) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (r < count) f(value[r], static_cast<int64_t>(place[r]));
    }
  }
  __device__ void give(T &, int64_t i, T result) { y[i] = result; }
};

/// Where number i of a warp lies in shared memory.
template <bool GAPS, class T>
__host__ __device__ constexpr int staged_at(int i) {
  return GAPS ? with_gaps<T>(i) : i;
}

/// Shared memory: a thread has all numbers of its group, and its warp moves the results.
template <class T, bool GAPS>
struct Staged {
  static constexpr bool KEEPS = true, HAS_POWERS = false;
  T *numbers;
  int begin, end;

  template <class F>
  __device__ void each(F f) {
    for (int i = begin; i < end; ++i) f(numbers[staged_at<GAPS, T>(i)], int64_t{i});
  }
  __device__ void give(T &value, int64_t, T result) { value = result; }
};

/// The same of a group of up to N numbers, which are in registers meanwhile.
template <class T, int N, bool GAPS>
struct Few {
  static constexpr bool KEEPS = true, HAS_POWERS = true;
  T *numbers;
  int begin, count;
  T value[N];

  __device__ explicit Few(const Staged<T, GAPS> &from)
      : numbers(from.numbers), begin(from.begin), count(from.end - from.begin) {
#pragma unroll
    for (int r = 0; r < N; ++r) {
      if (r < count) value[r] = numbers[staged_at<GAPS, T>(begin + r)];
    }
  }
  template <class F>
  __device__ void each(F f) {
#pragma unroll
    for (int r = 0; r < N; ++r) {
      if (r < count) f(value[r], int64_t{begin + r});
    }
  }
  __device__ void give(T &, int64_t i, T result) { numbers[staged_at<GAPS, T>(static_cast<int>(i))] = result; }

  /// Side by side, without a branch: numbers that are not there are taken for the largest.
  __device__ bool powers(T shift, double *sum) {
    T x[N];
    bool are_tame = true;
#pragma unroll
    for (int r = 0; r < N; ++r) {
      x[r] = r < count ? value[r] - shift : T(0);
      are_tame = are_tame && (sizeof(T) == 8 ? x[r] >= static_cast<T>(LEAST_TAME) : x[r] <= 0);
    }
    if (!are_tame) return false;
#pragma unroll
    for (int r = 0; r < N; ++r) {
      if constexpr (sizeof(T) == 8) {
        value[r] = tame_power(x[r]);
      } else {
        value[r] = expf(x[r]);
      }
      *sum += r < count ? static_cast<double>(value[r]) : 0.0;
    }
    return true;
  }
};

// -- one group -------------------------------------------------------------------------------------------------------

/// What all groups share, and one of them.
template <class T>
struct Segment {
  T sign;  // -1 turns max into min
  int64_t zeros;
  T *result;  // of a group that has one number
};

template <class T, int G, class H>
__device__ void ties_of(const Team<G> &team, const Segment<T> &s, T extreme, H &holder) {
  int64_t count = 0;
  holder.each([&](T &value, int64_t) { count += is_tie(value, extreme); });
  count = team.all(count, [](int64_t x, int64_t y) { return x + y; }) + (extreme == 0 ? s.zeros : 0);
  holder.each(
      [&](T &value, int64_t i) { holder.give(value, i, is_tie(value, extreme) ? 1 / static_cast<T>(count) : T(0)); });
}

/// Of the thread's numbers, which become exponentials if the holder keeps them.
template <cuda_reduction WHAT, class T, class H>
__device__ double sum_of_powers(T shift, H &holder) {
  double sum = 0;
  if constexpr (H::HAS_POWERS) {
    if (holder.powers(shift, &sum)) return sum;
  }
  holder.each([&](T &value, int64_t) {
    T e = H::HAS_POWERS ? static_cast<T>(rare_power(value, shift)) : power(value, shift);
    if constexpr (WHAT == CUDA_SOFTMAX && H::KEEPS) value = e;
    sum += static_cast<double>(e);
  });
  return sum;
}

template <cuda_reduction WHAT, class T, int G, class H>
__device__ void powers_of(const Team<G> &team, const Segment<T> &s, T most, H &holder) {
  T shift = shift_of(most);
  double sum = sum_of_powers<WHAT>(shift, holder);
  sum = team.all(sum, [](double x, double y) { return x + y; }) + power_of_zeros(s.zeros, shift);
  if constexpr (WHAT == CUDA_LOGSUMEXP) {
    if (team.lane == 0) *s.result = static_cast<T>(static_cast<double>(shift) + log(sum));
  } else {
    T part = part_of<T>(sum);
    holder.each([&](T &value, int64_t i) {
      T e = H::KEEPS ? value : power(value, shift);
      holder.give(value, i, e * part);
    });
  }
}

/// The largest number of a group, with its sign; NaN where one is, unless it shows in a sum.
template <cuda_reduction WHAT, class T, int G, class H>
__device__ T most_of(const Team<G> &team, const Segment<T> &s, H &holder) {
  T most = least<T>(s.zeros);
  if constexpr (WHAT == CUDA_LOGSUMEXP || WHAT == CUDA_SOFTMAX) {
    holder.each([&](T &value, int64_t) { most = value > most ? value : most; });
    return team.all(most, [](T x, T y) { return y > x ? y : x; });
  } else {
    holder.each([&](T &value, int64_t) { most = larger(most, s.sign * value); });
    return team.all(most, [](T x, T y) { return larger(x, y); });
  }
}

/// A group by its team; all of its lanes come here together.
template <cuda_reduction WHAT, class T, int G, class H>
__device__ void reduce_group(const Team<G> &team, const Segment<T> &s, H &holder) {
  T most = most_of<WHAT>(team, s, holder);
  if constexpr (WHAT == CUDA_EXTREME) {
    if (team.lane == 0) *s.result = s.sign * most;
  } else if constexpr (WHAT == CUDA_TIES) {
    ties_of(team, s, s.sign * most, holder);
  } else {
    powers_of<WHAT>(team, s, most, holder);
  }
}

}  // namespace lac_cuda

#endif

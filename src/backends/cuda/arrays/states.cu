// SPDX-License-Identifier: Apache-2.0
/// @file states.cu
/// Reductions that are not plain sums, in one pass: max, min, norm, log(sum(exp)).
///
///     y_j = op over r of x[j, r]
///
/// Each group of threads makes a state of a segment (kernels/states.h); a second pass joins segments.

#include "backends/cuda/arrays/states.cuh"

using namespace lac_cuda;

namespace {

/// Where results go: states, or else numbers of a real dtype.
struct Results {
  lac_state *states;
  void *y;
  bool is_single;

  __device__ void put(lac_reduction op, int64_t i, lac_state s) const {
    if (states) {
      states[i] = s;
    } else if (is_single) {
      static_cast<float *>(y)[i] = static_cast<float>(lac_state_result(op, s));
    } else {
      static_cast<double *>(y)[i] = lac_state_result(op, s);
    }
  }
};

template <int G, lac_reduction OP, class T>
__global__ void __launch_bounds__(BLOCK) reduce(const __grid_constant__ cuda_batch axes, int64_t segments,
                                                int64_t length, const T *x, bool is_wide, Results results) {
  lac_state s = lac_state_none(OP);
  for_items<G>(
      axes, segments, length,
      [&](Offsets base, int lane, int64_t begin, int64_t end) {
        Taken<OP, T> taken;
        for_terms<G>(axes.summed, base.x, lane, begin, end, x, is_wide, [&](T term) { taken.take(term); });
        s = taken.state();
      },
      [&](int64_t item, bool writes) {
        s = fold_states<G>(OP, s);
        if (writes) results.put(OP, item, s);
        s = lac_state_none(OP);
      });
}

/// The second pass: states [segments, outputs].
template <int G>
__global__ void __launch_bounds__(BLOCK)
    join(lac_reduction op, int64_t segments, int64_t outputs, const lac_state *parts, Results results) {
  Groups<G> groups;
  for (int64_t item = groups.first; groups.warp(item) < outputs; item += groups.step) {
    lac_state s = lac_state_none(op);
    for (int64_t r = groups.lane; item < outputs && r < segments; r += G) {
      s = lac_state_join(op, s, parts[r * outputs + item]);
    }
    s = fold_states<G>(op, s);
    if (item < outputs && groups.lane == 0) results.put(op, item, s);
  }
}

template <lac_reduction OP, class T>
cudaError_t start_first(cudaStream_t stream, const cuda_batch &axes, const Cut &cut, const void *x,
                        const Results &results) {
  const T *from = static_cast<const T *>(x);
  return with_group(cut.group, [&](auto group) {
    return launch(reduce<decltype(group)::value, OP, T>, grid_of(axes, cut), stream, axes, cut.segments, cut.length,
                  from, has_packs(axes, 0, from), results);
  });
}

template <lac_reduction OP>
cudaError_t start_real(cudaStream_t stream, lac_dtype dtype, const cuda_batch &axes, const Cut &cut, const void *x,
                       const Results &results) {
  if (dtype == LAC_F32) return start_first<OP, float>(stream, axes, cut, x, results);
  if (dtype == LAC_F64) return start_first<OP, double>(stream, axes, cut, x, results);
  return cudaErrorInvalidValue;
}

cudaError_t start_reduction(cudaStream_t stream, lac_dtype dtype, lac_reduction op, const cuda_batch &axes,
                            const Cut &cut, const void *x, const Results &results) {
  switch (op) {
    case LAC_REDUCE_MAX:
      return start_real<LAC_REDUCE_MAX>(stream, dtype, axes, cut, x, results);
    case LAC_REDUCE_MIN:
      return start_real<LAC_REDUCE_MIN>(stream, dtype, axes, cut, x, results);
    case LAC_REDUCE_LOGSUMEXP:
      return start_real<LAC_REDUCE_LOGSUMEXP>(stream, dtype, axes, cut, x, results);
    default:
      return with_dtype(dtype, [&](auto number) {
        return start_first<LAC_REDUCE_NORM, decltype(number)>(stream, axes, cut, x, results);
      });
  }
}

}  // namespace

size_t cuda_states_scratch(const cuda_batch *axes) {
  Cut cut = cut_of(*axes);
  return cut.segments == 1 ? 0 : static_cast<size_t>(cut.segments * axes->kept.count) * sizeof(lac_state);
}

cudaError_t cuda_launch_states(cudaStream_t stream, lac_dtype dtype, lac_reduction op, const cuda_batch *axes,
                               const void *x, void *scratch, void *y, void *states) {
  int64_t outputs = axes->kept.count;
  Cut cut = cut_of(*axes), rest = second_cut(cut.segments, outputs);
  Results results = {static_cast<lac_state *>(states), y, dtype == LAC_F32 || dtype == LAC_C64}, parts = results;
  if (outputs == 0) return cudaSuccess;
  if (cut.segments == 1) return start_reduction(stream, dtype, op, *axes, cut, x, results);
  parts.states = static_cast<lac_state *>(scratch);
  cudaError_t error = start_reduction(stream, dtype, op, *axes, cut, x, parts);
  if (error != cudaSuccess) return error;
  return with_group(rest.group, [&](auto group) {
    return launch(join<decltype(group)::value>, dim3(blocks(ceil_div(outputs, BLOCK / rest.group), MAX_X)), stream, op,
                  cut.segments, outputs, static_cast<const lac_state *>(parts.states), results);
  });
}

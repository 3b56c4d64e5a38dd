// SPDX-License-Identifier: Apache-2.0
/// @file matmul.cu
/// Dense products, and their sums over batches:
///
///     z[b, i, j] = sum over s and k of op(X)[b, s, i, k] op(Y)[b, s, k, j]
///
/// A block of threads takes a tile of one Z, a step of 16 k at a time through shared memory. Where there are few tiles
/// the steps are cut into splits, whose sums are added up in order. Many products of tiny matrices have a thread for
/// each number. Which way it is, and where the cuts are, the shape says: the bits never change.

#include "backends/cuda/arrays/launch_arrays.h"
#include "backends/cuda/arrays/reduction.cuh"
#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

constexpr int DEEP = 16, SIDE = 16;  // k in a step; threads along a side of a tile
static_assert(SIDE * SIDE == BLOCK, "a block is a square of threads");

/// How products are cut.
struct Plan {
  bool is_tiny;            // a thread for each number
  int tile;                // rows and columns of a tile
  int64_t rows, columns;   // of tiles in a Z
  int64_t steps;           // of a Z, one sum over k after the other
  int64_t splits, length;  // steps of a split
};

Plan plan_of(lac_dtype dtype, const cuda_matmul_job &job, const cuda_batch &batch) {
  Plan plan = {};
  int64_t outputs = batch.kept.count * job.m * job.n;
  plan.is_tiny = job.m * job.n <= 64 && outputs >= 4096 && job.l * batch.summed.count <= 256;
  plan.tile = job.m <= 32 || job.n <= 32 ? SIDE : dtype == LAC_C128 ? 2 * SIDE : 4 * SIDE;
  plan.rows = ceil_div(job.m, plan.tile);
  plan.columns = ceil_div(job.n, plan.tile);
  plan.steps = batch.summed.count * ceil_div(job.l, DEEP);
  int64_t wanted = ceil_div(1024, plan.rows * plan.columns * batch.kept.count), most = plan.steps / 8;
  plan.splits = wanted < most ? wanted : most;
  if (plan.splits < 1 || plan.is_tiny) plan.splits = 1;
  plan.length = ceil_div(plan.steps, plan.splits);
  plan.splits = ceil_div(plan.steps, plan.length);
  return plan;
}

// -- a thread for each number ----------------------------------------------------------------------------------------

template <class T>
__global__ void __launch_bounds__(BLOCK) tiny(const __grid_constant__ cuda_matmul_job job,
                                              const __grid_constant__ cuda_batch batch, const T *x, const T *y, T *z) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK, size = job.m * job.n;
  for (int64_t o = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; o < batch.kept.count * size; o += step) {
    int64_t item = o / size, i = (o - item * size) / job.n, j = o - item * size - i * job.n;
    Offsets base = locate(batch.kept, item);
    T sum = zero<T>();
    for_summands<true>(batch.summed, base, [&](Offsets at) {
      const T *row = x + at.x + i * job.x_row, *column = y + at.y + j * job.y_col;
      for (int64_t k = 0; k < job.l; ++k)
        sum = sum + conj_if(job.conj_x, row[k * job.x_col]) * conj_if(job.conj_y, column[k * job.y_row]);
    });
    z[o] = sum;
  }
}

// -- tiles -----------------------------------------------------------------------------------------------------------

/// A tile of op(A), `down` steps and TILE places wide, into shared memory; zeros behind the ends. Threads run along
/// where A runs on in memory.
template <int TILE, class T>
__device__ void fetch(const T *a, int64_t at_k, int64_t at_place, int64_t k_left, int64_t places_left, int conj,
                      T (*to)[TILE + 1]) {
  int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int part = 0; part < TILE * DEEP / BLOCK; ++part) {
    int index = part * BLOCK + thread, k = at_k == 1 ? index % DEEP : index / TILE,
        place = at_k == 1 ? index / DEEP : index % TILE;
    bool is_there = k < k_left && place < places_left;
    to[k][place] = is_there ? conj_if(conj, a[k * at_k + place * at_place]) : zero<T>();
  }
}

/// Unit u is tile u % tiles of split u / tiles.
template <int TILE, class T>
__global__ void __launch_bounds__(BLOCK)
    tiles(const __grid_constant__ cuda_matmul_job job, const __grid_constant__ cuda_batch batch,
          const __grid_constant__ Plan plan, const T *x, const T *y, T *z) {
  constexpr int R = TILE / SIDE;
  __shared__ T xs[DEEP][TILE + 1], ys[DEEP][TILE + 1];
  int down = static_cast<int>(threadIdx.x) / SIDE, right = static_cast<int>(threadIdx.x) % SIDE;
  int64_t of_z = plan.rows * plan.columns, of_split = of_z * batch.kept.count, deep = (job.l + DEEP - 1) / DEEP;
  for (int64_t unit = blockIdx.x; unit < of_split * plan.splits; unit += gridDim.x) {
    int64_t split = unit / of_split, item = (unit - split * of_split) / of_z;
    int64_t tile = unit - split * of_split - item * of_z, row = tile / plan.columns;
    int64_t i = row * TILE, j = (tile - row * plan.columns) * TILE;
    int64_t begin = split * plan.length, end = begin + plan.length < plan.steps ? begin + plan.length : plan.steps;
    Offsets base = locate(batch.kept, item), at = {0, 0};
    T sums[R][R];
#pragma unroll
    for (int a = 0; a < R * R; ++a) sums[a / R][a % R] = zero<T>();
    for (int64_t step = begin; step < end; ++step) {
      int64_t summand = step / deep, k = (step - summand * deep) * DEEP;
      if (step == begin || k == 0) at = locate(batch.summed, summand);
      fetch<TILE>(x + base.x + at.x + i * job.x_row + k * job.x_col, job.x_col, job.x_row, job.l - k, job.m - i,
                  job.conj_x, xs);
      fetch<TILE>(y + base.y + at.y + j * job.y_col + k * job.y_row, job.y_row, job.y_col, job.l - k, job.n - j,
                  job.conj_y, ys);
      __syncthreads();
#pragma unroll
      for (int d = 0; d < DEEP; ++d) {
        T px[R], py[R];
#pragma unroll
        for (int a = 0; a < R; ++a) px[a] = xs[d][down + a * SIDE], py[a] = ys[d][right + a * SIDE];
#pragma unroll
        for (int a = 0; a < R * R; ++a) sums[a / R][a % R] = sums[a / R][a % R] + px[a / R] * py[a % R];
      }
      __syncthreads();
    }
    T *out = z + ((split * batch.kept.count + item) * job.m + i) * job.n + j;
#pragma unroll
    for (int a = 0; a < R * R; ++a) {
      int64_t p = down + a / R * SIDE, q = right + a % R * SIDE;
      if (p < job.m - i && q < job.n - j) out[p * job.n + q] = sums[a / R][a % R];
    }
  }
}

template <class T>
cudaError_t start_tiles(cudaStream_t stream, const cuda_matmul_job &job, const cuda_batch &batch, const Plan &plan,
                        const T *x, const T *y, T *z) {
  constexpr int LARGE = sizeof(T) == 16 ? 2 * SIDE : 4 * SIDE;
  dim3 grid(blocks(plan.rows * plan.columns * batch.kept.count * plan.splits, MAX_X));
  return launch(plan.tile == SIDE ? tiles<SIDE, T> : tiles<LARGE, T>, grid, stream, job, batch, plan, x, y, z);
}

/// The bytes of the sums of splits; what comes behind them stays aligned.
size_t parts_bytes(lac_dtype dtype, const cuda_matmul_job &job, const cuda_batch &batch, const Plan &plan) {
  size_t bytes = static_cast<size_t>(plan.splits * batch.kept.count * job.m * job.n) * lac_dtype_size(dtype);
  return (bytes + 255) / 256 * 256;
}

}  // namespace

size_t cuda_matmul_scratch(lac_dtype dtype, const cuda_matmul_job *job, const cuda_batch *batch) {
  Plan plan = plan_of(dtype, *job, *batch);
  if (plan.splits == 1) return 0;
  cuda_batch rest = second_pass(plan.splits, batch->kept.count * job->m * job->n);
  return parts_bytes(dtype, *job, *batch, plan) + cuda_reduce_scratch(dtype, &rest);
}

cudaError_t cuda_launch_matmul(cudaStream_t stream, lac_dtype dtype, const cuda_matmul_job *job,
                               const cuda_batch *batch, const void *x, const void *y, void *scratch, void *z) {
  Plan plan = plan_of(dtype, *job, *batch);
  int64_t outputs = batch->kept.count * job->m * job->n;
  if (outputs == 0) return cudaSuccess;
  cudaError_t error = with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    const T *from_x = static_cast<const T *>(x), *from_y = static_cast<const T *>(y);
    T *to = static_cast<T *>(plan.splits == 1 ? z : scratch);
    if (!plan.is_tiny) return start_tiles(stream, *job, *batch, plan, from_x, from_y, to);
    return launch(tiny<T>, dim3(blocks(ceil_div(outputs, BLOCK), MAX_X)), stream, *job, *batch, from_x, from_y, to);
  });
  if (error != cudaSuccess || plan.splits == 1) return error;
  cuda_batch rest = second_pass(plan.splits, outputs);
  void *behind = static_cast<char *>(scratch) + parts_bytes(dtype, *job, *batch, plan);
  return cuda_launch_reduce(stream, dtype, &rest, scratch, nullptr, behind, z);
}

// SPDX-License-Identifier: Apache-2.0
/// @file fault.cu
/// The last kernel of a call whose values may be at fault.

#include "backends/cuda/fault.h"
#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

constexpr int64_t EACH = 16;  // numbers of a thread, where there is a fault

__device__ uint64_t load_word(const uint64_t *from) {
  uint64_t word;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
  return word;
}
__device__ void store_word(uint64_t *to, uint64_t word) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
}

/// The first item of the result that belongs to an item of what was at fault.
__device__ int64_t joint_item(const cuda_axes &joint, int64_t size, int64_t item) {
  int64_t found = 0;
  while (found + 1 < joint.count && locate(joint, found).x != item * size) ++found;
  return found;
}

__device__ cuda_note note_of(const cuda_fault_job &job, uint64_t first) {
  cuda_note note = job.note;
  note.item = static_cast<int64_t>(first) / job.size;
  note.place = static_cast<int64_t>(first) % job.size;
  if (job.joint.count) note.item = joint_item(job.joint, job.size, note.item);
  if (job.names.data) note.place = get(job.names, note.place);
  note.number = job.number ? *job.number : 0;
  return note;
}

/// One thread. Kernels of other streams may be here too; those of one device take turns.
__device__ void note_fault(const cuda_fault_job &job, uint64_t first) {
  cuda_board *board = job.board;
  auto *lock = reinterpret_cast<unsigned long long *>(&board->lock);
  const cuda_note note = note_of(job, first);
  while (atomicCAS(lock, 0ull, 1ull)) {
  }
  __threadfence();
  uint64_t seen = load_word(&board->seen);
  if (load_word(&board->raised) == seen && (job.since == CUDA_FAULT_EVER || job.since == seen)) {
    *const_cast<volatile uint64_t *>(&board->note.say) = note.say;
    *const_cast<volatile uint64_t *>(&board->note.who) = note.who;
    *const_cast<volatile int64_t *>(&board->note.item) = note.item;
    *const_cast<volatile int64_t *>(&board->note.place) = note.place;
    *const_cast<volatile int64_t *>(&board->note.items) = note.items;
    *const_cast<volatile double *>(&board->note.number) = note.number;
    __threadfence_system();
    store_word(&board->raised, seen + 1);
  }
  __threadfence();
  atomicExch(lock, 0ull);
}

template <class R>
__global__ void __launch_bounds__(BLOCK) fault(const __grid_constant__ cuda_fault_job job, int64_t reals, R *x) {
  const uint64_t first = *job.first;
  if (first == ~uint64_t(0)) return;
  const int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < reals; i += step) x[i] = NAN;
  if (blockIdx.x == 0 && threadIdx.x == 0) note_fault(job, first);
}

}  // namespace

cudaError_t cuda_launch_fault(cudaStream_t stream, const cuda_fault_job *job, int is_single, int64_t reals, void *x) {
  dim3 grid(blocks(ceil_div(reals, BLOCK * EACH), 256));
  return is_single ? launch(fault<float>, grid, stream, *job, reals, static_cast<float *>(x))
                   : launch(fault<double>, grid, stream, *job, reals, static_cast<double *>(x));
}

// SPDX-License-Identifier: Apache-2.0
/// @file structure.cu
/// Loops over indices: checks, keys, a radix sort, slots, offsets, fingerprints (core/pattern/structure.h).
///
/// Integers are read and written in the width they have; the branch on it is the same for all threads. Flags are only
/// ever set to 1, first places are minima and fingerprints sums of integers, so that no result depends on the order of
/// threads.

#define LAC_DEVICE __host__ __device__

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "backends/cuda/structure.cuh"
#include "backends/cuda/structure.h"
#include "core/pattern/fingerprint.h"

using namespace lac_cuda;

namespace {

/// The least place so far; -1, the largest without a sign, is nowhere.
__device__ void note(int64_t *first, int64_t place) {
  auto *unsigned_first = reinterpret_cast<unsigned long long *>(first);
  if (static_cast<unsigned long long>(place) < *static_cast<volatile unsigned long long *>(unsigned_first))
    atomicMin(unsigned_first, static_cast<unsigned long long>(place));
}

/// Set a flag. Most threads find it set, in their own cache, and leave it alone.
__device__ void raise(int *flag) {
  if (*flag == 0) *flag = 1;
}

__device__ bool is_outside(int64_t index, int64_t lowest, int64_t size) {
  return static_cast<uint64_t>(index - lowest) >= static_cast<uint64_t>(size - lowest);
}

struct LookAtEntry {
  int64_t rows, cols, lowest;
  cuda_index row, col;
  cuda_entries_look *out;

  __device__ void operator()(int64_t i) const {
    int64_t r = get(row, i), c = get(col, i);
    if (is_outside(r, lowest, rows)) note(&out->row, i);
    if (is_outside(c, lowest, cols)) note(&out->col, i);
    if (r < 0 || c < 0) atomicAdd(reinterpret_cast<unsigned long long *>(&out->dropped), 1ull);
    if (i == 0) return;
    int64_t above = get(row, i - 1);
    if (!(above < r || (above == r && get(col, i - 1) < c))) raise(&out->is_unordered);
  }
};

struct LookAtOffset {
  int64_t lines;
  cuda_index offsets;
  cuda_offsets_look *out;

  __device__ void operator()(int64_t i) const {
    int64_t here = get(offsets, i);
    if (i == 0) out->first = here;
    if (i == lines) out->last = here;
    if (i > 0 && here < get(offsets, i - 1)) note(&out->descent, i);
  }
};

/// The least and the largest distance so far; most rows have no other.
__device__ void widen(cuda_band *band, int64_t low, int64_t high) {
  if (low < *static_cast<volatile int64_t *>(&band->low)) atomicMin(reinterpret_cast<long long *>(&band->low), low);
  if (high > *static_cast<volatile int64_t *>(&band->high)) atomicMax(reinterpret_cast<long long *>(&band->high), high);
}

struct LookAtBand {
  cuda_index offsets, columns;
  cuda_band *out;

  __device__ void operator()(int64_t i) const {
    int64_t begin = get(offsets, i), end = get(offsets, i + 1);
    int64_t first = begin < end ? get(columns, begin) : -1, last = begin < end ? get(columns, end - 1) : -1;
    if (first != i) note(&out->first_without, i);
    if (last != i) note(&out->last_without, i);
    if (begin < end) widen(out, first - i, last - i);
  }
};

struct CountUp {
  cuda_integers out;
  __device__ void operator()(int64_t i) const { put(out, i, i); }
};

struct Take {
  cuda_index from, at;
  cuda_integers out;
  __device__ void operator()(int64_t i) const { put(out, i, get(from, get_or_count(at, i))); }
};

struct Invert {
  cuda_index at;
  cuda_integers out;

  __device__ void operator()(int64_t i) const {
    int64_t to = get(at, i);
    if (to >= 0) put(out, to, i);
  }
};

/// The line of an entry is the last that begins at or before it.
struct LineOf {
  int64_t lines;
  cuda_index offsets;
  cuda_integers out;
  __device__ void operator()(int64_t p) const { put(out, p, lower_bound(offsets, lines + 1, p + 1) - 1); }
};

struct OffsetOf {
  int64_t count;
  cuda_index lines;
  cuda_integers offsets;
  __device__ void operator()(int64_t i) const { put(offsets, i, lower_bound(lines, count, i)); }
};

struct Key {
  cuda_index at, high, low;
  int shift;
  int64_t none;
  uint64_t *keys;

  __device__ uint64_t part(const cuda_index &index, int64_t i) const {
    if (!index.data) return 0;
    int64_t value = get(index, i);
    return static_cast<uint64_t>(value < 0 ? none : value);
  }
  __device__ void operator()(int64_t i) const {
    int64_t from = get_or_count(at, i);
    keys[i] = part(high, from) << shift | part(low, from);
  }
};

struct SetAside {
  int64_t rows;
  cuda_index row, col;
  cuda_integers to_row, to_col;

  __device__ void operator()(int64_t i) const {
    int64_t r = get(row, i), c = get(col, i);
    bool is_dropped = r < 0 || c < 0;
    put(to_row, i, is_dropped ? rows : r);
    put(to_col, i, is_dropped ? 0 : c);
  }
};

/// 1 for the first of those with the same row and column.
struct Head {
  cuda_sorted sorted;
  cuda_index row, col;
  cuda_integers slots;

  __device__ bool differ(int64_t i) const {
    if (sorted.keys) return sorted.keys[i] != sorted.keys[i - 1];
    int64_t here = get_or_count(sorted.order, i), before = get_or_count(sorted.order, i - 1);
    return get(row, here) != get(row, before) || get(col, here) != get(col, before);
  }
  __device__ void operator()(int64_t i) const { put(slots, i, i == 0 || differ(i)); }
};

struct Emit {
  int64_t nnz;
  cuda_sorted sorted;
  cuda_index row, col, slots;
  cuda_integers rows_of, columns, target;

  __device__ void operator()(int64_t i) const {
    int64_t entry = get_or_count(sorted.order, i), after = get(slots, i), slot = after - 1;
    if (slot < nnz && (i == 0 || get(slots, i - 1) != after)) {
      uint64_t key = sorted.keys ? sorted.keys[i] : 0, low = (uint64_t(1) << sorted.shift) - 1;
      put(rows_of, slot, sorted.keys ? static_cast<int64_t>(key >> sorted.shift) : get(row, entry));
      put(columns, slot, sorted.keys ? static_cast<int64_t>(key & low) : get(col, entry));
    }
    if (target.data) put(target, entry, slot < nnz ? slot : -1);
  }
};

/// Entry p of A has as many products as B's row under it has entries.
struct Length {
  cuda_index columns, b_offsets;
  int64_t *lengths;
  __device__ void operator()(int64_t p) const {
    int64_t k = get(columns, p);
    lengths[p] = get(b_offsets, k + 1) - get(b_offsets, k);
  }
};

struct Product {
  int64_t entries;
  cuda_index starts, rows_of, columns, b_offsets, b_columns;
  cuda_integers row, col;

  __device__ void operator()(int64_t n) const {
    int64_t p = lower_bound(starts, entries + 1, n + 1) - 1, k = get(columns, p);
    put(row, n, get(rows_of, p));
    put(col, n, get(b_columns, get(b_offsets, k) + n - get(starts, p)));
  }
};

struct Ascend {
  cuda_index integers;
  int *out;

  __device__ void operator()(int64_t i) const {
    int64_t here = get(integers, i), before = i ? get(integers, i - 1) : 0;
    if (here != i) raise(&out[0]);
    if (here < before) raise(&out[1]);
  }
};

struct Differ {
  cuda_index a, b;
  int *out;
  __device__ void operator()(int64_t i) const {
    if (get(a, i) != get(b, i)) raise(out);
  }
};

/// Sums of a thread, of its warp and of all: integers, so that no order matters.
__global__ void __launch_bounds__(BLOCK)
    print_sum(int64_t count, cuda_index integers, uint64_t seed, unsigned long long *sum) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  unsigned long long own = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < count; i += step)
    own += lac_fingerprint_image(static_cast<uint64_t>(get(integers, i)), seed, static_cast<uint64_t>(i));
  for (int d = 16; d > 0; d /= 2) own += __shfl_xor_sync(0xffffffffu, own, d);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

/// CUB's sort with what it needs said (scratch is NULL) or done.
template <class V>
cudaError_t sort(cudaStream_t stream, int64_t count, int bits, uint64_t *const keys[2], const cuda_integers values[2],
                 void *scratch, size_t &bytes, int *which) {
  cub::DoubleBuffer<uint64_t> k(keys[0], keys[1]);
  cub::DoubleBuffer<V> v(static_cast<V *>(values[0].data), static_cast<V *>(values[1].data));
  cudaError_t error = cub::DeviceRadixSort::SortPairs(scratch, bytes, k, v, count, 0, bits, stream);
  if (which) *which = v.selector;
  return error;
}

template <class V>
cudaError_t add_up(cudaStream_t stream, int64_t count, V *slots, void *scratch, size_t &bytes) {
  return cub::DeviceScan::InclusiveSum(scratch, bytes, slots, slots, count, stream);
}

}  // namespace

cudaError_t cuda_launch_look_at_entries(cudaStream_t stream, int64_t rows, int64_t cols, int64_t count, int64_t lowest,
                                        cuda_index row, cuda_index col, cuda_entries_look *out) {
  cudaError_t error = cudaMemsetAsync(out, 0, sizeof *out, stream);
  if (error == cudaSuccess) error = cudaMemsetAsync(&out->row, 0xff, sizeof out->row, stream);
  if (error == cudaSuccess) error = cudaMemsetAsync(&out->col, 0xff, sizeof out->col, stream);
  if (error != cudaSuccess) return error;
  return start(stream, count, LookAtEntry{rows, cols, lowest, row, col, out});
}

cudaError_t cuda_launch_look_at_offsets(cudaStream_t stream, int64_t lines, cuda_index offsets,
                                        cuda_offsets_look *out) {
  cudaError_t error = cudaMemsetAsync(out, 0xff, sizeof *out, stream);
  if (error != cudaSuccess) return error;
  return start(stream, lines + 1, LookAtOffset{lines, offsets, out});
}

cudaError_t cuda_launch_band(cudaStream_t stream, int64_t rows, cuda_index offsets, cuda_index columns,
                             cuda_band *out) {
  return start(stream, rows, LookAtBand{offsets, columns, out});
}

cudaError_t cuda_launch_count_up(cudaStream_t stream, int64_t count, cuda_integers out) {
  return start(stream, count, CountUp{out});
}

cudaError_t cuda_launch_take(cudaStream_t stream, int64_t count, cuda_index from, cuda_index at, cuda_integers out) {
  return start(stream, count, Take{from, at, out});
}

cudaError_t cuda_launch_invert(cudaStream_t stream, int64_t count, cuda_index at, cuda_integers out) {
  return start(stream, count, Invert{at, out});
}

cudaError_t cuda_launch_lines_of(cudaStream_t stream, int64_t count, int64_t lines, cuda_index offsets,
                                 cuda_integers out) {
  return start(stream, count, LineOf{lines, offsets, out});
}

cudaError_t cuda_launch_offsets_of(cudaStream_t stream, int64_t count, int64_t outputs, cuda_index lines,
                                   cuda_integers offsets) {
  return start(stream, outputs + 1, OffsetOf{count, lines, offsets});
}

cudaError_t cuda_launch_keys(cudaStream_t stream, int64_t count, cuda_index at, cuda_index high, int shift,
                             cuda_index low, int64_t none, uint64_t *keys) {
  return start(stream, count, Key{at, high, low, shift, none, keys});
}

cudaError_t cuda_launch_set_aside(cudaStream_t stream, int64_t rows, int64_t count, cuda_index row, cuda_index col,
                                  cuda_integers to_row, cuda_integers to_col) {
  return start(stream, count, SetAside{rows, row, col, to_row, to_col});
}

size_t cuda_sort_scratch(int64_t count, int bits, lac_index_type type) {
  uint64_t *const keys[2] = {nullptr, nullptr};
  const cuda_integers values[2] = {{nullptr, type}, {nullptr, type}};
  size_t bytes = 0;
  cudaError_t error = type == LAC_I32 ? sort<int32_t>(nullptr, count, bits, keys, values, nullptr, bytes, nullptr)
                                      : sort<int64_t>(nullptr, count, bits, keys, values, nullptr, bytes, nullptr);
  return error == cudaSuccess ? bytes : 0;
}

cudaError_t cuda_launch_sort(cudaStream_t stream, int64_t count, int bits, uint64_t *const keys[2],
                             const cuda_integers values[2], void *scratch, size_t bytes, int *which) {
  return values[0].type == LAC_I32 ? sort<int32_t>(stream, count, bits, keys, values, scratch, bytes, which)
                                   : sort<int64_t>(stream, count, bits, keys, values, scratch, bytes, which);
}

size_t cuda_slots_scratch(int64_t count, lac_index_type type) {
  size_t bytes = 0;
  cudaError_t error = type == LAC_I32 ? add_up<int32_t>(nullptr, count, nullptr, nullptr, bytes)
                                      : add_up<int64_t>(nullptr, count, nullptr, nullptr, bytes);
  return error == cudaSuccess ? bytes : 0;
}

cudaError_t cuda_launch_add_up(cudaStream_t stream, int64_t count, cuda_integers numbers, void *scratch, size_t bytes) {
  return numbers.type == LAC_I32 ? add_up(stream, count, static_cast<int32_t *>(numbers.data), scratch, bytes)
                                 : add_up(stream, count, static_cast<int64_t *>(numbers.data), scratch, bytes);
}

cudaError_t cuda_launch_slots(cudaStream_t stream, int64_t count, cuda_sorted sorted, cuda_index row, cuda_index col,
                              cuda_integers slots, void *scratch, size_t bytes) {
  cudaError_t error = start(stream, count, Head{sorted, row, col, slots});
  if (error != cudaSuccess) return error;
  return cuda_launch_add_up(stream, count, slots, scratch, bytes);
}

cudaError_t cuda_launch_emit(cudaStream_t stream, int64_t count, int64_t nnz, cuda_sorted sorted, cuda_index row,
                             cuda_index col, cuda_index slots, cuda_integers rows_of, cuda_integers columns,
                             cuda_integers target) {
  return start(stream, count, Emit{nnz, sorted, row, col, slots, rows_of, columns, target});
}

cudaError_t cuda_launch_starts(cudaStream_t stream, int64_t entries, cuda_index columns, cuda_index b_offsets,
                               int64_t *starts, void *scratch, size_t bytes) {
  cudaError_t error = cudaMemsetAsync(starts, 0, sizeof *starts, stream);
  if (error == cudaSuccess) error = start(stream, entries, Length{columns, b_offsets, starts + 1});
  if (error != cudaSuccess) return error;
  return add_up(stream, entries + 1, starts, scratch, bytes);
}

cudaError_t cuda_launch_products(cudaStream_t stream, int64_t count, int64_t entries, cuda_index starts,
                                 cuda_index rows_of, cuda_index columns, cuda_index b_offsets, cuda_index b_columns,
                                 cuda_integers row, cuda_integers col) {
  return start(stream, count, Product{entries, starts, rows_of, columns, b_offsets, b_columns, row, col});
}

cudaError_t cuda_launch_ascends(cudaStream_t stream, int64_t count, cuda_index integers, int *out) {
  return start(stream, count, Ascend{integers, out});
}

cudaError_t cuda_launch_differ(cudaStream_t stream, int64_t count, cuda_index a, cuda_index b, int *out) {
  return start(stream, count, Differ{a, b, out});
}

cudaError_t cuda_launch_print(cudaStream_t stream, int64_t count, cuda_index integers, uint64_t seed, uint64_t *sum) {
  if (count == 0) return cudaSuccess;
  return launch(print_sum, blocks(ceil_div(count, BLOCK), 2048), stream, count, integers, seed,
                reinterpret_cast<unsigned long long *>(sum));
}

// SPDX-License-Identifier: Apache-2.0
/// @file structure_parts.cu
/// Parts, pairs and stacks of patterns: a thread for each entry, which finds its place without asking others.

#include "backends/cuda/structure.cuh"
#include "backends/cuda/structure.h"
#include "backends/cuda/structure_parts.h"

using namespace lac_cuda;

namespace {

/// Whether columns [begin, end) of a list, which ascend there, have a column.
__device__ bool has(const cuda_index &columns, int64_t begin, int64_t end, int64_t column) {
  while (begin < end) {
    int64_t middle = begin + (end - begin) / 2;
    if (get(columns, middle) < column) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin < end || get(columns, begin) == column;
}

struct Keep {
  cuda_entries a;
  cuda_window w;
  cuda_integers kept;

  __device__ bool stays(int64_t row, int64_t col) const {
    if (row < w.row0 || row >= w.row1 || col < w.col0 || col >= w.col1) return false;
    if ((w.cuts_above && col - row > w.k) || (w.cuts_below && col - row < w.k)) return false;
    if (!w.other_offsets.data) return true;
    int64_t begin = get(w.other_offsets, row), end = get(w.other_offsets, row + 1);
    return begin < end && col <= get(w.other_columns, end - 1) && has(w.other_columns, begin, end - 1, col);
  }
  __device__ void operator()(int64_t p) const { put(kept, p, stays(get(a.rows_of, p), get(a.columns, p))); }
};

struct Settle {
  cuda_entries a;
  int64_t row0, col0;
  cuda_index kept;
  cuda_integers target, rows_of, columns;

  __device__ void operator()(int64_t p) const {
    int64_t after = get(kept, p), slot = after - 1;
    bool stays = after != (p ? get(kept, p - 1) : 0);
    put(target, p, stays ? slot : -1);
    if (!stays || !columns.data) return;
    put(rows_of, slot, get(a.rows_of, p) - row0);
    put(columns, slot, get(a.columns, p) - col0);
  }
};

struct KronRow {
  cuda_entries a, b;
  cuda_integers offsets;

  __device__ void operator()(int64_t r) const {
    if (r == a.rows * b.rows) return put(offsets, r, a.count * b.count);
    int64_t i = r / b.rows, k = r - i * b.rows, begin = get(a.offsets, i), length = get(a.offsets, i + 1) - begin;
    put(offsets, r, begin * b.count + length * get(b.offsets, k));
  }
};

struct Kron {
  cuda_entries a, b;
  cuda_integers columns, target;

  __device__ void operator()(int64_t n) const {
    int64_t p = n / b.count, q = n - p * b.count, i = get(a.rows_of, p), k = get(b.rows_of, q);
    int64_t a_begin = get(a.offsets, i), a_length = get(a.offsets, i + 1) - a_begin;
    int64_t b_begin = get(b.offsets, k), b_length = get(b.offsets, k + 1) - b_begin;
    int64_t slot = a_begin * b.count + a_length * b_begin + (p - a_begin) * b_length + (q - b_begin);
    put(columns, slot, get(a.columns, p) * b.cols + get(b.columns, q));
    put(target, n, slot);
  }
};

struct Lengthen {
  cuda_index offsets;
  int64_t *length;
  __device__ void operator()(int64_t i) const { length[i] += get(offsets, i + 1) - get(offsets, i); }
};

struct Stack {
  cuda_entries a;
  int64_t col0;
  const int64_t *next;
  cuda_integers columns, target;

  __device__ void operator()(int64_t p) const {
    int64_t i = get(a.rows_of, p), slot = next[i] + p - get(a.offsets, i);
    put(columns, slot, col0 + get(a.columns, p));
    if (target.data) put(target, p, slot);
  }
};

struct Place {
  cuda_entries a;
  int64_t stride;
  cuda_integers out;

  __device__ void operator()(int64_t p) const {
    int64_t row = get(a.rows_of, p), col = get(a.columns, p);
    put(out, p, stride ? row * stride + col : col == row ? row : -1);
  }
};

}  // namespace

cudaError_t cuda_launch_keep(cudaStream_t stream, const cuda_entries *a, const cuda_window *w, cuda_integers kept,
                             void *scratch, size_t bytes) {
  cudaError_t error = start(stream, a->count, Keep{*a, *w, kept});
  if (error != cudaSuccess || a->count == 0) return error;
  return cuda_launch_add_up(stream, a->count, kept, scratch, bytes);
}

cudaError_t cuda_launch_settle(cudaStream_t stream, const cuda_entries *a, const cuda_window *w, cuda_index kept,
                               cuda_integers target, cuda_integers rows_of, cuda_integers columns) {
  return start(stream, a->count, Settle{*a, w->row0, w->col0, kept, target, rows_of, columns});
}

cudaError_t cuda_launch_kron(cudaStream_t stream, const cuda_entries *a, const cuda_entries *b, cuda_integers offsets,
                             cuda_integers columns, cuda_integers target) {
  cudaError_t error = start(stream, a->rows * b->rows + 1, KronRow{*a, *b, offsets});
  return error == cudaSuccess ? start(stream, a->count * b->count, Kron{*a, *b, columns, target}) : error;
}

cudaError_t cuda_launch_lengths(cudaStream_t stream, int64_t rows, cuda_index offsets, int64_t *length) {
  return start(stream, rows, Lengthen{offsets, length});
}

cudaError_t cuda_launch_stack(cudaStream_t stream, const cuda_entries *a, int64_t col0, const int64_t *next,
                              cuda_integers columns, cuda_integers target) {
  return start(stream, a->count, Stack{*a, col0, next, columns, target});
}

cudaError_t cuda_launch_places(cudaStream_t stream, const cuda_entries *a, int64_t stride, cuda_integers out) {
  return start(stream, a->count, Place{*a, stride, out});
}

// SPDX-License-Identifier: Apache-2.0
/// @file lines.h
/// Lines of entries (the rows of a matrix, the groups of a map) by their lengths, which choose the kernel.
///
/// Lines of about one length are shared out whole: a thread, a part of a warp or a warp to each. Uneven ones are cut by
/// merge path: the list of all entries and all ends of lines is cut into pieces of one size, and what a piece has of a
/// line that goes on behind it is *carried*, to be joined by a second kernel in the order of the pieces. The cut
/// depends on the lengths alone, so the bits never change.

#ifndef LACUNA_BACKENDS_CUDA_LINES_H
#define LACUNA_BACKENDS_CUDA_LINES_H

#include "backends/cuda/launch.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_lengths {
  int64_t lines, entries;
  int64_t longest;        // entries of the longest line; 0: this is not known
  int64_t stride;         // lines this far apart share columns (tiles.cuh); 0: this is not known
  const int64_t *starts;  // where pieces of uneven lines begin (cuda_launch_piece_starts); NULL: this is found anew
} cuda_lengths;

/// Entries and ends of lines of a piece, where one thread block reduces it to one number a line: so many for each of
/// its threads, by the bytes of a number.
enum { CUDA_PIECE_THREADS = 128, CUDA_PIECE_WIDE = 8, CUDA_PIECE_NARROW = 12 };
static inline int64_t cuda_piece(size_t bytes) {
  return CUDA_PIECE_THREADS * (bytes > 4 ? CUDA_PIECE_WIDE : CUDA_PIECE_NARROW);
}

/// Lines up to this length are never cut, and a line this many times as long as the mean is not shared out whole.
enum { CUDA_LONG_LINE = 256, CUDA_UNEVEN = 16, CUDA_FEW_LINES = 2048 };

static inline int64_t cuda_mean_length(const cuda_lengths *l) { return l->lines ? l->entries / l->lines : 0; }

/// Whether lines are to be cut: some are much longer than most, or there are too few of them to fill a device.
static inline bool cuda_lengths_are_uneven(const cuda_lengths *l, int64_t batch) {
  if (l->longest <= CUDA_LONG_LINE) return false;
  return l->longest > CUDA_UNEVEN * (cuda_mean_length(l) + 1) || l->lines * batch < CUDA_FEW_LINES;
}

static inline int64_t cuda_pieces(const cuda_lengths *l, int64_t piece) {
  return (l->lines + l->entries + piece - 1) / piece;
}

/// Where the pieces begin: cuda_pieces + 1 integers of 64 bits, then carried numbers of so many bytes for each piece
/// and item of a batch.
static inline size_t cuda_starts_bytes(const cuda_lengths *l, int64_t piece) {
  return ((size_t)(cuda_pieces(l, piece) + 1) * sizeof(int64_t) + 15) / 16 * 16;
}
static inline size_t cuda_pieces_scratch(const cuda_lengths *l, int64_t piece, int64_t batch, size_t bytes) {
  return cuda_starts_bytes(l, piece) + (size_t)(cuda_pieces(l, piece) * batch) * bytes;
}

/// The line in which each piece of so many items begins: cuda_pieces + 1 integers.
cudaError_t cuda_launch_piece_starts(cudaStream_t stream, const cuda_lengths *l, cuda_index offsets, int64_t piece,
                                     int64_t *starts);

/// The first of the lines with the most entries, and how many it has.
typedef struct cuda_longest_line {
  int64_t line, count;
} cuda_longest_line;
cudaError_t cuda_launch_longest(cudaStream_t stream, int64_t lines, cuda_index offsets, cuda_longest_line *out);

#ifdef __cplusplus
}
#endif
#endif

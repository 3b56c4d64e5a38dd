// SPDX-License-Identifier: Apache-2.0
/// @file tiles.cuh
/// The order in which blocks take up the lines of a matrix.
///
/// On a grid whose points are numbered row by row, line i has the columns i - 1, i, i + 1 and i - s, i + s: what it
/// gathers is gathered by the lines before and behind it, and by those s away, which may be millions of bytes away. A
/// block therefore takes a tile: `height` spans of `width` lines that follow each other, each span one stride behind
/// the one before. Its parts walk their spans side by side, and find in the nearest cache what their neighbours have
/// just gathered. Where no stride is known, the spans of a tile follow each other. Any stride is right.

#ifndef LACUNA_BACKENDS_CUDA_TILES_CUH
#define LACUNA_BACKENDS_CUDA_TILES_CUH

#include "backends/cuda/access.cuh"
#include "backends/cuda/lines.h"

namespace lac_cuda {

/// Lines that follow each other.
struct Span {
  int64_t first;
  int count;
};

struct Tiles {
  int64_t lines, stride, across, all;  // tiles beside each other in a stride, and all of them
  int height, width;

  /// The span of part `at` of a tile; it may be empty.
  __device__ Span span(int64_t tile, int at) const {
    uint64_t strip = static_cast<uint64_t>(tile) / static_cast<uint64_t>(across);
    int64_t left = (tile - static_cast<int64_t>(strip) * across) * width;
    int64_t first = (static_cast<int64_t>(strip) * height + at) * stride + left;
    int64_t count = stride - left < width ? stride - left : width;
    if (lines - first < count) count = lines - first;
    return {first, count > 0 ? static_cast<int>(count) : 0};
  }
  __host__ __device__ int64_t count() const { return all; }
};

constexpr int64_t FULL_GRID = 4096;  // blocks that fill a large device several times

/// Lines of a span: up to `most`, but few enough to fill the device, though not below `least`.
inline int span_width(int64_t lines, int height, int64_t others, int least, int most) {
  int width = most;
  while (width > least && ceil_div(lines, static_cast<int64_t>(height) * width) * others < FULL_GRID / 2) width /= 2;
  return width;
}

/// A stride serves where the lines have several of them, and more than a span in each.
inline Tiles tiles_of(const cuda_lengths *l, int height, int width) {
  int64_t stride = l->stride >= 2 * width && l->stride * 4 <= l->lines ? l->stride : width;
  int64_t across = ceil_div(stride, width);
  return {l->lines, stride, across, ceil_div(l->lines, height * stride) * across, height, width};
}

}  // namespace lac_cuda

#endif

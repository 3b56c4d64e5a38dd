// SPDX-License-Identifier: Apache-2.0
// Points in row order, numbers T, into a row of cells, numbers H, and back. `step` numbers are from a point to the
// next.

INLINE void VN(take_line)(int64_t width, const T *from, const int64_t step, const FN(real) scale, H *even, H *odd) {
  for (int64_t i = 0; i < width / 2; ++i) {
    even[i] = (H)(from[2 * i * step] * scale);
    odd[i] = (H)(from[(2 * i + 1) * step] * scale);
  }
  if (width % 2) even[width / 2] = (H)(from[(width - 1) * step] * scale);
}

INLINE void VN(give_line)(int64_t width, const H *even, const H *odd, const FN(real) scale, const int64_t step, T *to) {
  for (int64_t i = 0; i < width / 2; ++i) {
    to[2 * i * step] = (T)even[i] * scale;
    to[(2 * i + 1) * step] = (T)odd[i] * scale;
  }
  if (width % 2) to[(width - 1) * step] = (T)even[width / 2] * scale;
}

// Row `cell` of cells, at the places of its colours. The points that complete the last cells are zero: those in the
// last column already, and they stay.
static void VN(take_points)(const lac_grid *grid, int64_t cell, const void *numbers, int64_t step, double scale,
                            void *points) {
  H *to = (H *)points + 1;
  for (int64_t y = 2 * cell; y < 2 * cell + 2 && y < grid->height; ++y, to += 2 * grid->stride) {
    const T *from = (const T *)numbers + y * grid->width * step;
    if (step == 1) {
      VN(take_line)(grid->width, from, 1, (FN(real))scale, to, to + grid->stride);
    } else {
      VN(take_line)(grid->width, from, step, (FN(real))scale, to, to + grid->stride);
    }
  }
  if (2 * cell + 1 == grid->height) memset(to, 0, (size_t)(2 * grid->stride - 1) * sizeof *to);
}

static void VN(give_points)(const lac_grid *grid, int64_t cell, const void *points, double scale, int64_t step,
                            void *numbers) {
  const H *from = (const H *)points + 1;
  for (int64_t y = 2 * cell; y < 2 * cell + 2 && y < grid->height; ++y, from += 2 * grid->stride) {
    T *to = (T *)numbers + y * grid->width * step;
    if (step == 1) {
      VN(give_line)(grid->width, from, from + grid->stride, (FN(real))scale, 1, to);
    } else {
      VN(give_line)(grid->width, from, from + grid->stride, (FN(real))scale, step, to);
    }
  }
}

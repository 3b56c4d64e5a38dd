// SPDX-License-Identifier: Apache-2.0
/// @file random.c
/// splitmix64, and structures drawn from it.

#include "support/random.h"

#include <stdbool.h>

#include "support/scratch.h"

random_state random_start(uint64_t seed) { return (random_state){seed * 0x9E3779B97F4A7C15u + 1}; }

uint64_t random_bits(random_state *r) {
  uint64_t z = (r->s += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

double random_unit(random_state *r) {
  uint64_t bits = random_bits(r);
  double size = (double)(64 + bits % 961) / 1024;
  return bits >> 63 ? -size : size;
}

int64_t random_below(random_state *r, int64_t n) { return (int64_t)(random_bits(r) % (uint64_t)n); }

// -- sketches --------------------------------------------------------------------------------------------------------

/// The entries for which `mask` (rows x cols) is set, in canonical order.
static const sketch *sketch_of(int64_t rows, int64_t cols, const bool *mask) {
  sketch *s = scratch(sizeof *s);
  int64_t nnz = 0;
  for (int64_t p = 0; p < rows * cols; ++p) nnz += mask[p];
  *s = (sketch){rows, cols, 0, scratch((size_t)nnz * sizeof *s->row), scratch((size_t)nnz * sizeof *s->col)};
  for (int64_t p = 0; p < rows * cols; ++p) {
    if (!mask[p]) continue;
    s->row[s->nnz] = p / cols;
    s->col[s->nnz++] = p % cols;
  }
  return s;
}

static bool *mask_random(int64_t rows, int64_t cols, double density, uint64_t seed) {
  bool *mask = scratch((size_t)(rows * cols));
  random_state r = random_start(seed);
  for (int64_t p = 0; p < rows * cols; ++p) mask[p] = (double)(random_bits(&r) >> 11) * 0x1p-53 < density;
  return mask;
}

const sketch *sketch_random(int64_t rows, int64_t cols, double density, uint64_t seed) {
  bool *mask = mask_random(rows, cols, density, seed);
  if (rows > 2 && cols > 2) {
    for (int64_t j = 0; j < cols; ++j) mask[(rows / 2) * cols + j] = false;
    for (int64_t i = 0; i < rows; ++i) mask[i * cols + cols / 2] = false;
    mask[0] = mask[cols - 1] = true;  // not symmetric, not empty
    mask[(rows - 1) * cols] = false;
  }
  return sketch_of(rows, cols, mask);
}

const sketch *sketch_anywhere(int64_t n, int64_t each, uint64_t seed) {
  sketch *s = scratch(sizeof *s);
  random_state r = random_start(seed);
  int64_t apart = n / each;
  s->rows = s->cols = n;
  s->row = scratch((size_t)(each * n) * sizeof *s->row);
  s->col = scratch((size_t)(each * n) * sizeof *s->col);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t d = 0; d < each; ++d) s->row[s->nnz] = i, s->col[s->nnz++] = d * apart + random_below(&r, apart);
  }
  return s;
}

const sketch *sketch_scattered(int64_t n, double density, uint64_t seed) {
  return sketch_of(n, n, mask_random(n, n, density, seed));
}

const sketch *sketch_square(int64_t n, double density, uint64_t seed) {
  bool *mask = mask_random(n, n, density, seed);
  for (int64_t i = 0; i < n; ++i) mask[i * n + i] = true;
  if (n > 1) mask[n - 1] = true, mask[(n - 1) * n] = false;
  return sketch_of(n, n, mask);
}

const sketch *sketch_triangle(int64_t n, double density, lac_triangle triangle, lac_diagonal diagonal, uint64_t seed) {
  bool *mask = mask_random(n, n, density, seed);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if (i == j) mask[i * n + j] = diagonal == LAC_DIAGONAL_STORED;
      if (triangle == LAC_TRIANGLE_LOWER ? i < j : i > j) mask[i * n + j] = false;
    }
  }
  return sketch_of(n, n, mask);
}

const sketch *sketch_symmetric(int64_t n, double density, uint64_t seed) {
  bool *mask = mask_random(n, n, density, seed);
  for (int64_t i = 0; i < n; ++i) {
    mask[i * n + i] = true;
    for (int64_t j = 0; j < i; ++j) mask[j * n + i] = mask[i * n + j];
  }
  return sketch_of(n, n, mask);
}

const sketch *sketch_empty(int64_t rows, int64_t cols) { return sketch_of(rows, cols, scratch((size_t)(rows * cols))); }

const sketch *sketch_transpose(const sketch *s) {
  bool *mask = scratch((size_t)(s->rows * s->cols));
  for (int64_t z = 0; z < s->nnz; ++z) mask[s->col[z] * s->rows + s->row[z]] = true;
  return sketch_of(s->cols, s->rows, mask);
}

const sketch *sketch_product(const sketch *a, const sketch *b) {
  bool *mask = scratch((size_t)(a->rows * b->cols));
  for (int64_t p = 0; p < a->nnz; ++p) {
    for (int64_t q = 0; q < b->nnz; ++q) {
      if (a->col[p] == b->row[q]) mask[a->row[p] * b->cols + b->col[q]] = true;
    }
  }
  return sketch_of(a->rows, b->cols, mask);
}

int64_t sketch_find(const sketch *s, int64_t row, int64_t col) {
  for (int64_t z = 0; z < s->nnz; ++z) {
    if (s->row[z] == row && s->col[z] == col) return z;
  }
  return -1;
}

lac_status sketch_pattern(lac_context *ctx, const sketch *s, lac_width width, lac_pattern **out) {
  size_t mark = scratch_mark();
  int64_t *row = scratch((size_t)s->nnz * sizeof *row), *col = scratch((size_t)s->nnz * sizeof *col);
  random_state r = random_start((uint64_t)s->nnz);

  for (int64_t z = 0; z < s->nnz; ++z) {  // insert at a random place
    int64_t at = random_below(&r, z + 1);
    row[z] = row[at], col[z] = col[at];
    row[at] = s->row[z], col[at] = s->col[z];
  }
  lac_status status = lac_pattern_from_coo(ctx, s->rows, s->cols, s->nnz, LAC_I64, row, col, width, out, NULL);
  scratch_release(mark);
  return status;
}

lac_status sketch_block_pattern(lac_context *ctx, const sketch *s, int64_t br, int64_t bc, lac_width width,
                                lac_pattern **out) {
  size_t mark = scratch_mark();
  int64_t *offsets = scratch((size_t)(s->rows + 1) * sizeof *offsets), *col = scratch((size_t)s->nnz * sizeof *col);

  for (int64_t z = 0; z < s->nnz; ++z) ++offsets[s->row[z] + 1];
  for (int64_t i = 0; i < s->rows; ++i) offsets[i + 1] += offsets[i];
  for (int64_t z = 0; z < s->nnz; ++z) {
    int64_t i = s->row[z];
    col[offsets[i] + offsets[i + 1] - 1 - z] = s->col[z];
  }
  lac_status status =
      lac_pattern_from_bsr(ctx, s->rows * br, s->cols * bc, br, bc, LAC_I64, offsets, col, width, out, NULL);
  scratch_release(mark);
  return status;
}

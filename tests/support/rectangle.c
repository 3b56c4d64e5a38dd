// SPDX-License-Identifier: Apache-2.0
/// @file rectangle.c
/// Rectangular matrices of full rank, and their least squares by the normal equations.

#include "support/rectangle.h"

#include "support/scratch.h"

/// S + delta^2 I
static dense shifted(dense s, double delta) {
  for (int64_t i = 0; i < s.rows; ++i) s.x[i * s.cols + i] += delta * delta;
  return s;
}

dense rectangle_lstsq(dense a, dense b, double delta) {
  dense h = dense_side(a, LAC_ADJOINT);
  if (a.rows >= a.cols) return dense_solve(shifted(dense_mul(h, a), delta), dense_mul(h, b));
  return dense_mul(h, dense_solve(shifted(dense_mul(a, h), delta), b));
}

void rectangle_fill(const op_case *c, int input, ref *x) {
  const sketch *s = c->patterns[0];
  if (input == 2) x->x[0] = 0.75 + x->x[0] / 4;
  if (input != 0) return;
  for (int64_t e = 0; e < x->count; ++e) {
    int64_t z = e % s->nnz;
    x->x[e] = s->row[z] == s->col[z] ? 2 + x->x[e] / 2 : x->x[e] / 2;
  }
}

const sketch *rectangle(int64_t rows, int64_t cols, uint64_t seed) {
  const sketch *from = sketch_random(rows, cols, 0.5, seed);
  sketch *s = scratch(sizeof *s);
  *s = (sketch){rows, cols, 0, scratch((size_t)(rows * cols) * 8 + 1), scratch((size_t)(rows * cols) * 8 + 1)};
  for (int64_t z = 0; z < rows * cols; ++z) {
    int64_t i = z / cols, j = z % cols;
    if ((rows > cols && i == rows - 1) || (cols > rows && j == cols - 1)) continue;
    if (i == j || sketch_find(from, i, j) >= 0) s->row[s->nnz] = i, s->col[s->nnz++] = j;
  }
  return s;
}

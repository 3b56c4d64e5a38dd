// SPDX-License-Identifier: Apache-2.0
/// @file cube.c
/// Cubes as Kronecker products of lines.

#include "support/cube.h"

#include <math.h>

#include "support/check.h"

lac_pattern *cube_pattern(lac_context *ctx, int64_t n) {
  lac_pattern *out = NULL;
  lac_pattern *line = NULL, *eye = NULL, *plane = NULL, *left = NULL, *right = NULL, *square = NULL;
  CHECK_OK(lac_pattern_banded(ctx, n, n, 1, 1, LAC_WIDTH_AUTO, &line, NULL));
  CHECK_OK(lac_pattern_banded(ctx, n, n, 0, 0, LAC_WIDTH_AUTO, &eye, NULL));
  CHECK_OK(lac_pattern_kron(ctx, line, eye, &left, NULL));
  CHECK_OK(lac_pattern_kron(ctx, eye, line, &right, NULL));
  CHECK_OK(lac_pattern_union(ctx, left, right, &square, NULL, NULL));
  lac_pattern_destroy(&left);
  lac_pattern_destroy(&right);
  CHECK_OK(lac_pattern_kron(ctx, square, eye, &left, NULL));
  CHECK_OK(lac_pattern_banded(ctx, n * n, n * n, 0, 0, LAC_WIDTH_AUTO, &plane, NULL));
  CHECK_OK(lac_pattern_kron(ctx, plane, line, &right, NULL));
  CHECK_OK(lac_pattern_union(ctx, left, right, &out, NULL, NULL));
  lac_pattern_destroy(&line);
  lac_pattern_destroy(&eye);
  lac_pattern_destroy(&plane);
  lac_pattern_destroy(&left);
  lac_pattern_destroy(&right);
  lac_pattern_destroy(&square);
  CHECK_OK(lac_pattern_host(ctx, out));
  return out;
}

direct_system cube_open(lac_context *ctx, int64_t n, const lac_solver_options *options) {
  direct_system s = {.pattern = cube_pattern(ctx, n)};
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){s.pattern->nnz}, &s.values));
  double *a = lac_array_edit(s.values);
  for (int64_t i = 0; i < s.pattern->rows; i++) {
    int64_t begin = lac_buffer_get(s.pattern->offsets, i), end = lac_buffer_get(s.pattern->offsets, i + 1);
    for (int64_t p = begin; p < end; p++) a[p] = lac_buffer_get(s.pattern->columns, p) == i ? 6 : -1;
  }
  CHECK_OK(lac_solver_create(ctx, s.pattern, options, &s.solver));
  return s;
}

void cube_weigh(const direct_system *cube) {
  const lac_pattern *pattern = cube->pattern;
  double *a = lac_array_edit(cube->values);
  for (int64_t i = 0; i < pattern->rows; i++) {
    int64_t begin = lac_buffer_get(pattern->offsets, i), end = lac_buffer_get(pattern->offsets, i + 1),
            diagonal = begin;
    double sum = 0.1;
    for (int64_t p = begin; p < end; p++) {
      int64_t j = lac_buffer_get(pattern->columns, p);
      if (j == i) diagonal = p;
      if (j == i) continue;
      a[p] = -pow(10, 4 * sin((double)((i < j ? i : j) * 7919 + (i < j ? j : i) * 104729)));
      sum -= a[p];
    }
    a[diagonal] = sum;
  }
}

// SPDX-License-Identifier: Apache-2.0
/// @file triangle.c
/// Levels of a triangle, in one walk over the rows in the order of substitution; and its diagonal.

#include "kernels/triangle.h"

int64_t lac_triangle_levels(const lac_rows *rows, bool is_lower, int64_t *level) {
  int64_t count = 0;
  for (int64_t n = 0; n < rows->rows; ++n) {
    int64_t i = is_lower ? n : rows->rows - 1 - n, mine = 0, end = lac_buffer_get(rows->offsets, i + 1);
    for (int64_t p = lac_buffer_get(rows->offsets, i); p < end; ++p) {
      int64_t j = lac_buffer_get(rows->columns, p);
      if ((is_lower ? j < i : j > i) && level[j] >= mine) mine = level[j] + 1;
    }
    level[i] = mine;
    if (mine >= count) count = mine + 1;
  }
  return count;
}

lac_status lac_triangle_require_diagonal(lac_context *ctx, const lac_band *band, lac_triangle triangle) {
  lac_status status = LAC_OK;
  int64_t row = triangle == LAC_TRIANGLE_LOWER ? band->last_without : band->first_without;

  LAC_CHECK(
      row < 0, LAC_ERR_SINGULAR,
      "trisolve: row %lld has no diagonal entry; store one in every row, or solve with LAC_DIAGONAL_UNIT for ones",
      (long long)row);
done:
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file ordering_singletons.c
/// Columns with one entry left: eliminating them first fills nothing in, and lays bare the next ones.
///
/// The matrix becomes [U11 U12; 0 A22] with U11 upper triangular, by permutations alone. A triangular matrix in
/// disguise is taken apart completely.

#include "solvers/direct/ordering.h"

// Take row i out: its columns have one entry less, and those with one left join the queue.
static int32_t singletons_drop_row(const lac_structure *s, int32_t i, int32_t *left, int32_t *order, int32_t queued) {
  for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
    int32_t j = s->columns[p];
    if (--left[j] == 1) order[queued++] = j;
  }
  return queued;
}

int32_t lac_order_singletons(const lac_structure *s, int32_t *left, bool *is_gone, int32_t *order) {
  int32_t queued = 0, taken = 0;

  for (int32_t j = 0; j < s->n; j++) {
    left[j] = (int32_t)(s->t_offsets[j + 1] - s->t_offsets[j]);
    if (left[j] == 1) order[queued++] = j;
  }
  for (int32_t next = 0; next < queued; next++) {
    int32_t j = order[next];
    if (left[j] == 0)
      continue;  // another singleton took its row: the matrix is singular, which the elimination will say
    int64_t q = s->t_offsets[j];
    while (is_gone[s->t_rows[q]]) q++;
    is_gone[s->t_rows[q]] = true;
    queued = singletons_drop_row(s, s->t_rows[q], left, order, queued);
    left[j] = -1;
    order[taken++] = j;
  }
  return taken;
}

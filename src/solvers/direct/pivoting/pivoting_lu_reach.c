// SPDX-License-Identifier: Apache-2.0
/// @file pivoting_lu_reach.c
/// Which entries of L x = a may be nonzero: what can be reached from a's entries in the graph of L (Gilbert and Peierls
/// 1988).
///
/// Row r leads, where it is the pivot of step j, to the rows of column j of L. A depth-first search lists the steps so
/// that each comes before those it leads to. Where L_kj and U_jk are both there, column k has all rows of column j that
/// come later, and the search need not look at them in column j (Eisenstat and Liu 1992): they lie behind `pruned[j]`.

#include "solvers/direct/pivoting/pivoting_lu.h"

int32_t pivoting_search(int32_t j, int32_t k, const pivoting_shape *shape, pivoting_work *w, int32_t top) {
  const int64_t *offsets = shape->l.offsets, *pruned = w->pruned;
  const int32_t *rows = shape->l.rows, *place = shape->place;
  int32_t *mark = w->mark, *rest = w->rest, count = w->rest_count, depth = 0, step = j;
  int64_t p = offsets[j];
  for (;;) {
    int32_t down = -1;
    for (int64_t end = pruned[step]; p < end && down < 0; p++) {
      int32_t row = rows[p];
      if (mark[row] == k) continue;
      mark[row] = k;
      down = place[row];
      if (down < 0) rest[count++] = row;
    }
    if (down >= 0) {  // what is above waits
      w->stack[depth] = step, w->resume[depth] = p, depth++;
      step = down, p = offsets[down];
    } else {
      w->path[--top] = step;
      if (depth == 0) break;
      depth--, step = w->stack[depth], p = w->resume[depth];
    }
  }
  w->rest_count = count;
  return top;
}

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
  const pivoting_index *l = &shape->l;
  int32_t depth = 0;
  w->stack[0] = j;
  w->resume[0] = l->offsets[j];
  while (depth >= 0) {
    int32_t step = w->stack[depth];
    int64_t p = w->resume[depth], end = w->pruned[step];
    int32_t down = -1;
    for (; p < end && down < 0; p++) {
      int32_t row = l->rows[p];
      if (w->mark[row] == k) continue;
      w->mark[row] = k;
      down = shape->place[row];
      if (down < 0) w->rest[w->rest_count++] = row;
    }
    w->resume[depth] = p;
    if (down >= 0) {
      w->stack[++depth] = down;
      w->resume[depth] = l->offsets[down];
    } else {
      w->path[--top] = step;
      depth--;
    }
  }
  return top;
}

// SPDX-License-Identifier: Apache-2.0
/// @file elimination.h
/// Elimination on a sketch for references: column by column, with derivatives carried along.

#ifndef LACUNA_TESTS_ELIMINATION_H
#define LACUNA_TESTS_ELIMINATION_H

#include <string.h>

#include "support/op_case.h"
#include "support/scratch.h"

/// c becomes L\U where the sketch has entries, and m the derivative of that along m.
static inline void eliminate(const sketch *s, number *c, number *m) {
  for (int64_t k = 0; k < s->rows; ++k) {
    int64_t pivot = sketch_find(s, k, k);
    for (int64_t i = k + 1; i < s->rows; ++i) {
      int64_t l = sketch_find(s, i, k);
      if (l < 0) continue;
      c[l] /= c[pivot];
      m[l] = (m[l] - c[l] * m[pivot]) / c[pivot];
      for (int64_t j = k + 1; j < s->cols; ++j) {
        int64_t u = sketch_find(s, k, j), to = sketch_find(s, i, j);
        if (u < 0 || to < 0) continue;
        c[to] -= c[l] * c[u];
        m[to] -= m[l] * c[u] + c[l] * m[u];
      }
    }
  }
}

static inline void eliminate_values(const sketch *s, const number *c, number *lu) {
  number *zero = scratch((size_t)(s->nnz + 1) * sizeof *zero);
  memcpy(lu, c, (size_t)s->nnz * sizeof *lu);
  eliminate(s, lu, zero);
}

/// A diagonal that outweighs its row; for `input` 0 alone.
static inline void eliminate_fill(const op_case *c, int input, ref *x) {
  const sketch *s = c->patterns[0];
  if (input != 0) return;
  for (int64_t e = 0; e < x->count; ++e) {
    int64_t z = e % s->nnz;
    x->x[e] = s->row[z] == s->col[z] ? 3 + x->x[e] / 2 : x->x[e] / 2;
  }
}

/// A sketch and all that elimination fills in.
static inline const sketch *sketch_closed(const sketch *s) {
  int64_t n = s->rows;
  sketch *out = scratch(sizeof *out);
  char *has = scratch((size_t)(n * n) + 1);
  for (int64_t z = 0; z < s->nnz; ++z) has[s->row[z] * n + s->col[z]] = 1;
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t z = 0; z < n * n; ++z) {
      if (z / n > k && z % n > k && has[z / n * n + k] && has[k * n + z % n]) has[z] = 1;
    }
  }
  *out = (sketch){n, n, 0, scratch((size_t)(n * n) * 8 + 1), scratch((size_t)(n * n) * 8 + 1)};
  for (int64_t z = 0; z < n * n; ++z) {
    if (has[z]) out->row[out->nnz] = z / n, out->col[out->nnz++] = z % n;
  }
  return out;
}

#endif

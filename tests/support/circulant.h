// SPDX-License-Identifier: Apache-2.0
/// @file circulant.h
/// Circulant matrices for references: C[i, j] = c[(i - j) mod n].

#ifndef LACUNA_TESTS_CIRCULANT_H
#define LACUNA_TESTS_CIRCULANT_H

#include "support/dense.h"

static inline dense dense_circulant(int64_t n, const number *c) {
  dense a = dense_new(n, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) a.x[i * n + j] = c[(i - j + n) % n];
  }
  return a;
}

#endif

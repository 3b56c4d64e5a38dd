// SPDX-License-Identifier: Apache-2.0
/// @file permutation.h
/// The sign of a permutation.

#ifndef LACUNA_SOLVERS_DIRECT_ORDER_PERMUTATION_H
#define LACUNA_SOLVERS_DIRECT_ORDER_PERMUTATION_H

#include <stdbool.h>
#include <stdint.h>

/// Whether the permutation i -> next[i] is odd. `seen` is room for n, zeroed.
static inline bool lac_permutation_is_odd(int32_t n, const int32_t *next, char *seen) {
  bool is_odd = false;
  for (int32_t i = 0; i < n; i++) {
    for (int32_t j = i; !seen[j]; j = next[j]) {
      seen[j] = 1;
      is_odd ^= next[j] != i;  // a cycle of length c is c - 1 swaps
    }
  }
  return is_odd;
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Whether a permutation in indices INT is odd. `seen` is n times the same value, and n times the other one afterwards.
// Included by kernel texts.

static bool FN(parity)(int64_t n, const INT *order, bool *seen) {
  bool is_odd = false, fresh = n > 0 && seen[0];
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = i; seen[k] == fresh;) {
      seen[k] = !fresh;
      k = order[k];
      if (k != i) is_odd = !is_odd;
    }
  }
  return is_odd;
}

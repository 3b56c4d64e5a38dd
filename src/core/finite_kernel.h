// SPDX-License-Identifier: Apache-2.0
// Numbers that are not finite, for one dtype. Included once for each, by finite.c and by the survey of rows.

// The place of the first such number in [begin, end), or -1. Most often all numbers are finite, which a loop without an
// early exit finds sooner.
static int64_t FN(finite_first)(const void *values, int64_t begin, int64_t end) {
  const T *a = values;
  int any = 0;
  for (int64_t p = begin; p < end; p++) any |= !FN(finite)(a[p]);
  for (int64_t p = begin; any && p < end; p++) {
    if (!FN(finite)(a[p])) return p;
  }
  return -1;
}

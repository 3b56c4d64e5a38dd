// SPDX-License-Identifier: Apache-2.0
// Numbers that are not finite, for one dtype. Included once for each.

// The first of them, or -1. Most often all are finite, which a loop without an early exit finds sooner.
static int64_t FN(finite_first)(const void *values, int64_t count) {
  const T *a = values;
  int any = 0;
  for (int64_t p = 0; p < count; p++) any |= !FN(finite)(a[p]);
  for (int64_t p = 0; any && p < count; p++) {
    if (!FN(finite)(a[p])) return p;
  }
  return -1;
}

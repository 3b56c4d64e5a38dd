// SPDX-License-Identifier: Apache-2.0
// Reciprocals (diagonal.c); returns the first number that has none, or -1.

static int64_t FN(diagonal_invert)(int64_t count, const void *from, void *to) {
  const T *d = from;
  T *inverse = to;
  for (int64_t i = 0; i < count; i++) {
    if (FN(size)(d[i]) == 0) return i;
    inverse[i] = FN(div)(1, d[i]);
    if (!FN(finite)(inverse[i])) return i;
  }
  return -1;
}

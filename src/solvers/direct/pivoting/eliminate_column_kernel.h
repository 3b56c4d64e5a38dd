// SPDX-License-Identifier: Apache-2.0
// What both eliminations by columns do most, for one dtype. Included once for each.

// x -= l value at the given rows, which differ from each other: four are read before they are written, so that none
// waits for the one before.
static inline void FN(column_take)(int64_t count, const int32_t *rows, const T *l, T value, T *x) {
  int64_t p = 0;
  for (; p + 4 <= count; p += 4) {
    T a = x[rows[p]] - l[p] * value, b = x[rows[p + 1]] - l[p + 1] * value;
    T c = x[rows[p + 2]] - l[p + 2] * value, d = x[rows[p + 3]] - l[p + 3] * value;
    x[rows[p]] = a, x[rows[p + 1]] = b, x[rows[p + 2]] = c, x[rows[p + 3]] = d;
  }
  for (; p < count; p++) x[rows[p]] -= l[p] * value;
}

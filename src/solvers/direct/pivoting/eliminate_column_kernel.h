// SPDX-License-Identifier: Apache-2.0
// What all eliminations by columns do most, for one dtype. Included once for each.

// One over a pivot: columns of L and solutions are multiplied by it. The largest number where that overflows, of which
// solutions come that are measured and found to be wrong.
static inline T FN(column_inverse)(T pivot) {
  T inverse = FN(div)(1, pivot);
  return FN(finite)(inverse) ? inverse : (T)(1 / FN(tiny));
}

// A number of the column over its pivot, by the inverse of that where it is within the range.
static inline T FN(column_over)(T value, T pivot, T inverse, bool is_tiny) {
  return is_tiny ? FN(div)(value, pivot) : value * inverse;
}

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

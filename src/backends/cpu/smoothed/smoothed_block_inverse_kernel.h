// SPDX-License-Identifier: Apache-2.0
// Generalised inverses of small blocks, for one dtype T (instantiate.h). W: the accumulators, in which all is done.

#define W FN(acc)

typedef struct FN(block_table) {
  int size;
  W a[2 * LAC_BLOCK_MOST * LAC_BLOCK_MOST];  // [A | I], by rows of 2 size
  int column[LAC_BLOCK_MOST];                // the pivot's column in each row; -1: not chosen yet
  bool taken[LAC_BLOCK_MOST];                // columns that have a pivot
} FN(block_table);

/// The scale of row and column i: 1 over the root of the diagonal, or of what is largest where that is zero.
static double FN(block_unit)(const W *a, int size, int i) {
  double own = cabs((c128)a[i * size + i]);
  for (int j = 0; j < size && own == 0; ++j) own = fmax(own, cabs((c128)a[i * size + j]));
  return own > 0 ? 1 / sqrt(own) : 1;
}

/// The largest number where neither its row nor its column has a pivot.
static double FN(block_largest)(const FN(block_table) * t, int *row, int *column) {
  double most = 0;
  for (int i = 0; i < t->size; ++i) {
    for (int j = 0; j < t->size && t->column[i] < 0; ++j) {
      double size = t->taken[j] ? 0 : cabs((c128)t->a[i * 2 * t->size + j]);
      if (size > most) most = size, *row = i, *column = j;
    }
  }
  return most;
}

static void FN(block_eliminate)(FN(block_table) * t, int row, int column) {
  int wide = 2 * t->size;
  W *own = t->a + row * wide, pivot = own[column];
  for (int j = 0; j < wide; ++j) own[j] /= pivot;
  for (int i = 0; i < t->size; ++i) {
    W *other = t->a + i * wide, factor = other[column];
    for (int j = 0; j < wide && i != row; ++j) other[j] -= factor * own[j];
  }
  t->column[row] = column, t->taken[column] = true;
}

/// inverse = A^+ for a block `a`, which is scaled: Gauss and Jordan with the largest pivots, until there are none but
/// roundings.
static void FN(block_inverse)(int size, W *a, double rounding, W *inverse) {
  FN(block_table) t;
  double unit[LAC_BLOCK_MOST];
  int row = 0, column = 0;
  t.size = size;
  for (int i = 0; i < size; ++i) unit[i] = FN(block_unit)(a, size, i), t.column[i] = -1, t.taken[i] = false;
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      t.a[i * 2 * size + j] = a[i * size + j] * (unit[i] * unit[j]);
      t.a[i * 2 * size + size + j] = i == j;
    }
  }
  for (int n = 0; n < size && FN(block_largest)(&t, &row, &column) > rounding; ++n)
    FN(block_eliminate)(&t, row, column);
  for (int n = 0; n < size * size; ++n) inverse[n] = 0;
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size && t.column[i] >= 0; ++j) {
      if (t.column[j] < 0) continue;
      inverse[t.column[i] * size + j] = t.a[i * 2 * size + size + j] * (unit[t.column[i]] * unit[j]);
    }
  }
}

#undef W

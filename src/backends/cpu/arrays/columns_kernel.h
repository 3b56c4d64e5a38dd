// SPDX-License-Identifier: Apache-2.0
// Passes over columns, block by block. `c` holds the coefficients of `wide` numbers in a row, over and over.

/// y += c x
INLINE void FN(column_add)(const T *c, int64_t wide, bool has_zeros, int64_t count, const T *x, T *y) {
  if (wide == 1) {
    T one = c[0];
    if (has_zeros) return;
    for (int64_t i = 0; i < count; ++i) y[i] = FN(mac)(y[i], one, x[i]);
    return;
  }
  for (int64_t i = 0; i < count; i += wide) {
    int64_t end = count - i < wide ? count - i : wide;
    if (has_zeros) {
      for (int64_t l = 0; l < end; ++l) y[i + l] = c[l] == 0 ? y[i + l] : FN(mac)(y[i + l], c[l], x[i + l]);
    } else {
      for (int64_t l = 0; l < end; ++l) y[i + l] = FN(mac)(y[i + l], c[l], x[i + l]);
    }
  }
}

/// y = x + c y
INLINE void FN(column_turn)(const T *c, int64_t wide, bool has_zeros, int64_t count, const T *x, T *y) {
  if (wide == 1) {
    T one = c[0];
    if (has_zeros) memcpy(y, x, (size_t)count * sizeof *y);
    for (int64_t i = 0; !has_zeros && i < count; ++i) y[i] = FN(mac)(x[i], one, y[i]);
    return;
  }
  for (int64_t i = 0; i < count; i += wide) {
    int64_t end = count - i < wide ? count - i : wide;
    if (has_zeros) {
      for (int64_t l = 0; l < end; ++l) y[i + l] = c[l] == 0 ? x[i + l] : FN(mac)(x[i + l], c[l], y[i + l]);
    } else {
      for (int64_t l = 0; l < end; ++l) y[i + l] = FN(mac)(x[i + l], c[l], y[i + l]);
    }
  }
}

/// y = c x
INLINE void FN(column_scale)(const T *c, int64_t wide, bool has_zeros, int64_t count, const T *x, T *y) {
  if (wide == 1) {
    T one = c[0];
    if (has_zeros) memset(y, 0, (size_t)count * sizeof *y);
    if (has_zeros || (one == 1 && x == y)) return;
    for (int64_t i = 0; i < count; ++i) y[i] = FN(mul)(one, x[i]);
    return;
  }
  for (int64_t i = 0; i < count; i += wide) {
    int64_t end = count - i < wide ? count - i : wide;
    if (has_zeros) {
      for (int64_t l = 0; l < end; ++l) y[i + l] = c[l] == 0 ? 0 : FN(mul)(c[l], x[i + l]);
    } else {
      for (int64_t l = 0; l < end; ++l) y[i + l] = FN(mul)(c[l], x[i + l]);
    }
  }
}

/// y = x where c is not zero
INLINE void FN(column_take)(const T *c, int64_t wide, int64_t count, const T *x, T *y) {
  if (wide == 1) {
    if (c[0] != 0) memcpy(y, x, (size_t)count * sizeof *y);
    return;
  }
  for (int64_t i = 0; i < count; i += wide) {
    int64_t end = count - i < wide ? count - i : wide;
    for (int64_t l = 0; l < end; ++l) y[i + l] = c[l] == 0 ? y[i + l] : x[i + l];
  }
}

/// total[0..k) = sum of conj(x) y: a lane for each number of a row of `wide`, a multiple of k, then lane by lane.
INLINE void FN(column_dot)(int64_t k, int64_t wide, int64_t count, const T *x, const T *y, FN(acc) * lane,
                           FN(acc) * total) {
  if (k == 1) {
    *total = FN(run_dot)(x, y, count, DOT_LANES);
    return;
  }
  for (int64_t l = 0; l < wide; ++l) lane[l] = 0;
  for (int64_t i = 0; i < count; i += wide) {
    int64_t end = count - i < wide ? count - i : wide;
    for (int64_t l = 0; l < end; ++l) lane[l] = FN(mac_acc)(lane[l], FN(signed)(x[i + l], -1), y[i + l]);
  }
  for (int64_t l = 0; l < k; ++l) total[l] = lane[l];
  for (int64_t l = k; l < wide; ++l) total[l % k] += lane[l];
}

INLINE bool FN(column_has_zeros)(const T *c, int64_t k) {
  bool has_zeros = false;
  for (int64_t l = 0; l < k; ++l) has_zeros |= c[l] == 0;
  return has_zeros;
}

/// Coefficients c[0..k) repeated to a row of `wide`.
INLINE const T *FN(column_row)(const T *c, int64_t k, int64_t wide, T *row) {
  if (wide == k) return c;
  for (int64_t l = 0; l < wide; ++l) row[l] = c[l % k];
  return row;
}

static void FN(columns_block)(const columns_job *job, int64_t item, int64_t block) {
  int64_t k = job->k, start = block * job->rows, left = job->n - start;
  int64_t count = (left < job->rows ? left : job->rows) * k, at = (item * job->n + start) * k;
  int64_t wide = k == 1 ? 1 : job->wide;
  FN(acc)
  lanes[COLUMNS_WIDE], *partial = (FN(acc) *)job->partial + (item * job->blocks + block) * job->dots * k,
                       *total = partial;
  T row[COLUMNS_WIDE];
  for (int o = 0; o < job->count; ++o) {
    const lac_column_op *op = job->ops + o;
    const T *x = (const T *)cpu_data(op->x) + at, *c = (const T *)job->coefficients + (o * job->items + item) * k;
    T *y = (T *)cpu_edit(op->y) + at;
    if (op->what == LAC_COLUMN_DOT) {
      // Of many columns the sums themselves are the lanes.
      FN(column_dot)(k, wide, count, x, y, wide > k ? lanes : total, total);
      total += k;
      continue;
    }
    bool has_zeros = FN(column_has_zeros)(c, k);
    if (wide > 1) c = FN(column_row)(c, k, wide, row);
    if (op->what == LAC_COLUMN_ADD) FN(column_add)(c, wide, has_zeros, count, x, y);
    if (op->what == LAC_COLUMN_TURN) FN(column_turn)(c, wide, has_zeros, count, x, y);
    if (op->what == LAC_COLUMN_SCALE) FN(column_scale)(c, wide, has_zeros, count, x, y);
    if (op->what == LAC_COLUMN_TAKE) FN(column_take)(c, wide, count, x, y);
  }
}

static void FN(columns_units)(const void *opaque, int64_t begin, int64_t end) {
  const columns_job *job = opaque;
  for (int64_t u = begin; u < end; ++u) FN(columns_block)(job, u / job->blocks, u % job->blocks);
}

/// The coefficients of all operations in the dtype of the vectors.
static void FN(columns_take)(const columns_job *job, const lac_pair *state) {
  T *c = job->coefficients;
  int64_t columns = job->items * job->k;
  for (int o = 0; o < job->count; ++o) {
    const lac_column_op *op = job->ops + o;
    const lac_pair *from = state + op->slot * columns;
    if (op->what == LAC_COLUMN_DOT) continue;
    for (int64_t i = 0; i < columns; ++i) c[o * columns + i] = FN(make)(op->sign * from[i].re, op->sign * from[i].im);
  }
}

/// Add up the blocks of an item pair by pair, and put the sums into the state.
static void FN(columns_give)(const columns_job *job, int64_t item, lac_pair *state) {
  int64_t width = job->dots * job->k;
  FN(acc) *partial = (FN(acc) *)job->partial + item * job->blocks * width;
  for (int64_t step = 1; step < job->blocks; step *= 2) {
    for (int64_t b = 0; b + step < job->blocks; b += 2 * step) {
      for (int64_t i = 0; i < width; ++i) partial[b * width + i] += partial[(b + step) * width + i];
    }
  }
  for (int o = 0; o < job->count; ++o) {
    if (job->ops[o].what != LAC_COLUMN_DOT) continue;
    lac_pair *to = state + (job->ops[o].slot * job->items + item) * job->k;
    for (int64_t j = 0; j < job->k; ++j, ++partial)
      to[j] = lac_pair_of(job->blocks ? (double)creal(*partial) : 0, job->blocks ? (double)cimag(*partial) : 0);
  }
}

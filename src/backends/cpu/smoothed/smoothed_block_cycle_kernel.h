// SPDX-License-Identifier: Apache-2.0
// The text of smoothed_block_cycle.c, for one dtype T and integers O, C (instantiate_indexed.h). Functions that take
// the sizes of a block are inlined where these are constants.

/// sum += A_p x for `wide` columns of x, which is [., k] and begins at its first; or A_p^H x, of a square block.
INLINE void XN(block_mac)(const T *block, const T *x, int64_t k, int64_t wide, int rows, int cols, bool adjoint,
                          T *sum) {
  UNROLL(8) for (int r = 0; r < rows; ++r) {
    UNROLL(8) for (int q = 0; q < cols; ++q) {
      T value = adjoint ? FN(conj)(block[q * rows + r]) : block[r * cols + q];
      for (int64_t l = 0; l < wide; ++l) sum[r * wide + l] = FN(mac)(sum[r * wide + l], value, x[(int64_t)q * k + l]);
    }
  }
}

/// A row of nodes times x.
INLINE void XN(block_row)(const cpu_sparse *a, const T *values, const T *x, int64_t i, int64_t k, int64_t wide,
                          int rows, int cols, bool adjoint, T *sum) {
  const O *offsets = a->offsets, *slots = a->slots;
  const C *columns = a->columns;
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    const T *block = values + (adjoint && slots ? (int64_t)slots[p] : p) * rows * cols;
    XN(block_mac)(block, x + (int64_t)columns[p] * cols * k, k, wide, rows, cols, adjoint, sum);
  }
}

/// What a step makes of the product of one node, in `rest`: b - A x; and `change`, omega S times that.
INLINE void XN(block_finish)(const block_step_job *j, int64_t i, int64_t c, int64_t k, int64_t wide, int size,
                             bool adjoint, const T *rest, T *change) {
  const T *x = j->x, *old = j->old, *s = j->s;
  T *out = j->out;
  FN(real) omega = (FN(real))j->omega, beta = (FN(real))j->beta;
  UNROLL(8) for (int n = 0; n < size * wide; ++n) change[n] = s ? 0 : rest[n];
  if (s) XN(block_mac)(s + i * size * size, rest, wide, wide, size, size, adjoint, change);
  UNROLL(8) for (int r = 0; r < size; ++r) {
    for (int64_t l = 0; l < wide; ++l) {
      int64_t at = (i * size + r) * k + c + l;
      T step = omega * change[r * wide + l];
      if (!j->bare && x) step += x[at] + beta * (old ? x[at] - old[at] : x[at]);
      out[at] = step;
    }
  }
}

INLINE void XN(block_step)(const block_step_job *j, int64_t begin, int64_t end, int64_t k, int size, bool adjoint) {
  const T *x = j->x, *b = j->b;
  T rest[LAC_BLOCK_MOST * CYCLE_WIDE], change[LAC_BLOCK_MOST * CYCLE_WIDE];
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t c = 0; c < k; c += CYCLE_WIDE) {
      int64_t wide = k == 1 ? 1 : k - c < CYCLE_WIDE ? k - c : CYCLE_WIDE;
      UNROLL(8) for (int n = 0; n < size * wide; ++n) change[n] = 0;
      if (x) XN(block_row)(j->a, j->values, x + c, i, k, wide, size, size, adjoint, change);
      UNROLL(8) for (int r = 0; r < size; ++r) {
        for (int64_t l = 0; l < wide; ++l) rest[r * wide + l] = b[(i * size + r) * k + c + l] - change[r * wide + l];
      }
      XN(block_finish)(j, i, c, k, wide, size, adjoint, rest, change);
    }
  }
}

static void XN(block_step_nodes)(const void *job, int64_t begin, int64_t end) {
  const block_step_job *j = job;
  if (j->k == 1 && !j->adjoint && j->size == 2) {
    XN(block_step)(j, begin, end, 1, 2, false);
  } else if (j->k == 1 && !j->adjoint && j->size == 3) {
    XN(block_step)(j, begin, end, 1, 3, false);
  } else if (j->k == 1 && !j->adjoint && j->size == 6) {
    XN(block_step)(j, begin, end, 1, 6, false);
  } else {
    XN(block_step)(j, begin, end, j->k, j->size, j->adjoint);
  }
}

INLINE void XN(block_multiply)(const block_multiply_job *j, int64_t begin, int64_t end, int64_t k, int rows, int cols) {
  const T *x = j->x;
  T *y = j->y, sum[LAC_BLOCK_MOST * CYCLE_WIDE];
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t c = 0; c < k; c += CYCLE_WIDE) {
      int64_t wide = k == 1 ? 1 : k - c < CYCLE_WIDE ? k - c : CYCLE_WIDE;
      UNROLL(8) for (int n = 0; n < rows * wide; ++n) sum[n] = 0;
      XN(block_row)(j->a, j->values, x + c, i, k, wide, rows, cols, false, sum);
      UNROLL(8) for (int r = 0; r < rows; ++r) {
        for (int64_t l = 0; l < wide; ++l) {
          T *to = &y[(i * rows + r) * k + c + l];
          *to = j->adds ? *to + sum[r * wide + l] : sum[r * wide + l];
        }
      }
    }
  }
}

static void XN(block_multiply_nodes)(const void *job, int64_t begin, int64_t end) {
  const block_multiply_job *j = job;
  int sizes = j->k == 1 ? 10 * j->rows + j->cols : 0;
  if (sizes == 33) {
    XN(block_multiply)(j, begin, end, 1, 3, 3);
  } else if (sizes == 36) {
    XN(block_multiply)(j, begin, end, 1, 3, 6);
  } else if (sizes == 63) {
    XN(block_multiply)(j, begin, end, 1, 6, 3);
  } else if (sizes == 66) {
    XN(block_multiply)(j, begin, end, 1, 6, 6);
  } else {
    XN(block_multiply)(j, begin, end, j->k, j->rows, j->cols);
  }
}

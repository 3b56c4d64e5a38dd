// SPDX-License-Identifier: Apache-2.0
// Rows of op(A) times a dense block x of k columns, where A has blocks. op(block) has br rows and bc columns, constants
// to the compiler for the sizes that are common; `tile` rows of it are computed at a time: all of them, or one where
// the size is not known. Walks with slots are transposes: the block is stored as bc x br, and read turned.
//
// One column is summed in accumulators (f64 for f32 and c64), several in T: block by block, from left to right within a
// block.

#define REAL FN(real)

/// Number (r, c) of op(block).
INLINE T FN(block_value)(const cpu_pass *pass, const T *a, int64_t r, int64_t c, int64_t br, int64_t bc,
                         const bool turned) {
  return FN(signed)(turned ? a[c * br + r] : a[r * bc + c], (REAL)pass->sign);
}

/// Rows [r0, r0 + tile) of block row i, column j.
INLINE void FN(block_column)(const cpu_pass *pass, int64_t i, int64_t j, int64_t r0, const int tile, const int64_t br,
                             const int64_t bc, const int64_t k, const bool turned) {
  T *y = (T *)pass->out + (i * br + r0) * k + j;
  FN(acc) s[8];
  UNROLL(8) for (int r = 0; r < tile; ++r) s[r] = pass->adds ? y[r * k] : 0;
  for (int64_t p = cpu_pass_offset(pass, i), end = cpu_pass_offset(pass, i + 1); p < end; ++p) {
    const T *a = (const T *)pass->in[0] + (turned ? cpu_pass_slot(pass, p) : p) * br * bc;
    const T *x = (const T *)pass->in[1] + cpu_pass_column(pass, p) * bc * k + j;
    if (!turned) __builtin_prefetch((const char *)a + BLOCK_AHEAD, 0, 0);
    UNROLL(8) for (int r = 0; r < tile; ++r) {
      FN(acc) t = 0;
      UNROLL(8) for (int64_t c = 0; c < bc; ++c) {
        t = FN(mac_acc)(t, FN(block_value)(pass, a, r0 + r, c, br, bc, turned), x[c * k]);
      }
      s[r] += t;
    }
  }
  UNROLL(8) for (int r = 0; r < tile; ++r) y[r * k] = (T)s[r];
}

/// Put a complex product together from those with the parts of a, add what y holds, and store.
INLINE void FN(block_store)(const cpu_pass *pass, FN(block) s, FN(block) t, REAL *y) {
  enum { WIDTH = 64 / sizeof(REAL) };
  if (FN(has_imag)) {
    for (int e = 0; e < WIDTH; e += 2) s[e] -= t[e + 1], s[e + 1] += t[e];
  }
  if (pass->adds) s += *(const FN(block) *)y;
  if (pass->streams) {
    cpu_stream(y, &s);
  } else {
    *(FN(block) *)y = s;
  }
}

/// Rows [r0, r0 + tile) of block row i, n lines of 64 bytes from column j on.
INLINE void FN(block_lines)(const cpu_pass *pass, int64_t i, int64_t j, int64_t r0, const int tile, const int n,
                            const int64_t br, const int64_t bc, const int64_t k, const bool turned) {
  enum { REALS = sizeof(T) / sizeof(REAL), WIDTH = 64 / sizeof(REAL) };
  FN(block) s[8][4], t[8][4];
  UNROLL(8) for (int r = 0; r < tile; ++r) { UNROLL(4) for (int b = 0; b < n; ++b) s[r][b] = t[r][b] = (FN(block)){0}; }
  for (int64_t p = cpu_pass_offset(pass, i), end = cpu_pass_offset(pass, i + 1); p < end; ++p) {
    const T *a = (const T *)pass->in[0] + (turned ? cpu_pass_slot(pass, p) : p) * br * bc;
    const REAL *x = (const REAL *)((const T *)pass->in[1] + cpu_pass_column(pass, p) * bc * k + j);
    for (int64_t c = 0; c < bc; ++c, x += k * REALS) {
      UNROLL(8) for (int r = 0; r < tile; ++r) {
        T v = FN(block_value)(pass, a, r0 + r, c, br, bc, turned);
        UNROLL(4) for (int b = 0; b < n; ++b) {
          FN(block) xb = *(const FN(block) *)(x + b * WIDTH);
          s[r][b] += FN(re)(v) * xb;
          if (FN(has_imag)) t[r][b] += FN(im)(v) * xb;
        }
      }
    }
  }
  REAL *y = (REAL *)((T *)pass->out + (i * br + r0) * k + j);
  UNROLL(8) for (int r = 0; r < tile; ++r, y += k * REALS) {
    UNROLL(4) for (int b = 0; b < n; ++b) FN(block_store)(pass, s[r][b], t[r][b], y + b * WIDTH);
  }
}

/// All columns of rows [r0, r0 + tile) of block row i.
INLINE void FN(block_row)(const cpu_pass *pass, int64_t i, int64_t r0, const int tile, const int64_t br,
                          const int64_t bc, const int64_t k, const bool turned) {
  enum { LINE = 64 / sizeof(T) };
  const int many = (tile <= 2 ? 4 : tile <= 4 ? 2 : 1) / (FN(has_imag) && tile <= 4 ? 2 : 1);
  int64_t j = 0;
  for (; j + many * LINE <= k; j += many * LINE) FN(block_lines)(pass, i, j, r0, tile, many, br, bc, k, turned);
  for (; j + LINE <= k; j += LINE) FN(block_lines)(pass, i, j, r0, tile, 1, br, bc, k, turned);
  for (; j < k; ++j) FN(block_column)(pass, i, j, r0, tile, br, bc, k, turned);
}

INLINE void FN(block_rows)(const cpu_pass *pass, int64_t begin, int64_t end, const int tile, const int64_t br,
                           const int64_t bc, const bool turned) {
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t r0 = 0; r0 < br; r0 += tile) {
      if (pass->k == 1) {
        FN(block_column)(pass, i, 0, r0, tile, br, bc, 1, turned);
      } else {
        FN(block_row)(pass, i, r0, tile, br, bc, pass->k, turned);
      }
    }
  }
}

INLINE void FN(block_sized)(const cpu_pass *pass, int64_t begin, int64_t end, const int tile, const int64_t br,
                            const int64_t bc) {
  if (pass->slots) {
    FN(block_rows)(pass, begin, end, tile, br, bc, true);
  } else {
    FN(block_rows)(pass, begin, end, tile, br, bc, false);
  }
}

static void FN(block_spmm)(const cpu_pass *shared, int64_t begin, int64_t end) {
  const cpu_pass pass = *shared;
  switch (pass.br == pass.bc ? pass.br : 0) {
    case 2:
      FN(block_sized)(&pass, begin, end, 2, 2, 2);
      break;
    case 3:
      FN(block_sized)(&pass, begin, end, 3, 3, 3);
      break;
    case 4:
      FN(block_sized)(&pass, begin, end, 4, 4, 4);
      break;
    case 6:
      FN(block_sized)(&pass, begin, end, 6, 6, 6);
      break;
    case 8:
      FN(block_sized)(&pass, begin, end, 8, 8, 8);
      break;
    default:
      FN(block_sized)(&pass, begin, end, 1, pass.br, pass.bc);
  }
  if (pass.streams) cpu_stream_end();
}

#undef REAL

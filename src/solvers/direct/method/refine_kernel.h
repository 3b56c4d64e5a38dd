// SPDX-License-Identifier: Apache-2.0
// Residual and backward error for one dtype; refine.c has the equation. Included once for each.

// The size of a number as an integer: they have the same order, and NaN is above all. Of integers, compilers compare
// many at once.
static inline int64_t FN(refine_bits)(T x) {
  double size = FN(size)(x);
  int64_t bits;
  memcpy(&bits, &size, sizeof bits);
  return bits;
}

// The largest number of each column of a block; infinite where one is not finite.
static inline __attribute__((always_inline)) void FN(refine_most)(int64_t n, const int width, const T *x, double *out) {
  for (int c = 0; c < width; c++) {
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
      int64_t bits = FN(refine_bits)(x[i * width + c]);
      most = bits > most ? bits : most;
    }
    memcpy(&out[c], &most, sizeof most);
    if (isnan(out[c])) out[c] = (double)INFINITY;
  }
}

static void FN(refine_largest)(int64_t n, int width, const void *x, double *out) {
  if (width == 1) {
    FN(refine_most)(n, 1, x, out);
  } else {
    FN(refine_most)(n, width, x, out);
  }
}

// One row: r = b - A x from its sum, and its share of the errors.
static inline void FN(refine_row)(refine_gauge *g, int width, double norm, const double *terms, const T *b,
                                  const WIDE *sum, T *r) {
  for (int c = 0; c < width; c++) {
    double residual = FN(wide_size)(sum[c]), lost = (norm + 1) * g->tiny;  // that underflow may take from a good row
    double around = terms[c] + FN(size)(b[c]) + lost;
    r[c] = (T)sum[c];
    if (residual <= g->error[c] * around) continue;
    g->error[c] = refine_max(g->error[c], residual == 0 ? 0 : residual / around);
  }
}

static inline __attribute__((always_inline)) void FN(refine_rows)(const lac_structure *s, const T *a,
                                                                  const bool transposed, const int width, const T *b,
                                                                  const T *x, T *r, refine_gauge *out) {
  const int64_t *offsets = transposed ? s->t_offsets : s->offsets;
  const int32_t *columns = transposed ? s->t_rows : s->columns;
  refine_gauge g = *out;  // of its own: no store to r can change it

  for (int64_t i = 0; i < s->n; i++) {
    WIDE sum[LAC_BLOCK_WIDTH];
    double terms[LAC_BLOCK_WIDTH] = {0}, norm = 0;
    for (int c = 0; c < width; c++) sum[c] = b[i * width + c];
    for (int64_t p = offsets[i]; p < offsets[i + 1]; p++) {
      const T *from = x + (int64_t)columns[p] * width, value = a[transposed ? s->t_slots[p] : p];
      double size = FN(size)(value);
      norm += size;
      for (int c = 0; c < width; c++) {
        sum[c] -= (WIDE)value * (WIDE)from[c];
        terms[c] += size * FN(size)(from[c]);
      }
    }
    if (norm > g.norm) g.norm = norm;
    FN(refine_row)(&g, width, norm, terms, b + i * width, sum, r + i * width);
  }
  FN(refine_most)(s->n, width, x, g.largest);
  *out = g;
}

// r = b - A x and the errors of its columns, NaN where x has one.
static void FN(refine_measure)(const lac_structure *s, const void *a, bool transposed, int width, const void *b,
                               const void *x, void *r, refine_gauge *g) {
  *g = (refine_gauge){.noise = REFINE_NOISE * FN(epsilon), .tiny = FN(tiny)};
  if (width == 1 && !transposed) {
    FN(refine_rows)(s, a, false, 1, b, x, r, g);
  } else if (width == 1) {
    FN(refine_rows)(s, a, true, 1, b, x, r, g);
  } else {
    FN(refine_rows)(s, a, transposed, width, b, x, r, g);
  }
  for (int c = 0; c < width; c++) {
    if (!isfinite(g->largest[c])) g->error[c] = (double)NAN;
  }
}

// D, such that the largest number of each column of A D^-1 is 1 when that of each row is.
static void FN(refine_columns)(const lac_structure *s, const T *a, const int64_t *offsets, const int32_t *columns,
                               const int64_t *slots, REAL *d) {
  for (int64_t j = 0; j < s->n; j++) d[j] = (REAL)FN(tiny);
  for (int64_t i = 0; i < s->n; i++) {
    double largest = 0;
    for (int64_t p = offsets[i]; p < offsets[i + 1]; p++) {
      largest = refine_max(largest, FN(size)(a[slots ? slots[p] : p]));
    }
    for (int64_t p = offsets[i]; largest > 0 && p < offsets[i + 1]; p++) {
      REAL share = (REAL)(FN(size)(a[slots ? slots[p] : p]) / largest);
      if (share > d[columns[p]]) d[columns[p]] = share;
    }
  }
}

// The milder error of one row, whose s_i is `scale`, from its residual.
static double FN(refine_mild)(const refine_gauge *g, double residual, double terms, double scale) {
  double few = terms > g->noise * scale ? g->few : 1;
  return residual == 0 ? 0 : fmin(residual / terms, few * residual / (terms + scale));
}

// The milder errors of those columns that are bad by the other measure; r is their residual.
static void FN(refine_soften)(const lac_structure *s, const void *values, bool transposed, int width, const void *b,
                              const void *x, const void *r, void *work, refine_gauge *g) {
  const int64_t *offsets = transposed ? s->t_offsets : s->offsets, *slots = transposed ? s->t_slots : NULL;
  const int32_t *columns = transposed ? s->t_rows : s->columns;
  const T *a = values, *from = x;
  REAL *d = work;

  FN(refine_columns)(s, a, offsets, columns, slots, d);
  for (int c = 0; c < width; c++) {
    double largest = 0, mild = 0;
    if (!(g->error[c] > REFINE_BAD * FN(epsilon))) continue;
    for (int64_t j = 0; j < s->n; j++) largest = refine_max(largest, (double)d[j] * FN(size)(from[j * width + c]));
    for (int64_t i = 0; i < s->n; i++) {
      double norm = 0, terms = FN(size)(((const T *)b)[i * width + c]);
      for (int64_t p = offsets[i]; p < offsets[i + 1]; p++) {
        double size = FN(size)(a[slots ? slots[p] : p]);
        norm += size / (double)d[columns[p]];
        terms += size * FN(size)(from[columns[p] * (int64_t)width + c]);
      }
      terms += (norm + 1) * g->tiny;
      mild = refine_max(mild, FN(refine_mild)(g, FN(size)(((const T *)r)[i * width + c]), terms, norm * largest));
    }
    g->mild[c] = mild;
  }
}

// y = x + y
static void FN(refine_add)(int64_t count, const void *x, void *y) {
  const T *from = x;
  T *to = y;
  for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

// Column c of y into x.
static void FN(refine_take)(int32_t n, int width, int c, const void *y, void *x) {
  for (int64_t i = 0; i < n; i++) ((T *)x)[i * width + c] = ((const T *)y)[i * width + c];
}

static bool FN(refine_is_finite)(int32_t n, int width, int c, const void *x) {
  for (int64_t i = 0; i < n; i++) {
    if (!FN(finite)(((const T *)x)[i * width + c])) return false;
  }
  return true;
}

// Numbers from 1/2 to 3/2, half of them negative, over the scale: the same ones always.
static void FN(refine_sample)(int32_t n, const void *scale, void *b) {
  const REAL *s = scale;
  for (int32_t i = 0; i < n; i++) {
    double unit = lac_random_unit(REFINE_SEED, (uint64_t)i);
    REAL value = (REAL)(unit < 0 ? unit - 0.5 : unit + 0.5);
    ((T *)b)[i] = s ? value / s[i] : value;
  }
}

// SPDX-License-Identifier: Apache-2.0
// The text of smoothed_strength.c, for one dtype T and integers O, C (instantiate_indexed.h).

#define ROWS_OF_BLOCK(b, rows, from, to)   \
  const int64_t from = (b)*STRENGTH_BLOCK; \
  const int64_t to = from + STRENGTH_BLOCK < (rows) ? from + STRENGTH_BLOCK : (rows)

/// sqrt |a_ii|; 0 where the diagonal entry is not stored.
static void XN(root_blocks)(const void *job, int64_t begin, int64_t end) {
  const rows_job *j = job;
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  const T *values = (const T *)j->values + j->item * j->a->nnz;
  FN(real) *root = j->root;
  for (int64_t b = begin; b < end; ++b) {
    ROWS_OF_BLOCK(b, j->a->rows, from, to);
    for (int64_t i = from; i < to; ++i) {
      root[i] = 0;
      for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
        if (columns[p] == i) root[i] = (FN(real))sqrt(FN(modulus)(values[p]));
      }
    }
  }
}

/// The kind of an entry off the diagonal.
INLINE uint8_t XN(kind_of)(double size, double theta, double own, double other) {
  if (size > theta * own * other) return LAC_ENTRY_STRONG;
  return size > theta * own * own ? LAC_ENTRY_LEANING : LAC_ENTRY_WEAK;
}

/// The kinds of the first item; later ones make further entries strong.
static void XN(strength_blocks)(const void *job, int64_t begin, int64_t end) {
  const strength_job *j = job;
  const O *offsets = j->rows.a->offsets;
  const C *columns = j->rows.a->columns;
  const T *values = (const T *)j->rows.values + j->rows.item * j->rows.a->nnz;
  const FN(real) *root = j->rows.root;
  for (int64_t b = begin; b < end; ++b) {
    ROWS_OF_BLOCK(b, j->rows.a->rows, from, to);
    int64_t weak = 0;
    for (int64_t i = from; i < to; ++i) {
      FN(real) own = root[i];
      for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
        uint8_t kind = XN(kind_of)(FN(modulus)(values[p]), j->theta, own, root[columns[p]]);
        if (j->rows.item && j->kinds[p] && kind != LAC_ENTRY_STRONG) kind = j->kinds[p];
        j->kinds[p] = columns[p] == i ? LAC_ENTRY_DIAGONAL : kind;
        weak += j->kinds[p] == LAC_ENTRY_WEAK;
      }
    }
    j->weak[b] = weak;
  }
}

/// The largest |a_jj| / |a_ii| of each block of rows, where |a_ij| is a share of |a_ii|.
static void XN(contrast_blocks)(const void *job, int64_t begin, int64_t end) {
  const contrast_job *j = job;
  const O *offsets = j->rows.a->offsets;
  const C *columns = j->rows.a->columns;
  const T *values = (const T *)j->rows.values + j->rows.item * j->rows.a->nnz;
  const FN(real) *root = j->rows.root;
  for (int64_t b = begin; b < end; ++b) {
    ROWS_OF_BLOCK(b, j->rows.a->rows, from, to);
    for (int64_t i = from; i < to; ++i) {
      double own = root[i], least = j->share * own * own, most = 0;
      for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
        double other = root[columns[p]];
        if (other > most && FN(modulus)(values[p]) > least) most = other;
      }
      if (own > 0) j->largest[b] = fmax(j->largest[b], most / own * (most / own));
    }
  }
}

/// The sums of a row.
typedef struct XN(row_sums) {
  T diagonal, weak;
  double all, strong, largest;  // sums of |a_ij|, the second over strong entries; the largest
} XN(row_sums);

INLINE XN(row_sums) XN(add_up)(const diagonals_job *j, int64_t i) {
  const O *offsets = j->a->offsets;
  const T *values = j->values;
  XN(row_sums) sums = {0};
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    double size = FN(modulus)(values[p]);
    sums.all += size;
    sums.largest = size > sums.largest ? size : sums.largest;
    if (j->kinds[p] == LAC_ENTRY_DIAGONAL) {
      sums.diagonal = values[p];
    } else if (j->kinds[p] == LAC_ENTRY_WEAK) {
      sums.weak += values[p];
    } else {
      sums.strong += size;
    }
  }
  return sums;
}

/// conj(a_ii) / sum |a_ij|^2, in a scale in which squares are numbers; or 1 / a_ii.
INLINE T XN(smoother_of)(const diagonals_job *j, int64_t i, const XN(row_sums) * sums) {
  const O *offsets = j->a->offsets;
  const T *values = j->values;
  double squares = 0, over = 1 / sums->largest;
  if (FN(modulus)(sums->diagonal) == 0) return 0;
  if (j->smoother == LAC_SMOOTHER_JACOBI) return FN(div)(1, sums->diagonal);
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    double size = FN(modulus)(values[p]) * over;
    squares += size * size;
  }
  return (T)((FN(acc))FN(conj)(sums->diagonal) * over / squares * over);
}

enum { XN(LUMP_LIMIT) = 10 };

/// 1 / (a_ii + weak entries), or 1 / a_ii where that sum is small relative to the strong entries; 0 where a_ii is, too.
INLINE T XN(filtered_of)(const XN(row_sums) * sums) {
  T lumped = sums->diagonal + sums->weak;
  if (FN(modulus)(lumped) * XN(LUMP_LIMIT) > sums->strong) return FN(div)(1, lumped);
  if (FN(modulus)(sums->diagonal) * XN(LUMP_LIMIT) > sums->strong) return FN(div)(1, sums->diagonal);
  return 0;
}

static void XN(diagonals_blocks)(const void *job, int64_t begin, int64_t end) {
  const diagonals_job *j = job;
  T *s = j->s, *f = j->f;
  for (int64_t b = begin; b < end; ++b) {
    ROWS_OF_BLOCK(b, j->a->rows, from, to);
    double most = 0, filtered = 0;
    for (int64_t i = from; i < to; ++i) {
      XN(row_sums) sums = XN(add_up)(j, i);
      s[i] = XN(smoother_of)(j, i, &sums);
      f[i] = XN(filtered_of)(&sums);
      most = fmax(most, FN(modulus)(s[i]) * sums.all);
      filtered = fmax(filtered, f[i] == 0 ? 0 : 1 + FN(modulus)(f[i]) * sums.strong);
    }
    j->bounds[b][0] = most, j->bounds[b][1] = filtered;
  }
}

static void XN(power_blocks)(const void *job, int64_t begin, int64_t end) {
  const power_job *j = job;
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  const T *values = j->values, *x = j->x, *s = j->s;
  T *y = j->y;
  for (int64_t b = begin; b < end; ++b) {
    ROWS_OF_BLOCK(b, j->a->rows, from, to);
    double squares = 0;
    for (int64_t i = from; i < to; ++i) {
      T sum = 0;
      for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
        if (!j->kinds || j->kinds[p] == LAC_ENTRY_STRONG || j->kinds[p] == LAC_ENTRY_LEANING)
          sum = FN(mac)(sum, values[p], x[columns[p]]);
      }
      sum = FN(mul)(sum, s[i]);
      if (j->kinds && s[i] != 0) sum += x[i];  // F times the diagonal of A'
      y[i] = (FN(real))j->scale * sum;
      squares += FN(modulus)(y[i]) * FN(modulus)(y[i]);
    }
    j->squares[b] = squares;
  }
}

#undef ROWS_OF_BLOCK

// SPDX-License-Identifier: Apache-2.0
// Determinant and inverse from LU for one dtype; pivoting_lu_inverse.c has the equation. Included once for each.

static void FN(pivoting_multiply)(const pivoting_numeric *f, lac_determinant *det) {
  const T *u = f->diagonal;
  const REAL *row_scale = f->row_scale, *col_scale = f->col_scale;
  for (int32_t k = 0; k < f->n; k++) {
    lac_determinant_times(det, FN(re)(u[k]), FN(im)(u[k]));
    lac_determinant_over(det, row_scale[k]);
    lac_determinant_over(det, col_scale[k]);
  }
}

// F by rows first, columns ascending, then by columns, rows ascending. Z is room for what waits in between.
static void FN(pivoting_put)(pivoting_fill *x, int32_t row, int32_t column, T value) {
  int64_t q = x->t_after[row]++;
  x->t_columns[q] = column;
  ((T *)x->z)[q] = value;
}

static void FN(pivoting_copy)(const pivoting_numeric *f, pivoting_fill *x) {
  const T *l = f->l, *u = f->u, *diagonal = f->diagonal, *z = x->z;
  memcpy(x->t_after, x->t_offsets, (size_t)x->n * sizeof *x->t_after);
  for (int32_t j = 0; j < x->n; j++) {
    for (int64_t p = f->shape->u.offsets[j]; p < f->shape->u.offsets[j + 1]; p++)
      FN(pivoting_put)(x, f->shape->u.rows[p], j, u[p]);
    FN(pivoting_put)(x, j, j, diagonal[j]);
    for (int64_t p = f->shape->l.offsets[j]; p < f->shape->l.offsets[j + 1]; p++)
      FN(pivoting_put)(x, f->shape->l.rows[p], j, l[p]);
  }
  for (int32_t i = 0; i < x->n; i++) {
    for (int64_t q = x->t_offsets[i]; q < x->t_offsets[i + 1]; q++) {
      int32_t j = x->t_columns[q];
      int64_t p = x->offsets[j]++;
      x->rows[p] = i;
      ((T *)x->f)[p] = z[q];
      x->t_places[q] = p;
      if (i == j) x->t_after[i] = q + 1;
    }
  }
  memmove(x->offsets + 1, x->offsets, (size_t)x->n * sizeof *x->offsets);
  x->offsets[0] = 0;
}

// sums[t] += factor z[...] for the wanted indices among those of a row or column of F, begin .. end - 1; `places` where
// z of each stands, NULL: there. Few wanted ones are searched for, many are met on the way.
static inline void FN(pivoting_add)(const pivoting_fill *x, const int32_t *indices, const int64_t *places,
                                    int64_t begin, int64_t end, int64_t count, const int32_t *wanted, T factor) {
  const T *z = x->z;
  WIDE *sums = x->sums;
  if (count == 0) return;
  begin = lac_search_i32(indices, begin, end, wanted[0]);
  if (8 * count < end - begin) {
    for (int64_t t = 0; t < count; t++) {
      begin = lac_search_i32(indices, begin, end, wanted[t]);
      sums[t] += (WIDE)factor * (WIDE)z[places ? places[begin] : begin];
    }
    return;
  }
  for (int64_t p = begin; p < end; p++) {
    int32_t t = x->target[indices[p]];
    if (t >= 0) sums[t] += (WIDE)factor * (WIDE)z[places ? places[p] : p];
  }
}

static void FN(pivoting_want)(const pivoting_fill *x, int64_t count, const int32_t *wanted) {
  for (int64_t t = 0; t < count; t++) x->target[wanted[t]] = (int32_t)t, ((WIDE *)x->sums)[t] = 0;
}

static void FN(pivoting_forget_wanted)(const pivoting_fill *x, int64_t count, const int32_t *wanted) {
  for (int64_t t = 0; t < count; t++) x->target[wanted[t]] = -1;
}

// Step j: z_ji under column j of F, z_ij along row j, then z_jj.
static void FN(pivoting_invert_step)(pivoting_fill *x, int32_t j) {
  const T *f = x->f, pivot = f[x->at_diagonal[j]];
  const WIDE *sums = x->sums;
  T *z = x->z;
  int64_t below = x->at_diagonal[j] + 1, rows = x->offsets[j + 1] - below, after = x->t_after[j],
          columns = x->t_offsets[j + 1] - after;
  WIDE corner = 1;

  FN(pivoting_want)(x, rows, x->rows + below);
  for (int64_t q = after; q < after + columns; q++) {
    int32_t k = x->t_columns[q];
    FN(pivoting_add)(x, x->rows, NULL, x->offsets[k], x->offsets[k + 1], rows, x->rows + below, f[x->t_places[q]]);
  }
  for (int64_t t = 0; t < rows; t++) z[below + t] = FN(div)((T)-sums[t], pivot);
  FN(pivoting_forget_wanted)(x, rows, x->rows + below);

  FN(pivoting_want)(x, columns, x->t_columns + after);
  for (int64_t p = below; p < below + rows; p++) {
    int32_t k = x->rows[p];
    FN(pivoting_add)
    (x, x->t_columns, x->t_places, x->t_offsets[k], x->t_offsets[k + 1], columns, x->t_columns + after, f[p]);
  }
  for (int64_t t = 0; t < columns; t++) {
    int64_t place = x->t_places[after + t];
    z[place] = (T)-sums[t];
    corner -= (WIDE)f[place] * (WIDE)z[place];
  }
  FN(pivoting_forget_wanted)(x, columns, x->t_columns + after);
  z[below - 1] = FN(div)((T)corner, pivot);
}

// (A^-1)(j, i) = c_j z_ji r_i into the slot of a_ij, whose steps are those of row i and column j; 0 below the blocks.
static void FN(pivoting_inverse_store)(const lac_structure *s, const pivoting_numeric *f, const int32_t *col_step,
                                       const pivoting_fill *x, void *values) {
  const REAL *row_scale = f->row_scale, *col_scale = f->col_scale;
  const int32_t *row_step = f->shape->place;
  const T *z = x->z;
  for (int32_t i = 0; i < s->n; i++) {
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      int32_t j = s->columns[p], k = col_step[j];
      int64_t at = lac_search_i32(x->rows, x->offsets[k], x->offsets[k + 1], row_step[i]);
      bool is_inside = at < x->offsets[k + 1] && x->rows[at] == row_step[i];
      ((T *)values)[p] = is_inside ? FN(rescale)(z[at], (double)row_scale[i], (double)col_scale[j]) : 0;
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
// One front of the inverse for one dtype; selected.c has the equation. Included once for each.

// Column j of Z_RR out of the parent's front.
static inline void FN(selected_take)(const selected_front *front, int64_t j) {
  int64_t p = front->p, m = p + front->r;
  const T *from = (const T *)front->above + front->columns[j] * front->above_rows;
  T *to = (T *)front->z + (p + j) * m + p;
  for (int k = 0; k < front->run_count; k++) {
    selected_run run = front->runs[k];
    for (int32_t i = 0; i < run.count; i++) to[run.to + i] = from[run.from + i];
  }
}

static void FN(selected_gather)(const selected_front *front) {
  int64_t r = front->r;
  if (front->threads == 1 || r * r < SELECTED_SHARED) {
    for (int64_t j = 0; j < r; j++) FN(selected_take)(front, j);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(front->threads)
  for (int64_t j = 0; j < r; j++) FN(selected_take)(front, j);
}

// B = A^H, A m x n; in squares, so that both stay in cache.
static void FN(selected_mirror)(int64_t m, int64_t n, const T *a, int64_t lda, T *b, int64_t ldb) {
  enum { SQUARE = 16 };
  for (int64_t i = 0; i < m; i += SQUARE) {
    int64_t end = i + SQUARE < m ? i + SQUARE : m;
    for (int64_t j = 0; j < n; j++) {
      for (int64_t k = i; k < end; k++) b[k * ldb + j] = FN(conj)(a[j * lda + k]);
    }
  }
}

// X = D^-1 X, D from column k on of the panel; a block of two is scaled by its off-diagonal number.
static void FN(selected_divide)(const selected_front *front, int k, int width, T *x, int64_t ldx) {
  const lac_supernodes *s = front->f->s;
  int64_t m = front->p + front->r;
  const T *l = (const T *)front->f->l + s->panels[front->s] + k * (m + 1);
  const T *beside = (const T *)front->f->d_below + s->first[front->s] + k;
  for (int64_t i = 0; i < width; i++) {
    REAL d = FN(re)(l[i * (m + 1)]);
    if (beside[i] == 0) {
      for (int64_t j = 0; j < width; j++) x[j * ldx + i] /= d;
      continue;
    }
    REAL size = (REAL)FN(size)(beside[i]), one = d / size, two = FN(re)(l[(i + 1) * (m + 1)]) / size;
    T unit = beside[i] / size;
    REAL scale = 1 / (one * two - FN(re)(unit * FN(conj)(unit))) / size;
    for (int64_t j = 0; j < width; j++) {
      T *pair = x + j * ldx + i, first = pair[0], second = pair[1];
      pair[0] = (first * two - second * FN(conj)(unit)) * scale;
      pair[1] = (second * one - first * unit) * scale;
    }
    i++;
  }
}

// Z_KK = (the diagonal block of the factor)^-1, K the `width` columns from k on.
static void FN(selected_corner)(const selected_front *front, int k, int width, T *z) {
  int m = front->p + front->r, threads = front->threads;
  const T *l = (const T *)front->f->l + front->f->s->panels[front->s] + (int64_t)k * (m + 1);
  dense_shape lower = front->f->kind == LAC_FRONT_CHOLESKY ? DENSE_LOWER : DENSE_LOWER_UNIT;
  for (int64_t j = 0; j < width; j++) {
    for (int64_t i = 0; i < width; i++) z[j * m + i] = i == j;
  }
  FN(dense_trsm)(DENSE_LEFT, lower, LAC_PLAIN, width, width, l, m, z, m, threads);
  if (front->f->kind == LAC_FRONT_LU) {
    FN(dense_trsm)(DENSE_LEFT, DENSE_UPPER, LAC_PLAIN, width, width, l, m, z, m, threads);
    return;
  }
  if (front->f->kind == LAC_FRONT_LDLT) FN(selected_divide)(front, k, width, z, m);
  FN(dense_trsm)(DENSE_LEFT, lower, LAC_ADJOINT, width, width, l, m, z, m, threads);
}

// Y = L_QK L_KK^-1, with leading dimension q.
static void FN(selected_left)(const selected_front *front, int k, int width, int q, T *y) {
  int m = front->p + front->r;
  const T *l = (const T *)front->f->l + front->f->s->panels[front->s] + (int64_t)k * (m + 1);
  dense_shape lower = front->f->kind == LAC_FRONT_CHOLESKY ? DENSE_LOWER : DENSE_LOWER_UNIT;
  for (int64_t j = 0; j < width; j++) memcpy(y + j * q, l + j * m + width, (size_t)q * sizeof *y);
  FN(dense_trsm)(DENSE_RIGHT, lower, LAC_PLAIN, q, width, l, m, y, q, front->threads);
}

// V^T = (U_KK^-1 U_KQ)^T: the columns of P among Q stand in the panel, the others in U_PR^T.
static void FN(selected_right)(const selected_front *front, int k, int width, int q, T *v) {
  const lac_fronts *f = front->f;
  int64_t p = front->p, r = front->r, m = p + r, rest = p - k - width;
  const T *l = (const T *)f->l + f->s->panels[front->s] + k * (m + 1);
  const T *u = (const T *)f->u + f->u_panels[front->s] + k * r;
  for (int64_t i = 0; i < rest; i++) {
    for (int64_t j = 0; j < width; j++) v[j * q + i] = l[(i + width) * m + j];
  }
  for (int64_t j = 0; j < width; j++) memcpy(v + j * q + rest, u + j * r, (size_t)r * sizeof *v);
  FN(dense_trsm)(DENSE_RIGHT, DENSE_UPPER, LAC_TRANSPOSED, q, width, l, (int)m, v, q, front->threads);
}

static void FN(selected_columns)(const selected_front *front, int k, int width) {
  int m = front->p + front->r, q = m - k - width, threads = front->threads;
  T *corner = (T *)front->z + (int64_t)k * (m + 1), *below = corner + width, *beside = corner + (int64_t)width * m;
  T *rest = beside + width, *y = front->y, *v = front->v;

  FN(selected_corner)(front, k, width, corner);
  if (q > 0) {
    FN(selected_left)(front, k, width, q, y);
    FN(dense_gemm)(LAC_PLAIN, LAC_PLAIN, q, width, q, -1, rest, m, y, q, 0, below, m, threads);
  }
  if (front->f->kind == LAC_FRONT_LU && q > 0) {
    FN(selected_right)(front, k, width, q, v);
    FN(dense_gemm)(LAC_TRANSPOSED, LAC_PLAIN, width, q, q, -1, v, q, rest, m, 0, beside, m, threads);
    FN(dense_gemm)(LAC_TRANSPOSED, LAC_PLAIN, width, width, q, -1, v, q, below, m, 1, corner, m, threads);
  } else if (front->f->kind != LAC_FRONT_LU) {
    FN(selected_mirror)(q, width, below, m, beside, m);
    if (q > 0) FN(dense_gemmt)(LAC_PLAIN, width, q, beside, m, y, q, 1, corner, m, threads);
    for (int64_t j = 0; j < width; j++) corner[j * (m + 1)] = FN(re)(corner[j * (m + 1)]);
    for (int64_t j = 0; j < width; j++)
      FN(selected_mirror)(width - j - 1, 1, corner + j * (m + 1) + 1, m, corner + j * (m + 1) + m, m);
  }
}

// All columns of P, from the last to the first. A block of two is not cut.
static void FN(selected_invert)(const selected_front *front) {
  int pieces = (front->p + SELECTED_WIDTH - 1) / SELECTED_WIDTH;
  const T *beside = front->f->kind == LAC_FRONT_LDLT ? front->f->d_below : NULL;
  if (beside) beside += front->f->s->first[front->s];
  for (int end = front->p; end > 0; pieces--) {
    int begin = end - (end + pieces - 1) / pieces;
    if (beside && begin > 0 && beside[begin - 1] != 0) begin--;
    FN(selected_columns)(front, begin, end - begin);
    end = begin;
  }
}

// (A^-1)(j, i) = c_j Z(j, i) r_i into the slots of A's entries in this front.
static void FN(selected_store)(const selected_front *front, void *values) {
  const lac_fronts *f = front->f;
  const lac_supernodes *s = f->s;
  int64_t p = front->p, m = p + front->r;
  const int32_t *rows = s->rows + s->row_offsets[front->s] - p, first = s->first[front->s];
  const REAL *row_scale = f->row_scale, *col_scale = f->col_scale;
  const T *z = front->z;
  for (int64_t e = s->entry_offsets[front->s]; e < s->entry_offsets[front->s + 1]; e++) {
    int32_t i = s->entry_rows[e], j = s->entry_cols[e];
    int64_t column = front->place && i < p ? front->place[i] : i;
    int64_t row = front->place && j < p && f->kind == LAC_FRONT_LDLT ? front->place[j] : j;
    T value = z[column * m + row];
    if (row_scale) {
      value = FN(rescale)(value, (double)row_scale[s->row_at[i < p ? first + i : rows[i]]],
                          (double)col_scale[s->col_at[j < p ? first + j : rows[j]]]);
    }
    ((T *)values)[s->entry_slots[e]] = value;
  }
}

// SPDX-License-Identifier: Apache-2.0
// Assembly of fronts for one dtype; fronts.c has the equation. Included once for each.

// Numbers of columns in a row, so many to a piece.
static void FN(front_clear)(T *a, int64_t rows, int64_t cols, int threads) {
  if (threads == 1 || rows * cols < FRONTS_SHARED) {
    memset(a, 0, (size_t)(rows * cols) * sizeof *a);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t j = 0; j < cols; j++) memset(a + j * rows, 0, (size_t)rows * sizeof *a);
}

// The entries of A: below the diagonal into L, above it into U_PP and U_PR^T.
static void FN(front_place)(const lac_supernodes *s, int32_t i, bool symmetric, const void *values, lac_front *front) {
  const T *a = values;
  int64_t p = front->p, r = front->r, m = p + r;
  T *l = front->l, *u = front->u;

  FN(front_clear)(l, m, p, front->threads);
  for (int64_t e = s->entry_offsets[i]; e < s->upper_offsets[i]; e++) {
    l[s->entry_cols[e] * m + s->entry_rows[e]] = a[s->entry_slots[e]];
  }
  if (symmetric) return;
  FN(front_clear)(u, r, p, front->threads);
  for (int64_t e = s->upper_offsets[i]; e < s->entry_offsets[i + 1]; e++) {
    int64_t row = s->entry_rows[e], col = s->entry_cols[e];
    *(col < p ? l + col * m + row : u + row * r + col - p) = a[s->entry_slots[e]];
  }
}

// to[relative[a]] += from[a]
static inline void FN(front_add)(int count, const int32_t *relative, const T *from, T *to) {
  if (count > 0 && relative[count - 1] - relative[0] == count - 1) {
    to += relative[0];
    for (int a = 0; a < count; a++) to[a] += from[a];
    return;
  }
  for (int a = 0; a < count; a++) to[relative[a]] += from[a];
}

// Column b of a child's update, rows x rows, into a column of P; `inner` of its rows are among those. Where LU has row
// b above P, into U_PR^T.
static inline void FN(front_extend_column)(const lac_front *front, bool symmetric, int rows, int inner,
                                           const int32_t *relative, const T *from, int b) {
  int64_t p = front->p, r = front->r;
  int a = symmetric ? b : 0;
  FN(front_add)(rows - a, relative + a, from + (int64_t)b * rows + a, (T *)front->l + relative[b] * (p + r));
  if (symmetric) return;
  T *to = (T *)front->u + relative[b] * r - p;
  for (int c = inner; c < rows; c++) to[relative[c]] += from[(int64_t)c * rows + b];
}

static void FN(front_extend_panel)(const lac_front *front, bool symmetric, int rows, int inner, const int32_t *relative,
                                   const void *update) {
  if (!FRONTS_SHARES(front, inner, rows)) {
    for (int b = 0; b < inner; b++) FN(front_extend_column)(front, symmetric, rows, inner, relative, update, b);
    return;
  }
#pragma omp parallel for schedule(dynamic, 8) num_threads(front->threads)
  for (int b = 0; b < inner; b++) FN(front_extend_column)(front, symmetric, rows, inner, relative, update, b);
}

// And what it adds to the update of the front itself.
static inline void FN(front_extend_rest)(const lac_front *front, bool symmetric, int rows, int inner,
                                         const int32_t *relative, const T *from, int b) {
  int64_t p = front->p, r = front->r;
  int a = symmetric ? b : inner;
  FN(front_add)(rows - a, relative + a, from + (int64_t)b * rows + a, (T *)front->update + (relative[b] - p) * r - p);
}

static void FN(front_extend_update)(const lac_front *front, bool symmetric, int rows, int inner,
                                    const int32_t *relative, const void *update) {
  if (!FRONTS_SHARES(front, rows - inner, rows)) {
    for (int b = inner; b < rows; b++) FN(front_extend_rest)(front, symmetric, rows, inner, relative, update, b);
    return;
  }
#pragma omp parallel for schedule(dynamic, 8) num_threads(front->threads)
  for (int b = inner; b < rows; b++) FN(front_extend_rest)(front, symmetric, rows, inner, relative, update, b);
}

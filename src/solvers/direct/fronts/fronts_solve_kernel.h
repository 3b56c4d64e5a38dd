// SPDX-License-Identifier: Apache-2.0
// Substitution over supernodes for one dtype; fronts_solve.c has the equations. Included once for each.
//
// y is a block of n rows and `width` columns, by rows. What is not a small triangle is one of two products:
//
//     spread    y[rows] -= M x              rows are steps, or follow one another where they are NULL
//     gather    x -= M^T y[rows]            or M^H
//
// Every number is summed in one order. How its products are rounded may yet depend on which kernel meets it, full or in
// part: compilers fuse products and sums in one and not in another. So pieces are cut at places that do not depend on
// the number of threads, and within them at multiples of what a kernel takes.

// -- one column ------------------------------------------------------------------------------------------------------

INLINE void FN(spread_lanes)(const int vectors, const bool full, int left, int cols, const T *m, int64_t ld,
                             const int32_t *rows, const T *x, T *y) {
  FN(vec) sum[4] = {0};
  const T *sums = (const T *)sum;
  for (int j = 0; j < cols; j++, m += ld) {
    SOLVE_UNROLL
    for (int v = 0; v < vectors; v++) {
      const T *from = m + v * FN(LANES);
      sum[v] += (full ? *(const FN(vec) *)from : FN(part_load)(from, 0, left)) * x[j];
    }
  }
  for (int i = 0; i < left; i++) y[rows ? rows[i] : i] -= sums[i];
}

static void FN(spread_one)(int count, int cols, const T *m, int64_t ld, const int32_t *rows, const T *x, T *y) {
  const int lanes = FN(LANES);
  int i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    FN(spread_lanes)(4, true, 4 * lanes, cols, m + i, ld, rows ? rows + i : NULL, x, rows ? y : y + i);
  }
  for (; i + lanes <= count; i += lanes) {
    FN(spread_lanes)(1, true, lanes, cols, m + i, ld, rows ? rows + i : NULL, x, rows ? y : y + i);
  }
  if (i < count) {
    FN(spread_lanes)(1, false, count - i, cols, m + i, ld, rows ? rows + i : NULL, x, rows ? y : y + i);
  }
}

// `cols` inner products over `count` numbers of y, which is padded with zeros.
INLINE void FN(gather_lanes)(const int cols, const bool conjugated, int count, const T *m, int64_t ld, const T *y,
                             T *x) {
  const int lanes = FN(LANES);
  FN(vec) sum[4] = {0};
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    FN(vec) z = *(const FN(vec) *)(y + i);
    SOLVE_UNROLL
    for (int c = 0; c < cols; c++) {
      FN(vec) a = *(const FN(vec) *)(m + i + c * ld);
      sum[c] += (conjugated ? FN(vec_conj)(a) : a) * z;
    }
  }
  if (i < count) {
    FN(vec) z = *(const FN(vec) *)(y + i);
    SOLVE_UNROLL
    for (int c = 0; c < cols; c++) sum[c] += FN(part_load)(m + i + c * ld, 0, count - i) * z;
  }
  SOLVE_UNROLL
  for (int c = 0; c < cols; c++) x[c] -= FN(vec_sum)(sum[c]);
}

static void FN(gather_one)(bool conjugated, int count, int cols, const T *m, int64_t ld, const T *y, T *x) {
  int j = 0;
  for (; j + 4 <= cols; j += 4) {
    if (conjugated) FN(gather_lanes)(4, true, count, m + j * ld, ld, y, x + j);
    if (!conjugated) FN(gather_lanes)(4, false, count, m + j * ld, ld, y, x + j);
  }
  for (; j < cols; j++) FN(gather_lanes)(1, conjugated, count, m + j * ld, ld, y, x + j);
}

// -- blocks ----------------------------------------------------------------------------------------------------------

APART void FN(spread)(int width, int count, int cols, const T *m, int64_t ld, const int32_t *rows, const T *x, T *y) {
  T room[SOLVE_ROWS * LAC_BLOCK_WIDTH];
  if (width == 1) {
    FN(spread_one)(count, cols, m, ld, rows, x, y);
    return;
  }
  for (int i = 0; i < count; i += SOLVE_ROWS) {
    int part = count - i < SOLVE_ROWS ? count - i : SOLVE_ROWS;
    FN(dense_thin)(LAC_TRANSPOSED, width, part, cols, x, width, m + i, (int)ld, 0, room, width);
    for (int k = 0; k < part; k++) {
      T *to = y + (int64_t)(rows ? rows[i + k] : i + k) * width;
      for (int c = 0; c < width; c++) to[c] += room[k * width + c];
    }
  }
}

APART void FN(gather)(int width, bool conjugated, int count, int cols, const T *m, int64_t ld, const int32_t *rows,
                      const T *y, T *x) {
  T room[SOLVE_ROWS * LAC_BLOCK_WIDTH + FN(LANES)];
  for (int i = 0; i < count; i += SOLVE_ROWS) {
    int part = count - i < SOLVE_ROWS ? count - i : SOLVE_ROWS;
    for (int k = 0; k < part; k++) {
      const T *from = y + (int64_t)(rows ? rows[i + k] : i + k) * width;
      for (int c = 0; c < width; c++) room[k * width + c] = from[c];
    }
    if (width == 1) {
      memset(room + part, 0, sizeof(FN(vec)));
      FN(gather_one)(conjugated, part, cols, m + i, ld, room, x);
    } else {
      FN(dense_thin)
      (conjugated ? LAC_CONJUGATED : LAC_PLAIN, width, cols, part, room, width, m + i, (int)ld, 1, x, width);
    }
  }
}

static void FN(spread_shared)(const fronts_solve *w, int threads, int count, int cols, const T *m, int64_t ld,
                              const int32_t *rows, const T *x, T *y) {
  int pieces = (count + SOLVE_ROWS - 1) / SOLVE_ROWS;
  if (threads == 1 || (int64_t)count * cols * w->width < SOLVE_SHARED) {
    FN(spread)(w->width, count, cols, m, ld, rows, x, y);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int piece = 0; piece < pieces; piece++) {
    int i = piece * SOLVE_ROWS, part = count - i < SOLVE_ROWS ? count - i : SOLVE_ROWS;
    FN(spread)(w->width, part, cols, m + i, ld, rows ? rows + i : NULL, x, rows ? y : y + (int64_t)i * w->width);
  }
}

static void FN(gather_shared)(const fronts_solve *w, int threads, bool conjugated, int count, int cols, const T *m,
                              int64_t ld, const int32_t *rows, const T *y, T *x) {
  int pieces = (cols + SOLVE_COLS - 1) / SOLVE_COLS;
  if (threads == 1 || (int64_t)count * cols * w->width < SOLVE_SHARED) {
    FN(gather)(w->width, conjugated, count, cols, m, ld, rows, y, x);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int piece = 0; piece < pieces; piece++) {
    int j = piece * SOLVE_COLS, part = cols - j < SOLVE_COLS ? cols - j : SOLVE_COLS;
    FN(gather)(w->width, conjugated, count, part, m + j * ld, ld, rows, y, x + (int64_t)j * w->width);
  }
}

// -- triangles -------------------------------------------------------------------------------------------------------

// op(T) x = x of at most SOLVE_COLS rows, one column: columns of T are taken off what is left, or inner products of
// them.
static void FN(triangle_one)(const fronts_pass *pass, int n, const T *t, int64_t ld, T *x) {
  bool lower = pass->is_lower, turned = lac_form_transposes(pass->form), conjugated = lac_form_conjugates(pass->form);
  for (int step = 0; step < n; step++) {
    int j = lower != turned ? step : n - 1 - step, begin = lower ? j + 1 : 0, end = lower ? n : j;
    const T *column = t + j * ld;
    T sum = x[j], d = conjugated ? FN(conj)(column[j]) : column[j];
    for (int i = begin; turned && i < end; i++) sum -= (conjugated ? FN(conj)(column[i]) : column[i]) * x[i];
    x[j] = sum = pass->is_unit ? sum : FN(div)(sum, d);
    for (int i = begin; !turned && i < end; i++) x[i] -= column[i] * sum;
  }
}

static void FN(triangle_block)(const fronts_pass *pass, int width, int n, const T *t, int64_t ld, T *x) {
  if (width == 1) {
    FN(triangle_one)(pass, n, t, ld, x);
    return;
  }
  dense_shape shape = pass->is_lower ? pass->is_unit ? DENSE_LOWER_UNIT : DENSE_LOWER : DENSE_UPPER;
  FN(dense_trsm)(DENSE_RIGHT, shape, pass->form ^ LAC_TRANSPOSED, width, n, t, (int)ld, x, width, 1);
}

// op(T) x = x, block by block: each is solved and taken off the others, or the others off it before.
static void FN(square)(const fronts_solve *w, const fronts_pass *pass, int threads, int p, const T *t, int64_t ld,
                       T *x) {
  bool turned = lac_form_transposes(pass->form), forward = pass->is_lower != turned;
  int blocks = (p + SOLVE_COLS - 1) / SOLVE_COLS;
  for (int b = 0; b < blocks; b++) {
    int begin = (forward ? b : blocks - 1 - b) * SOLVE_COLS, size = p - begin < SOLVE_COLS ? p - begin : SOLVE_COLS;
    int other = pass->is_lower ? begin + size : 0, count = pass->is_lower ? p - other : begin;
    const T *beside = t + other + begin * ld;
    T *own = x + (int64_t)begin * w->width, *others = x + (int64_t)other * w->width;
    if (turned && count > 0) {
      FN(gather_shared)(w, threads, lac_form_conjugates(pass->form), count, size, beside, ld, NULL, others, own);
    }
    FN(triangle_block)(pass, w->width, size, t + begin + begin * ld, ld, own);
    if (!turned && count > 0) FN(spread_shared)(w, threads, count, size, beside, ld, NULL, own, others);
  }
}

// -- one supernode ---------------------------------------------------------------------------------------------------

// x[k] = x[pivots[k]] of a supernode, or back. What becomes the solution has room for it in between.
static void FN(permute)(const fronts_solve *w, int32_t i, bool back, T *x) {
  const int32_t *pivots = w->f->pivots + w->f->s->first[i];
  int32_t p = lac_front_cols(w->f->s, i), first = w->f->s->first[i];
  T *room = (T *)w->x + (int64_t)first * w->width;
  memcpy(room, x, (size_t)p * (size_t)w->width * sizeof *x);
  for (int32_t k = 0; k < p; k++) {
    int64_t from = back ? k : pivots[k] - first, to = back ? pivots[k] - first : k;
    for (int c = 0; c < w->width; c++) x[to * w->width + c] = room[from * w->width + c];
  }
}

// D x = x
static void FN(divide)(const fronts_solve *w, int32_t i, const T *l, int64_t ld, T *x) {
  const T *d_below = (const T *)w->f->d_below + w->f->s->first[i];
  int p = lac_front_cols(w->f->s, i), width = w->width;
  for (int k = 0; k < p; k++, x += width) {
    REAL one = FN(re)(l[k + k * ld]);
    T e = d_below[k];
    if (e == 0) {
      for (int c = 0; c < width; c++) x[c] /= one;
      continue;
    }
    k++;
    T a = FN(div)(one, FN(conj)(e)), b = FN(div)(FN(re)(l[k + k * ld]), e), det = a * b - 1;
    for (int c = 0; c < width; c++) {
      T y = FN(div)(x[c], FN(conj)(e)), z = FN(div)(x[width + c], e);
      x[c] = FN(div)(b * y - z, det);
      x[width + c] = FN(div)(a * z - y, det);
    }
    x += width;
  }
}

// The block of R x P that a pass uses, and its leading dimension.
static const T *FN(beside)(const lac_fronts *f, const fronts_pass *pass, int32_t i, int64_t *ld) {
  int64_t p = lac_front_cols(f->s, i), r = lac_front_rows(f->s, i);
  *ld = pass->is_of_u ? r : p + r;
  return pass->is_of_u ? (const T *)f->u + f->u_panels[i] : (const T *)f->l + f->s->panels[i] + p;
}

// What supernode i takes off rows `begin` .. `end` - 1 of its list.
static void FN(solve_tail)(const fronts_solve *w, int32_t i, int begin, int end, int threads) {
  const lac_supernodes *s = w->f->s;
  int64_t ld;
  const T *m = FN(beside)(w->f, &w->up, i, &ld);
  T *y = w->y;
  FN(spread_shared)
  (w, threads, end - begin, lac_front_cols(s, i), m + begin, ld, s->rows + s->row_offsets[i] + begin,
   y + (int64_t)s->first[i] * w->width, y);
}

static void FN(solve_up)(const fronts_solve *w, int32_t i, int rows, int threads) {
  const lac_supernodes *s = w->f->s;
  const T *l = (const T *)w->f->l + s->panels[i];
  int p = lac_front_cols(s, i), ld = p + lac_front_rows(s, i);
  T *x = (T *)w->y + (int64_t)s->first[i] * w->width;
  if (w->up.permutes) FN(permute)(w, i, false, x);
  FN(square)(w, &w->up, threads, p, l, ld, x);
  if (rows > 0) FN(solve_tail)(w, i, 0, rows, threads);
}

static void FN(solve_down)(const fronts_solve *w, int32_t i, int threads) {
  const lac_supernodes *s = w->f->s;
  const T *l = (const T *)w->f->l + s->panels[i];
  int p = lac_front_cols(s, i), r = lac_front_rows(s, i);
  int64_t ld;
  const T *m = FN(beside)(w->f, &w->down, i, &ld);
  T *y = w->y, *x = y + (int64_t)s->first[i] * w->width;
  if (w->f->kind == LAC_FRONT_LDLT) FN(divide)(w, i, l, p + r, x);
  if (r > 0) {
    FN(gather_shared)(w, threads, w->down.is_conjugated, r, p, m, ld, s->rows + s->row_offsets[i], y, x);
  }
  FN(square)(w, &w->down, threads, p, l, p + r, x);
  if (w->down.permutes) FN(permute)(w, i, true, x);
}

// -- in and out ------------------------------------------------------------------------------------------------------

// y[k] = scale[at[k]] b[at[k]], or back: x[at[k]] = scale[at[k]] y[k].
static void FN(solve_move)(const fronts_solve *w, bool back, const int32_t *at, const void *scales, int threads,
                           const void *from, void *to) {
  const REAL *scale = scales;
  const int width = w->width;
  threads = lac_threads_worth(threads, w->f->s->n, (double)w->f->s->n * width);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int32_t k = 0; k < w->f->s->n; k++) {
    const T *a = (const T *)from + (int64_t)(back ? k : at[k]) * width;
    T *b = (T *)to + (int64_t)(back ? at[k] : k) * width;
    REAL factor = scale ? scale[at[k]] : 1;
    for (int c = 0; c < width; c++) b[c] = (w->conjugates ? FN(conj)(a[c]) : a[c]) * factor;
  }
}

// SPDX-License-Identifier: Apache-2.0
// Steps of tiles of dense products.

/// sums += op(x) w by rows of x as they lie, `count` of them at once, which is a constant to the compiler.
INLINE void FN(step_rows)(const matmul_step *s, const T *x, const T *w, T *sums, const int count) {
  real_f32 sign = lac_form_conjugates(s->form_x) ? -1 : 1;
  for (int64_t i = 0; i < s->m; ++i) {
    T sum = sums[i];
    UNROLL(8) for (int l = 0; l < count; ++l) sum = FN(mac)(sum, FN(signed)(x[l * s->x_cols + i], sign), w[l]);
    sums[i] = sum;
  }
}

/// A column of a step: z += op(x) w, or =, where w holds a column of op(y); from z to z are z_down numbers. Rows of x
/// are read as they lie: by dot products, or, where op(x) is transposed, some at once.
static void FN(step_column)(const matmul_step *s, const T *x, const T *w, T *z, int64_t z_down) {
  T sums[MATMUL_TALL];
  int64_t l = 0;
  for (int64_t i = 0; i < s->m; ++i) sums[i] = 0;
  for (int64_t i = 0; i < s->m && !lac_form_transposes(s->form_x); ++i) {
    const T *row = x + i * s->x_cols;
    bool conjugated = lac_form_conjugates(s->form_x);
    sums[i] = (T)(conjugated ? FN(run_dot)(row, w, s->l, DOT_LANES) : FN(run_dot)(w, row, s->l, DOT_LANES));
  }
  if (lac_form_transposes(s->form_x)) {
    for (; l + 8 <= s->l; l += 8) FN(step_rows)(s, x + l * s->x_cols, w + l, sums, 8);
    for (; l < s->l; ++l) FN(step_rows)(s, x + l * s->x_cols, w + l, sums, 1);
  }
  for (int64_t i = 0; i < s->m; ++i) z[i * z_down] = (s->adds ? z[i * z_down] : 0) + sums[i];
}

/// A step with few columns; run_dot conjugates the first of its runs.
static void FN(step_thin)(const matmul_step *s, const T *x, const T *y, T *z, int64_t z_down, int64_t z_right) {
  bool turned = lac_form_transposes(s->form_y), by_dots = s->form_x == LAC_PLAIN;
  int64_t down = turned ? 1 : s->y_cols, right = turned ? s->y_cols : 1;
  real_f32 sign = lac_form_conjugates(s->form_y) != by_dots ? -1 : 1;
  T w[MATMUL_DEEP];
  for (int64_t j = 0; j < s->n; ++j) {
    for (int64_t l = 0; l < s->l; ++l) w[l] = FN(signed)(y[l * down + j * right], sign);
    FN(step_column)(s, x, w, z + j * z_right, z_down);
  }
}

/// Z^T = op(Y)^T op(X)^T where Z has few rows.
static void FN(step_flat)(const matmul_step *s, const T *x, const T *y, T *z) {
  matmul_step t = *s;
  t.m = s->n, t.n = s->m;
  t.form_x = s->form_y ^ LAC_TRANSPOSED, t.form_y = s->form_x ^ LAC_TRANSPOSED;
  t.x_cols = s->y_cols, t.y_cols = s->x_cols;
  FN(step_thin)(&t, y, x, z, 1, s->z_cols);
}

/// z += op(x) op(y) by loops; forms are constants to the compiler where it pays, in the innermost one.
static void FN(step_loops)(const matmul_step *s, const T *x, const T *y, T *z) {
  bool tx = lac_form_transposes(s->form_x), ty = lac_form_transposes(s->form_y);
  int64_t xi = tx ? 1 : s->x_cols, xl = tx ? s->x_cols : 1, yl = ty ? 1 : s->y_cols, yj = ty ? s->y_cols : 1;
  real_f32 cx = lac_form_conjugates(s->form_x) ? -1 : 1, cy = lac_form_conjugates(s->form_y) ? -1 : 1;
  for (int64_t i = 0; i < s->m; ++i) {
    T *row = z + i * s->z_cols;
    for (int64_t j = 0; j < s->n && !s->adds; ++j) row[j] = 0;
    for (int64_t l = 0; l < s->l; ++l) {
      T a = FN(signed)(x[i * xi + l * xl], cx);
      const T *b = y + l * yl;
      if (ty) {
        for (int64_t j = 0; j < s->n; ++j) row[j] = FN(mac)(row[j], a, FN(signed)(b[j * yj], cy));
      } else {
        for (int64_t j = 0; j < s->n; ++j) row[j] = FN(mac)(row[j], a, FN(signed)(b[j], cy));
      }
    }
  }
}

/// A tile of conj(A), which BLAS has no word for, in memory of its own.
static const T *FN(conjugated)(const T *a, int64_t rows, int64_t cols, int64_t stride, T *room) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) room[i * MATMUL_TILE + j] = FN(conj)(a[i * stride + j]);
  }
  return room;
}

static void FN(step_blas)(matmul_step s, const T *x, const T *y, T *z) {
  T room_x[MATMUL_TILE * MATMUL_TILE], room_y[MATMUL_TILE * MATMUL_TILE];
  if (s.form_x == LAC_CONJUGATED) {
    x = FN(conjugated)(x, s.m, s.l, s.x_cols, room_x);
    s.form_x = LAC_PLAIN, s.x_cols = MATMUL_TILE;
  }
  if (s.form_y == LAC_CONJUGATED) {
    y = FN(conjugated)(y, s.l, s.n, s.y_cols, room_y);
    s.form_y = LAC_PLAIN, s.y_cols = MATMUL_TILE;
  }
  FN(blas)(&s, x, y, z);
}

static void FN(step)(const matmul_step *s, const T *x, const T *y, T *z) {
  switch (s->way) {
    case MATMUL_THIN:
      FN(step_thin)(s, x, y, z, s->z_cols, 1);
      return;
    case MATMUL_FLAT:
      FN(step_flat)(s, x, y, z);
      return;
    case MATMUL_BLAS:
      if (s->m * s->n * s->l <= MATMUL_TINY) break;
      FN(step_blas)(*s, x, y, z);
      return;
    case MATMUL_LOOPS:
      break;
  }
  FN(step_loops)(s, x, y, z);
}

/// One tile of one Z: all steps of its sum.
static void FN(matmul_tile)(const matmul_job *job, int64_t item, int64_t tile) {
  int64_t i = tile / job->tiles * job->tile_rows, j = tile % job->tiles * job->tile_cols;
  const T *x = (const T *)job->x + lac_batch_item(&job->batch, 0, item) * job->m * job->l;
  const T *y = (const T *)job->y + lac_batch_item(&job->batch, 1, item) * job->l * job->n;
  T *z = (T *)job->z + lac_batch_item(&job->batch, 2, item) * job->m * job->n + i * job->n + j;
  matmul_step s = {.way = job->way, .form_x = job->form_x, .form_y = job->form_y, .z_cols = job->n};
  s.x_cols = job->x_cols, s.y_cols = job->y_cols;
  s.m = job->m - i < job->tile_rows ? job->m - i : job->tile_rows;
  s.n = job->n - j < job->tile_cols ? job->n - j : job->tile_cols;
  s.adds = !cpu_batch_is_first(&job->batch, 2, item);
  for (int64_t l = 0; l < job->l; l += s.l, s.adds = true) {
    s.l = job->l - l < job->deep ? job->l - l : job->deep;
    int64_t at_x = lac_form_transposes(s.form_x) ? l * s.x_cols + i : i * s.x_cols + l;
    int64_t at_y = lac_form_transposes(s.form_y) ? j * s.y_cols + l : l * s.y_cols + j;
    FN(step)(&s, x + at_x, y + at_y, z);
  }
}

static void FN(matmul_tiles)(const void *opaque, int64_t begin, int64_t end) {
  const matmul_job *job = opaque;
  for (int64_t u = begin; u < end; ++u) {
    if (job->is_apart) {
      FN(matmul_tile)(job, u / job->all_tiles, u % job->all_tiles);
      continue;
    }
    for (int64_t item = 0; item < job->batch.count; ++item) FN(matmul_tile)(job, item, u);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Blocks of up to four rows times a tile of columns. Every number is one chain of fused products in a fixed order,
// whatever the block it is computed in: cuts among threads change nothing.

enum { IN(TILE) = 64 / sizeof(T) };

/// The place of a row in the order of the groups.
INLINE int64_t IN(row_at)(const cpu_grouped *g, int64_t place) {
  return g->sources ? ((const C *)g->sources)[place] : place;
}

/// The group that has a place.
static int64_t IN(group_at)(const cpu_grouped *g, int64_t place) {
  const C *offsets = g->offsets;
  int64_t low = 1, high = g->outputs;
  LAC_SEARCH(low, high, i, offsets[i] <= place)
  return low - 1;
}

/// y[i][c .. c + width) = a[i] op(b) for `rows` rows, a constant to the compiler; so is `width` but for the last tile.
INLINE void IN(plain_tile)(const cpu_grouped *g, const T *const *a, const T *b, T *const *y, const int rows, int64_t c,
                           const int64_t width) {
  T s[GATHER_ROWS][IN(TILE)];
  for (int i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < width; ++k) s[i][k] = g->adds ? y[i][c + k] : 0;
  }
  for (int64_t r = 0; r < g->d; ++r) {
    const T *row = b + r * g->e + c;
    for (int i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < width; ++k) s[i][k] = FN(mac)(s[i][k], a[i][r], FN(signed)(row[k], (FN(real))g->sign));
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < width; ++k) y[i][c + k] = s[i][k];
  }
}

INLINE void IN(plain_rows)(const cpu_grouped *g, const T *const *a, const T *b, T *const *y, const int rows) {
  int64_t c = 0;
  for (; c + IN(TILE) <= g->e; c += IN(TILE)) IN(plain_tile)(g, a, b, y, rows, c, IN(TILE));
  if (c < g->e) IN(plain_tile)(g, a, b, y, rows, c, g->e - c);
}

/// sum of x op(b) in lanes
INLINE T IN(row_product)(const T *x, const T *b, int64_t n, FN(real) sign) {
  FN(acc) lane[GATHER_LANES] = {0}, total = 0;
  int64_t k = 0;
  for (; k + GATHER_LANES <= n; k += GATHER_LANES) {
    for (int l = 0; l < GATHER_LANES; ++l) lane[l] = FN(mac_acc)(lane[l], FN(signed)(b[k + l], sign), x[k + l]);
  }
  for (; k < n; ++k) total = FN(mac_acc)(total, FN(signed)(b[k], sign), x[k]);
  for (int l = 0; l < GATHER_LANES; ++l) total += lane[l];
  return (T)total;
}

INLINE void IN(transposed_rows)(const cpu_grouped *g, const T *const *a, const T *b, T *const *y, const int rows) {
  for (int64_t r = 0; r < g->d; ++r) {
    for (int i = 0; i < rows; ++i) {
      T s = IN(row_product)(a[i], b + r * g->e, g->e, (FN(real))g->sign);
      y[i][r] = g->adds ? y[i][r] + s : s;
    }
  }
}

/// Places [begin, end), all of one group: four rows at a time.
INLINE void IN(run_of_rows)(const cpu_grouped *g, int64_t group, int64_t begin, int64_t end, const bool transposes) {
  const int64_t n_a = transposes ? g->e : g->d, n_y = transposes ? g->d : g->e;
  const T *b = (const T *)g->in[1] + group * g->d * g->e, *a[GATHER_ROWS];
  T *y[GATHER_ROWS];
  for (int64_t p = begin; p < end;) {
    int rows = end - p < GATHER_ROWS ? 1 : GATHER_ROWS;
    for (int i = 0; i < rows; ++i) {
      int64_t row = IN(row_at)(g, p + i);
      a[i] = (const T *)g->in[0] + row * n_a;
      y[i] = (T *)g->out + row * n_y;
    }
    if (transposes) {
      IN(transposed_rows)(g, a, b, y, rows);
    } else if (rows == GATHER_ROWS) {
      IN(plain_rows)(g, a, b, y, GATHER_ROWS);
    } else {
      IN(plain_rows)(g, a, b, y, 1);
    }
    p += rows;
  }
}

INLINE void IN(runs)(const cpu_grouped *g, int64_t begin, int64_t end, const bool transposes) {
  const C *offsets = g->offsets;
  for (int64_t group = IN(group_at)(g, begin); begin < end; ++group) {
    int64_t last = offsets[group + 1] < end ? offsets[group + 1] : end;
    IN(run_of_rows)(g, group, begin, last, transposes);
    begin = last;
  }
}

static void IN(gather_mm_plain)(const cpu_grouped *g, int64_t begin, int64_t end) { IN(runs)(g, begin, end, false); }
static void IN(gather_mm_transposed)(const cpu_grouped *g, int64_t begin, int64_t end) {
  IN(runs)(g, begin, end, true);
}

/// w[r0 .. r0 + rows)[c .. c + width) of one group.
INLINE void IN(outer_tile)(const cpu_grouped *g, int64_t group, int64_t r0, const int rows, int64_t c,
                           const int64_t width) {
  const C *offsets = g->offsets;
  T *w = (T *)g->out + (group * g->d + r0) * g->e + c;
  FN(acc) s[GATHER_ROWS][IN(TILE)];
  for (int r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < width; ++k) s[r][k] = g->adds ? w[r * g->e + k] : 0;
  }
  for (int64_t p = offsets[group]; p < offsets[group + 1]; ++p) {
    int64_t i = IN(row_at)(g, p);
    const T *u = (const T *)g->in[0] + i * g->d + r0, *v = (const T *)g->in[1] + i * g->e + c;
    for (int r = 0; r < rows; ++r) {
      T x = FN(signed)(u[r], -1);
      for (int64_t k = 0; k < width; ++k) s[r][k] = FN(mac_acc)(s[r][k], x, v[k]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < width; ++k) w[r * g->e + k] = (T)s[r][k];
  }
}

INLINE void IN(outer_panel)(const cpu_grouped *g, int64_t group, int64_t r0, const int rows) {
  int64_t c = 0;
  for (; c + IN(TILE) <= g->e; c += IN(TILE)) IN(outer_tile)(g, group, r0, rows, c, IN(TILE));
  if (c < g->e) IN(outer_tile)(g, group, r0, rows, c, g->e - c);
}

/// Panels of four rows of w, counted over all groups.
static void IN(gather_outer_panels)(const cpu_grouped *g, int64_t begin, int64_t end) {
  int64_t panels = (g->d + GATHER_ROWS - 1) / GATHER_ROWS;
  for (int64_t p = begin; p < end; ++p) {
    int64_t group = p / panels, r0 = p % panels * GATHER_ROWS;
    if (g->d - r0 >= GATHER_ROWS) {
      IN(outer_panel)(g, group, r0, GATHER_ROWS);
    } else {
      for (; r0 < g->d; ++r0) IN(outer_panel)(g, group, r0, 1);
    }
  }
}

static void IN(gather_outer_groups)(const cpu_grouped *g, int64_t begin, int64_t end) {
  int64_t panels = (g->d + GATHER_ROWS - 1) / GATHER_ROWS;
  IN(gather_outer_panels)(g, begin * panels, end * panels);
}

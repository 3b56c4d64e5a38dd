// SPDX-License-Identifier: Apache-2.0
// Rows of cells from compressed rows of numbers T, into lines of the numbers in which a level is computed.

#define W FN(acc)

// A point's entries, wherever they lead.
static void FN(read_point)(const setup_job *j, const T *values, f64 unit, int64_t y, int64_t x, W *lines) {
  const int64_t i = y * j->grid.width + x;
  for (int64_t q = setup_offset(j, i), last = setup_offset(j, i + 1); q < last; ++q) {
    int direction = grid_direction(j->grid.width, setup_column(j, q) - i);
    lines[setup_line(4 * direction + x % 2) + x / 2] = values[q] * unit;
  }
}

// Cells [begin, end) in the lines of two colours.
static void FN(clear_pairs)(const setup_job *j, int64_t begin, int64_t end, W *cells) {
  for (int d = 0; d < LAC_GRID_DIRECTIONS; ++d) {
    if (!j->grid.has_corners && grid_is_corner(d)) continue;
    W *even = cells + setup_line(4 * d), *odd = even + setup_line(1);
    for (int64_t i = begin; i < end; ++i) even[i] = odd[i] = 0;
  }
}

// Pairs of points that have entries in all directions, one behind the other.
INLINE void FN(read_pairs)(const bool corners, int64_t pairs, const T *values, f64 unit, W *lines) {
  const int count = corners ? 9 : 5;
  VECTOR_LOOP for (int64_t i = 0; i < pairs; ++i) {
    UNROLL(9) for (int q = 0; q < count; ++q) {
      const int d = corners ? q : q < 2 ? 2 * q + 1 : q == 2 ? 4 : 2 * q - 1;
      lines[setup_line(4 * d) + i] = values[2 * count * i + q] * unit;
      lines[setup_line(4 * d + 1) + i] = values[2 * count * i + count + q] * unit;
    }
  }
}

// Row y of the grid, cells [begin, end), into lines; `first` is the cell of their first number. Points inside the grid
// that have as many entries as there are directions have them in that order, and no column needs to be read.
static void FN(read_line)(const setup_job *j, const T *values, f64 unit, int64_t y, int64_t begin, int64_t end,
                          int64_t first, int64_t last, W *lines) {
  const lac_grid *g = &j->grid;
  W *cells = lines - first;
  int64_t from = begin > 1 ? begin : 1, to = end < (g->width - 1) / 2 ? end : (g->width - 1) / 2;
  if (to < from || y == 0 || y + 1 == g->height) to = from;
  const int64_t i = y * g->width + 2 * from, entries = setup_offset(j, i + 2 * (to - from)) - setup_offset(j, i);
  if (entries < 2 * (to - from) * (g->has_corners ? 9 : 5)) to = from;
  if (y + 2 < g->height) {
    const char *ahead = (const char *)(values + setup_offset(j, (y + 2) * g->width + 2 * begin));
    const char *until = (const char *)(values + setup_offset(j, (y + 2) * g->width + (2 * end < g->width ? 2 * end : g->width)));
    for (; ahead < until; ahead += 64) __builtin_prefetch(ahead, 0, 3);
  }
  FN(clear_pairs)(j, first, from, cells);
  FN(clear_pairs)(j, to, last, cells);
  for (int64_t x = 2 * begin; x < 2 * from && x < g->width; ++x) FN(read_point)(j, values, unit, y, x, cells);
  for (int64_t x = 2 * to; x < 2 * end && x < g->width; ++x) FN(read_point)(j, values, unit, y, x, cells);
  if (g->has_corners) FN(read_pairs)(true, to - from, values + setup_offset(j, i), unit, cells + from);
  if (!g->has_corners) FN(read_pairs)(false, to - from, values + setup_offset(j, i), unit, cells + from);
}

static void FN(read_rows)(const setup_job *j, const setup_strip *s, void *lines) {
  const lac_grid *g = &j->grid;
  const T *values = (const T *)j->values + s->item * j->nnz;
  const f64 unit = j->unit ? j->unit[2 * s->item] : 1;
  const int64_t first = s->first - 2, last = first + s->n + 2;
  const int64_t begin = first > 0 ? first : 0, end = last < g->across ? last : g->across;
  for (int64_t y = 2 * s->cell; y < 2 * s->cell + 2; ++y) {
    W *own = (W *)lines + setup_line(y % 2 * 2);
    if (y < g->height) FN(read_line)(j, values, unit, y, begin, end, first, last, own);
    if (y == g->height) FN(clear_pairs)(j, 0, last - first, own);
  }
}

#undef W

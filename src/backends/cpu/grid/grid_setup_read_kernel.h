// SPDX-License-Identifier: Apache-2.0
// Rows of cells from compressed rows of numbers T, into lines of the numbers in which a level is computed.

#define W FN(acc)

// A point's entries, wherever they lead; lines begin with cell `first`.
static void FN(read_point)(const setup_job *j, const T *values, f64 unit, int64_t y, int64_t x, int64_t first,
                           W *lines) {
  const int64_t i = y * j->grid.width + x;
  for (int64_t q = setup_offset(j, i), last = setup_offset(j, i + 1); q < last; ++q) {
    int direction = grid_direction(j->grid.width, setup_column(j, q) - i);
    lines[setup_line(4 * direction + x % 2) + x / 2 - first] = values[q] * unit;
  }
}

// Numbers [begin, end) in the lines of two colours.
static void FN(clear_pairs)(const setup_job *j, int64_t begin, int64_t end, W *lines) {
  for (int d = 0; d < LAC_GRID_DIRECTIONS; ++d) {
    if (!j->grid.has_corners && grid_is_corner(d)) continue;
    W *even = lines + setup_line(4 * d), *odd = even + setup_line(1);
    for (int64_t i = begin; i < end; ++i) even[i] = odd[i] = 0;
  }
}

// Pairs of points that have entries in all directions, one behind the other. Those of `ahead` are read next.
INLINE void FN(read_pairs)(const bool corners, int64_t pairs, const T *values, const T *ahead, f64 unit, W *lines) {
  const int count = corners ? 9 : 5;
  for (int64_t i = 0; i < pairs; ++i) {
    for (int q = 0; q < 2; ++q) __builtin_prefetch(ahead + (2 * i + q) * count, 0, 3);
    UNROLL(9) for (int q = 0; q < count; ++q) {
      const int d = corners ? q : q < 2 ? 2 * q + 1 : q == 2 ? 4 : 2 * q - 1;
      lines[setup_line(4 * d) + i] = values[2 * count * i + q] * unit;
      lines[setup_line(4 * d + 1) + i] = values[2 * count * i + count + q] * unit;
    }
  }
}

// Row y of the grid, cells [begin, end), into lines of `n` numbers that begin with cell `first`. Points inside the grid
// that have as many entries as there are directions have them in that order, and no column needs to be read.
static void FN(read_line)(const setup_job *j, const T *values, f64 unit, int64_t y, int64_t begin, int64_t end,
                          int64_t first, int64_t n, W *lines) {
  const lac_grid *g = &j->grid;
  int64_t from = begin > 1 ? begin : 1, to = end < (g->width - 1) / 2 ? end : (g->width - 1) / 2;
  if (to < from || y == 0 || y + 1 == g->height) to = from;
  const int64_t i = y * g->width + 2 * from, at = setup_offset(j, i), next = y + 3 < g->height ? 2 * g->width : 0;
  if (setup_offset(j, i + 2 * (to - from)) - at < 2 * (to - from) * (g->has_corners ? 9 : 5)) to = from;
  const T *whole = values + at, *ahead = values + setup_offset(j, i + next);
  FN(clear_pairs)(j, 0, from - first, lines);
  FN(clear_pairs)(j, to - first, n, lines);
  for (int64_t x = 2 * begin; x < 2 * from && x < g->width; ++x) FN(read_point)(j, values, unit, y, x, first, lines);
  for (int64_t x = 2 * to; x < 2 * end && x < g->width; ++x) FN(read_point)(j, values, unit, y, x, first, lines);
  if (g->has_corners) FN(read_pairs)(true, to - from, whole, ahead, unit, lines + from - first);
  if (!g->has_corners) FN(read_pairs)(false, to - from, whole, ahead, unit, lines + from - first);
}

static void FN(read_rows)(const setup_job *j, const setup_strip *s, void *lines) {
  const lac_grid *g = &j->grid;
  const T *values = (const T *)j->values + s->item * j->nnz;
  const f64 unit = j->unit ? j->unit[2 * s->item] : 1;
  const int64_t first = s->first - 2, n = s->n + 2, last = first + n;
  const int64_t begin = first > 0 ? first : 0, end = last < g->across ? last : g->across;
  for (int64_t y = 2 * s->cell; y < 2 * s->cell + 2; ++y) {
    W *own = (W *)lines + setup_line(y % 2 * 2);
    if (y < g->height) FN(read_line)(j, values, unit, y, begin, end, first, n, own);
    if (y == g->height) FN(clear_pairs)(j, 0, n, own);
  }
}

#undef W

// SPDX-License-Identifier: Apache-2.0
// The set-up of a level for one pair of numbers, T of the matrix and H of the hierarchy; grid_setup.c has the
// equations. W is the accumulator of T, in which all of it is computed.

#define W FN(acc)

// The place of a colour's line in a row of cells in hand.
INLINE W *VN(line)(const setup_job *j, W *lines, int64_t cell, int which) {
  return lines + ((cell + SETUP_ROWS) % SETUP_ROWS * SETUP_LINES + which) * j->grid.stride + 1;
}

// -- rows of the matrix ----------------------------------------------------------------------------------------------

// The entries of a row of cells by directions and colours, from compressed rows.
static void VN(read_rows)(const setup_job *j, const T *values, double unit, int64_t cell, W *a[9][4]) {
  const lac_grid *g = &j->grid;
  for (int64_t y = 2 * cell; y < 2 * cell + 2 && y < g->height; ++y) {
    for (int64_t x = 0, i = y * g->width; x < g->width; ++x, ++i) {
      for (int64_t q = setup_offset(j, i), last = setup_offset(j, i + 1); q < last; ++q) {
        int direction = grid_direction(g->width, setup_column(j, q) - i);
        a[direction][2 * (y % 2) + x % 2][x / 2] = (W)values[q] * unit;
      }
    }
  }
}

// The places of a row of cells' entries; of the finest level they are read into memory of the part.
static void VN(open_matrix)(const setup_job *j, const grid_range *range, int64_t cell, W *lines, W *a[9][4]) {
  const lac_grid *g = &j->grid;
  const bool is_here = cell >= 0 && cell < g->down;
  const int64_t room = lac_grid_room(g);
  for (int d = 0; d < 9; ++d) {
    for (int c = 0; c < 4; ++c) {
      a[d][c] = j->is_first || !is_here
                    ? VN(line)(j, lines, cell, SETUP_MATRIX + 4 * d + c)
                    : (W *)j->values + (range->item * 9 + d) * room + ((cell + 1) * 4 + c) * g->stride + 1;
    }
  }
  if (!j->is_first && is_here) return;
  memset(a[0][0] - 1, 0, (size_t)(36 * g->stride) * sizeof(W));
  if (!is_here) return;
  VN(read_rows)(j, (const T *)j->values + range->item * j->nnz, j->unit ? j->unit[2 * range->item] : 1, cell, a);
}

// -- interpolation ---------------------------------------------------------------------------------------------------

// One over the diagonal entries as cycles take them: no smaller than half of their rows, or relaxing would let errors
// grow. Zero where there is no point.
static void VN(invert_row)(const setup_job *j, int64_t cell, W *a[9][4], W *lines) {
  const grid_reach *reach = grid_neighbours(&j->grid);
  for (int c = 0; c < LAC_GRID_COLOURS; ++c) {
    const W *own = a[LAC_GRID_HERE][c];
    W *to = VN(line)(j, lines, cell, SETUP_INVERSE + c);
    VECTOR_LOOP for (int64_t i = 0; i < j->grid.across; ++i) {
      const double size = fabs(creal(own[i])) + fabs(cimag(own[i]));
      double half = 0;
      for (int q = 0; q < reach->count; ++q) {
        const W entry = a[reach->directions[q]][c][i];
        half += fabs(creal(entry)) + fabs(cimag(entry));
      }
      half /= 2;
      const double re = size > 0 ? creal(own[i]) : half, im = cimag(own[i]), square = re * re + im * im;
      const double by = square > 0 ? (size >= half || size == 0 ? 1 : size / half) / square : 0;
      to[i] = FN(setup_number)(re * by, -im * by);
    }
  }
}

// What a point takes from a neighbour: the real part of an entry over the diagonal, with a minus.
INLINE double VN(taken)(W entry, W inverse) { return cimag(entry) * cimag(inverse) - creal(entry) * creal(inverse); }

// Weights from the two ends to the points between, for which entries are added up along the other axis.
static void VN(between)(int64_t n, W *a[9][4], int colour, const int *first, const int *second, const int *along,
                        const W *inverse, W *one, W *two) {
  for (int64_t i = 0; i < n; ++i) {
    double p = 0, q = 0, middle = 1;
    for (int e = 0; e < 3; ++e) {
      p += VN(taken)(a[first[e]][colour][i], inverse[i]);
      q += VN(taken)(a[second[e]][colour][i], inverse[i]);
      middle -= along[e] == LAC_GRID_HERE ? 0 : VN(taken)(a[along[e]][colour][i], inverse[i]);
    }
    const double s = setup_share(p, q, middle);
    one[i] = p * s, two[i] = q * s;
  }
}

static void VN(edges)(const setup_job *j, int64_t cell, W *a[9][4], W *lines) {
  static const int west[] = {0, 3, 6}, middle[] = {1, 4, 7}, east[] = {2, 5, 8};
  static const int before[] = {0, 1, 2}, level[] = {3, 4, 5}, behind[] = {6, 7, 8};
  const int64_t n = j->grid.across;
  const W *inverse = VN(line)(j, lines, cell, SETUP_INVERSE), *below = inverse + 2 * j->grid.stride;
  W *ends[4];
  for (int q = 0; q < 4; ++q) ends[q] = VN(line)(j, lines, cell, SETUP_WEST + q);
  VN(between)(n, a, 1, west, east, middle, inverse + j->grid.stride, ends[0], ends[1]);
  VN(between)(n, a, 2, before, behind, level, below, ends[2], ends[3]);
}

// Weights of the points in the middle: by their own row, from the corners and the points between these.
static void VN(middles)(const setup_job *j, int64_t cell, W *a[9][4], W *lines) {
  const W *west = VN(line)(j, lines, cell, SETUP_WEST), *east = VN(line)(j, lines, cell, SETUP_EAST);
  const W *below_west = VN(line)(j, lines, cell + 1, SETUP_WEST),
          *below_east = VN(line)(j, lines, cell + 1, SETUP_EAST);
  const W *before = VN(line)(j, lines, cell, SETUP_BEFORE), *behind = VN(line)(j, lines, cell, SETUP_BEHIND);
  const W *inverse = VN(line)(j, lines, cell, SETUP_INVERSE + 3);
  W *w[4];
  for (int q = 0; q < 4; ++q) w[q] = VN(line)(j, lines, cell, SETUP_CORNER + q);
  for (int64_t i = 0; i < j->grid.across; ++i) {
    double v[9];
    for (int d = 0; d < 9; ++d) v[d] = VN(taken)(a[d][3][i], inverse[i]);
    w[0][i] = v[0] + v[1] * creal(west[i]) + v[3] * creal(before[i]);
    w[1][i] = v[2] + v[1] * creal(east[i]) + v[5] * creal(before[i + 1]);
    w[2][i] = v[6] + v[7] * creal(below_west[i]) + v[3] * creal(behind[i]);
    w[3][i] = v[8] + v[7] * creal(below_east[i]) + v[5] * creal(behind[i + 1]);
  }
}

// -- what the cycle reads --------------------------------------------------------------------------------------------

// Numbers of half the bytes do not overflow.
INLINE H VN(narrowed)(W inverse, double size) {
  const double most = sizeof(HN(real)) == sizeof(f32) ? 1e30 : 1e300;
  return (H)(size > most ? inverse * (most / size) : inverse);
}

static void VN(keep_inverse)(const setup_job *j, int64_t cell, W *lines, H *plane) {
  double largest = 0;
  for (int c = 0; c < LAC_GRID_COLOURS; ++c) {
    const W *from = VN(line)(j, lines, cell, SETUP_INVERSE + c);
    H *to = plane + ((cell + 1) * 4 + c) * j->grid.stride + 1;
    for (int64_t i = 0; i < j->grid.across; ++i) {
      const double size = fabs(creal(from[i])) + fabs(cimag(from[i]));
      largest = size > largest ? size : largest;
      to[i] = VN(narrowed)(from[i], size);
    }
  }
  setup_note(j->largest, largest);
}

static void VN(keep_matrix)(const setup_job *j, const grid_range *range, int64_t cell, W *a[9][4], W *lines) {
  const lac_grid *g = &j->grid;
  const int64_t room = lac_grid_room(g);
  const grid_reach *reach = grid_neighbours(g);
  H *planes = (H *)j->planes + range->item * lac_grid_planes(g->has_corners, j->is_half) * room;
  VN(keep_inverse)(j, cell, lines, planes);
  for (int q = 0; q < reach->count; ++q) {
    const int d = reach->directions[q];
    if (j->is_half && d < LAC_GRID_HERE) continue;
    for (int c = 0; c < LAC_GRID_COLOURS; ++c) {
      H *to = planes + lac_grid_plane(g->has_corners, d) * room + ((cell + 1) * 4 + c) * g->stride + 1;
      const W *from = a[d][c];
      for (int64_t i = 0; i < g->across; ++i) to[i] = (H)from[i];
    }
  }
}

static void VN(keep_weights)(const setup_job *j, const grid_range *range, int64_t cell, W *lines) {
  static const int lines_of[LAC_GRID_WEIGHTS] = {SETUP_WEST,       SETUP_EAST,       SETUP_CORNER,
                                                 SETUP_CORNER + 1, SETUP_CORNER + 2, SETUP_CORNER + 3};
  const lac_grid *g = &j->grid;
  HN(real) *weights = (HN(real) *)j->weights + range->item * LAC_GRID_WEIGHTS * lac_grid_cells(g);
  for (int q = 0; q < LAC_GRID_WEIGHTS; ++q) {
    const W *from = VN(line)(j, lines, cell, lines_of[q]);
    HN(real) *to = weights + q * lac_grid_cells(g) + (cell + 1) * g->stride + 1;
    for (int64_t i = 0; i < g->across; ++i) to[i] = (HN(real))creal(from[i]);
  }
}

// -- the next matrix -------------------------------------------------------------------------------------------------

// y += x w, where w is real and NULL stands for ones
INLINE void VN(add_product)(int64_t n, const W *x, const W *w, W *y) {
  if (w) {
    VECTOR_LOOP for (int64_t i = 0; i < n; ++i) y[i] += x[i] * (real_f64)creal(w[i]);
  } else {
    VECTOR_LOOP for (int64_t i = 0; i < n; ++i) y[i] += x[i];
  }
}

// A P of a row of cells: for each colour, nine lines of what it has to do with the points of the next grid around.
static void VN(times_weights)(const setup_job *j, int64_t cell, W *a[9][4], W *lines) {
  const lac_grid *g = &j->grid;
  memset(VN(line)(j, lines, cell, SETUP_PRODUCT) - 1, 0, (size_t)(36 * g->stride) * sizeof(W));
  for (int c = 0; c < 4; ++c) {
    for (int d = 0; d < 9; ++d) {
      if (!g->has_corners && grid_is_corner(d)) continue;
      grid_neighbour n = grid_next_to(c, d);
      for (int p = 0; p < setup_parents[n.colour].count; ++p) {
        const setup_parent *parent = &setup_parents[n.colour].each[p];
        int to = (n.down + parent->down + 1) * 3 + n.across + parent->across + 1;
        const W *w = parent->line < 0 ? NULL : VN(line)(j, lines, cell + n.down, parent->line) + n.across;
        VN(add_product)(g->across, a[d][c], w, VN(line)(j, lines, cell, SETUP_PRODUCT + 9 * c + to));
      }
    }
  }
}

// A row of P^T (A P), in nine lines, from its own row of cells and the one before.
static void VN(gather_next)(const setup_job *j, int64_t cell, W *lines, W *out[9]) {
  const int64_t n = j->grid.across;
  for (int d = 0; d < 9; ++d) memset(out[d], 0, (size_t)n * sizeof(W));
  for (int c = 0; c < 4; ++c) {
    for (int p = 0; p < setup_parents[c].count; ++p) {
      const setup_parent *parent = &setup_parents[c].each[p];
      const int64_t row = cell - parent->down;
      const W *w = parent->line < 0 ? NULL : VN(line)(j, lines, row, parent->line) - parent->across;
      for (int t = 0; t < 9; ++t) {
        int down = t / 3 - 1 - parent->down, across = t % 3 - 1 - parent->across;
        if ((c / 2 && t / 3 == 0) || (c % 2 && t % 3 == 0)) continue;  // points have nothing to do with those before
        VN(add_product)
        (n, VN(line)(j, lines, row, SETUP_PRODUCT + 9 * c + t) - parent->across, w, out[(down + 1) * 3 + across + 1]);
      }
    }
  }
}

static void VN(give_next)(const setup_job *j, const grid_range *range, int64_t y, W *out[9]) {
  const lac_grid *next = &j->next;
  const int64_t room = lac_grid_room(next);
  for (int d = 0; d < 9; ++d) {
    W *even = (W *)j->out + (range->item * 9 + d) * room + ((y / 2 + 1) * 4 + y % 2 * 2) * next->stride + 1;
    W *odd = even + next->stride;
    for (int64_t i = 0; i < next->width / 2; ++i) even[i] = out[d][2 * i], odd[i] = out[d][2 * i + 1];
    if (next->width % 2) even[next->across - 1] = out[d][next->width - 1];
  }
}

// Row t + 1 is read and has its edges, row t its middles, and row t its part of the next matrix.
static void VN(set_up)(const void *shared, const grid_range *range) {
  const setup_job *j = shared;
  W *lines = range->work, *a[SETUP_ROWS][9][4], *out[9];
  for (int d = 0; d < 9; ++d) out[d] = lines + (SETUP_ROWS * SETUP_LINES + d) * j->grid.stride + 1;
  for (int64_t t = range->begin - 2; t < range->end; ++t) {
    W *(*here)[4] = a[(t + SETUP_ROWS) % SETUP_ROWS], *(*below)[4] = a[(t + 1 + SETUP_ROWS) % SETUP_ROWS];
    VN(open_matrix)(j, range, t + 1, lines, below);
    VN(invert_row)(j, t + 1, below, lines);
    VN(edges)(j, t + 1, below, lines);
    if (t < range->begin - 1) continue;
    VN(middles)(j, t, here, lines);
    VN(times_weights)(j, t, here, lines);
    if (t < range->begin) continue;
    VN(keep_matrix)(j, range, t, here, lines);
    VN(keep_weights)(j, range, t, lines);
    VN(gather_next)(j, t, lines, out);
    VN(give_next)(j, range, t, out);
  }
}

#undef W

// SPDX-License-Identifier: Apache-2.0
// The two halves of a cycle on a grid, for one dtype; grid_cycle.c says in which order rows of cells are worked on.

#define REAL FN(real)

// Numbers of a point's entries and of the neighbours that these lead to, along a row of cells.
typedef struct FN(terms) {
  const T *a[8], *x[8];
} FN(terms);

// The place of a colour in a row of cells: of a vector that is kept whole, and of the one in hand.
INLINE int64_t FN(at)(const lac_grid *g, int64_t cell, int colour) {
  return ((cell + 1) * LAC_GRID_COLOURS + colour) * g->stride + 1;
}
INLINE T *FN(row)(const cycle_job *j, T *rows, int64_t cell, int colour) {
  return rows + ((cell & (CYCLE_ROWS - 1)) * LAC_GRID_COLOURS + colour) * j->grid.stride + 1;
}

// What a part works in: rows of cells, what was put aside of them, those of b where it is in row order, and lines.
typedef struct FN(hand) {
  T *rows, *kept, *given, *lines[4];
} FN(hand);

INLINE FN(hand) FN(hand_of)(const cycle_job *j, void *work) {
  const int64_t rows = CYCLE_ROWS * LAC_GRID_COLOURS * j->grid.stride;
  FN(hand) h = {.rows = work, .kept = (T *)work + rows, .given = (T *)work + 2 * rows};
  for (int q = 0; q < 4; ++q) h.lines[q] = h.given + rows + q * j->grid.stride + 1;
  return h;
}

// The entries of a direction: at the point itself, or at the neighbour, whose entry leads back.
INLINE const T *FN(entries)(const cycle_job *j, const T *planes, int64_t cell, int colour, int direction) {
  const lac_grid *g = &j->grid;
  bool is_back = j->is_half ? direction < LAC_GRID_HERE : j->transposes;
  int plane = lac_grid_plane(g->has_corners, is_back ? 8 - direction : direction);
  grid_neighbour n = is_back ? grid_next_to(colour, direction) : (grid_neighbour){colour, 0, 0};
  return planes + plane * lac_grid_room(g) + FN(at)(g, cell + n.down, n.colour) + n.across;
}

// The terms of some directions.
INLINE void FN(gather)(const cycle_job *j, const T *planes, T *rows, int64_t cell, int colour, const grid_reach *reach,
                       FN(terms) * t) {
  for (int q = 0; q < reach->count; ++q) {
    grid_neighbour n = grid_next_to(colour, reach->directions[q]);
    t->a[q] = FN(entries)(j, planes, cell, colour, reach->directions[q]);
    t->x[q] = FN(row)(j, rows, cell + n.down, n.colour) + n.across;
  }
}

// s = b - sum of terms; y = s times the reciprocal of the diagonal, and s into `kept`, or, without it, y = s - kept.
INLINE void FN(sum_terms)(const int64_t n, const int count, const bool keeps, const REAL sign, const FN(terms) * t,
                          const T *b, const T *reciprocal, T *kept, T *y) {
  const FN(terms) own = *t;
  VECTOR_LOOP for (int64_t i = 0; i < n; ++i) {
    T s = b[i];
    UNROLL(8) for (int q = 0; q < count; ++q) s = FN(mac)(s, -FN(signed)(own.a[q][i], sign), own.x[q][i]);
    y[i] = reciprocal ? FN(mul)(s, FN(signed)(reciprocal[i], sign)) : s - kept[i];
    if (keeps) kept[i] = s;
  }
}

// One colour of a row of cells from some of its neighbours. What `keeps` needs for the residual is put aside.
static void FN(relax)(const cycle_job *j, const T *planes, const FN(hand) * h, const T *b, int64_t cell, int colour,
                      const grid_reach *reach, bool keeps) {
  const int64_t n = j->grid.across;
  const REAL sign = (REAL)j->sign;
  const T *reciprocal = planes + FN(at)(&j->grid, cell, colour), *own = b + colour * j->grid.stride + 1;
  T *y = FN(row)(j, h->rows, cell, colour), *kept = FN(row)(j, h->kept, cell, colour);
  FN(terms) t = {{NULL}, {NULL}};
  FN(gather)(j, planes, h->rows, cell, colour, reach, &t);
  if (reach->count == 0) FN(sum_terms)(n, 0, false, sign, &t, own, reciprocal, kept, y);
  if (reach->count == 4 && keeps) FN(sum_terms)(n, 4, true, sign, &t, own, reciprocal, kept, y);
  if (reach->count == 4 && !keeps) FN(sum_terms)(n, 4, false, sign, &t, own, reciprocal, kept, y);
  if (reach->count == 8 && keeps) FN(sum_terms)(n, 8, true, sign, &t, own, reciprocal, kept, y);
  if (reach->count == 8 && !keeps) FN(sum_terms)(n, 8, false, sign, &t, own, reciprocal, kept, y);
}

// The residual of a colour: b less its neighbours now, less the same when it was relaxed.
static void FN(remain)(const cycle_job *j, const T *planes, const FN(hand) * h, const T *b, int64_t cell, int colour,
                       T *r) {
  const int64_t n = j->grid.across;
  const T *own = b + colour * j->grid.stride + 1;
  T *kept = FN(row)(j, h->kept, cell, colour);
  const grid_reach *reach = grid_neighbours(&j->grid);
  FN(terms) t = {{NULL}, {NULL}};
  FN(gather)(j, planes, h->rows, cell, colour, reach, &t);
  if (reach->count == 4) FN(sum_terms)(n, 4, false, (REAL)j->sign, &t, own, NULL, kept, r);
  if (reach->count == 8) FN(sum_terms)(n, 8, false, (REAL)j->sign, &t, own, NULL, kept, r);
}

// -- rows of the next grid -------------------------------------------------------------------------------------------

// A row of the next grid to its place, with zeros where it completes the last cells.
static void FN(give_coarse)(const cycle_job *j, const T *r, int64_t y, int64_t column, T *to) {
  const lac_grid *g = &j->grid, *next = &j->next;
  if (j->is_last) {
    for (int64_t x = 0; x < g->across; ++x) to[(y * g->across + x) * j->columns + column] = r[x];
    return;
  }
  T *even = to + FN(at)(next, y / 2, y % 2 * 2), *odd = even + next->stride;
  for (int64_t i = 0; i < g->across / 2; ++i) even[i] = r[2 * i], odd[i] = r[2 * i + 1];
  if (g->across % 2) even[next->across - 1] = r[g->across - 1], odd[next->across - 1] = 0;
  if (y + 1 < g->down || y % 2) return;
  for (int colour = 2; colour < LAC_GRID_COLOURS; ++colour) {
    memset(to + FN(at)(next, y / 2, colour), 0, (size_t)next->across * sizeof *to);
  }
}

// A row of the next grid as the numbers of cells, zero beyond the grid.
static void FN(take_coarse)(const cycle_job *j, const T *from, int64_t y, int64_t column, T *c) {
  const lac_grid *g = &j->grid, *next = &j->next;
  if (y < 0 || y >= g->down) {
    memset(c, 0, (size_t)g->across * sizeof *c);
    return;
  }
  if (j->is_last) {
    for (int64_t x = 0; x < g->across; ++x) c[x] = from[(y * g->across + x) * j->columns + column];
    return;
  }
  const T *even = from + FN(at)(next, y / 2, y % 2 * 2), *odd = even + next->stride;
  for (int64_t i = 0; i < g->across / 2; ++i) c[2 * i] = even[i], c[2 * i + 1] = odd[i];
  if (g->across % 2) c[g->across - 1] = even[next->across - 1];
}

INLINE const REAL *FN(weights)(const cycle_job *j, const REAL *weights, int which, int64_t cell) {
  return weights + which * lac_grid_cells(&j->grid) + (cell + 1) * j->grid.stride + 1;
}

// A row of P^T r: r of the points in its own row of cells and, of those in the middle, of the row before.
static void FN(restrict_row)(const cycle_job *j, const REAL *weights, int64_t cell, const T *ee, const T *eo,
                             const T *oo, const T *before, T *out) {
  const int64_t n = j->grid.across;
  const REAL *west = FN(weights)(j, weights, LAC_GRID_WEST, cell), *east = FN(weights)(j, weights, LAC_GRID_EAST, cell);
  const REAL *w[4];
  for (int c = 0; c < 4; ++c) w[c] = FN(weights)(j, weights, LAC_GRID_CORNER + c, cell - c / 2);
  VECTOR_LOOP for (int64_t i = 0; i < n; ++i) {
    out[i] = ee[i] + oo[i] * w[0][i] + oo[i - 1] * w[1][i - 1] + before[i] * w[2][i] + before[i - 1] * w[3][i - 1];
  }
  if (!j->grid.has_corners) return;  // r is zero between the ends
  VECTOR_LOOP for (int64_t i = 0; i < n; ++i) out[i] += eo[i] * west[i] + eo[i - 1] * east[i - 1];
}

// x + P c on a row of cells, but for the points that are relaxed before they are read.
static void FN(prolong_row)(const cycle_job *j, const REAL *weights, int64_t cell, const T *x, const T *c,
                            const T *below, T *rows) {
  const int64_t n = j->grid.across, stride = j->grid.stride;
  const REAL *west = FN(weights)(j, weights, LAC_GRID_WEST, cell), *east = FN(weights)(j, weights, LAC_GRID_EAST, cell);
  const REAL *w[4];
  T *ee = FN(row)(j, rows, cell, 0), *eo = ee + stride, *oo = eo + 2 * stride;
  const T *from = x + FN(at)(&j->grid, cell, 0);
  for (int q = 0; q < 4; ++q) w[q] = FN(weights)(j, weights, LAC_GRID_CORNER + q, cell);
  VECTOR_LOOP for (int64_t i = 0; i < n; ++i) {
    ee[i] = from[i] + c[i];
    oo[i] = from[3 * stride + i] + c[i] * w[0][i] + c[i + 1] * w[1][i] + below[i] * w[2][i] + below[i + 1] * w[3][i];
  }
  if (!j->grid.has_corners) return;
  VECTOR_LOOP for (int64_t i = 0; i < n; ++i) eo[i] = from[stride + i] + c[i] * west[i] + c[i + 1] * east[i];
}

// -- the halves ------------------------------------------------------------------------------------------------------

// A row of cells of b.
INLINE const T *FN(given)(const cycle_job *j, const FN(hand) * h, const T *b, int64_t cell) {
  if (!j->take) return b + FN(at)(&j->grid, cell, 0) - 1;
  return h->given + (cell & (CYCLE_ROWS - 1)) * LAC_GRID_COLOURS * j->grid.stride;
}

// Begin with a row of cells: zeros beyond the grid, and b where it is in row order. False: it is beyond.
static bool FN(open_row)(const cycle_job *j, const FN(hand) * h, const grid_range *range, int64_t cell) {
  T *row = FN(row)(j, h->rows, cell, 0) - 1;
  if (cell < 0 || cell >= j->grid.down) {
    memset(row, 0, (size_t)(LAC_GRID_COLOURS * j->grid.stride) * sizeof *row);
    return false;
  }
  if (j->take) {
    j->take(&j->grid, cell, cycle_caller(j, j->b, range), j->columns, cycle_scale(j, range, 0),
            h->given + (cell & (CYCLE_ROWS - 1)) * LAC_GRID_COLOURS * j->grid.stride);
  }
  return true;
}

// All stages that have come to a row of cells when row `newest` is opened.
static void FN(sweep)(const cycle_job *j, const T *planes, const FN(hand) * h, const grid_range *range, const T *b,
                      int64_t newest) {
  for (int q = 0; q < j->plan->count; ++q) {
    const cycle_stage *stage = &j->plan->stages[q];
    const int64_t cell = newest - stage->lag;
    if (cell < 0 || cell < range->begin - CYCLE_AHEAD || cell >= j->grid.down) continue;
    FN(relax)(j, planes, h, FN(given)(j, h, b, cell), cell, stage->colour, stage->reach, stage->keeps);
  }
}

static void FN(descend)(const void *shared, const grid_range *range) {
  const cycle_job *j = shared;
  const T *planes = cycle_item(j->planes, range), *b = cycle_vector(j, j->b, range);
  const REAL *weights = cycle_item(j->weights, range);
  T *x = cycle_vector(j, j->x, range), *to = cycle_coarse(j, range);
  const FN(hand) h = FN(hand_of)(j, range->work);
  T *ee = h.lines[0], *eo = h.lines[1], *oo = h.lines[2], *before = h.lines[3];

  memset(before, 0, (size_t)j->grid.across * sizeof *before);
  memset(oo, 0, (size_t)j->grid.across * sizeof *oo);
  for (int64_t newest = range->begin - CYCLE_AHEAD; newest < range->end + j->plan->last; ++newest) {
    const int64_t cell = newest - j->plan->last;
    FN(open_row)(j, &h, range, newest);
    FN(sweep)(j, planes, &h, range, b, newest);
    if (cell < 0 || cell < range->begin - 1) continue;
    const T *own = FN(given)(j, &h, b, cell);
    T *swapped = before;
    before = oo, oo = swapped;
    FN(remain)(j, planes, &h, own, cell, 3, oo);
    if (cell < range->begin) continue;
    FN(remain)(j, planes, &h, own, cell, 0, ee);
    if (j->grid.has_corners) FN(remain)(j, planes, &h, own, cell, 1, eo);
    memcpy(x + FN(at)(&j->grid, cell, 0), FN(row)(j, h.rows, cell, 0), cycle_row_bytes(j, sizeof *x));
    FN(restrict_row)(j, weights, cell, ee, eo, oo, before, ee);
    FN(give_coarse)(j, ee, cell, range->column, to);
  }
}

static void FN(ascend)(const void *shared, const grid_range *range) {
  const cycle_job *j = shared;
  const T *planes = cycle_item(j->planes, range), *b = cycle_vector(j, j->b, range);
  const T *x = cycle_vector(j, j->x, range), *from = cycle_coarse(j, range);
  const REAL *weights = cycle_item(j->weights, range);
  const FN(hand) h = FN(hand_of)(j, range->work);
  T *c = h.lines[0], *below = h.lines[1], *z = cycle_vector(j, j->z, range);

  FN(take_coarse)(j, from, range->begin - CYCLE_AHEAD, range->column, below);
  for (int64_t newest = range->begin - CYCLE_AHEAD; newest < range->end + j->plan->last; ++newest) {
    const int64_t cell = newest - j->plan->last;
    T *swapped = c;
    c = below, below = swapped;
    FN(take_coarse)(j, from, newest + 1, range->column, below);
    if (FN(open_row)(j, &h, range, newest)) FN(prolong_row)(j, weights, newest, x, c, below, h.rows);
    FN(sweep)(j, planes, &h, range, b, newest);
    if (cell < range->begin) continue;
    const T *row = FN(row)(j, h.rows, cell, 0);
    if (j->give) {
      j->give(&j->grid, cell, row - 1, cycle_scale(j, range, 1), j->columns, cycle_caller(j, j->z, range));
    } else {
      memcpy(z + FN(at)(&j->grid, cell, 0), row, cycle_row_bytes(j, sizeof *z));
    }
  }
}

#undef REAL

// SPDX-License-Identifier: Apache-2.0
// The set-up of a level in the numbers T in which it is computed, f64 or c128; grid_setup.c has the equations. Loops
// run along whole lines, whose length is a constant, and everything but the line is unrolled: sums stay in registers.

// The lines of the rows of cells in hand, by setup_line and from its first number on.
typedef struct FN(hand) {
  T *matrix[2], *inverse[2], *product[2], *next;
  f64 *weights[3], *largest;
} FN(hand);

INLINE FN(hand) FN(hand_of)(void *work) {
  FN(hand) h;
  T *lines = (T *)work + SETUP_LEAD;
  for (int q = 0; q < 2; ++q) {
    h.matrix[q] = lines + setup_line(q * SETUP_MATRIX);
    h.inverse[q] = lines + setup_line(2 * SETUP_MATRIX + q * LAC_GRID_COLOURS);
    h.product[q] = lines + setup_line(2 * (SETUP_MATRIX + LAC_GRID_COLOURS) + q * SETUP_PRODUCT);
  }
  h.next = lines + setup_line(2 * (SETUP_MATRIX + LAC_GRID_COLOURS + SETUP_PRODUCT));
  f64 *weights = (f64 *)(lines + setup_line(SETUP_NUMBERS)) + SETUP_LEAD;
  for (int q = 0; q < 3; ++q) h.weights[q] = weights + setup_line(q * SETUP_WEIGHTS);
  h.largest = weights + setup_line(3 * SETUP_WEIGHTS);
  return h;
}

// -- rows of the matrix ----------------------------------------------------------------------------------------------

// Entries on a level that was made by the one before. Of half a matrix, those that are not there are found at the
// neighbour.
static void FN(read_planes)(const setup_job *j, const setup_strip *s, T *a) {
  const lac_grid *g = &j->grid;
  const T *planes = (const T *)j->values + s->item * LAC_GRID_DIRECTIONS * lac_grid_room(g) + s->first - 1;
  for (int d = 0; d < LAC_GRID_DIRECTIONS; ++d) {
    const bool is_back = j->is_given_half && d < LAC_GRID_HERE;
    const T *plane = planes + (is_back ? 8 - d : d) * lac_grid_room(g);
    for (int c = 0; c < LAC_GRID_COLOURS; ++c) {
      const grid_neighbour at = is_back ? grid_next_to(c, d) : (grid_neighbour){c, 0, 0};
      const T *from = plane + ((s->cell + at.down + 1) * LAC_GRID_COLOURS + at.colour) * g->stride + at.across;
      memcpy(a + setup_line(4 * d + c), from, (size_t)(s->n + 2) * sizeof *a);
      if (s->first == 0) a[setup_line(4 * d + c)] = 0;  // before the place of zeros
    }
  }
}

// Entries, into lines; zeros beyond the grid.
static void FN(read)(const setup_job *j, const setup_strip *s, T *a) {
  if (s->cell < 0 || s->cell >= j->grid.down) {
    memset(a, 0, (size_t)(setup_line(SETUP_MATRIX) - SETUP_END) * sizeof *a);
  } else if (j->read) {
    j->read(j, s, a);
  } else {
    FN(read_planes)(j, s, a);
  }
}

// -- interpolation ---------------------------------------------------------------------------------------------------

// One over the diagonal entries, and the largest that was seen.
INLINE void FN(invert)(const bool corners, const f64 least, const T *a, T *inverse, f64 *largest) {
  for (int c = 0; c < LAC_GRID_COLOURS; ++c) {
    const T *own = a + setup_line(c);
    T *to = inverse + setup_line(c);
    VECTOR_LOOP for (int64_t i = 0; i < SETUP_WIDE; ++i) {
      f64 beside = 0;
      UNROLL(9) for (int d = 0; d < LAC_GRID_DIRECTIONS; ++d) {
        if (d != LAC_GRID_HERE && (corners || !grid_is_corner(d))) beside += FN(size)(own[setup_line(4 * d) + i]);
      }
      to[i] = FN(setup_inverse)(own[setup_line(4 * LAC_GRID_HERE) + i], beside / 2, least);
      const f64 size = FN(size)(to[i]);
      largest[i] = size > largest[i] ? size : largest[i];
    }
  }
}

// What a point takes from neighbours, the sum of whose entries is given: its real part over the diagonal, with a minus.
INLINE f64 FN(taken)(T entries, T inverse) {
  return FN(im)(entries) * FN(im)(inverse) - FN(re)(entries) * FN(re)(inverse);
}

// The entry of a direction, with those of the corners beside it along an axis, one direction is `step` away from the
// next.
INLINE T FN(side)(const bool corners, const T *a, const int direction, const int step) {
  const T own = a[setup_line(4 * direction)];
  return corners ? a[setup_line(4 * (direction - step))] + own + a[setup_line(4 * (direction + step))] : own;
}

// Weights from the two ends of an axis to the points of a colour between them: `step` directions are from one end to
// the middle.
INLINE void FN(between)(const bool corners, const T *a, const T *inverse, const int step, f64 *w) {
  const int other = 4 - step;
  VECTOR_LOOP for (int64_t i = 0; i < SETUP_WIDE; ++i) {
    const f64 p = FN(taken)(FN(side)(corners, a + i, LAC_GRID_HERE - step, other), inverse[i]);
    const f64 q = FN(taken)(FN(side)(corners, a + i, LAC_GRID_HERE + step, other), inverse[i]);
    const T along = a[setup_line(4 * (LAC_GRID_HERE - other)) + i] + a[setup_line(4 * (LAC_GRID_HERE + other)) + i];
    const f64 share = setup_share(p, q, 1 - FN(taken)(along, inverse[i]));
    w[i] = p * share, w[setup_line(1) + i] = q * share;
  }
}

// Weights of the points in the middle: by their own row, from the corners and the points between these.
INLINE void FN(middles)(const bool corners, const T *a, const T *inverse, const f64 *below, f64 *w) {
  const f64 *west = w + setup_line(SETUP_WEST), *east = w + setup_line(SETUP_EAST);
  const f64 *before = w + setup_line(SETUP_BEFORE), *behind = w + setup_line(SETUP_BEHIND);
  const f64 *below_west = below + setup_line(SETUP_WEST), *below_east = below + setup_line(SETUP_EAST);
  f64 *to = w + setup_line(SETUP_CORNER);
  VECTOR_LOOP for (int64_t i = 0; i < SETUP_WIDE; ++i) {
    f64 v[9];
    UNROLL(9) for (int d = 0; d < LAC_GRID_DIRECTIONS; ++d) {
      v[d] = corners || !grid_is_corner(d) ? FN(taken)(a[setup_line(4 * d + 3) + i], inverse[setup_line(3) + i]) : 0;
    }
    to[i] = v[0] + v[1] * west[i] + v[3] * before[i];
    to[setup_line(1) + i] = v[2] + v[1] * east[i] + v[5] * before[i + 1];
    to[setup_line(2) + i] = v[6] + v[7] * below_west[i] + v[3] * behind[i];
    to[setup_line(3) + i] = v[8] + v[7] * below_east[i] + v[5] * behind[i + 1];
  }
}

// -- the next matrix -------------------------------------------------------------------------------------------------

// An entry times the weights of the neighbour it leads to: what the point has thereby to do with points of the next
// grid around.
INLINE void FN(spread)(const int colour, const int direction, const T entry, f64 *const w[3], const int64_t i,
                       T sum[9]) {
  const grid_neighbour n = grid_next_to(colour, direction);
  UNROLL(2) for (int y = 0; y <= n.colour / 2; ++y) {
    UNROLL(2) for (int x = 0; x <= n.colour % 2; ++x) {
      const int to = (n.down + y + 1) * 3 + n.across + x + 1;
      const f64 *weights = w[n.down + 1] + setup_line(setup_weight(n.colour, y, x)) + n.across;
      sum[to] += n.colour ? entry * weights[i] : entry;
    }
  }
}

// A P of a row of cells for one colour, in nine lines.
INLINE void FN(times_weights)(const bool corners, const int colour, const T *a, f64 *const weights[3], T *product) {
  f64 *const w[3] = {weights[0], weights[1], weights[2]};
  VECTOR_LOOP for (int64_t i = 0; i < SETUP_WIDE; ++i) {
    T sum[9] = {0};
    UNROLL(9) for (int d = 0; d < LAC_GRID_DIRECTIONS; ++d) {
      if (corners || !grid_is_corner(d)) FN(spread)(colour, d, a[setup_line(4 * d + colour) + i], w, i, sum);
    }
    UNROLL(9) for (int t = 0; t < LAC_GRID_DIRECTIONS; ++t) {
      if (setup_reaches(colour, t)) product[setup_line(setup_product(colour, t)) + i] = sum[t];
    }
  }
}

// What points of a colour add to the row of P^T (A P) of the one they are interpolated from that lies (y, x) cells
// away.
INLINE void FN(collect)(const int colour, const int y, const int x, const T *product, const f64 *weights,
                        const int64_t i, T sum[9]) {
  const f64 weight = weights[setup_line(setup_weight(colour, y, x)) + i - x];
  UNROLL(9) for (int t = 0; t < LAC_GRID_DIRECTIONS; ++t) {
    if (setup_reaches(colour, t)) sum[t - 3 * y - x] += product[setup_line(setup_product(colour, t)) + i - x] * weight;
  }
}

// A row of P^T (A P), in nine lines, or in the last five of them, from its own row of cells and the one before.
INLINE void FN(gather)(const bool corners, const bool is_half, const T *a, f64 *const weights[3], const T *before,
                       const T *here, T *out) {
  f64 *const w[3] = {weights[0], weights[1], weights[2]};
  VECTOR_LOOP for (int64_t i = 0; i < SETUP_WIDE; ++i) {
    T sum[9] = {0};
    UNROLL(9) for (int d = 0; d < LAC_GRID_DIRECTIONS; ++d) {
      if (corners || !grid_is_corner(d)) FN(spread)(0, d, a[setup_line(4 * d) + i], w, i, sum);
    }
    FN(collect)(1, 0, 0, here, w[1], i, sum), FN(collect)(1, 0, 1, here, w[1], i, sum);
    FN(collect)(2, 0, 0, here, w[1], i, sum), FN(collect)(2, 1, 0, before, w[0], i, sum);
    FN(collect)(3, 0, 0, here, w[1], i, sum), FN(collect)(3, 0, 1, here, w[1], i, sum);
    FN(collect)(3, 1, 0, before, w[0], i, sum), FN(collect)(3, 1, 1, before, w[0], i, sum);
    UNROLL(9) for (int d = is_half ? LAC_GRID_HERE : 0; d < LAC_GRID_DIRECTIONS; ++d) out[setup_line(d) + i] = sum[d];
  }
}

// Points of the next grid to the places of their colours, the first of a strip is in an odd column; and zeros at both
// ends of a row.
static void FN(give_next)(const setup_job *j, const setup_strip *s, const T *out) {
  const lac_grid *next = &j->next;
  const int64_t first = s->first / 2, left = next->stride - 1 - first, count = left < s->n / 2 ? left : s->n / 2;
  const bool is_last = s->first + s->n == j->grid.stride;
  for (int d = j->gives_half ? LAC_GRID_HERE : 0; d < LAC_GRID_DIRECTIONS; ++d) {
    T *even = (T *)j->out + setup_next_at(j, s->item, d, s->cell) + first + 1, *odd = even - 1 + next->stride;
    const T *from = out + setup_line(d) + 1;
    VECTOR_LOOP for (int64_t i = 0; i < count; ++i) odd[i] = from[2 * i], even[i] = from[2 * i + 1];
    if (first == 0) even[-1] = 0;
    for (int64_t i = count; is_last && i < left; ++i) odd[i] = even[i] = 0;
    if (is_last) odd[left] = 0;
  }
}

// -- strips ----------------------------------------------------------------------------------------------------------

// All of a strip: row t + 1 of cells is read and has its edges; row t has its middles and its part of the next matrix.
INLINE void FN(walk)(const setup_job *j, const grid_range *range, int64_t first, const bool corners) {
  const FN(hand) h = FN(hand_of)(range->work);
  const int64_t left = j->grid.stride - first, n = left < SETUP_STRIP ? left : SETUP_STRIP;
  for (int64_t t = range->begin - 2; t < range->end; ++t) {
    const setup_strip here = {range->item, t, first, n}, below = {range->item, t + 1, first, n};
    f64 *const w[3] = {h.weights[(t + 2) % 3], h.weights[(t + 3) % 3], h.weights[(t + 4) % 3]};
    T *a = h.matrix[t & 1], *b = h.matrix[(t + 1) & 1], *inverse = h.inverse[(t + 1) & 1];
    T *product = h.product[t & 1], *before = h.product[(t + 1) & 1];
    FN(read)(j, &below, b);
    FN(invert)(corners, j->least, b, inverse, h.largest);
    FN(between)(corners, b + setup_line(1), inverse + setup_line(1), 1, w[2] + setup_line(SETUP_WEST));
    FN(between)(corners, b + setup_line(2), inverse + setup_line(2), 3, w[2] + setup_line(SETUP_BEFORE));
    if (t + 1 >= range->begin && t + 1 < range->end) setup_keep_matrix(j, &below, b, inverse);
    if (t < range->begin - 1) continue;
    FN(middles)(corners, a, h.inverse[t & 1], w[2], w[1]);
    FN(times_weights)(corners, 1, a, w, product);
    FN(times_weights)(corners, 2, a, w, product);
    FN(times_weights)(corners, 3, a, w, product);
    if (t < range->begin) continue;
    setup_keep_weights(j, &here, w[1]);
    if (j->gives_half) FN(gather)(corners, true, a, w, before, product, h.next);
    if (!j->gives_half) FN(gather)(corners, false, a, w, before, product, h.next);
    FN(give_next)(j, &here, h.next);
  }
}

static void FN(set_up)(const void *shared, const grid_range *range) {
  const setup_job *j = shared;
  const f64 *largest = FN(hand_of)(range->work).largest;
  setup_clear(j, range);
  for (int64_t first = 0; first < j->grid.stride; first += SETUP_STRIP) {
    if (j->grid.has_corners) FN(walk)(j, range, first, true);
    if (!j->grid.has_corners) FN(walk)(j, range, first, false);
  }
  cpu_stream_end();
  for (int i = 0; i < SETUP_WIDE; ++i) setup_note(j->largest, largest[i]);
}

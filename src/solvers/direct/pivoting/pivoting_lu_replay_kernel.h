// SPDX-License-Identifier: Apache-2.0
// A replay for one dtype; pivoting_lu_replay.h has the equations. Included once for each.

static double FN(replay_size)(const void *values, int64_t slot) { return FN(size)(((const T *)values)[slot]); }

// R and C by steps.
static void FN(replay_scales)(const pivoting_analysis *a, const pivoting_numeric *f, pivoting_replay *r) {
  REAL *load = r->load_scale, *store = r->store_scale;
  memcpy(r->row_scale, f->row_scale, (size_t)r->n * sizeof(REAL));
  memcpy(r->col_scale, f->col_scale, (size_t)r->n * sizeof(REAL));
  for (int32_t k = 0; k < r->n; k++) {
    load[k] = ((const REAL *)f->row_scale)[f->shape->pivots[k]];
    store[k] = ((const REAL *)f->col_scale)[a->order[k]];
  }
}

static double FN(replay_scale_of)(const pivoting_replay *r, int32_t row, int32_t column) {
  return (double)((const REAL *)r->row_scale)[row] * (double)((const REAL *)r->col_scale)[column];
}

// The largest and the smallest size of numbers; of several at once, so that none waits for the one before.
static double FN(replay_most)(const T *x, int32_t count) {
  double most[REPLAY_LANES] = {0};
  int32_t i = 0;
  for (; i + REPLAY_LANES <= count; i += REPLAY_LANES) {
    for (int c = 0; c < REPLAY_LANES; c++) {
      double size = FN(size)(x[i + c]);
      most[c] = size > most[c] ? size : most[c];
    }
  }
  for (; i < count; i++) most[0] = fmax(most[0], FN(size)(x[i]));
  for (int c = 1; c < REPLAY_LANES; c++) most[0] = fmax(most[0], most[c]);
  return most[0];
}

// Of those at the given places.
static double FN(replay_least)(const T *x, const uint16_t *at, int32_t count) {
  double least[REPLAY_LANES];
  int32_t i = 0;
  for (int c = 0; c < REPLAY_LANES; c++) least[c] = (double)INFINITY;
  for (; i + REPLAY_LANES <= count; i += REPLAY_LANES) {
    for (int c = 0; c < REPLAY_LANES; c++) {
      double size = FN(size)(x[at[i + c]]);
      least[c] = size < least[c] ? size : least[c];
    }
  }
  for (; i < count; i++) least[0] = fmin(least[0], FN(size)(x[at[i]]));
  for (int c = 1; c < REPLAY_LANES; c++) least[0] = fmin(least[0], least[c]);
  return least[0];
}

// All numbers of A. False: scales do not suit, or what is below the blocks is out of range.
static bool FN(replay_read)(const pivoting_replay *r, const T *a, T *v, double *most) {
  memset(v, 0, (size_t)r->below * sizeof *v);
  for (int32_t p = 0; p < r->entries; p++) v[r->target[p]] = (T)(a[p] * r->scale[p]);
  *most = FN(replay_most)(v, r->below);
  return *most < REPLAY_MOST && FN(replay_least)(v, r->largest, r->nears) >= REPLAY_LEAST &&
         isfinite(FN(replay_most)(v + r->below, r->inverse - r->below));
}

// L over the pivots of a level. False: a pivot is less than `tolerance` of what it eliminates or, where that is
// negative, than what is demanded; or something is not finite.
static inline bool FN(replay_divide)(const pivoting_replay *r, int32_t level, double tolerance, T *v,
                                     pivoting_numeric *f) {
  double growth = f->growth, weakest = f->weakest;
  bool suits = true;
  for (int32_t e = r->first_quotient[level]; e < r->first_quotient[level + 1]; e++) {
    T pivot = v[r->quotient[e].pivot], value = v[r->quotient[e].l];
    double size = FN(size)(pivot), candidate = FN(size)(value);
    suits &= (tolerance < 0 ? r->demand[e] : tolerance) * candidate <= size;
    if (candidate > growth) growth = candidate;
    if (size < weakest * candidate) weakest = size / candidate;
    v[r->quotient[e].l] = FN(div)(value, pivot);
  }
  f->growth = growth, f->weakest = weakest;
  return suits;
}

static bool FN(replay_eliminate)(const pivoting_replay *r, double tolerance, T *v, pivoting_numeric *f) {
  bool suits = true;
  for (int32_t level = 0; level < r->levels; level++) {
    for (int32_t e = r->first_step[level]; e < r->first_step[level + 1]; e++) {
      v[r->step[e].to] -= v[r->step[e].l] * v[r->step[e].u];
    }
    suits &= FN(replay_divide)(r, level, tolerance, v, f);
  }
  return suits;
}

// What pivots show, as pivoting_note, and one over each. False: one is out of range.
static bool FN(replay_note)(const pivoting_replay *r, const int32_t *order, T *v, pivoting_numeric *f) {
  const T *diagonal = v + r->diagonal, *u = v + r->u;
  T *inverse = v + r->inverse;
  double least = f->smallest, most = FN(replay_most)(diagonal, r->n), weakest = f->weakest;
  for (int32_t k = 0; k < r->n; k++) inverse[k] = FN(div)(1, diagonal[k]);
  for (int32_t k = 0; k < r->n; k++) {
    if (!(FN(size)(diagonal[k]) >= least)) least = FN(size)(diagonal[k]), f->where = order[k];
  }
  if (least < weakest) weakest = least;
  for (int32_t p = 0; p < r->diagonal - r->u; p++) {
    double size = FN(size)(diagonal[r->u_at[p].col]), above = FN(size)(u[p]);
    if (size < weakest * above) weakest = size / above;
  }
  f->smallest = least, f->weakest = weakest;
  if (most > f->growth) f->growth = most;
  return least >= FN(tiny) && f->growth <= 1 / FN(tiny);
}

static bool FN(replay_factor)(const pivoting_replay *r, const int32_t *order, const void *values, double tolerance,
                              void *numbers, pivoting_numeric *f) {
  T *v = numbers;
  double most;
  if (!FN(replay_read)(r, values, v, &most)) return false;
  f->apart = FN(replay_least)(values, r->unit, r->n) / FN(replay_most)(values, r->entries);
  if (!FN(replay_eliminate)(r, tolerance, v, f) || !FN(replay_note)(r, order, v, f)) return false;
  if (most > 1) f->smallest /= most, f->weakest /= most;
  return true;
}

// Those of L, in their order; of U and below with the value of a column over its pivot.
static inline void FN(replay_lower)(const replay_place *at, const T *l, int32_t begin, int32_t end, T *x) {
  for (int32_t p = begin; p < end; p++) x[at[p].row] -= l[p] * x[at[p].col];
}

static inline void FN(replay_below)(const replay_place *at, const T *below, const T *inverse, int32_t begin,
                                    int32_t end, T *x) {
  for (int32_t p = begin; p < end; p++) x[at[p].row] -= below[p] * (x[at[p].col] * inverse[at[p].col]);
}

static inline void FN(replay_upper)(const replay_place *at, const T *u, const T *inverse, int32_t begin, int32_t end,
                                    T *x) {
  for (int32_t p = end - 1; p >= begin; p--) x[at[p].row] -= u[p] * (x[at[p].col] * inverse[at[p].col]);
}

static void FN(replay_solve)(const pivoting_replay *r, const pivoting_shape *shape, const int32_t *order,
                             const void *numbers, const void *b, void *solution, void *work) {
  const T *v = numbers, *inverse = v + r->inverse, *from = b;
  const REAL *load = r->load_scale, *store = r->store_scale;
  T *x = work, *to = solution;
  for (int32_t k = 0; k < r->n; k++) x[k] = from[shape->pivots[k]] * load[k];
  for (int32_t s = 0; s < r->segments; s++) {
    int32_t begin = r->segment[s], end = r->segment[s + 1];
    FN(replay_lower)(r->l_at, v, (int32_t)shape->l.offsets[begin], (int32_t)shape->l.offsets[end], x);
    FN(replay_upper)(r->u_at, v + r->u, inverse, (int32_t)shape->u.offsets[begin], (int32_t)shape->u.offsets[end], x);
    FN(replay_below)
    (r->below_at, v + r->below, inverse, (int32_t)shape->below.offsets[begin], (int32_t)shape->below.offsets[end], x);
  }
  for (int32_t k = 0; k < r->n; k++) to[order[k]] = x[k] * inverse[k] * store[k];
}

// SPDX-License-Identifier: Apache-2.0
// A replay for one dtype; pivoting_lu_replay.h has the equations. Included once for each.

static double FN(replay_size)(const void *values, int64_t slot) { return FN(size)(((const T *)values)[slot]); }

// R and C, also by steps. False: one is out of the range of a float.
static bool FN(replay_scales)(const pivoting_analysis *a, const pivoting_numeric *f, pivoting_replay *r) {
  const REAL *rows = f->row_scale, *columns = f->col_scale;
  bool is_normal = true;
  memcpy(r->row_scale, rows, (size_t)r->n * sizeof(REAL));
  memcpy(r->col_scale, columns, (size_t)r->n * sizeof(REAL));
  for (int32_t k = 0; k < r->n; k++) {
    r->load_at[k] = (uint16_t)f->shape->pivots[k];
    r->store_at[k] = (uint16_t)a->order[k];
    r->load_scale[k] = (float)rows[r->load_at[k]];
    r->store_scale[k] = (float)columns[r->store_at[k]];
    is_normal &= isnormal(r->load_scale[k]) && isnormal(r->store_scale[k]);
  }
  return is_normal;
}

static double FN(replay_scale_of)(const pivoting_replay *r, int32_t row, int32_t column) {
  return (double)((const REAL *)r->row_scale)[row] * (double)((const REAL *)r->col_scale)[column];
}

static double FN(replay_most)(const T *x, int32_t count) {
  int64_t most = 0;
  for (int32_t i = 0; i < count; i++) {
    int64_t bits = replay_bits(FN(size)(x[i]));
    most = bits > most ? bits : most;
  }
  return replay_size_of(most);
}

static double FN(replay_least)(const T *x, int32_t count) {
  int64_t least = INT64_MAX;
  for (int32_t i = 0; i < count; i++) {
    int64_t bits = replay_bits(FN(size)(x[i]));
    least = bits < least ? bits : least;
  }
  return replay_size_of(least);
}

// The same of those at the given places.
static double FN(replay_least_at)(const T *x, const uint16_t *at, int32_t count) {
  int64_t least = INT64_MAX;
  for (int32_t i = 0; i < count; i++) {
    int64_t bits = replay_bits(FN(size)(x[at[i]]));
    least = bits < least ? bits : least;
  }
  return replay_size_of(least);
}

// The largest of |x_p| |inverse| of its column.
static double FN(replay_steepest)(const T *x, const replay_place *at, const T *inverse, int32_t count) {
  int64_t most = 0;
  for (int32_t i = 0; i < count; i++) {
    int64_t bits = replay_bits(FN(size)(x[i]) * FN(size)(inverse[at[i].col]));
    most = bits > most ? bits : most;
  }
  return replay_size_of(most);
}

// Numbers of A, scaled, at most REPLAY_RUN of them.
static void FN(replay_scale)(int32_t count, const T *a, const int16_t *power, T *to, replay_sizes *sizes) {
  int64_t most_given = sizes->given, most_read = sizes->read, most_inside = sizes->inside;
  for (int32_t i = 0; i < count; i++) {
    T value = a[i] * (REAL)power_of_two(power[i] >> 1);
    int64_t given = replay_bits(FN(size)(a[i])), read = replay_bits(FN(size)(value));
    int64_t inside = power[i] & 1 ? 0 : read;
    most_given = given > most_given ? given : most_given;
    most_read = read > most_read ? read : most_read;
    most_inside = inside > most_inside ? inside : most_inside;
    to[i] = value;
  }
  *sizes = (replay_sizes){most_given, most_read, most_inside};
}

// All numbers of A. False: scales do not suit, or what is below the blocks is out of range.
static bool FN(replay_read)(const pivoting_replay *r, const T *a, T *v, double *most, double *given) {
  replay_sizes sizes = {0, 0, 0};
  T run[REPLAY_RUN];
  memset(v, 0, (size_t)r->below * sizeof *v);
  memset(v + r->waste, 0, REPLAY_WASTE * sizeof *v);
  for (int32_t p = 0; p < r->entries; p += REPLAY_RUN) {
    int32_t count = r->entries - p < REPLAY_RUN ? r->entries - p : REPLAY_RUN;
    FN(replay_scale)(count, a + p, r->power + p, run, &sizes);
    for (int32_t i = 0; i < count; i++) v[r->target[p + i]] = run[i];
  }
  *most = replay_size_of(sizes.inside), *given = replay_size_of(sizes.given);
  return *most < REPLAY_MOST && isfinite(replay_size_of(sizes.read)) &&
         FN(replay_least_at)(v, r->largest, r->nears) >= REPLAY_LEAST;
}

// A number of L over its pivot. Returns the size that it had; *suits is false from now on where it demands another
// pivot.
static inline double FN(replay_quotient_of)(const pivoting_replay *r, int32_t e, const bool chosen, T *v, bool *suits) {
  replay_quotient q = r->quotient[e];
  T value = v[q.l];
  double size = FN(size)(value);
  if (chosen) *suits &= r->demand[e] * size <= FN(size)(v[r->diagonal + q.step]);
  v[q.l] = value * v[r->inverse + q.step];
  return size;
}

// L over the pivots of a level; the largest numbers of it before, of several at once.
static inline bool FN(replay_divide)(const pivoting_replay *r, int32_t level, const bool chosen, T *v,
                                     double most[REPLAY_CHAINS]) {
  int32_t e = r->first_quotient[level], end = r->first_quotient[level + 1];
  bool suits = true;
  for (int32_t i = r->first_column[level]; i < r->first_column[level + 1]; i++) {
    v[r->inverse + r->column[i]] = FN(div)(1, v[r->diagonal + r->column[i]]);
  }
  for (; e + REPLAY_CHAINS <= end; e += REPLAY_CHAINS) {
    for (int c = 0; c < REPLAY_CHAINS; c++) {
      double size = FN(replay_quotient_of)(r, e + c, chosen, v, &suits);
      most[c] = size > most[c] ? size : most[c];
    }
  }
  for (; e < end; e++) most[0] = fmax(most[0], FN(replay_quotient_of)(r, e, chosen, v, &suits));
  return suits;
}

// `most` is the largest number that was met below pivots. False: a search would find another pivot, if that is asked.
static inline __attribute__((always_inline)) bool FN(replay_eliminate)(const pivoting_replay *r, const bool chosen,
                                                                       T *v, double *most) {
  double met[REPLAY_CHAINS] = {0};
  bool suits = true;
  for (int32_t level = 0; level < r->levels; level++) {
    for (int32_t e = r->first_step[level]; e < r->first_step[level + 1]; e++) {
      replay_step step = r->step[e];
      T u = v[step.u], l = v[step.l], next = v[step.l + 1];
      v[step.to] -= l * u;
      v[step.other] -= next * u;
    }
    suits &= FN(replay_divide)(r, level, chosen, v, met);
  }
  *most = met[0];
  for (int c = 1; c < REPLAY_CHAINS; c++) *most = fmax(*most, met[c]);
  return suits;
}

// What pivots show, as pivoting_note; `below` is the largest number that was met below them. False: one is out of
// range, or less than `tolerance` of what it eliminates.
static bool FN(replay_note)(const pivoting_replay *r, double below, double tolerance, const T *v, pivoting_numeric *f) {
  const T *diagonal = v + r->diagonal, *inverse = v + r->inverse;
  double most = 1 / FN(tiny), largest = FN(replay_most)(diagonal, r->n), least = FN(replay_least)(diagonal, r->n);
  double multiplier = FN(replay_most)(v, r->u);
  double above = FN(replay_steepest)(v + r->u, r->u_at, inverse, r->diagonal - r->u);
  f->growth = fmax(f->growth, fmax(below, largest));
  f->smallest = fmin(f->smallest, least);
  f->weakest = fmin(fmin(f->weakest, least), 1 / fmax(multiplier, above));
  for (int32_t k = 0; k < r->n && f->where < 0; k++) {
    if (FN(size)(diagonal[k]) <= least) f->where = r->store_at[k];
  }
  return least >= FN(tiny) && largest <= most && below <= most && above <= most && tolerance * multiplier <= FN(slack);
}

static bool FN(replay_factor)(const pivoting_replay *r, const void *values, double tolerance, void *numbers,
                              pivoting_numeric *f) {
  T *v = numbers;
  double most, given, below;
  if (!FN(replay_read)(r, values, v, &most, &given)) return false;
  f->apart = FN(replay_least_at)(values, r->unit, r->n) / given;
  bool suits = tolerance < 0 ? FN(replay_eliminate)(r, true, v, &below) : FN(replay_eliminate)(r, false, v, &below);
  f->where = -1;
  if (!suits || !FN(replay_note)(r, below, fmax(0, tolerance), v, f)) return false;
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

static void FN(replay_solve)(const pivoting_replay *r, const pivoting_shape *shape, const void *numbers, const void *b,
                             void *solution, void *work) {
  const T *v = numbers, *inverse = v + r->inverse, *from = b;
  T *x = work, *to = solution;
  for (int32_t k = 0; k < r->n; k++) x[k] = from[r->load_at[k]] * (REAL)r->load_scale[k];
  for (int32_t s = 0; s < r->segments; s++) {
    int32_t begin = r->segment[s], end = r->segment[s + 1];
    FN(replay_lower)(r->l_at, v, (int32_t)shape->l.offsets[begin], (int32_t)shape->l.offsets[end], x);
    FN(replay_upper)(r->u_at, v + r->u, inverse, (int32_t)shape->u.offsets[begin], (int32_t)shape->u.offsets[end], x);
    FN(replay_below)
    (r->below_at, v + r->below, inverse, (int32_t)shape->below.offsets[begin], (int32_t)shape->below.offsets[end], x);
  }
  for (int32_t k = 0; k < r->n; k++) to[r->store_at[k]] = x[k] * inverse[k] * (REAL)r->store_scale[k];
}

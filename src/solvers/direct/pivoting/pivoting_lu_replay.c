// SPDX-License-Identifier: Apache-2.0
/// @file pivoting_lu_replay.c
/// How replays are written, and factors made by them.

#include "solvers/direct/pivoting/pivoting_lu_replay.h"

#include <float.h>
#include <math.h>
#include <string.h>

// Between these the largest numbers of rows and columns count as near 1; those of new scales are from 1/2 to 1.
static const double REPLAY_LEAST = 0.25, REPLAY_MOST = 2;

enum { REPLAY_RUN = 256, REPLAY_CHAINS = 4 };

// How many times the size of a quotient may be that of sizes: |re| + |im| is no more than the root of 2 of the modulus.
enum { slack_f32 = 1, slack_f64 = 1, slack_c64 = 2, slack_c128 = 2 };

// Products that are waste go to several places in turn, so that none waits for the one before.
enum { REPLAY_WASTE = 16, REPLAY_ENTRIES = (1 << 16) - REPLAY_WASTE, REPLAY_STEPS_AN_ENTRY = 6 };

// Sizes are compared as integers, which have the same order, NaN being the largest: of integers, compilers compare many
// at once.
static inline int64_t replay_bits(double size) {
  int64_t bits;
  memcpy(&bits, &size, sizeof bits);
  return bits;
}

static inline double replay_size_of(int64_t bits) {
  double size;
  memcpy(&size, &bits, sizeof size);
  return size;
}

// What the numbers of A come to: the largest as given, as read, and of those inside of blocks.
typedef struct replay_sizes {
  int64_t given, read, inside;
} replay_sizes;

#define KERNEL_FILE "solvers/direct/pivoting/pivoting_lu_replay_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef double replay_size_kernel(const void *, int64_t);
typedef bool replay_scales_kernel(const pivoting_analysis *, const pivoting_numeric *, pivoting_replay *);
typedef double replay_scale_of_kernel(const pivoting_replay *, int32_t, int32_t);
typedef bool replay_factor_kernel(const pivoting_replay *, const void *, double, void *, pivoting_numeric *);
typedef void replay_solve_kernel(const pivoting_replay *, const pivoting_shape *, const void *, const void *, void *,
                                 void *);
static replay_size_kernel *const replay_size_kernels[] = TABLE(replay_size);
static replay_scales_kernel *const replay_scales_kernels[] = TABLE(replay_scales);
static replay_scale_of_kernel *const replay_scale_of_kernels[] = TABLE(replay_scale_of);
static replay_factor_kernel *const replay_factor_kernels[] = TABLE(replay_factor);
static replay_solve_kernel *const replay_solve_kernels[] = TABLE(replay_solve);

// -- writing ---------------------------------------------------------------------------------------------------------

static bool replay_is_worth(const pivoting_shape *shape, int64_t nnz) {
  int64_t entries = shape->l.count + shape->u.count + shape->below.count + shape->n;
  return entries <= REPLAY_ENTRIES && nnz <= REPLAY_ENTRIES && shape->flops <= REPLAY_STEPS_AN_ENTRY * (double)entries;
}

void pivoting_replay_destroy(pivoting_replay *r) {
  if (!r) return;
  void *blocks[] = {r->target,  r->power,    r->demand,    r->first_step, r->first_quotient, r->first_column,
                    r->step,    r->column,   r->quotient,  r->largest,    r->unit,           r->l_at,
                    r->u_at,    r->below_at, r->row_scale, r->col_scale,  r->load_scale,     r->store_scale,
                    r->load_at, r->store_at, r->segment};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lac_free(blocks[i]);
  lac_free(r);
}

// What is needed on the way.
typedef struct replay_writer {
  const lac_direct_job *job;
  const pivoting_analysis *analysis;
  const pivoting_shape *shape;
  int32_t *level;     // of each step
  int32_t *by_level;  // steps
  int32_t *at;        // where the column in hand has a row in v
  double *largest;    // 3 n: the largest numbers of rows, columns, and columns that are not scaled
  int32_t steps, quotients;
} replay_writer;

// A column comes one level after those that it needs.
static int32_t replay_levels(const pivoting_index *u, int32_t n, int32_t *level) {
  int32_t levels = 0;
  for (int32_t k = 0; k < n; k++) {
    level[k] = 0;
    for (int64_t p = u->offsets[k]; p < u->offsets[k + 1]; p++) {
      if (level[u->rows[p]] >= level[k]) level[k] = level[u->rows[p]] + 1;
    }
    if (level[k] >= levels) levels = level[k] + 1;
  }
  return levels;
}

static bool replay_sort(replay_writer *w, int32_t levels) {
  int32_t n = w->shape->n, *next = lac_calloc((size_t)levels + 1, sizeof *next);
  if (!next) return false;
  for (int32_t k = 0; k < n; k++) next[w->level[k] + 1]++;
  for (int32_t l = 0; l < levels; l++) next[l + 1] += next[l];
  for (int32_t k = 0; k < n; k++) w->by_level[next[w->level[k]]++] = k;
  lac_free(next);
  return true;
}

static bool replay_writer_init(replay_writer *w) {
  size_t n = (size_t)w->shape->n;
  w->level = lac_alloc(n * sizeof *w->level);
  w->by_level = lac_alloc(n * sizeof *w->by_level);
  w->at = lac_alloc(n * sizeof *w->at);
  w->largest = lac_calloc(3 * n, sizeof *w->largest);
  return w->level && w->by_level && w->at && w->largest;
}

static void replay_writer_clear(replay_writer *w) {
  lac_free(w->level);
  lac_free(w->by_level);
  lac_free(w->at);
  lac_free(w->largest);
}

// Room for `count` things, zero before, which is counted. *fits is false from now on where there is none.
static void *replay_room(pivoting_replay *r, int64_t count, size_t size, bool *fits) {
  void *room = lac_calloc((size_t)count, size);
  r->bytes += count * (int64_t)size;
  *fits &= room != NULL;
  return room;
}

static bool replay_allocate(const pivoting_shape *shape, int64_t steps, pivoting_replay *r) {
  int64_t n = r->n, l = shape->l.count, levels = r->levels + 1;
  size_t number = lac_dtype_size(r->dtype);
  bool fits = true;
  r->bytes = (int64_t)sizeof *r;
  r->target = replay_room(r, r->entries, sizeof *r->target, &fits);
  r->power = replay_room(r, r->entries, sizeof *r->power, &fits);
  r->first_step = replay_room(r, levels, sizeof *r->first_step, &fits);
  r->first_column = replay_room(r, levels, sizeof *r->first_column, &fits);
  r->first_quotient = replay_room(r, levels, sizeof *r->first_quotient, &fits);
  r->step = replay_room(r, steps, sizeof *r->step, &fits);
  r->column = replay_room(r, n, sizeof *r->column, &fits);
  r->quotient = replay_room(r, l, sizeof *r->quotient, &fits);
  r->demand = replay_room(r, l, sizeof *r->demand, &fits);
  r->largest = replay_room(r, 2 * n, sizeof *r->largest, &fits);
  r->unit = replay_room(r, n, sizeof *r->unit, &fits);
  r->l_at = replay_room(r, l, sizeof *r->l_at, &fits);
  r->u_at = replay_room(r, shape->u.count, sizeof *r->u_at, &fits);
  r->below_at = replay_room(r, shape->below.count, sizeof *r->below_at, &fits);
  r->segment = replay_room(r, n + 1, sizeof *r->segment, &fits);
  r->row_scale = replay_room(r, n, number, &fits);
  r->col_scale = replay_room(r, n, number, &fits);
  r->load_scale = replay_room(r, n, sizeof *r->load_scale, &fits);
  r->store_scale = replay_room(r, n, sizeof *r->store_scale, &fits);
  r->load_at = replay_room(r, n, sizeof *r->load_at, &fits);
  r->store_at = replay_room(r, n, sizeof *r->store_at, &fits);
  return fits;
}

static void replay_note_largest(replay_writer *w, int32_t which, double size, int32_t place, uint16_t *largest) {
  if (size > w->largest[which]) w->largest[which] = size, *largest = (uint16_t)place;
}

static bool replay_is_normal(lac_dtype dtype, double scale) {
  return lac_dtype_real(dtype) == LAC_F32 ? isnormal((float)scale) : isnormal(scale);
}

// The numbers of A in column k. False: a scale is out of range.
static bool replay_entries(replay_writer *w, int32_t k, pivoting_replay *r) {
  const lac_structure *s = w->job->structure;
  int32_t column = w->analysis->order[k], n = r->n;
  int32_t end = w->analysis->col_block ? w->analysis->first[w->analysis->col_block[column] + 1] : n;
  int32_t below = r->below + (int32_t)w->shape->below.offsets[k];
  bool is_normal = true;
  for (int64_t q = s->t_offsets[column]; q < s->t_offsets[column + 1]; q++) {
    int32_t row = s->t_rows[q], step = w->shape->place[row], slot = (int32_t)s->t_slots[q];
    bool is_inside = step < end;
    double size = replay_size_kernels[r->dtype](w->job->values, slot);
    int32_t target = is_inside ? w->at[step] : below++;
    double scale = replay_scale_of_kernels[r->dtype](r, row, column);
    r->target[slot] = (uint16_t)target;
    is_normal &= replay_is_normal(r->dtype, scale);
    r->power[slot] = is_normal ? (int16_t)(2 * ilogb(scale) + !is_inside) : 0;
    replay_note_largest(w, 2 * n + column, size, slot, &r->unit[column]);
    if (!is_inside) continue;
    replay_note_largest(w, row, size * scale, target, &r->largest[row]);
    replay_note_largest(w, n + column, size * scale, target, &r->largest[n + column]);
  }
  return is_normal;
}

// How many times a number of column k is at most its pivot: the rule of pivoting_lu_kernel.h. Where the row that was
// wanted is the pivot, it is large enough; else that row is too small, and the pivot larger than all.
static double replay_demand(const replay_writer *w, int32_t k, int32_t step) {
  const pivoting_shape *shape = w->shape;
  int32_t wanted = shape->wanted[k];
  double tolerance = pivoting_tolerance(w->analysis, w->analysis->order[k], wanted, shape->tolerance);
  if (wanted == shape->pivots[k]) return fmax(0, tolerance);
  return (1 + 4 * DBL_EPSILON) / (wanted == shape->pivots[step] ? tolerance : 1);
}

// What column k multiplies and divides.
static void replay_column(replay_writer *w, int32_t k, pivoting_replay *r) {
  const pivoting_index *l = &w->shape->l, *u = &w->shape->u;
  for (int64_t p = u->offsets[k]; p < u->offsets[k + 1]; p++) w->at[u->rows[p]] = r->u + (int32_t)p;
  for (int64_t q = l->offsets[k]; q < l->offsets[k + 1]; q++) w->at[l->rows[q]] = (int32_t)q;
  w->at[k] = r->diagonal + k;
  for (int64_t p = u->offsets[k]; p < u->offsets[k + 1]; p++) {
    int64_t end = l->offsets[u->rows[p] + 1];
    for (int64_t q = l->offsets[u->rows[p]]; q < end; q += 2, w->steps++) {
      int32_t other = q + 1 < end ? w->at[l->rows[q + 1]] : r->waste + w->steps % REPLAY_WASTE;
      r->step[w->steps] =
          (replay_step){(uint16_t)w->at[l->rows[q]], (uint16_t)other, (uint16_t)q, (uint16_t)(r->u + p)};
    }
  }
  for (int64_t q = l->offsets[k]; q < l->offsets[k + 1]; q++) {
    r->demand[w->quotients] = replay_demand(w, k, l->rows[q]);
    r->quotient[w->quotients++] = (replay_quotient){(uint16_t)q, (uint16_t)k};
  }
}

static void replay_places(const pivoting_index *index, int32_t n, replay_place *at) {
  for (int32_t k = 0; k < n; k++) {
    for (int64_t p = index->offsets[k]; p < index->offsets[k + 1]; p++) {
      at[p] = (replay_place){(uint16_t)index->rows[p], (uint16_t)k};
    }
  }
}

static void replay_segments(const pivoting_analysis *a, pivoting_replay *r) {
  bool was_single = false;
  for (int32_t b = 0; a->row_block && b < a->blocks; b++) {
    bool is_single = a->first[b + 1] - a->first[b] == 1;
    if (!is_single || !was_single) r->segment[r->segments++] = a->first[b];
    was_single = is_single;
  }
  if (!a->row_block) r->segment[r->segments++] = 0;
  r->segment[r->segments] = r->n;
}

// Most numbers that are the largest of a row are that of a column too.
static void replay_unite(pivoting_replay *r) {
  const uint16_t *of_row = r->largest, *of_column = r->largest + r->n;
  char *seen = lac_calloc((size_t)r->below, 1);
  r->nears = seen ? 0 : 2 * r->n;
  for (int32_t i = 0; seen && i < r->n; i++) seen[of_row[i]] = seen[of_column[i]] = 1;
  for (int32_t p = 0; seen && p < r->below; p++) {
    if (seen[p]) r->largest[r->nears++] = (uint16_t)p;
  }
  lac_free(seen);
}

static bool replay_write(replay_writer *w, const pivoting_numeric *f, pivoting_replay *r) {
  bool is_normal = replay_scales_kernels[r->dtype](w->analysis, f, r);
  for (int32_t i = 0; i < r->n; i++) {
    int32_t k = w->by_level[i], level = w->level[k];
    replay_column(w, k, r);
    is_normal &= replay_entries(w, k, r);
    r->column[i] = (uint16_t)k;
    r->first_step[level + 1] = w->steps;
    r->first_column[level + 1] = i + 1;
    r->first_quotient[level + 1] = w->quotients;
  }
  replay_places(&w->shape->l, r->n, r->l_at);
  replay_places(&w->shape->u, r->n, r->u_at);
  replay_places(&w->shape->below, r->n, r->below_at);
  replay_segments(w->analysis, r);
  replay_unite(r);
  return is_normal;
}

static int64_t replay_count_steps(const pivoting_shape *shape) {
  const int64_t *begin = shape->l.offsets;
  int64_t steps = 0;
  for (int64_t p = 0; p < shape->u.count; p++) {
    int32_t j = shape->u.rows[p];
    steps += (begin[j + 1] - begin[j] + 1) / 2;
  }
  return steps;
}

static pivoting_replay *replay_create(const lac_direct_job *job, const pivoting_numeric *f,
                                      const pivoting_shape *shape) {
  replay_writer w = {.job = job, .analysis = job->part, .shape = shape};
  pivoting_replay *r = lac_calloc(1, sizeof *r);
  bool is_done = r && replay_writer_init(&w);
  if (is_done) {
    r->dtype = job->dtype, r->n = shape->n;
    r->u = (int32_t)shape->l.count;
    r->diagonal = r->u + (int32_t)shape->u.count;
    r->below = r->diagonal + r->n;
    r->waste = r->below + (int32_t)shape->below.count;
    r->inverse = r->waste + REPLAY_WASTE;
    r->count = r->inverse + r->n;
    r->entries = (int32_t)job->structure->nnz;
    r->levels = replay_levels(&shape->u, r->n, w.level);
    is_done =
        replay_sort(&w, r->levels) && replay_allocate(shape, replay_count_steps(shape), r) && replay_write(&w, f, r);
  }
  replay_writer_clear(&w);
  if (is_done) return r;
  pivoting_replay_destroy(r);
  return NULL;
}

// Of a batch the first alone teaches and learns: others may be on their way.
void pivoting_replay_learn(const lac_direct_job *job, const pivoting_numeric *f, pivoting_shape *shape) {
  pivoting_replay *none = NULL, *made;
  if (job->near || atomic_fetch_add(&shape->uses, 1) != 1 || !replay_is_worth(shape, job->structure->nnz)) return;
  made = replay_create(job, f, shape);
  if (!atomic_compare_exchange_strong(&shape->replay, &none, made)) pivoting_replay_destroy(made);
}

// -- factors ---------------------------------------------------------------------------------------------------------

// Its numbers are one block, and its scales those of the replay, which the shape keeps.
static pivoting_numeric *replay_numeric(const pivoting_replay *r, pivoting_shape *shape) {
  size_t size = lac_dtype_size(r->dtype);
  pivoting_numeric *f = lac_calloc(1, sizeof *f);
  char *v = lac_alloc((size_t)r->count * size);
  if (!f || !v) {
    lac_free(f);
    lac_free(v);
    return NULL;
  }
  *f = (pivoting_numeric){.dtype = r->dtype, .n = r->n, .is_like = true, .smallest = 1, .weakest = 1};
  f->shape = lac_object_retain(shape);
  f->replay = r;
  f->l = v;
  f->u = v + (size_t)r->u * size;
  f->diagonal = v + (size_t)r->diagonal * size;
  f->below = v + (size_t)r->below * size;
  f->inverse = v + (size_t)r->inverse * size;
  f->row_scale = r->row_scale;
  f->col_scale = r->col_scale;
  return f;
}

pivoting_numeric *pivoting_replay_factor(const lac_direct_job *job, pivoting_shape *shape, bool chosen) {
  const pivoting_replay *r = atomic_load(&shape->replay);
  double tolerance = pivoting_readiness(job->options);
  bool is_usual = r && r->dtype == job->dtype && !job->near && (!chosen || tolerance == shape->tolerance);
  pivoting_numeric *f = is_usual ? replay_numeric(r, shape) : NULL;
  if (!f || replay_factor_kernels[r->dtype](r, job->values, chosen ? -1 : fmax(0, tolerance), f->l, f)) return f;
  pivoting_destroy(f);
  return NULL;
}

void pivoting_replay_count(pivoting_numeric *f) {
  pivoting_replay *r = (pivoting_replay *)f->replay;  // what it is does not change
  f->counts_replay = !atomic_exchange(&r->is_counted, true);
}

void pivoting_replay_solve(const pivoting_numeric *f, const void *b, void *x, void *work) {
  replay_solve_kernels[f->dtype](f->replay, f->shape, f->l, b, x, work);
}

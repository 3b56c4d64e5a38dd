// SPDX-License-Identifier: Apache-2.0
/// LU column by column of values that come again and again in one pattern: without a search, and then by a replay,
/// which must be as right as the elimination that it replays, choose no pivot that a search would not find, and give
/// way where scales do not suit.

#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "solvers/direct/pivoting/pivoting_lu_replay.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};
enum { ROWS = 160, BEGIN = 40, END = 120, TIMES = 5 };
static const double STEP = 1e-6;  // from one to the next, so that hardly a scale changes

static bool is_inside(int64_t i) { return i >= BEGIN && i < END; }

// A ring with a few chords between rows BEGIN and END, single rows before and after it, and entries below; its rows are
// moved, so that its diagonal has gaps.
static direct_case ring_of(lac_dtype dtype, uint64_t seed) {
  sketch *s = scratch(sizeof *s);
  random_state r = random_start(seed);
  char *mask = scratch(ROWS * ROWS);
  *s = (sketch){ROWS, ROWS, 0, scratch(5 * ROWS * sizeof *s->row), scratch(5 * ROWS * sizeof *s->col)};
  for (int64_t i = 0; i < ROWS; i++) {
    int64_t row = i * 3 % ROWS, below = is_inside(i) ? BEGIN : i;
    mask[row * ROWS + i] = 1;
    if (is_inside(i)) mask[row * ROWS + (i + 1 < END ? i + 1 : BEGIN)] = 1;
    if (is_inside(i) && i % 4 == 0) mask[row * ROWS + BEGIN + random_below(&r, END - BEGIN)] = 1;
    for (int k = 0; k < 2 && below > 0; k++) mask[row * ROWS + random_below(&r, below)] = 1;
  }
  for (int64_t p = 0; p < ROWS * ROWS; p++) {
    if (mask[p]) s->row[s->nnz] = p / ROWS, s->col[s->nnz++] = p % ROWS;
  }
  direct_case c = {.s = s, .a = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {s->nnz}})};
  ref_random(&c.a, seed + 1, dtype == LAC_C64 || dtype == LAC_C128);
  return c;
}

// The same times a factor, which changes no pivot; to what the dtype holds.
static direct_case times(const direct_case *c, double factor) {
  direct_case out = {c->s, ref_copy(&c->a)};
  for (int64_t z = 0; z < c->s->nnz; z++) {
    out.a.x[z] *= factor;
    if (direct_rounding(c->a.meta.dtype) > 1e-10) out.a.x[z] = (float complex)out.a.x[z];
  }
  return out;
}

static direct_system open_by(lac_context *ctx, const direct_case *c, double tolerance) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "column_lu", options.pivot_tolerance = tolerance;
  return direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
}

static const pivoting_numeric *numeric_of(const lac_factor *factor) { return direct_part(factor)->numerics[0]; }

// A factor of other values: by the choices of `like`, or (NULL) by its own.
static lac_factor *factor_of(lac_context *ctx, const direct_system *system, const lac_factor *like,
                             const direct_case *c) {
  lac_array *values = NULL;
  lac_factor *factor = NULL;
  CHECK_OK(ref_upload(ctx, &c->a, &values));
  CHECK_OK(like ? lac_factor_refactor(ctx, like, values, &factor)
                : lac_solver_factor(ctx, system->solver, values, &factor));
  lac_array_destroy(&values);
  return factor;
}

// The last of several factors of the same numbers times others, each like the one before, or by itself.
static lac_factor *factor_often(lac_context *ctx, const direct_system *system, const direct_case *c, bool again) {
  lac_factor *factor = factor_of(ctx, system, NULL, c);
  for (int i = 1; i < TIMES; i++) {
    direct_case other = times(c, 1 + i * STEP);
    lac_factor *next = factor_of(ctx, system, again ? factor : NULL, &other);
    lac_factor_destroy(&factor);
    factor = next;
  }
  return factor;
}

static double logdet_of(lac_context *ctx, const lac_factor *factor) {
  double found = 0;
  CHECK_OK(lac_factor_slogdet(ctx, factor, &found, NULL));
  return found;
}

// A solution of one column, for the same b always; in scratch memory.
static void *solution_of(lac_context *ctx, const lac_factor *factor) {
  lac_dtype dtype = factor->meta.dtype;
  int64_t shape[] = {ROWS, 1};
  lac_array *b = direct_random(ctx, dtype, 2, shape, 78), *x = NULL;
  void *bits = scratch(ROWS * lac_dtype_size(dtype));
  CHECK_OK(lac_array_create(ctx, dtype, 2, shape, &x));
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x));
  CHECK_OK(lac_array_read(ctx, x, bits));
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return bits;
}

// Against a solver that has seen nothing: pivots, what is reported, determinants, solutions in all forms, and the bits
// of a solution. Compilers may fuse complex products otherwise in each loop.
static void check_like_new(lac_context *ctx, const direct_case *c, double tolerance, const lac_factor *factor) {
  direct_system system = open_by(ctx, c, tolerance);
  lac_factor *fresh = factor_of(ctx, &system, NULL, c);
  double bits = direct_rounding(c->a.meta.dtype);
  const pivoting_numeric *f = numeric_of(factor), *g = numeric_of(fresh);
  CHECK(memcmp(f->shape->pivots, g->shape->pivots, ROWS * sizeof *f->shape->pivots) == 0);
  CHECK(f->growth >= g->growth / 4 && f->growth <= 4 * g->growth);
  CHECK(f->smallest >= g->smallest / 16 && f->smallest <= 2 * g->smallest);
  CHECK(f->weakest >= g->weakest / 16 && f->weakest <= 4 * g->weakest);
  CHECK(f->apart <= g->apart * (1 + 1e-6) && f->apart >= g->apart / 4);
  CHECK(fabs(logdet_of(ctx, factor) - logdet_of(ctx, fresh)) <= 1e5 * bits);
  for (int s = 0; s < 4; s++) {
    direct_check(ctx, c, factor, FORMS[s], 1, 1e3);
    direct_check(ctx, c, factor, FORMS[s], 3, 1e3);
  }
  if (!lac_dtype_is_complex(c->a.meta.dtype))
    CHECK(memcmp(solution_of(ctx, factor), solution_of(ctx, fresh), ROWS * lac_dtype_size(c->a.meta.dtype)) == 0);
  lac_factor_destroy(&fresh);
  direct_close(&system);
}

// Two factors by a search, which found the same pivots.
static void factor_twice(lac_context *ctx, const direct_system *system, const direct_case *c, lac_factor *out[2]) {
  direct_case other = times(c, 1 + STEP);
  out[0] = factor_of(ctx, system, NULL, c);
  out[1] = factor_of(ctx, system, NULL, &other);
  CHECK(numeric_of(out[0])->shape != numeric_of(out[1])->shape);
}

static void destroy_both(lac_factor *factors[2]) {
  for (int i = 0; i < 2; i++) lac_factor_destroy(&factors[i]);
}

static void pivots_that_are_chosen_again_need_no_search(lac_context *ctx) {
  double tolerances[] = {lac_solver_options_defaults().pivot_tolerance, 0.5};
  for (int t = 0; t < 8; t++) {
    size_t mark = scratch_mark();
    direct_case c = ring_of(DTYPES[t % 4], 20 + (uint64_t)t), last = times(&c, 1 + 2 * STEP);
    direct_system system = open_by(ctx, &c, tolerances[t / 4]);
    lac_factor *before[2], *factor = NULL;
    factor_twice(ctx, &system, &c, before);
    factor = factor_of(ctx, &system, NULL, &last);
    CHECK(numeric_of(factor)->shape == numeric_of(before[0])->shape && !numeric_of(factor)->replay);
    check_like_new(ctx, &last, tolerances[t / 4], factor);
    lac_factor_destroy(&factor);
    destroy_both(before);
    direct_close(&system);
    scratch_release(mark);
  }
}

// Numbers of one column change: where its pivot, or that of a later one, is then another one, it is found.
static void pivots_that_are_not_chosen_again_are_found(lac_context *ctx) {
  const double tolerance = 0.5;
  int others = 0;
  for (int64_t column = BEGIN; column < END; column++) {
    size_t mark = scratch_mark();
    direct_case c = ring_of(LAC_F64, 3), other = times(&c, 1 + STEP / 2);
    direct_system system = open_by(ctx, &c, tolerance);
    lac_factor *before[2], *factor = NULL;
    factor_twice(ctx, &system, &c, before);
    for (int64_t z = 0; z < c.s->nnz; z++) {
      if (c.s->col[z] == column) other.a.x[z] *= c.s->row[z] % 2 ? 0.6 : 1.6;
    }
    factor = factor_of(ctx, &system, NULL, &other);
    others += numeric_of(factor)->shape != numeric_of(before[0])->shape;
    check_like_new(ctx, &other, tolerance, factor);
    lac_factor_destroy(&factor);
    destroy_both(before);
    direct_close(&system);
    scratch_release(mark);
  }
  CHECK(others > 0 && others < END - BEGIN);
}

static void values_that_come_again_are_replayed(lac_context *ctx) {
  double tolerances[] = {lac_solver_options_defaults().pivot_tolerance, 0.5};
  for (int t = 0; t < 16; t++) {
    size_t mark = scratch_mark();
    direct_case c = ring_of(DTYPES[t % 4], (uint64_t)t), last = times(&c, 1 + (TIMES - 1) * STEP);
    direct_system system = open_by(ctx, &c, tolerances[t / 4 % 2]);
    lac_factor *factor = factor_often(ctx, &system, &c, t / 8);
    CHECK(numeric_of(factor)->replay);
    check_like_new(ctx, &last, tolerances[t / 4 % 2], factor);
    lac_factor_destroy(&factor);
    direct_close(&system);
    scratch_release(mark);
  }
}

static double largest_multiplier(const lac_factor *factor) {
  const pivoting_numeric *f = numeric_of(factor);
  double largest = 0;
  for (int64_t p = 0; p < f->shape->l.count; p++) largest = fmax(largest, fabs(((const double *)f->l)[p]));
  return largest;
}

// The row that is wanted becomes too small, or one that was too small becomes large: a search finds other pivots.
static void other_pivots_are_searched_for(lac_context *ctx) {
  const double tolerance = 0.5;
  size_t mark = scratch_mark();
  direct_case c = ring_of(LAC_F64, 3);
  direct_system system = open_by(ctx, &c, tolerance);
  lac_factor *first = factor_often(ctx, &system, &c, false);
  int others = 0;
  for (int64_t column = BEGIN; column < END; column++) {
    direct_case other = times(&c, 1 + STEP / 2);
    for (int64_t z = 0; z < c.s->nnz; z++) {
      if (c.s->col[z] == column) other.a.x[z] *= c.s->row[z] % 2 ? 0.6 : 1.6;
    }
    lac_factor *factor = factor_of(ctx, &system, NULL, &other);
    others += !numeric_of(factor)->replay;
    CHECK(largest_multiplier(factor) <= 1 / tolerance);
    if (!numeric_of(factor)->replay) check_like_new(ctx, &other, tolerance, factor);
    direct_check(ctx, &other, factor, LAC_PLAIN, 1, 1e3);
    lac_factor_destroy(&factor);
  }
  CHECK(others > 0 && others < END - BEGIN);
  lac_factor_destroy(&first);
  direct_close(&system);
  scratch_release(mark);
}

static void other_scales_are_found_anew(lac_context *ctx) {
  size_t mark = scratch_mark();
  direct_case c = ring_of(LAC_F64, 5), large = times(&c, 8), other = times(&c, 1.125);
  direct_system system = open_by(ctx, &c, 0.1);
  lac_factor *first = factor_often(ctx, &system, &c, true), *factor = NULL;
  CHECK(numeric_of(first)->replay);
  factor = factor_of(ctx, &system, first, &large);
  CHECK(!numeric_of(factor)->replay);
  for (int s = 0; s < 4; s++) direct_check(ctx, &large, factor, FORMS[s], 1, 1e3);
  lac_factor_destroy(&factor);
  for (int64_t z = 0; z < c.s->nnz; z++) {
    if (c.s->row[z] == 3 * BEGIN) other.a.x[z] *= 1e-12;  // a row of one block
  }
  factor = factor_of(ctx, &system, first, &other);
  CHECK(!numeric_of(factor)->replay);
  for (int s = 0; s < 4; s++) direct_check(ctx, &other, factor, FORMS[s], 1, 1e3);
  lac_factor_destroy(&factor);
  lac_factor_destroy(&first);
  direct_close(&system);
  scratch_release(mark);
}

// The first factor by a replay counts it, and no other one does.
static void the_memory_of_a_replay_is_counted_once(lac_context *ctx) {
  size_t mark = scratch_mark();
  direct_case c = ring_of(LAC_F64, 7);
  direct_system system = open_by(ctx, &c, 0.1);
  lac_factor *factor = factor_of(ctx, &system, NULL, &c);
  int64_t bytes[TIMES] = {0};
  for (int i = 0; i < TIMES; i++) {
    direct_case other = times(&c, 1 + (i + 1) * STEP);
    lac_factor *next = factor_of(ctx, &system, factor, &other);
    if (numeric_of(next)->replay) bytes[i] = report_of_factor(next).factor_bytes;
    lac_factor_destroy(&factor);
    factor = next;
  }
  const pivoting_replay *replay = numeric_of(factor)->replay;
  int first = 0;
  while (first < TIMES - 2 && bytes[first] == 0) first++;
  CHECK(replay && replay->bytes > 0);
  CHECK_EQ(bytes[first], bytes[first + 1] + replay->bytes);
  CHECK_EQ(bytes[TIMES - 1], bytes[first + 1]);
  lac_factor_destroy(&factor);
  direct_close(&system);
  scratch_release(mark);
}

// Values that both threads factor anew, by the solver and like the first factor, and solve with.
enum { ROUNDS = 40, MATRICES = 3 };

typedef struct replayer {
  const lac_solver *solver;
  const lac_factor *first;
  const double *values[MATRICES], *b;
  int64_t nnz;
  double x[MATRICES][2][ROWS];  // by the solver, and like the first
  int fails, replayed;
} replayer;

static lac_status replay_once(lac_context *ctx, replayer *r, int which, bool like) {
  lac_array *values = NULL, *b = NULL, *x = NULL;
  lac_factor *factor = NULL;
  lac_status status = lac_array_from(ctx, LAC_F64, 1, &r->nnz, (double *)r->values[which], LAC_OWNERSHIP_COPY, &values);
  int64_t shape[] = {ROWS, 1};
  if (status == LAC_OK) status = lac_array_from(ctx, LAC_F64, 2, shape, (double *)r->b, LAC_OWNERSHIP_COPY, &b);
  if (status == LAC_OK) status = lac_array_create(ctx, LAC_F64, 2, shape, &x);
  if (status == LAC_OK)
    status =
        like ? lac_factor_refactor(ctx, r->first, values, &factor) : lac_solver_factor(ctx, r->solver, values, &factor);
  if (status == LAC_OK) status = lac_factor_solve(ctx, factor, b, LAC_PLAIN, x);
  if (status == LAC_OK) status = lac_array_read(ctx, x, r->x[which][like]);
  if (status == LAC_OK) r->replayed += numeric_of(factor)->replay != NULL;
  lac_factor_destroy(&factor);
  lac_array_destroy(&values);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return status;
}

static void *replay_often(void *argument) {
  replayer *r = argument;
  lac_context *ctx = NULL;
  if (lac_context_create("cpu", 0, &ctx) != LAC_OK) return r->fails = 1, NULL;
  for (int i = 0; i < ROUNDS && !r->fails; i++) r->fails = replay_once(ctx, r, i % MATRICES, i % 2) != LAC_OK;
  lac_context_destroy(&ctx);
  return NULL;
}

// Nothing is kept but the last few: who learns, who replays and who counts changes from run to run, the bits do not.
static void two_threads_replay_at_once(lac_context *ctx) {
  size_t mark = scratch_mark();
  direct_case c = ring_of(LAC_F64, 9), b = ring_of(LAC_F64, 10);
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "column_lu", options.keep_bytes = -1;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *first = factor_of(ctx, &system, NULL, &c);
  replayer *r = scratch(2 * sizeof *r);
  double *numbers = scratch((size_t)(MATRICES * c.s->nnz + ROWS) * sizeof *numbers);
  pthread_t threads[2];
  for (int64_t i = 0; i < ROWS; i++) numbers[MATRICES * c.s->nnz + i] = creal(b.a.x[i]);
  for (int64_t z = 0; z < MATRICES * c.s->nnz; z++) {
    numbers[z] = creal(c.a.x[z % c.s->nnz]) * (1 + (double)(z / c.s->nnz) * STEP);
  }
  for (int t = 0; t < 2; t++) {
    r[t] = (replayer){.solver = system.solver, .first = first, .b = numbers + MATRICES * c.s->nnz, .nnz = c.s->nnz};
    for (int m = 0; m < MATRICES; m++) r[t].values[m] = numbers + m * c.s->nnz;
  }
  for (int t = 0; t < 2; t++) CHECK(pthread_create(&threads[t], NULL, replay_often, &r[t]) == 0);
  for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
  CHECK(!r[0].fails && !r[1].fails && r[0].replayed > 0 && r[1].replayed > 0);
  CHECK(memcmp(r[0].x, r[1].x, sizeof r[0].x) == 0);
  for (int m = 0; m < MATRICES; m++) CHECK(memcmp(r[0].x[m][0], r[0].x[m][1], sizeof r[0].x[m][0]) == 0);
  lac_factor_destroy(&first);
  direct_close(&system);
  scratch_release(mark);
}

CHECK_MAIN_OF("direct", pivots_that_are_chosen_again_need_no_search, pivots_that_are_not_chosen_again_are_found,
              values_that_come_again_are_replayed, other_pivots_are_searched_for, other_scales_are_found_anew,
              the_memory_of_a_replay_is_counted_once, two_threads_replay_at_once)

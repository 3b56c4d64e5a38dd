// SPDX-License-Identifier: Apache-2.0
/// LU column by column of values that come again and again in one pattern: by a replay, which must be as right as the
/// elimination that it replays, choose no pivot that a search would not find, and give way where scales do not suit.

#include <complex.h>
#include <math.h>
#include <string.h>

#include "solvers/direct/pivoting/pivoting_lu.h"
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

// Against a solver that has seen nothing: pivots, what is reported, determinants, and solutions in all forms.
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
  lac_factor_destroy(&fresh);
  direct_close(&system);
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

CHECK_MAIN_OF("direct", values_that_come_again_are_replayed, other_pivots_are_searched_for, other_scales_are_found_anew)

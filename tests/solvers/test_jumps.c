// SPDX-License-Identifier: Apache-2.0
/// Multigrid where coefficients jump: stiff islands in what is soft and holes in what is stiff, up to contrasts of 1e8.

#include <stdlib.h>

#include "core/memory_impl.h"
#include "core/number_at.h"
#include "kernels/smoothed.h"
#include "solvers/precondition/multigrid/smoothed/smoothed.h"
#include "support/multigrid_case.h"

enum { FORM = 48, ISLAND = 8 };

typedef enum jump_kind { JUMP_ISLANDS, JUMP_CELLS, JUMP_BOARD, JUMP_MIXED, JUMP_KINDS } jump_kind;

/// The coefficient of a cell: squares apart from each other, one cell in five at random, a chess board of squares, or
/// squares of which every other one is soft and the rest are stiff.
static double coefficient(jump_kind kind, int64_t cell, double jump) {
  int64_t x = cell % FORM, y = cell / FORM, square = x / ISLAND + y / ISLAND;
  bool is_inside = x % ISLAND > 1 && y % ISLAND > 1;
  switch (kind) {
    case JUMP_ISLANDS:
      return is_inside ? jump : 1;
    case JUMP_CELLS:
      return (uint64_t)cell * 2654435761u % 5 == 0 ? jump : 1;
    case JUMP_BOARD:
      return square % 2 ? jump : 1;
    default:
      return is_inside ? (square % 2 ? jump : 1 / sqrt(jump)) : 1;
  }
}

/// -div(k grad u) on a square with u = 0 around it, by harmonic means; a wind along x and y, upwind.
static direct_case jumps(jump_kind kind, double jump, double wind) {
  direct_case c = direct_make(DIRECT_POISSON, (int64_t)FORM * FORM, LAC_F64, 1);
  double *diagonal = scratch((size_t)c.s->rows * sizeof *diagonal);
  for (int64_t i = 0; i < c.s->rows; ++i) {
    int64_t x = i % FORM, y = i / FORM, walls = (x == 0) + (x == FORM - 1) + (y == 0) + (y == FORM - 1);
    diagonal[i] = 2 * (double)walls * coefficient(kind, i, jump) + wind * (double)((x == 0) + (y == 0));
  }
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    int64_t i = c.s->row[z], j = c.s->col[z];
    double k = coefficient(kind, i, jump), l = coefficient(kind, j, jump);
    double size = 2 * k * l / (k + l) + (j < i ? wind : 0);
    if (i != j) c.a.x[z] = -size, diagonal[i] += size;
  }
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    if (c.s->row[z] == c.s->col[z]) c.a.x[z] = diagonal[c.s->row[z]];
  }
  return c;
}

/// The iterations that a solver takes to `rtol`, or to what rounding allows.
static int64_t iterations(lac_context *ctx, const direct_case *c, bool is_hermitian, double rtol) {
  lac_solver_options options = lac_solver_options_defaults();
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_solve_report report = {0};
  lac_array *b = direct_random(ctx, LAC_F64, 3, (const int64_t[]){1, c->s->rows, 1}, 9), *x = NULL;
  multigrid_case s;
  case_open(ctx, &s, &lac_preconditioner_multigrid, c, LAC_WIDTH_AUTO, 1, is_hermitian);
  options.method = is_hermitian ? "flexible_cg" : "flexible_gmres";
  options.preconditioner.method = "multigrid";
  options.preconditioner.coarse_rows = 100;
  options.iteration.rtol = rtol;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 3, b->meta.shape, &x));
  CHECK_OK(lac_solver_create(ctx, s.pattern, &options, &solver));
  CHECK_OK(lac_solver_factor(ctx, solver, s.values, &factor));
  CHECK_OK(lac_factor_iterate(ctx, factor, b, NULL, LAC_PLAIN, x, &report));
  if (report.ending != LAC_ENDING_CONVERGED) check_fail(__FILE__, __LINE__, "%s", report.reason);
  lac_array_destroy(&b), lac_array_destroy(&x);
  lac_factor_destroy(&factor), lac_solver_destroy(&solver);
  case_close(&s);
  return report.iterations;
}

static void iterations_stay_moderate(lac_context *ctx) {
  static const double CONTRASTS[] = {1e-8, 1e-4, 1e-2, 1e2, 1e4, 1e6, 1e8};
  for (int kind = 0; kind < JUMP_KINDS; ++kind) {
    for (size_t j = 0; j < sizeof CONTRASTS / sizeof *CONTRASTS; ++j) {
      direct_case c = jumps((jump_kind)kind, CONTRASTS[j], 0);
      int64_t count = iterations(ctx, &c, true, 1e-8);
      if (count > 30) check_fail(__FILE__, __LINE__, "kind %d, %.0e: %lld", kind, CONTRASTS[j], (long long)count);
    }
  }
}

static void iterations_stay_moderate_in_wind(lac_context *ctx) {
  static const double CONTRASTS[] = {1e-6, 1e-2, 1e2, 1e6}, WINDS[] = {0.1, 10};
  for (int kind = 0; kind < JUMP_KINDS; ++kind) {
    for (int w = 0; w < 2; ++w) {
      for (size_t j = 0; j < sizeof CONTRASTS / sizeof *CONTRASTS; ++j) {
        direct_case c = jumps((jump_kind)kind, CONTRASTS[j], WINDS[w]);
        int64_t count = iterations(ctx, &c, false, 1e-8);
        if (count > 60) {
          check_fail(__FILE__, __LINE__, "kind %d, %.0e, wind %g: %lld", kind, CONTRASTS[j], WINDS[w],
                     (long long)count);
        }
      }
    }
  }
}

/// Of a stiff matrix the residual of any x is rounding of A x long before it is what is asked.
static void iterations_end_soon_at_rounding(lac_context *ctx) {
  static const double CONTRASTS[] = {1e-8, 1e6, 1e8, 1e10};
  for (size_t j = 0; j < sizeof CONTRASTS / sizeof *CONTRASTS; ++j) {
    direct_case c = jumps(JUMP_BOARD, CONTRASTS[j], 0);
    int64_t count = iterations(ctx, &c, true, 1e-10);
    if (count > 18) check_fail(__FILE__, __LINE__, "%.0e: %lld", CONTRASTS[j], (long long)count);
  }
}

// -- precision -------------------------------------------------------------------------------------------------------

static void check_precision(lac_context *ctx, double jump, const char *expected) {
  direct_case c = jumps(JUMP_ISLANDS, jump, 0);
  multigrid_case s;
  char *text = NULL;
  case_open(ctx, &s, &lac_preconditioner_multigrid, &c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.kind = LAC_MULTIGRID_SMOOTHED;
  case_set_up(ctx, &s);
  CHECK_OK(s.table->describe(ctx, s.part, &text));
  CHECK(strstr(text, expected) != NULL);
  lac_free(text);
  case_close(&s);
}

static void stiff_islands_have_full_precision(lac_context *ctx) {
  check_precision(ctx, 1e3, "smoothed aggregation, f32");
  check_precision(ctx, 1e7, "smoothed aggregation, f64");
}

/// A hierarchy in f32 for values that have become stiff is made anew, in f64.
static void refreshed_for_stiff_values_it_is_made_anew(lac_context *ctx) {
  direct_case soft = jumps(JUMP_ISLANDS, 10, 0), stiff = jumps(JUMP_ISLANDS, 1e8, 0);
  multigrid_case s, t;
  char *text = NULL;
  case_open(ctx, &s, &lac_preconditioner_multigrid, &soft, LAC_WIDTH_AUTO, 1, true);
  case_open(ctx, &t, &lac_preconditioner_multigrid, &stiff, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.kind = t.options.preconditioner.kind = LAC_MULTIGRID_SMOOTHED;
  case_set_up(ctx, &s);
  t.setup.options = &t.options;
  CHECK_OK(t.table->refresh(ctx, &t.setup, s.part, &t.part));
  CHECK_OK(t.table->describe(ctx, t.part, &text));
  CHECK(strstr(text, "smoothed aggregation, f64") != NULL);
  lac_free(text);
  case_close(&s);
  case_close(&t);
}

// -- kinds of entries, by their formulas -----------------------------------------------------------------------------

static double size_at(const direct_case *c, int64_t i, int64_t j) {
  int64_t z = sketch_find(c->s, i, j);
  return z < 0 ? 0 : cabs(c->a.x[z]);
}

static uint8_t kind_at(const direct_case *c, int64_t z, double theta) {
  int64_t i = c->s->row[z], j = c->s->col[z];
  double size = cabs(c->a.x[z]), own = size_at(c, i, i), other = size_at(c, j, j);
  if (i == j) return LAC_ENTRY_DIAGONAL;
  return size > theta * sqrt(own * other) ? LAC_ENTRY_STRONG : size > theta * own ? LAC_ENTRY_LEANING : LAC_ENTRY_WEAK;
}

static void entries_are_of_the_kinds_that_formulas_say(lac_context *ctx) {
  static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
  static const lac_width WIDTHS[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
  for (int d = 0; d < 4; ++d) {
    for (int w = 0; w < 3; ++w) {
      size_t mark = scratch_mark();
      direct_case c = direct_make(DIRECT_ILL_SCALED, 60, DTYPES[d], 5);
      int64_t counts[4] = {0};
      double most = 0, found[2] = {0, 0};
      lac_buffer *kinds = NULL;
      lac_array *numbers = NULL;
      multigrid_case s;
      case_open(ctx, &s, &lac_preconditioner_multigrid, &c, WIDTHS[w], 1, false);
      lac_rows rows = {s.pattern->rows, s.pattern->cols, s.pattern->offsets, s.pattern->columns, NULL};
      CHECK_OK(smoothed_found_create(ctx, &numbers));
      CHECK_OK(ctx->kernels->smoothed->contrast(ctx, &rows, 1, s.values, 0.01, numbers));
      CHECK_OK(smoothed_found_read(ctx, numbers, found));
      for (int64_t z = 0; z < c.s->nnz; ++z) {
        double own = size_at(&c, c.s->row[z], c.s->row[z]), other = size_at(&c, c.s->col[z], c.s->col[z]);
        if (own > 0 && cabs(c.a.x[z]) > 0.01 * own) most = fmax(most, other / own);
      }
      CHECK(fabs(found[0] - most) <= 1e-5 * most);
      CHECK_OK(ctx->kernels->smoothed->strength(ctx, &rows, 1, s.values, 0.08, &kinds, numbers));
      CHECK_OK(smoothed_found_read(ctx, numbers, found));
      for (int64_t z = 0; z < c.s->nnz; ++z) {
        uint8_t kind = ((const uint8_t *)kinds->host)[z];
        CHECK_EQ(kind, kind_at(&c, z, 0.08));
        counts[kind]++;
      }
      CHECK_EQ(counts[LAC_ENTRY_WEAK], (int64_t)found[0]);
      CHECK(counts[LAC_ENTRY_WEAK] && counts[LAC_ENTRY_STRONG] && counts[LAC_ENTRY_LEANING]);
      lac_object_release(kinds);
      lac_array_destroy(&numbers);
      case_close(&s);
      scratch_release(mark);
    }
  }
}

/// Cells of a soft material between stiff ones are in no aggregate; what they follow adds up to a constant, away from
/// the walls.
static void rows_without_an_aggregate_follow_their_neighbours(lac_context *ctx) {
  direct_case c = jumps(JUMP_CELLS, 1e-6, 0);
  multigrid_case s;
  int64_t lone = 0;
  case_open(ctx, &s, &lac_preconditioner_smoothed, &c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.full_precision = 1;
  case_set_up(ctx, &s);
  const smoothed_part *part = s.part;
  const lac_rows *p = &part->shape->level[0].p;
  for (int64_t i = 0; i < c.s->rows; ++i) {
    int64_t x = i % FORM, y = i / FORM;
    double sum = 0;
    if (lac_buffer_get(part->shape->level[0].aggregates.member, i) >= 0) continue;
    if (x == 0 || y == 0 || x == FORM - 1 || y == FORM - 1) continue;
    for (int64_t z = lac_buffer_get(p->offsets, i); z < lac_buffer_get(p->offsets, i + 1); ++z) {
      sum += creal(lac_number_get(LAC_F64, lac_array_data(part->level[0].p_values), z));
    }
    CHECK(fabs(sum - 1) <= 1e-9);
    lone++;
  }
  CHECK(lone > 0);
  case_close(&s);
}

CHECK_MAIN_OF("smoothed", iterations_stay_moderate, iterations_stay_moderate_in_wind, iterations_end_soon_at_rounding,
              stiff_islands_have_full_precision, refreshed_for_stiff_values_it_is_made_anew,
              entries_are_of_the_kinds_that_formulas_say, rows_without_an_aggregate_follow_their_neighbours)

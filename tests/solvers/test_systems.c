// SPDX-License-Identifier: Apache-2.0
/// Smoothed aggregation of systems: nodes and what coarse levels hold of them, blocks on all levels, rigid motions.

#include <stdlib.h>

#include "core/memory_impl.h"
#include "core/number_at.h"
#include "solvers/precondition/multigrid/smoothed/smoothed.h"
#include "support/elements.h"
#include "support/multigrid_case.h"
#include "support/reports.h"

#define TABLE (&lac_preconditioner_smoothed)
static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_width WIDTHS[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};

// -- nodes -----------------------------------------------------------------------------------------------------------

static int64_t unknowns_of(lac_context *ctx, const direct_case *c) {
  multigrid_case s;
  int64_t size = 0;
  smoothed_places places = {0};
  case_open(ctx, &s, TABLE, c, LAC_WIDTH_AUTO, 1, true);
  s.setup.options = &s.options;
  CHECK_OK(smoothed_modes_look(ctx, &s.setup, &size, &places));
  smoothed_places_close(&places);
  case_close(&s);
  return size;
}

/// The case without the entries that are zero but for rounding.
static direct_case without_zeros(const direct_case *c) {
  double *full = scratch((size_t)(c->s->rows * c->s->rows) * sizeof *full), most = 0;
  for (int64_t z = 0; z < c->s->nnz; ++z) most = fmax(most, cabs(c->a.x[z]));
  for (int64_t z = 0; z < c->s->nnz; ++z) {
    if (cabs(c->a.x[z]) > 1e-12 * most) full[c->s->row[z] * c->s->rows + c->s->col[z]] = creal(c->a.x[z]);
  }
  return direct_small(c->s->rows, full, LAC_F64);
}

static void nodes_are_seen_in_values(lac_context *ctx) {
  static const int64_t UNKNOWNS[] = {[ELEMENTS_PLANAR] = 2, [ELEMENTS_SOLID] = 3, [ELEMENTS_PLASTIC] = 2};
  static const elements_kind KINDS[] = {ELEMENTS_PLANAR, ELEMENTS_SOLID, ELEMENTS_PLASTIC};
  ref motions;
  direct_case springs = multigrid_springs(14, &motions);
  CHECK_EQ(unknowns_of(ctx, &springs), 2);
  for (int k = 0; k < 3; ++k) {
    direct_case c = elements_make(KINDS[k], LAC_F64), dropped = without_zeros(&c);
    CHECK(dropped.s->nnz <= c.s->nnz);
    CHECK_EQ(unknowns_of(ctx, &c), UNKNOWNS[KINDS[k]]);
    CHECK_EQ(unknowns_of(ctx, &dropped), UNKNOWNS[KINDS[k]]);
  }
}

/// A grid on which one direction is `weak`.
static direct_case grid(int64_t side, double weak) {
  direct_case c = direct_make(DIRECT_POISSON, side * side, LAC_F64, 1);
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    int64_t apart = c.s->row[z] - c.s->col[z];
    c.a.x[z] = apart == 0 ? 2 + 2 * weak : apart == 1 || apart == -1 ? -weak : -1;
  }
  return c;
}

static void scalar_matrices_have_no_nodes(lac_context *ctx) {
  static const double WEAK[] = {1, 0.1, 0.01, 1e-4};
  for (int64_t side = 58; side <= 60; ++side) {  // 60: a whole number of nodes of 2 to 6 in each line
    for (int w = 0; w < 4; ++w) {
      direct_case c = grid(side, WEAK[w]);
      CHECK_EQ(unknowns_of(ctx, &c), 1);
    }
  }
  direct_case free = multigrid_neumann(60, LAC_F64), wind = direct_convection(60, 0.7, LAC_C128);
  CHECK_EQ(unknowns_of(ctx, &free), 1);
  CHECK_EQ(unknowns_of(ctx, &wind), 1);
}

// -- what coarse levels hold -----------------------------------------------------------------------------------------

/// Points of no order.
static lac_array *points(lac_context *ctx, int64_t count, int64_t axes) {
  return direct_random(ctx, LAC_F64, 2, (int64_t[]){count, axes}, 7);
}

/// No motion changes a distance: (u_i - u_j) . (x_i - x_j) = 0 for all pairs; and there are as many as there can be.
static void coordinates_give_rigid_motions(lac_context *ctx) {
  for (int64_t axes = 2; axes <= 3; ++axes) {
    direct_case c = elements_make(axes == 2 ? ELEMENTS_PLANAR : ELEMENTS_SOLID, LAC_F64);
    int64_t count = c.s->rows / axes, m = axes == 2 ? 3 : 6;
    multigrid_case s;
    smoothed_modes modes;
    lac_array *x = points(ctx, count, axes);
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
    s.options.preconditioner.coordinates = x, s.setup.options = &s.options;
    CHECK_OK(smoothed_modes_open(ctx, &s.setup, &modes));
    CHECK_EQ(modes.size, axes);
    CHECK_EQ(modes.m, m);
    const double *u = lac_array_data(modes.vectors), *at = lac_array_data(x);
    dense gram = dense_new(m, m);
    for (int64_t v = 0; v < m; ++v) {
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = 0; j < i; ++j) {
          double along = 0;
          for (int64_t a = 0; a < axes; ++a) {
            along += (u[(i * axes + a) * m + v] - u[(j * axes + a) * m + v]) * (at[i * axes + a] - at[j * axes + a]);
          }
          CHECK(fabs(along) <= 1e-12);
        }
      }
      for (int64_t w = 0; w < m; ++w) {
        for (int64_t i = 0; i < c.s->rows; ++i) gram.x[v * m + w] += u[i * m + v] * u[i * m + w];
      }
    }
    for (int64_t k = 0; k < m; ++k) {  // elimination: no motion depends on those before it
      CHECK(creal(gram.x[k * m + k]) > 1e-3 * (double)count / 30);
      for (int64_t i = k + 1; i < m; ++i) {
        number factor = gram.x[i * m + k] / gram.x[k * m + k];
        for (int64_t j = k; j < m; ++j) gram.x[i * m + j] -= factor * gram.x[k * m + j];
      }
    }
    smoothed_modes_close(&modes);
    lac_array_destroy(&x);
    case_close(&s);
  }
}

/// The coordinates of multigrid_springs.
static lac_array *springs_points(lac_context *ctx, int64_t side) {
  ref x = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {side * side, 2}});
  lac_array *out = NULL;
  for (int64_t p = 0; p < side * side; ++p) x.x[2 * p] = (double)(p % side), x.x[2 * p + 1] = (double)(p / side);
  CHECK_OK(ref_upload(ctx, &x, &out));
  return out;
}

static void hints_help_and_coordinates_are_as_good_as_vectors(lac_context *ctx) {
  ref motions;
  direct_case c = multigrid_springs(24, &motions);
  lac_array *vectors = NULL, *x = springs_points(ctx, 24);
  int64_t counts[4];
  CHECK_OK(ref_upload(ctx, &motions, &vectors));
  for (int with = 0; with < 4; ++with) {
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
    s.options.preconditioner.near_null = with == 1 ? vectors : NULL;
    s.options.preconditioner.coordinates = with == 2 ? x : NULL;
    s.options.iteration.null_space = with == 3 ? vectors : NULL;
    s.options.preconditioner.coarse_rows = 40;
    case_set_up(ctx, &s);
    CHECK_EQ(((const smoothed_part *)s.part)->shape->level[0].size, 2);
    counts[with] = case_iterations(ctx, &s, LAC_PLAIN, 1, NULL);
    case_close(&s);
  }
  CHECK(counts[0] <= 60);  // translations
  CHECK(counts[1] <= 25 && counts[1] < counts[0]);
  CHECK(llabs((long long)(counts[2] - counts[1])) <= 1);
  CHECK_EQ(counts[3], counts[1]);
  lac_array_destroy(&vectors), lac_array_destroy(&x);
}

// -- blocks ----------------------------------------------------------------------------------------------------------

/// T: the basis of each node's aggregate, in its columns.
static dense tentative_of(const smoothed_structure *level) {
  const lac_aggregates *g = &level->aggregates;
  dense t = dense_new(smoothed_rows(level), g->count * g->m);
  for (int64_t i = 0; i < t.rows; ++i) {
    int64_t member = lac_buffer_get(g->member, i / level->size);
    for (int64_t c = 0; c < g->m && member >= 0; ++c)
      t.x[i * t.cols + member * g->m + c] = lac_number_get(LAC_F64, lac_array_data(g->basis), i * g->m + c);
  }
  return t;
}

/// Springs of which every seventh node is held thousands of times as hard as its springs are.
static direct_case held_springs(int64_t side) {
  ref motions;
  direct_case c = multigrid_springs(side, &motions);
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    if (c.s->row[z] == c.s->col[z] && c.s->row[z] / 2 % 7 == 0) c.a.x[z] += 1e4;
  }
  return c;
}

/// R = P^H and A_next = P^H A P on all levels, against products of dense matrices; the finest level is the matrix.
static void check_levels(const multigrid_case *s, lac_dtype dtype, int64_t items) {
  const smoothed_part *part = s->part;
  double rounding = direct_rounding(dtype);
  CHECK(part->shape->has_blocks && part->shape->levels >= 2);
  for (int l = 0; l + 1 < part->shape->levels; ++l) {
    const smoothed_structure *level = &part->shape->level[l];
    const smoothed_numbers *numbers = &part->level[l];
    for (int64_t item = 0; item < items; ++item) {
      dense a = case_dense(dtype, &level->a, numbers->values, item),
            p = case_dense(dtype, &level->p, numbers->p_values, item);
      case_check_same(case_dense(dtype, &level->r, numbers->r_values, item), dense_side(p, LAC_ADJOINT), 0);
      case_check_same(dense_mul(dense_side(p, LAC_ADJOINT), dense_mul(a, p)),
                      case_dense(dtype, &level[1].a, numbers[1].values, item), 100 * rounding);
    }
  }
}

static void blocks_are_products_of_dense_matrices(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    for (int w = 0; w < 3; ++w) {  // two vectors of no order: blocks of 1 x 2, then 2 x 2
      size_t mark = scratch_mark();
      direct_case c = direct_convection(14, 0.7, DTYPES[d]);
      multigrid_case s;
      lac_array *vectors = direct_random(ctx, DTYPES[d], 2, (int64_t[]){c.s->rows, 2}, 5);
      case_open(ctx, &s, TABLE, &c, WIDTHS[w], 2, false);
      s.options.preconditioner.near_null = vectors;
      s.options.preconditioner.coarse_rows = 20, s.options.preconditioner.full_precision = 1;
      case_set_up(ctx, &s);
      check_levels(&s, DTYPES[d], 2);
      lac_array_destroy(&vectors);
      case_close(&s);
      scratch_release(mark);
    }
  }
}

static void elements_are_gathered_into_blocks(lac_context *ctx) {
  for (int with = 0; with < 2; ++with) {  // translations: 3 x 3; rigid motions: 3 x 6, then 6 x 6
    size_t mark = scratch_mark();
    direct_case whole = elements_make(ELEMENTS_SOLID, LAC_F64), c = without_zeros(&whole);
    multigrid_case s;
    lac_array *x = points(ctx, c.s->rows / 3, 3);
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
    s.options.preconditioner.coordinates = with ? x : NULL;
    s.options.preconditioner.coarse_rows = 10, s.options.preconditioner.full_precision = 1;
    case_set_up(ctx, &s);
    const smoothed_part *part = s.part;
    CHECK_EQ(part->shape->level[0].size, 3);
    check_levels(&s, LAC_F64, 1);
    dense a = dense_new(c.s->rows, c.s->rows);
    for (int64_t z = 0; z < c.s->nnz; ++z) a.x[c.s->row[z] * a.cols + c.s->col[z]] += c.a.x[z];
    case_check_same(case_dense(LAC_F64, &part->shape->level[0].a, part->level[0].values, 0), a, 0);
    for (int64_t node = 0; node < a.rows / 3; ++node) {  // S_I A_II = 1
      const double *inverse = (const double *)lac_array_data(part->level[0].s) + node * 9;
      for (int64_t n = 0; n < 9; ++n) {
        double sum = 0;
        for (int64_t q = 0; q < 3; ++q)
          sum += inverse[n / 3 * 3 + q] * creal(a.x[(node * 3 + q) * a.cols + node * 3 + n % 3]);
        CHECK(fabs(sum - (n / 3 == n % 3)) <= 1e-12);
      }
    }
    lac_array_destroy(&x);
    case_close(&s);
    scratch_release(mark);
  }
}

/// Springs that pull one way a little more than the other, in any dtype.
static direct_case uneven_springs(int64_t side, lac_dtype dtype) {
  ref motions;
  direct_case c = multigrid_springs(side, &motions);
  double *full = scratch((size_t)(c.s->rows * c.s->rows) * sizeof *full);
  for (int64_t z = 0; z < c.s->nnz; ++z)
    full[c.s->row[z] * c.s->rows + c.s->col[z]] = creal(c.a.x[z]) * (c.s->row[z] < c.s->col[z] ? 1.02 : 1);
  return direct_small(c.s->rows, full, dtype);
}

static void cycles_of_blocks_have_their_adjoints(lac_context *ctx) {
  ref motions;
  direct_case even = multigrid_springs(12, &motions);
  CHECK_EQ(unknowns_of(ctx, &even), 2);
  for (int degree = 1; degree <= 2; ++degree)
    case_check_adjoint(ctx, TABLE, &even, true, degree, 400, LAC_PLAIN, LAC_PLAIN, true);
  for (int d = 0; d < 4; ++d) {
    direct_case c = uneven_springs(12, DTYPES[d]);
    CHECK_EQ(unknowns_of(ctx, &c), 2);
    case_check_adjoint(ctx, TABLE, &c, false, 0, 400, LAC_PLAIN, LAC_ADJOINT, true);
    case_check_adjoint(ctx, TABLE, &c, false, 0, 400, LAC_PLAIN, LAC_TRANSPOSED, false);
  }
}

static void other_columns_sides_and_values_are_solved_for(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = uneven_springs(16, DTYPES[d]);
    case_check_others(ctx, TABLE, &c);
  }
}

/// A node that is held hard has no strong neighbour and no aggregate: its rows of P are -A_ii^-1 sum A_ij T_j, so that
/// A T + A_ii P = 0 there.
static void nodes_without_an_aggregate_follow_their_neighbours(lac_context *ctx) {
  direct_case c = held_springs(20);
  multigrid_case s;
  int64_t lone = 0;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.full_precision = 1;
  case_set_up(ctx, &s);
  const smoothed_part *part = s.part;
  const smoothed_structure *level = &part->shape->level[0];
  dense a = case_dense(LAC_F64, &level->a, part->level[0].values, 0);
  dense p = case_dense(LAC_F64, &level->p, part->level[0].p_values, 0), t = tentative_of(level);
  for (int64_t i = 0; i < a.rows; ++i) {
    if (lac_buffer_get(level->aggregates.member, i / 2) >= 0) continue;
    for (int64_t column = 0; column < p.cols; ++column) {
      number rest = 0;
      for (int64_t j = 0; j < a.cols; ++j)
        rest += a.x[i * a.cols + j] * (j / 2 == i / 2 ? p : t).x[j * p.cols + column];
      CHECK(cabs(rest) <= 1e-12);
    }
    ++lone;
  }
  CHECK(lone > 0 && lone < a.rows / 2);
  CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= 60);
  case_close(&s);
}

static void bits_do_not_depend_on_threads(lac_context *ctx) {
  ref motions;
  direct_case c = multigrid_springs(40, &motions);
  lac_array *x[3] = {NULL, NULL, NULL}, *b = NULL, *vectors = NULL;
  int before = ctx->threads;
  CHECK_OK(ref_upload(ctx, &motions, &vectors));
  for (int threads = 1; threads <= 3; ++threads) {
    multigrid_case s;
    ctx->threads = threads;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
    s.options.preconditioner.near_null = vectors;
    case_set_up(ctx, &s);
    if (!b) b = case_random(ctx, &s, 1, 3);
    x[threads - 1] = case_apply(ctx, &s, LAC_PLAIN, b);
    case_close(&s);
  }
  ctx->threads = before;
  for (int t = 1; t < 3; ++t) CHECK(case_same_bits(ctx, x[0], x[t]));
  for (int t = 0; t < 3; ++t) lac_array_destroy(&x[t]);
  lac_array_destroy(&b), lac_array_destroy(&vectors);
}

/// Stiff halves that hang together by something 1e-9 as stiff: in single precision they would fall apart.
static void soft_parts_keep_their_digits(lac_context *ctx) {
  ref motions;
  direct_case c = multigrid_springs(20, &motions);
  multigrid_case s;
  lac_array *vectors = NULL;
  char *text = NULL;
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    bool is_soft = c.s->row[z] / 2 % 20 > 9 || c.s->col[z] / 2 % 20 > 9;
    if (is_soft) c.a.x[z] *= 1e-9;
  }
  CHECK_OK(ref_upload(ctx, &motions, &vectors));
  case_open(ctx, &s, &lac_preconditioner_multigrid, &c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.near_null = vectors;
  case_set_up(ctx, &s);
  CHECK_OK(s.table->describe(ctx, s.part, &text));
  CHECK(strstr(text, "smoothed aggregation, f64") != NULL);
  lac_free(text);
  CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= 60);
  lac_array_destroy(&vectors);
  case_close(&s);
}

// -- options ---------------------------------------------------------------------------------------------------------

static void wrong_hints_are_refused(lac_context *ctx) {
  direct_case c = elements_make(ELEMENTS_SOLID, LAC_F64);
  multigrid_case s;
  lac_solver *none = NULL;
  lac_array *flat = points(ctx, c.s->rows, 1), *few = points(ctx, 7, 3);
  lac_array *unreal = direct_random(ctx, LAC_C128, 2, (int64_t[]){c.s->rows / 3, 3}, 1);
  lac_array *bad = points(ctx, c.s->rows / 3, 3), *many = points(ctx, c.s->rows, 33);
  lac_solver_options options = lac_solver_options_defaults();
  ((double *)lac_array_edit(bad))[7] = NAN;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
  for (int i = 0; i < 3; ++i) {
    static const char *const METHODS[] = {"multigrid", "cg", "auto"};
    options.method = METHODS[i];
    options.preconditioner.coordinates = flat;
    CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &none), LAC_ERR_SHAPE, "(nodes, 2) or (nodes, 3)");
    options.preconditioner.coordinates = few;
    CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &none), LAC_ERR_SHAPE, "they have (7, 3)");
    options.preconditioner.coordinates = unreal;
    CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &none), LAC_ERR_DTYPE, "coordinates must be real");
    options.preconditioner.coordinates = bad;
    CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &none), LAC_ERR_NONFINITE, "row 2 of column 1");
  }
  options.preconditioner.coordinates = NULL;
  options.preconditioner.strength = 1;
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &none), LAC_ERR_ARG, "must lie below 1");
  s.options.preconditioner.near_null = many, s.setup.options = &s.options;
  CHECK_FAILS(TABLE->create(ctx, &s.setup, &s.part), LAC_ERR_ARG, "33 near-null vectors; give at most 32");
  lac_array_destroy(&flat), lac_array_destroy(&few), lac_array_destroy(&unreal), lac_array_destroy(&bad);
  lac_array_destroy(&many);
  case_close(&s);
}

static void hints_do_not_make_it_iterate(lac_context *ctx) {
  direct_case c = elements_make(ELEMENTS_SOLID, LAC_F64);
  lac_solver_options options = lac_solver_options_defaults();
  lac_array *x = points(ctx, c.s->rows / 3, 3), *vectors = points(ctx, c.s->rows, 6);
  options.preconditioner.coordinates = x;
  options.preconditioner.near_null = vectors;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_TEXT(report_of_factor(factor).method, "cholesky");
  lac_factor_destroy(&factor);
  direct_close(&system);
  lac_array_destroy(&x), lac_array_destroy(&vectors);
}

static void no_block_is_weak_below_zero(lac_context *ctx) {
  ref motions;
  direct_case c = multigrid_springs(24, &motions);
  int64_t rows[2];
  for (int i = 0; i < 2; ++i) {
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
    s.options.preconditioner.strength = i ? 0.6 : -1;
    s.options.preconditioner.coarse_rows = 40;
    case_set_up(ctx, &s);
    const smoothed_shape *shape = ((const smoothed_part *)s.part)->shape;
    rows[i] = shape->levels > 1 ? smoothed_rows(&shape->level[1]) : c.s->rows;
    case_close(&s);
  }
  CHECK(rows[0] < rows[1]);
}

CHECK_MAIN_OF("smoothed", nodes_are_seen_in_values, scalar_matrices_have_no_nodes, coordinates_give_rigid_motions,
              hints_help_and_coordinates_are_as_good_as_vectors, blocks_are_products_of_dense_matrices,
              elements_are_gathered_into_blocks, cycles_of_blocks_have_their_adjoints,
              other_columns_sides_and_values_are_solved_for, nodes_without_an_aggregate_follow_their_neighbours,
              bits_do_not_depend_on_threads, soft_parts_keep_their_digits, wrong_hints_are_refused,
              hints_do_not_make_it_iterate, no_block_is_weak_below_zero)

// SPDX-License-Identifier: Apache-2.0
/// Nodes that lack rows, as those on rollers do: they are seen, and rows find their places in whole nodes.

#include <stdlib.h>

#include "core/memory_impl.h"
#include "solvers/options.h"
#include "solvers/precondition/multigrid/smoothed/smoothed.h"
#include "support/elements.h"
#include "support/iterative_case.h"
#include "support/multigrid_case.h"
#include "support/reports.h"

#define TABLE (&lac_preconditioner_smoothed)
static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_width WIDTHS[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};

/// A case of which rows were taken out: those that are left.
typedef struct held_case {
  direct_case c;
  int64_t *kept;
  int64_t whole;  // rows before
} held_case;

/// The rows and columns of c that `keeps` has; all entries of c stay stored.
static held_case held_of(const direct_case *c, const char *keeps, lac_dtype dtype) {
  int64_t rows = c->s->rows, *now = scratch((size_t)rows * sizeof *now);
  held_case h = {.kept = scratch((size_t)rows * sizeof *h.kept), .whole = rows};
  sketch *s = scratch(sizeof *s);
  *s = (sketch){0, 0, 0, scratch((size_t)c->s->nnz * 8), scratch((size_t)c->s->nnz * 8)};
  ref values = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {c->s->nnz}});
  for (int64_t i = 0; i < rows; ++i) {
    now[i] = s->rows;
    if (keeps[i]) h.kept[s->rows++] = i;
  }
  s->cols = s->rows;
  for (int64_t z = 0; z < c->s->nnz; ++z) {
    if (!keeps[c->s->row[z]] || !keeps[c->s->col[z]]) continue;
    values.x[s->nnz] = c->a.x[z];
    s->row[s->nnz] = now[c->s->row[z]], s->col[s->nnz++] = now[c->s->col[z]];
  }
  h.c = (direct_case){s, ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {s->nnz}})};
  memcpy(h.c.a.x, values.x, (size_t)s->nnz * sizeof *values.x);
  return h;
}

/// Springs with all numbers of their blocks stored, those below the diagonal times `skew`.
static direct_case full_springs(int64_t side, double skew, ref *motions) {
  direct_case c = multigrid_springs(side, motions);
  int64_t n = c.s->rows;
  number *full = scratch((size_t)(n * n) * sizeof *full);
  sketch *s = scratch(sizeof *s);
  *s = (sketch){n, n, 0, scratch((size_t)(18 * n) * 8), scratch((size_t)(18 * n) * 8)};
  for (int64_t z = 0; z < c.s->nnz; ++z) full[c.s->row[z] * n + c.s->col[z]] = c.a.x[z];
  ref values = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {18 * n}});
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      int64_t p = i / 2, q = j / 2;
      if (llabs((long long)(p % side - q % side)) > 1 || llabs((long long)(p / side - q / side)) > 1) continue;
      values.x[s->nnz] = full[i * n + j] * (j < i ? skew : 1);
      s->row[s->nnz] = i, s->col[s->nnz++] = j;
    }
  }
  direct_case out = {s, ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {s->nnz}})};
  memcpy(out.a.x, values.x, (size_t)s->nnz * sizeof *values.x);
  return out;
}

/// Springs on rollers: the first line of nodes does not move along y, the last node not along x.
static held_case rollers(int64_t side, double skew, lac_dtype dtype, ref *motions) {
  direct_case c = full_springs(side, skew, motions);
  char *keeps = scratch((size_t)c.s->rows);
  for (int64_t i = 0; i < c.s->rows; ++i) keeps[i] = !(i / 2 < side && i % 2 == 1) && i != c.s->rows - 2;
  return held_of(&c, keeps, dtype);
}

/// A solid whose last face has rollers at two edges: no node of one moves along y, none of the other along z
/// (elements.c: 4 x 3 x 3 cells).
static held_case solid(lac_dtype dtype) {
  direct_case c = elements_make(ELEMENTS_SOLID, LAC_F64);
  char *keeps = scratch((size_t)c.s->rows);
  for (int64_t i = 0; i < c.s->rows; ++i) {
    int64_t node = i / 3, y = node / 4 % 4, z = node % 4;
    keeps[i] = node / 16 < 3 || (!(i % 3 == 1 && y == 0) && !(i % 3 == 2 && z == 0));
  }
  return held_of(&c, keeps, dtype);
}

static void check_places(lac_context *ctx, const held_case *h, lac_width width, int64_t unknowns) {
  multigrid_case s;
  smoothed_places places = {0};
  int64_t size = 0;
  case_open(ctx, &s, TABLE, &h->c, width, 1, true);
  s.setup.options = &s.options;
  CHECK_OK(smoothed_modes_look(ctx, &s.setup, &size, &places));
  CHECK_EQ(size, unknowns);
  CHECK(places.rows != NULL);
  CHECK_EQ(places.rows->outputs, h->whole);
  for (int64_t i = 0; i < h->c.s->rows; ++i) CHECK_EQ(lac_buffer_get(places.rows->target, i), h->kept[i]);
  smoothed_places_close(&places);
  case_close(&s);
}

static void rows_find_the_places_that_they_had(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    for (int w = 0; w < 3; ++w) {
      size_t mark = scratch_mark();
      ref motions;
      held_case plane = rollers(13, 1, DTYPES[d], &motions), space = solid(DTYPES[d]);
      check_places(ctx, &plane, WIDTHS[w], 2);
      check_places(ctx, &space, WIDTHS[w], 3);
      scratch_release(mark);
    }
  }
}

static void whole_nodes_and_single_rows_stay_where_they_are(lac_context *ctx) {
  ref motions;
  direct_case cases[] = {full_springs(12, 1, &motions), elements_make(ELEMENTS_SOLID, LAC_F64),
                         elements_make(ELEMENTS_SHELL, LAC_F64), direct_make(DIRECT_POISSON, 900, LAC_F64, 1),
                         direct_make(DIRECT_ARROW, 300, LAC_F64, 1)};
  for (size_t n = 0; n < sizeof cases / sizeof *cases; ++n) {
    multigrid_case s;
    smoothed_places places = {0};
    int64_t size = 0;
    case_open(ctx, &s, TABLE, &cases[n], LAC_WIDTH_AUTO, 1, true);
    s.setup.options = &s.options;
    CHECK_OK(smoothed_modes_look(ctx, &s.setup, &size, &places));
    CHECK(places.pattern == NULL && places.rows == NULL);
    case_close(&s);
  }
}

/// The finest level is the matrix with rows of zeros at what is missing; P^H A P is the next; S is 0 there.
static void what_is_missing_is_zero_on_the_finest_level(lac_context *ctx) {
  held_case h = solid(LAC_F64);
  multigrid_case s;
  case_open(ctx, &s, TABLE, &h.c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.coarse_rows = 10, s.options.preconditioner.full_precision = 1;
  case_set_up(ctx, &s);
  const smoothed_part *part = s.part;
  const smoothed_structure *level = part->shape->level;
  dense a = dense_new(h.whole, h.whole);
  for (int64_t z = 0; z < h.c.s->nnz; ++z) a.x[h.kept[h.c.s->row[z]] * h.whole + h.kept[h.c.s->col[z]]] += h.c.a.x[z];
  CHECK(part->shape->levels >= 2);
  case_check_same(case_dense(LAC_F64, &level->a, part->level[0].values, 0), a, 0);
  dense p = case_dense(LAC_F64, &level->p, part->level[0].p_values, 0);
  case_check_same(dense_mul(dense_side(p, LAC_ADJOINT), dense_mul(a, p)),
                  case_dense(LAC_F64, &level[1].a, part->level[1].values, 0), 100 * direct_rounding(LAC_F64));
  const double *inverse = lac_array_data(part->level[0].s);
  for (int64_t i = 0, k = 0; i < h.whole; ++i) {
    bool is_there = k < h.c.s->rows && h.kept[k] == i;
    k += is_there;
    CHECK((inverse[i / 3 * 9 + i % 3 * 4] != 0) == is_there);
  }
  case_close(&s);
}

static int64_t iterations_of(lac_context *ctx, const direct_case *c, lac_array *near_null) {
  multigrid_case s;
  case_open(ctx, &s, TABLE, c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.near_null = near_null;
  s.options.preconditioner.coarse_rows = 40;
  case_set_up(ctx, &s);
  CHECK_EQ(((const smoothed_part *)s.part)->shape->level[0].size, 2);
  int64_t count = case_iterations(ctx, &s, LAC_PLAIN, 1, NULL);
  case_close(&s);
  return count;
}

/// Whether nodes are whole or not makes no great difference, with vectors and without.
static void rollers_cost_no_iterations(lac_context *ctx) {
  ref motions;
  direct_case c = full_springs(24, 1, &motions);
  held_case h = rollers(24, 1, LAC_F64, &motions);
  ref held = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {h.c.s->rows, 3}});
  lac_array *all = NULL, *some = NULL;
  for (int64_t i = 0; i < 3 * h.c.s->rows; ++i) held.x[i] = motions.x[h.kept[i / 3] * 3 + i % 3];
  CHECK_OK(ref_upload(ctx, &motions, &all));
  CHECK_OK(ref_upload(ctx, &held, &some));
  CHECK(iterations_of(ctx, &h.c, NULL) <= iterations_of(ctx, &c, NULL) + 3);
  CHECK(iterations_of(ctx, &h.c, some) <= iterations_of(ctx, &c, all) + 3);
  CHECK(iterations_of(ctx, &h.c, some) < iterations_of(ctx, &h.c, NULL));
  lac_array_destroy(&all), lac_array_destroy(&some);
}

/// The coordinates of all nodes give their motions where rows are left; of other nodes they are refused where multigrid
/// is asked for by name, and are set aside where it was chosen: translations are taken then, as without them.
static void coordinates_are_of_all_nodes(lac_context *ctx) {
  ref motions;
  held_case h = rollers(14, 1, LAC_F64, &motions);
  multigrid_case s;
  smoothed_modes modes;
  lac_array *x = NULL, *more = NULL;
  int64_t side = 14, nodes = side * side;
  ref at = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {nodes, 2}});
  ref other = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {nodes + 3, 2}});
  for (int64_t p = 0; p < nodes; ++p) {
    int64_t line = p / side;
    at.x[2 * p] = (double)(p % side), at.x[2 * p + 1] = (double)line;
  }
  CHECK_OK(ref_upload(ctx, &at, &x));
  CHECK_OK(ref_upload(ctx, &other, &more));
  case_open(ctx, &s, TABLE, &h.c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.coordinates = x, s.setup.options = &s.options;
  CHECK_OK(lac_options_check_iterating(ctx, s.pattern, &s.options));
  CHECK_OK(smoothed_modes_open(ctx, &s.setup, &modes));
  CHECK_EQ(modes.size, 2);
  CHECK_EQ(modes.m, 3);
  const double *u = lac_array_data(modes.vectors);
  double middle = (double)(side - 1) / 2;
  for (int64_t i = 0, k = 0; i < h.whole; ++i) {  // (1, 0), (0, 1), and the turn (-y, x) about the middle
    bool is_there = h.kept[k] == i;
    double turn = i % 2 ? creal(at.x[i - 1]) - middle : middle - creal(at.x[i + 1]);
    const double expected[] = {i % 2 == 0, i % 2, turn};
    for (int v = 0; v < 3; ++v) CHECK(fabs(u[3 * i + v] - (is_there ? expected[v] : 0)) <= 1e-12);
    k += is_there && k + 1 < h.c.s->rows;
  }
  smoothed_modes_close(&modes);
  s.options.preconditioner.coordinates = more;
  CHECK_OK(lac_options_check_iterating(ctx, s.pattern, &s.options));
  s.options.preconditioner.method = "multigrid";
  CHECK_FAILS(smoothed_modes_open(ctx, &s.setup, &modes), LAC_ERR_SHAPE, "coordinates of 199 nodes");
  smoothed_modes_close(&modes);
  s.options.preconditioner.method = lac_solver_options_defaults().preconditioner.method;
  CHECK_OK(smoothed_modes_open(ctx, &s.setup, &modes));
  CHECK(strstr(modes.warning, "coordinates of 199 nodes") && modes.places.rows != NULL);
  CHECK_EQ(modes.places.rows->outputs, h.whole);
  CHECK_EQ(modes.size, 2);
  CHECK_EQ(modes.m, 2);
  smoothed_modes_close(&modes);
  lac_array_destroy(&x), lac_array_destroy(&more);
  case_close(&s);
}

/// By AUTO without room for a direct factor: coordinates that fit nothing neither end a factor nor go unsaid.
static void coordinates_are_a_hint_to_the_automatic_choice(lac_context *ctx) {
  if (!check_claimed("memory of the host")) return;
  ref motions;
  held_case h = rollers(14, 1, LAC_F64, &motions);
  lac_solver_options options = lac_solver_options_defaults();
  ref other = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {199, 2}});
  lac_array *more = NULL;
  CHECK_OK(ref_upload(ctx, &other, &more));
  options.max_bytes = 1000;
  options.preconditioner.coordinates = more;
  iterative_system s = iterative_open(ctx, &h.c, &options);
  CHECK_TEXT(report_of_factor(s.factor).preconditioner, "multigrid");
  CHECK(strstr(report_of_factor(s.factor).warning, "coordinates of 199 nodes"));
  CHECK(iterative_residual(ctx, &h.c, s.factor, LAC_PLAIN, 1) <= 1e-9);
  iterative_close(&s);
  lac_array_destroy(&more);
}

static void cycles_have_their_adjoints(lac_context *ctx) {
  ref motions;
  held_case even = rollers(12, 1, LAC_F64, &motions);
  case_check_adjoint(ctx, TABLE, &even.c, true, 0, 400, LAC_PLAIN, LAC_PLAIN, true);
  for (int d = 0; d < 4; ++d) {
    held_case h = rollers(12, 0.98, DTYPES[d], &motions);
    case_check_adjoint(ctx, TABLE, &h.c, false, 0, 400, LAC_PLAIN, LAC_ADJOINT, true);
    case_check_adjoint(ctx, TABLE, &h.c, false, 0, 400, LAC_PLAIN, LAC_TRANSPOSED, false);
  }
}

static void other_columns_and_values_are_solved_for(lac_context *ctx) {
  ref motions;
  held_case h = rollers(16, 0.98, LAC_F64, &motions);
  case_check_others(ctx, TABLE, &h.c);
}

static void bits_do_not_depend_on_threads(lac_context *ctx) {
  ref motions;
  held_case h = rollers(40, 1, LAC_F64, &motions);
  lac_array *x[3] = {NULL, NULL, NULL}, *b = NULL;
  int before = ctx->threads;
  for (int threads = 1; threads <= 3; ++threads) {
    multigrid_case s;
    ctx->threads = threads;
    case_open(ctx, &s, TABLE, &h.c, LAC_WIDTH_AUTO, 1, true);
    case_set_up(ctx, &s);
    if (!b) b = case_random(ctx, &s, 1, 3);
    x[threads - 1] = case_apply(ctx, &s, LAC_PLAIN, b);
    case_close(&s);
  }
  ctx->threads = before;
  for (int t = 1; t < 3; ++t) CHECK(case_same_bits(ctx, x[0], x[t]));
  for (int t = 0; t < 3; ++t) lac_array_destroy(&x[t]);
  lac_array_destroy(&b);
}

/// Memory that ends at any allocation: an error, and nothing is lost.
static void every_failing_allocation_is_told(lac_context *ctx) {
  ref motions;
  held_case h = rollers(12, 1, LAC_F64, &motions);
  multigrid_case s;
  case_open(ctx, &s, TABLE, &h.c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.coarse_rows = 40, s.setup.options = &s.options;
  lac_array *b = case_random(ctx, &s, 1, 3), *x = case_random(ctx, &s, 1, 4);
  lac_status status = LAC_ERR_MEMORY;
  int64_t tries = 0;
  while (status == LAC_ERR_MEMORY && tries < 5000) {
    lac_memory_fail_at(++tries);
    status = TABLE->create(ctx, &s.setup, &s.part);
    if (status == LAC_OK) status = TABLE->apply(ctx, s.part, LAC_PLAIN, b, x);
    lac_memory_fail_at(0);
    if (status != LAC_OK) TABLE->destroy(s.part), s.part = NULL;
  }
  CHECK_OK(status);
  CHECK(tries > 20);
  lac_array_destroy(&b), lac_array_destroy(&x);
  case_close(&s);
}

CHECK_MAIN_OF("smoothed", rows_find_the_places_that_they_had, whole_nodes_and_single_rows_stay_where_they_are,
              what_is_missing_is_zero_on_the_finest_level, rollers_cost_no_iterations, coordinates_are_of_all_nodes,
              coordinates_are_a_hint_to_the_automatic_choice, cycles_have_their_adjoints,
              other_columns_and_values_are_solved_for, bits_do_not_depend_on_threads, every_failing_allocation_is_told)

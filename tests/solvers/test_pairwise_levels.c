// SPDX-License-Identifier: Apache-2.0
/// The levels of pairwise multigrid: aggregates part the rows, the coarse matrix is a triple product, a cycle is what
/// its definition says; on every backend that has them.

#include <stdlib.h>

#include "core/memory_impl.h"
#include "solvers/precondition/multigrid/pairwise/hierarchy.h"
#include "support/multigrid_case.h"

extern const lac_preconditioner_table lac_preconditioner_pairwise;
static const lac_preconditioner_table *const TABLE = &lac_preconditioner_pairwise;

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

// -- matrices --------------------------------------------------------------------------------------------------------

/// Diffusion between the points of a box, held all around; `order` numbers the points (NULL: as they come).
static direct_case box(int64_t nx, int64_t ny, int64_t nz, const int64_t *order, lac_dtype dtype) {
  const int64_t n = nx * ny * nz, steps[3] = {1, nx, nx * ny}, sides[3] = {nx, ny, nz};
  double *full = scratch((size_t)(n * n) * sizeof *full);
  for (int64_t i = 0; i < n; ++i) {
    int64_t row = order ? order[i] : i;
    for (int d = 0; d < 3; ++d) {
      if (sides[d] == 1) continue;
      full[row * (n + 1)] += 2;
      if (i / steps[d] % sides[d] + 1 == sides[d]) continue;
      int64_t other = order ? order[i + steps[d]] : i + steps[d];
      full[row * n + other] = full[other * n + row] = -1;
    }
  }
  return direct_small(n, full, dtype);
}

static int64_t *shuffled(int64_t n) {
  int64_t *order = scratch((size_t)n * sizeof *order);
  random_state random = random_start(8);
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  for (int64_t i = n - 1; i > 0; --i) {
    int64_t j = random_below(&random, i + 1), held = order[i];
    order[i] = order[j], order[j] = held;
  }
  return order;
}

/// A ring of rows that are all tied to the first: it has entries everywhere, and so has its aggregate.
static direct_case wheel(int64_t n, lac_dtype dtype) {
  double *full = scratch((size_t)(n * n) * sizeof *full);
  for (int64_t i = 0; i < n; ++i) {
    int64_t next = (i + 1) % n;
    full[i * (n + 1)] = i ? 2.25 : 0.25 * (double)n;
    full[i * n + next] = full[next * n + i] = -1;
  }
  for (int64_t i = 2; i + 1 < n; ++i) full[i] = full[i * n] = -0.25;
  full[0] += 2;
  return direct_small(n, full, dtype);
}

// -- aggregates ------------------------------------------------------------------------------------------------------

static const lac_aggregation *first_aggregates(lac_context *ctx, const multigrid_case *s) {
  const lac_aggregation *a = &((const lac_hierarchy *)s->part)->levels->aggregates[0];
  CHECK_OK(lac_buffer_host(ctx, a->aggregates));
  CHECK_OK(lac_buffer_host(ctx, a->starts));
  CHECK_OK(lac_buffer_host(ctx, a->members));
  return a;
}

/// Every row is a member of the aggregate that it is sent to, once and in order. Returns how many rows have none.
static int64_t check_partition(const lac_aggregation *a, int64_t rows) {
  int64_t taken = 0;
  CHECK_EQ(a->fine, rows);
  CHECK_EQ(a->starts->count, a->coarse + 1);
  CHECK_EQ(lac_buffer_get(a->starts, 0), 0);
  CHECK_EQ(lac_buffer_get(a->starts, a->coarse), a->members->count);
  for (int64_t g = 0; g < a->coarse; ++g) {
    int64_t begin = lac_buffer_get(a->starts, g), end = lac_buffer_get(a->starts, g + 1);
    CHECK(end > begin);
    for (int64_t q = begin; q < end; ++q) {
      int64_t row = lac_buffer_get(a->members, q);
      CHECK(row >= 0 && row < rows);
      CHECK(q == begin || row > lac_buffer_get(a->members, q - 1));
      CHECK_EQ(lac_buffer_get(a->aggregates, row), g);
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    CHECK(lac_buffer_get(a->aggregates, i) >= -1 && lac_buffer_get(a->aggregates, i) < a->coarse);
    taken += lac_buffer_get(a->aggregates, i) >= 0;
  }
  CHECK_EQ(taken, a->members->count);
  return rows - taken;
}

/// Members of an aggregate are neighbours: from one of them all others are reached inside it.
static void check_connected(const direct_case *c, const lac_aggregation *a) {
  int64_t *root = scratch((size_t)a->fine * sizeof *root), joined = 0;
  for (int64_t i = 0; i < a->fine; ++i) root[i] = i;
  for (int64_t z = 0; z < c->s->nnz; ++z) {
    int64_t i = c->s->row[z], j = c->s->col[z], to = lac_buffer_get(a->aggregates, i);
    if (to < 0 || to != lac_buffer_get(a->aggregates, j)) continue;
    while (root[i] != i) i = root[i];
    while (root[j] != j) j = root[j];
    joined += i != j;
    root[i] = j;
  }
  CHECK_EQ(joined, a->members->count - a->coarse);
}

static void aggregates_part_the_rows(lac_context *ctx) {
  for (int is_shuffled = 0; is_shuffled < 2; ++is_shuffled) {
    for (int shape = 0; shape < 3; ++shape) {
      const int64_t nx = shape == 2 ? 10 : 31, ny = shape == 2 ? 11 : 29, nz = shape == 2 ? 9 : 1;
      direct_case c = box(nx, ny, nz, is_shuffled ? shuffled(nx * ny * nz) : NULL, DTYPES[shape]);
      multigrid_case s;
      case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
      const lac_aggregation *a = first_aggregates(ctx, &s);
      CHECK_EQ(check_partition(a, nx * ny * nz), 0);
      check_connected(&c, a);
      CHECK(3 * a->coarse <= a->fine && 7 * a->coarse >= a->fine);
      case_close(&s);
    }
  }
}

/// Twice two points in line with each other, on lines that are not of even length too.
static void aggregates_of_a_grid_are_boxes(lac_context *ctx) {
  for (int64_t nx = 40; nx <= 41; ++nx) {
    direct_case c = box(nx, 40, 1, NULL, LAC_F64);
    multigrid_case s;
    int64_t boxes = 0;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
    const lac_aggregation *a = first_aggregates(ctx, &s);
    for (int64_t g = 0; g < a->coarse; ++g) {
      int64_t at = lac_buffer_get(a->starts, g), first = lac_buffer_get(a->members, at);
      if (lac_buffer_get(a->starts, g + 1) - at != 4 || first % nx % 2 || first / nx % 2) continue;
      boxes += lac_buffer_get(a->members, at + 1) == first + 1 && lac_buffer_get(a->members, at + 2) == first + nx &&
               lac_buffer_get(a->members, at + 3) == first + nx + 1;
    }
    CHECK_EQ(boxes, 400);
    CHECK(a->coarse <= 400 + 20 * (nx - 40));
    case_close(&s);
  }
}

/// Unless a neighbour has taken them before.
static void only_dominant_rows_are_left_out(lac_context *ctx) {
  direct_case c = box(20, 20, 1, NULL, LAC_F64);
  multigrid_case s;
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    if (c.s->row[z] == c.s->col[z] && c.s->row[z] % 7 == 0) c.a.x[z] = 13;
  }
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  const lac_aggregation *a = first_aggregates(ctx, &s);
  CHECK(check_partition(a, 400) >= 30);
  for (int64_t i = 0; i < 400; ++i) CHECK(lac_buffer_get(a->aggregates, i) >= 0 || i % 7 == 0);
  case_close(&s);
}

static void a_set_up_has_the_same_bits_each_time(lac_context *ctx) {
  direct_case c = box(60, 50, 1, shuffled(3000), LAC_F64);
  lac_array *x[2];
  for (int run = 0; run < 2; ++run) {
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
    lac_array *b = case_random(ctx, &s, 2, 5);
    x[run] = case_apply(ctx, &s, LAC_PLAIN, b);
    lac_array_destroy(&b);
    case_close(&s);
  }
  CHECK(case_same_bits(ctx, x[0], x[1]));
  lac_array_destroy(&x[0]), lac_array_destroy(&x[1]);
}

// -- what is said of it ----------------------------------------------------------------------------------------------

/// Of rows whose entries are even, uneven by 1 to 10, and of the diagonal's sign, every third.
static void some_rows_tell_whether_entries_are_even(lac_context *ctx) {
  static const double ratio[2] = {4, 12}, sign[2] = {0.05, 0.5}, expected[3][2] = {{0, 0}, {1, 0}, {1.0 / 3, 0}};
  for (int d = 0; d < 4; ++d) {
    for (int what = 0; what < 3; ++what) {
      direct_case c = box(300, 1, 1, NULL, DTYPES[d]);
      lac_array *shares = NULL;
      double found[2];
      multigrid_case s;
      for (int64_t z = 0; z < c.s->nnz; ++z) {
        if (what == 1 && c.s->row[z] > c.s->col[z]) c.a.x[z] *= 10;
        if (what == 2 && c.s->row[z] + 1 == c.s->col[z] && c.s->row[z] % 3 == 1) c.a.x[z] *= -0.3;
        if (lac_dtype_is_complex(DTYPES[d])) c.a.x[z] *= 0.6 + 0.8 * _Complex_I;
      }
      case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, false);
      CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){2}, &shares));
      CHECK_OK(ctx->kernels->pairwise->evenness(ctx, s.pattern, s.values, 4096, ratio, sign, shares));
      CHECK_OK(lac_array_read(ctx, shares, found));
      for (int l = 0; l < 2; ++l) CHECK(fabs(found[l] - expected[what][l]) <= 0.01);
      lac_array_destroy(&shares);
      case_close(&s);
    }
  }
}

static void multigrid_takes_pairs_for_what_is_no_grid(lac_context *ctx) {
  direct_case c = box(8, 9, 10, shuffled(720), LAC_F64);
  multigrid_case s;
  lac_setup_figures finding = {0};
  char *text = NULL;
  case_open(ctx, &s, &lac_preconditioner_multigrid, &c, LAC_WIDTH_AUTO, 1, true);
  CHECK(s.table->is_here(ctx, s.pattern, &s.options));
  case_set_up(ctx, &s);
  CHECK_OK(s.table->describe(ctx, s.part, &text));
  CHECK(strstr(text, "pairwise multigrid: ") == text);
  s.table->report(s.part, &finding);
  CHECK(finding.levels > 1 && !finding.is_grid && finding.complexity < 1.6);
  CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= 25);
  lac_free(text);
  case_close(&s);
}

// -- the coarse matrix -----------------------------------------------------------------------------------------------

/// P^T A P entry by entry; rows in no aggregate have no part in it.
static void check_triple_product(lac_context *ctx, const direct_case *c, lac_width width) {
  enum { ITEMS = 2 };
  multigrid_case s;
  ref got, unit;
  case_open(ctx, &s, TABLE, c, width, ITEMS, false);
  s.options.preconditioner.full_precision = 1;
  s.options.preconditioner.coarse_rows = 20;
  case_set_up(ctx, &s);
  const lac_hierarchy *h = s.part;
  const lac_aggregation *a = first_aggregates(ctx, &s);
  const lac_pattern *p = h->levels->patterns[1];
  CHECK_OK(lac_pattern_host(ctx, p));
  CHECK_OK(ref_download(ctx, h->values[1], &got));
  CHECK_OK(ref_download(ctx, h->unit, &unit));
  for (int64_t item = 0; item < ITEMS; ++item) {
    number *full = scratch((size_t)(p->rows * p->rows) * sizeof *full);
    for (int64_t z = 0; z < c->s->nnz; ++z) {
      int64_t i = lac_buffer_get(a->aggregates, c->s->row[z]), j = lac_buffer_get(a->aggregates, c->s->col[z]);
      if (i >= 0 && j >= 0) full[i * p->rows + j] += c->a.x[z] * ldexp(1, (int)item) * unit.x[2 * item];
    }
    for (int64_t i = 0; i < p->rows; ++i) {
      for (int64_t q = lac_buffer_get(p->offsets, i); q < lac_buffer_get(p->offsets, i + 1); ++q) {
        int64_t j = lac_buffer_get(p->columns, q);
        CHECK(q == lac_buffer_get(p->offsets, i) || j > lac_buffer_get(p->columns, q - 1));
        CHECK(cabs(got.x[item * p->nnz + q] - full[i * p->rows + j]) <= 200 * direct_rounding(c->a.meta.dtype));
        full[i * p->rows + j] = 0;
      }
    }
    for (int64_t i = 0; i < p->rows * p->rows; ++i) CHECK(cabs(full[i]) == 0);
  }
  case_close(&s);
}

static void the_coarse_matrix_is_the_triple_product(lac_context *ctx) {
  static const lac_width WIDTHS[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64, LAC_WIDTH_AUTO};
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_convection(37, 0.6, DTYPES[d]), mixed = box(12, 11, 1, shuffled(132), DTYPES[d]);
    check_triple_product(ctx, &c, WIDTHS[d]);
    check_triple_product(ctx, &mixed, WIDTHS[3 - d]);
    for (int64_t z = 0; z < c.s->nnz; ++z) {
      if (c.s->row[z] == c.s->col[z] && c.s->row[z] % 50 == 0) c.a.x[z] *= 8;
    }
    check_triple_product(ctx, &c, LAC_WIDTH_AUTO);
  }
}

/// A coarse row of more entries than most kernels keep at hand.
static void rows_may_be_long(lac_context *ctx) {
  for (int d = 1; d < 4; d += 2) {
    direct_case c = wheel(1200, DTYPES[d]);
    check_triple_product(ctx, &c, LAC_WIDTH_AUTO);
  }
}

// -- the cycle -------------------------------------------------------------------------------------------------------

/// W of the definition: one weight a row.
static dense weights_of(dense a) {
  dense w = dense_new(a.rows, a.cols);
  for (int64_t i = 0; i < a.rows; ++i) {
    number own = a.x[i * (a.cols + 1)];
    double sum = 0;
    for (int64_t j = 0; j < a.cols; ++j) sum += cabs(a.x[i * a.cols + j]);
    double d = fmax(cabs(own), sum / 2);
    if (d > 0) w.x[i * (a.cols + 1)] = 0.8 / d * (cabs(own) > 0 ? conj(own) / cabs(own) : 1);
  }
  return w;
}

static dense interpolation_of(const lac_aggregation *a) {
  dense p = dense_new(a->fine, a->coarse);
  for (int64_t i = 0; i < a->fine; ++i) {
    int64_t to = lac_buffer_get(a->aggregates, i);
    if (to >= 0) p.x[i * a->coarse + to] = 1;
  }
  return p;
}

static dense minus(dense a, dense b) {
  dense c = dense_new(a.rows, a.cols);
  for (int64_t i = 0; i < a.rows * a.cols; ++i) c.x[i] = a.x[i] - b.x[i];
  return c;
}

static dense plus(dense a, dense b) {
  dense c = dense_new(a.rows, a.cols);
  for (int64_t i = 0; i < a.rows * a.cols; ++i) c.x[i] = a.x[i] + b.x[i];
  return c;
}

/// Smooth, solve on the next level, smooth.
static dense cycle_of(dense a, dense w, dense p, dense b) {
  dense pt = dense_side(p, LAC_TRANSPOSED), x = dense_mul(w, b);
  dense c = dense_solve(dense_mul(pt, dense_mul(a, p)), dense_mul(pt, minus(b, dense_mul(a, x))));
  x = plus(x, dense_mul(p, c));
  return plus(x, dense_mul(w, minus(b, dense_mul(a, x))));
}

static void check_definition(lac_context *ctx, const direct_case *c, bool is_hermitian, int64_t k) {
  dense a = dense_matrix(c->s, c->a.x), w = weights_of(a);
  bool is_single = lac_dtype_real(c->a.meta.dtype) == LAC_F32;
  multigrid_case s;
  case_open(ctx, &s, TABLE, c, LAC_WIDTH_AUTO, 1, is_hermitian);
  s.options.preconditioner.full_precision = 1;
  s.options.preconditioner.max_levels = 2;
  case_set_up(ctx, &s);
  dense p = interpolation_of(first_aggregates(ctx, &s));
  for (int f = 0; f < 4; ++f) {
    lac_array *bs = case_random(ctx, &s, k, 5), *xs = case_apply(ctx, &s, FORMS[f], bs);
    ref b, x;
    CHECK_OK(ref_download(ctx, bs, &b));
    CHECK_OK(ref_download(ctx, xs, &x));
    dense right = dense_new(a.rows, k), got = dense_new(a.rows, k);
    memcpy(right.x, b.x, (size_t)b.count * sizeof *b.x);
    memcpy(got.x, x.x, (size_t)x.count * sizeof *x.x);
    case_check_same(cycle_of(dense_side(a, FORMS[f]), dense_side(w, FORMS[f]), p, right), got,
                    is_single ? 2e-4 : 1e-11);
    lac_array_destroy(&bs), lac_array_destroy(&xs);
  }
  case_close(&s);
}

static void a_cycle_is_what_its_definition_says(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case even = box(13, 12, 1, NULL, DTYPES[d]), mixed = box(6, 5, 5, shuffled(150), DTYPES[d]);
    direct_case windy = direct_convection(13, 0.6, DTYPES[d]);
    if (lac_dtype_is_complex(DTYPES[d])) {
      for (int64_t z = 0; z < windy.s->nnz; ++z)
        windy.a.x[z] *= windy.s->row[z] == windy.s->col[z] ? 1 + 0.5 * _Complex_I : 1 - 0.25 * _Complex_I;
    }
    check_definition(ctx, &even, true, 1);
    check_definition(ctx, &mixed, true, 3);
    check_definition(ctx, &windy, false, 1);
    check_definition(ctx, &windy, false, 300);
  }
}

/// A problem in one column is none of the others, on levels that take two steps as well.
static void a_column_that_is_not_finite_keeps_to_itself(lac_context *ctx) {
  enum { K = 10, BAD = 4 };
  direct_case c = box(60, 60, 1, shuffled(3600), LAC_F64);
  multigrid_case s;
  ref b, x, y;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  lac_array *good = case_random(ctx, &s, K, 5), *bad = NULL;
  CHECK_OK(ref_download(ctx, good, &b));
  b.x[1000 * K + BAD] = NAN;
  CHECK_OK(ref_upload(ctx, &b, &bad));
  lac_array *xs = case_apply(ctx, &s, LAC_PLAIN, good), *ys = case_apply(ctx, &s, LAC_PLAIN, bad);
  CHECK_OK(ref_download(ctx, xs, &x));
  CHECK_OK(ref_download(ctx, ys, &y));
  for (int64_t i = 0; i < x.count; ++i) CHECK(i % K == BAD || x.x[i] == y.x[i]);
  CHECK(isnan(creal(y.x[1000 * K + BAD])));
  lac_array_destroy(&good), lac_array_destroy(&bad), lac_array_destroy(&xs), lac_array_destroy(&ys);
  case_close(&s);
}

CHECK_MAIN_OF("pairwise", aggregates_part_the_rows, aggregates_of_a_grid_are_boxes, only_dominant_rows_are_left_out,
              a_set_up_has_the_same_bits_each_time, some_rows_tell_whether_entries_are_even,
              multigrid_takes_pairs_for_what_is_no_grid, the_coarse_matrix_is_the_triple_product, rows_may_be_long,
              a_cycle_is_what_its_definition_says, a_column_that_is_not_finite_keeps_to_itself)

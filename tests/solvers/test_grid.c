// SPDX-License-Identifier: Apache-2.0
/// Multigrid on a grid: a cycle is what its definition says, with dense matrices; Hermitian where the matrix is, its
/// transpose its adjoint; few iterations whatever the size, and jumps; and what is no grid.

#include <stdlib.h>

#include "core/memory_impl.h"
#include "core/test_hooks.h"
#include "support/multigrid_case.h"

static const lac_preconditioner_table *const TABLE = &lac_preconditioner_grid;

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

// -- matrices --------------------------------------------------------------------------------------------------------

/// Entries at random, of the neighbours on a grid; a diagonal that makes up for them but for `rest`. `tilt`: how much
/// an entry differs from its mirror. `gaps`: one neighbour in so many has no entry; 0: none.
static direct_case grid_gaps(int64_t width, int64_t height, bool corners, double tilt, double rest, int gaps,
                             lac_dtype dtype) {
  int64_t n = width * height;
  double *full = scratch((size_t)(n * n) * sizeof *full);
  random_state random = random_start(7);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n && j <= i + width + 1; ++j) {
      int64_t dx = j % width - i % width, dy = j / width - i / width;
      if (llabs(dx) > 1 || dy > 1 || (!corners && dx != 0 && dy != 0)) continue;
      double a = 0.5 + 0.1 * (double)random_below(&random, 10), lean = tilt * (double)(random_below(&random, 3) - 1);
      if (gaps && random_below(&random, gaps) == 0 && !(dx == 0 && i < width)) continue;
      full[i * n + j] = -a - lean, full[j * n + i] = -a + lean;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    double sum = rest;
    for (int64_t j = 0; j < n; ++j) sum -= full[i * n + j];
    full[i * (n + 1)] = sum;
  }
  return direct_small(n, full, dtype);
}

static direct_case grid_make(int64_t width, int64_t height, bool corners, double tilt, double rest, lac_dtype dtype) {
  return grid_gaps(width, height, corners, tilt, rest, 0, dtype);
}

/// The same with imaginary parts.
static direct_case grid_complex(direct_case c) {
  for (int64_t z = 0; z < c.s->nnz; ++z)
    c.a.x[z] *= c.s->row[z] == c.s->col[z] ? 1 + 0.5 * _Complex_I : 1 - 0.25 * _Complex_I;
  return c;
}

/// Diffusion between the points of a square with a coefficient for each, held all around.
static direct_case grid_diffusion(int64_t side, const double *k) {
  direct_case c = direct_make(DIRECT_POISSON, side * side, LAC_F64, 1);
  number *sum = scratch((size_t)c.s->rows * sizeof *sum);
  int64_t *entries = scratch((size_t)c.s->rows * sizeof *entries);
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    int64_t i = c.s->row[z], j = c.s->col[z];
    ++entries[i];
    if (i == j) continue;
    c.a.x[z] = -2 / (1 / k[i] + 1 / k[j]);
    sum[i] -= c.a.x[z];
  }
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    int64_t i = c.s->row[z];
    if (i == c.s->col[z]) c.a.x[z] = (4 - (double)(entries[i] - 1)) * k[i] + sum[i];
  }
  return c;
}

/// With the coefficients of a board of fields, 1 and `stiffness`.
static direct_case grid_board(int64_t side, double stiffness) {
  double *k = scratch((size_t)(side * side) * sizeof *k);
  for (int64_t i = 0; i < side * side; ++i) k[i] = (i / side * 7 / side + i % side * 7 / side) % 2 ? stiffness : 1;
  return grid_diffusion(side, k);
}

// -- the definition --------------------------------------------------------------------------------------------------

static number dense_at(dense a, int64_t i, int64_t j) { return i < 0 || j < 0 ? 0 : a.x[i * a.cols + j]; }

/// The matrix as cycles take it: diagonal entries are at least half of what their rows have besides.
static dense grid_strong(dense a) {
  dense strong = dense_new(a.rows, a.cols);
  for (int64_t i = 0; i < a.rows; ++i) {
    number own = a.x[i * (a.cols + 1)];
    double sum = 0, size = fabs(creal(own)) + fabs(cimag(own));
    for (int64_t j = 0; j < a.cols; ++j) {
      number entry = strong.x[i * a.cols + j] = a.x[i * a.cols + j];
      if (i != j) sum += fabs(creal(entry)) + fabs(cimag(entry));
    }
    if (2 * size < sum) strong.x[i * (a.cols + 1)] = size > 0 ? own / size * sum / 2 : sum / 2;
  }
  return strong;
}

/// An entry over the diagonal, with a minus; 0 beyond the grid.
static double grid_taken(dense a, int64_t i, int64_t j) { return -creal(dense_at(a, i, j) / a.x[i * (a.cols + 1)]); }

/// The number of a neighbour, or -1.
static int64_t beside(int64_t width, int64_t height, int64_t i, int64_t dx, int64_t dy) {
  int64_t x = i % width + dx, y = i / width + dy;
  return x >= 0 && x < width && y >= 0 && y < height ? y * width + x : -1;
}

/// Interpolation from every second point of every second row, by the entries around: first to points between two.
static dense grid_interpolation(dense a, int64_t width, int64_t height) {
  int64_t across = (width + 1) / 2, down = (height + 1) / 2;
  dense p = dense_new(width * height, across * down);
  for (int pass = 0; pass < 3; ++pass) {
    for (int64_t i = 0; i < a.rows; ++i) {
      int64_t x = i % width, y = i / width;
      if (pass == 0 && x % 2 == 0 && y % 2 == 0) p.x[i * p.cols + y / 2 * across + x / 2] = 1;
      if (pass == 1 && (x + y) % 2 == 1) {
        int64_t ax = x % 2, ay = y % 2;  // along which axis
        double middle = 1, ends[2] = {0, 0};
        for (int64_t s = -1; s <= 1; ++s) {
          if (s != 0) middle -= grid_taken(a, i, beside(width, height, i, s * ay, s * ax));
          for (int64_t e = -1; e <= 1; e += 2)
            ends[(e + 1) / 2] += grid_taken(a, i, beside(width, height, i, ax * e + ay * s, ay * e + ax * s));
        }
        double size = fabs(ends[0]) + fabs(ends[1]), by = fmax(middle, size / 2);
        for (int64_t e = -1; e <= 1; e += 2) {
          int64_t to = beside(width, height, i, ax * e, ay * e);
          if (to >= 0 && size > 0) p.x[i * p.cols + to / width / 2 * across + to % width / 2] = ends[(e + 1) / 2] / by;
        }
      }
      if (pass < 2 || x % 2 == 0 || y % 2 == 0) continue;
      for (int64_t c = 0; c < p.cols; ++c) {
        double sum = 0;
        for (int d = 0; d < 9; ++d) {
          int64_t j = d == 4 ? -1 : beside(width, height, i, d % 3 - 1, d / 3 - 1);
          if (j >= 0) sum += grid_taken(a, i, j) * creal(p.x[j * p.cols + c]);
        }
        p.x[i * p.cols + c] = sum;
      }
    }
  }
  return p;
}

/// All colours there and back.
static void grid_sweep(dense a, int64_t width, const number *b, number *x) {
  static const int order[] = {2, 1, 3, 0, 3, 1, 2};
  for (int q = 0; q < 7; ++q) {
    for (int64_t i = 0; i < a.rows; ++i) {
      if (2 * (i / width % 2) + i % width % 2 != order[q]) continue;
      number sum = b[i];
      for (int64_t j = 0; j < a.cols; ++j) sum -= j == i ? 0 : a.x[i * a.cols + j] * x[j];
      x[i] = sum / a.x[i * (a.cols + 1)];
    }
  }
}

/// A cycle of two levels for a column b, into x.
static void grid_cycle(dense a, int64_t width, int64_t height, const number *b, number *x) {
  dense strong = grid_strong(a), p = grid_interpolation(strong, width, height), pt = dense_side(p, LAC_TRANSPOSED);
  dense r = dense_new(a.rows, 1);
  for (int64_t i = 0; i < a.rows; ++i) x[i] = 0;
  grid_sweep(strong, width, b, x);
  for (int64_t i = 0; i < a.rows; ++i) {
    r.x[i] = b[i];
    for (int64_t j = 0; j < a.cols; ++j) r.x[i] -= strong.x[i * a.cols + j] * x[j];
  }
  dense more = dense_mul(p, dense_solve(dense_mul(pt, dense_mul(a, p)), dense_mul(pt, r)));
  for (int64_t i = 0; i < a.rows; ++i) x[i] += more.x[i];
  grid_sweep(strong, width, b, x);
}

static void check_definition_of(lac_context *ctx, int64_t width, int64_t height, const direct_case *c,
                                bool is_hermitian, bool low_memory) {
  dense a = dense_matrix(c->s, c->a.x);
  number *expected = scratch((size_t)a.rows * sizeof *expected);
  bool is_single = lac_dtype_real(c->a.meta.dtype) == LAC_F32;
  multigrid_case s;
  ref b, x;
  case_open(ctx, &s, TABLE, c, LAC_WIDTH_AUTO, 1, is_hermitian);
  s.options.preconditioner.full_precision = 1;
  s.options.preconditioner.coarse_rows = 200;  // two levels
  s.options.low_memory = low_memory;
  case_set_up(ctx, &s);
  for (int f = 0; f < 4; ++f) {
    lac_array *bs = case_random(ctx, &s, 1, 5), *xs = case_apply(ctx, &s, FORMS[f], bs);
    double worst = 0, most = 0;
    CHECK_OK(ref_download(ctx, bs, &b));
    CHECK_OK(ref_download(ctx, xs, &x));
    dense of = dense_side(a, FORMS[f]);
    if (FORMS[f] == LAC_PLAIN || is_hermitian) {  // interpolation is that of A, not of its transpose
      grid_cycle(of, width, height, b.x, expected);
      for (int64_t i = 0; i < a.rows; ++i)
        worst = fmax(worst, cabs(x.x[i] - expected[i])), most = fmax(most, cabs(expected[i]));
      CHECK(worst <= (is_single ? 1e-4 : 1e-12) * most);
      CHECK(most > 0);
    }
    lac_array_destroy(&bs), lac_array_destroy(&xs);
  }
  case_close(&s);
}

static void check_definition(lac_context *ctx, int64_t width, int64_t height, const direct_case *c, bool is_hermitian) {
  check_definition_of(ctx, width, height, c, is_hermitian, false);
  if (is_hermitian) check_definition_of(ctx, width, height, c, is_hermitian, true);
}

static void a_cycle_is_what_its_definition_says(lac_context *ctx) {
  static const int64_t SIZES[][2] = {{3, 3},   {3, 4}, {4, 3},  {9, 8},  {8, 9},
                                     {12, 11}, {7, 2}, {3, 13}, {16, 3}, {131, 3}};
  for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; ++i) {
    for (int d = 0; d < 4; ++d) {
      for (int corners = 0; corners < 2; ++corners) {
        int64_t w = SIZES[i][0], h = SIZES[i][1];
        direct_case c = grid_make(w, h, corners, 0, 0.3, DTYPES[d]);
        direct_case tilted = grid_make(w, h, corners, 0.2, 0.3, DTYPES[d]);
        direct_case weak = grid_make(w, h, corners, 0, -1.2, DTYPES[d]);
        direct_case gaps = grid_gaps(w, h, corners, 0, 0.3, 6, DTYPES[d]);
        lac_grid_set_parts((int64_t)i % 4);
        check_definition(ctx, w, h, &c, true);
        if (w > 3) check_definition(ctx, w, h, &gaps, true);
        if (lac_dtype_real(DTYPES[d]) == LAC_F64) check_definition(ctx, w, h, &weak, true);  // else too near singular
        if (lac_dtype_is_complex(DTYPES[d])) tilted = grid_complex(tilted);
        check_definition(ctx, w, h, &tilted, false);
      }
    }
  }
  lac_grid_set_parts(0);
}

static void a_cycle_of_a_hermitian_matrix_is_hermitian(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case five = direct_make(DIRECT_POISSON, 30 * 30, DTYPES[d], 1);
    direct_case nine = grid_make(21, 18, true, 0, 0.01, DTYPES[d]);
    const direct_case *cases[] = {&five, &nine};
    for (int i = 0; i < 2; ++i) {
      case_check_adjoint(ctx, TABLE, cases[i], true, 0, 100, LAC_PLAIN, LAC_PLAIN, true);
      case_check_adjoint(ctx, TABLE, cases[i], true, 0, 100, LAC_ADJOINT, LAC_PLAIN, true);
      case_check_adjoint(ctx, TABLE, cases[i], true, 0, 100, LAC_TRANSPOSED, LAC_PLAIN, false);
    }
  }
}

static void the_transposed_cycle_is_the_adjoint(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case five = direct_convection(24, 0.7, DTYPES[d]), nine = grid_make(19, 22, true, 0.3, 0.1, DTYPES[d]);
    direct_case cases[] = {five, nine};
    for (int i = 0; i < 2; ++i) {
      direct_case c = lac_dtype_is_complex(DTYPES[d]) ? grid_complex(cases[i]) : cases[i];
      case_check_adjoint(ctx, TABLE, &c, false, 0, 100, LAC_TRANSPOSED, LAC_PLAIN, false);
      case_check_adjoint(ctx, TABLE, &c, false, 0, 100, LAC_ADJOINT, LAC_PLAIN, true);
      case_check_adjoint(ctx, TABLE, &c, false, 0, 100, LAC_CONJUGATED, LAC_ADJOINT, false);
    }
  }
}

/// Coefficients at random; of a symmetric matrix large levels make half the entries, and the others are their mirrors.
static void half_a_matrix_makes_the_cycle_of_the_whole(lac_context *ctx) {
  enum { SIDE = 520 };
  double *k = scratch(SIDE * SIDE * sizeof *k), worst = 0;
  random_state random = random_start(5);
  lac_array *results[2];
  ref x[2];
  for (int64_t i = 0; i < SIDE * SIDE; ++i) k[i] = 1 + (double)random_below(&random, 100);
  direct_case c = grid_diffusion(SIDE, k);
  for (int is_hermitian = 0; is_hermitian < 2; ++is_hermitian) {
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, is_hermitian);
    s.options.preconditioner.full_precision = true;
    case_set_up(ctx, &s);
    lac_array *b = case_random(ctx, &s, 1, 5);
    results[is_hermitian] = case_apply(ctx, &s, LAC_PLAIN, b);
    CHECK_OK(ref_download(ctx, results[is_hermitian], &x[is_hermitian]));
    lac_array_destroy(&b);
    case_close(&s);
  }
  for (int64_t i = 0; i < x[0].count; ++i) worst = fmax(worst, cabs(x[0].x[i] - x[1].x[i]));
  CHECK(worst <= 1e-11 * ref_max(&x[0]));
  lac_array_destroy(&results[0]), lac_array_destroy(&results[1]);
}

/// Coefficients at random, two matrices, three columns, sides that fill the last cells and that do not.
static void a_cycle_that_reads_values_is_that_of_planes(lac_context *ctx) {
  for (int64_t side = 130; side < 132; ++side) {
    double *k = scratch((size_t)(side * side) * sizeof *k);
    random_state random = random_start(5);
    for (int64_t i = 0; i < side * side; ++i) k[i] = 1 + (double)random_below(&random, 100);
    direct_case c = grid_diffusion(side, k);
    lac_setup_figures figures[2];
    lac_array *results[2];
    ref x[2];
    double worst = 0;
    for (int low = 0; low < 2; ++low) {
      multigrid_case s;
      case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 2, true);
      s.options.low_memory = low;
      case_set_up(ctx, &s);
      lac_array *b = case_random(ctx, &s, 3, 5);
      results[low] = case_apply(ctx, &s, LAC_PLAIN, b);
      CHECK_OK(ref_download(ctx, results[low], &x[low]));
      TABLE->report(s.part, &figures[low]);
      lac_array_destroy(&b);
      case_close(&s);
    }
    for (int64_t i = 0; i < x[0].count; ++i) worst = fmax(worst, cabs(x[0].x[i] - x[1].x[i]));
    CHECK(worst <= 1e-6 * ref_max(&x[0]));
    CHECK(lac_context_is_host(ctx) || check_is_shadow()
              ? figures[1].bytes == figures[0].bytes
              : figures[1].bytes < figures[0].bytes - 2 * 3 * 4 * side * side);
    lac_array_destroy(&results[0]), lac_array_destroy(&results[1]);
  }
}

// -- as a preconditioner ---------------------------------------------------------------------------------------------

static int64_t iterations_of(lac_context *ctx, const direct_case *c, lac_width width, bool full, int64_t items,
                             int64_t k, bool is_hermitian, lac_form form) {
  multigrid_case s;
  case_open(ctx, &s, TABLE, c, width, items, is_hermitian);
  s.options.preconditioner.full_precision = full;
  case_set_up(ctx, &s);
  int64_t count = case_iterations(ctx, &s, form, k, NULL);
  case_close(&s);
  return count;
}

static void iterations_do_not_grow_with_the_grid(lac_context *ctx) {
  for (int64_t side = 25; side <= 400; side *= 4) {
    direct_case c = direct_make(DIRECT_POISSON, side * side, LAC_F64, 1);
    CHECK(iterations_of(ctx, &c, LAC_WIDTH_AUTO, false, 1, 1, true, LAC_PLAIN) <= 9);
  }
}

static void all_dtypes_widths_and_precisions_need_few_iterations(lac_context *ctx) {
  static const lac_width WIDTHS[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_make(DIRECT_POISSON, 40 * 40, DTYPES[d], 1);
    for (int w = 0; w < 3; ++w) {
      for (int full = 0; full < 2; ++full) {
        CHECK(iterations_of(ctx, &c, WIDTHS[w], full, 2, 3, true, LAC_PLAIN) <= 10);
      }
    }
  }
}

/// With b = A x for an x at random: of another b the residual would end at the rounding of A x.
static void jumps_of_the_coefficient_need_few_iterations(lac_context *ctx) {
  static const double STIFF[] = {1e2, 1e4, 1e6, 1e8, 1e-8};
  for (size_t q = 0; q < sizeof STIFF / sizeof *STIFF; ++q) {
    direct_case c = grid_board(100, STIFF[q]);
    multigrid_case s;
    ref x;
    lac_array *bs = NULL;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
    s.options.preconditioner.full_precision = true;
    case_set_up(ctx, &s);
    lac_array *xs = case_random(ctx, &s, 1, 5);
    CHECK_OK(ref_download(ctx, xs, &x));
    ref b = ref_new(&x.meta);
    for (int64_t z = 0; z < c.s->nnz; ++z) b.x[c.s->row[z]] += c.a.x[z] * x.x[c.s->col[z]];
    CHECK_OK(ref_upload(ctx, &b, &bs));
    CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, bs) <= 20);
    lac_array_destroy(&xs), lac_array_destroy(&bs);
    case_close(&s);
  }
}

static void nonsymmetric_matrices_are_solved_on_every_side(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_convection(60, 0.5, DTYPES[d]);
    for (int form = 0; form < 4; ++form) {
      CHECK(iterations_of(ctx, &c, LAC_WIDTH_AUTO, false, 1, 2, false, FORMS[form]) <= 15);
    }
  }
}

/// Coefficients that fall by 40 orders of magnitude from row to row of the grid, each hardly below the one before.
static void a_range_beyond_that_of_narrow_numbers_is_held(lac_context *ctx) {
  enum { SIDE = 200 };
  double *k = scratch(SIDE * SIDE * sizeof *k);
  for (int64_t i = 0; i < SIDE * SIDE; ++i) k[i] = pow(10, -40 * (double)(i / SIDE) / SIDE);
  direct_case c = grid_diffusion(SIDE, k);
  CHECK(iterations_of(ctx, &c, LAC_WIDTH_AUTO, false, 1, 1, true, LAC_PLAIN) <= 20);
}

static void zeros_on_the_diagonal_are_relaxed_too(lac_context *ctx) {
  static const int64_t AT[] = {51 * 100 + 51, 50 * 100 + 51, 51 * 100 + 50, 50 * 100 + 50};
  for (int q = 0; q < 4; ++q) {
    direct_case c = direct_make(DIRECT_POISSON, 100 * 100, LAC_F64, 1);
    for (int64_t z = 0; z < c.s->nnz; ++z)
      if (c.s->row[z] == AT[q] && c.s->col[z] == AT[q]) c.a.x[z] = q % 2 ? 0 : 1e-8;
    CHECK(iterations_of(ctx, &c, LAC_WIDTH_AUTO, false, 1, 1, false, LAC_PLAIN) <= 25);
  }
}

static void the_phase_of_a_matrix_does_not_matter(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60 * 60, LAC_C128, 1);
  for (int64_t z = 0; z < c.s->nnz; ++z) c.a.x[z] = creal(c.a.x[z]) * _Complex_I;
  CHECK(iterations_of(ctx, &c, LAC_WIDTH_AUTO, false, 1, 1, false, LAC_PLAIN) <= 15);
}

static void a_singular_matrix_is_solved(lac_context *ctx) { CHECK(multigrid_neumann_iterations(ctx, TABLE, 41) <= 12); }

static void columns_do_not_meet(lac_context *ctx) {
  enum { K = 3, N = 31 * 31 };
  direct_case c = direct_make(DIRECT_POISSON, N, LAC_F64, 1);
  multigrid_case s;
  ref b, x, y;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 2, true), case_set_up(ctx, &s);
  lac_array *bs = case_random(ctx, &s, K, 5), *xs = case_apply(ctx, &s, LAC_PLAIN, bs), *spoilt = NULL;
  CHECK_OK(ref_download(ctx, bs, &b));
  CHECK_OK(ref_download(ctx, xs, &x));
  b.x[(N - 1) * K + 1] = NAN;
  CHECK_OK(ref_upload(ctx, &b, &spoilt));
  lac_array *ys = case_apply(ctx, &s, LAC_PLAIN, spoilt);
  CHECK_OK(ref_download(ctx, ys, &y));
  for (int64_t i = 0; i < y.count; ++i) CHECK((i < N * K && i % K == 1) || x.x[i] == y.x[i]);
  lac_array_destroy(&bs), lac_array_destroy(&xs), lac_array_destroy(&spoilt), lac_array_destroy(&ys);
  case_close(&s);
}

/// Many vectors at once may be walked in another way than one, as on a device, which has larger tiles for them.
static void a_column_is_the_same_alone_and_among_many(lac_context *ctx) {
  enum { K = 30, SIDE = 101, N = SIDE * SIDE };
  direct_case five = direct_make(DIRECT_POISSON, N, LAC_F64, 1), wind = direct_convection(SIDE, 0.5, LAC_F64);
  const direct_case *cases[] = {&five, &wind};
  for (int q = 0; q < 2; ++q) {
    multigrid_case s;
    ref all, alone, z, z_alone;
    lac_array *first = NULL;
    case_open(ctx, &s, TABLE, cases[q], LAC_WIDTH_AUTO, 1, q == 0), case_set_up(ctx, &s);
    lac_array *bs = case_random(ctx, &s, K, 5), *xs = case_apply(ctx, &s, LAC_PLAIN, bs);
    CHECK_OK(ref_download(ctx, bs, &all));
    alone = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 3, .shape = {1, N, 1}});
    for (int64_t i = 0; i < N; ++i) alone.x[i] = all.x[i * K];
    CHECK_OK(ref_upload(ctx, &alone, &first));
    lac_array *x = case_apply(ctx, &s, LAC_PLAIN, first);
    CHECK_OK(ref_download(ctx, xs, &z));
    CHECK_OK(ref_download(ctx, x, &z_alone));
    double worst = 0;
    for (int64_t i = 0; i < N; ++i) worst = fmax(worst, cabs(z.x[i * K] - z_alone.x[i]));
    CHECK(worst <= 1e-6 * ref_max(&z_alone));
    lac_array_destroy(&bs), lac_array_destroy(&xs), lac_array_destroy(&first), lac_array_destroy(&x);
    case_close(&s);
  }
}

static double without_diagonal(int64_t row, int64_t col, double a) { return row == col ? 0 : a; }
static double all_positive(int64_t row, int64_t col, double a) { return (void)row, (void)col, fabs(a); }
static double all_zero(int64_t row, int64_t col, double a) { return (void)row, (void)col, 0 * a; }
static double with_dead_rows(int64_t row, int64_t col, double a) { return row % 3 == 0 || col % 3 == 0 ? 0 : a; }
static double negative(int64_t row, int64_t col, double a) { return (void)row, (void)col, -a; }
static double tiny_rows(int64_t row, int64_t col, double a) { return row % 5 == 0 || col % 5 == 0 ? 1e-32 * a : a; }

static void odd_diagonals_and_signs_give_finite_numbers(lac_context *ctx) {
  static double (*const CHANGES[])(int64_t, int64_t, double) = {without_diagonal, all_positive, all_zero,
                                                                with_dead_rows,   negative,     tiny_rows};
  for (size_t q = 0; q < sizeof CHANGES / sizeof *CHANGES; ++q) {
    direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
    multigrid_case s;
    ref x;
    for (int64_t z = 0; z < c.s->nnz; ++z) c.a.x[z] = CHANGES[q](c.s->row[z], c.s->col[z], creal(c.a.x[z]));
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
    lac_array *b = case_random(ctx, &s, 1, 5), *xs = case_apply(ctx, &s, LAC_PLAIN, b);
    CHECK_OK(ref_download(ctx, xs, &x));
    for (int64_t i = 0; i < x.count; ++i)
      if (!isfinite(creal(x.x[i])))
        check_fail(__FILE__, __LINE__, "change %zu: row %lld is not finite", q, (long long)i);
    lac_array_destroy(&b), lac_array_destroy(&xs);
    case_close(&s);
  }
}

// -- what is no grid -------------------------------------------------------------------------------------------------

static void check_refused(lac_context *ctx, const direct_case *c, const char *text) {
  multigrid_case s;
  case_open(ctx, &s, TABLE, c, LAC_WIDTH_AUTO, 1, true);
  s.setup.options = &s.options;
  CHECK_FAILS(TABLE->create(ctx, &s.setup, &s.part), LAC_ERR_ARG, text);
  case_close(&s);
}

/// A grid of 6 x 5 points with one more entry and its mirror.
static direct_case with_entry(int64_t row, int64_t col) {
  direct_case c = grid_make(6, 5, false, 0, 1, LAC_F64);
  double *full = scratch(30 * 30 * sizeof *full);
  for (int64_t z = 0; z < c.s->nnz; ++z) full[c.s->row[z] * 30 + c.s->col[z]] = creal(c.a.x[z]);
  full[row * 30 + col] = full[col * 30 + row] = -0.1;
  return direct_small(30, full, LAC_F64);
}

static void rows_that_are_no_points_of_a_grid_are_refused(lac_context *ctx) {
  direct_case random = direct_make(DIRECT_POSITIVE, 60, LAC_F64, 3);
  direct_case around = with_entry(5, 6), far = with_entry(3, 20), line = grid_make(40, 1, false, 0, 1, LAC_F64);
  check_refused(ctx, &random, "not the points of a rectangular grid");
  check_refused(ctx, &around, "row 5 has an entry");  // from the end of a row to the begin of the next
  check_refused(ctx, &far, "entries show no width");
  check_refused(ctx, &line, "entries show no width");
}

static void too_few_levels_are_refused(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60 * 60, LAC_F64, 1);
  multigrid_case s;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
  s.setup.options = &s.options;
  s.options.preconditioner.max_levels = 2;
  CHECK_FAILS(TABLE->create(ctx, &s.setup, &s.part), LAC_ERR_ARG, "raise max_levels");
  s.options.preconditioner.coarse_rows = 1000;
  CHECK_OK(TABLE->create(ctx, &s.setup, &s.part));
  TABLE->destroy(s.part), s.part = NULL;
  s.options.preconditioner.max_levels = 1;
  CHECK_FAILS(TABLE->create(ctx, &s.setup, &s.part), LAC_ERR_ARG, "at least two levels");
  s.options.preconditioner.max_levels = 4, s.options.preconditioner.coarse_rows = 0;
  CHECK_OK(TABLE->create(ctx, &s.setup, &s.part));
  case_close(&s);
}

static void an_empty_batch_and_no_columns_are_nothing_to_do(lac_context *ctx) { case_check_nothing(ctx, TABLE); }

// -- new values, threads, memory -------------------------------------------------------------------------------------

static void a_refresh_is_a_set_up_to_the_bit(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 50 * 50, LAC_F64, 1);
  multigrid_case s;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 2, true), case_set_up(ctx, &s);
  case_check_refreshed(ctx, &s, LAC_PLAIN);
  case_close(&s);
}

static void the_bits_do_not_depend_on_how_rows_are_cut(lac_context *ctx) {
  static const int64_t PARTS[] = {1, 2, 3, 7, 50};
  direct_case five = direct_make(DIRECT_POISSON, 101 * 101, LAC_F64, 1), wind = direct_convection(60, 0.5, LAC_C64);
  direct_case nine = grid_make(24, 30, true, 0, 0.1, LAC_F32);
  const direct_case *cases[] = {&five, &wind, &nine};
  CHECK_OK(lac_context_set_threads(ctx, 3));
  for (int q = 0; q < 3; ++q) {
    lac_array *first = NULL;
    for (size_t t = 0; t < sizeof PARTS / sizeof *PARTS; ++t) {
      multigrid_case s;
      lac_grid_set_parts(PARTS[t]);
      case_open(ctx, &s, TABLE, cases[q], LAC_WIDTH_AUTO, 1 + q % 2, q != 1), case_set_up(ctx, &s);
      lac_array *b = case_random(ctx, &s, 1 + q % 2, 5), *x = case_apply(ctx, &s, LAC_TRANSPOSED, b);
      if (!first) first = lac_array_retain(x);
      CHECK(case_same_bits(ctx, first, x));
      lac_array_destroy(&b), lac_array_destroy(&x);
      case_close(&s);
    }
    lac_array_destroy(&first);
  }
  lac_grid_set_parts(0);
}

static void no_failing_allocation_does_harm(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 24 * 24, LAC_F64, 1);
  bool is_reached = true;
  for (int64_t n = 1; is_reached; n = check_next_failure(ctx, n)) {
    multigrid_case s;
    lac_array *x = NULL;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
    s.setup.options = &s.options;
    lac_array *b = case_random(ctx, &s, 1, 5);
    CHECK_OK(lac_array_create(ctx, LAC_F64, 3, b->meta.shape, &x));
    lac_memory_fail_at(n);
    lac_status status = TABLE->create(ctx, &s.setup, &s.part);
    if (status == LAC_OK) status = TABLE->apply(ctx, s.part, LAC_PLAIN, b, x);
    is_reached = lac_memory_fail_at(0) >= n;
    CHECK_EQ(status, is_reached ? LAC_ERR_MEMORY : LAC_OK);
    lac_array_destroy(&b), lac_array_destroy(&x);
    case_close(&s);
  }
}

static void a_hierarchy_tells_of_its_levels(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  multigrid_case s;
  lac_setup_figures finding;
  char *text = NULL;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  TABLE->report(s.part, &finding);
  CHECK_EQ(finding.levels, 3);
  CHECK(finding.complexity > 1.4 && finding.complexity < 1.7);
  CHECK(finding.bytes > 0 && finding.is_grid);
  CHECK_OK(TABLE->describe(ctx, s.part, &text));
  CHECK(strstr(text, "Gauss-Seidel") && strstr(text, "20") && strstr(text, "dense inverse"));
  lac_free(text);
  case_close(&s);
}

CHECK_MAIN_OF("grid", a_cycle_is_what_its_definition_says, a_cycle_of_a_hermitian_matrix_is_hermitian,
              the_transposed_cycle_is_the_adjoint, half_a_matrix_makes_the_cycle_of_the_whole,
              a_cycle_that_reads_values_is_that_of_planes, iterations_do_not_grow_with_the_grid,
              all_dtypes_widths_and_precisions_need_few_iterations, jumps_of_the_coefficient_need_few_iterations,
              nonsymmetric_matrices_are_solved_on_every_side, a_range_beyond_that_of_narrow_numbers_is_held,
              zeros_on_the_diagonal_are_relaxed_too, the_phase_of_a_matrix_does_not_matter, a_singular_matrix_is_solved,
              columns_do_not_meet, a_column_is_the_same_alone_and_among_many,
              odd_diagonals_and_signs_give_finite_numbers, rows_that_are_no_points_of_a_grid_are_refused,
              too_few_levels_are_refused, an_empty_batch_and_no_columns_are_nothing_to_do,
              a_refresh_is_a_set_up_to_the_bit, the_bits_do_not_depend_on_how_rows_are_cut,
              no_failing_allocation_does_harm, a_hierarchy_tells_of_its_levels)

// SPDX-License-Identifier: Apache-2.0
/// Multigrid by pairwise aggregation: a linear cycle is Hermitian, its transpose its adjoint; few iterations whatever the size; and
/// everything that a matrix may be.

#include <stdlib.h>

#include "core/memory_impl.h"
#include "solvers/multigrid/hierarchy.h"
#include "support/multigrid_case.h"

extern const lac_preconditioner_table lac_preconditioner_pairwise;
static const lac_preconditioner_table *const TABLE = &lac_preconditioner_pairwise;

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_side SIDES[] = {LAC_N, LAC_T, LAC_C, LAC_H};

static bool all_finite(lac_context *ctx, const lac_array *x) {
  ref r;
  CHECK_OK(ref_download(ctx, x, &r));
  for (int64_t i = 0; i < r.count; ++i) {
    if (!isfinite(creal(r.x[i])) || !isfinite(cimag(r.x[i]))) return false;
  }
  return true;
}

// -- the cycle as a matrix -------------------------------------------------------------------------------------------

static void a_cycle_of_a_hermitian_matrix_is_hermitian(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_make(DIRECT_POISSON, 30 * 30, DTYPES[d], 1);
    case_check_adjoint(ctx, TABLE, &c, true, 0, 100, LAC_N, LAC_N, true);
    case_check_adjoint(ctx, TABLE, &c, true, 0, 100, LAC_H, LAC_N, true);
    case_check_adjoint(ctx, TABLE, &c, true, 0, 100, LAC_T, LAC_N, false);
  }
}

static void the_transposed_cycle_is_the_adjoint(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_convection(24, 0.7, DTYPES[d]);
    if (lac_dtype_is_complex(DTYPES[d])) {
      for (int64_t z = 0; z < c.s->nnz; ++z)
        c.a.x[z] *= c.s->row[z] == c.s->col[z] ? 1 + 0.5 * _Complex_I : 1 - 0.25 * _Complex_I;
    }
    case_check_adjoint(ctx, TABLE, &c, false, 0, 100, LAC_T, LAC_N, false);
    case_check_adjoint(ctx, TABLE, &c, false, 0, 100, LAC_H, LAC_N, true);
    case_check_adjoint(ctx, TABLE, &c, false, 0, 100, LAC_C, LAC_H, false);
  }
}

static void scales_of_matrix_and_right_hand_side_come_out_exactly(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_make(DIRECT_POISSON, 40 * 40, DTYPES[d], 1), scaled = c;
    const bool is_single = DTYPES[d] == LAC_F32 || DTYPES[d] == LAC_C64;
    const int a_exponent = is_single ? 30 : 500, b_exponent = is_single ? -40 : -400;
    multigrid_case s, t;
    ref b, x, y;
    scaled.a = ref_copy(&c.a);
    for (int64_t z = 0; z < c.s->nnz; ++z) scaled.a.x[z] *= ldexp(1, a_exponent);
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
    case_open(ctx, &t, TABLE, &scaled, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &t);
    lac_array *bs = case_random(ctx, &s, 2, 5), *bt = NULL;
    CHECK_OK(ref_download(ctx, bs, &b));
    for (int64_t i = 0; i < b.count; ++i) b.x[i] *= ldexp(1, b_exponent);
    CHECK_OK(ref_upload(ctx, &b, &bt));
    lac_array *xs = case_apply(ctx, &s, LAC_N, bs), *xt = case_apply(ctx, &t, LAC_N, bt);
    CHECK_OK(ref_download(ctx, xs, &x));
    CHECK_OK(ref_download(ctx, xt, &y));
    for (int64_t i = 0; i < x.count; ++i) CHECK(x.x[i] * ldexp(1, b_exponent - a_exponent) == y.x[i]);
    lac_array_destroy(&bs), lac_array_destroy(&bt), lac_array_destroy(&xs), lac_array_destroy(&xt);
    case_close(&s), case_close(&t);
  }
}

// -- slices ----------------------------------------------------------------------------------------------------------

/// A grid of side x side points; some rows of it have a neighbour more, far away, so that the coarse level has rows that are like no others.
static direct_case grid_with_bridges(int64_t side, bool has_bridges, lac_dtype dtype) {
  int64_t n = side * side;
  double *full = scratch((size_t)(n * n) * sizeof *full);
  for (int64_t i = 0; i < n; ++i) {
    full[i * (n + 1)] = 4;
    if (i % side) full[i * n + i - 1] = full[(i - 1) * n + i] = -1;
    if (i >= side) full[i * n + i - side] = full[(i - side) * n + i] = -1;
  }
  for (int64_t i = 0; has_bridges && i < 10; ++i) {
    int64_t j = n - 1 - 7 * i;
    full[i * n + j] = full[j * n + i] = -0.125;
  }
  return direct_small(n, full, dtype);
}

/// Largest differences beside the largest number.
static double difference(lac_context *ctx, const lac_array *x, const lac_array *y) {
  ref got, expected;
  double worst = 0, most = 0;
  CHECK_OK(ref_download(ctx, x, &got));
  CHECK_OK(ref_download(ctx, y, &expected));
  for (int64_t i = 0; i < got.count; ++i) {
    worst = fmax(worst, cabs(got.x[i] - expected.x[i]));
    most = fmax(most, cabs(expected.x[i]));
  }
  return worst / most;
}

/// The same cycle by slices and, told that the matrix is not Hermitian, by rows: small levels take no steps, so that both are linear.
static void check_slices(lac_context *ctx, const direct_case *c, bool full_precision, lac_side side, int64_t k) {
  multigrid_case s[2];
  lac_array *b = NULL, *x[2];
  for (int rows = 0; rows < 2; ++rows) {
    case_open(ctx, &s[rows], TABLE, c, LAC_WIDTH_AUTO, 2, !rows);
    s[rows].options.preconditioner.full_precision = full_precision;
    s[rows].options.preconditioner.coarse_rows = 40;
    case_set_up(ctx, &s[rows]);
    CHECK_EQ(((lac_hierarchy *)s[rows].part)->is_sliced[1], !rows);
    if (!b) b = case_random(ctx, &s[rows], k, 6);
    x[rows] = case_apply(ctx, &s[rows], side, b);
  }
  CHECK(difference(ctx, x[0], x[1]) <= 50 * direct_rounding(full_precision ? c->a.meta.dtype : LAC_F32));
  lac_array_destroy(&b), lac_array_destroy(&x[0]), lac_array_destroy(&x[1]);
  case_close(&s[0]), case_close(&s[1]);
}

static void a_cycle_by_slices_is_that_by_rows(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    for (int bridges = 0; bridges < 2; ++bridges) {
      direct_case c = grid_with_bridges(32, bridges, DTYPES[d]);
      check_slices(ctx, &c, true, LAC_N, 1);
      check_slices(ctx, &c, true, LAC_N, 11);
      check_slices(ctx, &c, false, LAC_N, 1);
    }
  }
}

/// A Hermitian matrix with numbers that are not real: on slices A^T is conj(A), by rows it is walked by columns.
static void every_side_of_slices_is_that_of_rows(lac_context *ctx) {
  for (int d = 2; d < 4; ++d) {
    direct_case c = grid_with_bridges(32, true, DTYPES[d]);
    for (int64_t z = 0; z < c.s->nnz; ++z) c.a.x[z] *= cexp(0.01 * _Complex_I * (double)(c.s->row[z] - c.s->col[z]));
    for (int side = 0; side < 4; ++side) {
      check_slices(ctx, &c, true, SIDES[side], 1);
      check_slices(ctx, &c, true, SIDES[side], 9);
    }
  }
}

/// Values that are Hermitian and values that are not may follow each other on the same aggregates.
static void slices_come_and_go_with_new_values(lac_context *ctx) {
  direct_case c = grid_with_bridges(32, true, LAC_F64);
  lac_array *b = NULL;
  for (int first = 0; first < 2; ++first) {
    multigrid_case s;
    void *other = NULL, *back = NULL;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 2, first);
    s.options.preconditioner.full_precision = 1;
    case_set_up(ctx, &s);
    if (!b) b = case_random(ctx, &s, 3, 6);
    s.setup.is_hermitian = !first;
    CHECK_OK(TABLE->refresh(ctx, &s.setup, s.part, &other));
    s.setup.is_hermitian = first;
    CHECK_OK(TABLE->refresh(ctx, &s.setup, other, &back));
    CHECK_EQ(((lac_hierarchy *)s.part)->is_sliced[1], first);
    CHECK(!((lac_hierarchy *)other)->is_sliced[1]);
    CHECK_EQ(((lac_hierarchy *)back)->is_sliced[1], first);
    lac_array *x = case_apply(ctx, &s, LAC_T, b), *y = case_apply(ctx, &s, LAC_T, b);
    CHECK_OK(TABLE->apply(ctx, other, LAC_T, b, y));
    CHECK(difference(ctx, y, x) <= 50 * direct_rounding(LAC_F64));
    CHECK_OK(TABLE->apply(ctx, back, LAC_T, b, y));
    CHECK(case_same_bits(x, y));
    TABLE->destroy(other), TABLE->destroy(back);
    lac_array_destroy(&x), lac_array_destroy(&y);
    case_close(&s);
  }
  lac_array_destroy(&b);
}

/// Rows of one entry, in line with each other from row to row, and a row of two before one of none: as many entries, in the same columns.
static void an_empty_row_is_not_on_a_diagonal(lac_context *ctx) {
  enum { N = 6 * LAC_SLICE, SHIFT = 2 * LAC_SLICE, ODD = LAC_SLICE + 3 };
  double *full = scratch((size_t)(N * N) * sizeof *full);
  for (int64_t i = 0; i < N; ++i) full[i * N + (i < SHIFT ? i + SHIFT : i)] = 1;
  full[ODD * N + ODD + SHIFT + 1] = 1, full[(ODD + 1) * N + ODD + SHIFT + 1] = 0;
  direct_case c = direct_small(N, full, LAC_F64);
  lac_pattern *pattern = NULL;
  lac_slices *slices = NULL;
  CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
  CHECK_OK(lac_slices_create(ctx, pattern, &slices));
  CHECK(slices != NULL);
  for (int64_t s = 0; s < slices->count; ++s)
    CHECK_EQ(lac_buffer_get(slices->lists, lac_buffer_get(slices->firsts, s)), s != ODD / LAC_SLICE);
  lac_slices_destroy(slices);
  lac_pattern_destroy(&pattern);
}

/// Diagonals of a slice and its rows have the same entries, wherever the slice is.
static void slices_have_the_entries_of_rows(lac_context *ctx) {
  direct_case c = grid_with_bridges(32, true, LAC_F64);
  int64_t on_diagonals = 0;
  multigrid_case s;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  const lac_hierarchy *h = s.part;
  const lac_pattern *p = h->levels->patterns[1];
  const lac_slices *slices = h->levels->slices[1];
  const float *values = lac_array_data(h->values[1]);
  CHECK(slices != NULL);
  CHECK_EQ(slices->count, (p->rows + LAC_SLICE - 1) / LAC_SLICE);
  for (int64_t i = 0; i < p->rows; ++i) {
    const int32_t *list = (const int32_t *)slices->lists->host + lac_buffer_get(slices->firsts, i / LAC_SLICE);
    double own = 0, diagonals = 0;
    for (int32_t q = 0; q < *list; ++q) {
      float value = values[lac_buffer_get(slices->starts, i / LAC_SLICE) + q * LAC_SLICE + i % LAC_SLICE];
      CHECK(i + list[1 + q] >= 0 && i + list[1 + q] < p->cols);
      diagonals += value;
      if (list[1 + q] == 0) own = value;
    }
    if (*list == 0) continue;
    ++on_diagonals;
    CHECK(own > 0);
    CHECK(fabs(diagonals) <= own);  // the signs of the others are not its own
  }
  CHECK(on_diagonals >= p->rows / 2 && on_diagonals < p->rows);
  case_close(&s);
}

/// P^T A P entry by entry, with slices of aggregates that are alike and some that are not; rows in no aggregate have no part in it.
static void check_triple_product(lac_context *ctx, const direct_case *c, bool has_holes) {
  enum { ITEMS = 2 };
  multigrid_case s;
  int64_t alike = 0, holes = 0;
  case_open(ctx, &s, TABLE, c, LAC_WIDTH_AUTO, ITEMS, false);
  s.options.preconditioner.full_precision = 1;
  case_set_up(ctx, &s);
  const lac_hierarchy *h = s.part;
  const lac_aggregation *a = &h->levels->aggregates[0];
  const lac_pattern *p = h->levels->patterns[1];
  const int32_t *to = a->aggregates->host;
  ref got, unit;
  CHECK_OK(ref_download(ctx, h->values[1], &got));
  CHECK_OK(ref_download(ctx, h->unit, &unit));
  CHECK(a->shapes != NULL);
  for (int64_t slice = 0; slice * LAC_SLICE < p->rows; ++slice)
    alike += lac_buffer_get(a->shapes, lac_buffer_get(a->firsts, slice)) > 0;
  for (int64_t i = 0; i < a->fine; ++i) holes += to[i] < 0;
  CHECK(alike > 0 && alike < p->rows / LAC_SLICE);
  CHECK_EQ(holes > 0, has_holes);
  for (int64_t item = 0; item < ITEMS; ++item) {
    number *full = scratch((size_t)(p->rows * p->rows) * sizeof *full);
    for (int64_t z = 0; z < c->s->nnz; ++z) {
      int32_t i = to[c->s->row[z]], j = to[c->s->col[z]];
      if (i >= 0 && j >= 0) full[i * p->rows + j] += c->a.x[z] * ldexp(1, (int)item) * unit.x[2 * item];
    }
    for (int64_t i = 0; i < p->rows; ++i) {
      for (int64_t q = lac_buffer_get(p->offsets, i); q < lac_buffer_get(p->offsets, i + 1); ++q) {
        number *expected = &full[i * p->rows + lac_buffer_get(p->columns, q)];
        CHECK(cabs(got.x[item * p->nnz + q] - *expected) <= 20 * direct_rounding(c->a.meta.dtype));
        *expected = 0;
      }
    }
    for (int64_t i = 0; i < p->rows * p->rows; ++i) CHECK(cabs(full[i]) == 0);
  }
  case_close(&s);
}

static void the_coarse_matrix_is_the_triple_product(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_convection(37, 0.6, DTYPES[d]);
    check_triple_product(ctx, &c, false);
    for (int64_t z = 0; z < c.s->nnz; ++z) {
      if (c.s->row[z] == c.s->col[z] && c.s->row[z] > 1200 && c.s->row[z] % 50 == 0) c.a.x[z] *= 8;
    }
    check_triple_product(ctx, &c, true);
  }
}

// -- as a preconditioner ---------------------------------------------------------------------------------------------

static void iterations_do_not_grow_with_the_grid(lac_context *ctx) {
  int64_t counts[2];
  for (int i = 0; i < 2; ++i) {
    const int64_t side = i ? 200 : 50;  // the larger one takes two steps on its second level
    direct_case c = direct_make(DIRECT_POISSON, side * side, LAC_F64, 1);
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
    counts[i] = case_iterations(ctx, &s, LAC_N, 1, NULL);
    case_close(&s);
  }
  CHECK(counts[0] <= 18);
  CHECK(counts[1] <= 18);
}

static void all_dtypes_widths_and_precisions_need_few_iterations(lac_context *ctx) {
  static const lac_width WIDTHS[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_make(DIRECT_POISSON, 40 * 40, DTYPES[d], 1);
    for (int w = 0; w < 3; ++w) {
      for (int full = 0; full < 2; ++full) {
        multigrid_case s;
        case_open(ctx, &s, TABLE, &c, WIDTHS[w], 1, true);
        s.options.preconditioner.full_precision = full;
        case_set_up(ctx, &s);
        CHECK(case_iterations(ctx, &s, LAC_N, 1, NULL) <= 18);
        case_close(&s);
      }
    }
  }
}

static void nonsymmetric_matrices_need_few_iterations_on_every_side(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_convection(110, 0.5, DTYPES[d]);  // two steps of residuals on the second level
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, false), case_set_up(ctx, &s);
    for (int side = 0; side < 4; ++side) CHECK(case_iterations(ctx, &s, SIDES[side], 1, NULL) <= 30);
    case_close(&s);
  }
}

static void columns_and_matrices_are_those_one_by_one(lac_context *ctx) {
  enum { ITEMS = 2, K = 9 };
  direct_case c = direct_make(DIRECT_POISSON, 110 * 110, LAC_F64, 1);
  const int64_t n = c.s->rows;
  multigrid_case many, one;
  ref b, x, y;
  case_open(ctx, &many, TABLE, &c, LAC_WIDTH_AUTO, ITEMS, true), case_set_up(ctx, &many);
  case_open(ctx, &one, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &one);
  lac_array *bs = case_random(ctx, &many, K, 5), *xs = case_apply(ctx, &many, LAC_N, bs);
  CHECK_OK(ref_download(ctx, bs, &b));
  CHECK_OK(ref_download(ctx, xs, &x));
  for (int64_t item = 0; item < ITEMS; ++item) {
    for (int64_t j = 0; j < K; j += 4) {
      lac_meta meta = {.dtype = LAC_F64, .ndim = 3, .shape = {1, n, 1}};
      ref column = ref_new(&meta);
      lac_array *bc = NULL;
      double worst = 0, most = 0;
      for (int64_t i = 0; i < n; ++i) column.x[i] = b.x[(item * n + i) * K + j];
      CHECK_OK(ref_upload(ctx, &column, &bc));
      lac_array *xc = case_apply(ctx, &one, LAC_N, bc);
      CHECK_OK(ref_download(ctx, xc, &y));
      for (int64_t i = 0; i < n; ++i) {
        worst = fmax(worst, cabs(y.x[i] * ldexp(1, -(int)item) - x.x[(item * n + i) * K + j]));
        most = fmax(most, cabs(y.x[i] * ldexp(1, -(int)item)));
      }
      CHECK(worst <= 1e-5 * most);
      lac_array_destroy(&bc), lac_array_destroy(&xc);
    }
  }
  CHECK(case_iterations(ctx, &many, LAC_N, 3, NULL) <= 18);
  lac_array_destroy(&bs), lac_array_destroy(&xs);
  case_close(&many), case_close(&one);
}

// -- matrices of all kinds -------------------------------------------------------------------------------------------

static void a_singular_matrix_of_neumann_is_solved(lac_context *ctx) {
  direct_case c = multigrid_neumann(40, LAC_F64);
  multigrid_case s;
  ref b;
  number mean = 0;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  lac_array *random = case_random(ctx, &s, 1, 5), *bs = NULL;
  CHECK_OK(ref_download(ctx, random, &b));
  for (int64_t i = 0; i < b.count; ++i) mean += b.x[i] / (double)b.count;
  for (int64_t i = 0; i < b.count; ++i) b.x[i] -= mean;
  CHECK_OK(ref_upload(ctx, &b, &bs));
  CHECK(case_iterations(ctx, &s, LAC_N, 1, bs) <= 20);
  lac_array_destroy(&bs), lac_array_destroy(&random);
  case_close(&s);
}

static void a_small_matrix_is_inverted(lac_context *ctx) {
  for (int d = 1; d < 4; d += 2) {
    direct_case c = direct_make(DIRECT_NONSYMMETRIC, 60, DTYPES[d], 4);
    multigrid_case s;
    lac_setup_finding finding;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, false);
    s.options.preconditioner.full_precision = 1;
    case_set_up(ctx, &s);
    for (int side = 0; side < 4; ++side) CHECK(case_iterations(ctx, &s, SIDES[side], 2, NULL) <= 3);
    TABLE->report(s.part, &finding);
    CHECK_EQ(finding.levels, 1);
    case_close(&s);
  }
}

static void nothing_and_a_single_number_are_matrices_too(lac_context *ctx) {
  for (int64_t n = 0; n <= 2; ++n) {
    for (int has_entries = 0; has_entries < 2; ++has_entries) {
      const double full[] = {2, n == 2, 1, 3};
      direct_case c = direct_small(n, full, LAC_F64);
      multigrid_case s;
      if (!has_entries) c.s = sketch_empty(n, n);
      case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, false), case_set_up(ctx, &s);
      lac_array *b = case_random(ctx, &s, 2, 5), *x = case_apply(ctx, &s, LAC_N, b), *y = case_apply(ctx, &s, LAC_H, b);
      CHECK(all_finite(ctx, x));
      CHECK(all_finite(ctx, y));
      lac_array_destroy(&b), lac_array_destroy(&x), lac_array_destroy(&y);
      case_close(&s);
    }
  }
}

static void an_empty_batch_and_no_columns_are_nothing_to_do(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  for (int64_t items = 0; items < 2; ++items) {
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, items, true), case_set_up(ctx, &s);
    lac_array *b = case_random(ctx, &s, 1 - items, 5), *x = case_apply(ctx, &s, LAC_N, b);
    CHECK_EQ(lac_array_count(x), 0);
    lac_array_destroy(&b), lac_array_destroy(&x);
    case_close(&s);
  }
}

/// The Poisson matrix after `change` has seen each of its entries: 0 is an entry that is stored and zero.
static void check_finite(lac_context *ctx, double (*change)(int64_t row, int64_t col, double a)) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  multigrid_case s;
  for (int64_t z = 0; z < c.s->nnz; ++z) c.a.x[z] = change(c.s->row[z], c.s->col[z], creal(c.a.x[z]));
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  lac_array *b = case_random(ctx, &s, 1, 5), *x = case_apply(ctx, &s, LAC_N, b);
  CHECK(all_finite(ctx, x));
  lac_array_destroy(&b), lac_array_destroy(&x);
  case_close(&s);
}

static double without_diagonal(int64_t row, int64_t col, double a) { return row == col ? 0 : a; }
static double all_positive(int64_t row, int64_t col, double a) { return (void)row, (void)col, fabs(a); }
static double all_zero(int64_t row, int64_t col, double a) { return (void)row, (void)col, 0 * a; }
static double with_dead_rows(int64_t row, int64_t col, double a) { return row % 3 == 0 || col % 3 == 0 ? 0 : a; }
static double negative(int64_t row, int64_t col, double a) { return (void)row, (void)col, -a; }

static void odd_diagonals_and_signs_give_finite_numbers(lac_context *ctx) {
  check_finite(ctx, without_diagonal);
  check_finite(ctx, all_positive);
  check_finite(ctx, all_zero);
  check_finite(ctx, with_dead_rows);
  check_finite(ctx, negative);
}

static void disconnected_parts_are_solved_each(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  multigrid_case s;
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    if (c.s->row[z] / 400 != c.s->col[z] / 400) c.a.x[z] = 0;
  }
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  CHECK(case_iterations(ctx, &s, LAC_N, 1, NULL) <= 18);
  case_close(&s);
}

static void dominant_diagonals_need_no_second_level(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  multigrid_case s;
  lac_setup_finding finding;
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    if (c.s->row[z] == c.s->col[z]) c.a.x[z] *= 5;
  }
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  TABLE->report(s.part, &finding);
  CHECK_EQ(finding.levels, 1);
  CHECK(case_iterations(ctx, &s, LAC_N, 1, NULL) <= 18);
  case_close(&s);
}

static void a_shuffled_grid_needs_few_iterations(lac_context *ctx) {
  enum { SIDE = 60, N = SIDE * SIDE };
  direct_case c = direct_make(DIRECT_POISSON, N, LAC_F64, 1), shuffled = c;
  random_state random = random_start(8);
  int64_t place[N];
  lac_pattern *pattern = NULL;
  lac_map *entries = NULL;
  lac_array *natural = NULL;
  multigrid_case s = {.table = TABLE, .options = lac_solver_options_defaults()};
  for (int64_t i = 0; i < N; ++i) place[i] = i;
  for (int64_t i = N - 1; i > 0; --i) {
    int64_t j = random_below(&random, i + 1), held = place[i];
    place[i] = place[j], place[j] = held;
  }
  int64_t *row = scratch((size_t)c.s->nnz * sizeof *row), *col = scratch((size_t)c.s->nnz * sizeof *col);
  for (int64_t z = 0; z < c.s->nnz; ++z) row[z] = place[c.s->row[z]], col[z] = place[c.s->col[z]];
  CHECK_OK(lac_pattern_from_coo(ctx, N, N, c.s->nnz, LAC_I64, row, col, LAC_WIDTH_AUTO, &pattern, &entries));
  shuffled.a.meta = (lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {1, c.s->nnz}};
  CHECK_OK(ref_upload(ctx, &shuffled.a, &natural));
  s.pattern = pattern;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, natural->meta.shape, &s.values));
  CHECK_OK(ctx->kernels->remap(ctx, entries, LAC_N, 0, natural, s.values));
  s.setup = (lac_setup){.pattern = s.pattern, .values = s.values, .options = &s.options, .is_hermitian = true};
  case_set_up(ctx, &s);
  CHECK(case_iterations(ctx, &s, LAC_N, 1, NULL) <= 20);
  lac_array_destroy(&natural);
  lac_map_destroy(&entries);
  case_close(&s);
}

// -- new values, threads, memory -------------------------------------------------------------------------------------

static void a_refresh_is_a_set_up_to_the_bit(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 110 * 110, LAC_F64, 1);
  multigrid_case s;
  void *again = NULL;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  CHECK_OK(TABLE->refresh(ctx, &s.setup, s.part, &again));
  lac_array *b = case_random(ctx, &s, 1, 5), *x = case_apply(ctx, &s, LAC_N, b), *y = case_apply(ctx, &s, LAC_N, b);
  CHECK_OK(TABLE->apply(ctx, again, LAC_N, b, y));
  CHECK(case_same_bits(x, y));
  TABLE->destroy(s.part);  // the structure is held by both
  CHECK_OK(TABLE->apply(ctx, again, LAC_N, b, y));
  CHECK(case_same_bits(x, y));
  s.part = again;
  lac_array_destroy(&b), lac_array_destroy(&x), lac_array_destroy(&y);
  case_close(&s);
}

static void new_values_on_old_aggregates_precondition(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1), other = c;
  multigrid_case s, t;
  other.a = ref_copy(&c.a);
  for (int64_t z = 0; z < c.s->nnz; ++z) other.a.x[z] *= c.s->row[z] == c.s->col[z] ? 7.25 : 7;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  case_open(ctx, &t, TABLE, &other, LAC_WIDTH_AUTO, 1, true);
  t.setup.options = &t.options;
  t.setup.pattern = s.pattern;
  CHECK_OK(TABLE->refresh(ctx, &t.setup, s.part, &t.part));
  CHECK(case_iterations(ctx, &t, LAC_N, 1, NULL) <= 18);
  case_close(&s), case_close(&t);
}

static void the_bits_do_not_depend_on_the_number_of_threads(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 220 * 220, LAC_F64, 1);
  lac_array *x[2] = {NULL};
  for (int t = 0; t < 2; ++t) {
    multigrid_case s;
    CHECK_OK(lac_context_set_threads(ctx, 1 + 2 * t));
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
    lac_array *b = case_random(ctx, &s, 1, 5);
    x[t] = case_apply(ctx, &s, LAC_N, b);
    lac_array_destroy(&b);
    case_close(&s);
  }
  CHECK(case_same_bits(x[0], x[1]));
  lac_array_destroy(&x[0]), lac_array_destroy(&x[1]);
}

static void check_allocations(lac_context *ctx, const direct_case *c, bool is_hermitian) {
  bool is_reached = true;
  for (int64_t n = 1; is_reached; ++n) {
    multigrid_case s;
    lac_array *x = NULL;
    case_open(ctx, &s, TABLE, c, LAC_WIDTH_AUTO, 1, is_hermitian);
    s.setup.options = &s.options;
    lac_array *b = case_random(ctx, &s, 1, 5);
    CHECK_OK(lac_array_create(ctx, LAC_F64, 3, b->meta.shape, &x));
    lac_memory_fail_at(n);
    lac_status status = TABLE->create(ctx, &s.setup, &s.part);
    if (status == LAC_OK) status = TABLE->apply(ctx, s.part, LAC_T, b, x);
    is_reached = lac_memory_fail_at(0) >= n;
    CHECK_EQ(status, is_reached ? LAC_ERR_MEMORY : LAC_OK);
    lac_array_destroy(&b), lac_array_destroy(&x);
    case_close(&s);
  }
}

static void no_failing_allocation_does_harm(lac_context *ctx) {
  direct_case plain = direct_convection(30, 0.5, LAC_F64), sliced = grid_with_bridges(32, true, LAC_F64);
  check_allocations(ctx, &plain, false);
  check_allocations(ctx, &sliced, true);
}

static void a_hierarchy_tells_of_its_levels(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  multigrid_case s;
  lac_setup_finding finding;
  char *text = NULL;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  TABLE->report(s.part, &finding);
  CHECK_EQ(finding.levels, 3);
  CHECK(finding.complexity > 1.2 && finding.complexity < 1.5);
  CHECK(finding.bytes > 0);
  CHECK_OK(TABLE->describe(ctx, s.part, &text));
  CHECK(strstr(text, "1600") && strstr(text, "400") && strstr(text, "dense inverse"));
  lac_free(text);
  case_close(&s);
}

CHECK_MAIN(a_cycle_by_slices_is_that_by_rows, every_side_of_slices_is_that_of_rows, slices_come_and_go_with_new_values,
           an_empty_row_is_not_on_a_diagonal, slices_have_the_entries_of_rows, the_coarse_matrix_is_the_triple_product,
           a_cycle_of_a_hermitian_matrix_is_hermitian, the_transposed_cycle_is_the_adjoint,
           scales_of_matrix_and_right_hand_side_come_out_exactly, iterations_do_not_grow_with_the_grid,
           all_dtypes_widths_and_precisions_need_few_iterations,
           nonsymmetric_matrices_need_few_iterations_on_every_side, columns_and_matrices_are_those_one_by_one,
           a_singular_matrix_of_neumann_is_solved, a_small_matrix_is_inverted,
           nothing_and_a_single_number_are_matrices_too, an_empty_batch_and_no_columns_are_nothing_to_do,
           odd_diagonals_and_signs_give_finite_numbers, disconnected_parts_are_solved_each,
           dominant_diagonals_need_no_second_level, a_shuffled_grid_needs_few_iterations,
           a_refresh_is_a_set_up_to_the_bit, new_values_on_old_aggregates_precondition,
           the_bits_do_not_depend_on_the_number_of_threads, no_failing_allocation_does_harm,
           a_hierarchy_tells_of_its_levels)

// SPDX-License-Identifier: Apache-2.0
/// What pairwise multigrid makes of rows that are like their neighbours: coarse levels in slices, aggregates that share
/// a shape.

#include <stdlib.h>

#include "solvers/precondition/multigrid/pairwise/hierarchy.h"
#include "support/multigrid_case.h"

extern const lac_preconditioner_table lac_preconditioner_pairwise;
static const lac_preconditioner_table *const TABLE = &lac_preconditioner_pairwise;

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

/// A grid of side x side points; some rows of it have a neighbour more, far away, so that the coarse level has rows
/// that are like no others.
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

/// The same cycle by slices and, told that the matrix is not Hermitian, by rows: small levels take no steps, so that
/// both are linear.
static void check_slices(lac_context *ctx, const direct_case *c, bool full_precision, lac_form form, int64_t k) {
  multigrid_case s[2];
  lac_array *b = NULL, *x[2];
  for (int rows = 0; rows < 2; ++rows) {
    case_open(ctx, &s[rows], TABLE, c, LAC_WIDTH_AUTO, 2, !rows);
    s[rows].options.preconditioner.full_precision = full_precision;
    s[rows].options.preconditioner.coarse_rows = 40;
    case_set_up(ctx, &s[rows]);
    CHECK_EQ(((lac_hierarchy *)s[rows].part)->is_sliced[1], !rows);
    if (!b) b = case_random(ctx, &s[rows], k, 6);
    x[rows] = case_apply(ctx, &s[rows], form, b);
  }
  CHECK(difference(ctx, x[0], x[1]) <= 50 * direct_rounding(full_precision ? c->a.meta.dtype : LAC_F32));
  lac_array_destroy(&b), lac_array_destroy(&x[0]), lac_array_destroy(&x[1]);
  case_close(&s[0]), case_close(&s[1]);
}

static void a_cycle_by_slices_is_that_by_rows(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    for (int bridges = 0; bridges < 2; ++bridges) {
      direct_case c = grid_with_bridges(32, bridges, DTYPES[d]);
      check_slices(ctx, &c, true, LAC_PLAIN, 1);
      check_slices(ctx, &c, true, LAC_PLAIN, 11);
      check_slices(ctx, &c, false, LAC_PLAIN, 1);
    }
  }
}

/// A Hermitian matrix with numbers that are not real: on slices A^T is conj(A), by rows it is walked by columns.
static void every_side_of_slices_is_that_of_rows(lac_context *ctx) {
  for (int d = 2; d < 4; ++d) {
    direct_case c = grid_with_bridges(32, true, DTYPES[d]);
    for (int64_t z = 0; z < c.s->nnz; ++z) c.a.x[z] *= cexp(0.01 * _Complex_I * (double)(c.s->row[z] - c.s->col[z]));
    for (int form = 0; form < 4; ++form) {
      check_slices(ctx, &c, true, FORMS[form], 1);
      check_slices(ctx, &c, true, FORMS[form], 9);
    }
  }
}

/// Levels that take two steps: no form is worse than another.
static void slices_precondition_every_side(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60 * 60, LAC_C128, 1);
  multigrid_case s;
  for (int64_t z = 0; z < c.s->nnz; ++z) c.a.x[z] *= cexp(0.005 * _Complex_I * (double)(c.s->row[z] - c.s->col[z]));
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  CHECK(((lac_hierarchy *)s.part)->is_sliced[1]);
  int64_t plain = case_iterations(ctx, &s, LAC_PLAIN, 1, NULL);
  for (int form = 1; form < 4; ++form) {
    CHECK(llabs(case_iterations(ctx, &s, FORMS[form], 1, NULL) - plain) <= 3);
  }
  case_close(&s);
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
    lac_array *x = case_apply(ctx, &s, LAC_TRANSPOSED, b), *y = case_apply(ctx, &s, LAC_TRANSPOSED, b);
    CHECK_OK(TABLE->apply(ctx, other, LAC_TRANSPOSED, b, y));
    CHECK(difference(ctx, y, x) <= 50 * direct_rounding(LAC_F64));
    CHECK_OK(TABLE->apply(ctx, back, LAC_TRANSPOSED, b, y));
    CHECK(case_same_bits(ctx, x, y));
    TABLE->destroy(other), TABLE->destroy(back);
    lac_array_destroy(&x), lac_array_destroy(&y);
    case_close(&s);
  }
  lac_array_destroy(&b);
}

/// Rows of one entry, in line with each other from row to row, and a row of two before one of none: as many entries, in
/// the same columns.
static void an_empty_row_is_not_on_a_diagonal(lac_context *ctx) {
  enum { N = 6 * LAC_SLICE, SHIFT = 2 * LAC_SLICE, ODD = LAC_SLICE + 3 };
  double *full = scratch((size_t)(N * N) * sizeof *full);
  for (int64_t i = 0; i < N; ++i) full[i * N + (i < SHIFT ? i + SHIFT : i)] = 1;
  full[ODD * N + ODD + SHIFT + 1] = 1, full[(ODD + 1) * N + ODD + SHIFT + 1] = 0;
  direct_case c = direct_small(N, full, LAC_F64);
  lac_pattern *pattern = NULL;
  lac_slices *slices = NULL;
  CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
  CHECK_OK(ctx->kernels->pairwise->slices(ctx, pattern, &slices));
  CHECK(slices != NULL);
  for (int64_t s = 0; s < slices->count; ++s)
    CHECK_EQ(lac_buffer_get(slices->lists, lac_buffer_get(slices->firsts, s)), s != ODD / LAC_SLICE);
  lac_slices_destroy(slices);
  lac_pattern_destroy(&pattern);
}

/// The value of row i on a diagonal of its slice; 0 where the slice does not have it.
static float on_diagonal(const lac_slices *slices, const float *values, int64_t i, int64_t shift) {
  int64_t slice = i / LAC_SLICE, first = lac_buffer_get(slices->firsts, slice);
  for (int64_t q = 0; q < lac_buffer_get(slices->lists, first); ++q) {
    if (lac_buffer_get(slices->lists, first + 1 + q) != shift) continue;
    return values[lac_buffer_get(slices->starts, slice) + q * LAC_SLICE + i % LAC_SLICE];
  }
  return 0;
}

/// The coarse matrix in slices and, made anew as if it were not Hermitian, in rows: no diagonal has anything else, and
/// none is outside.
static void slices_have_the_entries_of_rows(lac_context *ctx) {
  direct_case c = grid_with_bridges(32, true, LAC_F64);
  int64_t on_diagonals = 0;
  void *by_rows = NULL;
  multigrid_case s;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  s.setup.is_hermitian = false;
  CHECK_OK(TABLE->refresh(ctx, &s.setup, s.part, &by_rows));
  const lac_hierarchy *h = s.part;
  const lac_pattern *p = h->levels->patterns[1];
  const lac_slices *slices = h->levels->slices[1];
  const float *values = lac_array_data(h->values[1]), *rows = lac_array_data(((lac_hierarchy *)by_rows)->values[1]);
  CHECK(slices != NULL);
  CHECK_EQ(slices->count, (p->rows + LAC_SLICE - 1) / LAC_SLICE);
  for (int64_t i = 0; i < p->rows; ++i) {
    int64_t first = lac_buffer_get(slices->firsts, i / LAC_SLICE), count = lac_buffer_get(slices->lists, first);
    double all = 0, entries = 0;
    if (count == 0) continue;
    ++on_diagonals;
    for (int64_t q = 0; q < count; ++q) {
      int64_t column = i + lac_buffer_get(slices->lists, first + 1 + q);
      CHECK(column >= 0 && column < p->cols);
      all += fabsf(on_diagonal(slices, values, i, column - i));
    }
    for (int64_t q = lac_buffer_get(p->offsets, i); q < lac_buffer_get(p->offsets, i + 1); ++q) {
      CHECK(on_diagonal(slices, values, i, lac_buffer_get(p->columns, q) - i) == rows[q]);
      entries += fabsf(rows[q]);
    }
    CHECK(all == entries);
  }
  CHECK(on_diagonals >= p->rows / 2 && on_diagonals < p->rows);
  TABLE->destroy(by_rows);
  case_close(&s);
}

/// P^T A P entry by entry, with slices of aggregates that are alike and some that are not; rows in no aggregate have no
/// part in it.
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

/// A problem in one column is none of the others, on levels in slices that take two steps as well.
static void a_column_that_is_not_finite_keeps_to_itself(lac_context *ctx) {
  enum { K = 10, BAD = 4 };
  direct_case c = direct_make(DIRECT_POISSON, 60 * 60, LAC_F64, 1);
  multigrid_case s;
  ref b, x, y;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  CHECK(((lac_hierarchy *)s.part)->is_sliced[1]);
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

CHECK_MAIN_OF("slices", a_cycle_by_slices_is_that_by_rows, every_side_of_slices_is_that_of_rows,
              slices_precondition_every_side, slices_come_and_go_with_new_values, an_empty_row_is_not_on_a_diagonal,
              slices_have_the_entries_of_rows, the_coarse_matrix_is_the_triple_product,
              a_column_that_is_not_finite_keeps_to_itself)

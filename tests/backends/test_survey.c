// SPDX-License-Identifier: Apache-2.0
/// The survey of values, beside what dense matrices say.

#include "kernel_check.h"
#include "solvers/survey/survey.h"

/// What is wrong with a matrix, bit by bit.
enum { NONFINITE = 1, UNEQUAL = 2, NEGATIVE = 4, ZERO = 8, POSITIVE = 16, LIGHT = 32, KINDS = 64 };

static double size_of(number x) { return fabs(creal(x)) + fabs(cimag(x)); }

/// A Hermitian matrix where the structure allows, negative off a heavy diagonal; then what is wrong.
static void item_make(const sketch *s, int what, lac_dtype dtype, uint64_t seed, number *a) {
  random_state r = random_start(seed);
  double *sum = scratch((size_t)s->rows * sizeof *sum);
  bool is_complex = lac_dtype_is_complex(dtype);
  for (int64_t p = 0; p < s->nnz; ++p) {
    double re = -fabs(random_unit(&r)), im = is_complex ? random_unit(&r) / 4 : 0;
    int64_t mirror = sketch_find(s, s->col[p], s->row[p]);
    a[p] = mirror >= 0 && mirror < p ? conj(a[mirror]) : re + I * im;
    if (what & POSITIVE && random_below(&r, 3) == 0) a[p] = -a[p];
    if (mirror >= 0 && mirror < p) a[p] = conj(a[mirror]);
    if (s->row[p] != s->col[p]) sum[s->row[p]] += size_of(a[p]);
  }
  for (int64_t p = 0; p < s->nnz; ++p) {
    if (s->row[p] == s->col[p]) a[p] = what & LIGHT ? 0.25 : 1 + 1.25 * sum[s->row[p]];
  }
  if (s->nnz == 0) return;
  int64_t some = random_below(&r, s->nnz);
  if (what & UNEQUAL) a[some] += dtype == LAC_F64 || dtype == LAC_C128 ? 1e-12 : 1e-3;
  for (int64_t p = 0; p < s->nnz; ++p) {
    if (s->row[p] != s->col[p] || s->row[p] != s->row[some]) continue;
    if (what & NEGATIVE) a[p] = -a[p];
    if (what & ZERO) a[p] = 0;
  }
  if (what & NONFINITE) a[random_below(&r, s->nnz)] = seed % 2 ? (number)INFINITY : (number)NAN;
}

// -- the reference ---------------------------------------------------------------------------------------------------

typedef struct finding {
  int64_t nonfinite, asymmetric, not_positive, without;
  bool is_unpaired, is_m_like;
  double dominance, largest, spread;
} finding;

static double share(double beside, double diagonal) { return diagonal > 0 ? beside / diagonal : INFINITY; }

/// The largest share of a line, by sizes or by moduli.
static double dominance_of(const sketch *s, const number *a, bool by_columns, bool by_moduli) {
  double most = 0;
  for (int64_t i = 0; i < s->rows; ++i) {
    double beside = 0, diagonal = 0;
    for (int64_t p = 0; p < s->nnz; ++p) {
      if ((by_columns ? s->col[p] : s->row[p]) != i) continue;
      if (s->row[p] == s->col[p]) diagonal = cabs(a[p]);
      if (s->row[p] != s->col[p]) beside += by_moduli ? cabs(a[p]) : size_of(a[p]);
    }
    most = fmax(most, share(beside, diagonal));
  }
  return most;
}

static void finding_of_entries(const sketch *s, const number *a, double epsilon, finding *f) {
  double positive = 0, beside = 0;
  int64_t values = -1, pairs = -1, any = -1;  // above or on the diagonal: other values, no mirror; anywhere: no mirror
  for (int64_t p = s->nnz - 1; p >= 0; --p) {
    int64_t i = s->row[p], j = s->col[p], mirror = sketch_find(s, j, i);
    if (!isfinite(creal(a[p])) || !isfinite(cimag(a[p]))) f->nonfinite = p;
    f->largest = fmax(f->largest, size_of(a[p]));
    if (mirror < 0) any = p;
    if (mirror < 0 && j > i) pairs = p;
    if (mirror >= 0 && j >= i &&
        size_of(a[p] - conj(a[mirror])) > 8 * epsilon * fmax(size_of(a[p]), size_of(a[mirror])))
      values = p;
    if (i == j) continue;
    positive += fmax(creal(a[p]), 0);
    beside += size_of(a[p]);
  }
  f->is_m_like = f->not_positive < 0 && positive <= 0.05 * beside;
  f->is_unpaired = pairs >= 0 ? values < 0 || pairs < values : values < 0 && any >= 0;
  f->asymmetric = f->is_unpaired ? (pairs >= 0 ? pairs : any) : values;
}

static finding finding_of(const sketch *s, const number *a, lac_dtype dtype) {
  finding f = {-1, -1, -1, -1, false, false, 0, 0, 0};
  bool is_complex = lac_dtype_is_complex(dtype);
  double least = INFINITY, most = 0;
  for (int64_t i = s->rows - 1; i >= 0; --i) {
    int64_t p = sketch_find(s, i, i);
    least = fmin(least, p < 0 ? 0 : size_of(a[p])), most = fmax(most, p < 0 ? 0 : size_of(a[p]));
    if (p < 0 || !(creal(a[p]) > 0)) f.not_positive = i;
    if (p < 0 || a[p] == 0) f.without = i;
  }
  f.spread = fmax(0, most / least);
  finding_of_entries(s, a, dtype == LAC_F32 || dtype == LAC_C64 ? 0x1p-23 : 0x1p-52, &f);
  f.dominance = dominance_of(s, a, false, false);
  bool is_definite = f.asymmetric < 0 && f.not_positive < 0;
  if (f.dominance < 1 || is_definite || f.without >= 0 || f.is_m_like) return f;
  if (is_complex) f.dominance = fmin(f.dominance, dominance_of(s, a, false, true));
  if (f.dominance >= 1 && f.asymmetric >= 0) f.dominance = fmin(f.dominance, dominance_of(s, a, true, true));
  return f;
}

// -- beside it -------------------------------------------------------------------------------------------------------

static void check_first(const char *name, int64_t got, int64_t item, int64_t expected, int64_t expected_item) {
  if (got == expected && (got < 0 || item == expected_item)) return;
  check_fail(__FILE__, __LINE__, "%s: %lld of item %lld, should be %lld of item %lld", name, (long long)got,
             (long long)item, (long long)expected, (long long)expected_item);
}

/// The first item that has one says where.
#define CHECK_FIRST(name)                                                                    \
  do {                                                                                       \
    at = -1, of = 0;                                                                         \
    for (int64_t i = items - 1; i >= 0; --i) at = f[i].name >= 0 ? (of = i, f[i].name) : at; \
    check_first(#name, got->name, got->name##_item, at, of);                                 \
  } while (0)

static void check_survey(const lac_survey *got, const finding *f, int64_t items, bool is_finite) {
  double dominance = 0, spread = 0;
  bool is_m_like = true;
  int64_t at, of;
  for (int64_t i = 0; i < items; ++i) {
    spread = fmax(spread, f[i].spread);
    dominance = fmax(dominance, f[i].dominance);
    is_m_like = is_m_like && f[i].is_m_like;
  }
  CHECK_FIRST(nonfinite);
  if (!is_finite) return;
  CHECK_FIRST(not_positive);
  CHECK_FIRST(without);
  CHECK_FIRST(asymmetric);
  if (at >= 0) CHECK(got->is_unpaired == f[of].is_unpaired);
  CHECK(got->is_m_like == is_m_like);
  CHECK(got->spread == 0 || spread == got->spread || fabs(spread - got->spread) <= 1e-6 * spread);
  CHECK(dominance == got->dominance || fabs(dominance - got->dominance) <= 1e-6 * dominance);
}

static void survey_case(lac_context *ctx, const sketch *s, lac_width width, lac_dtype dtype, int64_t items, int what,
                        uint64_t seed) {
  ref values = ref_new(&(lac_meta){.dtype = dtype, .ndim = 2, .shape = {items, s->nnz}}), stored;
  finding *f = scratch((size_t)(items + 1) * sizeof *f);
  double *largest = scratch((size_t)(items + 1) * sizeof *largest);
  lac_pattern *pattern = NULL;
  lac_array *array = NULL;
  lac_survey got, glance;
  int broken = (int)(seed % (uint64_t)items);  // the others have nothing wrong
  for (int64_t i = 0; i < items; ++i) {
    item_make(s, i == broken ? what : what & LIGHT, dtype, seed + (uint64_t)i, values.x + i * s->nnz);
  }
  CHECK_OK(sketch_pattern(ctx, s, width, &pattern));
  CHECK_OK(ref_upload(ctx, &values, &array));
  CHECK_OK(ref_download(ctx, array, &stored));  // as the dtype holds them
  for (int64_t i = 0; i < items; ++i) f[i] = finding_of(s, stored.x + i * s->nnz, dtype);
  CHECK_OK(lac_survey_values(ctx, pattern, array, largest, &got));
  check_survey(&got, f, items, !(what & NONFINITE));
  for (int64_t i = 0; i < items && !(what & NONFINITE); ++i) CHECK_NEAR(largest[i], f[i].largest, 1e-14);
  CHECK_OK(lac_survey_glance(ctx, pattern, array, &glance));
  CHECK(glance.asymmetric == got.asymmetric && glance.nonfinite == got.nonfinite);
  CHECK(glance.not_positive == got.not_positive && glance.is_m_like == got.is_m_like);
  lac_array_destroy(&array);
  lac_pattern_destroy(&pattern);
}

static void surveys_agree_with_dense_matrices(lac_context *ctx) {
  CHECK(ctx->kernels->survey);
  for (int what = 0; what < KINDS; ++what) {
    FOR_DTYPES(dtype) {
      size_t mark = scratch_mark();
      uint64_t seed = (uint64_t)(1000 + 10 * what + (int)dtype);
      survey_case(ctx, sketch_symmetric(23, 0.15, seed), all_widths[what % 3], dtype, 1, what, seed);
      survey_case(ctx, sketch_square(19, 0.2, seed), all_widths[what % 3], dtype, 3, what, seed);
      survey_case(ctx, sketch_scattered(17, 0.2, seed), all_widths[what % 3], dtype, 2, what, seed);
      scratch_release(mark);
    }
  }
}

/// Rows of many lengths, also such as several lanes share, and more rows than a block of threads has.
static void surveys_take_rows_of_any_length(lac_context *ctx) {
  CHECK(ctx->kernels->survey);
  for (int what = 0; what < KINDS; what += 2) {
    size_t mark = scratch_mark();
    survey_case(ctx, sketch_symmetric(120, 0.3, 5), LAC_WIDTH_AUTO, LAC_C64, 2, what, (uint64_t)what);
    survey_case(ctx, sketch_symmetric(130, 0.9, 6), LAC_WIDTH_AUTO, LAC_F64, 1, what, (uint64_t)what);
    survey_case(ctx, sketch_triangle(90, 0.4, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, 7), LAC_WIDTH_AUTO, LAC_F64, 2,
                what, 3);
    survey_case(ctx, sketch_triangle(90, 0.4, LAC_TRIANGLE_UPPER, LAC_DIAGONAL_STORED, 8), LAC_WIDTH_AUTO, LAC_F32, 2,
                what, 4);
    scratch_release(mark);
  }
}

/// Entries so far from the diagonal; `gap`: a row that lacks its last one, or -1.
static const sketch *stencil(int64_t n, int count, const int64_t *away, int64_t gap) {
  sketch *s = scratch(sizeof *s);
  *s = (sketch){.rows = n, .cols = n};
  s->row = scratch((size_t)(n * count) * sizeof *s->row), s->col = scratch((size_t)(n * count) * sizeof *s->col);
  for (int64_t i = 0; i < n; ++i) {
    for (int q = 0; q < count; ++q) {
      if (i + away[q] < 0 || i + away[q] >= n || (i == gap && q + 1 == count)) continue;
      s->row[s->nnz] = i, s->col[s->nnz++] = i + away[q];
    }
  }
  return s;
}

/// Rows that repeat each other, many at a time; with mirrors and without.
static void surveys_take_rows_of_stencils(lac_context *ctx) {
  CHECK(ctx->kernels->survey);
  static const int64_t GRID[] = {-9, -1, 0, 1, 9}, SIDED[] = {-1, 0, 2}, OFF[] = {-2, 1, 3};
  for (int what = 0; what < KINDS; what += 3) {
    size_t mark = scratch_mark();
    lac_dtype dtype = (lac_dtype)(what % 4);
    uint64_t seed = (uint64_t)(2000 + what);
    survey_case(ctx, stencil(100, 5, GRID, -1), all_widths[what / 3 % 3], dtype, 2, what, seed);
    survey_case(ctx, stencil(100, 5, GRID, 77), LAC_WIDTH_AUTO, dtype, 1, what, seed);
    survey_case(ctx, stencil(80, 3, SIDED, -1), LAC_WIDTH_AUTO, dtype, 1, what, seed);
    survey_case(ctx, stencil(80, 3, OFF, -1), LAC_WIDTH_AUTO, dtype, 1, what, seed);
    scratch_release(mark);
  }
}

/// What several blocks of threads look at: the same on any number of them.
static void large_matrices_are_surveyed_by_all_threads(lac_context *ctx) {
  CHECK(ctx->kernels->survey);
  int64_t n = 50000;
  int32_t *offsets = scratch((size_t)(n + 1) * sizeof *offsets), *columns = scratch((size_t)(3 * n) * sizeof *columns);
  double *numbers = scratch((size_t)(3 * n) * sizeof *numbers), largest;
  int64_t nnz = 0;
  lac_pattern *pattern = NULL;
  lac_array *values = NULL;
  lac_survey got;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i ? i - 1 : 0; j <= i + 1 && j < n; ++j) {
      columns[nnz] = (int32_t)j;
      numbers[nnz++] = i == j ? 2.5 : -1;
    }
    offsets[i + 1] = (int32_t)nnz;
  }
  int64_t spoilt = offsets[41234] + 2;  // above the diagonal
  CHECK_OK(lac_pattern_from_csr(ctx, n, n, LAC_I32, offsets, columns, LAC_WIDTH_AUTO, &pattern, NULL));
  for (int round = 0; round < 4; ++round) {
    CHECK_OK(lac_context_set_threads(ctx, round + 1));
    numbers[spoilt] = round == 1 ? -1.5 : round == 3 ? NAN : -1;
    CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){1, nnz}, numbers, LAC_OWNERSHIP_COPY, &values));
    CHECK_OK(lac_survey_values(ctx, pattern, values, &largest, &got));
    CHECK_EQ(got.nonfinite, round == 3 ? spoilt : -1);
    if (round < 3) {
      CHECK_EQ(got.asymmetric, round == 1 ? spoilt : -1);
      CHECK(got.not_positive < 0 && got.without < 0 && got.is_m_like && largest == 2.5);
      CHECK_NEAR(got.dominance, round == 1 ? 1.0 : 0.8, 1e-15);
    }
    lac_array_destroy(&values);
  }
  lac_pattern_destroy(&pattern);
}

static void rectangles_are_finite_or_not(lac_context *ctx) {
  CHECK(ctx->kernels->survey);
  const sketch *s = sketch_random(5, 9, 0.5, 1);
  lac_pattern *pattern = NULL;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &pattern));
  for (int round = 0; round < 2; ++round) {
    ref x = ref_new(&(lac_meta){.dtype = LAC_F32, .ndim = 2, .shape = {2, s->nnz}});
    lac_array *array = NULL;
    lac_survey got;
    ref_random(&x, 1, 0);
    if (round) x.x[s->nnz + 3] = INFINITY;
    CHECK_OK(ref_upload(ctx, &x, &array));
    CHECK_OK(lac_survey_values(ctx, pattern, array, NULL, &got));
    CHECK_EQ(got.nonfinite, round ? 3 : -1);
    if (round) CHECK_EQ(got.nonfinite_item, 1);
    CHECK(got.asymmetric == 0 && !got.is_m_like && isinf(got.dominance));
    lac_array_destroy(&array);
  }
  lac_pattern_destroy(&pattern);
}

static void empty_matrices_have_nothing_against_them(lac_context *ctx) {
  CHECK(ctx->kernels->survey);
  lac_pattern *pattern = NULL, *other = NULL;
  lac_array *values = NULL, *none = NULL;
  lac_survey got;
  double largest = 1;
  CHECK_OK(sketch_pattern(ctx, sketch_empty(0, 0), LAC_WIDTH_AUTO, &pattern));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){1, 0}, &values));
  CHECK_OK(lac_survey_values(ctx, pattern, values, &largest, &got));
  CHECK(got.nonfinite < 0 && got.asymmetric < 0 && got.not_positive < 0 && got.dominance == 0 && largest == 0);
  CHECK_OK(sketch_pattern(ctx, sketch_square(4, 0.5, 1), LAC_WIDTH_AUTO, &other));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){0, lac_pattern_nnz(other)}, &none));
  CHECK_OK(lac_survey_values(ctx, other, none, NULL, &got));
  CHECK(got.nonfinite < 0 && got.asymmetric < 0 && got.not_positive < 0 && got.dominance == 0);
  lac_array_destroy(&values);
  lac_array_destroy(&none);
  lac_pattern_destroy(&pattern);
  lac_pattern_destroy(&other);
}

CHECK_MAIN(surveys_agree_with_dense_matrices, surveys_take_rows_of_any_length, surveys_take_rows_of_stencils,
           large_matrices_are_surveyed_by_all_threads, rectangles_are_finite_or_not,
           empty_matrices_have_nothing_against_them)

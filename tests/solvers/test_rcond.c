// SPDX-License-Identifier: Apache-2.0
/// The condition that a factor estimates: beside that of the dense inverse, whatever the scale; of real matrices;
/// refusals.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solvers/solver_impl.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/matrix_market.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};

static lac_dtype real_of(lac_dtype dtype) { return direct_rounding(dtype) > 1e-10 ? LAC_F32 : LAC_F64; }

static lac_status ask(lac_context *ctx, const lac_factor *factor, lac_dtype dtype, double *out) {
  lac_array *rcond = NULL;
  ref got;
  lac_status status = lac_array_create(ctx, real_of(dtype), 0, NULL, &rcond);
  if (status == LAC_OK) status = lac_factor_rcond(ctx, factor, rcond);
  if (status == LAC_OK) status = ref_download(ctx, rcond, &got);
  if (status == LAC_OK) *out = creal(got.x[0]);
  lac_array_destroy(&rcond);
  return status;
}

static double rcond_of(lac_context *ctx, const direct_case *c, const char *method) {
  lac_solver_options options = lac_solver_options_defaults();
  double got = -1;
  lac_factor *factor = NULL;
  options.method = method;
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(ask(ctx, factor, c->a.meta.dtype, &got));
  lac_factor_destroy(&factor);
  direct_close(&system);
  return got;
}

static double dense_norm(dense a) {
  double norm = 0;
  for (int64_t j = 0; j < a.cols; j++) {
    double sum = 0;
    for (int64_t i = 0; i < a.rows; i++) sum += cabs(a.x[i * a.cols + j]);
    norm = fmax(norm, sum);
  }
  return norm;
}

static double exact_rcond(const direct_case *c) {
  int64_t n = c->s->rows;
  dense unit = dense_new(n, n);
  for (int64_t i = 0; i < n; i++) unit.x[i * n + i] = 1;
  double norm = dense_norm(dense_matrix(c->s, c->a.x));
  return 1 / (norm * dense_norm(dense_solve(dense_matrix(c->s, c->a.x), unit)));
}

// The estimated norm of the inverse is never too large but for rounding, and seldom much too small.
static void the_estimate_is_near_the_condition_of_the_dense_inverse(lac_context *ctx) {
  int near = 0, all = 0;
  for (uint64_t seed = 1; seed <= 120; seed++) {
    size_t mark = scratch_mark();
    direct_kind kind = (direct_kind)(seed % DIRECT_KINDS);
    lac_dtype dtype = DTYPES[seed / 3 % 4];
    if (kind == DIRECT_ILL_SCALED || kind == DIRECT_TRIANGULAR) continue;  // beyond what the reference bears
    direct_case c = direct_make(kind, 5 + (int64_t)(seed % 50), dtype, seed);
    double wanted = exact_rcond(&c);
    if (wanted < 1e3 * direct_rounding(dtype)) continue;
    double got = rcond_of(ctx, &c, seed % 2 ? "auto" : "lu");
    CHECK(got >= wanted * (1 - 0.01) && got <= 10 * wanted);
    near += got <= 3 * wanted, all++;
    scratch_release(mark);
  }
  CHECK(all > 50 && near >= 0.95 * all);
}

static void the_scale_of_the_matrix_does_not_matter(lac_context *ctx) {
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    for (int d = 0; d < 4; d++) {
      if (kind == DIRECT_ILL_SCALED) continue;
      size_t mark = scratch_mark();
      int power = direct_rounding(DTYPES[d]) > 1e-10 ? 59 : 498;
      direct_case c = direct_make(kind, 30, DTYPES[d], 8);
      double plain = rcond_of(ctx, &c, "auto");
      for (int64_t z = 0; z < c.a.count; z++) c.a.x[z] *= ldexp(1, power);
      CHECK_NEAR(rcond_of(ctx, &c, "auto"), plain, 1e2 * direct_rounding(DTYPES[d]));
      for (int64_t z = 0; z < c.a.count; z++) c.a.x[z] *= ldexp(1, -2 * power);
      CHECK_NEAR(rcond_of(ctx, &c, "auto"), plain, 1e2 * direct_rounding(DTYPES[d]));
      scratch_release(mark);
    }
  }
}

// Powers of ten down the diagonal: the condition is exact, up to where single precision ends.
static void a_diagonal_matrix_has_its_exact_condition(lac_context *ctx) {
  for (int64_t n = 0; n <= 30; n += 5) {
    int64_t *row = scratch((size_t)(n + 1) * sizeof *row);
    sketch s = {n, n, n, row, row};
    direct_case c = {.s = &s, .a = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {n}})};
    for (int64_t i = 0; i < n; i++) row[i] = i, c.a.x[i] = pow(10, (double)-i);
    CHECK_NEAR(rcond_of(ctx, &c, "auto"), n > 0 ? pow(10, (double)(1 - n)) : 1, 1e-13);
    CHECK_NEAR(rcond_of(ctx, &c, "pivoting_lu"), n > 0 ? pow(10, (double)(1 - n)) : 1, 1e-13);
  }
}

static void every_matrix_of_a_batch_has_its_own(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 20, LAC_F64, 3);
  int64_t nnz = c.s->nnz;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_array *values = direct_random(ctx, LAC_F64, 2, (int64_t[]){5, nnz}, 4), *rcond = NULL;
  lac_factor *factor = NULL;
  ref a, got[2];
  CHECK_OK(ref_download(ctx, values, &a));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){5}, &rcond));
  CHECK_OK(lac_solver_factor(ctx, system.solver, values, &factor));
  for (int t = 0; t < 2; t++) {
    CHECK_OK(lac_context_set_threads(ctx, t + 1));
    CHECK_OK(lac_factor_rcond(ctx, factor, rcond));
    CHECK_OK(ref_download(ctx, rcond, &got[t]));
  }
  for (int64_t i = 0; i < 5; i++) {
    direct_case one = {.s = c.s, .a = c.a};
    one.a.x = a.x + i * nnz;
    double wanted = exact_rcond(&one);
    CHECK(creal(got[0].x[i]) >= 0.99 * wanted && creal(got[0].x[i]) <= 10 * wanted);
    CHECK(got[0].x[i] == got[1].x[i]);
  }
  lac_array_destroy(&rcond);
  lac_array_destroy(&values);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

// -- real matrices ---------------------------------------------------------------------------------------------------

// The exact figures were found with more digits than a double has.
static void check_real(lac_context *ctx, const char *name, double exact) {
  mm_matrix m;
  lac_pattern *pattern = NULL;
  lac_map *map = NULL;
  lac_array *values = NULL;
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  double got = -1;
  mm_read(name, &m);
  CHECK_OK(lac_pattern_from_coo(ctx, m.rows, m.cols, m.count, LAC_I64, m.row, m.col, LAC_WIDTH_AUTO, &pattern, &map));
  ref a = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {lac_pattern_nnz(pattern)}});
  int64_t *slot = scratch((size_t)m.count * sizeof *slot);
  lac_map_read(map, slot);
  for (int64_t i = 0; i < m.count; i++) a.x[slot[i]] += m.value[2 * i];
  CHECK_OK(ref_upload(ctx, &a, &values));
  CHECK_OK(lac_solver_create(ctx, pattern, NULL, &solver));
  CHECK_OK(lac_solver_factor(ctx, solver, values, &factor));
  CHECK_OK(ask(ctx, factor, LAC_F64, &got));
  printf("    %-10s %.2e, exactly %.2e\n", name, got, exact);
  CHECK(got >= exact / 3 && got <= 10 * exact);
  lac_factor_destroy(&factor);
  lac_solver_destroy(&solver);
  lac_array_destroy(&values);
  lac_map_destroy(&map);
  lac_pattern_destroy(&pattern);
  mm_free(&m);
}

static void real_matrices_have_the_condition_that_is_known_of_them(lac_context *ctx) {
  check_real(ctx, "1138_bus", 8.14e-08);
  check_real(ctx, "west0479", 7.03e-13);
  check_real(ctx, "nnc1374", 2.43e-16);
}

// -- refusals --------------------------------------------------------------------------------------------------------

static void what_does_not_fit_is_refused_and_failing_allocations_are_said(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 12, LAC_C64, 3);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = NULL;
  lac_array *wide = NULL, *row = NULL, *fits = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &wide));
  CHECK_OK(lac_array_create(ctx, LAC_F32, 0, NULL, &fits));
  CHECK_OK(lac_array_create(ctx, LAC_F32, 1, (int64_t[]){2}, &row));
  CHECK_FAILS(lac_factor_rcond(ctx, NULL, wide), LAC_ERR_ARG, "the factor is NULL");
  CHECK_FAILS(lac_factor_rcond(ctx, factor, NULL), LAC_ERR_ARG, "rcond is NULL");
  CHECK_FAILS(lac_factor_rcond(ctx, factor, wide), LAC_ERR_DTYPE, "rcond must be f32; it is f64");
  CHECK_FAILS(lac_factor_rcond(ctx, factor, row), LAC_ERR_SHAPE, "rcond must have the batch shape");
  long long before = check_live_blocks();
  lac_status status = LAC_ERR_MEMORY;
  for (int64_t n = 1; status != LAC_OK; n = check_next_failure(ctx, n)) {
    lac_memory_fail_at(n);
    status = lac_factor_rcond(ctx, factor, fits);
    CHECK_EQ(status, lac_memory_fail_at(0) >= n ? LAC_ERR_MEMORY : LAC_OK);
    CHECK_EQ(check_live_blocks(), before);
  }
  lac_array_destroy(&wide);
  lac_array_destroy(&fits);
  lac_array_destroy(&row);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

CHECK_MAIN_OF("direct", the_estimate_is_near_the_condition_of_the_dense_inverse,
              the_scale_of_the_matrix_does_not_matter, a_diagonal_matrix_has_its_exact_condition,
              every_matrix_of_a_batch_has_its_own, real_matrices_have_the_condition_that_is_known_of_them,
              what_does_not_fit_is_refused_and_failing_allocations_are_said)

// SPDX-License-Identifier: Apache-2.0
/// The inverse on the pattern of real matrices, beside solves with unit vectors. Skipped as a whole where there are
/// none.

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "solvers/solver_impl.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/matrix_market.h"
#include "support/scratch.h"

typedef struct real_system {
  lac_pattern *pattern;
  lac_array *values, *z;
  lac_factor *factor;
  int64_t n, nnz, *row, *col;
  ref a, inverse;
  double rcond;
} real_system;

static void read_values(lac_context *ctx, const char *name, real_system *s) {
  mm_matrix m;
  lac_map *map = NULL;
  mm_read(name, &m);
  CHECK_OK(
      lac_pattern_from_coo(ctx, m.rows, m.cols, m.count, LAC_I64, m.row, m.col, LAC_WIDTH_AUTO, &s->pattern, &map));
  s->n = m.rows, s->nnz = lac_pattern_nnz(s->pattern);
  s->row = scratch((size_t)s->nnz * sizeof *s->row), s->col = scratch((size_t)s->nnz * sizeof *s->col);
  lac_pattern_read(s->pattern, NULL, s->col, s->row);
  s->a = ref_new(&(lac_meta){.dtype = m.is_complex ? LAC_C128 : LAC_F64, .ndim = 1, .shape = {s->nnz}});
  int64_t *slot = scratch((size_t)m.count * sizeof *slot);
  lac_map_read(map, slot);
  for (int64_t i = 0; i < m.count; i++) s->a.x[slot[i]] += m.value[2 * i] + m.value[2 * i + 1] * I;
  for (int64_t z = 0; m.is_pattern && z < s->nnz; z++)
    s->a.x[z] = s->row[z] == s->col[z] ? 9 : -1 + 0.25 * (double)(z % 3);
  CHECK_OK(ref_upload(ctx, &s->a, &s->values));
  lac_map_destroy(&map);
  mm_free(&m);
}

static void factor_values(lac_context *ctx, real_system *s, const char *method) {
  lac_solver_options options = lac_solver_options_defaults();
  lac_solver *solver = NULL;
  lac_array *rcond = NULL;
  options.method = method;
  CHECK_OK(lac_solver_create(ctx, s->pattern, &options, &solver));
  CHECK_OK(lac_solver_factor(ctx, solver, s->values, &s->factor));
  CHECK_OK(lac_array_clone(ctx, s->values, &s->z));
  CHECK_OK(lac_factor_selected_inverse(ctx, s->factor, s->z));
  CHECK_OK(ref_download(ctx, s->z, &s->inverse));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &rcond));
  CHECK_OK(lac_factor_rcond(ctx, s->factor, rcond));
  s->rcond = *(const double *)lac_array_data(rcond);
  lac_array_destroy(&rcond);
  lac_solver_destroy(&solver);
}

static void drop_factor(real_system *s) {
  lac_array_destroy(&s->z);
  lac_factor_destroy(&s->factor);
}

// 20 entries, beside the largest number of their column of the inverse; returns the largest error.
static double error_of(lac_context *ctx, const real_system *s, const lac_factor *factor) {
  int64_t shape[] = {s->n, 1};
  random_state random = random_start(7);
  lac_array *b = NULL, *x = NULL;
  double worst = 0;
  CHECK_OK(lac_array_create(ctx, s->a.meta.dtype, 2, shape, &x));
  for (int k = 0; k < 20; k++) {
    size_t mark = scratch_mark();
    int64_t p = random_below(&random, s->nnz);
    ref unit = ref_new(&(lac_meta){.dtype = s->a.meta.dtype, .ndim = 2, .shape = {s->n, 1}}), got;
    unit.x[s->row[p]] = 1;
    CHECK_OK(ref_upload(ctx, &unit, &b));
    CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x));
    CHECK_OK(ref_download(ctx, x, &got));
    worst = fmax(worst, cabs(got.x[s->col[p]] - s->inverse.x[p]) / ref_max(&got));
    lac_array_destroy(&b);
    scratch_release(mark);
  }
  lac_array_destroy(&x);
  return worst;
}

static double trace_error(const real_system *s) {
  number sum = 0;
  double terms = 0;
  for (int64_t p = 0; p < s->nnz; p++) sum += s->a.x[p] * s->inverse.x[p], terms += cabs(s->a.x[p] * s->inverse.x[p]);
  return cabs(sum - (double)s->n) / terms;
}

static void check_matrix(lac_context *ctx, const char *name) {
  static const char *const METHODS[] = {"auto", "pivoting_lu"};
  size_t mark = scratch_mark();
  real_system s = {0};
  lac_factor *first = NULL;
  read_values(ctx, name, &s);
  for (int k = 0; k < 2; k++) {
    factor_values(ctx, &s, METHODS[k]);
    if (!first) first = lac_factor_retain(s.factor);
    double error = error_of(ctx, &s, first), trace = trace_error(&s);
    printf("    %-13s %-12s rcond %.1e, entries to %.1e, trace to %.1e%s\n", name, direct_part(s.factor)->table->name,
           s.rcond, error, trace, direct_inner(s.factor)->partner ? ", by a partner" : "");
    CHECK(error <= 1e-13 + 10 * DBL_EPSILON / s.rcond);
    CHECK(trace <= 1e-11);
    drop_factor(&s);
  }
  lac_factor_destroy(&first);
  lac_array_destroy(&s.values);
  lac_pattern_destroy(&s.pattern);
  scratch_release(mark);
}

static void inverses_of_real_matrices_agree_with_solves(lac_context *ctx) {
  static const char *const NAMES[] = {"1138_bus", "bcsstk16", "cryg2500", "hangGlider_2", "jagmesh7",
                                      "nnc1374",  "rajat01",  "watt_2",   "west0479",     "young1c"};
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) check_matrix(ctx, NAMES[i]);
}

CHECK_MAIN_OF("direct", inverses_of_real_matrices_agree_with_solves)

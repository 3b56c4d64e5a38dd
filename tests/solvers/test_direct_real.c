// SPDX-License-Identifier: Apache-2.0
/// The built-in direct solver on real matrices: solved to rounding, or refused with a reason. Skipped as a whole
/// where there are none.

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/engine_case.h"
#include "support/matrix_market.h"
#include "support/reports.h"
#include "support/scratch.h"

// The matrix as a case: sorted entries, and its values in a dtype.
static direct_case case_of(lac_context *ctx, const mm_matrix *m, lac_dtype dtype) {
  lac_pattern *pattern = NULL;
  lac_map *map = NULL;
  sketch *s = scratch(sizeof *s);
  CHECK_OK(
      lac_pattern_from_coo(ctx, m->rows, m->cols, m->count, LAC_I64, m->row, m->col, LAC_WIDTH_AUTO, &pattern, &map));
  *s = (sketch){m->rows, m->cols, lac_pattern_nnz(pattern), NULL, NULL};
  s->row = scratch((size_t)s->nnz * sizeof *s->row), s->col = scratch((size_t)s->nnz * sizeof *s->col);
  lac_pattern_read(pattern, NULL, s->col, s->row);
  direct_case c = {s, ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {s->nnz}})};
  int64_t *slot = scratch((size_t)m->count * sizeof *slot);
  lac_map_read(map, slot);
  for (int64_t i = 0; i < m->count; i++) c.a.x[slot[i]] += m->value[2 * i] + m->value[2 * i + 1] * I;
  for (int64_t z = 0; m->is_pattern && z < s->nnz; z++)
    c.a.x[z] = s->row[z] == s->col[z] ? 9 : -1 + 0.25 * (double)(z % 3);
  if (direct_rounding(dtype) > 1e-10) {
    for (int64_t z = 0; z < s->nnz; z++) c.a.x[z] = (float complex)c.a.x[z];
  }
  lac_pattern_destroy(&pattern);
  lac_map_destroy(&map);
  return c;
}

// Sketches put entries one by one, which is slow here: the pattern comes from the sorted entries at once.
static direct_system open_sorted(lac_context *ctx, const direct_case *c, const lac_solver_options *options) {
  direct_system system = {0};
  CHECK_OK(lac_pattern_from_coo(ctx, c->s->rows, c->s->cols, c->s->nnz, LAC_I64, c->s->row, c->s->col, LAC_WIDTH_AUTO,
                                &system.pattern, NULL));
  CHECK_OK(ref_upload(ctx, &c->a, &system.values));
  CHECK_OK(lac_solver_create(ctx, system.pattern, options, &system.solver));
  return system;
}

static void check_method(lac_context *ctx, const char *name, const char *asked, const char *method, double roundings) {
  mm_matrix m;
  mm_read(name, &m);
  direct_case c = case_of(ctx, &m, m.is_complex ? LAC_C128 : LAC_F64);
  lac_solver_options options = lac_solver_options_defaults();
  options.method = asked;
  direct_system system = open_sorted(ctx, &c, &options);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  lac_report report = report_of_factor(factor);
  CHECK_TEXT(report.method, method);
  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; form++) direct_check(ctx, &c, factor, (lac_form)form, 3, roundings);
  printf("    %-13s %-8s %8lld entries of factors, %.1e flops\n", name, report.method, (long long)report.factor_nnz,
         report.flops);
  lac_factor_destroy(&factor);
  direct_close(&system);
  mm_free(&m);
}

static void check_matrix(lac_context *ctx, const char *name, const char *method) {
  check_method(ctx, name, "auto", method, 45);  // 1e-14
}

static void real_matrices_are_solved_to_rounding(lac_context *ctx) {
  check_matrix(ctx, "1138_bus", "pivoting_lu");
  check_matrix(ctx, "bcsstk16", "cholesky");
  check_matrix(ctx, "cryg2500", "pivoting_lu");
  check_matrix(ctx, "hangGlider_2", "ldlt");
  check_matrix(ctx, "jagmesh7", "pivoting_lu");
  check_matrix(ctx, "nnc1374", "pivoting_lu");
  check_matrix(ctx, "rajat01", "pivoting_lu");
  check_matrix(ctx, "watt_2", "lu");
  check_matrix(ctx, "west0479", "pivoting_lu");
  check_matrix(ctx, "young1c", "pivoting_lu");
}

static void lu_solves_them_all(lac_context *ctx) {
  static const char *const NAMES[] = {"1138_bus", "bcsstk16", "cryg2500", "hangGlider_2", "jagmesh7",
                                      "rajat01",  "watt_2",   "west0479", "young1c"};
  for (int i = 0; i < 9; i++) check_method(ctx, NAMES[i], "lu", "lu", 45);
  check_method(ctx, "hangGlider_2", "ldlt", "ldlt", 45);
}

static void engines_solve_them_too(lac_context *ctx) {
  static const char *const NAMES[] = {"1138_bus", "bcsstk16", "cryg2500", "hangGlider_2", "jagmesh7",
                                      "nnc1374",  "rajat01",  "watt_2",   "west0479",     "young1c"};
  for (int e = 0; e < ENGINE_COUNT; e++) {
    lac_status status = lac_engine_find(ctx, ENGINES[e].method);
    if (status != LAC_OK) printf("    skip: %s\n", lac_context_error(ctx));
    for (int i = 0; status == LAC_OK && i < (ENGINES[e].is_hermitian ? 2 : 10); i++) {
      check_method(ctx, NAMES[i], ENGINES[e].method, ENGINES[e].name, 1e3);
    }
  }
  lac_context_clear_error(ctx);
}

// Of the columns of the inverse of west0479, whose condition is 1e12, many vanish in some components and nearly in
// others.
static void unit_vectors_are_solved_for_however_pivots_are_chosen(lac_context *ctx) {
  mm_matrix m;
  mm_read("west0479", &m);
  direct_case c = case_of(ctx, &m, LAC_F64);
  for (int t = 0; t < 3; t++) {
    lac_solver_options options = lac_solver_options_defaults();
    options.method = "pivoting_lu";
    options.pivot_tolerance = (double[]){1e-3, 0.1, 1}[t];
    direct_system system = open_sorted(ctx, &c, &options);
    lac_factor *factor = NULL;
    lac_array *b = NULL, *x = NULL;
    CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){m.rows, m.rows}, &b));
    CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){m.rows, m.rows}, &x));
    CHECK_OK(lac_array_fill(ctx, b, 0, 0));
    for (int64_t i = 0; i < m.rows; i++) ((double *)lac_array_edit(b))[i * m.rows + i] = 1;
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    for (int form = LAC_PLAIN; form <= LAC_TRANSPOSED; form++)
      CHECK_OK(lac_factor_solve(ctx, factor, b, (lac_form)form, x));
    CHECK_EQ(report_of_factor(factor).factorisations, 1);
    lac_factor_destroy(&factor);
    lac_array_destroy(&b);
    lac_array_destroy(&x);
    direct_close(&system);
  }
  mm_free(&m);
}

// nnc1374 has condition 1e14: single precision cannot solve it, and says so.
static void a_matrix_that_single_precision_cannot_solve_is_refused(lac_context *ctx) {
  mm_matrix m;
  mm_read("nnc1374", &m);
  direct_case c = case_of(ctx, &m, LAC_F32);
  direct_system system = open_sorted(ctx, &c, NULL);
  lac_factor *factor = NULL;
  lac_array *b = direct_random(ctx, LAC_F32, 2, (int64_t[]){m.rows, 1}, 3), *x = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F32, 2, (int64_t[]){m.rows, 1}, &x));
  lac_status status = lac_solver_factor(ctx, system.solver, system.values, &factor);
  if (status == LAC_OK) {
    CHECK(strstr(report_of_factor(factor).warning, "singular to working precision"));
    for (int form = LAC_PLAIN; form <= LAC_TRANSPOSED && status == LAC_OK; form++) {
      status = lac_factor_solve(ctx, factor, b, (lac_form)form, x);
    }
  }
  CHECK(status == LAC_ERR_SINGULAR || status == LAC_ERR_CONVERGENCE);
  lac_factor_destroy(&factor);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  direct_close(&system);
  mm_free(&m);
}

CHECK_MAIN_OF("direct", real_matrices_are_solved_to_rounding, lu_solves_them_all, engines_solve_them_too,
              unit_vectors_are_solved_for_however_pivots_are_chosen,
              a_matrix_that_single_precision_cannot_solve_is_refused)

// SPDX-License-Identifier: Apache-2.0
/// The built-in direct solver: which method it takes and why, what it refuses and what it says, and the smallest
/// systems.

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

static lac_solver_options options_of(const char *method) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  return options;
}

// A small real matrix, row by row; a zero is no entry unless it is `STORED`.
#define STORED 1e-300
static direct_system open_dense(lac_context *ctx, int64_t n, const double *full, const char *method) {
  int64_t row[512], col[512], shape[] = {0};
  double values[512];
  direct_system system = {0};
  lac_solver_options options = options_of(method);
  for (int64_t p = 0; p < n * n; p++) {
    if (full[p] == 0) continue;
    row[shape[0]] = p / n, col[shape[0]] = p % n;
    values[shape[0]++] = full[p] == STORED ? 0 : full[p];
  }
  CHECK_OK(lac_pattern_from_coo(ctx, n, n, shape[0], LAC_I64, row, col, LAC_WIDTH_AUTO, &system.pattern, NULL));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, shape, values, LAC_OWNERSHIP_COPY, &system.values));
  CHECK_OK(lac_solver_create(ctx, system.pattern, &options, &system.solver));
  return system;
}

static void check_choice(lac_context *ctx, int64_t n, const double *full, const char *method, const char *name,
                         const char *reason) {
  direct_system system = open_dense(ctx, n, full, method);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  lac_report report = report_of_factor(factor);
  CHECK_TEXT(report.method, name);
  if (!strstr(report.reason, reason)) check_fail(__FILE__, __LINE__, "reason is \"%s\"", report.reason);
  CHECK(report.factor_nnz >= n && report.factor_bytes > 0 && report.flops >= 0 && report.factor_seconds >= 0);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void check_refusal(lac_context *ctx, int64_t n, const double *full, const char *method, lac_status status,
                          const char *words) {
  direct_system system = open_dense(ctx, n, full, method);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), status, words);
  CHECK(!factor);
  direct_close(&system);
}

static void the_method_fits_the_matrix_and_says_why(lac_context *ctx) {
  check_choice(ctx, 2, (double[]){2, -1, -1, 2}, "auto", "cholesky", "Hermitian with a positive diagonal");
  check_choice(ctx, 2, (double[]){2, -1, -2, 2}, "auto", "lu",
               "entry (0, 1), -1, does not equal entry (1, 0), -2, to rounding");
  check_choice(ctx, 3, (double[]){2, -1, 3, 1, 2, 3, 0, 1, 1}, "auto", "lu", "entry (0, 2) has no counterpart (2, 0)");
  check_choice(ctx, 2, (double[]){2, 1, 1, -2}, "auto", "ldlt", "the diagonal is not positive in row 1");
  check_choice(ctx, 3, (double[]){0, 1, 1, 1, 2, 1, 1, 1, 2}, "auto", "ldlt", "the diagonal is not positive in row 0");
  check_choice(ctx, 2, (double[]){0, 1, 1, 2}, "auto", "triangular", "after permutations");
  check_choice(ctx, 2, (double[]){2, -1, 0, 2}, "auto", "triangular", "the pattern is triangular");
  check_choice(ctx, 2, (double[]){2, 0, 0, -2}, "auto", "diagonal", "the pattern is diagonal");
  check_choice(ctx, 4, (double[]){2, 1, 0, 0, 1, 2, 1, 0, 0, 1, 2, 1, 0, 0, 1, 2}, "auto", "banded",
               "the pattern is tridiagonal");
  check_choice(ctx, 2, (double[]){1, 2, 2, 1}, "auto", "ldlt", "Cholesky gave up");
  check_choice(ctx, 2, (double[]){2, -1, -1, 2}, "cholesky", "cholesky", "asked for");
  check_choice(ctx, 2, (double[]){2, 3, 3, 2}, "ldlt", "ldlt", "asked for");
  check_choice(ctx, 2, (double[]){2, -1, -1, 2}, "lu", "lu", "asked for");
  check_choice(ctx, 2, (double[]){1, 1, 1, 1 + 0x1p-52}, "lu", "lu", "asked for");
}

// What a solver foresees for one f64 matrix is what its factor then reports.
static void the_figures_of_a_symmetric_pattern_are_known_before_its_values(lac_context *ctx) {
  static const char *const METHODS[] = {"auto", "cholesky", "ldlt", "lu"};
  for (int m = 0; m < 4; m++) {
    direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
    lac_solver_options options = options_of(METHODS[m]);
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    lac_report before = report_of_solver(system.solver);
    lac_factor *factor = NULL;
    CHECK_EQ(before.factorisations, 0);
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    lac_report after = report_of_factor(factor);
    CHECK_TEXT(before.method, after.method);
    CHECK(strstr(before.reason, "figures are of one f64 matrix"));
    CHECK_EQ(before.factor_nnz, after.factor_nnz);
    CHECK_EQ(before.factor_bytes, after.factor_bytes);
    CHECK(before.flops == after.flops && before.analyse_seconds == after.analyse_seconds && before.factor_seconds == 0);
    CHECK_EQ(report_of_solver(system.solver).factorisations, 1);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

static void check_unknown(lac_context *ctx, int64_t n, const double *full, const char *method, const char *name,
                          const char *reason) {
  direct_system system = open_dense(ctx, n, full, method);
  lac_report report = report_of_solver(system.solver);
  CHECK_TEXT(report.method, name);
  CHECK(strstr(report.reason, reason));
  CHECK(report.factor_nnz == -1 && report.factor_bytes == -1 && report.flops == -1 && report.analyse_seconds >= 0);
  direct_close(&system);
}

static void figures_that_values_decide_are_said_to_be_unknown(lac_context *ctx) {
  check_unknown(ctx, 2, (double[]){2, -1, -1, 2}, "pivoting_lu", "pivoting_lu",
                "unknown before the values choose the pivots");
  check_unknown(ctx, 3, (double[]){0, 1, 1, 0, 2, 1, 1, 1, 2}, "lu", "lu",
                "unknown before the values choose the pivots");
  check_unknown(ctx, 3, (double[]){0, 1, 1, 0, 2, 1, 1, 1, 2}, "auto", "lu", "gaps on its diagonal");
  check_unknown(ctx, 2, (double[]){2, -1, 0, 2}, "cholesky", "cholesky", "will be refused");
  check_unknown(ctx, 2, (double[]){2, -1, 0, 2}, "ldlt", "ldlt", "will be refused");
}

static void a_pair_that_differs_by_rounding_is_hermitian(lac_context *ctx) {
  check_choice(ctx, 2, (double[]){2, 0.3, 0.1 + 0.2, 2}, "auto", "cholesky", "Hermitian");
  check_refusal(ctx, 2, (double[]){2, 0.3, 0.3 + 1e-14, 2}, "cholesky", LAC_ERR_SYMMETRY, "(0, 1)");
}

/// Two elements of a planar body share an edge: couplings of the two directions cancel there, to 9e-16 in one place and
/// to less in the other, beside a diagonal of 100; as finite elements assemble them.
static void assembled(double rounding, double *full) {
  enum { N = 40 };
  memset(full, 0, N * N * sizeof *full);
  for (int i = 0; i < N; i++) full[i * N + i] = i % 2 ? 99 : 198;
  for (int i = 0; i + 2 < N; i++) full[i * N + i + 2] = full[(i + 2) * N + i] = -40.25;
  for (int i = 0; i + 1 < N; i++) {
    double unit = sqrt(full[i * N + i] * full[(i + 1) * N + i + 1]) * DBL_EPSILON;
    full[i * N + i + 1] = i % 3 ? 1.25 : rounding * unit;
    full[(i + 1) * N + i] = i % 3 ? 1.25 * (1 + 2 * DBL_EPSILON) : 1e-30;
  }
}

static void what_is_symmetric_to_rounding_of_its_diagonal_is_hermitian(lac_context *ctx) {
  enum { N = 40 };
  static const char *const METHODS[] = {"auto", "cholesky", "ldlt", "cg", "minres"};
  double full[N * N];
  for (int m = 0; m < 5; m++) {
    lac_factor *factor = NULL;
    assembled(2, full);
    direct_system system = open_dense(ctx, N, full, METHODS[m]);
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    direct_case c = direct_small(N, full, LAC_F64);
    if (m < 3) direct_check(ctx, &c, factor, LAC_PLAIN, 2, 1e3);
    if (m < 3) direct_check(ctx, &c, factor, LAC_TRANSPOSED, 2, 1e3);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
  assembled(100, full);  // this is no rounding
  check_refusal(ctx, N, full, "cholesky", LAC_ERR_SYMMETRY, "e-30, to rounding; use");
  check_refusal(ctx, N, full, "cg", LAC_ERR_SYMMETRY, "assume_hermitian");
}

/// The user's word is taken, but a structure that is not symmetric is none.
static void values_that_are_said_to_be_hermitian_are_not_looked_at(lac_context *ctx) {
  direct_case c = direct_small(3, (double[]){4, 1, 0, 1 + 1e-9, 4, 2, 0, 2, 4}, LAC_F64);
  direct_case gap = direct_small(3, (double[]){4, 1, 0, 0, 4, 2, 0, 2, 4}, LAC_F64);
  for (int m = 0; m < 2; m++) {
    lac_solver_options options = options_of(m ? "cg" : "cholesky");
    lac_factor *factor = NULL;
    options.assume_hermitian = 1;
    direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options),
                  t = direct_open(ctx, &gap, LAC_WIDTH_AUTO, &options);
    CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factor));
    if (m == 0) direct_check(ctx, &c, factor, LAC_PLAIN, 1, 1e3);
    lac_factor_destroy(&factor);
    CHECK_FAILS(lac_solver_factor(ctx, t.solver, t.values, &factor), LAC_ERR_SYMMETRY, "has no counterpart");
    direct_close(&s);
    direct_close(&t);
  }
}

static void complex_symmetric_is_not_hermitian(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_COMPLEX_SYMMETRIC, 10, LAC_C128, 1);
  lac_solver_options options = options_of("ldlt");
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_SYMMETRY,
              "ldlt needs a Hermitian matrix");
  direct_close(&system);
  system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_TEXT(report_of_factor(factor).method, "lu");
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void what_a_method_cannot_take_is_named(lac_context *ctx) {
  check_refusal(ctx, 2, (double[]){2, -1, -2, 2}, "cholesky", LAC_ERR_SYMMETRY, "entry (0, 1)");
  check_refusal(ctx, 2, (double[]){2, -1, 0, 2}, "ldlt", LAC_ERR_SYMMETRY, "entry (0, 1) has no counterpart");
  check_refusal(ctx, 3, (double[]){2, 0, 0, 0, 2, 0, 0, 0, -5}, "cholesky", LAC_ERR_DEFINITE, "pivot -5 in row 2");
}

static void a_singular_matrix_is_named_by_its_column(lac_context *ctx) {
  check_refusal(ctx, 2, (double[]){1, 2, 2, 4}, "lu", LAC_ERR_SINGULAR, "pivot 0 in column");
  check_refusal(ctx, 2, (double[]){1, 2, 2, 4}, "auto", LAC_ERR_SINGULAR, "pivot 0 in column");
  check_refusal(ctx, 3, (double[]){1, 2, 0, 0, 0, 0, 3, 4, 5}, "auto", LAC_ERR_SINGULAR, "row 1 is empty");
  check_refusal(ctx, 3, (double[]){1, 0, 2, 3, 0, 4, 5, 0, 6}, "auto", LAC_ERR_SINGULAR, "column 1 is empty");
  check_refusal(ctx, 3, (double[]){1, 2, 0, STORED, 0, STORED, 3, 4, 5}, "auto", LAC_ERR_SINGULAR, "row 1");
  check_refusal(ctx, 3, (double[]){1, STORED, 2, 3, STORED, 4, 5, STORED, 6}, "lu", LAC_ERR_SINGULAR, "column 1");
  check_refusal(ctx, 3, (double[]){1, 1, 1, 1, 0, 0, 1, 0, 0}, "lu", LAC_ERR_SINGULAR, "singular");
  check_refusal(ctx, 3, (double[]){0, 1, 1, 0, 1, 1, 1, 1, 1}, "lu", LAC_ERR_SINGULAR, "pivot 0 in column");
  check_refusal(ctx, 1, (double[]){STORED}, "auto", LAC_ERR_SINGULAR, "pivot 0");
  check_refusal(ctx, 1, (double[]){0}, "auto", LAC_ERR_SINGULAR, "row 0 is empty");
}

// Beside the first pivot all else is swallowed, and what is left is singular; the matrix, whose determinant is 2, is
// not.
static void a_tolerance_of_zero_makes_no_regular_matrix_singular(lac_context *ctx) {
  direct_case c = direct_small(3, (double[]){1e-20, 1, 1, 1, 1, 2, 1, 2, 1}, LAC_F64);
  lac_solver_options options = options_of("pivoting_lu");
  options.ordering = LAC_ORDER_NATURAL;
  options.pivot_tolerance = -1;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; form++) direct_check(ctx, &c, factor, (lac_form)form, 2, 1e3);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void the_matrix_of_a_batch_that_fails_is_named(lac_context *ctx) {
  double values[] = {2, -1, -1, 2, 1, 1, 1, 1};
  int64_t shape[] = {2, 4};
  direct_system system = open_dense(ctx, 2, values, "lu");
  lac_array *both = NULL;
  lac_factor *factor = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, shape, values, LAC_OWNERSHIP_BORROW, &both));
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, both, &factor), LAC_ERR_SINGULAR, "(matrix 1 of the batch)");
  lac_array_destroy(&both);
  direct_close(&system);
}

// Warnings too: the second matrix has the columns (1, 1) and (1, 1 + rounding).
static void the_matrix_of_a_batch_that_is_doubtful_is_named(lac_context *ctx) {
  double values[] = {2, -1, -1, 2, 1, 1, 1, 1 + 0x1p-52};
  direct_system system = open_dense(ctx, 2, values, "banded");
  lac_array *both = NULL;
  lac_factor *factor = NULL, *alone = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){2, 4}, values, LAC_OWNERSHIP_BORROW, &both));
  CHECK_OK(lac_solver_factor(ctx, system.solver, both, &factor));
  CHECK(strstr(report_of_factor(factor).warning, "of the column (matrix 1 of the batch)"));
  CHECK_OK(lac_array_write(ctx, system.values, values + 4));
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &alone));
  CHECK(strstr(report_of_factor(alone).warning, "of the column") && !strstr(report_of_factor(alone).warning, "batch"));
  lac_array_destroy(&both);
  lac_factor_destroy(&factor);
  lac_factor_destroy(&alone);
  direct_close(&system);
}

// -- numbers that are none -------------------------------------------------------------------------------------------

static void values_that_are_not_finite_are_refused(lac_context *ctx) {
  for (int d = LAC_F32; d <= LAC_C128; d++) {
    for (int infinite = 0; infinite < 2; infinite++) {
      direct_case c = direct_make(DIRECT_POISSON, 16, (lac_dtype)d, 1);
      c.a.x[17] = infinite ? INFINITY : NAN;
      direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
      lac_factor *factor = NULL;
      char words[64];
      snprintf(words, sizeof words, "entry (%lld, %lld) is not finite", (long long)c.s->row[17],
               (long long)c.s->col[17]);
      CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_NONFINITE, words);
      direct_close(&system);
    }
  }
}

static void a_column_with_nan_passes_through_alone(lac_context *ctx) {
  direct_system system = open_dense(ctx, 2, (double[]){2, -1, -1, 2}, "auto");
  double data[] = {1, NAN, 3, 0, 1, -3}, out[6];
  int64_t shape[] = {2, 3};
  lac_array *b = NULL, *x = NULL;
  lac_factor *factor = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, shape, data, LAC_OWNERSHIP_COPY, &b));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, shape, &x));
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x));
  CHECK_OK(lac_array_read(ctx, x, out));
  CHECK(isnan(out[1]) && isnan(out[4]));
  CHECK_NEAR(out[0], 2.0 / 3, 1e-15);
  CHECK_NEAR(out[5], -1.0, 1e-15);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void a_solution_that_overflows_is_an_error(lac_context *ctx) {
  direct_system system = open_dense(ctx, 2, (double[]){1e-200, 0, 0, 1e-200}, "auto");
  double data[] = {1e200, 1};
  int64_t shape[] = {2, 1};
  lac_array *b = NULL, *x = NULL;
  lac_factor *factor = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, shape, data, LAC_OWNERSHIP_COPY, &b));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, shape, &x));
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_FAILS(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x), LAC_ERR_NONFINITE, "overflows f64");
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

/// The largest residual of a row beside its norm times that of x: all that a nearly singular matrix allows
/// (lac_factor_solve).
static double row_error(const direct_case *c, const number *b, const number *x) {
  double worst = 0, largest = 0;
  for (int64_t i = 0; i < c->s->rows; i++) largest = fmax(largest, cabs(x[i]));
  for (int64_t i = 0; i < c->s->rows; i++) {
    number sum = b[i];
    double norm = 0;
    for (int64_t z = 0; z < c->s->nnz; z++) {
      if (c->s->row[z] == i) sum -= c->a.x[z] * x[c->s->col[z]], norm += cabs(c->a.x[z]);
    }
    worst = fmax(worst, cabs(sum) / (norm * largest + cabs(b[i])));
  }
  return worst;
}

/// What is handed out is right entry by entry, and where rounding does not let it be so, row by row to a few roundings:
/// which of the two it is depends on the compiler.
static void check_solution(lac_context *ctx, const direct_case *c, const lac_array *b, const lac_array *x) {
  ref rb, rx;
  CHECK_OK(ref_download(ctx, b, &rb));
  CHECK_OK(ref_download(ctx, x, &rx));
  if (direct_error(c->s, c->a.x, LAC_PLAIN, 1, rb.x, rx.x) <= 1e3 * direct_rounding(LAC_F64)) return;
  CHECK(row_error(c, rb.x, rx.x) <= 32 * direct_rounding(LAC_F64));
}

// Diagonals from strong to vanishing: pivots inside supernodes may not do. Whatever comes out is right or is an error.
static void ldlt_is_never_silently_wrong(lac_context *ctx) {
  int enlarged = 0, solved = 0;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    size_t mark = scratch_mark();
    direct_case c = direct_make(DIRECT_COMPLEX_SYMMETRIC, 40, LAC_F64, seed);
    lac_solver_options options = options_of("ldlt");
    for (int64_t z = 0; z < c.s->nnz; z++) {
      if (c.s->row[z] == c.s->col[z]) c.a.x[z] *= pow(10, -(double)(seed % 20));
    }
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    lac_factor *factor = NULL;
    lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){40, 1}, seed), *x = NULL;
    CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){40, 1}, &x));
    lac_status status = lac_solver_factor(ctx, system.solver, system.values, &factor);
    if (status == LAC_OK) status = lac_factor_solve(ctx, factor, b, LAC_PLAIN, x);
    if (status == LAC_OK) check_solution(ctx, &c, b, x);
    CHECK(status == LAC_OK || status == LAC_ERR_SINGULAR || status == LAC_ERR_CONVERGENCE ||
          status == LAC_ERR_NONFINITE);
    if (factor) enlarged += report_of_factor(factor).perturbed > 0 || strcmp(report_of_factor(factor).method, "ldlt");
    solved += status == LAC_OK;
    lac_factor_destroy(&factor);
    lac_array_destroy(&b);
    lac_array_destroy(&x);
    direct_close(&system);
    scratch_release(mark);
  }
  CHECK(enlarged > 0 && solved > 100);
}

// -- shapes ----------------------------------------------------------------------------------------------------------

static void empty_systems_have_empty_solutions(lac_context *ctx) {
  int64_t none[] = {0}, shape[] = {0, 3}, batch[] = {0, 4}, batch_b[] = {0, 2, 1};
  direct_system system = open_dense(ctx, 0, NULL, "auto"), pair = open_dense(ctx, 2, (double[]){2, 1, 1, 2}, 0);
  lac_array *b = NULL, *x = NULL, *values = NULL;
  lac_factor *factor = NULL;
  CHECK_EQ(none[0], lac_array_count(system.values));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, shape, &b));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, shape, &x));
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; form++) CHECK_OK(lac_factor_solve(ctx, factor, b, (lac_form)form, x));
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);

  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, batch, &values));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 3, batch_b, &b));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 3, batch_b, &x));
  CHECK_OK(lac_solver_factor(ctx, pair.solver, values, &factor));
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x));
  lac_array_destroy(&values);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);
  direct_close(&system);
  direct_close(&pair);
}

static void one_by_one_divides(lac_context *ctx) {
  for (int d = LAC_F32; d <= LAC_C128; d++) {
    direct_case c = direct_make(DIRECT_ZERO_DIAGONAL, 1, (lac_dtype)d, 1);
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
    lac_factor *factor = NULL;
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    for (int form = LAC_PLAIN; form <= LAC_ADJOINT; form++) direct_check(ctx, &c, factor, (lac_form)form, 2, 4);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

static void options_and_patterns_that_make_no_solver_are_refused(lac_context *ctx) {
  lac_solver_options options = lac_solver_options_defaults();
  lac_solver *solver = NULL;
  lac_pattern *square = NULL, *wide = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_square(4, 0.5, 1), LAC_WIDTH_AUTO, &square));
  CHECK_OK(sketch_pattern(ctx, sketch_random(3, 4, 0.5, 1), LAC_WIDTH_AUTO, &wide));
  CHECK_FAILS(lac_solver_create(ctx, wide, NULL, &solver), LAC_ERR_SHAPE, "3 x 4");
  CHECK_FAILS(lac_solver_create(ctx, NULL, NULL, &solver), LAC_ERR_ARG, "lac_solver_create");
  CHECK_FAILS(lac_solver_create(ctx, square, NULL, NULL), LAC_ERR_ARG, "out is NULL");
  options.method = "llt";
  CHECK_FAILS(lac_solver_create(ctx, square, &options, &solver), LAC_ERR_ARG, "no method \"llt\"");
  options = lac_solver_options_defaults(), options.ordering = (lac_ordering)9;
  CHECK_FAILS(lac_solver_create(ctx, square, &options, &solver), LAC_ERR_ARG, "unknown ordering 9");
  options = lac_solver_options_defaults(), options.pivot_tolerance = NAN;
  CHECK_FAILS(lac_solver_create(ctx, square, &options, &solver), LAC_ERR_ARG, "pivot_tolerance");
  options = lac_solver_options_defaults(), options.pivot_tolerance = 1.5;
  CHECK_FAILS(lac_solver_create(ctx, square, &options, &solver), LAC_ERR_ARG, "pivot_tolerance");
  CHECK(!solver);
  lac_pattern_destroy(&square);
  lac_pattern_destroy(&wide);
}

static void arrays_that_do_not_fit_are_refused(lac_context *ctx) {
  direct_system system = open_dense(ctx, 2, (double[]){2, -1, -1, 2}, "auto");
  lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){2, 3}, 1),
            *single = direct_random(ctx, LAC_F32, 2, (int64_t[]){2, 3}, 1);
  lac_array *tall = direct_random(ctx, LAC_F64, 2, (int64_t[]){3, 3}, 1),
            *deep = direct_random(ctx, LAC_F64, 3, (int64_t[]){2, 2, 3}, 1);
  lac_array *x = direct_random(ctx, LAC_F64, 2, (int64_t[]){2, 3}, 1);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, b, &factor), LAC_ERR_SHAPE, "(*batch, 4)");
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, NULL, &factor), LAC_ERR_ARG, "NULL");
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_FAILS(lac_factor_solve(ctx, factor, single, LAC_PLAIN, x), LAC_ERR_DTYPE, "the factor is f64, b is f32");
  CHECK_FAILS(lac_factor_solve(ctx, factor, tall, LAC_PLAIN, x), LAC_ERR_SHAPE, "(*batch, 2, k)");
  CHECK_FAILS(lac_factor_solve(ctx, factor, b, LAC_PLAIN, tall), LAC_ERR_SHAPE, "(*batch, 2, 3)");
  CHECK_FAILS(lac_factor_solve(ctx, factor, deep, LAC_PLAIN, x), LAC_ERR_SHAPE, "batch dimensions");
  CHECK_FAILS(lac_factor_solve(ctx, factor, b, LAC_PLAIN, deep), LAC_ERR_SHAPE, "batch dimensions");
  CHECK_FAILS(lac_factor_solve(ctx, factor, b, LAC_PLAIN, b), LAC_ERR_ARG, "share memory");
  CHECK_FAILS(lac_factor_solve(ctx, factor, b, (lac_form)7, x), LAC_ERR_ARG, "op is 7");
  CHECK_FAILS(lac_factor_solve(ctx, NULL, b, LAC_PLAIN, x), LAC_ERR_ARG, "the factor is NULL");
  lac_factor_destroy(&factor);
  lac_array_destroy(&b);
  lac_array_destroy(&single);
  lac_array_destroy(&tall);
  lac_array_destroy(&deep);
  lac_array_destroy(&x);
  direct_close(&system);
}

CHECK_MAIN_OF("direct", the_method_fits_the_matrix_and_says_why,
              the_figures_of_a_symmetric_pattern_are_known_before_its_values,
              figures_that_values_decide_are_said_to_be_unknown, a_pair_that_differs_by_rounding_is_hermitian,
              what_is_symmetric_to_rounding_of_its_diagonal_is_hermitian,
              values_that_are_said_to_be_hermitian_are_not_looked_at, complex_symmetric_is_not_hermitian,
              what_a_method_cannot_take_is_named, a_singular_matrix_is_named_by_its_column,
              a_tolerance_of_zero_makes_no_regular_matrix_singular, the_matrix_of_a_batch_that_fails_is_named,
              the_matrix_of_a_batch_that_is_doubtful_is_named, values_that_are_not_finite_are_refused,
              a_column_with_nan_passes_through_alone, a_solution_that_overflows_is_an_error,
              ldlt_is_never_silently_wrong, empty_systems_have_empty_solutions, one_by_one_divides,
              options_and_patterns_that_make_no_solver_are_refused, arrays_that_do_not_fit_are_refused)

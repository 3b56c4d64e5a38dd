// SPDX-License-Identifier: Apache-2.0
/// Engines: CHOLMOD, UMFPACK, KLU and MUMPS solve what the built-in solver solves, know its determinants and take over
/// what was chosen before. Where none is here the program counts as skipped.

#include <math.h>

#include "solvers/engines/engine.h"
#include "support/check.h"
#include "support/engine_case.h"
#include "support/reports.h"
#include "support/scratch.h"

static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

static void check_all_sides(lac_context *ctx, const direct_case *c, const lac_solver_options *options,
                            const char *name) {
  static const int64_t COLUMNS[] = {0, 1, 3, 11};
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, options);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  lac_report report = report_of_factor(factor);
  CHECK_TEXT(report.method, name);
  CHECK(report.factor_nnz >= c->s->rows && report.factor_bytes > 0 && report.flops >= 0);
  for (int s = 0; s < 4; s++) {
    for (int k = 0; k < 4; k++) direct_check(ctx, c, factor, FORMS[s], COLUMNS[k], 1e3);
  }
  lac_factor_destroy(&factor);
  direct_close(&system);
}

// -- solutions -------------------------------------------------------------------------------------------------------

static void check_orderings(lac_context *ctx, const engine *e, const direct_case *c) {
  for (int ordering = LAC_ORDER_AUTO; ordering <= LAC_ORDER_NATURAL; ordering++) {
    lac_solver_options options = engine_options(e, (lac_ordering)ordering);
    check_all_sides(ctx, c, &options, e->name);
  }
}

static void visit_kinds(lac_context *ctx, const engine *e) { each_case(ctx, e, 41, check_orderings); }

static void every_kind_dtype_ordering_and_side_is_solved_to_rounding(lac_context *ctx) {
  each_engine(ctx, visit_kinds);
}

static void check_strict(lac_context *ctx, const engine *e, const direct_case *c) {
  lac_solver_options options = engine_options(e, LAC_ORDER_AUTO);
  if (!e->is_hermitian) options.pivot_tolerance = 1;  // Cholesky does not pivot
  check_all_sides(ctx, c, &options, e->name);
}

static void visit_strict(lac_context *ctx, const engine *e) { each_case(ctx, e, 30, check_strict); }

static void strict_pivoting_solves(lac_context *ctx) { each_engine(ctx, visit_strict); }

static void wide_indices_solve_alike(lac_context *ctx) {
  lac_engine_set_narrow(-1);
  each_engine(ctx, visit_strict);
  lac_engine_set_narrow(INT32_MAX);
}

// The smallest systems: none, one, and two that are not connected.
static void visit_small(lac_context *ctx, const engine *e) {
  for (int64_t n = 0; n <= 2; n++) {
    int64_t row[] = {0, 1}, shape_a[] = {n}, shape[] = {n, 2};
    double a[] = {4, 8}, b[] = {8, 4, 8, 16}, x[4];
    lac_solver_options options = engine_options(e, LAC_ORDER_AUTO);
    direct_system system = {0};
    lac_factor *factor = NULL;
    lac_array *right = NULL, *left = NULL;
    CHECK_OK(lac_pattern_from_coo(ctx, n, n, n, LAC_I64, row, row, LAC_WIDTH_AUTO, &system.pattern, NULL));
    CHECK_OK(lac_array_from(ctx, LAC_F64, 1, shape_a, a, LAC_OWNERSHIP_COPY, &system.values));
    CHECK_OK(lac_solver_create(ctx, system.pattern, &options, &system.solver));
    CHECK_OK(lac_array_from(ctx, LAC_F64, 2, shape, b, LAC_OWNERSHIP_COPY, &right));
    CHECK_OK(lac_array_create(ctx, LAC_F64, 2, shape, &left));
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    CHECK_OK(lac_factor_solve(ctx, factor, right, LAC_TRANSPOSED, left));
    CHECK_OK(lac_array_read(ctx, left, x));
    for (int64_t i = 0; i < 2 * n; i++) CHECK_NEAR(x[i], b[i] / a[i / 2], 1e-15);
    lac_array_destroy(&right);
    lac_array_destroy(&left);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

static void the_smallest_systems_are_solved(lac_context *ctx) { each_engine(ctx, visit_small); }

static void check_scaled(lac_context *ctx, const engine *e, const direct_case *c) {
  int power = is_single(c->a.meta.dtype) ? 30 : 498;
  lac_solver_options options = engine_options(e, LAC_ORDER_AUTO);
  for (int sign = -1; sign <= 1; sign += 2) {
    direct_case scaled = {c->s, ref_copy(&c->a)};
    for (int64_t z = 0; z < c->a.count; z++) scaled.a.x[z] *= ldexp(1, sign * power);
    direct_system system = direct_open(ctx, &scaled, LAC_WIDTH_AUTO, &options);
    lac_factor *factor = NULL;
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    direct_check(ctx, &scaled, factor, LAC_PLAIN, 2, 1e3);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

static void visit_scales(lac_context *ctx, const engine *e) {
  direct_case c = direct_make(DIRECT_POSITIVE, 30, e->has_single ? LAC_C64 : LAC_C128, 5);
  check_scaled(ctx, e, &c);
  if (e->is_hermitian) return;
  c = direct_make(DIRECT_NONSYMMETRIC, 30, LAC_F64, 6);
  check_scaled(ctx, e, &c);
}

static void the_scale_of_a_matrix_does_not_matter(lac_context *ctx) { each_engine(ctx, visit_scales); }

static void visit_batch(lac_context *ctx, const engine *e) {
  enum { ITEMS = 5 };
  direct_case c = direct_make(DIRECT_POSITIVE, 30, LAC_C128, 3);
  int64_t nnz = c.s->nnz, n = c.s->rows, shape[] = {ITEMS, n, 3};
  lac_solver_options options = engine_options(e, LAC_ORDER_AUTO);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_array *values = NULL, *b = direct_random(ctx, LAC_C128, 3, shape, 9), *x = NULL;
  lac_factor *factor = NULL;
  ref a = ref_new(&(lac_meta){.dtype = LAC_C128, .ndim = 2, .shape = {ITEMS, nnz}}), rb, rx;
  for (int64_t z = 0; z < ITEMS * nnz; z++) a.x[z] = c.a.x[z % nnz] * (1 + (double)(z / nnz));
  CHECK_OK(ref_upload(ctx, &a, &values));
  CHECK_OK(lac_array_create(ctx, LAC_C128, 3, shape, &x));
  CHECK_OK(lac_context_set_threads(ctx, 2));
  CHECK_OK(lac_solver_factor(ctx, system.solver, values, &factor));
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_TRANSPOSED, x));
  CHECK_OK(ref_download(ctx, b, &rb));
  CHECK_OK(ref_download(ctx, x, &rx));
  for (int64_t i = 0; i < ITEMS; i++) {
    double error = direct_error(c.s, a.x + i * nnz, LAC_TRANSPOSED, 3, rb.x + i * n * 3, rx.x + i * n * 3);
    CHECK(error <= 1e3 * direct_rounding(LAC_C128));
  }
  lac_factor_destroy(&factor);
  lac_array_destroy(&values);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  direct_close(&system);
}

static void batches_are_shared_out_among_threads(lac_context *ctx) { each_engine(ctx, visit_batch); }

// -- determinants ----------------------------------------------------------------------------------------------------

// Divides the rows by their largest number, or the columns; the sum of the logarithms of these.
static double dense_balance(dense a, int64_t row_step, int64_t step) {
  double sum = 0;
  for (int64_t i = 0; i < a.rows; i++) {
    double largest = 0;
    for (int64_t j = 0; j < a.rows; j++) largest = fmax(largest, cabs(a.x[i * row_step + j * step]));
    for (int64_t j = 0; j < a.rows; j++) a.x[i * row_step + j * step] /= largest;
    sum += log(largest);
  }
  return sum;
}

// By elimination with partial pivoting: log of the size, and the phase.
static double dense_logdet(const direct_case *c, number *phase) {
  dense a = dense_matrix(c->s, c->a.x);
  int64_t n = a.rows;
  double sum = dense_balance(a, n, 1);
  sum += dense_balance(a, 1, n);
  *phase = 1;
  for (int64_t k = 0; k < n; k++) {
    int64_t best = k;
    for (int64_t i = k; i < n; i++) best = cabs(a.x[i * n + k]) > cabs(a.x[best * n + k]) ? i : best;
    if (best != k) *phase = -*phase;
    for (int64_t j = 0; j < n && best != k; j++) {
      number swap = a.x[k * n + j];
      a.x[k * n + j] = a.x[best * n + j], a.x[best * n + j] = swap;
    }
    number pivot = a.x[k * n + k];
    sum += log(cabs(pivot));
    *phase *= pivot / cabs(pivot);
    for (int64_t i = k + 1; i < n; i++) {
      number factor = a.x[i * n + k] / pivot;
      for (int64_t j = k; j < n; j++) a.x[i * n + j] -= factor * a.x[k * n + j];
    }
  }
  return sum;
}

static void check_determinant(lac_context *ctx, const engine *e, const direct_case *c) {
  double tolerance = is_single(c->a.meta.dtype) ? 1e-3 : 1e-10, expected;
  lac_solver_options options = engine_options(e, LAC_ORDER_AUTO);
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  lac_polar found;
  number phase;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(direct_part(factor)->table->logdet(direct_part(factor)->analysis->part, direct_part(factor)->numerics[0],
                                              &found));
  expected = dense_logdet(c, &phase);
  if (!(fabs(found.logabs - expected) <= tolerance * (1 + fabs(expected)))) {
    check_fail(__FILE__, __LINE__, "%s, %lld rows, dtype %d: log |det| is %.15g, not %.15g", e->name,
               (long long)c->s->rows, (int)c->a.meta.dtype, found.logabs, expected);
  }
  CHECK(cabs(found.sign_re + found.sign_im * I - phase) <= tolerance);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void visit_determinants(lac_context *ctx, const engine *e) {
  each_case(ctx, e, 29, check_determinant);
  each_case(ctx, e, 30, check_determinant);
}

static void determinants_have_their_size_and_phase(lac_context *ctx) { each_engine(ctx, visit_determinants); }

// -- re-use ----------------------------------------------------------------------------------------------------------

static void check_like(lac_context *ctx, const engine *e, const direct_case *c) {
  int64_t n = c->s->rows;
  lac_solver_options options = engine_options(e, LAC_ORDER_AUTO);
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  direct_case other = {c->s, ref_copy(&c->a)};
  lac_array *values = NULL;
  lac_factor *first = NULL, *second = NULL;
  lac_polar found;
  number phase;
  for (int64_t z = 0; z < other.a.count; z++) {  // both triangles alike
    int64_t pair = c->s->row[z] < c->s->col[z] ? c->s->row[z] * n + c->s->col[z] : c->s->col[z] * n + c->s->row[z];
    other.a.x[z] *= 1 + 0.125 * (double)(pair % 3);
  }
  CHECK_OK(ref_upload(ctx, &other.a, &values));
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &first));
  CHECK_OK(lac_factor_refactor(ctx, first, values, &second));
  CHECK_TEXT(report_of_factor(second).method, e->name);
  CHECK_TEXT(report_of_factor(second).reason, "as before: asked for");
  CHECK_OK(direct_part(second)->table->logdet(direct_part(second)->analysis->part, direct_part(second)->numerics[0],
                                              &found));
  CHECK_NEAR(found.logabs, dense_logdet(&other, &phase), 1e-10);
  direct_check(ctx, &other, second, LAC_PLAIN, 3, 1e3);
  direct_check(ctx, c, first, LAC_TRANSPOSED, 3, 1e3);  // it is as it was
  lac_factor_destroy(&first);
  lac_factor_destroy(&second);
  lac_array_destroy(&values);
  direct_close(&system);
}

static void visit_like(lac_context *ctx, const engine *e) {
  static const direct_kind KINDS[] = {DIRECT_POSITIVE, DIRECT_NONSYMMETRIC, DIRECT_TRIANGULAR};
  for (int k = 0; k < 3; k++) {
    for (int d = LAC_F64; d <= LAC_C128; d += LAC_C128 - LAC_F64) {
      if (!engine_takes(e, KINDS[k], (lac_dtype)d)) continue;
      direct_case c = direct_make(KINDS[k], 40, (lac_dtype)d, 8);
      check_like(ctx, e, &c);
    }
  }
}

static void a_factor_like_another_solves_and_leaves_that_alone(lac_context *ctx) {
  each_engine(ctx, visit_like);
  lac_engine_set_narrow(-1);
  each_engine(ctx, visit_like);
  lac_engine_set_narrow(INT32_MAX);
}

// Pivots that vanish in the new values: KLU, which keeps them, must choose others.
static void visit_unlike(lac_context *ctx, const engine *e) {
  if (e->is_hermitian) return;
  int64_t row[] = {0, 0, 1, 1}, col[] = {0, 1, 0, 1}, shape[] = {4};
  double a[] = {4, 1, 1, 3}, other[] = {0, 1, 1, 0}, logabs, sign;
  lac_solver_options options = engine_options(e, LAC_ORDER_AUTO);
  lac_factor *first = NULL, *second = NULL;
  lac_array *values = NULL, *size = NULL, *phase = NULL;
  direct_system system = {0};
  CHECK_OK(lac_pattern_from_coo(ctx, 2, 2, 4, LAC_I64, row, col, LAC_WIDTH_AUTO, &system.pattern, NULL));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, shape, a, LAC_OWNERSHIP_COPY, &system.values));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, shape, other, LAC_OWNERSHIP_COPY, &values));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &size));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &phase));
  CHECK_OK(lac_solver_create(ctx, system.pattern, &options, &system.solver));
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &first));
  CHECK_OK(lac_factor_refactor(ctx, first, values, &second));
  CHECK_OK(lac_factor_logdet(ctx, second, size, phase));
  CHECK_OK(lac_array_read(ctx, size, &logabs));
  CHECK_OK(lac_array_read(ctx, phase, &sign));
  CHECK(fabs(logabs) <= 1e-15 && sign == -1);
  lac_factor_destroy(&first);
  lac_factor_destroy(&second);
  lac_array_destroy(&values);
  lac_array_destroy(&size);
  lac_array_destroy(&phase);
  direct_close(&system);
}

static void pivots_that_do_not_suit_are_chosen_afresh(lac_context *ctx) { each_engine(ctx, visit_unlike); }

static void visit_analysis(lac_context *ctx, const engine *e) {
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  lac_solver_options options = engine_options(e, LAC_ORDER_AMD);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_report before = report_of_solver(system.solver);
  lac_solver *again = NULL;
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_create(ctx, system.pattern, &options, &again));
  const lac_direct_core *own = again->core->part, *other = system.solver->core->part;
  CHECK(own->analysis == other->analysis);
  CHECK_OK(lac_solver_factor(ctx, again, system.values, &factor));
  lac_report after = report_of_factor(factor);
  CHECK_TEXT(before.method, e->name);
  CHECK_EQ(before.factor_nnz, e->is_hermitian ? after.factor_nnz : -1);
  lac_factor_destroy(&factor);
  lac_solver_destroy(&again);
  direct_close(&system);
}

static void an_analysis_is_made_once(lac_context *ctx) { each_engine(ctx, visit_analysis); }

CHECK_MAIN(every_kind_dtype_ordering_and_side_is_solved_to_rounding, strict_pivoting_solves, wide_indices_solve_alike,
           the_smallest_systems_are_solved, the_scale_of_a_matrix_does_not_matter, batches_are_shared_out_among_threads,
           determinants_have_their_size_and_phase, a_factor_like_another_solves_and_leaves_that_alone,
           pivots_that_do_not_suit_are_chosen_afresh, an_analysis_is_made_once)

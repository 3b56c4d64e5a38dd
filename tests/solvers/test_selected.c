// SPDX-License-Identifier: Apache-2.0
/// The inverse on the pattern: every kind of matrix, dtype and method against the dense inverse, and its refusals.

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory_impl.h"
#include "solvers/direct/pivoting/pivoting_lu.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};

static lac_solver_options options_of(const char *method) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  return options;
}

// The power of two that brings the largest of `count` numbers, `step` apart, near 1.
static double power_of(const number *x, int64_t count, int64_t step) {
  double largest = 0;
  int exponent = 0;
  for (int64_t i = 0; i < count; i++) largest = fmax(largest, cabs(x[i * step]));
  (void)frexp(largest, &exponent);
  return ldexp(1, -exponent);
}

// A^-1 dense: C (R A C)^-1 R with rows and columns brought near 1, so that elimination knows what is large.
static dense inverse_of(dense a) {
  int64_t n = a.rows;
  dense unit = dense_new(n, n);
  double *r = scratch((size_t)n * sizeof *r), *c = scratch((size_t)n * sizeof *c);
  for (int64_t i = 0; i < n; i++) {
    unit.x[i * n + i] = 1;
    r[i] = power_of(a.x + i * n, n, 1);
    for (int64_t j = 0; j < n; j++) a.x[i * n + j] *= r[i];
  }
  for (int64_t j = 0; j < n; j++) {
    c[j] = power_of(a.x + j, n, n);
    for (int64_t i = 0; i < n; i++) a.x[i * n + j] *= c[j];
  }
  dense inverse = dense_solve(a, unit);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) inverse.x[i * n + j] *= c[i] * r[j];
  }
  return inverse;
}

// Every entry to a share of |A^-1| |A| |A^-1|, which is what such a rounding of A makes of it.
static void check_values(const sketch *s, const number *a, const number *z, double rounding) {
  int64_t n = s->rows;
  dense inverse = inverse_of(dense_matrix(s, a)), half = dense_new(n, n);
  for (int64_t p = 0; p < s->nnz; p++) {
    for (int64_t k = 0; k < n; k++) half.x[k * n + s->col[p]] += cabs(inverse.x[k * n + s->row[p]]) * cabs(a[p]);
  }
  for (int64_t p = 0; p < s->nnz; p++) {
    int64_t i = s->row[p], j = s->col[p];
    double error = cabs(z[p] - inverse.x[j * n + i]), allowed = 1 / cabs(a[p]);  // zeros come with noise
    for (int64_t k = 0; k < n; k++) allowed += creal(half.x[j * n + k]) * cabs(inverse.x[k * n + i]);
    if (error <= rounding * allowed) continue;
    check_fail(__FILE__, __LINE__, "entry (%d, %d): %g%+gi against %g%+gi: %g of what may be", (int)i, (int)j,
               creal(z[p]), cimag(z[p]), creal(inverse.x[j * n + i]), cimag(inverse.x[j * n + i]),
               error / (rounding * allowed));
  }
}

static lac_status invert(lac_context *ctx, const lac_solver *solver, const lac_array *values, ref *out) {
  lac_factor *factor = NULL;
  lac_array *z = NULL;
  lac_status status = lac_solver_factor(ctx, solver, values, &factor);
  if (status == LAC_OK) status = lac_array_clone(ctx, values, &z);
  if (status == LAC_OK) status = lac_factor_selected_inverse(ctx, factor, z);
  if (status == LAC_OK && out) status = ref_download(ctx, z, out);
  lac_array_destroy(&z);
  lac_factor_destroy(&factor);
  return status;
}

static void check_case(lac_context *ctx, const direct_case *c, const char *method) {
  lac_solver_options options = options_of(method);
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  ref z;
  CHECK_OK(invert(ctx, system.solver, system.values, &z));
  check_values(c->s, c->a.x, z.x, 1e4 * direct_rounding(c->a.meta.dtype));
  direct_close(&system);
}

// -- values ----------------------------------------------------------------------------------------------------------

static void every_kind_dtype_and_method_agrees_with_the_dense_inverse(lac_context *ctx) {
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    for (int d = 0; d < 4; d++) {
      size_t mark = scratch_mark();
      direct_case c = direct_make(kind, 45, DTYPES[d], (uint64_t)kind + 21);
      check_case(ctx, &c, "auto");
      check_case(ctx, &c, "lu");
      check_case(ctx, &c, "pivoting_lu");
      if (kind == DIRECT_POSITIVE || kind == DIRECT_ARROW) check_case(ctx, &c, "cholesky");
      if (kind == DIRECT_POSITIVE || kind == DIRECT_INDEFINITE) check_case(ctx, &c, "ldlt");
      scratch_release(mark);
    }
  }
}

static void many_random_matrices_agree_with_the_dense_inverse(lac_context *ctx) {
  for (uint64_t seed = 1; seed <= 150; seed++) {
    size_t mark = scratch_mark();
    direct_case c = direct_make((direct_kind)(seed % DIRECT_KINDS), 1 + (int64_t)(seed % 41), LAC_F64, seed);
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
    ref z;
    lac_status status = invert(ctx, system.solver, system.values, &z);
    CHECK(status == LAC_OK || status == LAC_ERR_SINGULAR);  // small random structures may be singular
    if (status == LAC_OK) check_values(c.s, c.a.x, z.x, 1e4 * DBL_EPSILON);
    direct_close(&system);
    scratch_release(mark);
  }
}

static void the_smallest_matrices_have_inverses(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    int64_t zero[] = {0};
    sketch one = {1, 1, 1, zero, zero};
    direct_case c = {.s = sketch_empty(0, 0), .a = ref_new(&(lac_meta){.dtype = DTYPES[d], .ndim = 1})};
    check_case(ctx, &c, "auto");
    check_case(ctx, &c, "lu");
    c = (direct_case){.s = &one, .a = ref_new(&(lac_meta){.dtype = DTYPES[d], .ndim = 1, .shape = {1}})};
    c.a.x[0] = d < 2 ? -4 : 4 * I;
    check_case(ctx, &c, "auto");
    check_case(ctx, &c, "pivoting_lu");
    c.a.x[0] = 3;
    check_case(ctx, &c, "cholesky");
  }
}

// -- scale, batches, threads -----------------------------------------------------------------------------------------

// (s A)^-1 for a power of two s is A^-1 / s.
static void the_scale_of_the_matrix_does_not_matter(lac_context *ctx) {
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    for (int d = 0; d < 4; d++) {
      for (int up = -1; up <= 1; up += 2) {
        if (kind == DIRECT_ILL_SCALED) continue;
        size_t mark = scratch_mark();
        int power = up * (direct_rounding(DTYPES[d]) > 1e-10 ? 59 : 498);
        direct_case c = direct_make(kind, 30, DTYPES[d], 8);
        ref z;
        for (int64_t p = 0; p < c.a.count; p++) c.a.x[p] *= ldexp(1, power);
        direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
        CHECK_OK(invert(ctx, system.solver, system.values, &z));
        for (int64_t p = 0; p < c.a.count; p++) c.a.x[p] *= ldexp(1, -power), z.x[p] *= ldexp(1, power);
        check_values(c.s, c.a.x, z.x, 1e4 * direct_rounding(DTYPES[d]));
        direct_close(&system);
        scratch_release(mark);
      }
    }
  }
}

static void every_matrix_of_a_batch_has_its_own_and_the_bits_do_not_depend_on_threads(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_ZERO_DIAGONAL, 24, LAC_C128, 3);
  int64_t nnz = c.s->nnz;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_array *values = direct_random(ctx, LAC_C128, 3, (int64_t[]){3, 2, nnz}, 4);
  lac_array *none = direct_random(ctx, LAC_C128, 2, (int64_t[]){0, nnz}, 4);
  ref a, z[2];
  CHECK_OK(ref_download(ctx, values, &a));
  for (int t = 0; t < 2; t++) {
    CHECK_OK(lac_context_set_threads(ctx, t + 1));
    CHECK_OK(invert(ctx, system.solver, values, &z[t]));
    for (int64_t i = 0; i < 6; i++) check_values(c.s, a.x + i * nnz, z[t].x + i * nnz, 1e4 * DBL_EPSILON);
    CHECK_OK(invert(ctx, system.solver, none, NULL));
  }
  CHECK(memcmp(z[0].x, z[1].x, (size_t)z[0].count * sizeof *z[0].x) == 0);
  lac_array_destroy(&values);
  lac_array_destroy(&none);
  direct_close(&system);
}

// A grid that is cut into subtrees for several threads. The wind makes it nonsymmetric.
static direct_case windy_grid(int64_t side, double wind) {
  direct_case c = direct_make(DIRECT_POISSON, side * side, LAC_F64, 1);
  for (int64_t p = 0; p < c.s->nnz; p++)
    c.a.x[p] += wind * (double)((c.s->col[p] > c.s->row[p]) - (c.s->col[p] < c.s->row[p]));
  return c;
}

static void check_threads(lac_context *ctx, const direct_case *c, const char *method) {
  lac_solver_options options = options_of(method);
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  ref z[2];
  for (int t = 0; t < 2; t++) {
    CHECK_OK(lac_context_set_threads(ctx, t + 1));
    CHECK_OK(invert(ctx, system.solver, system.values, &z[t]));
  }
  CHECK(memcmp(z[0].x, z[1].x, (size_t)z[0].count * sizeof *z[0].x) == 0);
  direct_close(&system);
}

static void large_trees_are_shared_by_threads_with_the_same_bits(lac_context *ctx) {
  direct_case still = windy_grid(100, 0), windy = windy_grid(100, 0.25);
  check_threads(ctx, &still, "cholesky");
  check_threads(ctx, &still, "ldlt");
  check_threads(ctx, &windy, "lu");
}

// -- partners and checks ----------------------------------------------------------------------------------------------

static lac_factor *factor_of(lac_context *ctx, const direct_system *system) {
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system->solver, system->values, &factor));
  return factor;
}

static void check_factor(lac_context *ctx, const direct_case *c, const lac_factor *factor) {
  lac_array *z = NULL;
  ref got;
  CHECK_OK(lac_array_create(ctx, c->a.meta.dtype, 1, (int64_t[]){c->s->nnz}, &z));
  CHECK_OK(lac_factor_selected_inverse(ctx, factor, z));
  CHECK_OK(ref_download(ctx, z, &got));
  check_values(c->s, c->a.x, got.x, 1e4 * direct_rounding(c->a.meta.dtype));
  lac_array_destroy(&z);
}

static void a_factor_with_enlarged_pivots_is_served_by_a_partner_that_is_made_once(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 30, LAC_F64, 3);
  lac_solver_options options = options_of("lu");
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = factor_of(ctx, &system);
  int64_t bytes = report_of_factor(factor).factor_bytes;
  direct_part(factor)->finding.perturbed = 1;
  check_factor(ctx, &c, factor);
  lac_factor *partner = factor->partner;
  CHECK(partner && direct_part(partner)->table == &lac_direct_pivoting_lu && !partner->partner);
  check_factor(ctx, &c, factor);
  CHECK(factor->partner == partner);
  CHECK_EQ(report_of_factor(factor).factor_bytes, bytes + lac_factor_bytes(partner));
  CHECK_EQ(report_of_factor(factor).factorisations, 2);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static lac_status invert_wrongly(const lac_structure *structure, const void *part, const void *numeric, int threads,
                                 lac_stop *stop, void *values, lac_fault *fault) {
  (void)part, (void)numeric, (void)threads, (void)stop, (void)fault;
  for (int64_t p = 0; p < structure->nnz; p++) ((double *)values)[p] = 1e-3;
  return LAC_OK;
}

static void a_wrong_inverse_is_found_out_and_a_partner_serves(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POSITIVE, 30, LAC_F64, 3);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = factor_of(ctx, &system);
  const lac_direct_table *table = direct_part(factor)->table;
  lac_direct_table wrong = *table;
  wrong.selected_inverse = invert_wrongly;
  direct_part(factor)->table = &wrong;
  check_factor(ctx, &c, factor);
  CHECK(direct_inner(factor)->partner);
  direct_part(factor)->table = table;
  lac_factor_destroy(&factor);
  direct_close(&system);
}

// The last of the chain with a pivot that is off: it is the factor of another matrix, and a row shows it.
static void an_inverse_of_another_matrix_is_refused(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 30, LAC_F64, 3);
  lac_solver_options options = options_of("pivoting_lu");
  options.pivot_tolerance = 1, options.ordering = LAC_ORDER_NATURAL;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = factor_of(ctx, &system);
  lac_array *z = NULL;
  pivoting_numeric *numeric = direct_part(factor)->numerics[0];
  check_factor(ctx, &c, factor);
  ((double *)numeric->diagonal)[20] *= 1 + 1e-9;
  CHECK_OK(lac_array_clone(ctx, system.values, &z));
  CHECK_FAILS(lac_factor_selected_inverse(ctx, factor, z), LAC_ERR_CONVERGENCE,
              "of A times its column of the inverse is 1 only to");
  CHECK(!factor->partner);
  lac_array_destroy(&z);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

// -- refusals --------------------------------------------------------------------------------------------------------

static void arrays_that_do_not_fit_are_refused(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 6, LAC_F32, 3);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = NULL;
  lac_array *wide = NULL, *row = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){c.s->nnz}, &wide));
  CHECK_OK(lac_array_create(ctx, LAC_F32, 2, (int64_t[]){2, c.s->nnz}, &row));
  CHECK_FAILS(lac_factor_selected_inverse(ctx, NULL, row), LAC_ERR_ARG, "the factor is NULL");
  CHECK_FAILS(lac_factor_selected_inverse(ctx, factor, NULL), LAC_ERR_ARG, "values is NULL");
  CHECK_FAILS(lac_factor_selected_inverse(ctx, factor, wide), LAC_ERR_DTYPE, "the factor is f32 and values are f64");
  CHECK_FAILS(lac_factor_selected_inverse(ctx, factor, row), LAC_ERR_SHAPE, "the shape of those that were factored");
  lac_array_destroy(&wide);
  lac_array_destroy(&row);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

// Every `step`-th. The factor is made anew each time, so that its partner is.
static void check_failing_allocations(lac_context *ctx, const direct_case *c, const char *method, int64_t step,
                                      bool is_perturbed) {
  lac_solver_options options = options_of(method);
  lac_status status = LAC_ERR_MEMORY;
  options.keep_bytes = -1;
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  for (int64_t n = 1; status != LAC_OK; n += step) {
    lac_factor *factor = factor_of(ctx, &system);
    lac_array *z = NULL;
    direct_part(factor)->finding.perturbed = is_perturbed;
    CHECK_OK(lac_array_clone(ctx, system.values, &z));
    long long before = check_live_blocks();
    lac_memory_fail_at(n);
    status = lac_factor_selected_inverse(ctx, factor, z);
    CHECK_EQ(status, lac_memory_fail_at(0) >= n ? LAC_ERR_MEMORY : LAC_OK);
    if (status != LAC_OK && !is_perturbed) CHECK_EQ(check_live_blocks(), before);
    lac_array_destroy(&z);
    lac_factor_destroy(&factor);
  }
  direct_close(&system);
}

static void every_failing_allocation_is_said_and_leaks_nothing(lac_context *ctx) {
  direct_case positive = direct_make(DIRECT_POSITIVE, 20, LAC_F64, 3),
              nonsymmetric = direct_make(DIRECT_NONSYMMETRIC, 20, LAC_F64, 3);
  direct_case grid = windy_grid(70, 0.25);
  check_failing_allocations(ctx, &positive, "cholesky", 1, false);
  check_failing_allocations(ctx, &positive, "ldlt", 1, false);
  check_failing_allocations(ctx, &nonsymmetric, "lu", 1, false);
  check_failing_allocations(ctx, &nonsymmetric, "lu", 1, true);
  check_failing_allocations(ctx, &nonsymmetric, "pivoting_lu", 1, false);
  check_failing_allocations(ctx, &grid, "lu", 7, false);
}

CHECK_MAIN_OF("direct", every_kind_dtype_and_method_agrees_with_the_dense_inverse,
              many_random_matrices_agree_with_the_dense_inverse, the_smallest_matrices_have_inverses,
              the_scale_of_the_matrix_does_not_matter,
              every_matrix_of_a_batch_has_its_own_and_the_bits_do_not_depend_on_threads,
              large_trees_are_shared_by_threads_with_the_same_bits,
              a_factor_with_enlarged_pivots_is_served_by_a_partner_that_is_made_once,
              a_wrong_inverse_is_found_out_and_a_partner_serves, an_inverse_of_another_matrix_is_refused,
              arrays_that_do_not_fit_are_refused, every_failing_allocation_is_said_and_leaks_nothing)

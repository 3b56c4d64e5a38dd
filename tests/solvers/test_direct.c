// SPDX-License-Identifier: Apache-2.0
/// The built-in direct solver: every kind of matrix, dtype, width, form and batch is solved to rounding.

#include <math.h>
#include <string.h>

#include "core/memory_impl.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_width WIDTHS[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

static lac_solver_options options_of(const char *method) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  return options;
}

// All forms and several widths of b with one case under one set of options.
static void check_all_sides(lac_context *ctx, const direct_case *c, lac_width width,
                            const lac_solver_options *options) {
  static const int64_t COLUMNS[] = {0, 1, 3, 11};
  direct_system system = direct_open(ctx, c, width, options);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  for (int s = 0; s < 4; s++) {
    for (int k = 0; k < 4; k++) direct_check(ctx, c, factor, FORMS[s], COLUMNS[k], 1e3);
  }
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void every_kind_dtype_width_and_side_is_solved_to_rounding(lac_context *ctx) {
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    for (int d = 0; d < 4; d++) {
      for (int w = 0; w < 3; w++) {
        size_t mark = scratch_mark();
        direct_case c = direct_make(kind, 41, DTYPES[d], (uint64_t)kind + 1);
        check_all_sides(ctx, &c, WIDTHS[w], NULL);
        scratch_release(mark);
      }
    }
  }
}

static void every_method_and_ordering_that_may_be_forced_solves(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    direct_case definite = direct_make(DIRECT_POSITIVE, 41, DTYPES[d], 5);
    direct_case indefinite = direct_make(DIRECT_INDEFINITE, 41, DTYPES[d], 6);
    direct_case any = direct_make(DIRECT_ZERO_DIAGONAL, 41, DTYPES[d], 7);
    for (int ordering = LAC_ORDER_AMD; ordering <= LAC_ORDER_NATURAL; ordering++) {
      if (lac_ordering_find(ctx, (lac_ordering)ordering) != LAC_OK) continue;
      lac_solver_options options = options_of("cholesky");
      options.ordering = (lac_ordering)ordering;
      check_all_sides(ctx, &definite, LAC_WIDTH_AUTO, &options);
      options.method = "ldlt";
      check_all_sides(ctx, &definite, LAC_WIDTH_AUTO, &options);
      check_all_sides(ctx, &indefinite, LAC_WIDTH_AUTO, &options);
      options.method = "lu";
      check_all_sides(ctx, &any, LAC_WIDTH_AUTO, &options);
      options.method = "pivoting_lu";
      // A tolerance of 0 keeps every pivot on the diagonal, however small: that it goes well is luck of the order.
      for (int half = ordering == LAC_ORDER_METIS; half <= 2; half++) {
        options.pivot_tolerance = half ? 0.5 * half : -1;
        check_all_sides(ctx, &any, LAC_WIDTH_AUTO, &options);
      }
    }
  }
}

static void many_random_systems_are_solved(lac_context *ctx) {
  for (uint64_t seed = 1; seed <= 150; seed++) {
    size_t mark = scratch_mark();
    direct_case c = direct_make((direct_kind)(seed % DIRECT_KINDS), 4 + (int64_t)(seed % 61), DTYPES[seed % 4], seed);
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
    lac_factor *factor = NULL;
    lac_status status = lac_solver_factor(ctx, system.solver, system.values, &factor);
    CHECK(status == LAC_OK || status == LAC_ERR_SINGULAR);  // small random structures may be singular
    if (factor) direct_check(ctx, &c, factor, FORMS[seed % 4], 2, 1e3);
    lac_factor_destroy(&factor);
    direct_close(&system);
    scratch_release(mark);
  }
}

// Most components of the solution are tiny or vanish: that is no reason to refuse it.
static void sparse_right_hand_sides_are_solved(lac_context *ctx) {
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    size_t mark = scratch_mark();
    direct_case c = direct_make(kind, 60, LAC_F64, 13);
    int64_t n = c.s->rows, shape[] = {n, n};
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
    lac_factor *factor = NULL;
    lac_array *b = NULL, *x = NULL;
    CHECK_OK(lac_array_create(ctx, LAC_F64, 2, shape, &b));
    CHECK_OK(lac_array_create(ctx, LAC_F64, 2, shape, &x));
    CHECK_OK(lac_array_fill(ctx, b, 0, 0));
    for (int64_t i = 0; i < n; i++) ((double *)lac_array_edit(b))[i * n + i] = i % 2 ? 1 : 1e-30;
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    for (int s = 0; s < 4; s++) CHECK_OK(lac_factor_solve(ctx, factor, b, FORMS[s], x));
    lac_factor_destroy(&factor);
    lac_array_destroy(&b);
    lac_array_destroy(&x);
    direct_close(&system);
    scratch_release(mark);
  }
}

// The largest |b - A^T x|_i / (||(A^T)_i||_1 ||x||_oo + |b_i|).
static double row_error(int64_t n, const double *a, const double *b, const double *x) {
  double worst = 0, largest = 0;
  for (int64_t j = 0; j < n; j++) largest = fmax(largest, fabs(x[j]));
  for (int64_t i = 0; i < n; i++) {
    long double r = b[i], norm = 0;
    for (int64_t j = 0; j < n; j++) r -= (long double)a[j * n + i] * x[j], norm += fabs(a[j * n + i]);
    worst = fmax(worst, (double)(fabsl(r) / (norm * largest + fabs(b[i]))));
  }
  return worst;
}

// Sparse, and the last row is nearly twice the first: of condition 1e11 to 1e14.
static direct_case nearly_singular(int64_t n, uint64_t seed, double *full) {
  ref numbers = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {2 * n * n}});
  ref_random(&numbers, seed, 0);
  for (int64_t z = 0; z < n * n; z++) {
    int is_there = z % (n + 1) == 0 || fabs(creal(numbers.x[n * n + z])) < 0.2;
    full[z] = is_there ? creal(numbers.x[z]) : 0;
  }
  for (int64_t j = 0; j < n; j++) full[(n - 1) * n + j] = 2 * full[j];
  full[n * n - 1] += pow(10, -11 - (double)(seed % 3));
  return direct_small(n, full, LAC_F64);
}

// The solution with A^T is large in its first and last component, but there are rows that meet only the others. No
// factor in this precision gets those right to rounding of themselves: the solution is as good as there is one, row by
// row.
static void nearly_singular_systems_are_solved(lac_context *ctx) {
  static const char *const METHODS[] = {"auto", "banded", "lu", "pivoting_lu"};
  enum { N = 24 };
  int solved = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 120; seed++) {
    size_t mark = scratch_mark();
    double *full = scratch(N * N * sizeof *full);
    direct_case c = nearly_singular(N, seed, full);
    lac_solver_options options = options_of(METHODS[seed % 4]);
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    lac_factor *factor = NULL;
    lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){N, 1}, seed), *x = NULL;
    CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){N, 1}, &x));
    lac_status status = lac_solver_factor(ctx, system.solver, system.values, &factor);
    CHECK(status == LAC_OK || status == LAC_ERR_SINGULAR);
    if (factor && !*report_of_factor(factor).warning) {
      status = lac_factor_solve(ctx, factor, b, LAC_TRANSPOSED, x);
      CHECK(status == LAC_OK || status == LAC_ERR_SINGULAR);
      refused += status != LAC_OK;
      solved += status == LAC_OK;
      if (status == LAC_OK) CHECK(row_error(N, full, lac_array_data(b), lac_array_data(x)) <= 1e-14);
    }
    lac_factor_destroy(&factor);
    lac_array_destroy(&b);
    lac_array_destroy(&x);
    direct_close(&system);
    scratch_release(mark);
  }
  CHECK(solved > 80 && refused < 8);  // of those that have no certain digit
}

// -- batches ---------------------------------------------------------------------------------------------------------

static void batches_of_matrices_and_right_hand_sides_broadcast(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 12, LAC_C128, 3);
  int64_t nnz = c.s->nnz, n = c.s->rows, shape_b[] = {3, n, 2}, shape_x[] = {2, 3, n, 2};
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_array *values = NULL, *b = direct_random(ctx, LAC_C128, 3, shape_b, 9), *x = NULL;
  lac_factor *factor = NULL;
  ref a = ref_new(&(lac_meta){.dtype = LAC_C128, .ndim = 3, .shape = {2, 1, nnz}}), rb, rx;
  for (int64_t z = 0; z < nnz; z++) a.x[z] = c.a.x[z], a.x[nnz + z] = c.a.x[z] * (c.s->row[z] == c.s->col[z] ? 3 : 1);

  CHECK_OK(ref_upload(ctx, &a, &values));
  CHECK_OK(lac_array_create(ctx, LAC_C128, 4, shape_x, &x));
  CHECK_OK(lac_solver_factor(ctx, system.solver, values, &factor));
  for (int s = 0; s < 4; s++) {
    CHECK_OK(lac_factor_solve(ctx, factor, b, FORMS[s], x));
    CHECK_OK(ref_download(ctx, b, &rb));
    CHECK_OK(ref_download(ctx, x, &rx));
    for (int64_t i = 0; i < 6; i++) {
      double error = direct_error(c.s, a.x + i / 3 * nnz, FORMS[s], 2, rb.x + i % 3 * n * 2, rx.x + i * n * 2);
      CHECK(error <= 1e3 * direct_rounding(LAC_C128));
    }
  }
  lac_factor_destroy(&factor);
  lac_array_destroy(&values);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  direct_close(&system);
}

static void the_bits_do_not_depend_on_the_number_of_threads(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_ILL_SCALED, 40, LAC_F64, 4);
  int64_t shape_a[] = {5, c.s->nnz}, shape_b[] = {5, c.s->rows, 20};
  size_t bytes = (size_t)(5 * 20 * c.s->rows) * sizeof(double);
  lac_array *values = direct_random(ctx, LAC_F64, 2, shape_a, 2), *b = direct_random(ctx, LAC_F64, 3, shape_b, 3);
  double *results[2];
  for (int t = 0; t < 2; t++) {
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
    lac_factor *factor = NULL;
    lac_array *x = NULL;
    CHECK_OK(lac_context_set_threads(ctx, t + 1));
    CHECK_OK(lac_array_create(ctx, LAC_F64, 3, shape_b, &x));
    CHECK_OK(lac_solver_factor(ctx, system.solver, values, &factor));
    CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_TRANSPOSED, x));
    results[t] = scratch(bytes);
    CHECK_OK(lac_array_read(ctx, x, results[t]));
    lac_array_destroy(&x);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
  CHECK(memcmp(results[0], results[1], bytes) == 0);
  lac_array_destroy(&values);
  lac_array_destroy(&b);
}

// -- scale -----------------------------------------------------------------------------------------------------------

// The solution of (s A) x = t b for powers of two s and t is t / s times that of A x = b, to the bit.
static void check_scaled(lac_context *ctx, direct_kind kind, lac_dtype dtype, int matrix_power, int b_power) {
  direct_case c = direct_make(kind, 30, dtype, 8), scaled = c;
  int64_t shape[] = {c.s->rows, 2};
  ref rb = ref_new(&(lac_meta){.dtype = dtype, .ndim = 2, .shape = {c.s->rows, 2}}), rx[2];
  scaled.a = ref_copy(&c.a);
  for (int64_t z = 0; z < c.a.count; z++) scaled.a.x[z] *= ldexp(1, matrix_power);
  ref_random(&rb, 5, dtype >= LAC_C64);

  for (int t = 0; t < 2; t++) {
    direct_system system = direct_open(ctx, t ? &scaled : &c, LAC_WIDTH_AUTO, NULL);
    lac_factor *factor = NULL;
    lac_array *b = NULL, *x = NULL;
    for (int64_t i = 0; t && i < rb.count; i++) rb.x[i] *= ldexp(1, b_power);
    CHECK_OK(ref_upload(ctx, &rb, &b));
    CHECK_OK(lac_array_create(ctx, dtype, 2, shape, &x));
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x));
    CHECK_OK(ref_download(ctx, x, &rx[t]));
    lac_array_destroy(&b);
    lac_array_destroy(&x);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
  for (int64_t i = 0; i < rx[0].count; i++) CHECK(rx[1].x[i] == rx[0].x[i] * ldexp(1, b_power - matrix_power));
}

static void the_scale_of_matrix_and_right_hand_side_does_not_matter(lac_context *ctx) {
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    if (kind == DIRECT_ILL_SCALED) continue;
    for (int d = 0; d < 4; d++) {
      int power = direct_rounding(DTYPES[d]) > 1e-10 ? 60 : 498;  // 1e18 and 1e150; even, for roots
      size_t mark = scratch_mark();
      check_scaled(ctx, kind, DTYPES[d], power, 0);
      check_scaled(ctx, kind, DTYPES[d], -power, 0);
      check_scaled(ctx, kind, DTYPES[d], 0, power);
      check_scaled(ctx, kind, DTYPES[d], 0, -power);
      check_scaled(ctx, kind, DTYPES[d], power, power);
      check_scaled(ctx, kind, DTYPES[d], -power, -power);
      scratch_release(mark);
    }
  }
}

// -- memory ----------------------------------------------------------------------------------------------------------

// Solver, factor and solve from nothing; returns the first status that is not LAC_OK.
static lac_status solve_from_nothing(lac_context *ctx, const lac_pattern *pattern, const char *method,
                                     const lac_array *values, const lac_array *b, lac_array *x) {
  lac_solver_options options = options_of(method);
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_status status = lac_solver_create(ctx, pattern, &options, &solver);
  if (status == LAC_OK) status = lac_solver_factor(ctx, solver, values, &factor);
  if (status == LAC_OK) status = lac_factor_solve(ctx, factor, b, LAC_PLAIN, x);
  lac_factor_destroy(&factor);
  lac_solver_destroy(&solver);
  return status;
}

static void check_failing_allocations(lac_context *ctx, direct_kind kind, const char *method) {
  direct_case c = direct_make(kind, 30, LAC_F64, 3);
  int64_t shape[] = {c.s->rows, 1}, n = 1;
  lac_array *values = NULL, *b = direct_random(ctx, LAC_F64, 2, shape, 1), *x = NULL;
  CHECK_OK(ref_upload(ctx, &c.a, &values));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, shape, &x));
  for (lac_status status = LAC_ERR_MEMORY; status != LAC_OK; n = check_next_failure(ctx, n)) {
    lac_pattern *pattern = NULL;  // a fresh one, which keeps no analysis yet
    CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
    lac_pattern_destroy(&pattern);
    long long before = check_live_blocks();
    CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
    lac_memory_fail_at(n);
    status = solve_from_nothing(ctx, pattern, method, values, b, x);
    int is_reached = lac_memory_fail_at(0) >= n;
    CHECK_EQ(status, is_reached ? LAC_ERR_MEMORY : LAC_OK);
    lac_pattern_destroy(&pattern);
    CHECK_EQ(check_live_blocks(), before);
  }
  CHECK(n > 30);
  lac_array_destroy(&values);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
}

static void every_failing_allocation_is_said_and_leaks_nothing(lac_context *ctx) {
  check_failing_allocations(ctx, DIRECT_POSITIVE, "auto");
  check_failing_allocations(ctx, DIRECT_INDEFINITE, "ldlt");
  check_failing_allocations(ctx, DIRECT_NONSYMMETRIC, "auto");
  check_failing_allocations(ctx, DIRECT_ZERO_DIAGONAL, "lu");
}

static void solvers_have_numbers_of_their_own(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 5, LAC_F64, 3);
  direct_system one = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL), two = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_solver *held = lac_solver_retain(one.solver);
  CHECK(lac_solver_id(held) == lac_solver_id(one.solver) && lac_solver_id(held) != lac_solver_id(two.solver));
  lac_solver_destroy(&held);
  direct_close(&one);
  direct_close(&two);
}

CHECK_MAIN_OF("direct", solvers_have_numbers_of_their_own, every_kind_dtype_width_and_side_is_solved_to_rounding,
              every_method_and_ordering_that_may_be_forced_solves, many_random_systems_are_solved,
              sparse_right_hand_sides_are_solved, nearly_singular_systems_are_solved,
              batches_of_matrices_and_right_hand_sides_broadcast, the_bits_do_not_depend_on_the_number_of_threads,
              the_scale_of_matrix_and_right_hand_side_does_not_matter,
              every_failing_allocation_is_said_and_leaks_nothing)

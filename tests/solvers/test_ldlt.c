// SPDX-License-Identifier: Apache-2.0
/// L D L^H inside supernodes: indefinite Hermitian matrices, with pivots of one and two rows.

#include <math.h>
#include <string.h>

#include "core/memory_impl.h"
#include "solvers/direct/symbolic/supernodes.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

static lac_solver_options ldlt_options(void) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "ldlt";
  return options;
}

static direct_system open_ldlt(lac_context *ctx, const direct_case *c) {
  lac_solver_options options = ldlt_options();
  return direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
}

static lac_factor *factor_of(lac_context *ctx, const direct_system *system, const char *method) {
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system->solver, system->values, &factor));
  if (method) CHECK_TEXT(report_of_factor(factor).method, method);
  return factor;
}

static int is_complex(lac_dtype dtype) { return dtype == LAC_C64 || dtype == LAC_C128; }

// What makes a sketch of a symmetric structure Hermitian: each entry below the diagonal follows the one above.
static void make_hermitian(direct_case *c) {
  for (int64_t z = 0; z < c->s->nnz; z++) {
    int64_t i = c->s->row[z], j = c->s->col[z];
    if (i == j) c->a.x[z] = creal(c->a.x[z]);
    if (i < j) c->a.x[sketch_find(c->s, j, i)] = conj(c->a.x[z]);
  }
}

// -Laplacian - shift: indefinite; complex with a field through the grid.
static direct_case helmholtz(int64_t side, double shift, lac_dtype dtype) {
  direct_case c = direct_make(DIRECT_POISSON, side * side, dtype, 1);
  for (int64_t z = 0; z < c.s->nnz; z++) {
    if (c.s->row[z] == c.s->col[z]) c.a.x[z] -= shift;
    if (is_complex(dtype) && c.s->col[z] == c.s->row[z] + 1) c.a.x[z] *= 0.6 + 0.8 * I;
    c.a.x[z] = (float complex)c.a.x[z];
  }
  make_hermitian(&c);
  return c;
}

static void check_all_sides(lac_context *ctx, const direct_case *c, const char *method, double roundings) {
  direct_system system = open_ldlt(ctx, c);
  lac_factor *factor = factor_of(ctx, &system, method);
  for (int s = 0; s < 4; s++) {
    direct_check(ctx, c, factor, FORMS[s], 1, roundings);
    direct_check(ctx, c, factor, FORMS[s], 11, roundings);
  }
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void indefinite_grids_are_solved_in_all_dtypes_and_sides(lac_context *ctx) {
  static const double SHIFTS[] = {0, 0.7, 2.3, 3.98, 5.1};  // nearly nothing is left of the diagonal
  for (int d = 0; d < 4; d++) {
    for (int t = 0; t < 5; t++) {
      size_t mark = scratch_mark();
      direct_case c = helmholtz(9, SHIFTS[t], DTYPES[d]);
      check_all_sides(ctx, &c, NULL, 64);
      scratch_release(mark);
    }
  }
}

// Against dense elimination: the solution itself, not its residual.
static void the_solution_is_that_of_dense_elimination(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    size_t mark = scratch_mark();
    direct_case c = helmholtz(7, 2.3, DTYPES[d]);
    int64_t n = c.s->rows, shape[] = {n, 2};
    direct_system system = open_ldlt(ctx, &c);
    lac_factor *factor = factor_of(ctx, &system, "ldlt");
    lac_array *b = direct_random(ctx, DTYPES[d], 2, shape, 5), *x = NULL;
    ref rb, rx;
    CHECK_OK(lac_array_create(ctx, DTYPES[d], 2, shape, &x));
    CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_TRANSPOSED, x));
    CHECK_OK(ref_download(ctx, b, &rb));
    CHECK_OK(ref_download(ctx, x, &rx));
    dense expected = dense_solve(dense_side(dense_matrix(c.s, c.a.x), LAC_TRANSPOSED), dense_over(n, 2, rb.x));
    for (int64_t i = 0; i < 2 * n; i++) {
      CHECK(cabs(expected.x[i] - rx.x[i]) <= 1e4 * direct_rounding(DTYPES[d]) * (1 + cabs(expected.x[i])));
    }
    lac_array_destroy(&b);
    lac_array_destroy(&x);
    lac_factor_destroy(&factor);
    direct_close(&system);
    scratch_release(mark);
  }
}

static void pivots_of_two_rows_solve_what_one_cannot(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    direct_case swap = direct_small(2, (double[]){0, 1, 1, 0}, DTYPES[d]);
    direct_case weak = direct_small(3, (double[]){1e-20, 2, 1, 2, 1e-20, 3, 1, 3, 0}, DTYPES[d]);
    check_all_sides(ctx, &swap, "ldlt", 4);
    check_all_sides(ctx, &weak, "ldlt", 16);
  }
}

// [K B; B^T 0] with K definite: as many negative pivots as constraints.
static direct_case saddle(int64_t n, int64_t constraints, lac_dtype dtype) {
  int64_t size = n + constraints;
  double *full = scratch((size_t)(size * size) * sizeof *full);
  for (int64_t i = 0; i < n; i++) {
    int64_t other = n + i % constraints;
    full[i * size + i] = 2.5;
    if (i + 1 < n) full[i * size + i + 1] = full[(i + 1) * size + i] = -1;
    full[i * size + other] = full[other * size + i] = 1 + 0.125 * (double)(i % 3);
  }
  return direct_small(size, full, dtype);
}

static void saddle_points_are_solved(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    size_t mark = scratch_mark();
    direct_case c = saddle(60, 13, DTYPES[d]);
    check_all_sides(ctx, &c, "ldlt", 64);
    scratch_release(mark);
  }
}

// A grid with a constraint on every pair of neighbours in a row, and nothing on the diagonal there: elimination as it
// comes meets zeros, pairs do not. Values to come go by the same pairs.
static direct_case constrained(int64_t side, double weight) {
  int64_t n = side * side, half = side / 2, size = n + half * side, at = 0;
  direct_case grid = direct_convection(side, 0, LAC_F64);
  sketch *s = scratch(sizeof *s);
  *s = (sketch){size, size, 0, scratch((size_t)(8 * size) * sizeof *s->row),
                scratch((size_t)(8 * size) * sizeof *s->col)};
  number *x = scratch((size_t)(8 * size) * sizeof *x);
  for (int64_t i = 0; i < size; i++) {
    for (; at < grid.s->nnz && grid.s->row[at] == i; at++) {
      s->row[s->nnz] = i, s->col[s->nnz] = grid.s->col[at], x[s->nnz++] = grid.a.x[at] * weight;
    }
    int64_t left = i >= n ? (i - n) / half * side + (i - n) % half * 2 : -1, own = i % side / 2 + i / side * half;
    for (int64_t m = 0; i >= n && m < 2; m++) {
      s->row[s->nnz] = i, s->col[s->nnz] = left + m, x[s->nnz++] = m ? 1 : -1;
    }
    if (i < n && i % side < 2 * half) s->row[s->nnz] = i, s->col[s->nnz] = n + own, x[s->nnz++] = i % side % 2 ? 1 : -1;
  }
  direct_case c = {s, ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {s->nnz}})};
  memcpy(c.a.x, x, (size_t)s->nnz * sizeof *x);
  return c;
}

static void both_of_a_pair_are_in_one_supernode(lac_context *ctx) {
  for (int ordering = LAC_ORDER_AMD; ordering <= LAC_ORDER_NATURAL; ordering += 2) {
    lac_pattern *pattern = NULL;
    lac_structure *structure = NULL;
    lac_supernodes *s = NULL;
    int32_t mate[120];
    for (int32_t i = 0; i < 120; i++) mate[i] = i < 90 ? (i + 45) % 90 : i;
    CHECK_OK(sketch_pattern(ctx, sketch_symmetric(120, 0.04, 7), LAC_WIDTH_AUTO, &pattern));
    CHECK_OK(lac_structure_get(ctx, pattern, &structure));
    CHECK_OK(lac_supernodes_create_paired(ctx, structure, mate, (lac_ordering)ordering, &s));
    for (int32_t i = 0; i < 120; i++) CHECK_EQ(s->owner[s->col_step[i]], s->owner[s->col_step[mate[i]]]);
    for (int32_t i = 0; i < 120; i++) CHECK_EQ(s->row_step[i], s->col_step[i]);
    lac_object_release(s);
    lac_object_release(structure);
    lac_pattern_destroy(&pattern);
  }
}

static void rows_are_paired_where_single_ones_have_no_pivot(lac_context *ctx) {
  direct_case c = constrained(24, 1), other = constrained(24, 1.5);
  direct_system system = open_ldlt(ctx, &c);
  lac_array *values = NULL, *two = NULL;
  lac_factor *first = factor_of(ctx, &system, "ldlt"), *second = NULL, *batch = NULL;
  ref both = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {2, c.s->nnz}});
  memcpy(both.x, other.a.x, (size_t)c.s->nnz * sizeof *both.x);
  memcpy(both.x + c.s->nnz, c.a.x, (size_t)c.s->nnz * sizeof *both.x);
  CHECK_OK(ref_upload(ctx, &other.a, &values));
  CHECK_OK(ref_upload(ctx, &both, &two));
  CHECK_OK(lac_solver_factor(ctx, system.solver, values, &second));
  CHECK_OK(lac_solver_factor(ctx, system.solver, two, &batch));
  CHECK_EQ(report_of_factor(first).perturbed, 0);
  CHECK_EQ(report_of_factor(second).perturbed, 0);
  CHECK_EQ(report_of_factor(first).factor_nnz, report_of_factor(second).factor_nnz);
  CHECK_EQ(report_of_factor(batch).factor_nnz, 2 * report_of_factor(first).factor_nnz);
  CHECK(report_of_factor(first).factor_nnz > report_of_solver(system.solver).factor_nnz);  // not the plain order
  for (int s = 0; s < 4; s++) {
    direct_check(ctx, &c, first, FORMS[s], 3, 64);
    direct_check(ctx, &other, second, FORMS[s], 3, 64);
  }
  lac_factor_destroy(&first);
  lac_factor_destroy(&second);
  lac_factor_destroy(&batch);
  lac_array_destroy(&values);
  lac_array_destroy(&two);
  direct_close(&system);
}

static void graded_matrices_are_solved(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    size_t mark = scratch_mark();
    direct_case c = helmholtz(8, 2.3, DTYPES[d]);
    int reach = direct_rounding(DTYPES[d]) > 1e-10 ? 12 : 300;
    for (int64_t z = 0; z < c.s->nnz; z++) {
      int power = (int)(c.s->row[z] * 37 % (2 * reach) + c.s->col[z] * 37 % (2 * reach)) - 2 * reach;
      c.a.x[z] *= ldexp(1, power);
    }
    direct_system system = open_ldlt(ctx, &c);
    lac_factor *factor = factor_of(ctx, &system, "ldlt");
    CHECK_EQ(report_of_factor(factor).perturbed, 0);
    CHECK_TEXT(report_of_factor(factor).warning, "");
    for (int s = 0; s < 2; s++) direct_check(ctx, &c, factor, FORMS[s], 1, 1e3);
    lac_factor_destroy(&factor);
    direct_close(&system);
    scratch_release(mark);
  }
}

/// D S D x = D S 1 has x = D^-1 1, and all of it is exact but the elimination.
static void check_steep(lac_context *ctx, lac_dtype dtype, int reach) {
  enum { N = 12 };
  double full[N * N] = {0}, d[N];
  lac_array *b = NULL, *x = NULL;
  ref rb, rx;
  for (int i = 0; i < N; i++) d[i] = ldexp(1, -reach + 2 * reach * i / (N - 1));
  for (int i = 0; i < N; i++) {
    full[i * N + i] = (i % 2 ? 4 : -4) * d[i] * d[i];
    full[i * N + (i + 1) % N] = full[(i + 1) % N * N + i] = -d[i] * d[(i + 1) % N];
  }
  direct_case c = direct_small(N, full, dtype);
  direct_system system = open_ldlt(ctx, &c);
  lac_factor *factor = factor_of(ctx, &system, "ldlt");
  CHECK_OK(lac_array_create(ctx, dtype, 2, (int64_t[]){N, 1}, &x));
  rb = ref_new(lac_array_meta(x));
  for (int i = 0; i < N; i++) rb.x[i] = d[i] * ((i % 2 ? 4 : -4) - 2);
  CHECK_OK(ref_upload(ctx, &rb, &b));
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x));
  CHECK_OK(ref_download(ctx, x, &rx));
  for (int i = 0; i < N; i++) CHECK(cabs(rx.x[i] * d[i] - 1) <= 16 * direct_rounding(dtype));
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

/// Rows so small beside the largest number that their quotient underflows: they are not rows of zeros.
static void rows_that_are_tiny_beside_others_are_not_zero(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    size_t mark = scratch_mark();
    check_steep(ctx, DTYPES[d], direct_rounding(DTYPES[d]) > 1e-10 ? 55 : 450);
    scratch_release(mark);
  }
}

/// Row 5 and column 5 are stored, and zero.
static void rows_of_stored_zeros_are_named(lac_context *ctx) {
  direct_case c = helmholtz(4, 2.3, LAC_F64);
  for (int64_t z = 0; z < c.s->nnz; z++) {
    if (c.s->row[z] == 5 || c.s->col[z] == 5) c.a.x[z] = 0;
  }
  direct_system system = open_ldlt(ctx, &c);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_SINGULAR, "row 5 has only zeros");
  direct_close(&system);
}

static void check_refused(lac_context *ctx, int64_t n, const double *full, const char *words) {
  lac_solver_options options = ldlt_options();
  direct_check_singular(ctx, n, full, &options, words);
}

static void singular_matrices_are_refused(lac_context *ctx) {
  check_refused(ctx, 2, (double[]){1, 2, 2, 4}, "pivot 0 in column");
  check_refused(ctx, 3, (double[]){2, -1, -1, -1, 2, -1, -1, -1, 2}, "pivot 0 in column");
  check_refused(ctx, 3, (double[]){1, 0, 2, 0, 0, 0, 2, 0, 3}, "row 1 is empty");
  check_refused(ctx, 3, (double[]){0, 0, 1, 0, 0, 2, 1, 2, 3}, "structurally singular");
}

static void what_pivots_inside_supernodes_do_not_suit_is_told_and_passed_on(lac_context *ctx) {
  direct_case c = direct_treacherous(40, 1e-9, 1, 1);
  direct_system system = open_ldlt(ctx, &c);
  lac_factor *factor = factor_of(ctx, &system, "pivoting_lu");
  CHECK(strstr(report_of_factor(factor).reason, "asked for; ldlt gave up: pivots inside supernodes do not suit"));
  CHECK(strstr(report_of_factor(factor).reason, "; lu gave up: pivots inside supernodes do not suit"));
  for (int s = 0; s < 4; s++) direct_check(ctx, &c, factor, FORMS[s], 2, 64);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void values_are_refactored_by_the_choices_made_before(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    size_t mark = scratch_mark();
    direct_case c = helmholtz(9, 2.3, DTYPES[d]), other = helmholtz(9, 2.4, DTYPES[d]);
    direct_system system = open_ldlt(ctx, &c);
    lac_factor *first = factor_of(ctx, &system, "ldlt"), *second = NULL;
    lac_array *values = NULL;
    CHECK_OK(ref_upload(ctx, &other.a, &values));
    CHECK_OK(lac_factor_refactor(ctx, first, values, &second));
    CHECK_TEXT(report_of_factor(second).reason, "as before: asked for");
    for (int s = 0; s < 4; s++) direct_check(ctx, &other, second, FORMS[s], 2, 1e3);
    lac_factor_destroy(&first);
    lac_factor_destroy(&second);
    lac_array_destroy(&values);
    direct_close(&system);
    scratch_release(mark);
  }
}

static void the_bits_do_not_depend_on_the_number_of_threads(lac_context *ctx) {
  direct_case c = helmholtz(40, 2.3, LAC_F64);
  int64_t n = c.s->rows, shape[] = {n, 1};
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 1), *x = NULL;
  double *bits[2];
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, shape, &x));
  for (int t = 0; t < 2; t++) {
    direct_system system = open_ldlt(ctx, &c);
    CHECK_OK(lac_context_set_threads(ctx, t + 1));
    lac_factor *factor = factor_of(ctx, &system, "ldlt");
    bits[t] = scratch((size_t)n * sizeof(double));
    CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x));
    CHECK_OK(lac_array_read(ctx, x, bits[t]));
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
  CHECK(memcmp(bits[0], bits[1], (size_t)n * sizeof(double)) == 0);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
}

static lac_status factor_and_refactor(lac_context *ctx, const lac_pattern *pattern, const lac_array *values) {
  lac_solver_options options = lac_solver_options_defaults();
  lac_solver *solver = NULL;
  lac_factor *factor = NULL, *again = NULL;
  options.method = "ldlt";
  lac_status status = lac_solver_create(ctx, pattern, &options, &solver);
  if (status == LAC_OK) status = lac_solver_factor(ctx, solver, values, &factor);
  if (status == LAC_OK) status = lac_factor_refactor(ctx, factor, values, &again);
  lac_factor_destroy(&factor);
  lac_factor_destroy(&again);
  lac_solver_destroy(&solver);
  return status;
}

static void check_failing_allocations(lac_context *ctx, const direct_case *c) {
  lac_array *values = NULL;
  int64_t n = 1;
  CHECK_OK(ref_upload(ctx, &c->a, &values));
  for (lac_status status = LAC_ERR_MEMORY; status != LAC_OK; n = check_next_failure(ctx, n)) {
    lac_pattern *pattern = NULL;
    long long before = check_live_blocks();
    CHECK_OK(sketch_pattern(ctx, c->s, LAC_WIDTH_AUTO, &pattern));
    lac_memory_fail_at(n);
    status = factor_and_refactor(ctx, pattern, values);
    int is_reached = lac_memory_fail_at(0) >= n;
    CHECK_EQ(status, is_reached ? LAC_ERR_MEMORY : LAC_OK);
    lac_pattern_destroy(&pattern);
    CHECK_EQ(check_live_blocks(), before);
  }
  CHECK(n > 40);
  lac_array_destroy(&values);
}

static void every_failing_allocation_is_said_and_leaks_nothing(lac_context *ctx) {
  direct_case cases[] = {helmholtz(5, 2.3, LAC_F64), constrained(12, 1)};
  for (int t = 0; t < 2; t++) check_failing_allocations(ctx, &cases[t]);
}

CHECK_MAIN_OF("direct", indefinite_grids_are_solved_in_all_dtypes_and_sides, the_solution_is_that_of_dense_elimination,
              pivots_of_two_rows_solve_what_one_cannot, saddle_points_are_solved,
              rows_are_paired_where_single_ones_have_no_pivot, both_of_a_pair_are_in_one_supernode,
              graded_matrices_are_solved, rows_that_are_tiny_beside_others_are_not_zero, rows_of_stored_zeros_are_named,
              singular_matrices_are_refused, what_pivots_inside_supernodes_do_not_suit_is_told_and_passed_on,
              values_are_refactored_by_the_choices_made_before, the_bits_do_not_depend_on_the_number_of_threads,
              every_failing_allocation_is_said_and_leaks_nothing)

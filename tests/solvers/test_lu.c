// SPDX-License-Identifier: Apache-2.0
/// LU inside supernodes: right against a dense solve, matched where it must be, enlarged pivots told, and what it
/// cannot take passed on or refused.

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/memory_impl.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

static lac_solver_options lu_options(void) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "lu";
  return options;
}

static direct_system open_lu(lac_context *ctx, const direct_case *c) {
  lac_solver_options options = lu_options();
  return direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
}

static lac_factor *factor_of(lac_context *ctx, const direct_system *system, const char *method) {
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system->solver, system->values, &factor));
  if (method) CHECK_TEXT(report_of_factor(factor).method, method);
  return factor;
}

// -- solves ----------------------------------------------------------------------------------------------------------

// A random right-hand side, by the factor and by dense elimination: as near as their conditions allow.
static void check_against_dense(lac_context *ctx, const direct_case *c, const lac_factor *factor, lac_form form) {
  int64_t n = c->s->rows, shape[] = {n, 2};
  lac_array *b = direct_random(ctx, c->a.meta.dtype, 2, shape, 5), *x = NULL;
  ref rb, rx;
  CHECK_OK(lac_array_create(ctx, c->a.meta.dtype, 2, shape, &x));
  CHECK_OK(lac_factor_solve(ctx, factor, b, form, x));
  CHECK_OK(ref_download(ctx, b, &rb));
  CHECK_OK(ref_download(ctx, x, &rx));
  dense a = dense_matrix(c->s, c->a.x);
  dense expected = dense_solve(dense_side(a, form), dense_over(n, 2, rb.x));
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < 2 * n; i++) {
    largest = fmax(largest, cabs(expected.x[i]));
    worst = fmax(worst, cabs(expected.x[i] - rx.x[i]));
  }
  CHECK(worst <= 1e5 * direct_rounding(c->a.meta.dtype) * largest);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
}

static void convection_is_solved_as_densely_in_all_dtypes_and_sides(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    for (int strong = 0; strong < 2; strong++) {
      size_t mark = scratch_mark();
      direct_case c = direct_convection(9, strong ? 20 : 1, DTYPES[d]);
      direct_system system = open_lu(ctx, &c);
      lac_factor *factor = factor_of(ctx, &system, "lu");
      CHECK_EQ(report_of_factor(factor).perturbed, 0);
      for (int s = 0; s < 4; s++) {
        check_against_dense(ctx, &c, factor, FORMS[s]);
        direct_check(ctx, &c, factor, FORMS[s], 11, 64);
      }
      lac_factor_destroy(&factor);
      direct_close(&system);
      scratch_release(mark);
    }
  }
}

static void every_kind_and_dtype_is_solved(lac_context *ctx) {
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    for (int d = 0; d < 4; d++) {
      size_t mark = scratch_mark();
      direct_case c = direct_make((direct_kind)kind, 60, DTYPES[d], 21 + (uint64_t)kind);
      direct_system system = open_lu(ctx, &c);
      lac_factor *factor = factor_of(ctx, &system, NULL);
      for (int s = 0; s < 4; s++) direct_check(ctx, &c, factor, FORMS[s], 3, 1e3);
      lac_factor_destroy(&factor);
      direct_close(&system);
      scratch_release(mark);
    }
  }
}

// Large random structures: most take their pivots inside supernodes.
static void random_systems_are_solved_and_few_of_them_fall_back(lac_context *ctx) {
  int inside = 0;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    size_t mark = scratch_mark();
    direct_case c = direct_make(seed % 2 ? DIRECT_ZERO_DIAGONAL : DIRECT_NONSYMMETRIC, 100, DTYPES[seed % 4], seed);
    direct_system system = open_lu(ctx, &c);
    lac_factor *factor = factor_of(ctx, &system, NULL);
    for (int s = 0; s < 2; s++) direct_check(ctx, &c, factor, FORMS[s], 2, 1e3);
    inside += strcmp(report_of_factor(factor).method, "lu") == 0;
    lac_factor_destroy(&factor);
    direct_close(&system);
    scratch_release(mark);
  }
  CHECK(inside >= 30);
}

// -- matching --------------------------------------------------------------------------------------------------------

static void rows_out_of_place_are_matched_with_their_columns(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    direct_case c = direct_turned(10, DTYPES[d]);  // 7 and 100 have no divisor in common
    direct_system system = open_lu(ctx, &c);
    lac_factor *factor = factor_of(ctx, &system, "lu");
    direct_case plain = direct_convection(10, 3, DTYPES[d]);
    direct_system other = open_lu(ctx, &plain);
    lac_factor *straight = factor_of(ctx, &other, "lu");
    CHECK_EQ(report_of_factor(factor).perturbed, 0);
    CHECK(report_of_factor(factor).factor_nnz < 1.5 * (double)report_of_factor(straight).factor_nnz);
    for (int s = 0; s < 4; s++) direct_check(ctx, &c, factor, FORMS[s], 3, 64);
    lac_factor_destroy(&factor);
    lac_factor_destroy(&straight);
    direct_close(&system);
    direct_close(&other);
  }
}

// Other values, batched ones too, go by the matching that is kept; values of another matching get their own.
static void matchings_are_kept_and_left_as_values_ask(lac_context *ctx) {
  direct_case c = direct_turned(10, LAC_F64), other = {c.s, ref_copy(&c.a)};
  direct_system system = open_lu(ctx, &c);
  lac_factor *first = factor_of(ctx, &system, "lu"), *again = NULL, *batch = NULL;
  lac_array *values = NULL, *many = NULL;
  int64_t nnz = c.s->nnz;
  ref a = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {5, nnz}});
  for (int64_t z = 0; z < nnz; z++) other.a.x[z] *= 1 + 0.1 * (double)(z % 5);
  for (int64_t z = 0; z < 5 * nnz; z++) a.x[z] = c.a.x[z % nnz] * (1 + 0.02 * (double)(z % 7));
  for (int64_t z = 0; z < nnz; z++) a.x[2 * nnz + z] = z % 3 ? 1 + z % 4 : 0.001;  // strong elsewhere
  CHECK_OK(ref_upload(ctx, &other.a, &values));
  CHECK_OK(ref_upload(ctx, &a, &many));
  CHECK_OK(lac_solver_factor(ctx, system.solver, values, &again));
  direct_check(ctx, &other, again, LAC_PLAIN, 2, 64);
  direct_check(ctx, &c, first, LAC_PLAIN, 2, 64);
  CHECK_EQ(report_of_factor(again).factor_nnz, report_of_factor(first).factor_nnz);
  CHECK_OK(lac_solver_factor(ctx, system.solver, many, &batch));
  lac_array *b = direct_random(ctx, LAC_F64, 3, (int64_t[]){5, 100, 2}, 3), *x = NULL;
  ref rb, rx;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 3, (int64_t[]){5, 100, 2}, &x));
  CHECK_OK(lac_factor_solve(ctx, batch, b, LAC_TRANSPOSED, x));
  CHECK_OK(ref_download(ctx, b, &rb));
  CHECK_OK(ref_download(ctx, x, &rx));
  for (int64_t i = 0; i < 5; i++) {
    CHECK(direct_error(c.s, a.x + i * nnz, LAC_TRANSPOSED, 2, rb.x + i * 200, rx.x + i * 200) <=
          1e3 * direct_rounding(LAC_F64));
  }
  lac_factor_destroy(&first);
  lac_factor_destroy(&again);
  lac_factor_destroy(&batch);
  lac_array_destroy(&values);
  lac_array_destroy(&many);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  direct_close(&system);
}

// -- matrices that are hard ------------------------------------------------------------------------------------------

// [K B; B^T 0]: zeros on the diagonal that no elimination order avoids.
static direct_case saddle(int64_t n, int64_t constraints, lac_dtype dtype) {
  int64_t size = n + constraints;
  sketch *s = scratch(sizeof *s);
  *s = (sketch){size, size, 0, scratch((size_t)(9 * size) * sizeof *s->row),
                scratch((size_t)(9 * size) * sizeof *s->col)};
  number *x = scratch((size_t)(9 * size) * sizeof *x);
  for (int64_t i = 0; i < size; i++) {
    for (int64_t j = 0; j < size; j++) {
      int64_t low = i < j ? i : j, high = i < j ? j : i;
      number value = 0;
      if (high < n && high == low) value = 2.5;
      if (high < n && high == low + 1) value = -1;
      if (low < n && high >= n && low % constraints == high - n) value = 1 + 0.125 * (double)(low % 3);
      if (value == 0) continue;
      s->row[s->nnz] = i, s->col[s->nnz] = j, x[s->nnz++] = value;
    }
  }
  direct_case c = {s, ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {s->nnz}})};
  memcpy(c.a.x, x, (size_t)s->nnz * sizeof *x);
  return c;
}

static void saddle_points_are_solved(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    size_t mark = scratch_mark();
    direct_case c = saddle(60, 13, DTYPES[d]);
    direct_system system = open_lu(ctx, &c);
    lac_factor *factor = factor_of(ctx, &system, NULL);
    for (int s = 0; s < 4; s++) direct_check(ctx, &c, factor, FORMS[s], 3, 64);
    lac_factor_destroy(&factor);
    direct_close(&system);
    scratch_release(mark);
  }
}

// Rows and columns times powers of ten: what is solved is the same.
static void graded_matrices_are_solved(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    size_t mark = scratch_mark();
    direct_case c = direct_turned(10, DTYPES[d]);
    int reach = direct_rounding(DTYPES[d]) > 1e-10 ? 8 : 100;
    for (int64_t z = 0; z < c.s->nnz; z++) {
      c.a.x[z] *= pow(10, (double)((c.s->row[z] * 37) % (2 * reach) - reach));
      c.a.x[z] *= pow(10, (double)((c.s->col[z] * 53) % (2 * reach) - reach));
      if (direct_rounding(DTYPES[d]) > 1e-10) c.a.x[z] = (float complex)c.a.x[z];
    }
    direct_system system = open_lu(ctx, &c);
    lac_factor *factor = factor_of(ctx, &system, "lu");
    CHECK_EQ(report_of_factor(factor).perturbed, 0);
    CHECK_TEXT(report_of_factor(factor).warning, "");
    for (int s = 0; s < 2; s++) direct_check(ctx, &c, factor, FORMS[s], 1, 1e3);
    lac_factor_destroy(&factor);
    direct_close(&system);
    scratch_release(mark);
  }
}

static void check_told(lac_context *ctx, const direct_case *c, const char *method, int is_enlarged,
                       const char *reason) {
  direct_system system = open_lu(ctx, c);
  lac_factor *factor = factor_of(ctx, &system, method);
  lac_report report = report_of_factor(factor);
  CHECK_EQ(report.perturbed > 0, is_enlarged);
  CHECK(strncmp(report.reason, reason, strlen(reason)) == 0);
  for (int s = 0; s < 4; s++) direct_check(ctx, c, factor, FORMS[s], 3, 64);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void enlarged_pivots_are_told_and_made_good_for(lac_context *ctx) {
  direct_case tiny = direct_treacherous(40, 1e-9, 0, 0), none = direct_treacherous(40, 1e-13, 0, 0);
  check_told(ctx, &tiny, "lu", 1, "asked for");
  check_told(ctx, &none, "lu", 1, "asked for");
}

static void what_refinement_cannot_make_good_for_is_passed_on(lac_context *ctx) {
  direct_case c = direct_treacherous(40, 1e-9, 1, 0);
  check_told(ctx, &c, "pivoting_lu", 0, "asked for; lu gave up: pivots inside supernodes do not suit: ");
}

static void check_refused(lac_context *ctx, int64_t n, const double *full, const char *words) {
  lac_solver_options options = lu_options();
  direct_check_singular(ctx, n, full, &options, words);
}

static void singular_matrices_are_refused_and_never_solved_by_enlarged_pivots(lac_context *ctx) {
  check_refused(ctx, 2, (double[]){1, 2, 2, 4}, "pivot 0 in column");
  check_refused(ctx, 3, (double[]){2, -1, -1, -1, 2, -1, -1, -1, 2}, "pivot 0 in column");
  check_refused(ctx, 4, (double[]){1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1}, "pivot 0 in column");
  check_refused(ctx, 3, (double[]){1, 1, 1, 1, 0, 0, 1, 0, 0}, "structurally singular: no pivot is left for column");
  check_refused(ctx, 3, (double[]){1, 0, 1, 1, 0, 2, 1, 0, 4}, "structurally singular: column 1 is empty");
  check_refused(ctx, 3, (double[]){1, 3, 1, 0, 0, 0, 1, 0, 4}, "structurally singular: row 1 is empty");
}

// The grid whose rows sum to zero, all but a trace: solvable, and doubtful when the trace is all rounding.
static void near_singular_matrices_are_solved_with_a_warning(lac_context *ctx) {
  for (int t = 0; t < 2; t++) {
    direct_case c = direct_convection(8, 0, LAC_F64);
    for (int64_t z = 0; z < c.s->nnz; z++) {
      int64_t i = c.s->row[z];
      if (i != c.s->col[z]) continue;
      c.a.x[z] = (i % 8 > 0) + (i % 8 < 7) + (i / 8 > 0) + (i / 8 < 7) + (i == 0 ? (t ? 4e-16 : 1e-11) : 0);
    }
    direct_system system = open_lu(ctx, &c);
    lac_factor *factor = NULL;
    lac_status status = lac_solver_factor(ctx, system.solver, system.values, &factor);
    CHECK(status == LAC_OK || (t && status == LAC_ERR_SINGULAR));
    if (t && factor) CHECK(strstr(report_of_factor(factor).warning, "singular to working precision"));
    if (!t) CHECK_TEXT(report_of_factor(factor).warning, "");
    for (int s = 0; s < 2 && !t; s++) direct_check(ctx, &c, factor, FORMS[s], 1, 1e3);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

// Wind a million times as strong as diffusion: no matching is made, and nothing falls back.
static void a_weak_diagonal_is_enough_for_what_is_nearly_skew(lac_context *ctx) {
  direct_case strong = direct_convection(20, 1, LAC_F64), weak = direct_convection(20, 1e5, LAC_F64);
  direct_system first = open_lu(ctx, &strong), second = open_lu(ctx, &weak);
  lac_factor *factor = factor_of(ctx, &first, "lu"), *other = factor_of(ctx, &second, "lu");
  CHECK_EQ(report_of_factor(other).perturbed, 0);
  CHECK_EQ(report_of_factor(other).factor_nnz, report_of_factor(factor).factor_nnz);
  for (int s = 0; s < 4; s++) direct_check(ctx, &weak, other, FORMS[s], 3, 64);
  lac_factor_destroy(&factor);
  lac_factor_destroy(&other);
  direct_close(&first);
  direct_close(&second);
}

// -- machine ---------------------------------------------------------------------------------------------------------

static void *solution_bits(lac_context *ctx, const direct_case *c, int threads, size_t *bytes) {
  direct_system system = open_lu(ctx, c);
  lac_factor *factor = NULL;
  int64_t n = c->s->rows, shape[] = {n, 2};
  lac_array *b = direct_random(ctx, c->a.meta.dtype, 2, shape, 1), *x = NULL;
  *bytes = (size_t)(2 * n) * lac_dtype_size(c->a.meta.dtype);
  void *result = scratch(*bytes);
  CHECK_OK(lac_array_create(ctx, c->a.meta.dtype, 2, shape, &x));
  CHECK_OK(lac_context_set_threads(ctx, threads));
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_TRANSPOSED, x));
  CHECK_OK(lac_array_read(ctx, x, result));
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);
  direct_close(&system);
  return result;
}

static void the_bits_do_not_depend_on_the_number_of_threads(lac_context *ctx) {
  for (int t = 0; t < 2; t++) {
    direct_case c = t ? direct_turned(11, LAC_C128) : direct_convection(40, 10, LAC_F64);
    size_t bytes;
    void *one = solution_bits(ctx, &c, 1, &bytes), *two = solution_bits(ctx, &c, 2, &bytes);
    CHECK(memcmp(one, two, bytes) == 0);
  }
}

typedef struct pair_worker {
  const lac_solver *solver;
  const direct_case *c;
  double factor;  // of the values
  int fails;
} pair_worker;

// Values of two scales in turn, so that each thread finds the matching of the other.
static void *factor_often(void *argument) {
  pair_worker *w = argument;
  lac_context *ctx = NULL;
  double values[2048];
  int64_t nnz = w->c->s->nnz;
  if (lac_context_create("cpu", 0, &ctx) != LAC_OK) return w->fails = 1, NULL;
  for (int round = 0; round < 20 && !w->fails; round++) {
    lac_array *a = NULL;
    lac_factor *factor = NULL;
    for (int64_t z = 0; z < nnz; z++) values[z] = creal(w->c->a.x[z]) * w->factor * (1 + 0.01 * round);
    w->fails = lac_array_from(ctx, LAC_F64, 1, (int64_t[]){nnz}, values, LAC_OWNERSHIP_COPY, &a) != LAC_OK ||
               lac_solver_factor(ctx, w->solver, a, &factor) != LAC_OK ||
               strcmp(report_of_factor(factor).method, "lu") != 0 || report_of_factor(factor).perturbed > 0;
    lac_factor_destroy(&factor);
    lac_array_destroy(&a);
  }
  lac_context_destroy(&ctx);
  return NULL;
}

static void two_threads_share_a_matching(lac_context *ctx) {
  direct_case c = direct_turned(13, LAC_F64);
  direct_system system = open_lu(ctx, &c);
  pair_worker workers[2] = {{system.solver, &c, 1, 0}, {system.solver, &c, 1e20, 0}};
  pthread_t threads[2];
  CHECK(c.s->nnz <= 2048);
  for (int t = 0; t < 2; t++) CHECK(pthread_create(&threads[t], NULL, factor_often, &workers[t]) == 0);
  for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
  CHECK(!workers[0].fails && !workers[1].fails);
  direct_close(&system);
}

static lac_status factor_and_refactor(lac_context *ctx, const lac_pattern *pattern, const lac_array *values) {
  lac_solver_options options = lu_options();
  lac_solver *solver = NULL;
  lac_factor *factor = NULL, *again = NULL;
  lac_status status = lac_solver_create(ctx, pattern, &options, &solver);
  if (status == LAC_OK) status = lac_solver_factor(ctx, solver, values, &factor);
  if (status == LAC_OK) status = lac_factor_refactor(ctx, factor, values, &again);
  lac_factor_destroy(&factor);
  lac_factor_destroy(&again);
  lac_solver_destroy(&solver);
  return status;
}

static void every_failing_allocation_is_said_and_leaks_nothing(lac_context *ctx) {
  const direct_case cases[] = {direct_convection(5, 1, LAC_F64), direct_turned(4, LAC_F64),
                               direct_treacherous(20, 1e-13, 1, 0)};
  for (int t = 0; t < 3; t++) {
    lac_array *values = NULL;
    int64_t n = 1;
    CHECK_OK(ref_upload(ctx, &cases[t].a, &values));
    for (lac_status status = LAC_ERR_MEMORY; status != LAC_OK; n = check_next_failure(ctx, n)) {
      lac_pattern *pattern = NULL;
      long long before = check_live_blocks();
      CHECK_OK(sketch_pattern(ctx, cases[t].s, LAC_WIDTH_AUTO, &pattern));
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
}

CHECK_MAIN_OF("direct", convection_is_solved_as_densely_in_all_dtypes_and_sides, every_kind_and_dtype_is_solved,
              random_systems_are_solved_and_few_of_them_fall_back, rows_out_of_place_are_matched_with_their_columns,
              matchings_are_kept_and_left_as_values_ask, saddle_points_are_solved, graded_matrices_are_solved,
              enlarged_pivots_are_told_and_made_good_for, what_refinement_cannot_make_good_for_is_passed_on,
              singular_matrices_are_refused_and_never_solved_by_enlarged_pivots,
              near_singular_matrices_are_solved_with_a_warning, a_weak_diagonal_is_enough_for_what_is_nearly_skew,
              the_bits_do_not_depend_on_the_number_of_threads, two_threads_share_a_matching,
              every_failing_allocation_is_said_and_leaks_nothing)

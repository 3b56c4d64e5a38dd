// SPDX-License-Identifier: Apache-2.0
/// cuDSS: all kinds and dtypes are solved and differentiated where the arrays lie, new values use the old analysis, and
/// what it cannot certify is left to the host. On CUDA by the library itself, where it is found; on the shadow of CUDA
/// by a stand-in (cudss_stand_in.c), which counts.

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "solvers/cudss_case.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"
#include "support/square.h"

static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

// -- solutions -------------------------------------------------------------------------------------------------------

static void check_all_sides(lac_context *ctx, const direct_case *c, const char *way) {
  static const int64_t COLUMNS[] = {0, 1, 3};
  lac_solver_options options = cudss_options();
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  lac_report report = report_of_factor(factor);
  CHECK_TEXT(report.method, "cudss");
  CHECK(strstr(report.reason, way));
  CHECK(report.factor_nnz >= c->s->rows && report.factor_bytes > 0);
  for (int s = 0; s < 4; s++) {
    for (int k = 0; k < 3; k++) direct_check(ctx, c, factor, FORMS[s], COLUMNS[k], 1e3);
  }
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void every_kind_dtype_and_side_is_solved_to_rounding(lac_context *ctx) {
  static const char *const WAYS[DIRECT_KINDS] = {
      [DIRECT_NONSYMMETRIC] = "L D U", [DIRECT_POSITIVE] = "Cholesky", [DIRECT_INDEFINITE] = "L D",
      [DIRECT_POISSON] = "Cholesky",   [DIRECT_ARROW] = "Cholesky",    [DIRECT_ZERO_DIAGONAL] = "matched L D U"};
  if (!is_here(ctx)) return;
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    for (int d = LAC_F32; d <= LAC_C128; d++) {
      size_t mark = scratch_mark();
      direct_case c = direct_make((direct_kind)kind, 41, (lac_dtype)d, (uint64_t)kind + 1);
      check_all_sides(ctx, &c, WAYS[kind] ? WAYS[kind] : "cuDSS");
      scratch_release(mark);
    }
  }
}

static void the_smallest_systems_are_solved(lac_context *ctx) {
  if (!is_here(ctx)) return;
  for (int64_t n = 0; n <= 2; n++) {
    int64_t row[] = {0, 1}, shape_a[] = {n}, shape[] = {n, 2};
    double a[] = {4, 8}, b[] = {8, 4, 8, 16}, x[4];
    lac_solver_options options = cudss_options();
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

static void check_scaled(lac_context *ctx, const direct_case *c, int power) {
  lac_solver_options options = cudss_options();
  for (int sign = -1; sign <= 1; sign += 2) {
    direct_case scaled = {c->s, ref_copy(&c->a)};
    for (int64_t z = 0; z < c->a.count; z++) scaled.a.x[z] *= ldexp(1, sign * power);
    direct_system system = direct_open(ctx, &scaled, LAC_WIDTH_AUTO, &options);
    lac_factor *factor = NULL;
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    direct_check(ctx, &scaled, factor, LAC_PLAIN, 2, 1e3);
    direct_check(ctx, &scaled, factor, LAC_ADJOINT, 1, 1e3);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

static void the_scale_of_a_matrix_does_not_matter(lac_context *ctx) {
  if (!is_here(ctx)) return;
  direct_case c = direct_make(DIRECT_POSITIVE, 30, LAC_C64, 5);
  check_scaled(ctx, &c, 60);
  c = direct_make(DIRECT_NONSYMMETRIC, 30, LAC_F64, 6);
  check_scaled(ctx, &c, 498);
}

// -- batches ---------------------------------------------------------------------------------------------------------

enum { ITEMS = 3 };

/// Values of shape [ITEMS, 1, nnz] and b of shape [2, n, k]: each matrix with each b.
static void check_batch(lac_context *ctx, direct_kind kind, lac_dtype dtype, int64_t k) {
  direct_case c = direct_make(kind, 30, dtype, 3);
  int64_t nnz = c.s->nnz, n = c.s->rows, given[] = {2, n, k}, shape[] = {ITEMS, 2, n, k};
  lac_solver_options options = cudss_options();
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_array *values = NULL, *b = direct_random(ctx, dtype, 3, given, 9), *x = NULL;
  lac_factor *factor = NULL;
  ref a = ref_new(&(lac_meta){.dtype = dtype, .ndim = 3, .shape = {ITEMS, 1, nnz}}), rb, rx;
  for (int64_t z = 0; z < ITEMS * nnz; z++) a.x[z] = c.a.x[z % nnz] * (1 + (double)(z / nnz));
  CHECK_OK(ref_upload(ctx, &a, &values));
  CHECK_OK(lac_array_create(ctx, dtype, 4, shape, &x));
  CHECK_OK(lac_solver_factor(ctx, system.solver, values, &factor));
  CHECK(!STAND_IN_ALONE || strstr(report_of_factor(factor).reason, "bits may differ"));
  for (int s = 0; s < 4; s++) {
    CHECK_OK(lac_factor_solve(ctx, factor, b, FORMS[s], x));
    CHECK_OK(ref_download(ctx, b, &rb));
    CHECK_OK(ref_download(ctx, x, &rx));
    for (int64_t i = 0; i < 2 * ITEMS; i++) {
      double error = direct_error(c.s, a.x + i / 2 * nnz, FORMS[s], k, rb.x + i % 2 * n * k, rx.x + i * n * k);
      CHECK(error <= 1e3 * direct_rounding(dtype));
    }
  }
  lac_factor_destroy(&factor);
  lac_array_destroy(&values);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  direct_close(&system);
}

static void batches_are_solved_each_with_its_own_matrix(lac_context *ctx) {
  if (!is_here(ctx)) return;
  check_batch(ctx, DIRECT_POSITIVE, LAC_C128, 1);
  check_batch(ctx, DIRECT_NONSYMMETRIC, LAC_F32, 2);
  check_batch(ctx, DIRECT_INDEFINITE, LAC_F64, 3);
}

// -- new values ------------------------------------------------------------------------------------------------------

/// Values times `by`, factored and solved.
static void factor_again(lac_context *ctx, const direct_case *c, const lac_solver *solver, const lac_factor *like,
                         double by, lac_factor **out) {
  direct_case scaled = {c->s, ref_copy(&c->a)};
  lac_array *values = NULL;
  for (int64_t z = 0; z < c->a.count; z++) scaled.a.x[z] *= by;
  CHECK_OK(ref_upload(ctx, &scaled.a, &values));
  if (like) {
    CHECK_OK(lac_factor_refactor(ctx, like, values, out));
  } else {
    CHECK_OK(lac_solver_factor(ctx, solver, values, out));
  }
  direct_check(ctx, &scaled, *out, LAC_PLAIN, 1, 1e3);
  direct_check(ctx, &scaled, *out, LAC_TRANSPOSED, 2, 1e3);
  lac_array_destroy(&values);
}

static void check_again(lac_context *ctx, direct_kind kind, int64_t keep_bytes) {
  direct_case c = direct_make(kind, 40, LAC_F64, 4);
  lac_solver_options options = cudss_options();
  options.keep_bytes = keep_bytes;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *first = NULL, *second = NULL;
  factor_again(ctx, &c, system.solver, NULL, 1, &first);
  factor_again(ctx, &c, system.solver, first, 2, &second);
  int analyses = counted("stand_in_analyses"), factors = counted("stand_in_factors");
  for (int round = 3; round < 6; round++) {
    lac_factor_destroy(&first);
    first = second, second = NULL;
    factor_again(ctx, &c, system.solver, round % 2 ? first : NULL, round, &second);
    CHECK(report_of_factor(second).analyse_seconds <= report_of_solver(system.solver).analyse_seconds);
  }
  CHECK_EQ(counted("stand_in_analyses"), analyses);
  CHECK(!check_is_shadow() || counted("stand_in_factors") > factors);
  lac_factor_destroy(&first);
  lac_factor_destroy(&second);
  direct_close(&system);
}

static void new_values_use_the_analysis_of_factors_that_have_ended(lac_context *ctx) {
  if (!is_here(ctx)) return;
  check_again(ctx, DIRECT_POSITIVE, -1);
  check_again(ctx, DIRECT_NONSYMMETRIC, -1);
  check_again(ctx, DIRECT_ZERO_DIAGONAL, -1);
}

// -- derivatives -----------------------------------------------------------------------------------------------------

static void check_derivatives(lac_context *ctx, const sketch *s, lac_form form, look looks, const char *a,
                              const char *b, const char *x) {
  lac_solver_options options = cudss_options();
  op_case c = {.op = "solve_with",
               .patterns = {s},
               .shapes = {a, b},
               .result = {x},
               .i = {form, FACTOR, looks},
               .data = &options,
               .object = square_object,
               .apply = square_solve_apply,
               .dense = square_solve_dense,
               .fill = square_fill,
               .degree = {-1, 1},
               .fixed = {1, 2},
               .slack = 64,
               .skip = OP_THREADS};  // which compare with the host
  // Sessions of batches wait for others, and go where memory is short: then there is enough.
  if (strcmp(a, "nnz") != 0) c.skip |= OP_MEMORY;
  check_op(ctx, &c);
}

static void solves_differentiate_on_every_side(lac_context *ctx) {
  if (!is_here(ctx)) return;
  const sketch *s = sketch_square(6, 0.4, 1);
  for (int i = 0; i < 4; i++) check_derivatives(ctx, s, FORMS[i], GENERAL, "nnz", "6,2", "6,2");
}

static void solves_differentiate_what_is_definite_or_needs_pivots(lac_context *ctx) {
  if (!is_here(ctx)) return;
  check_derivatives(ctx, sketch_symmetric(6, 0.4, 3), LAC_TRANSPOSED, DEFINITE, "nnz", "6,1", "6,1");
  check_derivatives(ctx, sketch_symmetric(5, 1, 2), LAC_ADJOINT, SHUFFLED, "nnz", "5,2", "5,2");
}

static void solves_differentiate_batches(lac_context *ctx) {
  if (!is_here(ctx)) return;
  const sketch *s = sketch_square(4, 0.4, 5);
  check_derivatives(ctx, s, LAC_PLAIN, GENERAL, "nnz", "3,4,2", "3,4,2");
  check_derivatives(ctx, s, LAC_ADJOINT, GENERAL, "3,nnz", "4,2", "3,4,2");
  check_derivatives(ctx, s, LAC_TRANSPOSED, GENERAL, "2,1,nnz", "2,4,1", "2,2,4,1");
}

// -- what it cannot do -----------------------------------------------------------------------------------------------

static void check_refusal(lac_context *ctx, int64_t n, const double *full, lac_status status, const char *words) {
  int64_t row[16], col[16], shape[] = {n * n};
  lac_solver_options options = cudss_options();
  direct_system system = {0};
  lac_factor *factor = NULL;
  for (int64_t p = 0; p < n * n; p++) row[p] = p / n, col[p] = p % n;
  CHECK_OK(lac_pattern_from_coo(ctx, n, n, n * n, LAC_I64, row, col, LAC_WIDTH_AUTO, &system.pattern, NULL));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, shape, (void *)full, LAC_OWNERSHIP_COPY, &system.values));
  CHECK_OK(lac_solver_create(ctx, system.pattern, &options, &system.solver));
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), status, words);
  CHECK(!factor);
  direct_close(&system);
}

static void singular_matrices_are_refused(lac_context *ctx) {
  if (!is_here(ctx)) return;
  check_refusal(ctx, 2, (double[]){2, -1, NAN, 2}, LAC_ERR_NONFINITE, "(1, 0)");
  check_refusal(ctx, 2, (double[]){1, 2, 2, 4}, LAC_ERR_SINGULAR, "singular");
  check_refusal(ctx, 2, (double[]){0, 0, 0, 0}, LAC_ERR_SINGULAR, "singular");
  check_refusal(ctx, 3, (double[]){2, 0, 1, 3, 0, 4, 5, 0, 7}, LAC_ERR_SINGULAR, "singular");
}

/// A Laplacian without boundary: its null space is the constants, and no b may be solved for.
static void a_null_space_that_pivots_hardly_show_is_found(lac_context *ctx) {
  enum { N = 60 };
  if (!is_here(ctx)) return;
  double *full = scratch(sizeof(double) * N * N);
  memset(full, 0, sizeof(double) * N * N);
  for (int i = 0; i < N; i++) {
    int next = (i + 1) % N, far = (i + 7) % N;
    full[i * N + next] -= 1 + 0.1 * i, full[next * N + i] -= 1 + 0.1 * i;
    full[i * N + far] -= 0.3, full[far * N + i] -= 0.3;
  }
  for (int i = 0; i < N; i++) {
    double sum = 0;
    for (int j = 0; j < N; j++) sum += j == i ? 0 : full[i * N + j];
    full[i * N + i] = -sum;
  }
  direct_case c = direct_small(N, full, LAC_F64);
  lac_solver_options options = cudss_options();
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){N, 1}, 3), *x = NULL;
  lac_factor *factor = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){N, 1}, &x));
  lac_status status = lac_solver_factor(ctx, system.solver, system.values, &factor);
  if (status == LAC_OK) status = lac_factor_solve(ctx, factor, b, LAC_PLAIN, x);
  CHECK_EQ(status, LAC_ERR_SINGULAR);
  lac_context_clear_error(ctx);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void an_indefinite_matrix_with_a_positive_diagonal_is_not_taken_as_definite(lac_context *ctx) {
  if (!is_here(ctx)) return;
  direct_case c = direct_small(3, (double[]){1, 3, 0, 3, 1, 2, 0, 2, 4}, LAC_F64);
  check_all_sides(ctx, &c, "Cholesky by cuDSS");
  check_all_sides(ctx, &c, "which failed, then L D L^H");
}

static void determinants_and_inverses_are_those_of_the_host(lac_context *ctx) {
  if (!is_here(ctx)) return;
  direct_case c = direct_small(3, (double[]){4, 1, 0, 2, 5, 1, 0, 1, 3}, LAC_F64);
  lac_solver_options options = cudss_options();
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  double logabs = 0, sign[2];
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(lac_factor_slogdet(ctx, factor, &logabs, sign));
  CHECK_NEAR(logabs, log(50), 1e-14);
  CHECK_NEAR(sign[0], 1, 0);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void a_factor_that_would_not_fit_is_refused(lac_context *ctx) {
  if (!is_here(ctx)) return;
  direct_case c = direct_make(DIRECT_POISSON, 40, LAC_F64, 1);
  lac_solver_options options = cudss_options();
  options.max_bytes = 64;
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_MEMORY, "max_bytes is 64");
  direct_close(&system);
}

static void arrays_of_the_host_are_refused(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 9, LAC_F64, 1);
  lac_solver_options options = cudss_options();
  lac_context *host = NULL;
  lac_factor *factor = NULL;
  if (lac_context_is_host(ctx) || check_is_shadow()) setenv("LACUNA_CUDSS", STAND_IN, 1);
  if (lac_engine_find(ctx, "cudss") != LAC_OK) {
    check_skip(lac_context_error(ctx));
    lac_context_clear_error(ctx);
    return;
  }
  CHECK(*lac_engine_version("cudss") && !*lac_engine_version("umfpack"));
  CHECK_OK(lac_context_create("cpu", 0, &host));
  direct_system system = direct_open(host, &c, LAC_WIDTH_AUTO, &options);
  lac_status status = lac_solver_factor(host, system.solver, system.values, &factor);
  CHECK(status == LAC_ERR_UNSUPPORTED && strstr(lac_context_error(host), "works on CUDA arrays"));
  direct_close(&system);
  lac_context_destroy(&host);
}

// -- threads ---------------------------------------------------------------------------------------------------------

typedef struct sharer {
  const lac_factor *factor;
  const lac_context *like;
  double x[2 * 41];
  int fails;
} sharer;

static lac_status share(lac_context *ctx, sharer *s) {
  int64_t shape[] = {lac_factor_rows(s->factor), 2};
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 4), *x = NULL;
  lac_status status = lac_array_create(ctx, LAC_F64, 2, shape, &x);
  for (int round = 0; round < 12 && status == LAC_OK; round++) {
    status = lac_factor_solve(ctx, s->factor, b, round % 2 ? LAC_PLAIN : LAC_TRANSPOSED, x);
  }
  if (status == LAC_OK) status = lac_array_read(ctx, x, s->x);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return status;
}

static void *share_in_a_thread(void *argument) {
  sharer *s = argument;
  lac_context *ctx = NULL;
  s->fails = lac_context_create(check_backend(), 0, &ctx) != LAC_OK || share(ctx, s) != LAC_OK;
  lac_context_destroy(&ctx);
  return NULL;
}

static void threads_share_a_factor_and_get_the_same_bits(lac_context *ctx) {
  if (!is_here(ctx)) return;
  if (check_is_shadow()) {
    check_skip("threads have contexts of their own, and that of the shadow is one");
    return;
  }
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 41, LAC_F64, 2);
  lac_solver_options options = cudss_options();
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  pthread_t threads[2];
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK(lac_factor_rows(factor) <= 41);
  sharer sharers[3] = {{.factor = factor}, {.factor = factor}, {.factor = factor}};
  for (int t = 0; t < 2; t++) CHECK(pthread_create(&threads[t], NULL, share_in_a_thread, &sharers[t]) == 0);
  for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
  CHECK_OK(share(ctx, &sharers[2]));
  for (int t = 0; t < 2; t++) CHECK(!sharers[t].fails && memcmp(sharers[t].x, sharers[2].x, sizeof sharers[2].x) == 0);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

// -- transfers -------------------------------------------------------------------------------------------------------

static void no_values_go_to_the_host(lac_context *ctx) {
  if (!is_here(ctx)) return;
  if (check_is_shadow()) {
    check_skip("nothing is copied on the shadow");
    return;
  }
  direct_case c = direct_make(DIRECT_POISSON, 2500, LAC_F64, 2);
  lac_solver_options options = cudss_options();
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  int64_t n = c.s->rows;
  lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){n, 1}, 3), *x = NULL;
  lac_factor *factor = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){n, 1}, &x));
  int64_t before = memory_now("cuda").values_to_host_bytes;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x));
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_TRANSPOSED, x));
  CHECK(memory_now("cuda").values_to_host_bytes - before < 256);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

// -- the automatic choice --------------------------------------------------------------------------------------------

/// The stand-in is dense, and few rows travel.
static void the_automatic_choice_takes_it_where_a_direct_factor_is_wanted(lac_context *ctx) {
  if (!is_here(ctx)) return;
  if (check_is_shadow()) {
    check_skip("the shadow is no CUDA device");
    return;
  }
  direct_case c = direct_turned(110, LAC_F64);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_TEXT(report_of_factor(factor).method, "cudss");
  CHECK(strstr(report_of_factor(factor).reason, "cuDSS"));
  direct_check(ctx, &c, factor, LAC_PLAIN, 1, 1e3);
  direct_check(ctx, &c, factor, LAC_ADJOINT, 1, 1e3);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

CHECK_MAIN(every_kind_dtype_and_side_is_solved_to_rounding, the_smallest_systems_are_solved,
           the_scale_of_a_matrix_does_not_matter, batches_are_solved_each_with_its_own_matrix,
           new_values_use_the_analysis_of_factors_that_have_ended, solves_differentiate_on_every_side,
           solves_differentiate_what_is_definite_or_needs_pivots, solves_differentiate_batches,
           singular_matrices_are_refused, a_null_space_that_pivots_hardly_show_is_found,
           an_indefinite_matrix_with_a_positive_diagonal_is_not_taken_as_definite,
           determinants_and_inverses_are_those_of_the_host, a_factor_that_would_not_fit_is_refused,
           arrays_of_the_host_are_refused, threads_share_a_factor_and_get_the_same_bits, no_values_go_to_the_host,
           the_automatic_choice_takes_it_where_a_direct_factor_is_wanted)

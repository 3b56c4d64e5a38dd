// SPDX-License-Identifier: Apache-2.0
/// Determinants that factors give: sign and phase under all permutations, no overflow, batches, refusals.

#include <math.h>
#include <string.h>

#include "solvers/solver_impl.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};

static int is_complex(lac_dtype dtype) { return dtype == LAC_C64 || dtype == LAC_C128; }

static lac_dtype real_of(lac_dtype dtype) { return direct_rounding(dtype) > 1e-10 ? LAC_F32 : LAC_F64; }

// log|det| and the phase of one dense matrix, by elimination with complete row exchanges; ruins the matrix.
static number dense_logdet(dense a, double *logabs) {
  number phase = 1;
  *logabs = 0;
  for (int64_t k = 0; k < a.rows; k++) {
    int64_t best = k;
    for (int64_t i = k; i < a.rows; i++) {
      if (cabs(a.x[i * a.cols + k]) > cabs(a.x[best * a.cols + k])) best = i;
    }
    for (int64_t j = 0; best != k && j < a.cols; j++) {
      number other = a.x[k * a.cols + j];
      a.x[k * a.cols + j] = a.x[best * a.cols + j];
      a.x[best * a.cols + j] = other;
    }
    number pivot = a.x[k * a.cols + k];
    phase *= (best == k ? 1 : -1) * pivot / cabs(pivot);
    *logabs += log(cabs(pivot));
    for (int64_t i = k + 1; i < a.rows; i++) {
      number ratio = a.x[i * a.cols + k] / pivot;
      for (int64_t j = k; j < a.cols; j++) a.x[i * a.cols + j] -= ratio * a.x[k * a.cols + j];
    }
  }
  return phase;
}

// What a factor of some values says, [items] each.
typedef struct answer {
  ref logabs, sign;
} answer;

static lac_status ask(lac_context *ctx, const lac_solver *solver, const lac_array *values, answer *out) {
  lac_meta meta = *lac_array_meta(values);
  lac_factor *factor = NULL;
  lac_array *logabs = NULL, *sign = NULL;
  lac_status status = lac_solver_factor(ctx, solver, values, &factor);
  if (status == LAC_OK) {
    status = lac_array_create(ctx, real_of(meta.dtype), meta.ndim - 1, meta.shape, &logabs);
    if (status == LAC_OK) status = lac_array_create(ctx, meta.dtype, meta.ndim - 1, meta.shape, &sign);
    if (status == LAC_OK) status = lac_factor_logdet(ctx, factor, logabs, sign);
    if (status == LAC_OK) status = ref_download(ctx, logabs, &out->logabs);
    if (status == LAC_OK) status = ref_download(ctx, sign, &out->sign);
  }
  lac_array_destroy(&logabs);
  lac_array_destroy(&sign);
  lac_factor_destroy(&factor);
  return status;
}

static answer ask_case(lac_context *ctx, const direct_case *c, const char *method) {
  lac_solver_options options = lac_solver_options_defaults();
  answer got = {0};
  options.method = method;
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  CHECK_OK(ask(ctx, system.solver, system.values, &got));
  direct_close(&system);
  return got;
}

// Against elimination, to roundings that the size of the matrix allows.
static void check_case(lac_context *ctx, const direct_case *c, const char *method) {
  double wanted, rounding = direct_rounding(c->a.meta.dtype);
  number phase = dense_logdet(dense_matrix(c->s, c->a.x), &wanted);
  answer got = ask_case(ctx, c, method);
  CHECK(fabs(creal(got.logabs.x[0]) - wanted) <= 1e3 * rounding * (1 + fabs(wanted)));
  CHECK(cabs(got.sign.x[0] - phase) <= 1e4 * rounding);
  if (!is_complex(c->a.meta.dtype)) CHECK(got.sign.x[0] == (creal(phase) > 0 ? 1 : -1));
}

// -- signs -----------------------------------------------------------------------------------------------------------

// Every permutation of five columns, with every sign of its first two numbers: the determinant is known.
static void the_sign_is_right_for_every_signed_permutation(lac_context *ctx) {
  enum { N = 5 };
  static const char *const METHODS[] = {"auto", "lu", "pivoting_lu"};
  for (int code = 0; code < 120 * 4; code++) {
    size_t mark = scratch_mark();
    int left[N] = {0, 1, 2, 3, 4}, rest = code / 4;
    int64_t row[N], col[N];
    double sign = 1;
    sketch s = {N, N, N, row, col};
    direct_case c = {.s = &s, .a = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {N}})};
    for (int i = 0; i < N; i++) {
      int at = rest % (N - i);  // so many smaller ones are still to come: as many inversions
      rest /= N - i;
      sign *= at % 2 ? -1 : 1;
      row[i] = i, col[i] = left[at];
      memmove(left + at, left + at + 1, sizeof *left * (size_t)(N - i - 1 - at));
      c.a.x[i] = (i < 2 && (code >> i & 1) ? -1 : 1) * ldexp(1, i);
      sign *= creal(c.a.x[i]) < 0 ? -1 : 1;
    }
    answer got = ask_case(ctx, &c, METHODS[code % 3]);
    CHECK(got.sign.x[0] == sign);
    CHECK_NEAR(creal(got.logabs.x[0]), 10 * log(2), 1e-14);
    scratch_release(mark);
  }
}

static const sketch *sketch_full(int64_t n) {
  sketch *s = scratch(sizeof *s);
  *s = (sketch){n, n, n * n, scratch((size_t)(n * n) * sizeof *s->row), scratch((size_t)(n * n) * sizeof *s->col)};
  for (int64_t z = 0; z < n * n; z++) s->row[z] = z / n, s->col[z] = z % n;
  return s;
}

static void small_full_matrices_have_the_sign_of_elimination(lac_context *ctx) {
  for (uint64_t seed = 1; seed <= 200; seed++) {
    size_t mark = scratch_mark();
    int64_t n = 1 + (int64_t)(seed % 6);
    direct_case c = {.s = sketch_full(n)};
    c.a = ref_new(&(lac_meta){.dtype = DTYPES[seed % 4], .ndim = 1, .shape = {n * n}});
    ref_random(&c.a, seed, is_complex(DTYPES[seed % 4]));
    for (int64_t z = 0; z < n * n; z++) c.a.x[z] = (float complex)c.a.x[z];
    check_case(ctx, &c, seed % 2 ? "lu" : "pivoting_lu");
    scratch_release(mark);
  }
}

static void every_kind_and_dtype_agrees_with_elimination(lac_context *ctx) {
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    for (int d = 0; d < 4; d++) {
      size_t mark = scratch_mark();
      direct_case c = direct_make(kind, 37, DTYPES[d], (uint64_t)kind + 11);
      check_case(ctx, &c, "auto");
      check_case(ctx, &c, "lu");
      check_case(ctx, &c, "pivoting_lu");
      if (kind == DIRECT_POSITIVE || kind == DIRECT_ARROW) check_case(ctx, &c, "cholesky");
      if (kind == DIRECT_POSITIVE || kind == DIRECT_INDEFINITE) check_case(ctx, &c, "ldlt");
      scratch_release(mark);
    }
  }
}

// -- range -----------------------------------------------------------------------------------------------------------

// (s A) for a power of two s: the logarithm moves by n log s, the sign stays.
static void determinants_beyond_the_range_of_the_dtype_have_logarithms(lac_context *ctx) {
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    for (int d = 0; d < 4; d++) {
      for (int up = -1; up <= 1; up += 2) {
        if (kind == DIRECT_ILL_SCALED) continue;
        size_t mark = scratch_mark();
        int power = up * (direct_rounding(DTYPES[d]) > 1e-10 ? 59 : 498);
        direct_case c = direct_make(kind, 30, DTYPES[d], 8), scaled = c;
        scaled.a = ref_copy(&c.a);
        for (int64_t z = 0; z < c.a.count; z++) scaled.a.x[z] *= ldexp(1, power);
        answer plain = ask_case(ctx, &c, "auto"), got = ask_case(ctx, &scaled, "auto");
        double wanted = creal(plain.logabs.x[0]) + (double)c.s->rows * power * log(2);
        CHECK_NEAR(creal(got.logabs.x[0]), wanted, 8 * direct_rounding(DTYPES[d]));
        CHECK(cabs(got.sign.x[0] - plain.sign.x[0]) <= 8 * direct_rounding(DTYPES[d]));
        scratch_release(mark);
      }
    }
  }
}

static void an_empty_matrix_has_determinant_one(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    direct_case c = {.s = sketch_random(0, 0, 1, 1), .a = ref_new(&(lac_meta){.dtype = DTYPES[d], .ndim = 1})};
    answer got = ask_case(ctx, &c, d % 2 ? "auto" : "lu");
    CHECK(got.logabs.x[0] == 0 && got.sign.x[0] == 1);
  }
}

// -- batches ---------------------------------------------------------------------------------------------------------

static void every_matrix_of_a_batch_has_its_own(lac_context *ctx) {
  for (int t = 1; t <= 2; t++) {
    direct_case c = direct_make(DIRECT_ZERO_DIAGONAL, 20, LAC_C128, 3);
    int64_t nnz = c.s->nnz;
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
    lac_array *values = direct_random(ctx, LAC_C128, 3, (int64_t[]){3, 2, nnz}, 4);
    ref a;
    answer got;
    CHECK_OK(lac_context_set_threads(ctx, t));
    CHECK_OK(ask(ctx, system.solver, values, &got));
    CHECK_OK(ref_download(ctx, values, &a));
    CHECK_EQ(got.sign.meta.ndim, 2);
    for (int64_t i = 0; i < 6; i++) {
      double wanted;
      number phase = dense_logdet(dense_matrix(c.s, a.x + i * nnz), &wanted);
      CHECK(fabs(creal(got.logabs.x[i]) - wanted) <= 1e-12 * (1 + fabs(wanted)));
      CHECK(cabs(got.sign.x[i] - phase) <= 1e-12);
    }
    lac_array_destroy(&values);
    values = direct_random(ctx, LAC_C128, 2, (int64_t[]){0, nnz}, 4);
    CHECK_OK(ask(ctx, system.solver, values, &got));
    lac_array_destroy(&values);
    direct_close(&system);
  }
}

static void a_factor_with_enlarged_pivots_is_served_by_a_partner(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 30, LAC_F64, 3);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = NULL;
  lac_array *logabs = NULL, *sign = NULL;
  double wanted;
  number phase = dense_logdet(dense_matrix(c.s, c.a.x), &wanted);
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &logabs));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &sign));
  direct_part(factor)->finding.perturbed = 1;
  CHECK_OK(lac_factor_logdet(ctx, factor, logabs, sign));
  lac_factor *partner = direct_inner(factor)->partner;
  CHECK(partner && direct_part(partner)->table == &lac_direct_pivoting_lu);
  CHECK_NEAR(*(const double *)lac_array_data(logabs), wanted, 1e-12);
  CHECK(*(const double *)lac_array_data(sign) == creal(phase));
  lac_array_destroy(&logabs);
  lac_array_destroy(&sign);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

// -- refusals --------------------------------------------------------------------------------------------------------

static void arrays_that_do_not_fit_are_refused(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 6, LAC_C64, 3);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = NULL;
  lac_array *real = NULL, *phase = NULL, *wide = NULL, *row = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(lac_array_create(ctx, LAC_F32, 0, NULL, &real));
  CHECK_OK(lac_array_create(ctx, LAC_C64, 0, NULL, &phase));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &wide));
  CHECK_OK(lac_array_create(ctx, LAC_C64, 1, (int64_t[]){2}, &row));
  CHECK_OK(lac_factor_logdet(ctx, factor, real, phase));
  CHECK_FAILS(lac_factor_logdet(ctx, NULL, real, phase), LAC_ERR_ARG, "the factor is NULL");
  CHECK_FAILS(lac_factor_logdet(ctx, factor, NULL, phase), LAC_ERR_ARG, "logabs is NULL");
  CHECK_FAILS(lac_factor_logdet(ctx, factor, wide, phase), LAC_ERR_DTYPE, "logabs must be f32; it is f64");
  CHECK_FAILS(lac_factor_logdet(ctx, factor, real, wide), LAC_ERR_DTYPE, "sign must be c64; it is f64");
  CHECK_FAILS(lac_factor_logdet(ctx, factor, real, row), LAC_ERR_SHAPE, "sign must have the batch shape");
  lac_array_destroy(&real);
  lac_array_destroy(&phase);
  lac_array_destroy(&wide);
  lac_array_destroy(&row);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void every_failing_allocation_is_said_and_leaks_nothing(lac_context *ctx) {
  for (int kind = 0; kind < 2; kind++) {
    direct_case c = direct_make(kind ? DIRECT_POSITIVE : DIRECT_ZERO_DIAGONAL, 20, LAC_F64, 3);
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
    lac_factor *factor = NULL;
    lac_array *logabs = NULL, *sign = NULL;
    CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
    CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &logabs));
    CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &sign));
    long long before = check_live_blocks();
    lac_status status = LAC_ERR_MEMORY;
    for (int64_t n = 1; status != LAC_OK; n = check_next_failure(ctx, n)) {
      lac_memory_fail_at(n);
      status = lac_factor_logdet(ctx, factor, logabs, sign);
      CHECK_EQ(status, lac_memory_fail_at(0) >= n ? LAC_ERR_MEMORY : LAC_OK);
      CHECK_EQ(check_live_blocks(), before);
    }
    lac_array_destroy(&logabs);
    lac_array_destroy(&sign);
    lac_factor_destroy(&factor);
    direct_close(&system);
  }
}

CHECK_MAIN_OF("direct", the_sign_is_right_for_every_signed_permutation,
              small_full_matrices_have_the_sign_of_elimination, every_kind_and_dtype_agrees_with_elimination,
              determinants_beyond_the_range_of_the_dtype_have_logarithms, an_empty_matrix_has_determinant_one,
              every_matrix_of_a_batch_has_its_own, a_factor_with_enlarged_pivots_is_served_by_a_partner,
              arrays_that_do_not_fit_are_refused, every_failing_allocation_is_said_and_leaks_nothing)

// SPDX-License-Identifier: Apache-2.0
/// Systems that are singular, nearly so, or only look so, by every direct method: what is handed out without a word is
/// right to its condition, the rest is refused or warned of, and what can be solved is solved without either. Truth is
/// quadruple precision.

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/direct_case.h"
#include "support/scratch.h"
#include "support/zoo.h"

/// MUMPS 5.5 leaves a few bytes behind where it refuses a matrix.
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:mumps"; }

static const char *const METHODS[] = {"auto",   "cholesky", "ldlt",    "lu",      "pivoting_lu",
                                      "banded", "klu",      "umfpack", "cholmod", "mumps"};

/// How systems ended: handed out and right, with a warning, refused.
typedef struct tally {
  int64_t right, warned, refused;
} tally;

static bool method_fits(lac_context *ctx, const zoo_family *family, const char *method) {
  bool is_hermitian = !strcmp(method, "cholesky") || !strcmp(method, "ldlt") || !strcmp(method, "cholmod");
  if (is_hermitian && !family->is_hermitian) return false;
  if (lac_engine_find(ctx, method) == LAC_OK) return true;
  lac_context_clear_error(ctx);
  return false;
}

/// Ones, without order, or such that there is a solution whatever the matrix.
static void fill_b(random_state *r, const zoo_matrix *a, bool transposed, int kind, double *b) {
  double x[ZOO_MOST];
  for (int64_t i = 0; i < a->n; i++) x[i] = random_unit(r), b[i] = kind == 0 ? 1 : random_unit(r);
  for (int64_t i = 0; kind == 2 && i < a->n; i++) {
    b[i] = 0;
    for (int64_t j = 0; j < a->n; j++) b[i] += a->full[transposed ? j * a->n + i : i * a->n + j] * x[j];
  }
}

/// A refusal names what was found; a way out that does not work for it is not recommended.
static void check_refusal(lac_context *ctx, const zoo_family *family, const zoo_truth *t, lac_status status) {
  bool is_definite = status == LAC_ERR_DEFINITE, is_singular = status == LAC_ERR_SINGULAR;
  if (!is_definite && !is_singular && status != LAC_ERR_CONVERGENCE)
    check_fail(__FILE__, __LINE__, "%s: %s", family->name, lac_context_error(ctx));
  if (is_singular && !strstr(lac_context_error(ctx), "null space"))
    check_fail(__FILE__, __LINE__, "%s: no way out: %s", family->name, lac_context_error(ctx));
  if (!is_definite && (family->is_solvable || t->condition * DBL_EPSILON < 1e-4))
    check_fail(__FILE__, __LINE__, "%s, condition %.1e, is refused: %s", family->name, t->condition,
               lac_context_error(ctx));
  lac_context_clear_error(ctx);
}

/// What is handed out: digits, as many as the condition leaves, or a warning. `plain` is the condition of this x as it
/// stands.
static void check_digits(lac_context *ctx, const zoo_family *family, const zoo_truth *t, double plain, double error,
                         tally *count) {
  bool is_warned = *lac_context_warning(ctx), is_certain = fmax(t->condition, plain) * DBL_EPSILON < 1e-4;
  double allowed = 100 * DBL_EPSILON * t->condition + 1e-14;
  if (is_warned && (is_certain || (family->is_solvable && plain * DBL_EPSILON < 1e-4)))
    check_fail(__FILE__, __LINE__, "%s, condition %.1e, as it stands %.1e, is warned of: %s", family->name,
               t->condition, plain, lac_context_warning(ctx));
  if (!is_warned && !(error <= fmin(allowed, 0.1)))
    check_fail(__FILE__, __LINE__, "%s, condition %.1e: an error of %.1e without a word", family->name, t->condition,
               error);
  count->warned += is_warned, count->right += !is_warned;
}

/// x as it stands, in no unit but its own.
static void check_plain(lac_context *ctx, const zoo_family *family, const zoo_matrix *a, const zoo_truth *t,
                        const double *x) {
  double error = 0, size = 0;
  for (int64_t i = 0; i < a->n; i++) error = fmax(error, fabs(x[i] - t->x[i])), size = fmax(size, fabs(t->x[i]));
  if (!*lac_context_warning(ctx) && !(error <= fmin(0.1, 100 * DBL_EPSILON * t->plain + 1e-14) * size))
    check_fail(__FILE__, __LINE__, "%s, as it stands of condition %.1e: an error of %.1e without a word", family->name,
               t->plain, error / size);
}

static void check_solve(lac_context *ctx, const zoo_family *family, const zoo_matrix *a, const direct_system *s,
                        lac_form form, const double *b, const zoo_truth *t, tally *count) {
  bool transposed = form == LAC_TRANSPOSED;
  lac_factor *factor = NULL;
  lac_array *given = NULL, *x = NULL;
  int64_t shape[] = {a->n, 1};
  lac_context_clear_warning(ctx);
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, shape, (void *)b, LAC_OWNERSHIP_COPY, &given));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, shape, &x));
  lac_status status = lac_solver_factor(ctx, s->solver, s->values, &factor);
  if (status == LAC_OK) status = lac_factor_solve(ctx, factor, given, form, x);
  if (status == LAC_OK) {
    check_plain(ctx, family, a, t, lac_array_data(x));
    check_digits(ctx, family, t, t->plain, zoo_error(a, transposed, lac_array_data(x), t->x), count);
  } else {
    check_refusal(ctx, family, t, status);
    count->refused++;
  }
  lac_factor_destroy(&factor);
  lac_array_destroy(&given);
  lac_array_destroy(&x);
}

static void check_logdet(lac_context *ctx, const zoo_family *family, const zoo_matrix *a, const direct_system *s,
                         const zoo_truth *t, tally *count) {
  lac_factor *factor = NULL;
  lac_array *logabs = NULL, *sign = NULL;
  lac_context_clear_warning(ctx);
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &logabs));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &sign));
  lac_status status = lac_solver_factor(ctx, s->solver, s->values, &factor);
  if (status == LAC_OK) status = lac_factor_logdet(ctx, factor, logabs, sign);
  if (status == LAC_OK) {
    double error = fabs(*(const double *)lac_array_data(logabs) - t->logabs) / fmax(1, fabs(t->logabs));
    if (*(const double *)lac_array_data(sign) != t->sign) error = 1;
    check_digits(ctx, family, t, 0, error / (double)a->n, count);
  } else {
    check_refusal(ctx, family, t, status);
    count->refused++;
  }
  lac_factor_destroy(&factor);
  lac_array_destroy(&logabs);
  lac_array_destroy(&sign);
}

static void check_matrix(lac_context *ctx, const zoo_family *family, const zoo_matrix *a, random_state *r, int kind,
                         tally *count) {
  double b[2][ZOO_MOST];
  zoo_truth t[2];
  for (int form = 0; form < 2; form++) {
    fill_b(r, a, form, kind, b[form]);
    t[form] = zoo_solve(a, form, b[form]);
  }
  for (size_t m = 0; m < sizeof METHODS / sizeof *METHODS; m++) {
    size_t mark = scratch_mark();
    lac_solver_options options = lac_solver_options_defaults();
    options.method = METHODS[m];
    if (!method_fits(ctx, family, METHODS[m])) continue;
    direct_case c = direct_small(a->n, a->full, LAC_F64);
    direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    check_solve(ctx, family, a, &s, LAC_PLAIN, b[0], &t[0], count);
    check_solve(ctx, family, a, &s, LAC_TRANSPOSED, b[1], &t[1], count);
    check_logdet(ctx, family, a, &s, &t[0], count);
    direct_close(&s);
    scratch_release(mark);
  }
}

static void nothing_is_silently_wrong_and_nothing_needlessly_refused(lac_context *ctx) {
  enum { MATRICES = 130 };
  tally all = {0, 0, 0};
  for (int f = 0; f < ZOO_FAMILIES; f++) {
    tally count = {0, 0, 0};
    for (int k = 0; k < MATRICES; k++) {
      random_state r = random_start(1000 * (uint64_t)f + (uint64_t)k);
      zoo_matrix a;
      ZOO[f].fill(&r, &a);
      check_matrix(ctx, &ZOO[f], &a, &r, k % 3, &count);
    }
    printf("  %-20s %5lld right, %4lld with a warning, %5lld refused\n", ZOO[f].name, (long long)count.right,
           (long long)count.warned, (long long)count.refused);
    all.right += count.right, all.warned += count.warned, all.refused += count.refused;
  }
  printf("  %-20s %5lld right, %4lld with a warning, %5lld refused\n", "all", (long long)all.right,
         (long long)all.warned, (long long)all.refused);
}

// -- least squares ---------------------------------------------------------------------------------------------------

static lac_status lstsq_by(lac_context *ctx, const zoo_rectangle *a, const char *method, const double *b, double *x) {
  lac_status status;
  lac_solver_options options = lac_solver_options_defaults();
  lac_pattern *pattern = NULL, *system = NULL;
  lac_solver *solver = NULL;
  lac_tape *tape = NULL;
  lac_array *values = NULL, *given = NULL;
  lac_var out[2];
  int64_t entries = 0;
  int64_t *row = scratch((size_t)(a->rows * a->cols) * 8 + 8), *col = scratch((size_t)(a->rows * a->cols) * 8 + 8);
  double *numbers = scratch((size_t)(a->rows * a->cols) * sizeof *numbers);

  options.method = method;
  for (int64_t p = 0; p < a->rows * a->cols; p++) {
    if (a->full[p] == 0) continue;
    row[entries] = p / a->cols, col[entries] = p % a->cols, numbers[entries++] = a->full[p];
  }
  CHECK_OK(lac_pattern_from_coo(ctx, a->rows, a->cols, entries, LAC_I64, row, col, LAC_WIDTH_AUTO, &pattern, NULL));
  CHECK_OK(lac_pattern_augmented(ctx, pattern, &system, NULL));
  CHECK_OK(lac_solver_create(ctx, system, &options, &solver));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &entries, numbers, LAC_OWNERSHIP_COPY, &values));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){a->rows, 1}, (void *)b, LAC_OWNERSHIP_COPY, &given));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_context_clear_warning(ctx);
  lac_lstsq(tape, pattern, lac_tape_leaf(tape, values), lac_tape_constant(tape, given), (lac_var){0}, solver, out);
  status = lac_tape_status(tape);
  if (status == LAC_OK) CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, out[0]), x));
  lac_tape_destroy(&tape);
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&system);
  lac_pattern_destroy(&pattern);
  lac_array_destroy(&values);
  lac_array_destroy(&given);
  return status;
}

static void check_fit(lac_context *ctx, const char *name, const zoo_rectangle *a, random_state *r, int kind,
                      tally *count) {
  static const char *const BY[] = {"auto", "ldlt", "lu", "pivoting_lu"};
  double b[ZOO_MOST], x[ZOO_MOST], along[ZOO_MOST];
  for (int64_t j = 0; j < a->cols; j++) along[j] = random_unit(r);
  for (int64_t i = 0; i < a->rows; i++) {
    b[i] = kind == 0 ? 1 : kind == 1 ? random_unit(r) : 0;
    for (int64_t j = 0; kind == 2 && j < a->cols; j++) b[i] += a->full[i * a->cols + j] * along[j];
  }
  zoo_fit t = zoo_lstsq(a, b);
  double condition = fmax(t.condition, t.spread);
  bool is_certain = condition * DBL_EPSILON < 1e-4;
  double allowed = fmin(0.1, 1e-13 + 100 * DBL_EPSILON * condition);
  for (size_t m = 0; m < sizeof BY / sizeof *BY; m++) {
    size_t mark = scratch_mark();
    lac_status status = lstsq_by(ctx, a, BY[m], b, x);
    bool is_warned = *lac_context_warning(ctx);
    if (status != LAC_OK && status != LAC_ERR_SINGULAR)
      check_fail(__FILE__, __LINE__, "%s: %s", name, lac_context_error(ctx));
    if (status != LAC_OK && !strstr(lac_context_error(ctx), "damp"))
      check_fail(__FILE__, __LINE__, "%s: no way out: %s", name, lac_context_error(ctx));
    if ((status != LAC_OK || is_warned) && is_certain)
      check_fail(__FILE__, __LINE__, "%s, %lld x %lld, condition %.1e, spread %.1e: %s", name, (long long)a->rows,
                 (long long)a->cols, t.condition, t.spread,
                 status == LAC_OK ? lac_context_warning(ctx) : lac_context_error(ctx));
    if (status == LAC_OK && !is_warned && !(zoo_fit_error(a, &t, x) <= allowed))
      check_fail(__FILE__, __LINE__, "%s, %lld x %lld, method %s, condition %.1e, spread %.1e: an error of %.1e", name,
                 (long long)a->rows, (long long)a->cols, BY[m], t.condition, t.spread, zoo_fit_error(a, &t, x));
    count->refused += status != LAC_OK, count->warned += status == LAC_OK && is_warned;
    count->right += status == LAC_OK && !is_warned;
    lac_context_clear_error(ctx);
    scratch_release(mark);
  }
}

static void least_squares_are_right_to_their_condition_or_refused(lac_context *ctx) {
  enum { MATRICES = 12, SPREADS = 300, MOST = ZOO_MOST / 2 };
  tally families = {0, 0, 0}, spreads = {0, 0, 0};
  for (int k = 0; k < ZOO_FAMILIES * MATRICES; k++) {
    random_state r = random_start(77000 + (uint64_t)k);
    zoo_matrix a;
    do ZOO[k % ZOO_FAMILIES].fill(&r, &a);
    while (a.n > MOST || a.n < 3);
    for (int shape = 0; shape < 3; shape++) {
      int64_t less = shape == 0 ? 0 : 1 + random_below(&r, a.n / 2);
      zoo_rectangle cut = zoo_cut(&a, shape == 1 ? less : 0, shape == 2 ? less : 0);
      check_fit(ctx, ZOO[k % ZOO_FAMILIES].name, &cut, &r, k % 3, &families);
    }
  }
  for (int k = 0; k < SPREADS; k++) {
    random_state r = random_start(99000 + (uint64_t)k);
    int64_t rows = 2 + random_below(&r, 34), cols = 2 + random_below(&r, ZOO_MOST / 4);
    double decades = 8 + 9 * fabs(random_unit(&r));
    zoo_rectangle a =
        k % 2 ? zoo_spread(&r, rows, cols, decades, k % 4 > 1) : zoo_spread(&r, cols, rows, decades, k % 4 > 1);
    check_fit(ctx, "spread", &a, &r, k % 3, &spreads);
  }
  printf("  %-20s %5lld right, %4lld with a warning, %5lld refused\n", "least squares", (long long)families.right,
         (long long)families.warned, (long long)families.refused);
  printf("  %-20s %5lld right, %4lld with a warning, %5lld refused\n", "spread", (long long)spreads.right,
         (long long)spreads.warned, (long long)spreads.refused);
}

// -- ways out --------------------------------------------------------------------------------------------------------

/// The Laplacian of a ring, b = 1 0 0 ...: refused, and then each way that the sentence names.
static void every_way_out_works(lac_context *ctx) {
  enum { N = 12 };
  random_state r = random_start(1);
  zoo_matrix a;
  double ones[N], b[N] = {1, -1};
  do ZOO[2].fill(&r, &a);
  while (a.n != N);
  for (int i = 0; i < N; i++) ones[i] = 1;
  for (int way = 0; way < 4; way++) {
    size_t mark = scratch_mark();
    lac_solver_options options = lac_solver_options_defaults();
    lac_array *space = NULL, *given = NULL, *x = NULL;
    lac_factor *factor = NULL;
    zoo_matrix held = a;
    CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){N, 1}, ones, LAC_OWNERSHIP_COPY, &space));
    CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){N, 1}, b, LAC_OWNERSHIP_COPY, &given));
    CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){N, 1}, &x));
    if (way == 1) options.iteration.null_space = space;
    for (int i = 0; way == 2 && i < N; i++) held.full[i * N + i] += 0.01;
    if (way == 3) options.accept_singular = 1;
    direct_case c = direct_small(N, held.full, LAC_F64);
    direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    lac_context_clear_warning(ctx);
    lac_status status = lac_solver_factor(ctx, s.solver, s.values, &factor);
    if (status == LAC_OK) status = lac_factor_solve(ctx, factor, given, LAC_PLAIN, x);
    CHECK_EQ(status, way == 0 ? LAC_ERR_SINGULAR : LAC_OK);
    CHECK_EQ(*lac_context_warning(ctx) != '\0', way == 3);
    if (way == 0) CHECK(strstr(lac_context_error(ctx), "accept_singular"));
    const double *got = lac_array_data(x);
    for (int i = 0; (way == 1 || way == 2) && i < N; i++) {
      double sum = -b[i];
      for (int j = 0; j < N; j++) sum += held.full[i * N + j] * got[j];
      CHECK(fabs(sum) <= 1e-9);
    }
    lac_context_clear_error(ctx);
    lac_factor_destroy(&factor);
    lac_array_destroy(&space);
    lac_array_destroy(&given);
    lac_array_destroy(&x);
    direct_close(&s);
    scratch_release(mark);
  }
}

/// Through a tape, which shows no factor: what was done, and how doubtful it is.
static void the_last_solve_of_a_solver_is_told(lac_context *ctx) {
  double full[] = {1, 1, 1, 1 + 0x1p-44}, b[] = {1, 2};
  direct_case c = direct_small(2, full, LAC_F64);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_solve_report report = {0};
  lac_tape *tape = NULL;
  lac_array *given = NULL;
  CHECK_OK(lac_solver_last_solve(s.solver, &report));
  CHECK_TEXT(report.reason, "");
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){2, 1}, b, LAC_OWNERSHIP_COPY, &given));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_context_clear_warning(ctx);
  (void)lac_solve(tape, s.solver, lac_tape_leaf(tape, s.values), lac_tape_constant(tape, given), LAC_PLAIN);
  CHECK_OK(lac_tape_status(tape));
  CHECK_OK(lac_solver_last_solve(s.solver, &report));
  CHECK(report.forward_error >= 1e-3 && report.forward_error < 0.3);
  CHECK(strstr(report.warning, "nearly singular") && strstr(lac_context_warning(ctx), "nearly singular"));
  CHECK_EQ(lac_solver_last_solve(NULL, &report), LAC_ERR_ARG);
  lac_tape_destroy(&tape);
  lac_array_destroy(&given);
  direct_close(&s);
}

CHECK_MAIN_OF("direct", nothing_is_silently_wrong_and_nothing_needlessly_refused,
              least_squares_are_right_to_their_condition_or_refused, every_way_out_works,
              the_last_solve_of_a_solver_is_told)

// SPDX-License-Identifier: Apache-2.0
/// Options and reports of solvers: zero is the default of every field, and structs of other versions are taken.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"

/// Solvers of one pattern by several options, each for the same values.
typedef struct trial {
  direct_case c;
  direct_system s;
} trial;

static trial trial_open(lac_context *ctx) {
  trial t = {.c = direct_make(DIRECT_NONSYMMETRIC, 20, LAC_F64, 2)};
  t.s = direct_open(ctx, &t.c, LAC_WIDTH_AUTO, NULL);
  return t;
}

/// How often a solver by these options recognises the values when they come a second time.
static int64_t reuses(lac_context *ctx, const trial *t, const lac_solver_options *options) {
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_create(ctx, t->s.pattern, options, &solver));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(lac_solver_factor(ctx, solver, t->s.values, &factor));
    lac_factor_destroy(&factor);
  }
  int64_t count = report_of_solver(solver).reuses;
  lac_solver_destroy(&solver);
  return count;
}

// -- zero is the default ---------------------------------------------------------------------------------------------

static void a_factor_is_kept_by_default(lac_context *ctx) {
  trial t = trial_open(ctx);
  lac_solver_options usual = lac_solver_options_defaults();
  CHECK_EQ(reuses(ctx, &t, NULL), 1);
  CHECK_EQ(reuses(ctx, &t, &(lac_solver_options){0}), 1);
  CHECK_EQ(reuses(ctx, &t, &usual), 1);
  CHECK_EQ(reuses(ctx, &t, &(lac_solver_options){.keep_bytes = -1}), 0);
  direct_close(&t.s);
}

/// Entries of the factor of an arrow whose head comes first, and is 1e-3 of the largest number below it: taken as pivot
/// it fills the matrix; where another row comes first, it does not.
static int64_t fill_by(lac_context *ctx, const lac_solver_options *options) {
  direct_case c = direct_small(
      5, (double[]){1e-3, 1, 1, 1, 1, 1, 2, 0, 0, 0, 1e-6, 0, 2, 0, 0, 1e-6, 0, 0, 2, 0, 1e-6, 0, 0, 0, 2}, LAC_F64);
  lac_solver_options natural = *options;
  natural.method = "pivoting_lu", natural.ordering = LAC_ORDER_NATURAL;
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &natural);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factor));
  int64_t nnz = report_of_factor(factor).factor_nnz;
  lac_factor_destroy(&factor);
  direct_close(&s);
  return nnz;
}

static void the_pivot_tolerance_is_a_tenth_by_default(lac_context *ctx) {
  int64_t loose = fill_by(ctx, &(lac_solver_options){.pivot_tolerance = -1});
  int64_t tenth = fill_by(ctx, &(lac_solver_options){.pivot_tolerance = 0.1});
  CHECK(loose != tenth);
  CHECK_EQ(fill_by(ctx, &(lac_solver_options){0}), tenth);
  CHECK_EQ(fill_by(ctx, &(lac_solver_options){.pivot_tolerance = 1e-4}), loose);
  CHECK_NEAR(lac_solver_options_defaults().pivot_tolerance, 0.1, 0);
}

static void defaults_and_zero_are_one_solver(lac_context *ctx) {
  trial t = trial_open(ctx);
  lac_solver_options usual = lac_solver_options_defaults();
  const lac_solver_options *asked[] = {NULL, &(lac_solver_options){0}, &usual, &(lac_solver_options){.method = "auto"}};
  lac_report first = report_of_solver(t.s.solver);
  for (int i = 0; i < 4; i++) {
    lac_solver *solver = NULL;
    CHECK_OK(lac_solver_create(ctx, t.s.pattern, asked[i], &solver));
    lac_report report = report_of_solver(solver);
    CHECK_TEXT(report.method, first.method);
    CHECK_TEXT(report.ordering, first.ordering);
    CHECK_EQ(report.factor_nnz, first.factor_nnz);
    lac_solver_destroy(&solver);
  }
  direct_close(&t.s);
}

// -- options that cannot act -----------------------------------------------------------------------------------------

/// An option, a method and perhaps a preconditioner that it acts on, and others that it does not act on.
typedef struct acting {
  const char *name;
  lac_solver_options given;
  const char *on[3], *not_on[3];  // "method" or "method+preconditioner"
} acting;

static const acting acting_cases[] = {
    {"ordering", {.ordering = LAC_ORDER_AMD}, {"lu", "cg+cholesky", "auto"}, {"cg", "banded", "jacobi"}},
    {"pivot_tolerance",
     {.pivot_tolerance = 0.5},
     {"pivoting_lu", "direct", "gmres+block_lu"},
     {"lu", "cholesky", "cg"}},
    {"accept_singular", {.accept_singular = true}, {"diagonal", "ldlt", "auto"}, {"minres", "ilu0", "gmres+jacobi"}},
    {"rtol", {.iteration = {.rtol = 1e-3}}, {"cg", "auto", "lsmr"}, {"lu", "direct", "multigrid"}},
    {"atol", {.iteration = {.atol = 1e-3}}, {"gmres+jacobi", "lsqr", "auto"}, {"cholesky", "triangular", "ssor"}},
    {"adjoint_rtol", {.iteration = {.adjoint_rtol = 1e-3}}, {"bicgstab", "cg", "auto"}, {"lu", "ldlt", "ic0"}},
    {"max_iterations", {.iteration = {.max_iterations = 9}}, {"minres", "cg", "auto"}, {"direct", "lu", "jacobi"}},
    {"restart", {.iteration = {.restart = 9}}, {"gmres", "flexible_gmres", "auto"}, {"cg", "lu", "bicgstab"}},
    {"look_every", {.iteration = {.look_every = 2}}, {"cg", "auto", "lsmr"}, {"lu", "banded", "chebyshev"}},
    {"accept_unconverged", {.iteration = {.accept_unconverged = true}}, {"cg", "auto", "gmres"}, {"lu", "ldlt", "ic0"}},
    {"preconditioner", {.preconditioner = {.method = "jacobi"}}, {"cg", "auto", "gmres"}, {"lu", "direct", "ssor"}},
    {"omega", {.preconditioner = {.omega = 1.2}}, {"cg+ssor", "ssor", "auto+ssor"}, {"cg", "cg+jacobi", "lu"}},
    {"block", {.preconditioner = {.block = 2}}, {"cg+block_jacobi", "block_jacobi"}, {"auto", "gmres+ilu0", "lu"}},
    {"degree", {.preconditioner = {.degree = 3}}, {"cg+chebyshev", "cg", "chebyshev"}, {"cg+ic0", "ssor", "lu"}},
    {"strength",
     {.preconditioner = {.strength = 0.1}},
     {"auto", "cg+multigrid", "multigrid"},
     {"cg+ssor", "lu", "ic0"}},
    {"coarse_rows", {.preconditioner = {.coarse_rows = 9}}, {"auto", "gmres", "multigrid"}, {"cg+lu", "lu", "jacobi"}},
    {"max_levels", {.preconditioner = {.max_levels = 3}}, {"auto", "gmres", "multigrid"}, {"cg+ic0", "lu", "jacobi"}},
    {"full_precision", {.preconditioner = {.full_precision = true}}, {"cg", "multigrid"}, {"cg+ic0", "lu", "direct"}},
    {"multigrid (preconditioner.kind)",
     {.preconditioner = {.kind = LAC_MULTIGRID_SMOOTHED}},
     {"cg", "multigrid"},
     {"cg+ilu0", "lu", "ssor"}},
};

/// Create a solver with an option on a method; `who` has a preconditioner behind a plus.
static lac_status create_acting(lac_context *ctx, const trial *t, const acting *a, const char *who) {
  char method[32] = {0};
  const char *plus = strchr(who, '+');
  lac_solver_options options = a->given;
  lac_solver *solver = NULL;
  memcpy(method, who, plus ? (size_t)(plus - who) : strlen(who));
  options.method = method;
  if (plus) options.preconditioner.method = plus + 1;
  lac_status status = lac_solver_create(ctx, t->s.pattern, &options, &solver);
  lac_solver_destroy(&solver);
  return status;
}

/// The message has the option and the method; a structure that a method does not take is another error.
static void an_option_that_cannot_act_is_refused(lac_context *ctx) {
  trial t = trial_open(ctx);
  for (size_t i = 0; i < sizeof acting_cases / sizeof *acting_cases; i++) {
    const acting *a = &acting_cases[i];
    for (int k = 0; k < 3 && a->on[k]; k++) {
      lac_status status = create_acting(ctx, &t, a, a->on[k]);
      CHECK(status == LAC_OK || !strstr(lac_context_error(ctx), "does not act"));
    }
    char words[80];
    snprintf(words, sizeof words, "%s does not act on method = ", a->name);
    for (int k = 0; k < 3; k++) CHECK_FAILS(create_acting(ctx, &t, a, a->not_on[k]), LAC_ERR_ARG, words);
  }
  direct_close(&t.s);
}

static void the_refusal_names_methods_on_which_an_option_acts(lac_context *ctx) {
  trial t = trial_open(ctx);
  lac_solver *solver = NULL;
  lac_solver_options lu = {.method = "lu", .iteration = {.rtol = 1e-6}};
  lac_solver_options pivots = {.method = "lu", .pivot_tolerance = 1};
  lac_solver_options omega = {.method = "cg", .preconditioner = {.method = "jacobi", .omega = 1.5}};
  CHECK_FAILS(lac_solver_create(ctx, t.s.pattern, &lu, &solver), LAC_ERR_ARG,
              "rtol does not act on method = \"lu\"; leave it out, or use a method on which it acts: \"auto\", \"cg\"");
  CHECK_FAILS(lac_solver_create(ctx, t.s.pattern, &pivots, &solver), LAC_ERR_ARG,
              "\"pivoting_lu\", \"umfpack\", \"klu\", \"mumps\"");
  CHECK_FAILS(lac_solver_create(ctx, t.s.pattern, &omega, &solver), LAC_ERR_ARG,
              "omega does not act on method = \"cg\" with preconditioner = \"jacobi\"; leave it out, or use a "
              "preconditioner on which it acts: \"ssor\"");
  CHECK(!solver);
  direct_close(&t.s);
}

/// Budgets, what is known of the values, and every default in full hold for each method.
static void defaults_and_budgets_act_on_every_method(lac_context *ctx) {
  const char *const methods[] = {"auto", "direct", "lu", "pivoting_lu", "cg", "gmres", "jacobi", "multigrid"};
  trial t = trial_open(ctx);
  for (int i = 0; i < 8; i++) {
    lac_solver_options options = lac_solver_options_defaults();
    lac_solver *solver = NULL;
    options.method = methods[i], options.preconditioner.method = "auto";
    options.keep_bytes = -1, options.max_bytes = INT64_C(1) << 40, options.assume_hermitian = true;
    CHECK_OK(lac_solver_create(ctx, t.s.pattern, &options, &solver));
    lac_solver_destroy(&solver);
  }
  direct_close(&t.s);
}

/// accept_singular is about solutions: the sentence does not advise it where there is no factor.
static void a_zero_pivot_is_accepted_by_no_option(lac_context *ctx) {
  for (int accepts = 0; accepts < 2; accepts++) {
    direct_case c = direct_small(2, (double[]){1, 1, 1, 1}, LAC_F64);
    direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &(lac_solver_options){.accept_singular = accepts});
    lac_factor *factor = NULL;
    CHECK_FAILS(lac_solver_factor(ctx, s.solver, s.values, &factor), LAC_ERR_SINGULAR, "damped least-squares");
    CHECK(!factor && !strstr(lac_context_error(ctx), "accept_singular"));
    direct_close(&s);
  }
}

// -- other versions --------------------------------------------------------------------------------------------------

static void a_later_struct_is_taken_as_far_as_it_is_zero(lac_context *ctx) {
  trial t = trial_open(ctx);
  struct {
    lac_solver_options known;
    int64_t later[2];
  } options = {.known = {.size = sizeof options, .method = "lu"}};
  lac_solver *solver = NULL;
  CHECK_EQ(reuses(ctx, &t, &options.known), 1);
  options.later[1] = 1;
  CHECK_FAILS(lac_solver_create(ctx, t.s.pattern, &options.known, &solver), LAC_ERR_ARG, "later version");
  options.known.size = sizeof options.known;
  CHECK_EQ(reuses(ctx, &t, &options.known), 1);
  direct_close(&t.s);
}

/// sizeof of a pointer to the struct is the mistake that would leave all options unread.
static void a_size_that_cannot_be_is_refused(lac_context *ctx) {
  trial t = trial_open(ctx);
  const size_t sizes[] = {1, sizeof(lac_solver_options *), (size_t)1 << 20, SIZE_MAX};
  lac_solver *solver = NULL;
  for (int i = 0; i < 4; i++) {
    lac_solver_options options = {.size = sizes[i]};
    lac_report report = {.size = sizes[i]};
    lac_solve_report solved = {.size = sizes[i]};
    lac_nature nature = {.size = sizes[i]};
    CHECK_FAILS(lac_solver_create(ctx, t.s.pattern, &options, &solver), LAC_ERR_ARG, "sizeof(lac_solver_options)");
    CHECK_EQ(lac_solver_report(t.s.solver, &report), LAC_ERR_ARG);
    CHECK_EQ(lac_solver_last_solve(t.s.solver, &solved), LAC_ERR_ARG);
    CHECK_FAILS(lac_pattern_nature(ctx, t.s.pattern, &nature), LAC_ERR_ARG, "sizeof(lac_nature)");
  }
  CHECK(!solver);
  direct_close(&t.s);
}

static void reserved_numbers_are_zero(lac_context *ctx) {
  trial t = trial_open(ctx);
  lac_solver *solver = NULL;
  lac_solver_options options = {0};
  options.iteration.reserved[7] = 1;
  CHECK_FAILS(lac_solver_create(ctx, t.s.pattern, &options, &solver), LAC_ERR_ARG, "reserved numbers of iteration");
  options = (lac_solver_options){0};
  options.preconditioner.reserved[0] = 1;
  CHECK_FAILS(lac_solver_create(ctx, t.s.pattern, &options, &solver), LAC_ERR_ARG, "of preconditioner");
  direct_close(&t.s);
}

// -- reports ---------------------------------------------------------------------------------------------------------

/// Fields that only a later report has are zero.
static void a_report_is_as_long_as_its_caller_knows_it(lac_context *ctx) {
  trial t = trial_open(ctx);
  struct {
    lac_report known;
    int64_t later[2];
  } report;
  memset(&report, 0x5a, sizeof report);
  report.known.size = offsetof(lac_report, reason);
  CHECK_EQ(lac_solver_report(t.s.solver, &report.known), LAC_ERR_ARG);
  report.known.size = sizeof report;
  CHECK_OK(lac_solver_report(t.s.solver, &report.known));
  CHECK_EQ(report.known.size, sizeof report);
  CHECK(report.later[0] == 0 && report.later[1] == 0);
  CHECK_EQ(report.known.factor_nnz, report_of_solver(t.s.solver).factor_nnz);
  report.known.size = 0;
  CHECK_OK(lac_solver_report(t.s.solver, &report.known));
  CHECK_EQ(report.known.size, 0);
  direct_close(&t.s);
}

static void nothing_has_no_report(lac_context *ctx) {
  trial t = trial_open(ctx);
  lac_report report = {0};
  lac_solve_report solved = {0};
  CHECK_EQ(lac_solver_report(NULL, &report), LAC_ERR_ARG);
  CHECK_EQ(lac_solver_report(t.s.solver, NULL), LAC_ERR_ARG);
  CHECK_EQ(lac_factor_report(NULL, &report), LAC_ERR_ARG);
  CHECK_EQ(lac_solver_last_solve(NULL, &solved), LAC_ERR_ARG);
  CHECK_EQ(lac_solver_last_solve(t.s.solver, NULL), LAC_ERR_ARG);
  CHECK(!lac_factor_meta(NULL) && !lac_factor_pattern(NULL) && lac_factor_id(NULL) == 0);
  direct_close(&t.s);
}

CHECK_MAIN(a_factor_is_kept_by_default, a_zero_pivot_is_accepted_by_no_option,
           the_pivot_tolerance_is_a_tenth_by_default, defaults_and_zero_are_one_solver,
           an_option_that_cannot_act_is_refused, the_refusal_names_methods_on_which_an_option_acts,
           defaults_and_budgets_act_on_every_method, a_later_struct_is_taken_as_far_as_it_is_zero,
           a_size_that_cannot_be_is_refused, reserved_numbers_are_zero, a_report_is_as_long_as_its_caller_knows_it,
           nothing_has_no_report)

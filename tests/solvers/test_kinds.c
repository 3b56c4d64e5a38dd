// SPDX-License-Identifier: Apache-2.0
/// Kinds of solvers: found by name, one interface for all, and at work in host memory for arrays that lie elsewhere.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solvers/options.h"
#include "support/check.h"
#include "support/iterative_case.h"
#include "support/reports.h"
#include "support/shadow.h"

// -- the registry ----------------------------------------------------------------------------------------------------

static const char *const BUILT_IN[] = {
#define LAC_KIND(name) #name,
#include "solvers/kinds.def"
#undef LAC_KIND
};

static void check_kind(lac_context *ctx, const char *name) {
  const lac_solver_table *kind = NULL;
  CHECK_OK(lac_kind_find(ctx, "test", name, &kind));
  CHECK_TEXT(kind->name, name);
  CHECK(kind->analyse && kind->factor && kind->solve && kind->report && kind->destroy && kind->partner);
}

static void every_method_is_a_kind_of_its_name(lac_context *ctx) {
  for (size_t m = 0; m < sizeof BUILT_IN / sizeof *BUILT_IN; m++) check_kind(ctx, BUILT_IN[m]);
  for (int e = 0; lac_engine_name(e); e++) {
    if (lac_engine_find(ctx, lac_engine_name(e)) == LAC_OK) {
      check_kind(ctx, lac_engine_name(e));
    } else {
      CHECK(lac_context_status(ctx) == LAC_ERR_UNSUPPORTED && !lac_kind_built_in(lac_engine_name(e)));
    }
  }
}

/// Whether a sentence has a name in quotation marks.
static bool names(const char *sentence, const char *name) {
  char quoted[64];
  (void)snprintf(quoted, sizeof quoted, "\"%s\"", name);
  return strstr(sentence, quoted) != NULL;
}

static void unknown_names_are_refused(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 20, LAC_F64, 1);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_solver_options options = lac_solver_options_defaults();
  lac_solver *solver = NULL;
  options.method = "cholesk";
  CHECK_EQ(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG);
  CHECK(strstr(lac_context_error(ctx), "no method \"cholesk\""));
  for (size_t m = 0; m < sizeof BUILT_IN / sizeof *BUILT_IN; m++) CHECK(names(lac_context_error(ctx), BUILT_IN[m]));
  for (int e = 0; lac_engine_name(e); e++) CHECK(names(lac_context_error(ctx), lac_engine_name(e)));
  options.method = "";
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG, "no method \"\"");
  options.method = "cg", options.preconditioner.method = "jacoby";
  CHECK_EQ(lac_solver_create(ctx, s.pattern, &options, &solver), LAC_ERR_ARG);
  CHECK(strstr(lac_context_error(ctx), "no preconditioner \"jacoby\""));
  CHECK(names(lac_context_error(ctx), "jacobi") && names(lac_context_error(ctx), "cholesky"));
  CHECK(!names(lac_context_error(ctx), "cg") && !names(lac_context_error(ctx), "auto"));
  CHECK_FAILS(lac_engine_find(ctx, "umfpak"), LAC_ERR_ARG, "\"umfpack\"");
  CHECK_FAILS(lac_engine_find(ctx, NULL), LAC_ERR_ARG, "the name is NULL");
  CHECK(!solver);
  direct_close(&s);
}

/// "auto" as a name leaves the preconditioner open, as NULL does.
static void a_preconditioner_by_the_name_auto_is_chosen(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  for (int m = 0; m < 2; m++) {
    lac_solver_options options = lac_solver_options_defaults();
    options.method = m ? "auto" : "cg", options.preconditioner.method = "auto";
    iterative_system s = iterative_open(ctx, &c, &options);
    CHECK(iterative_residual(ctx, &c, s.factor, LAC_PLAIN, 2) <= 1e-10);
    iterative_close(&s);
  }
}

static void a_rectangle_has_no_preconditioner_to_apply(lac_context *ctx) {
  lac_pattern *wide = NULL;
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_solver_options options = iterative_options("identity", "auto");
  CHECK_OK(lac_pattern_banded(ctx, 6, 3, 0, 0, LAC_WIDTH_AUTO, &wide, NULL));
  CHECK_OK(lac_solver_create(ctx, wide, &options, &solver));
  lac_array *a = direct_random(ctx, LAC_F64, 1, (int64_t[]){lac_pattern_nnz(wide)}, 3);
  lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){6, 2}, 3),
            *x = direct_random(ctx, LAC_F64, 2, (int64_t[]){3, 2}, 3);
  CHECK_OK(lac_solver_factor(ctx, solver, a, &factor));
  CHECK_FAILS(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x), LAC_ERR_SHAPE, "6 x 3");
  lac_array_destroy(&a);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&wide);
}

/// The name need not outlive the call.
static void a_solver_is_asked_for_by_name(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  char name[16] = "cg", other[16] = "ssor";
  lac_solver_options options = lac_solver_options_defaults();
  options.method = name, options.preconditioner.method = other;
  iterative_system s = iterative_open(ctx, &c, &options);
  memset(name, 'x', sizeof name), memset(other, 'x', sizeof other);
  CHECK_TEXT(report_of_solver(s.s.solver).method, "cg");
  CHECK_TEXT(report_of_solver(s.s.solver).preconditioner, "ssor");
  CHECK_TEXT(report_of_factor(s.factor).preconditioner, "ssor");
  CHECK(iterative_residual(ctx, &c, s.factor, LAC_PLAIN, 2) <= 1e-10);
  iterative_close(&s);
}

// -- in host memory for arrays that lie elsewhere --------------------------------------------------------------------

static bool never_here(const lac_context *ctx, const lac_solver_table *table, const lac_solver_core *core) {
  (void)ctx, (void)table, (void)core;
  return false;
}

/// A factor by a kind that says that it cannot work where the arrays lie: its values travel, on the CPU from host to
/// host.
static lac_factor *travelled(lac_context *ctx, const char *name, const direct_system *s, const lac_solver_options *o,
                             lac_solver_table *kind) {
  lac_solver_core *core = NULL;
  lac_factor *factor = NULL;
  lac_linear a = lac_linear_matrix(s->pattern, s->values);
  *kind = *lac_kind_built_in(name);
  kind->is_here = never_here;
  CHECK_OK(lac_core_create(ctx, kind, s->pattern, o, "asked for", &core));
  CHECK_OK(lac_factor_make(ctx, "lac_solver_factor", core, &a, NULL, false, NULL, &factor));
  CHECK(factor->table == &lac_travel_table);
  lac_object_release(core);
  return factor;
}

static void check_travelled(lac_context *ctx, const char *name, const direct_case *c, const lac_solver_options *o) {
  direct_system s = direct_open(ctx, c, LAC_WIDTH_AUTO, NULL);
  lac_solver_table kind;
  lac_factor *factor = travelled(ctx, name, &s, o, &kind);
  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; form++) {
    CHECK(iterative_residual(ctx, c, factor, (lac_form)form, 3) <= 1e-9);
  }
  CHECK(strstr(report_of_factor(factor).reason, "travel to the host"));
  lac_solve_report report = iterative_run(ctx, factor, c->s->rows, 1);
  CHECK(report.ending == LAC_ENDING_CONVERGED && report.residual >= 0 && report.residual <= 1e-9);
  lac_factor_destroy(&factor);
  direct_close(&s);
}

static void what_works_on_the_host_serves_arrays_from_elsewhere(lac_context *ctx) {
  static const char *const NAMES[] = {"direct", "lu", "gmres", "auto"};
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 40, LAC_C128, 3);
  lac_solver_options options = lac_solver_options_defaults();
  for (int i = 0; i < 4; i++) check_travelled(ctx, NAMES[i], &c, &options);
}

/// Matrices [2, 3] of a batch, preconditioned by a factor that travels: it gets the joint batch, not a shape to guess
/// it from.
static void a_factor_that_travels_preconditions_a_batch(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 12, LAC_F64, 3);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_solver_options options = iterative_options("gmres", "auto");
  int64_t n = c.s->rows;
  lac_solver_table kind;
  lac_array *many = NULL, *b = direct_random(ctx, LAC_F64, 4, (int64_t[]){2, 3, n, 2}, 3), *x = NULL;
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_solve_report report = {0};
  CHECK_OK(lac_array_create(ctx, LAC_F64, 3, (int64_t[]){2, 3, c.s->nnz}, &many));
  double *to = lac_array_edit(many);
  for (int64_t i = 0; i < 6 * c.s->nnz; i++) to[i] = creal(c.a.x[i % c.s->nnz]) * (1 + 0.01 * (double)(i / c.s->nnz));
  lac_array_destroy(&s.values);
  s.values = lac_array_retain(many);
  lac_factor *inner = travelled(ctx, "lu", &s, &options, &kind);
  options.preconditioner.factor = inner;
  CHECK_OK(lac_solver_create(ctx, s.pattern, &options, &solver));
  CHECK_OK(lac_solver_factor(ctx, solver, many, &factor));
  CHECK_OK(lac_array_clone(ctx, b, &x));
  CHECK_OK(lac_factor_iterate(ctx, factor, b, NULL, LAC_PLAIN, x, &report));
  CHECK(report.ending == LAC_ENDING_CONVERGED && report.iterations <= 2);
  lac_array_destroy(&many);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);
  lac_factor_destroy(&inner);
  lac_solver_destroy(&solver);
  direct_close(&s);
}

static void determinants_inverses_and_conditions_travel_too(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 30, LAC_F64, 3);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_solver_options options = lac_solver_options_defaults();
  lac_solver_table kind;
  lac_factor *factors[2] = {travelled(ctx, "direct", &s, &options, &kind), NULL};
  ref numbers[2][4];
  CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factors[1]));
  for (int f = 0; f < 2; f++) {
    lac_array *one[3], *inverse = NULL;
    for (int i = 0; i < 3; i++) CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &one[i]));
    CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){c.s->nnz}, &inverse));
    CHECK_OK(lac_factor_logdet(ctx, factors[f], one[0], one[1]));
    CHECK_OK(lac_factor_rcond(ctx, factors[f], one[2]));
    CHECK_OK(lac_factor_selected_inverse(ctx, factors[f], inverse));
    for (int i = 0; i < 3; i++) CHECK_OK(ref_download(ctx, one[i], &numbers[f][i]));
    CHECK_OK(ref_download(ctx, inverse, &numbers[f][3]));
    for (int i = 0; i < 3; i++) lac_array_destroy(&one[i]);
    lac_array_destroy(&inverse);
    lac_factor_destroy(&factors[f]);
  }
  for (int i = 0; i < 4; i++) {
    for (int64_t k = 0; k < numbers[0][i].count; k++) CHECK(numbers[0][i].x[k] == numbers[1][i].x[k]);
  }
  direct_close(&s);
}

/// What goes wrong on the host is said in the caller's context.
static void what_is_refused_on_the_host_is_refused_here(lac_context *ctx) {
  direct_case c = direct_small(2, (double[]){1, 2, 2, 4}, LAC_F64);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_solver_options options = lac_solver_options_defaults();
  lac_solver_table kind = *lac_kind_built_in("direct");
  lac_solver_core *core = NULL;
  lac_factor *factor = NULL;
  lac_linear a = lac_linear_matrix(s.pattern, s.values);
  kind.is_here = never_here;
  CHECK_OK(lac_core_create(ctx, &kind, s.pattern, &options, "asked for", &core));
  CHECK_FAILS(lac_factor_make(ctx, "lac_solver_factor", core, &a, NULL, false, NULL, &factor), LAC_ERR_SINGULAR,
              "singular");
  lac_object_release(core);
  direct_close(&s);
}

static void every_failing_allocation_on_the_way_is_told(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 12, LAC_F64, 3);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_solver_options options = lac_solver_options_defaults();
  lac_solver_table kind = *lac_kind_built_in("direct");
  lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){c.s->rows, 1}, 3), *x = NULL;
  lac_linear a = lac_linear_matrix(s.pattern, s.values);
  lac_status status = LAC_ERR_MEMORY;
  kind.is_here = never_here;
  CHECK_OK(lac_array_clone(ctx, b, &x));
  for (int64_t n = 1; status != LAC_OK; n = check_next_failure(ctx, n)) {
    lac_solver_core *core = NULL;
    lac_factor *factor = NULL;
    long long before = check_live_blocks();
    lac_memory_fail_at(n);
    status = lac_core_create(ctx, &kind, s.pattern, &options, "asked for", &core);
    if (status == LAC_OK) {
      status = lac_factor_make(ctx, "lac_solver_factor", core, &a, NULL, false, NULL, &factor);
    }
    if (status == LAC_OK) status = lac_factor_solve(ctx, factor, b, LAC_PLAIN, x);
    lac_memory_fail_at(0);
    CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
    lac_factor_destroy(&factor);
    lac_object_release(core);
    if (status != LAC_OK && n > 40) CHECK(check_live_blocks() <= before);  // what the pattern keeps comes first
  }
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  direct_close(&s);
}

// -- which values ----------------------------------------------------------------------------------------------------

/// Memory of the library by its version, without a look at the bits; memory of others by the bits alone.
static void values_are_recognised_by_version_or_by_bits(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60, LAC_F64, 1);
  lac_solver_options options = iterative_options("cg", "jacobi");
  iterative_system s = iterative_open(ctx, &c, &options);
  lac_factor *again = NULL;
  lac_array *copy = NULL;
  CHECK_OK(lac_solver_factor(ctx, s.s.solver, s.s.values, &again));
  CHECK(again == s.factor);
  lac_factor_destroy(&again);
  CHECK_OK(lac_array_clone(ctx, s.s.values, &copy));
  CHECK_OK(lac_solver_factor(ctx, s.s.solver, copy, &again));
  CHECK(again == s.factor);
  lac_factor_destroy(&again);
  CHECK_OK(lac_array_fill(ctx, copy, 1, 0));
  (void)lac_solver_factor(ctx, s.s.solver, copy, &again);
  CHECK(again != s.factor);
  lac_factor_destroy(&again);
  CHECK_EQ(report_of_solver(s.s.solver).setups, 2);
  lac_array_destroy(&copy);
  iterative_close(&s);
}

/// The same bits through a context whose arrays lie elsewhere are factored there: a factor takes arrays of one memory.
static void values_elsewhere_have_a_factor_of_their_own(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_NONSYMMETRIC, 30, LAC_F64, 2);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_context *elsewhere = NULL;
  lac_factor *factors[3] = {NULL, NULL, NULL};
  CHECK_OK(lac_context_create("cpu", 0, &elsewhere));
  shadow_enter(elsewhere, shadow_of("cuda"));
  lac_array *there = NULL;
  CHECK_OK(ref_upload(elsewhere, &c.a, &there));
  CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factors[0]));
  CHECK_OK(lac_solver_factor(elsewhere, s.solver, there, &factors[1]));
  CHECK(factors[1] != factors[0]);
  CHECK(iterative_residual(elsewhere, &c, factors[1], LAC_TRANSPOSED, 2) <= 1e-10);
  CHECK_OK(lac_solver_factor(ctx, s.solver, s.values, &factors[2]));
  CHECK(factors[2] == factors[0]);
  for (int i = 0; i < 3; i++) lac_factor_destroy(&factors[i]);
  lac_array_destroy(&there);
  direct_close(&s);
  lac_context_destroy(&elsewhere);
}

/// An array that a solve writes to is another matrix from then on.
static void a_solution_is_not_taken_for_the_values_it_was(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 20, LAC_F64, 2);
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  lac_solver_options options = iterative_options("gmres", "jacobi");
  lac_solver *solver = NULL;
  lac_factor *gmres = NULL;
  lac_array *b = direct_random(ctx, LAC_F64, 2, (int64_t[]){c.s->rows, 1}, 3), *x = NULL;
  CHECK_OK(lac_array_clone(ctx, b, &x));
  int64_t before = lac_array_version(x);
  CHECK_OK(lac_solver_create(ctx, s.pattern, &options, &solver));
  CHECK_OK(lac_solver_factor(ctx, solver, s.values, &gmres));
  CHECK_OK(lac_factor_solve(ctx, gmres, b, LAC_PLAIN, x));
  CHECK(lac_array_version(x) > before);
  before = lac_array_version(x);
  CHECK_OK(lac_factor_iterate(ctx, gmres, b, NULL, LAC_PLAIN, x, NULL));
  CHECK(lac_array_version(x) > before);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&gmres);
  lac_solver_destroy(&solver);
  direct_close(&s);
}

CHECK_MAIN_OF("direct", every_method_is_a_kind_of_its_name, unknown_names_are_refused,
              a_preconditioner_by_the_name_auto_is_chosen, a_rectangle_has_no_preconditioner_to_apply,
              a_solver_is_asked_for_by_name, what_works_on_the_host_serves_arrays_from_elsewhere,
              a_factor_that_travels_preconditions_a_batch, determinants_inverses_and_conditions_travel_too,
              what_is_refused_on_the_host_is_refused_here, every_failing_allocation_on_the_way_is_told,
              values_are_recognised_by_version_or_by_bits, values_elsewhere_have_a_factor_of_their_own,
              a_solution_is_not_taken_for_the_values_it_was)

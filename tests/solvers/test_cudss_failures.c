// SPDX-License-Identifier: Apache-2.0
/// What fails in cuDSS itself: the error names the call, its code and the memory, cuDSS's own memory replaces what is
/// lent and does not serve, and the automatic choice goes on. By a stand-in that fails when asked to.

#include <stdio.h>
#include <string.h>

#include "solvers/cudss_case.h"
#include "support/direct_case.h"
#include "support/reports.h"

/// Set a number of the stand-in; false with the library itself.
static int ordered(const char *name, int value) {
  void *library = dlopen(STAND_IN, RTLD_NOW | RTLD_NOLOAD);
  int *order = library ? dlsym(library, name) : NULL;
  if (order) *order = value;
  if (library) dlclose(library);
  return order != NULL;
}

static void a_failure_names_the_call_its_code_and_the_memory(lac_context *ctx) {
  if (!is_here(ctx)) return;
  if (!ordered("stand_in_analysis", 5)) {
    check_skip("the library itself does not fail when asked to");
    return;
  }
  direct_case c = direct_make(DIRECT_POISSON, 40, LAC_F64, 1);
  lac_solver_options options = cudss_options();
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_BACKEND,
              "fails with code 5: execution failed; memory is its own");
  ordered("stand_in_analysis", 2);
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_MEMORY, "the analysis of cuDSS");
  ordered("stand_in_analysis", 4);
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_UNSUPPORTED,
              "code 4: not supported; it had asked for no memory");
  ordered("stand_in_analysis", 0);
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK(!strstr(report_of_factor(factor).reason, "may differ"));  // what did not help was not given up
  direct_check(ctx, &c, factor, LAC_PLAIN, 1, 1e3);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void where_it_cannot_work_with_our_memory_it_takes_its_own(lac_context *ctx) {
  if (!is_here(ctx)) return;
  if (!ordered("stand_in_lent", 0)) {
    check_skip("the library itself does not fail when asked to");
    return;
  }
  direct_case c = direct_make(DIRECT_POISSON, 40, LAC_F64, 1);
  lac_solver_options options = cudss_options();
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  direct_system before = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL, *other = NULL;
  int own = counted("stand_in_own");
  CHECK_OK(lac_solver_factor(ctx, before.solver, before.values, &other));
  CHECK(counted("stand_in_own") == own);
  ordered("stand_in_lent", 2);
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK(counted("stand_in_own") > own);
  CHECK(report_of_factor(factor).factor_bytes >= c.s->rows * c.s->rows * 16);
  direct_check(ctx, &c, factor, LAC_PLAIN, 1, 1e3);
  lac_factor_destroy(&factor);
  lac_factor_destroy(&other);
  direct_close(&system);
  direct_close(&before);
  ordered("stand_in_lent", 0);
}

/// The automatic choice with more rows than travel without a try; the shadow passes for a CUDA device.
static void check_left(lac_context *ctx, const direct_case *c, int code) {
  char text[32];
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = NULL, *next = NULL;
  snprintf(text, sizeof text, "fails with code %d", code);
  ordered("stand_in_analysis", code);
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK(strcmp(report_of_factor(factor).method, "cudss") != 0);
  CHECK(strstr(report_of_factor(factor).reason, "cudss failed"));
  CHECK(strstr(report_of_factor(factor).reason, text));
  direct_check(ctx, c, factor, LAC_PLAIN, 1, 1e3);
  direct_check(ctx, c, factor, LAC_ADJOINT, 1, 1e3);
  CHECK_OK(lac_factor_refactor(ctx, factor, system.values, &next));
  CHECK(strcmp(report_of_factor(next).method, "cudss") != 0);
  ordered("stand_in_analysis", 0);
  lac_factor_destroy(&next);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void check_left_in_a_solve(lac_context *ctx, const direct_case *c) {
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, NULL);
  lac_factor *factor = NULL;
  ordered("stand_in_solve", 5);
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_TEXT(report_of_factor(factor).method, "cudss");
  direct_check(ctx, c, factor, LAC_PLAIN, 1, 1e3);
  CHECK(strstr(report_of_factor(factor).reason, "an engine failed"));
  CHECK(strcmp(report_of_factor(factor).method, "cudss") != 0);
  direct_check(ctx, c, factor, LAC_ADJOINT, 1, 1e3);
  ordered("stand_in_solve", 0);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void the_automatic_choice_goes_on_where_it_fails(lac_context *ctx) {
  if (!is_here(ctx)) return;
  if (!check_is_shadow()) {
    check_skip("the library itself does not fail when asked to");
    return;
  }
  direct_case c = direct_turned(101, LAC_F64);
  const char *backend = ctx->space->backend;
  ctx->space->backend = "cuda";
  check_left(ctx, &c, 2);
  check_left(ctx, &c, 4);
  check_left_in_a_solve(ctx, &c);
  ctx->space->backend = backend;
}

CHECK_MAIN(a_failure_names_the_call_its_code_and_the_memory, where_it_cannot_work_with_our_memory_it_takes_its_own,
           the_automatic_choice_goes_on_where_it_fails)

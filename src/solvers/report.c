// SPDX-License-Identifier: Apache-2.0
/// @file report.c
/// What solvers foresee, and what factors say of themselves: figures that all kinds have, and those of the kind.

#include "solvers/solver_impl.h"

lac_report lac_report_empty(void) {
  return (lac_report){.method = "", .reason = "", .warning = "", .ordering = "", .preconditioner = ""};
}

/// What is known of every core: by a kind, why, with a warning.
static lac_report report_of(const lac_solver_core *core, const char *method, const char *reason, const char *warning) {
  return (lac_report){.method = method,
                      .reason = reason,
                      .warning = warning,
                      .ordering = "natural",
                      .analyse_seconds = core->seconds,
                      .factorisations = atomic_load(&core->counts->factorisations),
                      .reuses = atomic_load(&core->counts->reuses),
                      .preconditioner = "",
                      .setups = atomic_load(&core->counts->setups),
                      .refreshes = atomic_load(&core->counts->refreshes)};
}

static lac_report report_solver(const lac_solver_core *core) {
  lac_report report = report_of(core, core->table->name, core->why, "");
  report.factor_nnz = report.factor_bytes = report.work_bytes = report.solve_bytes = -1;
  report.flops = -1;
  core->table->foresee(core, &report);
  return report;
}

/// Give out what is reported of a solver or factor, which may be NULL.
static lac_status report_give(const char *function, const void *object, lac_report report, lac_report *out) {
  lac_context *ctx = NULL;
  lac_status status = LAC_OK;

  LAC_CHECK(object, LAC_ERR_ARG, "%s: NULL has no report; give a solver or a factor", function);
  LAC_TRY(lac_sized_check(ctx, function, LAC_REPORT, out));
  lac_sized_give(LAC_REPORT, &report, out);
done:
  return status;
}

lac_status lac_solver_report(const lac_solver *solver, lac_report *out) {
  lac_report report = solver ? report_solver(solver->core) : lac_report_empty();
  return report_give("lac_solver_report", solver, report, out);
}

static lac_report report_factor(const lac_factor *f) {
  lac_report report = report_of(f->core, f->table->name, f->reason, f->warning);
  report.factor_seconds = f->seconds;
  f->table->report(f, &report);
  return report;
}

int64_t lac_factor_bytes(const lac_factor *factor) { return report_factor(factor).factor_bytes; }

lac_report lac_factor_reported(const lac_factor *factor) {
  lac_report report;
  if (!factor) return lac_report_empty();
  report = report_factor(factor);
  report.factor_bytes += lac_factor_partner_bytes(factor);
  return report;
}

lac_status lac_factor_report(const lac_factor *factor, lac_report *out) {
  return report_give("lac_factor_report", factor, lac_factor_reported(factor), out);
}

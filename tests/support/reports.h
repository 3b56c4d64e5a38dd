// SPDX-License-Identifier: Apache-2.0
/// @file reports.h
/// Reports as values, for tests that look at one field.

#ifndef LACUNA_TESTS_REPORTS_H
#define LACUNA_TESTS_REPORTS_H

#include "lacuna/solver.h"
#include "support/check.h"

static inline lac_report report_of_solver(const lac_solver *solver) {
  lac_context *ctx = NULL;
  lac_report report = {.size = sizeof report};
  CHECK_OK(lac_solver_report(solver, &report));
  return report;
}

static inline lac_report report_of_factor(const lac_factor *factor) {
  lac_context *ctx = NULL;
  lac_report report = {.size = sizeof report};
  CHECK_OK(lac_factor_report(factor, &report));
  return report;
}

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file tables.c
/// What liblacuna_suitesparse.so exports.

#include "solvers/engines/suitesparse/tables.h"

LAC_API lac_engine_open lac_engine_suitesparse;

const lac_solver_table *const *lac_engine_suitesparse(const lac_engine_host *host) {
  static const lac_solver_table *const tables[] = {&engine_cholmod, &engine_umfpack, &engine_klu, NULL};
  return plugin_start(host) ? tables : NULL;
}

// SPDX-License-Identifier: Apache-2.0
/// @file tables.c
/// What liblacuna_suitesparse.so exports.

#include "solvers/engines/suitesparse/tables.h"

LAC_API lac_plugin_open lac_plugin_suitesparse;

const void *lac_plugin_suitesparse(const lac_host *host, const void *more) {
  static const lac_direct_table *const methods[] = {&engine_cholmod, &engine_umfpack, &engine_klu, NULL};
  static const lac_engine engine = {.methods = methods};
  return plugin_start(host, more) ? &engine : NULL;
}

// SPDX-License-Identifier: Apache-2.0
/// @file registry.c
/// Kinds of solvers by name: those that are built in, and those that engines add when they are loaded.

#include <string.h>

#include "solvers/solver_impl.h"

#define LAC_KIND(name) extern const lac_solver_table lac_kind_##name;
#include "solvers/kinds.def"
#undef LAC_KIND

static const lac_solver_table *const registry_kinds[] = {
#define LAC_KIND(name) &lac_kind_##name,
#include "solvers/kinds.def"
#undef LAC_KIND
};

const char *lac_method_name(lac_method method) {
  static const char *const names[] = {
#define LAC_METHOD(word, name) [LAC_METHOD_##word] = name,
#include "solvers/methods.def"
#undef LAC_METHOD
  };
  return (unsigned)method < sizeof names / sizeof *names ? names[method] : NULL;
}

const lac_solver_table *lac_kind_built_in(const char *name) {
  for (size_t i = 0; i < sizeof registry_kinds / sizeof *registry_kinds; i++) {
    if (strcmp(registry_kinds[i]->name, name) == 0) return registry_kinds[i];
  }
  return NULL;
}

lac_status lac_kind_find(lac_context *ctx, const char *function, const char *name, const lac_solver_table **out) {
  lac_status status = LAC_OK;

  *out = lac_kind_built_in(name);
  if (!*out) LAC_TRY(lac_engine_kind(ctx, function, name, out));
  LAC_CHECK(*out, LAC_ERR_ARG, "%s: there is no method '%s'; see lac_method", function, name);
done:
  return status;
}

lac_status lac_kind_asked(lac_context *ctx, const char *function, const lac_solver_options *options,
                          const lac_solver_table **out) {
  lac_status status = LAC_OK;
  const char *name = options->name ? options->name : lac_method_name(options->method);

  LAC_CHECK(name, LAC_ERR_ARG, "%s: unknown method %d; use one of lac_method", function, (int)options->method);
  LAC_TRY(lac_kind_find(ctx, function, name, out));
done:
  return status;
}

lac_status lac_engine_find(lac_context *ctx, lac_method method) {
  lac_status status = LAC_OK;
  const lac_solver_table *kind = NULL;
  const char *name = lac_method_name(method);

  LAC_CHECK_CONTEXT();
  LAC_CHECK(name, LAC_ERR_ARG, "lac_engine_find: unknown method %d; use one of lac_method", (int)method);
  LAC_TRY(lac_kind_find(ctx, "lac_engine_find", name, &kind));
done:
  return status;
}

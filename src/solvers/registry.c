// SPDX-License-Identifier: Apache-2.0
/// @file registry.c
/// Kinds of solvers by name: those that are built in, and those that engines add when they are loaded.

#include <stdio.h>
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

const lac_solver_table *lac_kind_built_in(const char *name) {
  for (size_t i = 0; i < sizeof registry_kinds / sizeof *registry_kinds; i++) {
    if (strcmp(registry_kinds[i]->name, name) == 0) return registry_kinds[i];
  }
  return NULL;
}

/// Add a name to a list of names: "lu", "qr".
static void registry_add(char text[LAC_KIND_NAMES], const char *name) {
  size_t length = strlen(text);
  (void)snprintf(text + length, LAC_KIND_NAMES - length, "%s\"%s\"", length ? ", " : "", name);
}

/// The names of all kinds that have none of these flags, those of engines too.
static void registry_list(unsigned without, char text[LAC_KIND_NAMES]) {
  text[0] = 0;
  for (size_t i = 0; i < sizeof registry_kinds / sizeof *registry_kinds; i++) {
    if (!(registry_kinds[i]->flags & without)) registry_add(text, registry_kinds[i]->name);
  }
  for (int i = 0; lac_engine_name(i); i++) registry_add(text, lac_engine_name(i));
}

const char *lac_kind_names(unsigned flags, char text[LAC_KIND_NAMES]) {
  text[0] = 0;
  for (size_t i = 0; i < sizeof registry_kinds / sizeof *registry_kinds; i++) {
    if (registry_kinds[i]->flags & flags) registry_add(text, registry_kinds[i]->name);
  }
  for (int i = 0; lac_engine_name(i); i++) {
    if (lac_engine_flags(i) & flags) registry_add(text, lac_engine_name(i));
  }
  return text;
}

static lac_status registry_find(lac_context *ctx, const char *function, const char *what, unsigned without,
                                const char *name, const lac_solver_table **out) {
  lac_status status = LAC_OK;
  char names[LAC_KIND_NAMES];

  *out = lac_kind_built_in(name);
  if (!*out) LAC_TRY(lac_engine_kind(ctx, function, name, out));
  if (!*out) registry_list(without, names);
  LAC_CHECK(*out, LAC_ERR_ARG, "%s: there is no %s \"%s\"; there are %s", function, what, name, names);
done:
  return status;
}

lac_status lac_kind_find(lac_context *ctx, const char *function, const char *name, const lac_solver_table **out) {
  return registry_find(ctx, function, "method", 0, name ? name : "auto", out);
}

lac_status lac_kind_of_preconditioner(lac_context *ctx, const char *function, const char *name,
                                      const lac_solver_table **out) {
  *out = NULL;
  if (!name || strcmp(name, "auto") == 0) return LAC_OK;
  return registry_find(ctx, function, "preconditioner", LAC_ITERATES | LAC_DELEGATES, name, out);
}

lac_status lac_engine_find(lac_context *ctx, const char *name) {
  lac_status status = LAC_OK;
  const lac_solver_table *kind = NULL;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(name, LAC_ERR_ARG, "lac_engine_find: the name is NULL; give that of an engine, \"umfpack\" say");
  LAC_TRY(lac_kind_find(ctx, "lac_engine_find", name, &kind));
done:
  return status;
}

// SPDX-License-Identifier: Apache-2.0
/// @file functions.c
/// The table of functions, from functions.def, and what a call of one was given.

#include <string.h>

#include "core/object.h"
#include "functions/function.h"

#define LAC_FUNCTION(name) extern const lac_function lac_function_##name;
#include "functions/functions.def"
#undef LAC_FUNCTION

static const lac_function *const functions_table[] = {
#define LAC_FUNCTION(name) &lac_function_##name,
#include "functions/functions.def"
#undef LAC_FUNCTION
};

int lac_function_count(void) { return (int)(sizeof functions_table / sizeof *functions_table); }

const lac_function *lac_function_at(int i) { return i >= 0 && i < lac_function_count() ? functions_table[i] : NULL; }

const lac_function *lac_function_find(const char *name) {
  for (int i = 0; name && i < lac_function_count(); i++) {
    if (strcmp(functions_table[i]->name, name) == 0) return functions_table[i];
  }
  return NULL;
}

const void *lac_function_object(const lac_function_call *c, int n, const char *kind) {
  const lac_object *object = n < c->objects ? c->object[n] : NULL;
  return object && strcmp(object->kind->name, kind) == 0 ? object : NULL;
}

const void *lac_function_factored(const lac_function_call *c, int n) {
  const void *factor = lac_function_object(c, n, "factor");
  return factor ? factor : lac_function_object(c, n, "solver");
}

int64_t lac_function_int(const lac_function_call *c, int n) { return n < c->ints ? c->i[n] : 0; }

double lac_function_real(const lac_function_call *c, int n) { return n < c->reals ? c->f[n] : 0; }

lac_var lac_function_in(const lac_function_call *c, int n) { return n < c->ins ? c->in[n] : (lac_var){0}; }

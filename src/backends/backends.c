// SPDX-License-Identifier: Apache-2.0
/// @file backends.c
/// The backends of this build, by name.

#include <string.h>

#include "core/backend.h"

#define LAC_BACKEND(name) extern const lac_backend lac_##name##_backend;
#include "backends/backends.def"
#undef LAC_BACKEND

static const lac_backend *const backends_built[] = {
#define LAC_BACKEND(name) &lac_##name##_backend,
#include "backends/backends.def"
#undef LAC_BACKEND
};

const lac_backend *lac_backend_find(const char *name) {
  for (size_t i = 0; i < sizeof backends_built / sizeof *backends_built; ++i) {
    if (strcmp(backends_built[i]->name, name) == 0) return backends_built[i];
  }
  return NULL;
}

/// Each name after a space; the first space is skipped.
static const char backends_names[] = ""
#define LAC_BACKEND(name) " " #name
#include "backends/backends.def"
#undef LAC_BACKEND
    ;

const char *lac_backends(void) { return backends_names + 1; }

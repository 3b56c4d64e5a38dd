// SPDX-License-Identifier: Apache-2.0
/// @file backends.c
/// The tables of this build, by name.

#include <string.h>

#include "kernels/kernels.h"

#define LAC_BACKEND(name) extern const lac_kernels lac_##name##_kernels;
#include "backends/backends.def"
#undef LAC_BACKEND

static const lac_kernels *const backends_tables[] = {
#define LAC_BACKEND(name) &lac_##name##_kernels,
#include "backends/backends.def"
#undef LAC_BACKEND
};

const lac_kernels *lac_kernels_find(const char *backend) {
  for (size_t i = 0; i < sizeof backends_tables / sizeof *backends_tables; ++i) {
    if (strcmp(backends_tables[i]->name, backend) == 0) return backends_tables[i];
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

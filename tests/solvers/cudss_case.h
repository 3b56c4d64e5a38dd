// SPDX-License-Identifier: Apache-2.0
/// @file cudss_case.h
/// What tests of cuDSS share: the library that they use, on the shadow of CUDA a stand-in (cudss_stand_in.c), and its
/// counters.

#ifndef TESTS_SOLVERS_CUDSS_CASE_H
#define TESTS_SOLVERS_CUDSS_CASE_H

#include <dlfcn.h>
#include <stdlib.h>

#include "solvers/solver_impl.h"
#include "support/check.h"

#ifndef STAND_IN
#define STAND_IN CUDSS_STAND_INS "1.so"
enum { STAND_IN_ALONE = 0 };
#else
enum { STAND_IN_ALONE = 1 };
#endif

/// Whether there is a cuDSS for the backend's arrays; says why not.
static inline int is_here(lac_context *ctx) {
  if (lac_context_is_host(ctx) || (STAND_IN_ALONE && !check_is_shadow())) {
    check_skip(STAND_IN_ALONE ? "this stand-in works on the shadow alone" : "cuDSS works on devices alone");
    return 0;
  }
  if (check_is_shadow()) setenv("LACUNA_CUDSS", STAND_IN, 1);
  if (lac_engine_find(ctx, "cudss") == LAC_OK) return 1;
  check_skip(lac_context_error(ctx));
  lac_context_clear_error(ctx);
  return 0;
}

static inline lac_solver_options cudss_options(void) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "cudss";
  return options;
}

/// A counter of the stand-in; 0 with the library itself.
static inline int counted(const char *name) {
  void *library = dlopen(STAND_IN, RTLD_NOW | RTLD_NOLOAD);
  const int *counter = library ? dlsym(library, name) : NULL;
  int count = counter ? *counter : 0;
  if (library) dlclose(library);
  return count;
}

#endif

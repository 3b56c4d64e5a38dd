// SPDX-License-Identifier: Apache-2.0
/// @file engine_case.c
/// Engines, one after the other.

#include "support/engine_case.h"

#include <stdio.h>

#include "support/check.h"
#include "support/scratch.h"

const engine ENGINES[ENGINE_COUNT] = {
    {"cholmod", "cholmod", 1, 0}, {"umfpack", "umfpack", 0, 0}, {"klu", "klu", 0, 0}, {"mumps", "mumps", 0, 1}};

void each_engine(lac_context *ctx, void (*visit)(lac_context *ctx, const engine *e)) {
  for (int i = 0; i < ENGINE_COUNT; i++) {
    lac_status status = lac_engine_find(ctx, ENGINES[i].method);
    check_battery(status == LAC_OK);
    if (status == LAC_OK) {
      visit(ctx, &ENGINES[i]);
    } else {
      static int said[ENGINE_COUNT];
      if (!said[i]++) printf("skip: %s\n", lac_context_error(ctx));
      lac_context_clear_error(ctx);
    }
  }
}

int is_single(lac_dtype dtype) { return dtype == LAC_F32 || dtype == LAC_C64; }

int engine_takes(const engine *e, direct_kind kind, lac_dtype dtype) {
  int is_definite = kind == DIRECT_POSITIVE || kind == DIRECT_ARROW || kind == DIRECT_POISSON;
  return (e->has_single || !is_single(dtype)) && (is_definite || !e->is_hermitian);
}

lac_solver_options engine_options(const engine *e, lac_ordering ordering) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = e->method;
  options.ordering = ordering;
  return options;
}

void each_case(lac_context *ctx, const engine *e, int64_t n,
               void (*check)(lac_context *, const engine *, const direct_case *)) {
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    for (int d = LAC_F32; d <= LAC_C128; d++) {
      if (!engine_takes(e, kind, (lac_dtype)d)) continue;
      size_t mark = scratch_mark();
      direct_case c = direct_make(kind, n, (lac_dtype)d, (uint64_t)kind + 1);
      check(ctx, e, &c);
      scratch_release(mark);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
/// Functions of absent vars: in a rule their results are absent and nothing fails, elsewhere they are refused as
/// absent.

#include <string.h>

#include "autodiff/tape_impl.h"
#include "lacuna/extend.h"
#include "support/check.h"

enum { N = 3, OBJECTS = 2, INS = 4, INTS = 8 };

/// One object of each kind that functions take.
typedef struct world {
  lac_pattern *pattern;
  lac_solver *solver;
  lac_map *map;
} world;

static world world_open(lac_context *ctx) {
  world w = {NULL, NULL, NULL};
  CHECK_OK(lac_pattern_eye(ctx, N, N, 0, LAC_WIDTH_AUTO, &w.pattern));
  CHECK_OK(lac_solver_create(ctx, w.pattern, NULL, &w.solver));
  CHECK_OK(lac_pattern_row_map(ctx, w.pattern, &w.map));
  return w;
}

static void world_close(world *w) {
  lac_map_destroy(&w->map);
  lac_solver_destroy(&w->solver);
  lac_pattern_destroy(&w->pattern);
}

static const void *object_of(const world *w, const char *kind) {
  if (strncmp(kind, "pattern", 7) == 0) return w->pattern;
  if (strncmp(kind, "map", 3) == 0) return w->map;
  return strncmp(kind, "solver", 6) == 0 || strncmp(kind, "factor", 6) == 0 ? w->solver : NULL;
}

/// The objects that a function's parameters name, in order.
static int objects_of(const world *w, const lac_function *f, const void *objects[OBJECTS]) {
  int count = 0;
  for (const char *at = strstr(f->parameters, ": "); at; at = strstr(at + 2, ": ")) {
    const void *object = object_of(w, at + 2);
    if (object && count < OBJECTS) objects[count++] = object;
  }
  return count;
}

/// Let a function write on a tape, with all objects and no input; whether a result is there.
static bool write_absent(const world *w, const lac_function *f, lac_tape *tape) {
  const void *objects[OBJECTS] = {NULL};
  const int64_t i[INTS] = {0};
  const double reals[INTS] = {0};
  const lac_var in[INS] = {{0}};
  lac_var out[LAC_FUNCTION_OUTS] = {{0}};
  int count = objects_of(w, f, objects), ins = strstr(f->parameters, "pattern[]") ? count : INS;
  lac_function_call call = {tape, count, INTS, INTS, ins, 1, objects, i, reals, in, out};
  f->write(&call);
  return out[0].id != 0;
}

/// The one function of which absent values are zeros.
static bool takes_absent(const lac_function *f) { return strcmp(f->name, "spadd") == 0; }

static void outside_rules_absent_vars_are_refused_as_absent(lac_context *ctx) {
  world w = world_open(ctx);
  for (int n = 0; n < lac_function_count(); ++n) {
    const lac_function *f = lac_function_at(n);
    lac_tape *tape = NULL;
    CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
    if (write_absent(&w, f, tape) || (!takes_absent(f) && lac_tape_status(tape) != LAC_ERR_ABSENT)) {
      check_fail(__FILE__, __LINE__, "%s of absent vars: %s, %s", f->name, lac_status_name(lac_tape_status(tape)),
                 lac_context_error(ctx));
    }
    lac_tape_destroy(&tape);
  }
  world_close(&w);
}

static void in_rules_absent_vars_make_absent_results(lac_context *ctx) {
  world w = world_open(ctx);
  for (int n = 0; n < lac_function_count(); ++n) {
    const lac_function *f = lac_function_at(n);
    lac_tape *tape = NULL;
    CHECK_OK(lac_tape_open(ctx, TAPE_WRITE, &tape));
    if (write_absent(&w, f, tape) || lac_tape_status(tape) != LAC_OK) {
      check_fail(__FILE__, __LINE__, "%s of absent vars in a rule: %s, %s", f->name,
                 lac_status_name(lac_tape_status(tape)), lac_context_error(ctx));
    }
    lac_tape_destroy(&tape);
  }
  world_close(&w);
}

static void vars_of_other_tapes_are_named_as_such(lac_context *ctx) {
  lac_tape *tape = NULL;
  const lac_var foreign = {INT64_C(1) << 40 | 1};
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  (void)lac_toeplitz_mm(tape, foreign, foreign, foreign, LAC_PLAIN);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ABSENT, "toeplitz_mm: input 0 is a var of another tape");
  lac_tape_destroy(&tape);
}

CHECK_MAIN(outside_rules_absent_vars_are_refused_as_absent, in_rules_absent_vars_make_absent_results,
           vars_of_other_tapes_are_named_as_such)

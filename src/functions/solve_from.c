// SPDX-License-Identifier: Apache-2.0
/// @file solve_from.c
/// A solve with a start or a report: the operator solve_from, or solve_with where there is no start.

#include "functions/function.h"
#include "ops/solves/factored.h"

static lac_var solve_from_by(lac_tape *tape, const void *object, lac_var a, lac_var b, lac_var x0, lac_form op,
                             bool reports) {
  lac_spec spec = {.op = lac_op_find(x0.id ? "solve_from" : "solve_with"),
                   .attrs.i = {[SOLVE_FORM] = op, [SOLVE_REPORTS] = reports}};
  lac_var x;

  if (object) spec.patterns[0] = lac_core_of(object)->blocks;
  lac_tape_call_factored(tape, "solve_from", object, spec, (lac_var[]){a, b, x0}, &x);
  return x;
}

lac_var lac_solve_from(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var b, lac_var x0, lac_form op,
                       bool reports) {
  return solve_from_by(tape, solver, a, b, x0, op, reports);
}

LAC_WRITES(solve_from, "solver: factor, a: values, b: columns, x0: columns = none, op: form = N, reports: flag = false",
           "x = op(A)^-1 b, by an iteration from x0; with `reports` not to reach the tolerance is no error.") {
  c->out[0] = solve_from_by(c->tape, FACTORED(c, 0), IN(c, 0), IN(c, 1), IN(c, 2), (lac_form)INT(c, 0), INT(c, 1) != 0);
}

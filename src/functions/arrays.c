// SPDX-License-Identifier: Apache-2.0
/// @file arrays.c
/// Functions of arrays: concatenation of many, and operators with a number of their own under names that users know.
///
///     neg      -x                  square       x^2        reciprocal   x^-1
///     concat   pairs of arrays, then pairs of pairs

#include "functions/function.h"

lac_var lac_concat_all(lac_tape *tape, int n, const lac_var *vars, int axis) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;

  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(n >= 1, LAC_ERR_ARG, "concat_all: n = %d arrays; give at least one", n);
  LAC_CHECK(vars, LAC_ERR_ARG, "concat_all: vars is NULL; give a list of %d arrays", n);
  if (!lac_tape_has(tape, "concat_all", n, vars)) return (lac_var){0};
  if (n == 1) {  // what no call looks at
    int from_end = lac_axis_from_end(tape, "concat_all", lac_axes_of(tape, vars[0]), axis);
    return from_end < 0 ? (lac_var){0} : vars[0];
  }
  return lac_concat(tape, lac_concat_all(tape, n / 2, vars, axis), lac_concat_all(tape, n - n / 2, vars + n / 2, axis),
                    axis);
done:
  return lac_tape_fail(tape, status);
}

LAC_WRITES(neg, "x: array", "-x.") { c->out[0] = lac_neg(c->tape, IN(c, 0)); }

LAC_WRITES(square, "x: array", "x^2.") { c->out[0] = lac_square(c->tape, IN(c, 0)); }

LAC_WRITES(reciprocal, "x: array", "1 / x.") { c->out[0] = lac_reciprocal(c->tape, IN(c, 0)); }

LAC_WRITES(concat, "arrays: array[], axis: axis = 0",
           "Arrays behind each other along an axis; axes before it broadcast.") {
  c->out[0] = lac_concat_all(c->tape, c->ins, c->in, -1 - (int)INT(c, 0));
}

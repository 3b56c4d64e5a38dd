// SPDX-License-Identifier: Apache-2.0
/// @file triangles.c
/// The triangle of a matrix as a system: lac_trisolve takes it out of any pattern by a remap, and solves with it.

#include "functions/function.h"

LAC_WRITES(trisolve,
           "pattern: pattern, a: values, b: columns, triangle: lower|upper = lower, diagonal: stored|unit = stored, "
           "op: form = N",
           "op(T) x = b with T the named triangle of the matrix; diagonal \"unit\" does not read a stored one.") {
  c->out[0] = lac_trisolve(c->tape, PATTERN(c, 0), IN(c, 0), IN(c, 1), (lac_triangle)INT(c, 0), (lac_diagonal)INT(c, 1),
                           (lac_form)INT(c, 2));
}

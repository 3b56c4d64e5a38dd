// SPDX-License-Identifier: Apache-2.0
/// @file determinants.c
/// What is made of the operator logdet, which gives (log det A, its sign):
///
///     logdet    log|det A|; of a complex matrix log|det A| + i arg(det A)
///     slogdet   sign, Re(logdet)
///     det       sign exp(logdet), of a complex matrix exp(logdet), which has the phase already

#include "functions/function.h"
#include "ops/solves/factored.h"

enum { LOGDET, SIGN };

static void slogdet_by(lac_tape *tape, const void *object, lac_var a, lac_var out[2]) {
  lac_var made[2];

  lac_emit_logdet(tape, "slogdet", object, a, made);
  out[0] = made[SIGN];
  out[1] = lac_real(tape, made[LOGDET]);
}

static lac_var det_by(lac_tape *tape, const void *object, lac_var a) {
  const lac_meta *meta = lac_tape_meta(tape, a);
  bool is_complex = meta && lac_dtype_is_complex(meta->dtype);
  lac_var out[2];

  lac_emit_logdet(tape, "det", object, a, out);
  lac_var size = lac_exp(tape, out[LOGDET]);
  return is_complex ? size : lac_mul(tape, out[SIGN], size);
}

void lac_slogdet(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var out[2]) {
  if (lac_tape_results(tape, "slogdet", 2, out)) slogdet_by(tape, solver, a, out);
}

lac_var lac_det(lac_tape *tape, const lac_solver *solver, lac_var a) { return det_by(tape, solver, a); }

LAC_WRITES(logdet, "solver: factor, a: values",
           "log|det A|; of a complex matrix log|det A| + i arg(det A), the principal branch.") {
  lac_var out[2];

  lac_emit_logdet(c->tape, "logdet", FACTORED(c, 0), IN(c, 0), out);
  c->out[0] = out[LOGDET];
}

LAC_WRITES(
    slogdet, "solver: factor, a: values",
    "(sign, logabs) with det A = sign exp(logabs): sign is 1 or -1, of complex matrices the phase; logabs is real.") {
  c->outs = 2;
  slogdet_by(c->tape, FACTORED(c, 0), IN(c, 0), c->out);
}

LAC_WRITES(det, "solver: factor, a: values",
           "det A. It overflows and underflows where the number does: slogdet does not.") {
  c->out[0] = det_by(c->tape, FACTORED(c, 0), IN(c, 0));
}

// SPDX-License-Identifier: Apache-2.0
/// @file circulant_solve.c
/// The solution of a circulant system, by division in Fourier space.
///
///     forward   op(C) x = b,  C[i, j] = c[(i - j) mod n]      i[0]: form
///     vjp       lambda  = op(C)^-H x_bar                      b_bar = lambda,  c_bar = -circulant_outer(lambda, x)
///     jvp       x_dot   = op(C)^-1 (b_dot - op(C_dot) x)

#include "ops/structured/circulant.h"

enum { C, B };
enum { X };

static lac_status circulant_solve_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->circulant_solve));
  LAC_TRY(KERNELS(c)->circulant_solve(ctx, FORM(c), c->in[C], c->in[B], c->out[X]));
done:
  return status;
}

static void circulant_solve_vjp(lac_rule *r) {
  lac_var lambda = lac_circulant_solve(r->tape, r->in[C], r->out_bar[X], flip(FORM(r)));

  r->in_bar[B] = lambda;
  if (r->wants[C]) {
    r->in_bar[C] = lac_neg(r->tape, lac_emit_circulant_bar(r->tape, FORM(r), lambda, r->out[X]));
  }
}

static void circulant_solve_jvp(lac_rule *r) {
  lac_var change = lac_circulant_mm(r->tape, r->in_dot[C], r->out[X], FORM(r));
  r->out_dot[X] = lac_circulant_solve(r->tape, r->in[C], lac_sub(r->tape, r->in_dot[B], change), FORM(r));
}

const lac_op lac_op_circulant_solve = {
    .name = "circulant_solve",
    .signature = "(n),(n,k)->(n,k)",
    .binds = "op",
    .parameters = "c: array, b: columns, op: form = N",
    .about = "x = op(C)^-1 b, as scipy.linalg.solve_circulant.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(C) | NEEDS_OUT(X),
    .jvp_needs = NEEDS_IN(C) | NEEDS_OUT(X),
    .forward = circulant_solve_forward,
    .vjp = circulant_solve_vjp,
    .jvp = circulant_solve_jvp,
};

lac_var lac_circulant_solve(lac_tape *tape, lac_var c, lac_var b, lac_form op) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_circulant_solve, .attrs.i = {op}}, (lac_var[]){c, b});
}

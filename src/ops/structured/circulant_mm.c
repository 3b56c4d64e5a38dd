// SPDX-License-Identifier: Apache-2.0
/// @file circulant_mm.c
/// A circulant matrix, of which only the first column is stored, times a dense block: a circular convolution.
///
///     forward   y     = op(C) x,  C[i, j] = c[(i - j) mod n]      i[0]: form
///     vjp       c_bar = circulant_outer(y_bar, x)                 exchanged and conjugated with the form
///               x_bar = op(C)^H y_bar
///     jvp       y_dot = op(C_dot) x + op(C) x_dot

#include "ops/structured/circulant.h"

enum { C, X };
enum { Y };

static lac_status circulant_mm_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->circulant_mm));
  LAC_TRY(KERNELS(c)->circulant_mm(ctx, FORM(c), c->in[C], c->in[X], c->out[Y]));
done:
  return status;
}

static void circulant_mm_vjp(lac_rule *r) {
  if (r->wants[C]) r->in_bar[C] = lac_emit_circulant_bar(r->tape, FORM(r), r->out_bar[Y], r->in[X]);
  if (r->wants[X]) r->in_bar[X] = lac_circulant_mm(r->tape, r->in[C], r->out_bar[Y], flip(FORM(r)));
}

static void circulant_mm_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_add(r->tape, lac_circulant_mm(r->tape, r->in_dot[C], r->in[X], FORM(r)),
                          lac_circulant_mm(r->tape, r->in[C], r->in_dot[X], FORM(r)));
}

const lac_op lac_op_circulant_mm = {
    .name = "circulant_mm",
    .signature = "(n),(n,k)->(n,k)",
    .binds = "op",
    .parameters = "c: array, x: columns, op: form = N",
    .about = "y = op(C) x with C[i, j] = c[(i - j) mod n], in O(n log n).",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(C) | NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(C) | NEEDS_IN(X),
    .forward = circulant_mm_forward,
    .vjp = circulant_mm_vjp,
    .jvp = circulant_mm_jvp,
};

lac_var lac_circulant_mm(lac_tape *tape, lac_var c, lac_var x, lac_form op) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_circulant_mm, .attrs.i = {op}}, (lac_var[]){c, x});
}

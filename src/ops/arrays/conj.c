// SPDX-License-Identifier: Apache-2.0
/// @file conj.c
/// The complex conjugate. Free on reals: the public function returns its argument.
///
///     forward   y     = conj(x)
///     vjp       x_bar = conj(y_bar)
///     jvp       y_dot = conj(x_dot)

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status conj_forward(lac_call *c) { return KERNELS(c)->conj(c->ctx, c->in[X], c->out[Y]); }

static void conj_vjp(lac_rule *r) { r->in_bar[X] = lac_conj(r->tape, r->out_bar[Y]); }

static void conj_jvp(lac_rule *r) { r->out_dot[Y] = lac_conj(r->tape, r->in_dot[X]); }

const lac_op lac_op_conj = {
    .name = "conj",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "conj(x).",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_POINTWISE,
    .forward = conj_forward,
    .vjp = conj_vjp,
    .jvp = conj_jvp,
};

lac_var lac_conj(lac_tape *tape, lac_var x) {
  const lac_meta *meta = lac_tape_meta(tape, x);

  if (meta && !lac_dtype_is_complex(meta->dtype)) return x;
  return lac_emit(tape, &(lac_spec){.op = &lac_op_conj}, &x);
}

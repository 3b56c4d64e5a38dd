// SPDX-License-Identifier: Apache-2.0
/// @file real.c
/// The real part. Free on reals: the public function returns its argument.
///
///     forward   y     = Re x              of the real dtype
///     vjp       x_bar = y_bar + 0i
///     jvp       y_dot = Re x_dot

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status real_forward(lac_call *c) { return lac_call_unary(c, LAC_REAL); }

static void real_vjp(lac_rule *r) { r->in_bar[X] = lac_cast(r->tape, r->out_bar[Y], r->in_meta[X].dtype); }

static void real_jvp(lac_rule *r) { r->out_dot[Y] = lac_real(r->tape, r->in_dot[X]); }

const lac_op lac_op_real = {
    .name = "real",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "The real part.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_POINTWISE,
    .infer = lac_call_match_real,
    .forward = real_forward,
    .vjp = real_vjp,
    .jvp = real_jvp,
};

lac_var lac_real(lac_tape *tape, lac_var x) {
  const lac_meta *meta = lac_tape_meta(tape, x);

  if (meta && !lac_dtype_is_complex(meta->dtype)) return x;
  return lac_emit(tape, &(lac_spec){.op = &lac_op_real}, &x);
}

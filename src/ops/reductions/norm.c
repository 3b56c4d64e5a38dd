// SPDX-License-Identifier: Apache-2.0
/// @file norm.c
/// The Euclidean norm over some axes.
///
///     forward   y     = sqrt(sum of |x|^2)             over the axes of a mask, real; i[0]: mask, i[1]: keepdims
///     vjp       x_bar = u y_bar                        u = x / y, and 0 where y is 0
///     jvp       y_dot = sum of Re(conj(u) x_dot)
///
/// Squares are scaled: neither 1e200 nor 1e-200 leaves the range. At zero, where the norm has no derivative, 0 is
/// taken.

#include "ops/axes.h"

enum { X };
enum { Y };

static lac_status norm_infer(lac_call *c) {
  lac_status status = lac_call_reduce_local(c);
  c->out_meta[Y].dtype = lac_dtype_real(c->out_meta[Y].dtype);
  return status;
}

static lac_status norm_forward(lac_call *c) { return lac_call_reduce(c, LAC_REDUCE_NORM); }

/// y spread over x, in its dtype.
static lac_var norm_spread(lac_rule *r, lac_var y) {
  return lac_cast(r->tape, lac_emit_spread(r, y), r->in_meta[X].dtype);
}

static lac_var norm_direction(lac_rule *r) { return lac_div_or_zero(r->tape, r->in[X], norm_spread(r, r->out[Y])); }

static void norm_vjp(lac_rule *r) { r->in_bar[X] = lac_mul(r->tape, norm_direction(r), norm_spread(r, r->out_bar[Y])); }

static void norm_jvp(lac_rule *r) {
  lac_var along = lac_mul(r->tape, lac_conj(r->tape, norm_direction(r)), r->in_dot[X]);
  r->out_dot[Y] = lac_sum_axes(r->tape, lac_real(r->tape, along), OVER(MASK(r)), KEEP(r));
}

const lac_op lac_op_norm = {
    .name = "norm",
    .signature = "()->()",
    .parameters = "x: array, axis: axes = all, keepdims: flag = false",
    .about = "sqrt(sum |x|^2) over the given axes, all by default: real, its gradient at zero is zero.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X) | NEEDS_OUT(Y),
    .jvp_needs = NEEDS_IN(X) | NEEDS_OUT(Y),
    .infer = norm_infer,
    .forward = norm_forward,
    .vjp = norm_vjp,
    .jvp = norm_jvp,
};

lac_var lac_norm(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims) {
  uint32_t mask = lac_axes_mask(tape, "norm", lac_axes_of(tape, x), count, axes);
  return lac_emit(tape, &(lac_spec){.op = &lac_op_norm, .attrs.i = {mask, keepdims}}, &x);
}

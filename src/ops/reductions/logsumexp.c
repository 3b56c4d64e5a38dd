// SPDX-License-Identifier: Apache-2.0
/// @file logsumexp.c
/// The logarithm of a sum of exponentials over some axes.
///
///     forward   y     = log(sum of exp(x))              over the axes of a mask; i[0]: mask, i[1]: keepdims
///     vjp       x_bar = softmax(x) y_bar
///     jvp       y_dot = sum of softmax(x) x_dot
///
/// Exponentials are of x - max(x) and do not overflow. Of numbers that all are -inf it is -inf, its gradient zero.

#include "ops/axes.h"

enum { X };
enum { Y };

static lac_status logsumexp_forward(lac_call *c) { return lac_call_reduce(c, LAC_REDUCE_LOGSUMEXP); }

static void logsumexp_vjp(lac_rule *r) {
  r->in_bar[X] = lac_mul(r->tape, lac_softmax(r->tape, r->in[X], OVER(MASK(r))), lac_emit_spread(r, r->out_bar[Y]));
}

static void logsumexp_jvp(lac_rule *r) {
  lac_var terms = lac_mul(r->tape, lac_softmax(r->tape, r->in[X], OVER(MASK(r))), r->in_dot[X]);
  r->out_dot[Y] = lac_sum_axes(r->tape, terms, OVER(MASK(r)), KEEP(r));
}

const lac_op lac_op_logsumexp = {
    .name = "logsumexp",
    .signature = "()->()",
    .parameters = "x: array, axis: axes = all, keepdims: flag = false",
    .about =
        "log(sum(exp(x))) over the given axes, of reals, without overflow; all -inf gives -inf, with a gradient of "
        "zero.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .infer = lac_call_reduce_ordered,
    .forward = logsumexp_forward,
    .vjp = logsumexp_vjp,
    .jvp = logsumexp_jvp,
};

lac_var lac_logsumexp(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims) {
  uint32_t mask = lac_axes_mask(tape, "logsumexp", lac_axes_of(tape, x), count, axes);
  return lac_emit(tape, &(lac_spec){.op = &lac_op_logsumexp, .attrs.i = {mask, keepdims}}, &x);
}

// SPDX-License-Identifier: Apache-2.0
/// @file power.c
/// An array to a frozen power, and what is made of it: square, reciprocal.
///
///     forward   y     = x^p                          p = f[0]; 0^0 = 1; the public function returns x for p = 1
///     vjp       x_bar = y_bar conj(p x^(p-1))        nothing for p = 0
///     jvp       y_dot = p x^(p-1) x_dot
///
/// Of negative powers p x^(p-1) is p y / x, and y meets the adjoint or the tangent first: what comes up lies between
/// that and the result, where x^(p-1) alone would leave the range of numbers before either does. y is computed again,
/// so that no power keeps it.
///
/// No logarithm is taken: of a whole p >= 0 every derivative at 0 is right, and those beyond p end. Of finite negative
/// reals x^p is NaN unless p is whole; of complex numbers it has the branch of exp(p log x).

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status power_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->power));
  LAC_TRY(KERNELS(c)->power(ctx, c->attrs->f[0], c->in[X], c->out[Y]));
done:
  return status;
}

static lac_var power_conj_if(lac_rule *r, bool is_adjoint, lac_var v) { return is_adjoint ? lac_conj(r->tape, v) : v; }

/// p x^(p-1) v, or p conj(x^(p-1)) v; absent where p is 0.
static lac_var power_slope(lac_rule *r, bool is_adjoint, lac_var v) {
  double p = r->attrs->f[0];
  lac_var x = power_conj_if(r, is_adjoint, r->in[X]), product;

  if (p == 0) return (lac_var){0};
  if (p < 0) {
    product = lac_div(r->tape, lac_mul(r->tape, v, power_conj_if(r, is_adjoint, lac_power(r->tape, r->in[X], p))), x);
  } else {
    product = lac_mul(r->tape, v, power_conj_if(r, is_adjoint, lac_power(r->tape, r->in[X], p - 1)));
  }
  return lac_scale(r->tape, product, p, 0);
}

static void power_vjp(lac_rule *r) { r->in_bar[X] = power_slope(r, true, r->out_bar[Y]); }

static void power_jvp(lac_rule *r) { r->out_dot[Y] = power_slope(r, false, r->in_dot[X]); }

const lac_op lac_op_power = {
    .name = "power",
    .signature = "()->()",
    .parameters = "x: array, exponent: real",
    .about = "x^exponent, a frozen number: no logarithm is taken.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .forward = power_forward,
    .vjp = power_vjp,
    .jvp = power_jvp,
};

lac_var lac_power(lac_tape *tape, lac_var x, double exponent) {
  return exponent == 1 ? x : lac_emit(tape, &(lac_spec){.op = &lac_op_power, .attrs.f = {exponent}}, &x);
}

lac_var lac_square(lac_tape *tape, lac_var x) { return lac_power(tape, x, 2); }

lac_var lac_reciprocal(lac_tape *tape, lac_var x) { return lac_power(tape, x, -1); }

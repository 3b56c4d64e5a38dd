// SPDX-License-Identifier: Apache-2.0
/// @file power.c
/// An array to a frozen power, and what is made of it: square, reciprocal.
///
///     forward   y     = x^p                          p = f[0]; 0^0 = 1; the public function returns x for p = 1
///     vjp       x_bar = y_bar conj(p x^(p-1))        nothing for p = 0
///     jvp       y_dot = p x^(p-1) x_dot
///
/// No logarithm is taken: of a whole p >= 0 every derivative at 0 is right, and those beyond p end. Of negative reals x^p is NaN unless
/// p is whole; of complex numbers it has the branch of exp(p log x).

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

/// p x^(p-1); absent where p is 0. Of negative powers it is p x^p / x: no power comes up that the derivative itself
/// does not have, of which x^(p-2) would leave the range of numbers first.
static lac_var power_slope(lac_rule *r) {
  double p = r->attrs->f[0];
  lac_var x = r->in[X];
  if (p == 0) return (lac_var){0};
  return lac_scale(r->tape, p, 0, p < 0 ? lac_div(r->tape, lac_power(r->tape, p, x), x) : lac_power(r->tape, p - 1, x));
}

static void power_vjp(lac_rule *r) {
  r->in_bar[X] = lac_mul(r->tape, r->out_bar[Y], lac_conj(r->tape, power_slope(r)));
}

static void power_jvp(lac_rule *r) { r->out_dot[Y] = lac_mul(r->tape, power_slope(r), r->in_dot[X]); }

const lac_op lac_op_power = {
    .name = "power",
    .signature = "()->()",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .forward = power_forward,
    .vjp = power_vjp,
    .jvp = power_jvp,
};

lac_var lac_power(lac_tape *tape, double exponent, lac_var x) {
  return exponent == 1 ? x : lac_emit(tape, &(lac_spec){.op = &lac_op_power, .attrs.f = {exponent}}, &x);
}

lac_var lac_square(lac_tape *tape, lac_var x) { return lac_power(tape, 2, x); }

lac_var lac_reciprocal(lac_tape *tape, lac_var x) { return lac_power(tape, -1, x); }

// SPDX-License-Identifier: Apache-2.0
/// @file pow.c
/// One array to the power of another, number by number.
///
///     forward   z     = x^y                               all dimensions broadcast; 0^0 = 1
///     vjp       x_bar = z_bar conj(y x^(y-1))             0 where x = y = 0
///               y_bar = z_bar conj(z log(x))              0 where x = 0 and y >= 0; real: -infinity where x = 0 and y
///                                                         < 0
///     jvp       z_dot = y x^(y-1) x_dot + z log(x) y_dot
///
/// Of a finite negative real x, z is NaN unless y is whole, and the derivative in y is NaN; (-infinity)^y is what C's
/// pow has, 0 or infinite. Of complex numbers z = exp(y log x), cut along the negative real axis of x. A frozen y is
/// better served by `power`, which needs no logarithm.

#include "autodiff/rule.h"

enum { X, Y };
enum { Z };

static lac_status pow_forward(lac_call *c) {
  return KERNELS(c)->binary(c->ctx, LAC_POW, c->in[X], c->in[Y], c->out[Z]);
}

/// 1 where v is 0, else 0. (0 times an infinite number is NaN, which nothing equals.)
static lac_var pow_is_zero(lac_rule *r, lac_var v) {
  return lac_compare(r->tape, v, lac_scale(r->tape, v, 0, 0), LAC_RELATION_EQ);
}

/// y x^(y-1). Where both are 0, x is taken for 1: 0 times infinity would be NaN, and so would be all that is made of
/// it.
static lac_var pow_slope(lac_rule *r) {
  lac_var x = r->in[X], y = r->in[Y];
  lac_var base = lac_add(r->tape, x, lac_mul(r->tape, pow_is_zero(r, x), pow_is_zero(r, y)));

  return lac_mul(r->tape, y, lac_pow(r->tape, base, lac_offset(r->tape, y, -1, 0)));
}

/// z log(x). Where x is 0, it is taken for 1, and the product is 0; but of real numbers not where z is infinite, and so
/// is the product.
static lac_var pow_growth(lac_rule *r) {
  lac_var y = r->in[Y], zero = pow_is_zero(r, r->in[X]), base;
  const lac_meta *meta = lac_tape_meta(r->tape, y);

  if (meta && !lac_dtype_is_complex(meta->dtype))
    zero = lac_mul(r->tape, zero, lac_compare(r->tape, y, lac_scale(r->tape, y, 0, 0), LAC_RELATION_GE));
  base = lac_add(r->tape, r->in[X], zero);
  return lac_mul(r->tape, r->out[Z], lac_log(r->tape, base));
}

static void pow_vjp(lac_rule *r) {
  lac_var z_bar = r->out_bar[Z];

  if (r->wants[X]) r->in_bar[X] = lac_mul(r->tape, z_bar, lac_conj(r->tape, pow_slope(r)));
  if (r->wants[Y]) r->in_bar[Y] = lac_mul(r->tape, z_bar, lac_conj(r->tape, pow_growth(r)));
}

static void pow_jvp(lac_rule *r) {
  r->out_dot[Z] = lac_add(r->tape, lac_mul(r->tape, pow_slope(r), r->in_dot[X]),
                          lac_mul(r->tape, pow_growth(r), r->in_dot[Y]));  // what no tangent reads is dropped
}

const lac_op lac_op_pow = {
    .name = "pow",
    .signature = "(),()->()",
    .parameters = "x: array, y: array",
    .about = "x^y with 0^0 = 1, differentiable in both.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X) | NEEDS_IN(Y) | NEEDS_OUT(Z),
    .jvp_needs = NEEDS_IN(X) | NEEDS_IN(Y) | NEEDS_OUT(Z),
    .forward = pow_forward,
    .vjp = pow_vjp,
    .jvp = pow_jvp,
};

lac_var lac_pow(lac_tape *tape, lac_var x, lac_var y) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_pow}, (lac_var[]){x, y});
}

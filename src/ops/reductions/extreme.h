// SPDX-License-Identifier: Apache-2.0
/// @file extreme.h
/// The rules that max and min have in common. Both are linear wherever they are differentiable:
///
///     e = 1 where x is the extreme y, else 0       n = sum(e), how many there are
///     vjp       x_bar = e y_bar / n                shared evenly among ties
///     jvp       y_dot = sum(e x_dot) / n
///
/// A NaN is the extreme and equal to nothing: n is 0 then, and the derivatives are NaN too.

#ifndef LACUNA_OPS_REDUCTIONS_EXTREME_H
#define LACUNA_OPS_REDUCTIONS_EXTREME_H

#include "ops/axes.h"

static inline lac_status extreme_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *x = &c->in_meta[0];

  LAC_TRY(lac_call_reduce_ordered(c));
  for (int d = 0; d < x->ndim; ++d) {
    LAC_CHECK(x->shape[d] || !(MASK(c) >> (x->ndim - 1 - d) & 1), LAC_ERR_SHAPE,
              "%s: axis %d is empty, and no number is the %simum of none; reduce over other axes", c->op->name, d,
              c->op->name);
  }
done:
  return status;
}

/// Where the extremes are.
static inline lac_var extreme_places(lac_rule *r) {
  return lac_compare(r->tape, r->in[0], lac_emit_spread(r, r->out[0]), LAC_RELATION_EQ);
}

static inline void extreme_vjp(lac_rule *r) {
  lac_var e = extreme_places(r), n = lac_sum_axes(r->tape, e, OVER(MASK(r)), KEEP(r));
  r->in_bar[0] = lac_mul(r->tape, e, lac_emit_spread(r, lac_div(r->tape, r->out_bar[0], n)));
}

static inline void extreme_jvp(lac_rule *r) {
  lac_var e = extreme_places(r), n = lac_sum_axes(r->tape, e, OVER(MASK(r)), KEEP(r));
  r->out_dot[0] = lac_div(r->tape, lac_sum_axes(r->tape, lac_mul(r->tape, e, r->in_dot[0]), OVER(MASK(r)), KEEP(r)), n);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/// @file circulant_outer.c
/// The sums of an outer product along its wrapped diagonals, a circular correlation: what sddmm is to a pattern.
///
///     forward   s[d]  = sum_i sum_k u[i, k] conj(v[(i - d) mod n, k])
///     vjp       u_bar = circulant(s_bar) v,   v_bar = circulant(s_bar)^H u
///     jvp       s_dot = circulant_outer(u_dot, v) + circulant_outer(u, v_dot)

#include "autodiff/rule.h"

enum { U, V };
enum { S };

static lac_status circulant_outer_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->circulant_outer));
  LAC_TRY(KERNELS(c)->circulant_outer(ctx, c->in[U], c->in[V], c->out[S]));
done:
  return status;
}

static void circulant_outer_vjp(lac_rule *r) {
  if (r->wants[U]) r->in_bar[U] = lac_circulant_mm(r->tape, r->out_bar[S], r->in[V], LAC_PLAIN);
  if (r->wants[V]) r->in_bar[V] = lac_circulant_mm(r->tape, r->out_bar[S], r->in[U], LAC_ADJOINT);
}

static void circulant_outer_jvp(lac_rule *r) {
  r->out_dot[S] = lac_add(r->tape, lac_circulant_outer(r->tape, r->in_dot[U], r->in[V]),
                          lac_circulant_outer(r->tape, r->in[U], r->in_dot[V]));
}

const lac_op lac_op_circulant_outer = {
    .name = "circulant_outer",
    .signature = "(n,k),(n,k)->(n)",
    .parameters = "u: column, v: column",
    .about = "s[d] = sum_i sum_k u[i, k] conj(v[(i - d) mod n, k]).",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(U) | NEEDS_IN(V),
    .jvp_needs = NEEDS_IN(U) | NEEDS_IN(V),
    .forward = circulant_outer_forward,
    .vjp = circulant_outer_vjp,
    .jvp = circulant_outer_jvp,
};

lac_var lac_circulant_outer(lac_tape *tape, lac_var u, lac_var v) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_circulant_outer}, (lac_var[]){u, v});
}

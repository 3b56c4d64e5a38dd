// SPDX-License-Identifier: Apache-2.0
/// @file gather_outer.c
/// Outer products of rows, summed over those that name the same matrix: the adjoint of gather_mm.
///
///     forward   w[j]  = sum of conj(u[i])^T v[i] over the sources i of j      u (n, d), v (n, e), w (r, d, e)
///     vjp       u_bar = gather_mm(H, v, w_bar)
///               v_bar = gather_mm(N, u, w_bar)
///     jvp       w_dot = gather_outer(u_dot, v) + gather_outer(u, v_dot)
///
/// The object is the map from n rows to r matrices. A matrix that no row names is 0.

#include "ops/reductions/segment.h"

enum { U, V };
enum { W };

static lac_status gather_outer_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->gather_outer));
  LAC_TRY(KERNELS(c)->gather_outer(ctx, c->object, c->in[U], c->in[V], c->out[W]));
done:
  return status;
}

static void gather_outer_vjp(lac_rule *r) {
  lac_var w_bar = r->out_bar[W];

  if (r->wants[U]) r->in_bar[U] = lac_gather_mm(r->tape, r->object, r->in[V], w_bar, LAC_ADJOINT);
  if (r->wants[V]) r->in_bar[V] = lac_gather_mm(r->tape, r->object, r->in[U], w_bar, LAC_PLAIN);
}

static void gather_outer_jvp(lac_rule *r) {
  r->out_dot[W] = lac_add(r->tape, lac_gather_outer(r->tape, r->object, r->in_dot[U], r->in[V]),
                          lac_gather_outer(r->tape, r->object, r->in[U], r->in_dot[V]));
}

const lac_op lac_op_gather_outer = {
    .name = "gather_outer",
    .signature = "(n,d),(n,e)->(r,d,e)",
    .binds = "map: n -> r",
    .parameters = "map: map, u: array, v: array",
    .about = "w[j] = sum of conj(u[i])^T v[i] over the rows i that name j.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_SUMS_BATCH | LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(U) | NEEDS_IN(V),
    .jvp_needs = NEEDS_IN(U) | NEEDS_IN(V),
    .forward = gather_outer_forward,
    .vjp = gather_outer_vjp,
    .jvp = gather_outer_jvp,
};

lac_var lac_gather_outer(lac_tape *tape, const lac_map *map, lac_var u, lac_var v) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_gather_outer, .object = map}, (lac_var[]){u, v});
}

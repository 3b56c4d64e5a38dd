// SPDX-License-Identifier: Apache-2.0
/// @file sddmm.c
/// Inner products of dense rows, sampled at the entries of a pattern.
///
///     forward   s_z   = sum_k u[row z, k] conj(v[col z, k])     = (U V^H) at the pattern
///     vjp       u_bar = spmm(P, N, s_bar, v)
///               v_bar = spmm(P, H, s_bar, u)
///     jvp       s_dot = sddmm(P, u_dot, v) + sddmm(P, u, v_dot)
///
/// Where P has blocks, s is (nnz, br, bc) and s_z the block u[rows z] v[cols z]^H.

#include "autodiff/rule.h"

enum { U, V };
enum { S };

static lac_status sddmm_forward(lac_call *c) {
  return KERNELS(c)->sddmm(c->ctx, c->patterns[0], c->in[U], c->in[V], c->out[S]);
}

static void sddmm_vjp(lac_rule *r) {
  lac_var u = r->in[U], v = r->in[V], s_bar = r->out_bar[S];

  if (r->wants[U]) r->in_bar[U] = lac_spmm(r->tape, r->patterns[0], s_bar, v, LAC_PLAIN);
  if (r->wants[V]) r->in_bar[V] = lac_spmm(r->tape, r->patterns[0], s_bar, u, LAC_ADJOINT);
}

static void sddmm_jvp(lac_rule *r) {
  r->out_dot[S] = lac_add(r->tape, lac_sddmm(r->tape, r->patterns[0], r->in_dot[U], r->in[V]),
                          lac_sddmm(r->tape, r->patterns[0], r->in[U], r->in_dot[V]));
}

const lac_op lac_op_sddmm = {
    .name = "sddmm",
    .signature = "(m,k),(n,k)->(z)",
    .binds = "pattern 0: z, (m,n)",
    .parameters = "pattern: pattern, u: array, v: array",
    .about = "s_z = sum_k u[row z, k] conj(v[col z, k]) for each slot z: u (rows, k), v (cols, k), s (nnz).",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_SUMS_BATCH | LAC_OP_COMMUNICATES | LAC_OP_TAKES_BLOCKS,
    .vjp_needs = NEEDS_IN(U) | NEEDS_IN(V),
    .jvp_needs = NEEDS_IN(U) | NEEDS_IN(V),
    .forward = sddmm_forward,
    .vjp = sddmm_vjp,
    .jvp = sddmm_jvp,
};

lac_var lac_sddmm(lac_tape *tape, const lac_pattern *pattern, lac_var u, lac_var v) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_sddmm, .patterns = {pattern}}, (lac_var[]){u, v});
}

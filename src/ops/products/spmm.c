// SPDX-License-Identifier: Apache-2.0
/// @file spmm.c
/// Sparse matrix times a block of dense vectors.
///
///     forward   y     = op(A) x                   op = N, T, C or H
///     vjp       a_bar = sddmm(P, y_bar, x)        a_bar_z = <y_bar[row z], conj x[col z]>, only where A stores an
///                                                 entry
///               x_bar = spmm(P, flip(op), a, y_bar)
///     jvp       y_dot = spmm(P, op, a_dot, x) + spmm(P, op, a, x_dot)
///
/// Where P has blocks, a is (nnz, br, bc) and z runs over blocks: A_z is a block of A, a_bar_z = y_bar[rows z] x[cols
/// z]^H.
///
/// A is (pattern P, values a). The pattern is data; only the values carry derivatives.

#include "autodiff/rule.h"

enum { A, X };
enum { Y };

static lac_status spmm_forward(lac_call *c) {
  return KERNELS(c)->spmm(c->ctx, c->patterns[0], FORM(c), c->in[A], c->in[X], c->out[Y]);
}

static void spmm_vjp(lac_rule *r) {
  lac_var a = r->in[A], x = r->in[X], y_bar = r->out_bar[Y];

  if (r->wants[A]) r->in_bar[A] = lac_emit_matrix_bar(r->tape, r->patterns[0], FORM(r), y_bar, x);
  if (r->wants[X]) r->in_bar[X] = lac_spmm(r->tape, r->patterns[0], a, y_bar, flip(FORM(r)));
}

static void spmm_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_add(r->tape, lac_spmm(r->tape, r->patterns[0], r->in_dot[A], r->in[X], FORM(r)),
                          lac_spmm(r->tape, r->patterns[0], r->in[A], r->in_dot[X], FORM(r)));
}

const lac_op lac_op_spmm = {
    .name = "spmm",
    .signature = "(z),(n,k)->(m,k)",
    .binds = "pattern 0: z, op(m,n)",
    .parameters = "pattern: pattern, a: values, x: columns, op: form = N",
    .about =
        "y = op(A) x: a (nnz), x (n, k) or (n,); op is \"N\" (A), \"T\" (A^T), \"H\" (A^H) or \"conjugated\" (conj A). "
        "A "
        "pattern with blocks takes a (nnz, *blocks).",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_SUMS_BATCH | LAC_OP_COMMUNICATES | LAC_OP_TAKES_BLOCKS,
    .vjp_needs = NEEDS_IN(A) | NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(A) | NEEDS_IN(X),
    .forward = spmm_forward,
    .vjp = spmm_vjp,
    .jvp = spmm_jvp,
};

lac_var lac_spmm(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var x, lac_form op) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_spmm, .patterns = {pattern}, .attrs.i = {op}}, (lac_var[]){a, x});
}

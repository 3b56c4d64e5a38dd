// SPDX-License-Identifier: Apache-2.0
/// @file lu_values_adjoint.c
/// The adjoint of elimination on a pattern: the gradient of a matrix from that of its factors.
///
///     forward   c_bar = J(c)^H lu_bar           J(c) the derivative of lu_values at c: elimination backwards, row by
///                                               row
///     vjp       lu_bar_bar = J(c) g             g the adjoint of c_bar: the derivative's part of lu_values(P2, [[c,
///                                               g], [0, c]])
///               c_bar_bar  = H(c, lu_bar, g)
///     jvp       c_bar_dot  = lu_values_adjoint(P, c, lu_bar_dot) + H(c, lu_bar, c_dot)
///
/// H(c, w, m) = d/dc <w, J(c) m>: on the doubled pattern P2 (dual.h) J(c) m is a part of the factors of [[c, m], [0,
/// c]], so H is what lu_values_adjoint(P2, [[c, m], [0, c]], eps w) gives at the two places of c. It is symmetric in g
/// and c_dot, as a second derivative is; conjugates are inside, as J is that of a function which has none. The factors
/// are computed anew from c: taken as an input they would be a second way in which c comes in, and the rules would have
/// to undo elimination.

#include "ops/solves/lu.h"

enum { A, LU_BAR };
enum { A_BAR };

static lac_status lu_values_adjoint_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_array *lu = NULL;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->lu_values_adjoint));
  if (c->out[A_BAR]->count == 0) goto done;
  LAC_TRY(lac_array_make(ctx, &c->in_meta[A], &lu));
  LAC_TRY(lac_lu_run(c, LAC_PIVOTS_NONZERO, c->in[A], lu));
  LAC_TRY(KERNELS(c)->lu_values_adjoint(ctx, c->patterns[0], lu, c->in[LU_BAR], c->out[A_BAR]));
done:
  lac_array_destroy(&lu);
  return status;
}

/// H(c, lu_bar, m).
static lac_var lu_second(lac_rule *r, const lac_doubled *d, lac_var m) {
  if (!m.id) return m;
  lac_var c = dual_number(r->tape, d, r->in[A], m), w = dual_epsilon(r->tape, d, r->in[LU_BAR]);
  return dual_adjoint(r->tape, d, lac_lu_values_adjoint(r->tape, d->pattern, c, w));
}

static void lu_values_adjoint_vjp(lac_rule *r) {
  lac_var g = r->out_bar[A_BAR];
  lac_doubled *d = dual_pattern(r);

  if (!d) return;
  if (r->wants[LU_BAR]) {
    lac_var c = dual_number(r->tape, d, r->in[A], g);
    r->in_bar[LU_BAR] = dual_derivative(r->tape, d, lac_lu_values(r->tape, d->pattern, c, NULL, LAC_PIVOTS_NONZERO));
  }
  if (r->wants[A]) r->in_bar[A] = lu_second(r, d, g);
  lac_object_release(d);
}

static void lu_values_adjoint_jvp(lac_rule *r) {
  lac_doubled *d = dual_pattern(r);

  if (!d) return;
  r->out_dot[A_BAR] = lac_add(r->tape, lac_lu_values_adjoint(r->tape, r->patterns[0], r->in[A], r->in_dot[LU_BAR]),
                              lu_second(r, d, r->in_dot[A]));
  lac_object_release(d);
}

const lac_op lac_op_lu_values_adjoint = {
    .name = "lu_values_adjoint",
    .signature = "(z),(z)->(z)",
    .binds = "pattern 0: z, (n,n)",
    .parameters = "pattern: pattern, c: values, lu_bar: values",
    .about = "The gradient in c of lu_values, given that of its result.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(A) | NEEDS_IN(LU_BAR),
    .jvp_needs = NEEDS_IN(A) | NEEDS_IN(LU_BAR),
    .infer = lac_lu_infer,
    .forward = lu_values_adjoint_forward,
    .vjp = lu_values_adjoint_vjp,
    .jvp = lu_values_adjoint_jvp,
};

lac_var lac_lu_values_adjoint(lac_tape *tape, const lac_pattern *pattern, lac_var c, lac_var lu_bar) {
  lac_spec spec = {.op = &lac_op_lu_values_adjoint, .patterns = {pattern}};
  return lac_emit(tape, &spec, (lac_var[]){c, lu_bar});
}

// SPDX-License-Identifier: Apache-2.0
/// @file gather_mm.c
/// Rows times the matrix that each of them names.
///
///     forward   y[i]  = a[i] op(b[target i])       i[0]: form; a (n, d), b (r, d, e), y (n, e); d and e change places
///                                                  for T, H
///     vjp       a_bar = gather_mm(flip(op), y_bar, b)
///               b_bar = gather_outer(a, y_bar)     for op = N; alike for the others
///     jvp       y_dot = gather_mm(op, a_dot, b) + gather_mm(op, a, b_dot)
///
/// The object is the map from n rows to r matrices; a row with target -1 is 0. Rows that name the same matrix are
/// multiplied together: O(n d e), whatever r is.

#include "ops/reductions/segment.h"

enum { A, B };
enum { Y };

static lac_status gather_mm_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *b = &c->in_meta[B];
  bool turned = lac_form_transposes(FORM(c));

  if (b->ndim >= 3) {
    LAC_TRY(lac_call_bind(c, 'p', b->shape[b->ndim - (turned ? 1 : 2)], NULL));
    LAC_TRY(lac_call_bind(c, 'q', b->shape[b->ndim - (turned ? 2 : 1)], NULL));
  }
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

static lac_status gather_mm_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->gather_mm));
  LAC_TRY(KERNELS(c)->gather_mm(ctx, c->object, FORM(c), c->in[A], c->in[B], c->out[Y]));
done:
  return status;
}

/// The adjoint of b: conj(a)^T y_bar for N, turned back through op for the others.
static lac_var gather_mm_bar(lac_rule *r, lac_var a, lac_var y_bar) {
  lac_form form = FORM(r);
  lac_var w = lac_form_transposes(form) ? lac_gather_outer(r->tape, r->object, y_bar, a)
                                        : lac_gather_outer(r->tape, r->object, a, y_bar);
  return form == LAC_TRANSPOSED || form == LAC_CONJUGATED ? lac_conj(r->tape, w) : w;
}

static void gather_mm_vjp(lac_rule *r) {
  lac_var y_bar = r->out_bar[Y];

  if (r->wants[A]) r->in_bar[A] = lac_gather_mm(r->tape, r->object, y_bar, r->in[B], flip(FORM(r)));
  if (r->wants[B]) r->in_bar[B] = gather_mm_bar(r, r->in[A], y_bar);
}

static void gather_mm_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_add(r->tape, lac_gather_mm(r->tape, r->object, r->in_dot[A], r->in[B], FORM(r)),
                          lac_gather_mm(r->tape, r->object, r->in[A], r->in_dot[B], FORM(r)));
}

const lac_op lac_op_gather_mm = {
    .name = "gather_mm",
    .signature = "(n,p),(r,d,e)->(n,q)",
    .binds = "map: n -> r; op",
    .parameters = "map: map, a: array, b: array, op: form = N",
    .about = "y[i] = a[i] op(b[target i]): a (n, d), b (r, d, e).",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_SUMS_BATCH | LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(A) | NEEDS_IN(B),
    .jvp_needs = NEEDS_IN(A) | NEEDS_IN(B),
    .infer = gather_mm_infer,
    .forward = gather_mm_forward,
    .vjp = gather_mm_vjp,
    .jvp = gather_mm_jvp,
};

lac_var lac_gather_mm(lac_tape *tape, const lac_map *map, lac_var a, lac_var b, lac_form op) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_gather_mm, .object = map, .attrs.i = {op}}, (lac_var[]){a, b});
}

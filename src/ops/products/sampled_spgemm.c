// SPDX-License-Identifier: Apache-2.0
/// @file sampled_spgemm.c
/// Sparse times sparse, at the entries of a given pattern alone: the backward of spgemm, and its own.
///
///     forward   t     = (op(X) op(Y)) at T's entries       patterns: T, X, Y; i[0], i[1]: the forms of X and Y
///     vjp       op(X)_bar = T_bar op(Y)^H                  at X's entries, turned back through op
///               op(Y)_bar = op(X)^H T_bar
///     jvp       t_dot = op(X_dot) op(Y) + op(X) op(Y_dot)
///
/// Turning back: for op = N, X_bar = T_bar op(Y)^H; for T its transpose conj(op(Y)) T_bar^T; for C its conjugate; for H
/// both.

#include "autodiff/rule.h"

enum { X, Y };
enum { T };

#define FORM_X(r) ((lac_form)(r)->attrs->i[0])
#define FORM_Y(r) ((lac_form)(r)->attrs->i[1])

static lac_status sampled_spgemm_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->sampled_spgemm));
  LAC_TRY(KERNELS(c)->sampled_spgemm(ctx, c->patterns[0], c->patterns[1], FORM_X(c), c->patterns[2], FORM_Y(c),
                                     c->in[X], c->in[Y], c->out[T]));
done:
  return status;
}

/// The form that undoes op on a matrix that was transposed or not.
static lac_form with_conj(lac_form form, bool conj) { return conj ? (lac_form)(form ^ LAC_CONJUGATED) : form; }

static void sampled_spgemm_vjp(lac_rule *r) {
  const lac_pattern *pt = r->patterns[0], *px = r->patterns[1], *py = r->patterns[2];
  lac_var x = r->in[X], y = r->in[Y], t_bar = r->out_bar[T];
  lac_form op_x = FORM_X(r), op_y = FORM_Y(r);
  bool cx = lac_form_conjugates(op_x), cy = lac_form_conjugates(op_y);

  if (r->wants[X]) {
    r->in_bar[X] =
        lac_form_transposes(op_x)
            ? lac_sampled_spgemm(r->tape, px, py, y, pt, t_bar, with_conj(op_y, !cx), cx ? LAC_ADJOINT : LAC_TRANSPOSED)
            : lac_sampled_spgemm(r->tape, px, pt, t_bar, py, y, cx ? LAC_CONJUGATED : LAC_PLAIN,
                                 with_conj(flip(op_y), cx));
  }
  if (r->wants[Y]) {
    r->in_bar[Y] =
        lac_form_transposes(op_y)
            ? lac_sampled_spgemm(r->tape, py, pt, t_bar, px, x, cy ? LAC_ADJOINT : LAC_TRANSPOSED, with_conj(op_x, !cy))
            : lac_sampled_spgemm(r->tape, py, px, x, pt, t_bar, with_conj(flip(op_x), cy),
                                 cy ? LAC_CONJUGATED : LAC_PLAIN);
  }
}

static void sampled_spgemm_jvp(lac_rule *r) {
  const lac_pattern *pt = r->patterns[0], *px = r->patterns[1], *py = r->patterns[2];

  r->out_dot[T] =
      lac_add(r->tape, lac_sampled_spgemm(r->tape, pt, px, r->in_dot[X], py, r->in[Y], FORM_X(r), FORM_Y(r)),
              lac_sampled_spgemm(r->tape, pt, px, r->in[X], py, r->in_dot[Y], FORM_X(r), FORM_Y(r)));
}

const lac_op lac_op_sampled_spgemm = {
    .name = "sampled_spgemm",
    .signature = "(p),(q)->(r)",
    .binds = "pattern 0: r, (m,n); pattern 1: p, op(m,l); pattern 2: q, op1(l,n)",
    .parameters = "target: pattern, px: pattern, x: values, py: pattern, y: values, op_x: form = N, op_y: form = N",
    .about = "t = op(X) op(Y) at the slots of `target` alone.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_SUMS_BATCH | LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .jvp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .forward = sampled_spgemm_forward,
    .vjp = sampled_spgemm_vjp,
    .jvp = sampled_spgemm_jvp,
};

lac_var lac_sampled_spgemm(lac_tape *tape, const lac_pattern *target, const lac_pattern *px, lac_var x,
                           const lac_pattern *py, lac_var y, lac_form op_x, lac_form op_y) {
  lac_spec spec = {.op = &lac_op_sampled_spgemm, .patterns = {target, px, py}, .attrs.i = {op_x, op_y}};
  return lac_emit(tape, &spec, (lac_var[]){x, y});
}

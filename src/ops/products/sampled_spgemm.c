// SPDX-License-Identifier: Apache-2.0
/// @file sampled_spgemm.c
/// Sparse times sparse, at the entries of a given pattern alone: the backward of spgemm, and its own.
///
///     forward   t     = (op(X) op(Y)) at T's entries       patterns: T, X, Y; i[0], i[1]: the sides of X and Y
///     vjp       op(X)_bar = T_bar op(Y)^H                  at X's entries, turned back through op
///               op(Y)_bar = op(X)^H T_bar
///     jvp       t_dot = op(X_dot) op(Y) + op(X) op(Y_dot)
///
/// Turning back: for op = N, X_bar = T_bar op(Y)^H; for T its transpose conj(op(Y)) T_bar^T; for C its conjugate; for H both.

#include "autodiff/rule.h"

enum { X, Y };
enum { T };

#define SIDE_X(r) ((lac_side)(r)->attrs->i[0])
#define SIDE_Y(r) ((lac_side)(r)->attrs->i[1])

static lac_status sampled_spgemm_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < 3; i++) LAC_TRY(lac_call_needs_pattern(c, i));
  LAC_TRY(lac_call_bind_matrix(c, c->patterns[0], LAC_N, 'r', 'm', 'n'));
  LAC_TRY(lac_call_bind_matrix(c, c->patterns[1], SIDE_X(c), 'p', 'm', 'l'));
  LAC_TRY(lac_call_bind_matrix(c, c->patterns[2], SIDE_Y(c), 'q', 'l', 'n'));
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

static lac_status sampled_spgemm_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->sampled_spgemm));
  LAC_TRY(KERNELS(c)->sampled_spgemm(ctx, c->patterns[0], c->patterns[1], SIDE_X(c), c->patterns[2], SIDE_Y(c),
                                     c->in[X], c->in[Y], c->out[T]));
done:
  return status;
}

/// The side that undoes op on a matrix that was transposed or not.
static lac_side with_conj(lac_side side, bool conj) { return conj ? (lac_side)(side ^ LAC_C) : side; }

static void sampled_spgemm_vjp(lac_rule *r) {
  const lac_pattern *pt = r->patterns[0], *px = r->patterns[1], *py = r->patterns[2];
  lac_var x = r->in[X], y = r->in[Y], t_bar = r->out_bar[T];
  lac_side sx = SIDE_X(r), sy = SIDE_Y(r);
  bool cx = lac_side_conjugates(sx), cy = lac_side_conjugates(sy);

  if (r->wants[X]) {
    r->in_bar[X] = lac_side_transposes(sx)
                       ? lac_sampled_spgemm(r->tape, px, py, with_conj(sy, !cx), y, pt, cx ? LAC_H : LAC_T, t_bar)
                       : lac_sampled_spgemm(r->tape, px, pt, cx ? LAC_C : LAC_N, t_bar, py, with_conj(flip(sy), cx), y);
  }
  if (r->wants[Y]) {
    r->in_bar[Y] = lac_side_transposes(sy)
                       ? lac_sampled_spgemm(r->tape, py, pt, cy ? LAC_H : LAC_T, t_bar, px, with_conj(sx, !cy), x)
                       : lac_sampled_spgemm(r->tape, py, px, with_conj(flip(sx), cy), x, pt, cy ? LAC_C : LAC_N, t_bar);
  }
}

static void sampled_spgemm_jvp(lac_rule *r) {
  const lac_pattern *pt = r->patterns[0], *px = r->patterns[1], *py = r->patterns[2];

  r->out_dot[T] =
      lac_add(r->tape, lac_sampled_spgemm(r->tape, pt, px, SIDE_X(r), r->in_dot[X], py, SIDE_Y(r), r->in[Y]),
              lac_sampled_spgemm(r->tape, pt, px, SIDE_X(r), r->in[X], py, SIDE_Y(r), r->in_dot[Y]));
}

const lac_op lac_op_sampled_spgemm = {
    .name = "sampled_spgemm",
    .signature = "(p),(q)->(r)",
    .parameters = "target: pattern, px: pattern, x: values, py: pattern, y: values, sides: sides = N N",
    .about = "t = op(X) op(Y) at the slots of `target` alone.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_SUMS_BATCH | LAC_WHOLE,
    .vjp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .jvp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .infer = sampled_spgemm_infer,
    .forward = sampled_spgemm_forward,
    .vjp = sampled_spgemm_vjp,
    .jvp = sampled_spgemm_jvp,
};

lac_var lac_sampled_spgemm(lac_tape *tape, const lac_pattern *target, const lac_pattern *px, lac_side sx, lac_var x,
                           const lac_pattern *py, lac_side sy, lac_var y) {
  lac_spec spec = {.op = &lac_op_sampled_spgemm, .patterns = {target, px, py}, .attrs.i = {sx, sy}};
  return lac_emit(tape, &spec, (lac_var[]){x, y});
}

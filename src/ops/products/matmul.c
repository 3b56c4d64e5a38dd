// SPDX-License-Identifier: Apache-2.0
/// @file matmul.c
/// The product of two dense matrices.
///
///     forward   Z     = op(X) op(Y)                  i[0], i[1]: the forms of X and Y
///     vjp       X_bar = op_x(Z_bar op(Y)^H)          Y_bar = op_y(op(X)^H Z_bar)
///     jvp       Z_dot = op(X_dot) op(Y) + op(X) op(Y_dot)
///
/// Each form is its own inverse, so X = op(op(X)), and a form of a product is a product with forms: (A B)^T = B^T A^T.

#include "autodiff/rule.h"

enum { X, Y };
enum { Z };

#define FORM_Y(r) ((lac_form)(r)->attrs->i[1])

/// The meta of op(A).
static void matmul_turn(lac_meta *meta, lac_form form) {
  int last = meta->ndim - 1;

  if (!lac_form_transposes(form) || last < 1) return;
  int64_t size = meta->shape[last];
  meta->shape[last] = meta->shape[last - 1];
  meta->shape[last - 1] = size;
  if (meta->partition && meta->partition_axis >= last - 1) meta->partition_axis = 2 * last - 1 - meta->partition_axis;
}

static lac_status matmul_infer(lac_call *c) {
  lac_status status;

  matmul_turn(&c->in_meta[X], FORM(c)), matmul_turn(&c->in_meta[Y], FORM_Y(c));
  status = lac_call_match(c);
  matmul_turn(&c->in_meta[X], FORM(c)), matmul_turn(&c->in_meta[Y], FORM_Y(c));
  return status;
}

static lac_status matmul_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->matmul));
  LAC_TRY(KERNELS(c)->matmul(ctx, FORM(c), c->in[X], FORM_Y(c), c->in[Y], c->out[Z]));
done:
  return status;
}

/// A form of op(A) op(B).
static lac_var matmul_side(lac_tape *tape, lac_form form, lac_form sa, lac_var a, lac_form sb, lac_var b) {
  sa ^= form, sb ^= form;
  return lac_form_transposes(form) ? lac_matmul(tape, b, a, sb, sa) : lac_matmul(tape, a, b, sa, sb);
}

static void matmul_vjp(lac_rule *r) {
  lac_form sx = FORM(r), sy = FORM_Y(r);
  lac_var z_bar = r->out_bar[Z];

  if (r->wants[X]) r->in_bar[X] = matmul_side(r->tape, sx, LAC_PLAIN, z_bar, flip(sy), r->in[Y]);
  if (r->wants[Y]) r->in_bar[Y] = matmul_side(r->tape, sy, flip(sx), r->in[X], LAC_PLAIN, z_bar);
}

static void matmul_jvp(lac_rule *r) {
  lac_form sx = FORM(r), sy = FORM_Y(r);

  r->out_dot[Z] = lac_add(r->tape, lac_matmul(r->tape, r->in_dot[X], r->in[Y], sx, sy),
                          lac_matmul(r->tape, r->in[X], r->in_dot[Y], sx, sy));
}

const lac_op lac_op_matmul = {
    .name = "matmul",
    .signature = "(m,l),(l,n)->(m,n)",
    .binds = "op; op1",
    .parameters = "x: array, y: array, op_x: form = N, op_y: form = N",
    .about = "op(X) op(Y), dense: \"N\", \"T\" (transpose), \"conjugated\" or \"H\" (both) for each.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_SUMS_BATCH | LAC_OP_COMMUNICATES,
    .vjp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .jvp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .infer = matmul_infer,
    .forward = matmul_forward,
    .vjp = matmul_vjp,
    .jvp = matmul_jvp,
};

lac_var lac_matmul(lac_tape *tape, lac_var x, lac_var y, lac_form op_x, lac_form op_y) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_matmul, .attrs.i = {op_x, op_y}}, (lac_var[]){x, y});
}

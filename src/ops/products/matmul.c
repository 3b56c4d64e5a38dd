// SPDX-License-Identifier: Apache-2.0
/// @file matmul.c
/// The product of two dense matrices.
///
///     forward   Z     = op(X) op(Y)                  i[0], i[1]: the sides of X and Y
///     vjp       X_bar = op_x(Z_bar op(Y)^H)          Y_bar = op_y(op(X)^H Z_bar)
///     jvp       Z_dot = op(X_dot) op(Y) + op(X) op(Y_dot)
///
/// Each side is its own inverse, so X = op(op(X)), and a side of a product is a product with sides: (A B)^T = B^T A^T.

#include "autodiff/rule.h"

enum { X, Y };
enum { Z };

#define SIDE_Y(r) ((lac_side)(r)->attrs->i[1])

/// The meta of op(A).
static void matmul_turn(lac_meta *meta, lac_side side) {
  int last = meta->ndim - 1;

  if (!lac_side_transposes(side) || last < 1) return;
  int64_t size = meta->shape[last];
  meta->shape[last] = meta->shape[last - 1];
  meta->shape[last - 1] = size;
  if (meta->partition && meta->partition_axis >= last - 1) meta->partition_axis = 2 * last - 1 - meta->partition_axis;
}

static lac_status matmul_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < 2; ++i) LAC_TRY(lac_call_check_side(c, c->attrs->i[i]));
  matmul_turn(&c->in_meta[X], SIDE(c)), matmul_turn(&c->in_meta[Y], SIDE_Y(c));
  status = lac_call_match(c);
  matmul_turn(&c->in_meta[X], SIDE(c)), matmul_turn(&c->in_meta[Y], SIDE_Y(c));
done:
  return status;
}

static lac_status matmul_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->matmul));
  LAC_TRY(KERNELS(c)->matmul(ctx, SIDE(c), c->in[X], SIDE_Y(c), c->in[Y], c->out[Z]));
done:
  return status;
}

/// A side of op(A) op(B).
static lac_var matmul_side(lac_tape *tape, lac_side side, lac_side sa, lac_var a, lac_side sb, lac_var b) {
  sa ^= side, sb ^= side;
  return lac_side_transposes(side) ? lac_matmul(tape, sb, b, sa, a) : lac_matmul(tape, sa, a, sb, b);
}

static void matmul_vjp(lac_rule *r) {
  lac_side sx = SIDE(r), sy = SIDE_Y(r);
  lac_var z_bar = r->out_bar[Z];

  if (r->wants[X]) r->in_bar[X] = matmul_side(r->tape, sx, LAC_N, z_bar, flip(sy), r->in[Y]);
  if (r->wants[Y]) r->in_bar[Y] = matmul_side(r->tape, sy, flip(sx), r->in[X], LAC_N, z_bar);
}

static void matmul_jvp(lac_rule *r) {
  lac_side sx = SIDE(r), sy = SIDE_Y(r);

  r->out_dot[Z] = lac_add(r->tape, lac_matmul(r->tape, sx, r->in_dot[X], sy, r->in[Y]),
                          lac_matmul(r->tape, sx, r->in[X], sy, r->in_dot[Y]));
}

const lac_op lac_op_matmul = {
    .name = "matmul",
    .signature = "(m,l),(l,n)->(m,n)",
    .parameters = "x: array, y: array, side_x: side = N, side_y: side = N",
    .about = "op(X) op(Y), dense: \"N\", \"T\" (transpose), \"C\" (conjugate) or \"H\" (both) for each.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_SUMS_BATCH | LAC_COMMUNICATES,
    .vjp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .jvp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .infer = matmul_infer,
    .forward = matmul_forward,
    .vjp = matmul_vjp,
    .jvp = matmul_jvp,
};

lac_var lac_matmul(lac_tape *tape, lac_side side_x, lac_var x, lac_side side_y, lac_var y) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_matmul, .attrs.i = {side_x, side_y}}, (lac_var[]){x, y});
}

// SPDX-License-Identifier: Apache-2.0
/// @file solve_from.c
/// The solution of a linear system by an iteration that starts at x0.
///
///     forward   x      = op(A)^-1 b                    the object is a factor of A, or a solver that factors when
///                                                      asked; a direct method does not read x0
///     vjp, jvp  those of solve_with: the solution does not depend on x0, whose adjoint is zero
///
/// Attributes are those of solve_with: i[0] is the form, and i[5] = 1 has the solve measured and reported.

#include "ops/solves/factored.h"

enum { A, B, START };
enum { X };

/// Put the start into x, where it is spread over the batch.
static lac_status solve_from_begin(lac_context *ctx, const lac_array *start, lac_array *x) {
  uint32_t spread = 0;

  for (int i = 0; i < x->meta.ndim; i++) {
    int64_t own = i < start->meta.ndim ? start->meta.shape[start->meta.ndim - 1 - i] : 1;
    if (own != x->meta.shape[x->meta.ndim - 1 - i]) spread |= UINT32_C(1) << i;
  }
  return spread ? ctx->kernels->broadcast(ctx, start, spread, x) : ctx->backend->copy(ctx, start, x);
}

static lac_status solve_from_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_factor *factor = NULL;

  LAC_TRY(lac_call_borrow(c, A, &factor));
  LAC_TRY(solve_from_begin(ctx, c->in[START], c->out[X]));
  LAC_TRY(lac_call_solve(c, factor, (lac_solve_job){.b = c->in[B], .x0 = c->out[X], .x = c->out[X]}));
done:
  lac_call_give_back(&factor);
  return status;
}

static void solve_from_vjp(lac_rule *r) {
  lac_solution_vjp(r);
  r->in_bar[START] = (lac_var){0};
}

const lac_op lac_op_solve_from = {
    .name = "solve_from",
    .signature = "(z),(n,k),(n,k)->(n,k)",
    .binds = "factor: z, op(n,n)",
    .parameters = "solver: factor, a: values, b: columns, x0: columns, op: form = N, reports: flag @5 = false",
    .about = "x = op(A)^-1 b, by an iteration from x0.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE | LAC_OP_TAKES_BLOCKS,
    .vjp_needs = NEEDS_IN(A) | NEEDS_OUT(X),
    .jvp_needs = NEEDS_IN(A) | NEEDS_OUT(X),
    .infer = lac_solution_infer,
    .forward = solve_from_forward,
    .vjp = solve_from_vjp,
    .jvp = lac_solution_jvp,
};

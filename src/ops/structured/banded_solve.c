// SPDX-License-Identifier: Apache-2.0
/// @file banded_solve.c
/// The solution of a banded system, by elimination with partial pivoting within the band.
///
///     forward   op(A) x = b                               i[0]: form, i[1], i[2]: lower, upper;
///                                                         ops/structured/banded.h
///     vjp       lambda  = op(A)^-H x_bar                  b_bar = lambda,  ab_bar = -banded_outer(lambda, x)
///     jvp       x_dot   = op(A)^-1 (b_dot - op(A_dot) x)

#include "ops/structured/banded.h"

enum { AB, B };
enum { X };

static lac_status banded_solve_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  int64_t n = lac_meta_last(&c->in_meta[AB]);
  lac_banded band = {.lower = c->attrs->i[1], .upper = c->attrs->i[2], .rows = n, .cols = n};

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->banded_solve));
  LAC_TRY(KERNELS(c)->banded_solve(ctx, &band, FORM(c), c->in[AB], c->in[B], c->out[X]));
done:
  return status;
}

static void banded_solve_vjp(lac_rule *r) {
  const int64_t *i = r->attrs->i;
  lac_var lambda = lac_banded_solve(r->tape, i[1], i[2], r->in[AB], r->out_bar[X], flip(FORM(r)));

  r->in_bar[B] = lambda;
  if (r->wants[AB]) {
    r->in_bar[AB] = lac_neg(r->tape, lac_emit_banded_bar(r->tape, FORM(r), i[1], i[2], lambda, r->out[X]));
  }
}

static void banded_solve_jvp(lac_rule *r) {
  const int64_t *i = r->attrs->i;
  int64_t n = lac_meta_last(&r->in_meta[AB]);
  lac_var change = lac_banded_mm(r->tape, i[1], i[2], r->in_dot[AB], r->out[X], n, FORM(r));

  r->out_dot[X] = lac_banded_solve(r->tape, i[1], i[2], r->in[AB], lac_sub(r->tape, r->in_dot[B], change), FORM(r));
}

const lac_op lac_op_banded_solve = {
    .name = "banded_solve",
    .signature = "(w,n),(n,k)->(n,k)",
    .binds = "op; bands 1: w",
    .parameters = "lower_and_upper: bands @1, ab: array, b: columns, op: form @0 = N",
    .about = "x = op(A)^-1 b as scipy.linalg.solve_banded: (lower, upper), then the band, then b (n,) or (n, k).",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(AB) | NEEDS_OUT(X),
    .jvp_needs = NEEDS_IN(AB) | NEEDS_OUT(X),
    .forward = banded_solve_forward,
    .vjp = banded_solve_vjp,
    .jvp = banded_solve_jvp,
};

lac_var lac_banded_solve(lac_tape *tape, int64_t lower, int64_t upper, lac_var ab, lac_var b, lac_form op) {
  lac_spec spec = {.op = &lac_op_banded_solve, .attrs.i = {op, lower, upper}};
  return lac_emit(tape, &spec, (lac_var[]){ab, b});
}

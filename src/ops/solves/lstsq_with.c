// SPDX-License-Identifier: Apache-2.0
/// @file lstsq_with.c
/// The least-squares solution by a solver of the matrix itself, of any shape.
///
///     forward   x      = B^+ b,   B = op(A)                    the shortest x of those that minimise |B x - b|
///     vjp       lambda = (B^H)^+ x_bar
///               b_bar  = lambda
///               a_bar  = -lambda x^H + r mu^H + nu w^H         each an sddmm, only where A stores an entry
///     jvp       x_dot  = B^+ (b_dot - B_dot x) + B^+ (B^H)^+ B_dot^H r + (1 - B^+ B) B_dot^H nu
///
///     r = b - B x,   mu = B^+ lambda         nothing where B is square, or wide and of full rank
///     nu = (B^H)^+ x,   w = x_bar - B^H lambda    nothing where B is square, or tall and of full rank
///
/// (Golub and Pereyra 1973.) B^+ is smooth where the rank does not change: a matrix whose pattern does not let it have
/// full rank is differentiated like any other, and of one that could have it and has not, the derivative is that along
/// matrices of its rank. Every inverse is this operator again, so that derivatives of every order are right to the
/// tolerance of the solver. i[0] is the form; i[1] = 1: the solve is that of a derivative, as of solve_with.

#include "ops/solves/factored.h"

enum { A, B };
enum { X };

enum { SIDE_AT, DERIVATIVE_AT };

static lac_var lstsq_with_solve(const lac_rule *r, lac_form form, lac_var b);

static lac_status lstsq_with_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_factor *factor = NULL;
  lac_solve_job job = {
      .form = FORM(c), .is_derivative = c->attrs->i[DERIVATIVE_AT] != 0, .b = c->in[B], .x = c->out[X]};

  LAC_TRY(lac_call_factor(c, A, &factor));
  LAC_TRY(lac_factor_solve_job(ctx, factor, job));
done:
  lac_factor_destroy(&factor);
  return status;
}

static lac_var lstsq_with_product(const lac_rule *r, lac_form form, lac_var a, lac_var x) {
  return lac_spmm(r->tape, lac_factored_pattern(r->object), a, x, form);
}

static lac_var lstsq_with_bar(const lac_rule *r, lac_var left, lac_var right) {
  return lac_emit_matrix_bar(r->tape, lac_factored_pattern(r->object), FORM(r), left, right);
}

/// Of full rank, as what is solved: no residual, and nothing across the rows.
static bool lstsq_with_is_square(const lac_rule *r) {
  const lac_pattern *p = lac_factored_pattern(r->object);
  return p->rows == p->cols;
}

static lac_var lstsq_with_residual(const lac_rule *r) {
  return lac_sub(r->tape, r->in[B], lstsq_with_product(r, FORM(r), r->in[A], r->out[X]));
}

/// The size of A, for columns. Two inverses in a row are of the size of 1 / |A|^2, which may leave the range where
/// the result does not: one of them works on what is multiplied by it.
static lac_var lstsq_with_size(const lac_rule *r) {
  const lac_meta *meta = lac_tape_meta(r->tape, r->in[A]);
  return meta ? lac_emit_column(r->tape, lac_emit_size(r->tape, r->in[A], meta->dtype)) : r->in[A];
}

static void lstsq_with_vjp(lac_rule *r) {
  lac_tape *tape = r->tape;
  lac_form form = FORM(r), back = flip(form);
  lac_var lambda = lstsq_with_solve(r, back, r->out_bar[X]), bar, size, mu, nu, w;

  r->in_bar[B] = lambda;
  if (!r->wants[A]) return;
  bar = lac_neg(tape, lstsq_with_bar(r, lambda, r->out[X]));
  if (!lstsq_with_is_square(r)) {
    size = lstsq_with_size(r);
    mu = lstsq_with_solve(r, form, lac_mul(tape, size, lambda));
    nu = lstsq_with_solve(r, back, lac_mul(tape, size, r->out[X]));
    w = lac_sub(tape, r->out_bar[X], lstsq_with_product(r, back, r->in[A], lambda));
    bar = lac_add(tape, bar, lstsq_with_bar(r, lac_div(tape, lstsq_with_residual(r), size), mu));
    bar = lac_add(tape, bar, lstsq_with_bar(r, nu, lac_div(tape, w, size)));
  }
  r->in_bar[A] = bar;
}

/// B^+ (B^H)^+ B_dot^H r
static lac_var lstsq_with_turn(const lac_rule *r, lac_var size) {
  lac_form form = FORM(r), back = flip(form);
  lac_var turned = lstsq_with_product(r, back, r->in_dot[A], lac_div(r->tape, lstsq_with_residual(r), size));
  return lstsq_with_solve(r, form, lac_mul(r->tape, size, lstsq_with_solve(r, back, turned)));
}

/// (1 - B^+ B) B_dot^H nu
static lac_var lstsq_with_cross(const lac_rule *r, lac_var size) {
  lac_form form = FORM(r), back = flip(form);
  lac_var nu = lstsq_with_solve(r, back, lac_mul(r->tape, size, r->out[X]));
  lac_var turned = lac_div(r->tape, lstsq_with_product(r, back, r->in_dot[A], nu), size);
  return lac_sub(r->tape, turned, lstsq_with_solve(r, form, lstsq_with_product(r, form, r->in[A], turned)));
}

static void lstsq_with_jvp(lac_rule *r) {
  lac_var change = lstsq_with_product(r, FORM(r), r->in_dot[A], r->out[X]), size;

  r->out_dot[X] = lstsq_with_solve(r, FORM(r), lac_sub(r->tape, r->in_dot[B], change));
  if (lstsq_with_is_square(r)) return;
  size = lstsq_with_size(r);
  r->out_dot[X] = lac_add(r->tape, r->out_dot[X], lstsq_with_turn(r, size));
  r->out_dot[X] = lac_add(r->tape, r->out_dot[X], lstsq_with_cross(r, size));
}

const lac_op lac_op_lstsq_with = {
    .name = "lstsq_with",
    .signature = "(z),(m,k)->(n,k)",
    .binds = "factor: z, op(m,n)",
    .parameters = "solver: factor, a: values, b: columns, op: form = N",
    .about = "The least squares of LSMR and LSQR.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(A) | NEEDS_IN(B) | NEEDS_OUT(X),
    .jvp_needs = NEEDS_IN(A) | NEEDS_IN(B) | NEEDS_OUT(X),
    .forward = lstsq_with_forward,
    .vjp = lstsq_with_vjp,
    .jvp = lstsq_with_jvp,
};

/// op(A)^+ b, as a rule asks for it.
static lac_var lstsq_with_solve(const lac_rule *r, lac_form form, lac_var b) {
  lac_spec spec = {.op = &lac_op_lstsq_with, .object = r->object, .attrs.i = {[SIDE_AT] = form, [DERIVATIVE_AT] = 1}};
  return lac_emit(r->tape, &spec, (lac_var[]){r->in[A], b});
}

lac_var lac_emit_lstsq(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var b) {
  lac_var x;

  lac_tape_call_factored(tape, "lstsq", solver, (lac_spec){.op = &lac_op_lstsq_with}, (lac_var[]){a, b}, &x);
  return x;
}

// SPDX-License-Identifier: Apache-2.0
/// @file solve_with.c
/// The solution of a linear system with a factor.
///
///     forward   x      = op(A)^-1 b                    the object is a factor of A, or a solver that factors when asked
///     vjp       lambda = solve_with(F, flip(op), a, x_bar)
///               b_bar  = lambda
///               a_bar  = -sddmm(P, lambda, x)          only where A stores an entry
///     jvp       x_dot  = solve_with(F, op, a, b_dot - spmm(P, op, a_dot, x))
///
/// Every order uses the same F. A factor that was not made of exactly these values is refused, never used. The values are
/// independent parameters: for a symmetric A with both halves stored, each half has its own gradient.

#include "autodiff/rule.h"
#include "solvers/solver_impl.h"

enum { A, B };
enum { X };

static bool solve_is_factor(const void *object) { return ((const lac_object *)object)->kind == &lac_factor_kind; }

static bool solve_is_solver(const void *object) { return ((const lac_object *)object)->kind == &lac_solver_kind; }

static const lac_pattern *solve_pattern(const void *object) {
  return solve_is_factor(object) ? lac_factor_pattern(object) : lac_solver_pattern(object);
}

/// The call with other inputs or another side, as rules emit it.
static lac_var solve_on(lac_tape *tape, const void *object, lac_side side, lac_var a, lac_var b);

static lac_status solve_with_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(c->object && (solve_is_factor(c->object) || solve_is_solver(c->object)), LAC_ERR_ARG,
            "solve_with: the object must be a solver or a factor; see lac_solver_create");
  LAC_TRY(lac_call_bind_matrix(c, solve_pattern(c->object), SIDE(c), 'z', 'n', 'n'));
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

/// The factor of these values: the given one if it fits, else what the solver makes or has kept.
static lac_status solve_find_factor(lac_call *c, lac_factor **out) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  int matches = 0;

  if (solve_is_factor(c->object)) {
    LAC_TRY(lac_factor_matches(ctx, c->object, c->in[A], &matches));
    LAC_CHECK(matches, LAC_ERR_STALE,
              "solve_with: the factor was made of other values; factor these first (lac_solver_factor)");
    *out = lac_factor_retain(c->object);
  } else {
    LAC_TRY(lac_solver_factor(ctx, c->object, c->in[A], out));
  }
done:
  return status;
}

static lac_status solve_with_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_factor *factor = NULL;

  LAC_TRY(solve_find_factor(c, &factor));
  LAC_TRY(lac_factor_solve(ctx, factor, SIDE(c), c->in[B], c->out[X]));
done:
  lac_factor_destroy(&factor);
  return status;
}

static void solve_with_vjp(lac_rule *r) {
  lac_var lambda = solve_on(r->tape, r->object, flip(SIDE(r)), r->in[A], r->out_bar[X]);

  r->in_bar[B] = lambda;
  if (r->wants[A]) {
    const lac_pattern *p = solve_pattern(r->object);
    r->in_bar[A] = lac_neg(r->tape, lac_emit_matrix_bar(r->tape, p, SIDE(r), lambda, r->out[X]));
  }
}

static void solve_with_jvp(lac_rule *r) {
  lac_var change = lac_spmm(r->tape, solve_pattern(r->object), SIDE(r), r->in_dot[A], r->out[X]);
  r->out_dot[X] = solve_on(r->tape, r->object, SIDE(r), r->in[A], lac_sub(r->tape, r->in_dot[B], change));
}

const lac_op lac_op_solve_with = {
    .name = "solve_with",
    .signature = "(z),(n,k)->(n,k)",
    .order = LAC_ANY_ORDER,
    .flags = LAC_WHOLE,
    .vjp_needs = NEEDS_IN(A) | NEEDS_OUT(X),
    .jvp_needs = NEEDS_IN(A) | NEEDS_OUT(X),
    .infer = solve_with_infer,
    .forward = solve_with_forward,
    .vjp = solve_with_vjp,
    .jvp = solve_with_jvp,
};

static lac_var solve_on(lac_tape *tape, const void *object, lac_side side, lac_var a, lac_var b) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_solve_with, .object = object, .attrs.i = {side}}, (lac_var[]){a, b});
}

lac_var lac_solve_with(lac_tape *tape, const lac_factor *factor, lac_side side, lac_var a, lac_var b) {
  return solve_on(tape, factor, side, a, b);
}

/// Factor here when there are values, so that the recorded call holds its factor; a program has none yet.
lac_var lac_solve(lac_tape *tape, const lac_solver *solver, lac_side side, lac_var a, lac_var b) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_array *values = lac_tape_value(tape, a);
  lac_factor *factor = NULL;
  lac_var x = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(solver, LAC_ERR_ARG, "lac_solve: the solver is NULL; see lac_solver_create");
  if (!values) return solve_on(tape, solver, side, a, b);
  LAC_TRY(lac_solver_factor(ctx, solver, values, &factor));
  x = solve_on(tape, factor, side, a, b);
done:
  lac_factor_destroy(&factor);
  return status == LAC_OK ? x : lac_tape_fail(tape, status);
}

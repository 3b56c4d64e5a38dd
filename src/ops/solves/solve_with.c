// SPDX-License-Identifier: Apache-2.0
/// @file solve_with.c
/// The solution of a linear system with a factor.
///
///     forward   x      = op(A)^-1 b                    the object is a factor of A, or a solver that factors when
///                                                      asked
///     vjp       lambda = solve_with(F, flip(op), a, x_bar)
///               b_bar  = lambda
///               a_bar  = -sddmm(P, lambda, x)          only where A stores an entry
///     jvp       x_dot  = solve_with(F, op, a, b_dot - spmm(P, op, a_dot, x))
///
/// Where P has blocks it is the call's pattern, and a is (nnz, br, bc). Every order uses the same F. A factor that was
/// not made of exactly these values is refused, never used. The values are independent parameters: for a symmetric A
/// with both halves stored, each half has its own gradient. i[0] is the form; i[1], i[2], i[3] and f[0] may ask for
/// full rank (rank.c). i[4] = 1: the solve is that of a derivative, for which an iterative solver may have a tolerance
/// of its own; it uses the preconditioner that was set up. i[5] = 1: the residual is measured, and a tolerance that is
/// not reached is no error, of derivatives neither: the context's report says what became of the solve.

#include "ops/solves/factored.h"

enum { A, B };
enum { X };

/// The pattern of the values: with blocks, where the solver was made of one.
static const lac_pattern *solve_pattern(const lac_pattern *const *patterns, const void *object) {
  return patterns[0] ? patterns[0] : lac_factored_pattern(object);
}

lac_var lac_emit_derivative_solve(lac_tape *tape, const void *object, lac_form form, lac_var a, lac_var b) {
  return lac_emit_solve(tape, object, &(lac_attrs){.i = {[SOLVE_FORM] = form, [SOLVE_DERIVATIVE] = 1}}, a, b);
}

lac_status lac_solution_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(c->patterns[0] == lac_core_of(c->object)->blocks, LAC_ERR_PATTERN,
            "%s: the solver is one of another pattern; a pattern is given where the solver's own has blocks, and is "
            "that one",
            c->op->name);
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

static lac_status solve_with_infer(lac_call *c) {
  lac_status status = lac_rank_infer(c);
  return status == LAC_OK ? lac_solution_infer(c) : status;
}

lac_status lac_call_solve(lac_call *c, const lac_factor *factor, lac_solve_job job) {
  bool reports = c->attrs->i[SOLVE_REPORTS] != 0;
  job.form = FORM(c);
  job.is_derivative = c->attrs->i[SOLVE_DERIVATIVE] != 0;
  job.only_reports = job.wants_residual = reports;
  lac_status status = lac_factor_solve_job(c->ctx, factor, job);
  if (status == LAC_OK && reports) lac_context_clear_warning(c->ctx);  // the report has it
  return status;
}

static lac_status solve_with_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_factor *factor = NULL;
  const lac_solver_core *core = lac_core_of(c->object);
  lac_solve_job job = {.b = c->in[B], .x = c->out[X]};

  LAC_TRY(lac_rank_judge(ctx, c->attrs, core, lac_call_borrow(c, A, &factor)));
  LAC_TRY(lac_rank_check(ctx, c->attrs, factor, c->in[A], &job.judged_from));
  LAC_TRY(lac_rank_judge(ctx, c->attrs, core, lac_call_solve(c, factor, job)));
done:
  lac_call_give_back(&factor);
  return status;
}

/// The solve of a derivative, which reports as this one does.
static lac_var solution_derivative(const lac_rule *r, lac_form form, lac_var b) {
  int64_t reports = r->attrs->i[SOLVE_REPORTS];
  lac_attrs attrs = {.i = {[SOLVE_FORM] = form, [SOLVE_DERIVATIVE] = 1, [SOLVE_REPORTS] = reports}};
  return lac_emit_solve(r->tape, r->object, &attrs, r->in[A], b);
}

void lac_solution_vjp(lac_rule *r) {
  lac_var lambda = solution_derivative(r, flip(FORM(r)), r->out_bar[X]);

  r->in_bar[B] = lambda;
  if (r->wants[A]) {
    const lac_pattern *p = solve_pattern(r->patterns, r->object);
    r->in_bar[A] = lac_neg(r->tape, lac_emit_matrix_bar(r->tape, p, FORM(r), lambda, r->out[X]));
  }
}

void lac_solution_jvp(lac_rule *r) {
  lac_var change = lac_spmm(r->tape, solve_pattern(r->patterns, r->object), r->in_dot[A], r->out[X], FORM(r));
  r->out_dot[X] = solution_derivative(r, FORM(r), lac_sub(r->tape, r->in_dot[B], change));
}

const lac_op lac_op_solve_with = {
    .name = "solve_with",
    .signature = "(z),(n,k)->(n,k)",
    .binds = "factor: z, op(n,n)",
    .parameters = "solver: factor, a: values, b: columns, op: form = N",
    .about =
        "x = op(A)^-1 b, with a Pattern (solver with default options), a Solver, or a Factor of just these values.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE | LAC_OP_TAKES_BLOCKS,
    .vjp_needs = NEEDS_IN(A) | NEEDS_OUT(X),
    .jvp_needs = NEEDS_IN(A) | NEEDS_OUT(X),
    .infer = solve_with_infer,
    .forward = solve_with_forward,
    .vjp = lac_solution_vjp,
    .jvp = lac_solution_jvp,
};

lac_var lac_emit_solve(lac_tape *tape, const void *object, const lac_attrs *attrs, lac_var a, lac_var b) {
  lac_spec spec = {.op = &lac_op_solve_with, .object = object, .attrs = *attrs};
  if (object) spec.patterns[0] = lac_core_of(object)->blocks;
  return lac_emit(tape, &spec, (lac_var[]){a, b});
}

lac_var lac_solve_with(lac_tape *tape, const lac_factor *factor, lac_var a, lac_var b, lac_form op) {
  return lac_emit_solve(tape, factor, &(lac_attrs){.i = {op}}, a, b);
}

lac_var lac_emit_solution(lac_tape *tape, const void *object, lac_form form, lac_var a, lac_var b) {
  lac_spec spec = {.op = &lac_op_solve_with, .attrs.i = {form}};
  lac_var x;

  if (object) spec.patterns[0] = lac_core_of(object)->blocks;
  lac_tape_call_factored(tape, "solve", object, spec, (lac_var[]){a, b}, &x);
  return x;
}

lac_var lac_solve(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var b, lac_form op) {
  return lac_emit_solution(tape, solver, op, a, b);
}

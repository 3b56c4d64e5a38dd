// SPDX-License-Identifier: Apache-2.0
/// @file solve_operator.c
/// The solution of a linear system without a stored matrix: the user's function emits its product.
///
///     forward   x         = op(L(theta))^-1 b             a Krylov method; op = N or H
///     vjp       lambda    = flip(op)(L(theta))^-1 x_bar
///               b_bar     = lambda
///               theta_bar = - vjp of op(L(theta)) x in theta, at lambda       emit the product, then its vjp
///     jvp       x_dot     = op(L(theta))^-1 (b_dot - jvp of op(L(theta)) x in theta, along theta_dot)
///
/// The product is written once as a program, and so is its adjoint, L^H v, which is its vjp in x. The rules emit these
/// programs and their derivatives, so that every order follows from the rules of the operators inside. b is one vector,
/// whatever its shape. i[0] = 1: op = H; i[1] = 1: the solve is that of a derivative.

#include <string.h>

#include "autodiff/rule.h"
#include "autodiff/tape_impl.h"
#include "solvers/options.h"
#include "solvers/products.h"

/// The object of a call. Its operator differs from others by its arity alone, and lives as long as the call.
typedef struct operator_solve {
  lac_object object;
  lac_op op;
  char *signature;
  lac_program *programs[2];  // L x and L^H x of inputs theta, x
  lac_solver_options options;
  lac_meta meta;  // of b
  int thetas;
} operator_solve;

static void operator_free(lac_object *object) {
  operator_solve *o = (operator_solve *)object;

  lac_program_destroy(&o->programs[0]);
  lac_program_destroy(&o->programs[1]);
  lac_options_let_go(&o->options);
  lac_free(o->signature);
  lac_free(o);
}

static const lac_kind operator_kind = {"operator", operator_free};

// -- products --------------------------------------------------------------------------------------------------------

/// One forward: its arrays.
typedef struct operator_view {
  const operator_solve *o;
  const lac_array *const *thetas;
} operator_view;

/// L of reals is its own conjugate.
static bool operator_is_adjoint(const operator_solve *o, lac_form form) {
  return lac_dtype_is_complex(o->meta.dtype) ? form == LAC_ADJOINT : lac_form_transposes(form);
}

static lac_status operator_product(lac_context *ctx, const void *self, lac_form form, const lac_array *x,
                                   lac_array *y) {
  lac_status status = LAC_OK;
  const operator_view *v = self;
  const operator_solve *o = v->o;
  const lac_program *program = o->programs[operator_is_adjoint(o, form)];
  const lac_array **inputs = NULL;

  LAC_ALLOC(inputs, program->inputs);
  for (int i = 0; i < program->inputs; i++) {
    int index = program->input[i].index;
    inputs[i] = index < o->thetas ? v->thetas[index] : x;
  }
  LAC_TRY(lac_program_execute(ctx, program, inputs, &y));
done:
  lac_free(inputs);
  return status;
}

// -- the operator ----------------------------------------------------------------------------------------------------

static lac_status operator_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const operator_solve *o = c->object;
  char have[LAC_SHAPE_TEXT], want[LAC_SHAPE_TEXT];
  const lac_meta *b = &c->in_meta[o->thetas];

  LAC_CHECK(lac_meta_same(b, &o->meta), LAC_ERR_SHAPE,
            "solve_operator: b is %s %s where the operator was written for %s %s", lac_dtype_name(b->dtype),
            lac_shape_text(b->ndim, b->shape, have), lac_dtype_name(o->meta.dtype),
            lac_shape_text(o->meta.ndim, o->meta.shape, want));
  c->out_meta[0] = *b;
done:
  return status;
}

static lac_status operator_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const operator_solve *o = c->object;
  operator_view view = {o, c->in};
  const lac_products products = {operator_product, &view};
  lac_solve_job job = {.form = c->attrs->i[0] ? LAC_ADJOINT : LAC_PLAIN,
                       .is_derivative = c->attrs->i[1] != 0,
                       .b = c->in[o->thetas],
                       .x = c->out[0]};
  lac_solve_report report = {.ending = LAC_ENDING_CONVERGED};

  LAC_TRY(lac_solver_require_here(ctx, "solve_operator", "b", job.b));
  LAC_TRY(lac_products_solve(ctx, "solve_operator", &o->options, &products, job, &report));
done:
  return status;
}

/// The vars of a rule, in one block.
typedef struct operator_vars {
  lac_var *in;         // theta, and b or x
  lac_var *x, *other;  // the theta that a derivative is taken by, and their tangents or adjoints
  int *from;           // the theta that x[j] is
  int ins;
} operator_vars;

static lac_status operator_vars_open(lac_rule *r, operator_vars *v) {
  lac_context *ctx = lac_tape_context(r->tape);
  lac_status status = LAC_OK;

  *v = (operator_vars){.in = NULL};
  LAC_ALLOC(v->in, 4 * r->ins);
  v->x = v->in + r->ins, v->other = v->x + r->ins, v->from = (int *)(void *)(v->other + r->ins);
done:
  return status;
}

static lac_var operator_emit(lac_rule *r, operator_vars *v, bool is_flipped, lac_var b) {
  const operator_solve *o = r->object;
  lac_spec spec = {.op = &o->op, .object = o, .attrs.i = {is_flipped ? !r->attrs->i[0] : r->attrs->i[0], 1}};

  memcpy(v->in, r->in, (size_t)o->thetas * sizeof *v->in);
  v->in[o->thetas] = b;
  return lac_emit(r->tape, &spec, v->in);
}

/// op(L(theta)) x on the rule's tape.
static lac_status operator_replay(lac_rule *r, operator_vars *v, lac_var *y) {
  const operator_solve *o = r->object;
  const lac_program *program = o->programs[r->attrs->i[0]];

  for (int i = 0; i < program->inputs; i++) {
    int index = program->input[i].index;
    v->in[i] = index < o->thetas ? r->in[index] : r->out[0];
  }
  return lac_program_replay(r->tape, program, v->in, y);
}

static void operator_vjp(lac_rule *r) {
  const operator_solve *o = r->object;
  operator_vars v;
  lac_var lambda = {0}, y = {0};
  lac_status status = operator_vars_open(r, &v);

  if (status == LAC_OK) lambda = r->in_bar[o->thetas] = operator_emit(r, &v, true, r->out_bar[0]);
  for (int i = 0; i < o->thetas && status == LAC_OK; i++) {
    if (r->wants[i]) v.x[v.ins] = r->in[i], v.from[v.ins++] = i;
  }
  if (v.ins) status = operator_replay(r, &v, &y);
  if (status == LAC_OK && v.ins) {
    status = lac_tape_vjp(r->tape, 1, &y, &lambda, v.ins, v.x, v.other, LAC_GRAPH_CREATE);
  }
  for (int j = 0; j < v.ins && status == LAC_OK; j++) r->in_bar[v.from[j]] = lac_neg(r->tape, v.other[j]);
  if (status != LAC_OK) (void)lac_tape_fail(r->tape, status);
  lac_free(v.in);
}

static void operator_jvp(lac_rule *r) {
  const operator_solve *o = r->object;
  operator_vars v;
  lac_var y = {0}, change = {0};
  lac_status status = operator_vars_open(r, &v);

  for (int i = 0; i < o->thetas && status == LAC_OK; i++) {
    if (r->in_dot[i].id) v.x[v.ins] = r->in[i], v.other[v.ins++] = r->in_dot[i];
  }
  if (v.ins) status = operator_replay(r, &v, &y);
  if (status == LAC_OK && v.ins) {
    status = lac_tape_jvp(r->tape, v.ins, v.x, v.other, 1, &y, &change, LAC_GRAPH_CREATE);
  }
  if (status == LAC_OK) {
    r->out_dot[0] = operator_emit(r, &v, false, lac_sub(r->tape, r->in_dot[o->thetas], change));
  } else {
    (void)lac_tape_fail(r->tape, status);
  }
  lac_free(v.in);
}

// -- writing one -----------------------------------------------------------------------------------------------------

/// Theta and x on a program's tape, and the product that the user's function emits of them.
static lac_status operator_declare(lac_tape *tape, lac_program *program, const operator_solve *o, const lac_var *theta,
                                   int place, lac_var *in) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;

  for (int i = 0; i < o->thetas; i++) {
    const lac_meta *meta = lac_tape_meta(tape, theta[i]);
    LAC_CHECK(meta, LAC_ERR_ABSENT, "solve_operator: parameter %d is absent; give an array on this tape", i);
    LAC_TRY(lac_program_declare(program, LAC_ROLE_IN, i, meta, &in[i]));
  }
  LAC_TRY(lac_program_declare(program, LAC_ROLE_IN, place, &o->meta, &in[o->thetas]));
done:
  return status;
}

static lac_status operator_ask(lac_context *ctx, lac_program *program, lac_tape_function function, void *data,
                               const operator_solve *o, const lac_var *in, lac_var *y) {
  lac_status status = LAC_OK, returned;
  const lac_meta *meta;
  char have[LAC_SHAPE_TEXT] = "nothing", want[LAC_SHAPE_TEXT];

  ctx->status = LAC_OK;  // so that a code without a sentence does not borrow an older one
  returned = function(program->tape, data, 0, in, y);
  LAC_TRY(lac_tape_status(program->tape));
  LAC_CHECK(returned == LAC_OK || ctx->status == returned, returned, "solve_operator: the function returned %s",
            lac_status_name(returned));
  LAC_TRY(returned);
  meta = lac_tape_meta(program->tape, *y);
  if (meta) (void)lac_shape_text(meta->ndim, meta->shape, have);
  LAC_CHECK(
      meta && lac_meta_same(meta, &o->meta), LAC_ERR_SHAPE,
      "solve_operator: the function gave %s, where the shape and dtype of b, %s, are needed: the operator must be "
      "square",
      have, lac_shape_text(o->meta.ndim, o->meta.shape, want));
done:
  return status;
}

static lac_status operator_close(lac_context *ctx, lac_program *program, lac_var y) {
  lac_status status = LAC_OK;
  int place = lac_tape_place(program->tape, y);

  LAC_CHECK(place, LAC_ERR_ARG, "solve_operator: the function does not depend on x");
  LAC_TRY(lac_program_deliver(program, 1));
  program->result[0] = (lac_port){.role = LAC_ROLE_OUT, .var = place, .meta = program->tape->vars[place].meta};
  LAC_TRY(lac_program_finish(program));
done:
  return status;
}

static lac_status operator_write(lac_tape *tape, lac_tape_function function, void *data, const lac_var *theta,
                                 operator_solve *o) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_program *program;
  lac_var *in = NULL, y = {0};

  LAC_ALLOC(in, o->thetas + 1);
  LAC_TRY(lac_program_open(ctx, TAPE_SEGMENT, &o->programs[0]));
  program = o->programs[0];
  LAC_TRY(operator_declare(tape, program, o, theta, o->thetas, in));
  LAC_TRY(operator_ask(ctx, program, function, data, o, in, &y));
  LAC_TRY(operator_close(ctx, program, y));
done:
  lac_free(in);
  return status;
}

/// L^H v: the vjp of the product in x. The vjp of a linear function does not read x.
static lac_status operator_write_adjoint(lac_tape *tape, lac_tape_function function, void *data, const lac_var *theta,
                                         operator_solve *o) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_program *program;
  lac_var *in = NULL, v = {0}, y = {0}, z = {0};
  bool reads_x = false;

  LAC_ALLOC(in, o->thetas + 1);
  LAC_TRY(lac_program_open(ctx, TAPE_SEGMENT, &o->programs[1]));
  program = o->programs[1];
  LAC_TRY(operator_declare(tape, program, o, theta, o->thetas + 1, in));
  LAC_TRY(lac_program_declare(program, LAC_ROLE_IN, o->thetas, &o->meta, &v));
  LAC_TRY(operator_ask(ctx, program, function, data, o, in, &y));
  LAC_TRY(lac_tape_vjp(program->tape, 1, &y, &v, 1, &in[o->thetas], &z, LAC_GRAPH_CREATE));
  LAC_TRY(operator_close(ctx, program, z));
  for (int i = 0; i < program->inputs; i++) reads_x = reads_x || program->input[i].index > o->thetas;
  LAC_CHECK(!reads_x, LAC_ERR_ARG, "solve_operator: the function is not linear in x: its derivative depends on x");
done:
  lac_free(in);
  return status;
}

static lac_status operator_make(lac_context *ctx, operator_solve *o) {
  lac_status status = LAC_OK;
  uint64_t needs = NEEDS_OUT(0);

  for (int i = 0; i < o->thetas; i++) needs |= NEEDS_IN(i);
  LAC_TRY(lac_signature_plain(ctx, o->thetas + 1, 1, &o->signature));
  o->op = (lac_op){.name = "solve_operator",
                   .signature = o->signature,
                   .order = LAC_ANY_ORDER,
                   .flags = LAC_OP_WHOLE,
                   .vjp_needs = needs,
                   .jvp_needs = needs,
                   .infer = operator_infer,
                   .forward = operator_forward,
                   .vjp = operator_vjp,
                   .jvp = operator_jvp};
done:
  return status;
}

static lac_status operator_create(lac_tape *tape, lac_tape_function function, void *data, lac_solver_options *options,
                                  int thetas, const lac_var *theta, lac_var b, operator_solve **out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  operator_solve *o = NULL;

  LAC_CHECK(function, LAC_ERR_ARG, "solve_operator: the function is NULL");
  LAC_CHECK(thetas >= 0 && (theta || thetas == 0), LAC_ERR_ARG,
            "solve_operator: thetas = %d, and the list theta is %s; give a list of `thetas` vars, or 0 and NULL",
            thetas, theta ? "given" : "NULL");
  LAC_CHECK(lac_tape_meta(tape, b), LAC_ERR_ABSENT, "solve_operator: b is absent; give an array on this tape");
  LAC_TRY(lac_products_take_options(ctx, "solve_operator", 0, 0, options));
  LAC_ALLOC(o, 1);
  lac_object_init(&o->object, &operator_kind);
  o->options = *options;
  lac_options_hold(&o->options);
  o->meta = *lac_tape_meta(tape, b);
  o->thetas = thetas;
  LAC_TRY(operator_write(tape, function, data, theta, o));
  LAC_TRY(operator_write_adjoint(tape, function, data, theta, o));
  LAC_TRY(operator_make(ctx, o));
  *out = o, o = NULL;
done:
  lac_object_release(o);
  return status;
}

lac_var lac_solve_operator(lac_tape *tape, lac_tape_function function, void *data, int thetas, const lac_var *theta,
                           lac_var b, const lac_solver_options *options) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_solver_options chosen;
  operator_solve *o = NULL;
  lac_var *in = NULL, x = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_options_take(ctx, "solve_operator", options, &chosen));
  LAC_TRY(operator_create(tape, function, data, &chosen, thetas, theta, b, &o));
  LAC_ALLOC(in, thetas + 1);
  if (thetas) memcpy(in, theta, (size_t)thetas * sizeof *in);
  in[thetas] = b;
  x = lac_emit(tape, &(lac_spec){.op = &o->op, .object = o}, in);
done:
  lac_object_release(o);
  lac_free(in);
  return status == LAC_OK ? x : lac_tape_fail(tape, status);
}

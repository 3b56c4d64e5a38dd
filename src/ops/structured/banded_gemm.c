// SPDX-License-Identifier: Apache-2.0
/// @file banded_gemm.c
/// The product of two square banded matrices on a given band: what sampled_spgemm is to patterns.
///
///     forward   T     = op(X) op(Y) on the band of T      i[0], i[1]: forms of X and Y; i[2] ... i[7]: lower and upper
///                                                         of X, of Y, of T
///     vjp       X_bar = T_bar op(Y)^H on the band of X    Y_bar = op(X)^H T_bar on that of Y; transposed and
///                                                         conjugated with the forms. T_bar is banded: the set is
///                                                         closed.
///     jvp       T_dot = op(X_dot) op(Y) + op(X) op(Y_dot)

#include "ops/structured/banded.h"

enum { X, Y };
enum { T };

#define FORM_X(r) ((lac_form)(r)->attrs->i[0])
#define FORM_Y(r) ((lac_form)(r)->attrs->i[1])

/// A matrix as it goes into a product: a form, a band and the values.
typedef struct factor {
  lac_form form;
  int64_t lower, upper;
  lac_var ab;
} factor;

static lac_var banded_gemm_emit(lac_tape *tape, int64_t lower, int64_t upper, factor x, factor y);

static lac_status banded_gemm_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const int64_t *i = c->attrs->i, n = lac_meta_last(&c->in_meta[X]);
  lac_banded x = {i[2], i[3], n, n}, y = {i[4], i[5], n, n}, t = {i[6], i[7], n, n};

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->banded_gemm));
  LAC_TRY(KERNELS(c)->banded_gemm(ctx, &t, &x, FORM_X(c), &y, FORM_Y(c), c->in[X], c->in[Y], c->out[T]));
done:
  return status;
}

/// The factor on another form; `conj` conjugates besides.
static factor turned(factor f, lac_form form, bool conj) {
  f.form = conj ? (lac_form)(form ^ LAC_CONJUGATED) : form;
  return f;
}

static void banded_gemm_vjp(lac_rule *r) {
  const int64_t *i = r->attrs->i;
  factor x = {FORM_X(r), i[2], i[3], r->in[X]}, y = {FORM_Y(r), i[4], i[5], r->in[Y]};
  factor t_bar = {LAC_PLAIN, i[6], i[7], r->out_bar[T]};
  bool cx = lac_form_conjugates(x.form), cy = lac_form_conjugates(y.form);

  if (r->wants[X]) {
    r->in_bar[X] =
        lac_form_transposes(x.form)
            ? banded_gemm_emit(r->tape, i[2], i[3], turned(y, y.form, !cx), turned(t_bar, LAC_TRANSPOSED, cx))
            : banded_gemm_emit(r->tape, i[2], i[3], turned(t_bar, LAC_PLAIN, cx), turned(y, flip(y.form), cx));
  }
  if (r->wants[Y]) {
    r->in_bar[Y] =
        lac_form_transposes(y.form)
            ? banded_gemm_emit(r->tape, i[4], i[5], turned(t_bar, LAC_TRANSPOSED, cy), turned(x, x.form, !cy))
            : banded_gemm_emit(r->tape, i[4], i[5], turned(x, flip(x.form), cy), turned(t_bar, LAC_PLAIN, cy));
  }
}

static void banded_gemm_jvp(lac_rule *r) {
  const int64_t *i = r->attrs->i;
  factor x = {FORM_X(r), i[2], i[3], r->in[X]}, y = {FORM_Y(r), i[4], i[5], r->in[Y]};
  factor x_dot = x, y_dot = y;

  x_dot.ab = r->in_dot[X];
  y_dot.ab = r->in_dot[Y];
  r->out_dot[T] = lac_add(r->tape, banded_gemm_emit(r->tape, i[6], i[7], x_dot, y),
                          banded_gemm_emit(r->tape, i[6], i[7], x, y_dot));
}

const lac_op lac_op_banded_gemm = {
    .name = "banded_gemm",
    .signature = "(v,n),(w,n)->(b,n)",
    .binds = "op; op1; bands 2: v; bands 4: w; bands 6: b",
    .parameters =
        "bands_of_x: bands @2, x: array, bands_of_y: bands @4, y: array, target: bands @6, op_x: form @0 = N, op_y: "
        "form @1 = N",
    .about = "The band `target` of op(X) op(Y).",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_SUMS_BATCH | LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .jvp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .forward = banded_gemm_forward,
    .vjp = banded_gemm_vjp,
    .jvp = banded_gemm_jvp,
};

static lac_var banded_gemm_emit(lac_tape *tape, int64_t lower, int64_t upper, factor x, factor y) {
  lac_spec spec = {.op = &lac_op_banded_gemm,
                   .attrs.i = {x.form, y.form, x.lower, x.upper, y.lower, y.upper, lower, upper}};
  return lac_emit(tape, &spec, (lac_var[]){x.ab, y.ab});
}

lac_var lac_banded_gemm(lac_tape *tape, int64_t lower_x, int64_t upper_x, lac_var x, int64_t lower_y, int64_t upper_y,
                        lac_var y, int64_t lower, int64_t upper, lac_form op_x, lac_form op_y) {
  return banded_gemm_emit(tape, lower, upper, (factor){op_x, lower_x, upper_x, x}, (factor){op_y, lower_y, upper_y, y});
}

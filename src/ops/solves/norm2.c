// SPDX-License-Identifier: Apache-2.0
/// @file norm2.c
/// The largest singular value of a sparse matrix: its 2-norm.
///
///     forward   sigma = max |A x| over |x| = 1, with A v = sigma u and A^H u = sigma v
///               f[0]: tolerance, i[0]: steps, i[1]: 1 refuses to run, for the rule
///     vjp       a_bar = sigma_bar u v^H on the pattern = sigma_bar sddmm(P, u, v)
///     jvp       sigma_dot = Re(u^H A_dot v)
///
/// Order 1: u and v are outputs for the rules alone. An adjoint of theirs is refused, and so is a second derivative of
/// sigma (LAC_ERR_ORDER); their tangents, which come with sigma's, are NaN. lac_norm2 hands out sigma alone.
///
/// Where sigma is a multiple singular value the norm has no gradient; u and v are then one pair out of many, which the
/// fixed start decides, and a_bar is a subgradient. At A = 0 it is 0. The tolerance is that of |A^H u - sigma v| /
/// sigma: sigma is good to its square over the gap to the next value, the gradient to the tolerance over the gap. A
/// tolerance of 0 stands for 1e-12 (f32: 1e-5), 0 steps for 10000. A residual that stays larger is LAC_ERR_CONVERGENCE.

#include <math.h>

#include "autodiff/rule.h"
#include "core/number_at.h"
#include "solvers/eigen/golub_kahan.h"

enum { A };
enum { SIGMA, U, V };

enum { NORM2_STEPS = 10000, NORM2_REFUSES = 1 };

static lac_status norm2_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(c->attrs->f[0] >= 0 && c->attrs->f[0] < 1 && c->attrs->i[0] >= 0, LAC_ERR_ARG,
            "norm2: tolerance %g and %lld steps; give 0 or more (0: the default), and a tolerance below 1",
            c->attrs->f[0], (long long)c->attrs->i[0]);
  LAC_TRY(lac_call_match(c));
  c->out_meta[SIGMA].dtype = lac_dtype_real(c->out_meta[SIGMA].dtype);
done:
  return status;
}

/// Item i of an array whose items have `count` numbers, as an array of this shape over the same memory.
static lac_status norm2_item(lac_context *ctx, const lac_array *x, int64_t i, lac_meta meta, lac_array **out) {
  meta.dtype = x->meta.dtype;
  size_t bytes = (size_t)lac_meta_count(&meta) * lac_dtype_size(meta.dtype);
  return lac_array_wrap(ctx, &meta, (char *)x->storage->data + (size_t)i * bytes, out);
}

static lac_status norm2_write(lac_call *c, int64_t i, double sigma) {
  lac_array *out = c->out[SIGMA];
  size_t bytes = lac_dtype_size(out->meta.dtype);
  lac_number number = {.c128 = 0};

  lac_real_put(out->meta.dtype, &number, 0, sigma);
  return c->ctx->backend->upload(c->ctx, (char *)out->storage->data + (size_t)i * bytes, &number, bytes);
}

static lac_status norm2_one(lac_call *c, int64_t i, const lac_singular_options *options) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_pattern *p = c->patterns[0];
  lac_array *a = NULL, *u = NULL, *v = NULL;
  double sigma = 0;

  LAC_TRY(norm2_item(ctx, c->in[A], i, (lac_meta){.ndim = 1, .shape = {p->nnz}}, &a));
  LAC_TRY(norm2_item(ctx, c->out[U], i, (lac_meta){.ndim = 2, .shape = {p->rows, 1}}, &u));
  LAC_TRY(norm2_item(ctx, c->out[V], i, (lac_meta){.ndim = 2, .shape = {p->cols, 1}}, &v));
  LAC_TRY(lac_singular_largest(ctx, p, a, options, &sigma, u, v));
  LAC_TRY(norm2_write(c, i, sigma));
done:
  lac_array_destroy(&a);
  lac_array_destroy(&u);
  lac_array_destroy(&v);
  return status;
}

static lac_status norm2_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_dtype dtype = c->in_meta[A].dtype;
  double usual = lac_dtype_is_single(dtype) ? 1e-5 : 1e-12;
  lac_singular_options options = {"norm2", c->attrs->f[0] > 0 ? c->attrs->f[0] : usual,
                                  c->attrs->i[0] > 0 ? c->attrs->i[0] : NORM2_STEPS};

  LAC_CHECK(c->attrs->i[1] != NORM2_REFUSES, LAC_ERR_ORDER,
            "norm2: differentiated more often than it allows (once), or through its singular vectors, which have no "
            "derivative; ask for fewer derivatives");
  for (int64_t i = 0; i < c->out[SIGMA]->count; ++i) LAC_TRY(norm2_one(c, i, &options));
done:
  return status;
}

/// u v^H on the pattern.
static lac_var norm2_direction(lac_rule *r) {
  return lac_sddmm(r->tape, r->patterns[0], lac_emit_column(r->tape, r->out[U]), lac_emit_column(r->tape, r->out[V]));
}

/// A rule may be written for adjoints that never come, so it is the run that refuses those of u and v: what they would
/// give goes through a call that fails.
static lac_var norm2_refused(lac_rule *r) {
  lac_var u_bar = lac_emit_column(r->tape, r->out_bar[U]), u = lac_emit_column(r->tape, r->out[U]);
  lac_var v_bar = lac_emit_column(r->tape, r->out_bar[V]), v = lac_emit_column(r->tape, r->out[V]);
  lac_var t =
      lac_add(r->tape, lac_sddmm(r->tape, r->patterns[0], u_bar, v), lac_sddmm(r->tape, r->patterns[0], u, v_bar));
  lac_var sigma =
      lac_emit(r->tape, &(lac_spec){.op = r->op, .patterns = {r->patterns[0]}, .attrs.i = {0, NORM2_REFUSES}}, &t);

  return lac_mul(r->tape, lac_cast(r->tape, lac_emit_column(r->tape, sigma), r->in_meta[A].dtype), t);
}

static void norm2_vjp(lac_rule *r) {
  lac_var bar = lac_emit_column(r->tape, r->out_bar[SIGMA]);

  bar = lac_mul(r->tape, lac_cast(r->tape, bar, r->in_meta[A].dtype), norm2_direction(r));
  r->in_bar[A] = r->out_bar[U].id || r->out_bar[V].id ? lac_add(r->tape, bar, norm2_refused(r)) : bar;
}

static void norm2_jvp(lac_rule *r) {
  lac_var change = lac_mul(r->tape, lac_conj(r->tape, norm2_direction(r)), r->in_dot[A]);
  r->out_dot[U] = lac_scale(r->tape, r->out[U], NAN, 0);
  r->out_dot[V] = lac_scale(r->tape, r->out[V], NAN, 0);
  r->out_dot[SIGMA] = lac_real(r->tape, lac_sum_axes(r->tape, change, LAC_AXES(-1), false));
}

const lac_op lac_op_norm2 = {
    .name = "norm2",
    .signature = "(z)->(),(m),(n)",
    .binds = "pattern 0: z, (m,n)",
    .parameters = "pattern: pattern, a: values, tolerance: real = 0, steps: integer = 0",
    .about = "(the largest singular value, its two vectors), to a relative residual in so many steps.",
    .order = 1,
    .vjp_needs = NEEDS_OUT(U) | NEEDS_OUT(V),
    .jvp_needs = NEEDS_OUT(U) | NEEDS_OUT(V),
    .flags = LAC_OP_WHOLE,
    .infer = norm2_infer,
    .forward = norm2_forward,
    .vjp = norm2_vjp,
    .jvp = norm2_jvp,
};

lac_var lac_norm2(lac_tape *tape, const lac_pattern *pattern, lac_var a, double tolerance, int64_t steps) {
  lac_spec spec = {.op = &lac_op_norm2, .patterns = {pattern}, .attrs.f = {tolerance}, .attrs.i = {steps}};
  return lac_emit(tape, &spec, &a);
}

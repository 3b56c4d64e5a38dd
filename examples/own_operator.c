// SPDX-License-Identifier: Apache-2.0
/// @file own_operator.c
/// An operator of one's own: the slope that van Albada's limiter makes of two differences.
///
///     forward   y     = a b (a + b) / (a^2 + b^2 + e)
///     vjp       a_bar = y_bar dy/da        dy/da = (b (2a + b) - 2 a y) / (a^2 + b^2 + e), and alike for b
///     jvp       y_dot = a_dot dy/da + b_dot dy/db
///
/// It is written with the public headers alone, broadcasts, and is checked to the second order.

#include <lacuna/extend.h>
#include <lacuna/lacuna.h>
#include <stdio.h>

// [forward]
enum { A, B };  // inputs
enum { Y };     // outputs

/// Item by item of the joint batch: a and b may have batches of their own.
static lac_status limiter_forward(lac_call *c) {
  const double *a = lac_array_data(c->in[A]), *b = lac_array_data(c->in[B]), e = c->attrs->f[0];
  double *y = lac_array_edit(c->out[Y]);
  const int64_t n = c->out_meta[Y].shape[c->out_meta[Y].ndim - 1];  // of one item: the signature is "(n),(n)->(n)"

  if (c->in_meta[A].dtype != LAC_F64) return lac_call_fail(c, LAC_ERR_DTYPE, "takes f64 alone; cast with lac_cast");
  for (int64_t i = 0; i < lac_call_items(c); i++) {
    const double *p = a + lac_call_offset(c, A, i), *q = b + lac_call_offset(c, B, i);
    double *out = y + i * n;
    for (int64_t k = 0; k < n; k++) out[k] = p[k] * q[k] * (p[k] + q[k]) / (p[k] * p[k] + q[k] * q[k] + e);
  }
  return LAC_OK;
}
// [end]

// [rules]
/// dy/da; dy/db is the same with a and b in turn.
static lac_var limiter_slope(lac_rule *r, lac_var a, lac_var b) {
  lac_tape *t = r->tape;
  lac_var below = lac_offset(t, lac_add(t, lac_square(t, a), lac_square(t, b)), r->attrs->f[0], 0);
  lac_var above = lac_mul(t, b, lac_add(t, lac_scale(t, a, 2, 0), b));
  return lac_div(t, lac_sub(t, above, lac_scale(t, lac_mul(t, a, r->out[Y]), 2, 0)), below);
}

static void limiter_vjp(lac_rule *r) {
  lac_var a = r->in[A], b = r->in[B], y_bar = r->out_bar[Y];

  if (r->wants[A]) r->in_bar[A] = lac_mul(r->tape, y_bar, limiter_slope(r, a, b));
  if (r->wants[B]) r->in_bar[B] = lac_mul(r->tape, y_bar, limiter_slope(r, b, a));
}

static void limiter_jvp(lac_rule *r) {
  lac_var a = r->in[A], b = r->in[B];
  lac_var along_a = lac_mul(r->tape, r->in_dot[A], limiter_slope(r, a, b));
  lac_var along_b = lac_mul(r->tape, r->in_dot[B], limiter_slope(r, b, a));
  r->out_dot[Y] = lac_add(r->tape, along_a, along_b);  // a tangent that nobody has makes its term absent
}
// [end]

// [table]
static const lac_op limiter = {
    .name = "limiter",
    .signature = "(n),(n)->(n)",
    .order = LAC_ANY_ORDER,
    .vjp_needs = LAC_NEEDS_IN(A) | LAC_NEEDS_IN(B) | LAC_NEEDS_OUT(Y),
    .jvp_needs = LAC_NEEDS_IN(A) | LAC_NEEDS_IN(B) | LAC_NEEDS_OUT(Y),
    .forward = limiter_forward,
    .vjp = limiter_vjp,
    .jvp = limiter_jvp,
};

/// What a user calls: a function like those of ops.h. Errors stick to the tape.
static lac_var limit(lac_tape *tape, double e, lac_var a, lac_var b) {
  lac_var y;
  lac_tape_call(tape, &(lac_spec){.op = &limiter, .attrs.f = {e}}, (lac_var[]){a, b}, &y);
  return y;
}
// [end]

// [check]
static lac_var limit_leaves(lac_tape *tape, const lac_var *leaves, void *user) {
  (void)user;
  return limit(tape, 1e-2, leaves[0], leaves[1]);
}

/// a [2, 3] and b [3], which is broadcast: values, both modes, and the same for the gradient.
static lac_status check_limiter(lac_context *ctx) {
  double a[] = {0.3, -1.2, 0.7, 1.1, 0.4, -0.6}, b[] = {0.5, 0.9, -0.2};
  lac_array *leaves[2] = {NULL, NULL};
  lac_gradcheck_report report = {0};
  lac_status status = lac_array_from(ctx, LAC_F64, 2, (int64_t[]){2, 3}, a, LAC_OWNERSHIP_COPY, &leaves[0]);

  if (status == LAC_OK) status = lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3}, b, LAC_OWNERSHIP_COPY, &leaves[1]);
  if (status == LAC_OK) {
    status = lac_gradcheck(ctx, limit_leaves, NULL, 2, (const lac_array *const *)leaves, NULL, &report);
  }
  printf("%s: adjoint %.0e, differences %.0e; of the gradient %.0e, %.0e\n", lac_status_name(status), report.adjoint,
         report.tangent, report.second_adjoint, report.second_tangent);
  if (status != LAC_OK) printf("%s\n", lac_context_error(ctx));
  lac_array_destroy(&leaves[0]);
  lac_array_destroy(&leaves[1]);
  return status;
}
// [end]

int main(void) {
  lac_context *ctx = NULL;
  lac_status status = lac_context_create("cpu", 0, &ctx);

  if (status == LAC_OK) status = check_limiter(ctx);
  lac_context_destroy(&ctx);
  return status != LAC_OK;
}

// SPDX-License-Identifier: Apache-2.0
/// @file full.c
/// A frozen number in every place of a shape. Of x the dtype and the place are read, its numbers are not.
///
///     forward   y     = alpha        alpha = f[0] + i f[1]; real dtypes read f[0] alone; `like` is the shape of y
///     vjp       x_bar = 0
///     jvp       y_dot = 0

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status full_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *like = &c->attrs->like;

  LAC_CHECK(like->ndim >= 0 && like->ndim <= LAC_MAX_DIMS, LAC_ERR_SHAPE,
            "full: a shape of %d dimensions; 0 to %d are possible", like->ndim, LAC_MAX_DIMS);
  LAC_CHECK(c->attrs->f[1] == 0 || lac_dtype_is_complex(c->in_meta[X].dtype), LAC_ERR_DTYPE,
            "full: the number has an imaginary part (%g) and the array is %s; cast the array to a complex dtype",
            c->attrs->f[1], lac_dtype_name(c->in_meta[X].dtype));
  c->out_meta[Y] = *like;
  c->out_meta[Y].dtype = c->in_meta[X].dtype;
done:
  return status;
}

static lac_status full_forward(lac_call *c) {
  return c->ctx->backend->fill(c->ctx, c->out[Y], c->attrs->f[0], c->attrs->f[1]);
}

const lac_op lac_op_full = {
    .name = "full",
    .signature = "()->()",
    .parameters = "x: array, shape: shape, real: real, imag: real = 0",
    .about = "The number real + i imag in every place of a shape, in the dtype of x.",
    .order = LAC_ANY_ORDER,
    .infer = full_infer,
    .forward = full_forward,
    .vjp = lac_rule_nothing,
    .jvp = lac_rule_nothing,
};

lac_var lac_full(lac_tape *tape, lac_var x, int ndim, const int64_t *shape, double real, double imag) {
  lac_spec spec = {.op = &lac_op_full, .attrs = {.f = {real, imag}, .like.ndim = ndim}};

  if (!shape && ndim != 0) return lac_tape_lacks_shape(tape, "full", ndim);
  for (int d = 0; d < spec.attrs.like.ndim && d < LAC_MAX_DIMS; d++) spec.attrs.like.shape[d] = shape[d];
  return lac_emit(tape, &spec, &x);
}
